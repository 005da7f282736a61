"""The result of a case in one mode: a cell of the matrix."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from harness.analysis.sequence import NO_MESSAGES, SequenceDiagram
from harness.core.exchange import Json
from harness.explain.model import ReportFinding
from harness.report.report import ReportCase, sanitize_value

Verdict = Literal["pass", "warn", "fail", "crash", "hang", "not applicable"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
RED = ("fail", "crash", "hang")
FIX = "  fix: "
"""The prefix of the last line of a reason, which states what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A case in one mode: the verdict, the reasons (the first fits in one line), the flow as text, the duration.

    `ended` is how it ended for the user of the client, such as `the answer` or the name of the error; `asks` is how
    many of its requests asked a model. `diagram` is Mermaid text, `sequence` the same as data; `view` is all that was
    exchanged, used only by the page.
    """

    case: str
    severity: str
    mode: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    flow: str = ""
    diagram: str = ""
    requests: int = 0
    seconds: float = 0
    printed: tuple[str, ...] = ()
    sequence: SequenceDiagram = NO_MESSAGES
    ended: str = ""
    asks: int = 0
    view: Json = field(default_factory=dict)

    @property
    def is_failure(self) -> bool:
        """Whether it makes the examination fail: a red verdict on a case that every client must pass."""
        return self.severity == "must" and self.verdict in RED

    @property
    def reason(self) -> str:
        """The reason why it is no pass, in one line."""
        return self.reasons[0].splitlines()[0] if self.reasons else ""

    @property
    def fix(self) -> str:
        """What to do about that reason."""
        lines = self.reasons[0].splitlines() if self.reasons else []
        return next((line.removeprefix(FIX) for line in lines if line.startswith(FIX)), "")

    @property
    def outcome(self) -> Literal["passed", "failed", "error", "skipped", "xfailed"]:
        """The outcome as that of a test: only a case that every client must pass can fail."""
        if self.verdict in ("pass", "not applicable"):
            return "passed" if self.verdict == "pass" else "skipped"
        return "xfailed" if not self.is_failure else "failed" if self.verdict == "fail" else "error"

    @property
    def findings(self) -> list[ReportFinding]:
        """The reasons as findings of a report."""
        parts = (reason.partition(f"\n{FIX}") for reason in self.reasons)
        return [ReportFinding("examined", not self.is_failure, why, self.case, fix=fix) for why, _, fix in parts]

    def sanitize(self) -> Cell:
        """Return this cell with its texts shortened and secrets masked."""
        members = sanitize_value({name: value for name, value in asdict(self).items() if name != "view"})
        lists = {name: tuple(value) for name, value in members.items() if isinstance(value, list)}
        return Cell(**{**members, **lists, "sequence": SequenceDiagram.from_json(members["sequence"])}, view=self.view)

    def to_case(self, client: str, command: str, group: str) -> ReportCase:
        """Build the case of a report; `command` runs the cell again, `group` is shared by cells with the same reason."""
        about = {name: getattr(self, name) for name in _EXAMINED}
        return ReportCase(
            name_cell(client, self.case, self.mode),
            "",
            0,
            self.outcome,
            self.seconds,
            found=self.findings,
            diagram=self.diagram,
            why="\n".join(filter(None, [*(() if self.is_failure else self.reasons), command, self.flow])),
            sequence=self.sequence,
            view=self.view,
            examined={"client": client, **about, "printed": [*self.printed], "command": command, "group": group},
        )

    @classmethod
    def from_case(cls, case: ReportCase) -> Cell:
        """Read a cell from a case of a report."""
        reasons = tuple(f"{found.message}\n{FIX}{found.fix}" if found.fix else found.message for found in case.found)
        about = {name: case.examined[name] for name in _EXAMINED}
        drawn: dict[str, Any] = {"diagram": case.diagram, "seconds": case.seconds, "sequence": case.sequence}
        return cls(**{**about, "printed": tuple(about["printed"])}, **drawn, reasons=reasons)


_EXAMINED = ("case", "severity", "mode", "verdict", "flow", "requests", "printed", "ended", "asks")
"""The members that only a cell has, not every case of a report."""


def name_cell(client: str, case: str, mode: str) -> str:
    """Name a cell in a report: the client, the case and the mode."""
    return f"{client}::{case}[{mode}]" if mode else f"{client}::{case}"

"""The results of examinations: cells of one or several clients, as a report, grouped, compared with a baseline.

A cell is a case in one mode. Texts are shortened and secrets masked when results are collected, so that no report can
show them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from harness.analysis.flow import NO_MESSAGES, SequenceDiagram
from harness.core.errors import COMMAND, ConfigError
from harness.core.exchange import Json
from harness.core.json_values import omit
from harness.examine.adapter import Declaration
from harness.examine.case import AREAS, ClientCase
from harness.explain.cause import ReportFinding
from harness.report.api_coverage import merge_coverage
from harness.report.formats.json_file import read_report
from harness.report.report import Report, ReportCase, sanitize_value

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
        members = sanitize_value(omit(asdict(self), "view"))
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
        reasons = tuple(
            f"{finding.message}\n{FIX}{finding.fix}" if finding.fix else finding.message for finding in case.found
        )
        about = {name: case.examined[name] for name in _EXAMINED}
        drawn: dict[str, Any] = {"diagram": case.diagram, "seconds": case.seconds, "sequence": case.sequence}
        return cls(**{**about, "printed": tuple(about["printed"])}, **drawn, reasons=reasons)


_EXAMINED = ("case", "severity", "mode", "verdict", "flow", "requests", "printed", "ended", "asks")
"""The members that only a cell has, not every case of a report."""


def name_cell(client: str, case: str, mode: str) -> str:
    """Name a cell in a report: the client, the case and the mode."""
    return f"{client}::{case}[{mode}]" if mode else f"{client}::{case}"


_VARYING = re.compile(
    r"\b[a-z]{2,12}_[0-9A-Za-z]{16,}|\bsk-examine-[0-9a-f]+"
    r"|(?<=request )\d+|(?<=Request )\d+|(?<=\[)\d+(?=\])|\b\d+(?:\.\d+)?(?= s\b)"
)
"""Matches what varies between runs with the same reason: ids, keys, seconds, numbers of requests or elements."""
_NAMED_CASES = 3
"""The maximum number of cases that are named for one reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientResult:
    """The results of one client: the declaration (of earlier results only the name), a cell for each case and mode.

    `adapter` is the argument of `responses-harness examine`: `openai`, or `--command …`. It is not `complete`, and lacks
    cells, if the examination was interrupted.
    """

    declared: Declaration
    adapter: str
    seconds: float
    complete: bool
    cells: tuple[Cell, ...]

    @property
    def client(self) -> str:
        """The name of the client with its release."""
        return self.declared.client

    @property
    def name(self) -> str:
        """The name of the client without its release."""
        return self.client.partition(" ")[0]

    @property
    def failures(self) -> list[Cell]:
        """The red cells of the cases that every client must pass."""
        return [cell for cell in self.cells if cell.is_failure]

    def count(self, area: str = "") -> Counter[str]:
        """Count the cells of an area, or of all areas, by verdict."""
        return Counter(cell.verdict for cell in self.cells if not area or area_of(cell.case) == area)

    def reproduce(self, cell: Cell) -> str:
        """Return the command that runs a cell again."""
        return f"{COMMAND} examine {self.adapter} --case {cell.case} --modes {cell.mode}"


@dataclass(frozen=True, slots=True)
class ExaminationResults:
    """The results of one or several clients, and the description of each case by id."""

    clients: tuple[ClientResult, ...]
    cases: Mapping[str, Json]

    @property
    def areas(self) -> list[str]:
        """The areas that have a case."""
        return [area for area in AREAS if any(area_of(id) == area for id in self.cases)]


def area_of(case: str) -> str:
    """Return the area of a case, given its id."""
    return case.partition("/")[0]


def case_json(case: ClientCase) -> Json:
    """Describe a case as JSON."""
    names = ("id", "area", "severity", "title", "does", "source", "shows")
    return {**{name: getattr(case, name) for name in names}, "needs": sorted(case.needs)}


def report_results(results: ExaminationResults) -> Report:
    """Build the report of results: each cell is a case of it."""
    cases = [
        cell.to_case(client.client, client.reproduce(cell), reason_key(cell) if _is_wrong(cell) else "")
        for client in results.clients
        for cell in client.cells
    ]
    names = ("client", "adapter", "seconds", "complete")
    clients = [{name: getattr(client, name) for name in names} for client in results.clients]
    nothing = merge_coverage(())
    return Report(cases, nothing, nothing, examination={"clients": clients, "cases": dict(results.cases)})


def results_of(report: Report, name: str = "the report") -> ExaminationResults:
    """Return the results in a report; ConfigError if it is not one of an examination."""
    if not report.examination:
        raise ConfigError(f"{name}: not an examination. Pass a file that {COMMAND} examine --report FILE.json wrote.")
    cells: dict[str, list[Cell]] = {}
    for case in report.cases:
        cells.setdefault(case.examined["client"], []).append(Cell.from_case(case))
    clients = [
        ClientResult(
            declared=Declaration(client=client["client"]),
            cells=tuple(cells.get(client["client"], ())),
            **{name: client[name] for name in ("adapter", "seconds", "complete")},
        )
        for client in report.examination["clients"]
    ]
    return ExaminationResults(tuple(clients), report.examination["cases"])


def read_results(file: Path) -> ExaminationResults:
    """Read results from a JSON report. ConfigError for any other file."""
    return results_of(read_report(file), str(file))


def group_by_reason(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Group the failed cells of all cases and modes by severity, verdict and reason.

    Groups that make the examination fail come first.
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in filter(_is_wrong, cells):
        groups.setdefault((cell.severity, cell.verdict, reason_key(cell)), []).append(cell)
    return sorted(groups.values(), key=lambda group: not group[0].is_failure)


def _is_wrong(cell: Cell) -> bool:
    return cell.verdict in RED or cell.verdict == "warn"


def reason_key(cell: Cell) -> str:
    """Return a key for the reason of a cell, without what varies between runs."""
    return _VARYING.sub("…", cell.reason) or cell.case


def name_cases(cells: Iterable[Cell]) -> str:
    """Name the first cases of a group and count the rest."""
    names = list(dict.fromkeys(cell.case for cell in cells))
    more = len(names) - _NAMED_CASES
    return ", ".join(names[:_NAMED_CASES]) + (f" and {more} more" if more > 0 else "")


def is_unreported(cell: Cell) -> bool:
    """Return whether a case is not applicable only because the adapter does not report cut answers."""
    return cell.reason.startswith("the adapter does not declare incomplete ")


class BaselineComparison(NamedTuple):
    """The failures compared with a baseline: new, known (in both) and fixed."""

    new: Sequence[Cell]
    known: Sequence[Cell]
    fixed: Sequence[Cell]


def compare_with_baseline(result: ClientResult, baseline: ExaminationResults) -> BaselineComparison:
    """Compare a result with an earlier one of the same client, of any release. ConfigError without one."""
    before = {(cell.case, cell.mode) for cell in _find_earlier(result, baseline).failures}
    new = [cell for cell in result.failures if (cell.case, cell.mode) not in before]
    known = [cell for cell in result.failures if (cell.case, cell.mode) in before]
    fixed = [
        cell
        for cell in result.cells
        if (cell.case, cell.mode) in before and cell.verdict != "not applicable" and not cell.is_failure
    ]
    return BaselineComparison(new, known, fixed)


def _find_earlier(result: ClientResult, baseline: ExaminationResults) -> ClientResult:
    same = [earlier for earlier in baseline.clients if earlier.name == result.name]
    if exact := [earlier for earlier in same if earlier.client == result.client]:
        same = exact
    if len(same) == 1:
        return same[0]
    held = ", ".join(earlier.client for earlier in baseline.clients)
    problem = "several results" if same else "no result"
    raise ConfigError(
        f"--baseline: it has {problem} of {result.name} (it holds {held}). Pass the file of one earlier run."
    )

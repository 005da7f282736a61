"""The result of a case in one mode: a cell of the matrix."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from harness.analysis.sequence import NO_MESSAGES, SequenceDiagram
from harness.core.exchange import Json

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

    def as_json(self) -> Json:
        """Return this cell as JSON, without `view`."""
        return {name: value for name, value in asdict(self).items() if name != "view"}

    @classmethod
    def from_json(cls, members: Json) -> Cell:
        """Read a cell from the JSON of `as_json`."""
        lists = {name: tuple(value) for name, value in members.items() if isinstance(value, list)}
        drawn = members.get("sequence")  # older results have none
        sequence = SequenceDiagram.from_json(drawn) if drawn else NO_MESSAGES
        texts: dict[str, Any] = {**members, **lists, "sequence": sequence}
        return cls(**texts)

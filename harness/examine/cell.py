"""How a case came out in a mode: a cell of the matrix."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from harness.core.exchange import Json

Verdict = Literal["pass", "warn", "fail", "crash", "hang", "not applicable"]
RED = ("fail", "crash", "hang")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A case in a mode: its verdict, the reasons (the first in one line), the flow and its diagram, how long it took."""

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

    @property
    def reason(self) -> str:
        """Why it is no pass, in one line."""
        return self.reasons[0].splitlines()[0] if self.reasons else ""

    def as_json(self) -> Json:
        """This cell as JSON."""
        return asdict(self)

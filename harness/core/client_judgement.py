"""Decides which client mistakes count in a World: certain ones or all, except those the test allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from harness.core.exchange import Exchange

FAIL, ALLOW, STRICT = CLIENT_VALUES = ("fail", "allow", "strict")
"""The values of `client`: certain mistakes fail the test, none does, or all do."""
PATIENCE = 60.0
"""Seconds that a client may wait without receiving a byte, unless a test sets another limit."""


class AllowedMistakes:
    """Mistakes allowed within a `with` block, or from now on: `with mock.allows("no-backoff"): …`."""

    def __init__(self, ids: Sequence[str], journal: Sequence[Exchange], *, always: bool = False) -> None:
        self.ids = ids
        self._journal = journal
        self._first = 0 if always else _last_number(journal) + 1
        self._last: int | None = None

    def __enter__(self) -> AllowedMistakes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._last = _last_number(self._journal)

    def permits(self, mistake: str, exchange: int) -> bool:
        """Return whether a mistake is one of these and was made while they were allowed."""
        return mistake in self.ids and self._first <= exchange and (self._last is None or exchange <= self._last)


def _last_number(journal: Sequence[Exchange]) -> int:
    return journal[-1].number if journal else 0


@dataclass(frozen=True, slots=True)
class ClientJudgement:
    """How the client of a World is judged: `fail`, `allow` or `strict`, and which mistakes are `allowed`.

    `patience` is the number of seconds that it may wait without receiving a byte.
    """

    option: str = FAIL
    allowed: tuple[AllowedMistakes, ...] = ()
    patience: float = PATIENCE


LENIENT = ClientJudgement()
"""The judgement of a World whose test does not configure one."""

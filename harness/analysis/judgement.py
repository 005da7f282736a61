"""Decides which losses and which client mistakes fail a test or a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.loss import LOSSES, Lost, losses_in_accepted, losses_of
from harness.core.errors import COMMAND, ConfigError
from harness.core.exchange import Exchange, ToolRuns
from harness.core.registry import suggest_name

FAIL, ALLOW, STRICT = LOSS_VALUES = ("fail", "allow", "strict")
"""Which losses fail a run: those that cannot be intended, none, or all."""


@dataclass(frozen=True, slots=True)
class LossPolicy:
    """How losses are judged: `fail`, `allow` or `strict`, and the ids of the losses that are `allowed`."""

    option: str = FAIL
    allowed: frozenset[str] = frozenset()

    @property
    def is_judged(self) -> bool:
        """Whether any loss fails a run."""
        return self.option != ALLOW

    def permits(self, lost: Lost) -> bool:
        """Return whether the run passes in spite of a loss."""
        return not self.is_judged or lost.loss in self.allowed

    def find(self, exchanges: Sequence[Exchange], tool_runs: ToolRuns | None = None) -> list[Lost]:
        """Find the losses in a journal that the policy looks for, including permitted ones."""
        return losses_of(exchanges, self.option == STRICT, tool_runs)

    def find_failing(
        self, found: Sequence[Lost], exchanges: Sequence[Exchange], tool_runs: ToolRuns | None = None
    ) -> list[Lost]:
        """List the losses that fail a run, those in accepted requests, of all that were `found` in a journal."""
        # What is lost in a refused request may be lost in an accepted one as well, and is found only once.
        if self.is_judged and any(exchange.status >= 400 for exchange in exchanges):
            found = losses_in_accepted(exchanges, self.option == STRICT, tool_runs)
        return [lost for lost in found if not self.permits(lost)]


def read_loss_policy(text: str) -> LossPolicy:
    """Read a policy: `fail`, `allow`, `strict`, or allowed ids separated by commas. ConfigError for anything else."""
    if text in LOSS_VALUES:
        return LossPolicy(text)
    ids = [id.strip() for id in text.split(",")]
    for id in ids:
        if id not in LOSSES:
            near = suggest_name(id, LOSSES) if id else f"`{COMMAND} losses` lists them."
            raise ConfigError(f"losses {text!r}: use fail, allow, strict, or a comma-separated list of losses. {near}")
    return LossPolicy(allowed=frozenset(ids))


CLIENT_VALUES = ("fail", "allow", "strict")
"""The values of `client`: certain mistakes fail the test, none does, or all do."""
PATIENCE = 60.0
"""Seconds that a client may wait without receiving a byte, unless a test sets another limit."""


class AllowedMistakes:
    """Mistakes allowed within a `with` block, or from now on: `with mock.allows("no-backoff"): …`."""

    def __init__(self, ids: Sequence[str], journal: Sequence[Exchange], *, always: bool = False) -> None:
        self.ids = ids
        self._journal = journal
        self._first = 0 if always else last_number(journal) + 1
        self._last: int | None = None

    def __enter__(self) -> AllowedMistakes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._last = last_number(self._journal)

    def permits(self, mistake: str, exchange: int) -> bool:
        """Return whether a mistake is one of these and was made while they were allowed."""
        return mistake in self.ids and self._first <= exchange and (self._last is None or exchange <= self._last)


def last_number(journal: Sequence[Exchange]) -> int:
    """Return the number of the newest exchange; 0 without any."""
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

"""A mistake of a client or of a webhook receiver: something that it does wrong, although the API accepts it.

A mistake is a generator function of what was observed, which yields facts; `@mistake` adds the message, the fix, the
source and the examples. The function's name with hyphens is the id of the mistake.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from harness.core.errors import RegistrationError
from harness.core.registry import Registry

Seen = TypeVar("Seen")
MistakeFacts = Mapping[str, Any]
"""`number`: the exchange or delivery that made the mistake, counted from 1, and the fields of the message."""
MistakeCheck = Callable[[Seen], Iterator[MistakeFacts]]


@dataclass(frozen=True, slots=True)
class MistakeKind(Generic[Seen]):
    """A kind of mistake: its message with `{fact}` fields, its fix and source, examples with and without the mistake.

    A `certain` kind finds mistakes that may be proven unintended; any other kind is looked for only on demand.
    """

    id: str
    area: str
    doc: str
    message: str
    fix: str
    source: str
    shows: tuple[Seen, ...]
    lacks: tuple[Seen, ...]
    certain: bool
    check: MistakeCheck[Seen]

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def find(self, seen: Seen) -> Iterator[tuple[MistakeFacts, str]]:
        """Yield the facts of each such mistake, with the message that states them."""
        return ((facts, self.message.format_map(facts)) for facts in self.check(seen))


def mistake(
    registry: Registry[MistakeKind[Seen]],
    *,
    message: str,
    fix: str,
    source: str,
    shows: Sequence[Seen],
    lacks: Sequence[Seen],
    certain: bool = False,
    area: str = "",
) -> Callable[[MistakeCheck[Seen]], MistakeCheck[Seen]]:
    """Register a generator that yields the facts of each mistake; `area` defaults to the name of its module."""

    def register(check: MistakeCheck[Seen]) -> MistakeCheck[Seen]:
        id, doc = check.__name__.replace("_", "-"), inspect.getdoc(check) or ""
        if not (doc and shows and lacks):
            raise RegistrationError(f"mistake {id} needs a docstring, and examples that show it and that lack it")
        within = area or check.__module__.rpartition(".")[2]
        kind = MistakeKind(id, within, doc, message, fix, source, tuple(shows), tuple(lacks), certain, check)
        registry.add(id, kind, check.__module__)
        return check

    return register

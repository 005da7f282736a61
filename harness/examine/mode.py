"""The modes a case runs in: streamed or not, how the session is kept, through which provider."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from harness.examine.case import ClientCase
from harness.examine.declaration import Declaration


@dataclass(frozen=True, slots=True, order=True)
class Mode:
    """One way to run a case; its text is like `stream,chain` or `plain,replay,azure`."""

    stream: bool
    state: str
    dialect: str = "openai"

    def __str__(self) -> str:
        own = ("stream" if self.stream else "plain", self.state)
        return ",".join(own if self.dialect == "openai" else (*own, self.dialect))


def modes_of(case: ClientCase, declared: Declaration) -> Iterator[Mode]:
    """The modes in which a client can run a case; none when it supports too little."""
    if case.area not in declared.areas or not case.needs <= declared.features:
        return
    for stream, state, dialect in product(case.streams, case.states, case.dialects):
        if stream in declared.streams and state in declared.states and dialect in declared.dialects:
            yield Mode(stream, state, dialect)

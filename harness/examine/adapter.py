"""Adapters drive a client: a Python object with one method, or a command in any language.

`python -m harness.examine.worker MODULE:ATTRIBUTE` turns the former into a command, so that both run in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import ClassVar

from harness.examine.case import AREAS
from harness.examine.declaration import Declaration
from harness.examine.task import Outcome, Task


class Adapter:
    """The base class of Python adapters: `package` is the client's distribution, the other members what it supports.

    `part` names the part of the package that it drives, if several adapters drive different parts.

    Implement `run`: do the task with the client and return its outcome. An exception that the client's user would see
    belongs in the outcome (`describe_error`); one that leaves `run` counts as a crash of the adapter.
    """

    package: ClassVar[str]
    part: ClassVar[str] = ""
    areas: ClassVar[Collection[str]] = AREAS
    features: ClassVar[Collection[str]] = ()
    states: ClassVar[Sequence[str]] = ("replay",)
    states_of: ClassVar[Mapping[str, Sequence[str]]] = MappingProxyType({})
    dialects: ClassVar[Sequence[str]] = ("openai",)
    streams: ClassVar[Sequence[bool]] = (False, True)
    hosted: ClassVar[Sequence[str] | None] = None

    async def run(self, task: Task) -> Outcome:
        """Do a task and return its outcome."""
        raise NotImplementedError(f"{type(self).__name__} has no `run`: see `Adapter`")

    def declare(self) -> Declaration:
        """Declare what this adapter can do."""
        client = f"{self.package} ({self.part})" if self.part else self.package
        with suppress(PackageNotFoundError):
            client = f"{client} {version(self.package)}"
        return Declaration(
            client=client,
            areas=frozenset(self.areas),
            features=frozenset(self.features),
            states=tuple(self.states),
            states_of={feature: tuple(states) for feature, states in self.states_of.items()},
            dialects=tuple(self.dialects),
            streams=tuple(self.streams),
            hosted=None if self.hosted is None else tuple(self.hosted),
        )

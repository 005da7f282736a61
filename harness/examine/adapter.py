"""Adapters drive a client: a Python object with one method, or a command in any language; each declares its abilities.

`python -m harness.examine.worker MODULE:ATTRIBUTE` turns the former into a command, so that both run in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar

from harness.api.http.dialects import API_ROOTS
from harness.core.errors import ConfigError, Malformed
from harness.core.exchange import Json
from harness.core.registry import suggest_name
from harness.examine.case import AREAS, FEATURES, STATES, ClientCase
from harness.examine.task import Outcome, Task

_KNOWN = {"areas": AREAS, "features": FEATURES, "states": STATES, "dialects": API_ROOTS, "streams": (False, True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The client's name and release, and what it supports: see `AREAS`, `FEATURES`, `STATES`.

    `states_of` limits the states of a feature that the client does not support in all of them. `hosted` are the types
    of hosted tools that it can send, None for any type.
    """

    client: str
    areas: frozenset[str] = frozenset(AREAS)
    features: frozenset[str] = frozenset()
    states: tuple[str, ...] = ("replay",)
    states_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dialects: tuple[str, ...] = ("openai",)
    streams: tuple[bool, ...] = (False, True)
    hosted: tuple[str, ...] | None = None

    def as_json(self) -> Json:
        """Return this declaration as JSON."""
        return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, body: object) -> Declaration:
        """Read a declaration from JSON. Malformed names the wrong member."""
        if not isinstance(body, dict) or not isinstance(body.get("client"), str):
            raise Malformed('a declaration is an object with the name of the client: {"client": "openai 3.0.0", …}')
        known = [member.name for member in fields(cls)]
        for name, value in body.items():
            if name not in known:
                raise Malformed(f"a declaration has no member {name!r}. {suggest_name(name, known)}")
            if name in _KNOWN:
                _check_names(name, value, _KNOWN[name])
        hosted = body.get("hosted") or []
        if not (isinstance(hosted, list) and all(isinstance(tool_type, str) for tool_type in hosted)):
            raise Malformed("declaration.hosted must be a list of types of tools, or null for all")
        states_of = body.get("states_of", {})
        if not isinstance(states_of, dict):
            raise Malformed('declaration.states_of must be an object: {"guardrails": ["replay"]}')
        _check_names("states_of", list(states_of), FEATURES)
        for feature, states in states_of.items():
            _check_names(f"states_of.{feature}", states, STATES)
        return cls(client=body["client"], **_freeze(body))


def _freeze(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a declaration as it holds them."""
    hosted, states_of = members.get("hosted"), members.get("states_of", {})
    return {
        **{name: frozenset(members[name]) for name in ("areas", "features") if name in members},
        **{name: tuple(members[name]) for name in ("states", "dialects", "streams") if name in members},
        "hosted": None if hosted is None else tuple(hosted),
        "states_of": {feature: tuple(states) for feature, states in states_of.items()},
    }


def _check_names(name: str, value: object, known: Iterable[object]) -> None:
    if not isinstance(value, list):
        raise Malformed(f"declaration.{name} must be a list")
    for element in value:
        if element not in known:
            raise Malformed(f"declaration.{name}: {element!r} is unknown. {suggest_name(element, map(str, known))}")


@dataclass(frozen=True, slots=True, order=True)
class Mode:
    """One way to run a case, written as `stream,chain` or `plain,replay,azure`."""

    stream: bool
    state: str
    dialect: str = "openai"

    def __str__(self) -> str:
        own = ("stream" if self.stream else "plain", self.state)
        return ",".join(own if self.dialect == "openai" else (*own, self.dialect))

    def lead(self, task: Task, base_url: str, api_key: str) -> Task:
        """Return a task for the API at `base_url`, in this mode."""
        own = replace(task, stream=self.stream, state=self.state, dialect=self.dialect)
        return replace(own, base_url=base_url, api_key=api_key)


def parse_mode(text: str) -> Mode:
    """Parse a mode such as `stream,chain` or `plain,replay,azure`. ConfigError for anything else."""
    for stream, state, dialect in product((False, True), STATES, API_ROOTS):
        if str(made := Mode(stream, state, dialect)) == text:
            return made
    raise ConfigError(f"no mode {text!r}: pass a way, a state and optionally a dialect, such as stream,chain.")


def parse_modes(texts: Iterable[str]) -> Callable[[Mode], bool]:
    """Return a filter for the modes meant by texts such as `stream`, `plain,chain` or `azure`; without any, for all.

    A text means all modes that have its words; one with both a way and a state means exactly that mode.
    """
    wanted = [frozenset(word.strip() for word in text.split(",")) for text in texts]
    for words in wanted:
        for word in sorted(words - _WORDS):
            raise ConfigError(f"no mode {word!r}. {suggest_name(word, sorted(_WORDS))}")
    return lambda mode: not wanted or any(_is_meant(mode, words) for words in wanted)


_WAYS = frozenset({"stream", "plain"})
_WORDS = _WAYS | frozenset(STATES) | frozenset(API_ROOTS)


def _is_meant(mode: Mode, words: frozenset[str]) -> bool:
    own = frozenset(str(mode).split(","))
    return words == own if words & _WAYS and words & set(STATES) else words <= own | {mode.dialect}


def modes_of(case: ClientCase, declared: Declaration) -> Iterator[Mode]:
    """Yield the modes in which a client can run a case; nothing if it does not support the case."""
    if case.area not in declared.areas or not case.needs <= declared.features:
        return
    if declared.hosted is not None and not {tool["type"] for tool in case.task.hosted_tools} <= set(declared.hosted):
        return
    states = set(declared.states).intersection(*(declared.states_of.get(need, STATES) for need in case.needs))
    for stream, state, dialect in product(case.streams, case.states, case.dialects):
        if stream in declared.streams and state in states and dialect in declared.dialects:
            yield Mode(stream, state, dialect)


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
        members = {name: getattr(self, name) for name in (*_KNOWN, "states_of", "hosted")}
        return Declaration(client=client, **_freeze(members))

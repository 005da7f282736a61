"""The modes in which a case runs: streamed or not, how the session is kept, and the dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from harness.api.http.dialects import API_ROOTS
from harness.core.errors import ConfigError
from harness.core.registry import suggest_name
from harness.examine.case import STATES, ClientCase
from harness.examine.declaration import Declaration
from harness.examine.task import Task


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

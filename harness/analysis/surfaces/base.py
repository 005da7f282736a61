"""`Surface`: the common form in which results of any framework are compared with the model's replies.

A reader is a function that turns a result into a `Surface`. It is registered for classes by package and name, so that
no framework is imported. Any other object can describe itself:

    def __surfaced__(self): return {"text": self.answer, "annotations": self.sources}
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.registry import Registry
from harness.core.replies import sum_token_counts
from harness.core.text import show

PARTS = ("text", "annotations", "calls", "reasoning", "usage")
LIST_PARTS = ("annotations", "calls")
PART_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("text", "reasoning"), (str,)),
    **dict.fromkeys(LIST_PARTS, (list, tuple)),
    "usage": (Mapping,),
    **dict.fromkeys(("ids", "kinds"), (list, tuple, set, frozenset)),
}
EXPECTED_FORM = "Text and reasoning are strings, annotations and calls are lists of objects, usage is an object."
HIDDEN_MEMBERS = ("raw_representation",)
"""Members in which a framework stores the raw response; they are not part of the surface."""


@dataclass(frozen=True, slots=True)
class Surface:
    """The parts of a result; None for a part that it cannot express.

    `annotations` are objects of any form, `calls` have a `name` and `arguments` (a JSON string or an object), `usage`
    has token counts under the names of any API. `ids` are the ids of the responses, runs and messages that the result
    names, `kinds` the types of annotation that it can express, None for all.
    """

    text: str | None = None
    annotations: Sequence[Json] | None = None
    calls: Sequence[Json] | None = None
    reasoning: str | None = None
    usage: Mapping[str, Any] | None = None
    ids: frozenset[str] = frozenset()
    kinds: frozenset[str] | None = None


Reader = Callable[[Any], Any]
"""Returns the surface of a result, or another result to be read in its place."""
Joiner = Callable[[Sequence[Any]], Any]
"""Joins the pieces of a stream into one result."""
READERS: Registry[Reader] = Registry("reader of")
"""Readers by top-level package and class of the result: `agents.RunResult`."""
JOINERS: Registry[Joiner] = Registry("joiner of")
"""Joiners by top-level package and class of a piece."""
F = TypeVar("F", bound=Callable[..., Any])


def register_reader(*classes: str) -> Callable[[Reader], Reader]:
    """Register a reader for these classes, each given by its top-level package and its name."""
    return _register_in(READERS, classes)


def register_joiner(*classes: str) -> Callable[[Joiner], Joiner]:
    """Register a joiner for pieces of these classes; its result must be readable by a reader."""
    return _register_in(JOINERS, classes)


def _register_in(registry: Registry[F], classes: Sequence[str]) -> Callable[[F], F]:
    def register(function: F) -> F:
        for name in classes:
            registry.add(name, function, function.__module__)
        return function

    return register


def find_registered(registry: Registry[F], result: Any) -> F | None:
    """Find the entry for the class of a result, or for its nearest base class; None if neither is registered."""
    for base in type(result).__mro__:
        name = f"{base.__module__.partition('.')[0]}.{base.__name__.partition('[')[0]}"
        if name in registry:
            return registry[name]
    return None


def surface_from_mapping(members: Mapping[str, Any]) -> Surface:
    """Build the surface that a mapping describes. ConfigError for an unknown member or a wrong type."""
    known = [field.name for field in fields(Surface)]
    if unknown := [name for name in members if name not in known]:
        raise ConfigError(f"surfaced(): {show(unknown[0])} is not a part of a result. It has {', '.join(PARTS)}.")
    values: dict[str, Any] = {name: value for name, value in members.items() if value is not None}
    for name, value in values.items():
        inside: Sequence[Any] = value if name in LIST_PARTS and isinstance(value, list | tuple) else ()
        if not isinstance(value, PART_TYPES[name]) or not all(isinstance(element, Mapping) for element in inside):
            raise ConfigError(f"surfaced(): {name} is {show(value)}. {EXPECTED_FORM}")
    return Surface(**values | {name: frozenset(values[name]) for name in ("ids", "kinds") if name in values})


def merge_surfaces(surfaces: Iterable[Surface]) -> Surface:
    """Merge surfaces into one: concatenate texts and lists, add usages."""
    every = list(surfaces)

    def each(name: str) -> list[Any] | None:
        return [value for surface in every if (value := getattr(surface, name)) is not None] or None

    texts, thoughts, usages = each("text"), each("reasoning"), each("usage")
    notes, calls, kinds = each("annotations"), each("calls"), each("kinds")
    # An annotation of unrestricted kind shows that the merged result can express every kind.
    if any(surface.annotations and surface.kinds is None for surface in every):
        kinds = None
    return Surface(
        text=None if texts is None else "".join(texts),
        annotations=None if notes is None else [note for some in notes for note in some],
        calls=None if calls is None else [call for some in calls for call in some],
        reasoning=None if thoughts is None else "".join(thoughts),
        usage=None if usages is None else sum_token_counts(usages),
        ids=frozenset().union(*(surface.ids for surface in every)),
        kinds=None if kinds is None else frozenset().union(*kinds),
    )


def to_plain_json(thing: Any) -> Any:
    """Convert a framework's object to plain JSON, without the raw responses in it; other values are unchanged."""
    if isinstance(thing, Mapping):
        return {
            name: to_plain_json(value)
            for name, value in thing.items()
            if name not in HIDDEN_MEMBERS and value is not None
        }
    if isinstance(thing, list | tuple | set | frozenset):
        return [to_plain_json(value) for value in thing]
    if thing is None or isinstance(thing, str | int | float | bytes):
        return thing
    if hasattr(thing, "model_dump"):
        with warnings.catch_warnings():
            # Models of SDKs warn about members that they do not know, which is not this test's concern.
            warnings.simplefilter("ignore")
            return to_plain_json(thing.model_dump(mode="json"))
    return to_plain_json(vars(thing)) if hasattr(thing, "__dict__") else str(thing)


def get_member(thing: Any, name: str, default: Any = None) -> Any:
    """Get a member of a mapping or an attribute of an object; the default if it is None or missing."""
    value = thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    return default if value is None else value

"""Names that a user may write: registries of declarations, keyword arguments, and the nearest name for an unknown one.

A package declares one `Registry`; the modules that it lists fill it when they are imported (`import_modules`). Tables
that a package keeps in every World for its own objects are declared, too: the World's store knows only their names.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from harness.core.errors import RegistrationError, ScriptError
from harness.core.text import show

T = TypeVar("T")


class Registry(dict[str, T]):
    """Declarations of one sort by name, in order of registration; errors call each of them a `noun`."""

    __slots__ = ("noun",)

    def __init__(self, noun: str, declared: Mapping[str, T] | None = None) -> None:
        super().__init__(declared or {})
        self.noun = noun

    def add(self, name: str, declared: T, module: str = "") -> T:
        """Register a declaration made in `module` and return it; RegistrationError if the name is taken."""
        if name in self:
            raise RegistrationError(f"{self.noun} {name}{f' in {module}' if module else ''} is declared twice")
        self[name] = declared
        return declared

    def find(self, name: str) -> T:
        """Return the declaration of that name; RegistrationError with the nearest name if it is unknown."""
        try:
            return self[name]
        except KeyError:
            raise RegistrationError(f"No {self.noun} {name!r}. {suggest_name(name, sorted(self))}") from None


def import_modules(package: str, modules: Iterable[str]) -> None:
    """Import modules of a package in this order, which is also the registration order of their declarations."""
    from harness.core.limits import paused_collection

    with paused_collection():
        for module in modules:
            import_module(f"{package}.{module}")


MAX_COMPARED = 200
"""How many characters of a name are compared with the known ones."""
MAX_KNOWN_LISTED = 30
"""The number of known names up to which all are listed when none is near."""


def suggest_name(name: object, known: Iterable[str]) -> str:
    """Return `Did you mean 'x'?`, else names that contain `name`, else all known names or the nearest three of many."""
    from difflib import get_close_matches

    names, text = list(known), (name if isinstance(name, str) else show(name))[:MAX_COMPARED]
    if near := get_close_matches(text, names, 1):
        return f"Did you mean {near[0]!r}?"
    if containing := [candidate for candidate in names if len(text) > 2 and text in candidate][:3]:
        return f"Did you mean {' or '.join(map(repr, containing))}?"
    if len(names) <= MAX_KNOWN_LISTED:
        return f"Known: {', '.join(names)}."
    nearest = get_close_matches(text, names, 3, cutoff=0.0)
    return f"The nearest of {len(names)} are {', '.join(map(repr, nearest))}."


P = ParamSpec("P")


def named_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise a ScriptError for an unknown keyword: `when(instruction=…): … Did you mean …`.

    A function with `**kwargs` is returned unchanged.
    """
    own = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in own):
        return function
    known = [
        parameter.name
        for parameter in own
        if parameter.kind is not parameter.VAR_POSITIONAL and parameter.name != "self"
    ]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs:
            if name not in known:
                raise ScriptError(
                    f"{function.__name__}({name}=…): no argument {show(name)}. {suggest_name(name, known)}"
                )
        return function(*args, **kwargs)

    return checked


@dataclass(frozen=True, slots=True)
class TableKind(Generic[T]):
    """A table by name."""

    name: str


class Tables(Protocol):
    """What has the declared tables."""

    def table(self, kind: TableKind[T]) -> MutableMapping[str, T]:
        """Return the table of a kind."""


TABLES: Registry[TableKind[Any]] = Registry("table")
BOUNDED_TABLES: list[str] = []
"""The names of those that keep only their newest entries where responses are limited."""


def declare_table(name: str, *, is_bounded: bool = False) -> TableKind[Any]:
    """Declare a table that every World has."""
    if is_bounded:
        BOUNDED_TABLES.append(name)
    return TABLES.add(name, TableKind(name))

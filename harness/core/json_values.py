"""JSON values: read where the shape is unknown, patched, and dumped from pydantic objects, without importing pydantic."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

import orjson

from harness.core.errors import ScriptError
from harness.core.exchange import Json

T = TypeVar("T")


def as_object(value: Any) -> Json:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[Json]:
    """Return the objects in a list; empty for any other value."""
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def as_string(value: Any) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value, except the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from strings_in(member)


def map_strings(value: Any, change: Callable[[str], Any]) -> Any:
    """Apply `change` to every string in a JSON value, except the names of members."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_strings(element, change) for element in value]
    return {name: map_strings(member, change) for name, member in value.items()} if isinstance(value, dict) else value


def pick(value: Mapping[str, T], *names: str) -> dict[str, T]:
    """Copy only these members of an object, in the order of the names."""
    return {name: value[name] for name in names if name in value}


def omit(value: Mapping[str, T], *names: str) -> dict[str, T]:
    """Copy an object without these members."""
    return {name: member for name, member in value.items() if name not in names}


def without_nulls(value: Mapping[str, T | None]) -> dict[str, T]:
    """Copy an object without its null members."""
    return {name: member for name, member in value.items() if member is not None}


def copy_json(value: Any, what: str = "") -> Any:
    """Copy a value as JSON carries it; ScriptError, beginning with `what`, for any other, such as NaN."""
    try:
        encoded = orjson.dumps(value)
        if b"null" in encoded:  # which is also how NaN is written
            json.dumps(value, allow_nan=False, default=str)
        return orjson.loads(encoded)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ScriptError(f"{what}{problem}. Pass plain JSON values; strings must be valid Unicode.") from problem


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396) to a value: null removes a member, objects are merged."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


class Dumpable(Protocol):
    """An object that dumps itself as plain data."""

    def model_dump(self) -> dict[str, Any]:
        """Return the members by name."""


def is_model(value: Any) -> bool:
    """Return whether a value has `model_dump`, like the objects of pydantic and the SDKs; classes do not count."""
    return callable(getattr(type(value), "model_dump", None))


def dump_model(value: Any) -> Any:
    """Dump all members of an object by alias, defaults included, as a model of the API would."""
    return _dump(value, exclude_unset=False)


def dump_set(value: Any) -> Any:
    """Dump only the members of an object that were set, by alias, as they came on the wire."""
    return _dump(value, exclude_unset=True)


def _dump(value: Any, *, exclude_unset: bool) -> Any:
    try:
        return value.model_dump(mode="json", by_alias=True, exclude_unset=exclude_unset, warnings=False)
    except Exception as problem:
        raise ScriptError(
            f"{type(value).__name__}.model_dump() raised {type(problem).__name__}: {problem}. Pass its JSON as a dict."
        ) from problem


def write_json(what: str, value: Any) -> str:
    """Serialize a value as a model does, as compact JSON; ScriptError, beginning with `what`, if it cannot be."""
    try:
        plain = dump_model(value) if is_model(value) else value
        return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ScriptError(f"{what} cannot be serialized to JSON: {error}. Pass plain JSON values, or a str.") from error

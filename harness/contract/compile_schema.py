"""The one place that compiles JSON Schemas, the project's own and those in requests. It never reads another document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import jsonschema_rs

MAX_UNFOLDED = 1_000_000
"""How many parts a schema of a request may have once its references are replaced by what they name."""
MAX_PARTS = 30_000
"""How many objects and arrays such a schema may have: the largest that are known have some hundreds."""
MAX_REFERENCES = 4_000
"""How many references such a schema may have: what compiles them takes more than linear time."""
MAX_PATTERN_CHARACTERS = 1 << 16
"""How many characters the patterns of such a schema may have together."""


def compile_schema(schema: Any) -> jsonschema_rs.Validator:
    """A schema, compiled; ValueError when it is none or refers to anything outside itself (`$ref`, `$schema`).

    What it names is neither fetched nor opened. A pattern that needs too many steps is no match.
    """
    return jsonschema_rs.validator_for(schema, retriever=_refuse_reference)


def compile_request_schema(schema: Any) -> jsonschema_rs.Validator:
    """The schema of a tool or a format, compiled; ValueError, too, when it is too dear to compile or to walk."""
    parts, references, characters = _count_costly(schema)
    if parts > MAX_PARTS:
        raise ValueError(f"it has more than {MAX_PARTS:,} parts")
    if references > MAX_REFERENCES:
        raise ValueError(f"it has more than {MAX_REFERENCES:,} references")
    if characters > MAX_PATTERN_CHARACTERS:
        raise ValueError(f"its patterns have more than {MAX_PATTERN_CHARACTERS:,} characters")
    compiled = compile_schema(schema)
    if unfolded_size(schema) > MAX_UNFOLDED:
        raise ValueError(f"its references unfold to more than {MAX_UNFOLDED:,} parts")
    return compiled


def _count_costly(schema: Any) -> tuple[int, int, int]:
    """How many parts a schema has, up to one more than MAX_PARTS, the references and characters of patterns in these."""
    parts, references, characters, left = 0, 0, 0, [schema] if isinstance(schema, dict | list) else []
    while left and parts <= MAX_PARTS:
        part = left.pop()
        parts += 1
        if isinstance(part, dict):
            references += isinstance(part.get("$ref"), str)
            named = part.get("patternProperties")
            patterns = (part.get("pattern"), *(named if isinstance(named, dict) else ()))
            characters += sum(len(each) for each in patterns if isinstance(each, str))
        inner = part.values() if isinstance(part, dict) else part
        left += (each for each in inner if isinstance(each, dict | list))
    return parts, references, characters


def unfolded_size(schema: Any) -> int:
    """How many parts a schema has once each reference is replaced by what it names, up to one more than MAX_UNFOLDED.

    A reference that leads to itself counts once.
    """
    sizes: dict[int, int] = {}
    open_parts: list[tuple[Any, Iterator[Any]]] = [(schema, _parts_of(schema, schema))]
    sizes[id(schema)] = 1
    while open_parts:
        part, rest = open_parts[-1]
        child = next(rest, None)
        if child is None:
            open_parts.pop()
            if open_parts:
                holder = id(open_parts[-1][0])
                sizes[holder] = min(MAX_UNFOLDED + 1, sizes[holder] + sizes[id(part)])
        elif id(child) in sizes:
            sizes[id(part)] = min(MAX_UNFOLDED + 1, sizes[id(part)] + sizes[id(child)])
        else:
            sizes[id(child)] = 1
            open_parts.append((child, _parts_of(child, schema)))
    return sizes[id(schema)]


def resolve_pointer(pointer: str, root: Any) -> Any:
    """What a reference such as `#/$defs/Name` names in a schema; LookupError when it names nothing or another document."""
    if not f"{pointer}/".startswith("#/"):
        raise LookupError(f"{pointer} is not followed: only references like #/$defs/Name are")
    found = root
    for step in pointer.split("/")[1:]:
        try:
            found = found[int(step)] if isinstance(found, list) else found[step.replace("~1", "/").replace("~0", "~")]
        except (LookupError, TypeError, ValueError):
            raise LookupError(f"{pointer} names nothing: there is no {step!r}") from None
    return found


def _parts_of(part: Any, root: Any) -> Iterator[Any]:
    if isinstance(part, dict):
        for name, each in part.items():
            if isinstance(each, dict) or (isinstance(each, list) and name != "enum"):
                yield each
        if isinstance(reference := part.get("$ref"), str):
            try:
                target = resolve_pointer(reference, root)
            except LookupError:
                return
            if isinstance(target, dict | list):
                yield target
    elif isinstance(part, list):
        yield from (each for each in part if isinstance(each, dict | list))


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not read: a schema stands alone")

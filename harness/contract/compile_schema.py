"""Compiles JSON Schemas, the project's own and those in requests, without ever reading another document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import jsonschema_rs

MAX_UNFOLDED = 1_000_000
"""The maximum number of parts in a request's schema once its references are expanded."""
MAX_PARTS = 30_000
"""The maximum number of objects and arrays in such a schema; the largest known ones have some hundreds."""
MAX_REFERENCES = 4_000
"""The maximum number of references in such a schema, as compiling them takes more than linear time."""
MAX_PATTERN_CHARACTERS = 1 << 16
"""The maximum total length of the patterns in such a schema."""


def compile_schema(schema: Any) -> jsonschema_rs.Validator:
    """Compile a schema; ValueError if it is invalid or refers to another document (`$ref`, `$schema`).

    Other documents are neither fetched nor opened. A pattern that needs too many steps does not match.
    """
    return jsonschema_rs.validator_for(schema, retriever=_refuse_reference)


def compile_request_schema(schema: Any) -> jsonschema_rs.Validator:
    """Compile the schema of a tool or a format; also ValueError if it is too costly to compile or to walk."""
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
    """Count a schema's parts, at most MAX_PARTS + 1, with their references and characters of patterns."""
    parts, references, characters, left = 0, 0, 0, [schema] if isinstance(schema, dict | list) else []
    # A user's schema can be arbitrarily large; stop counting once it is too large anyway.
    while left and parts <= MAX_PARTS:
        part = left.pop()
        parts += 1
        if isinstance(part, dict):
            references += isinstance(part.get("$ref"), str)
            named = part.get("patternProperties")
            patterns = (part.get("pattern"), *(named if isinstance(named, dict) else ()))
            characters += sum(len(pattern) for pattern in patterns if isinstance(pattern, str))
        inner = part.values() if isinstance(part, dict) else part
        left += (value for value in inner if isinstance(value, dict | list))
    return parts, references, characters


def unfolded_size(schema: Any) -> int:
    """Count the parts of a schema once each reference is expanded, at most MAX_UNFOLDED + 1.

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
    """Resolve a reference such as `#/$defs/Name` in a schema; LookupError for another document or an unknown name."""
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
        for name, value in part.items():
            # The values of an enum are data: an object in it is not a schema.
            if isinstance(value, dict) or (isinstance(value, list) and name != "enum"):
                yield value
        if isinstance(reference := part.get("$ref"), str):
            try:
                target = resolve_pointer(reference, root)
            except LookupError:
                return
            if isinstance(target, dict | list):
                yield target
    elif isinstance(part, list):
        yield from (value for value in part if isinstance(value, dict | list))


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not read: a schema stands alone")

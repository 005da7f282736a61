"""Compiles JSON Schemas, the project's own and those in requests, and describes why one is invalid.

No other document is ever read. An invalid schema is described in the words of Python's `jsonschema` and the API, for
example `'int' is not of type 'array'.` Recorded and reported: `[] is not of type 'object', 'boolean'`
(https://github.com/FoundationAgents/OpenManus/issues/1162, 2025-06), `'items' is not of type 'array'`
(https://community.openai.com/t/1062703, 2024-12), and `'…' is not a 'regex'` where Python's `re` decides
(https://github.com/pleaseai/shunt/pull/488, https://github.com/BerriAI/litellm/pull/40485, 2026-09). Other keywords of
the meta-schema, such as `minItems`, refuse nothing here: the API's messages for them are unknown.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs
import orjson

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


DRAFT = "https://json-schema.org/draft/2020-12/schema"
_MAX_SMALL = 4096
"""The longest schema, in bytes, whose problem is cached and of which all problems are compared.

Clients send the same tools with every request. For a longer schema, the first problem found is reported.
"""
_MAX_PATTERNS = 1000
"""The maximum number of patterns compiled per schema."""
_MAX_PATTERN_CHARACTERS = 1 << 15
"""The maximum total length of these patterns; Python takes about 5 µs per character."""


def find_schema_problem(schema: Any) -> str:
    """Describe the problem nearest to the top of an invalid JSON Schema; empty if the schema is valid."""
    raw = orjson.dumps(schema)
    return _cached_problem(raw) if len(raw) <= _MAX_SMALL else _find_problem(schema, raw)


@lru_cache(maxsize=512)
def _cached_problem(raw: bytes) -> str:
    return _find_problem(orjson.loads(raw), raw)


def _find_problem(schema: Any, raw: bytes) -> str:
    problems = [*_find_misfits(schema, every=len(raw) <= _MAX_SMALL)]
    if b'"pattern' in raw:
        texts = _limit_patterns(_find_patterns(schema, 0))
        problems += [(depth, f"{text!r} is not a 'regex'.") for depth, text in texts if not _is_pattern(text)]
    return min(problems, key=lambda problem: problem[0], default=(0, ""))[1]


@cache
def _meta_validator() -> jsonschema_rs.Validator:
    return compile_schema({"$schema": DRAFT, "$ref": DRAFT})


def _find_misfits(schema: Any, *, every: bool) -> Iterator[tuple[int, str]]:
    """Yield depth and problem of every part with a wrong type, or only of the first one."""
    for error in _meta_validator().iter_errors(schema) if every else _first_error(schema):
        depth = len(error.instance_path)
        if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.AnyOf):
            yield depth, f"{error.instance!r} is not valid under any of the given schemas."
        elif isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Type):
            types = sorted(error.kind.types, reverse=True)  # the meta-schema lists object before boolean
            yield depth, f"{error.instance!r} is not of type {', '.join(map(repr, types))}."


def _first_error(schema: Any) -> list[jsonschema_rs.ValidationError]:
    try:
        _meta_validator().validate(schema)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def _find_patterns(node: Any, depth: int) -> Iterator[tuple[int, str]]:
    if isinstance(node, list):
        for part in node:
            yield from _find_patterns(part, depth + 1)
    elif isinstance(node, dict):
        named = node.get("patternProperties")
        found = (node.get("pattern"), *(named if isinstance(named, dict) else ()))
        yield from ((depth + 1, text) for text in found if isinstance(text, str))
        for name, part in node.items():
            # These contain data, in which `pattern` is a name like any other.
            if isinstance(part, dict | list) and name not in ("const", "enum", "default", "examples"):
                yield from _find_patterns(part, depth + 1)


def _limit_patterns(found: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield patterns as long as all of them together are cheap to compile."""
    left = _MAX_PATTERN_CHARACTERS
    for depth, text in islice(found, _MAX_PATTERNS):
        left -= len(text)
        if left >= 0:
            yield depth, text


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True

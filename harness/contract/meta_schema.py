"""Describes why a JSON Schema is invalid, in the words of Python's `jsonschema` and the API.

For example `'int' is not of type 'array'.` Recorded and reported: `[] is not of type 'object', 'boolean'`
(https://github.com/FoundationAgents/OpenManus/issues/1162, 2025-06), `'items' is not of type 'array'`
(https://community.openai.com/t/1062703, 2024-12), and `'…' is not a 'regex'` where Python's `re` decides
(https://github.com/pleaseai/shunt/pull/488, https://github.com/BerriAI/litellm/pull/40485, 2026-09). Other keywords of
the meta-schema, such as `minItems`, refuse nothing here: the API's messages for them are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs
import orjson

from harness.contract.compile_schema import compile_schema

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
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
    return compile_schema({"$schema": _DRAFT, "$ref": _DRAFT})


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
    """Yield the depth and text of each pattern."""
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

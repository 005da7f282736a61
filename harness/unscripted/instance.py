"""Finds a value that satisfies a JSON Schema in a bounded number of steps.

It is as small as possible: only required members, the first value of an enum. Strings and numbers come from the user's
message where they fit. Booleans that signal success are true, so that clients which ask until they are will finish.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from harness.contract.compile_schema import compile_request_schema, compile_schema, resolve_pointer
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text.shorten import shorten, show
from harness.core.text.vocabulary import render_json

MAX_STEPS = 10_000
"""The maximum number of schemas and values that are tried for one instance."""
MAX_DEPTH = 100
"""The maximum depth of a schema, with its references resolved."""
MAX_SAID = 10_000
"""The maximum number of characters of the user's message that are searched."""
MAX_PHRASES = 5
"""The maximum number of quoted phrases, and of names, that are tried for each string."""
EXAMPLE_TEXT = "example"
QUERY_MEMBERS = frozenset(("input", "message", "prompt", "query", "question", "request", "user_input", "user_query"))
"""Common names of members that take the user's whole message."""
_WELL = re.compile(
    r"(?:^|_|is_)(?:accepted|acceptable|approved|complete|completed|correct|done|finished|good|ok|passed|passes|satisfied|"
    r"success|successful|valid|verified)(?:_|$)"
)
"""Matches the names of members that signal success."""
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,6})?(?![\w.]*\w)")
_QUOTED = re.compile(r"(?<!\w)[\"'“`]([^\"'“”`\n]{1,60})[\"'”`](?!\w)")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)*")

FORMAT_EXAMPLES: Mapping[str, str] = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
"""An example of each format that structured outputs support."""

SCALAR_TYPES = ("string", "number", "integer", "boolean", "null")
_SCALAR_KEYWORDS = frozenset(
    (
        *("type", "const", "enum", "minLength", "maxLength", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    )
)


class _EndlessError(Exception):
    """Raised if an instance of a schema would contain itself; another branch may still be finite."""


class _TooLargeError(Exception):
    """Raised if the smallest instance of a schema exceeds the bounds of the search."""


class UserValues:
    """The strings and numbers in the user's message; each number is used once, in order."""

    def __init__(self, said: str) -> None:
        text = said[:MAX_SAID]
        self._said = text.casefold()
        self._query = [text.strip()] if text.strip() and len(said) <= MAX_SAID else []
        self._numbers = [float(number) for number in _NUMBER.findall(text)]
        self._quoted, self._names = (pattern.findall(text)[:MAX_PHRASES] for pattern in (_QUOTED, _NAME))

    def order(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return values to choose from, starting with those in the user's message."""
        said = [value for value in values[:100] if isinstance(value, str) and value and value.casefold() in self._said]
        return [*said, *values] if said else values

    def candidates(self, schema: Json, member: str) -> Iterator[Any]:
        """Yield values for a scalar member with this name, the best first; possibly none of them fits."""
        kind = schema["type"]
        if kind == "boolean" and _WELL.search(member):
            yield True
        elif kind == "string" and "format" not in schema:
            yield from (*self._quoted, *(self._query if member in QUERY_MEMBERS else ()), *self._names, EXAMPLE_TEXT)
        elif kind in ("integer", "number") and self._numbers:
            number = self._numbers[0]
            if number.is_integer() or kind == "number":
                # Each number is used once, since two members rarely mean the same.
                self._numbers.pop(0)
                yield int(number) if number.is_integer() else number


def make_instance(schema: Any, said: str = "", of: str = "the schema") -> Any:
    """Make a value that satisfies a JSON Schema, using what the user `said`; errors call the schema `of`.

    ScriptError if none is found: the search supports types, enum, const, anyOf, oneOf, allOf, $ref, bounds, formats and
    simple patterns.
    """
    try:
        conforms = compile_request_schema(schema).is_valid
        found = _Search(schema, UserValues(said)).least_value(schema, ())
        if conforms(found):
            return found
        reason = f"{render_json(found, 200)} does not satisfy it"
    except _EndlessError:
        reason = "every instance would contain itself"
    except _TooLargeError as bound:
        reason = f"its least instance {bound}"
    except (LookupError, TypeError, ValueError, ArithmeticError) as problem:
        reason = _describe_problem(problem)
    raise ScriptError(f"no example of {of} could be made up: {reason}. Script the turn: mock.script(message('…')).")


def _describe_problem(problem: Exception) -> str:
    """Describe what is wrong with a schema in one line that begins with the place."""
    place = ".".join(map(str, getattr(problem, "instance_path", ())))
    return shorten(f"{place}: {problem}".removeprefix(": ").partition("\n")[0], 200)


def compact_json(value: Any) -> str:
    """Return the JSON of a value without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(slots=True)
class _Search:
    """Searches for the smallest instance of a schema, `root`, the target of references; `member` is the current one."""

    root: Any
    values: UserValues
    member: str = ""
    steps: int = 0
    depth: int = 0

    def least_value(self, schema: Any, open_refs: tuple[str, ...]) -> Any:
        """Find the smallest value for a schema within `root`; `open_refs` are the references that led there."""
        self._count_steps(1)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _TooLargeError(f"is nested deeper than {MAX_DEPTH}")
        try:
            return self._least_of_schema(schema, open_refs) if isinstance(schema, dict) else ""
        finally:
            self.depth -= 1

    def _count_steps(self, number: int) -> None:
        self.steps += number
        if self.steps > MAX_STEPS:
            raise _TooLargeError(f"takes more than {MAX_STEPS:,} steps to find")

    def _least_of_schema(self, schema: Json, open_refs: tuple[str, ...]) -> Any:
        if "$ref" in schema:
            return self._least_of_ref(schema, open_refs)
        if "allOf" in schema:
            return self._least_of_all_of(schema, open_refs)
        if branches := schema.get("anyOf") or schema.get("oneOf"):
            rest = {name: value for name, value in schema.items() if name not in ("anyOf", "oneOf")}
            return _first_possible(lambda branch: self.least_value(self._merge(rest, branch), open_refs), branches)
        if "const" in schema or "enum" in schema:
            return self._first_valid(
                schema, [schema["const"]] if "const" in schema else self.values.order(schema["enum"])
            )
        types = schema.get("type") or _implied_type(schema)
        return _first_possible(
            lambda kind: self._least_of_type({**schema, "type": kind}, open_refs),
            [types] if isinstance(types, str) else types,
        )

    def _least_of_ref(self, schema: Json, open_refs: tuple[str, ...]) -> Any:
        name = schema["$ref"]
        if name in open_refs:
            raise _EndlessError
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return self.least_value(self._merge(beside, resolve_pointer(name, self.root)), (*open_refs, name))

    def _least_of_all_of(self, schema: Json, open_refs: tuple[str, ...]) -> Any:
        """Find the smallest instance of `allOf` and the keywords beside it."""
        names = tuple(part["$ref"] for part in schema["allOf"] if "$ref" in part)
        if not set(names).isdisjoint(open_refs):
            raise _EndlessError
        merged = {name: value for name, value in schema.items() if name != "allOf"}
        for part in schema["allOf"]:
            merged = self._merge(merged, resolve_pointer(part["$ref"], self.root) if "$ref" in part else part)
        return self.least_value(merged, (*open_refs, *names))

    def _least_of_type(self, schema: Json, open_refs: tuple[str, ...]) -> Any:
        kind = schema["type"]
        if kind == "object":
            return self._least_object(schema, open_refs)
        if kind == "array":
            return self._least_array(schema, open_refs)
        if kind not in SCALAR_TYPES:
            raise ValueError(f"{show(kind)} is no JSON type")
        self._count_steps(int(schema.get("minLength", 0)) // 100)
        return self._first_valid(schema, chain(self.values.candidates(schema, self.member), _candidates(schema)))

    def _least_object(self, schema: Json, open_refs: tuple[str, ...]) -> Json:
        declared = schema.get("properties") or {}
        others = schema.get("additionalProperties", True)
        made = {}
        for name in schema.get("required") or []:
            self.member = name
            made[name] = self.least_value(declared.get(name, others), open_refs)
        return made

    def _least_array(self, schema: Json, open_refs: tuple[str, ...]) -> list[Any]:
        first = schema.get("prefixItems") or []
        rest = schema.get("items", True)
        return [
            self.least_value(first[index] if index < len(first) else rest, open_refs)
            for index in range(int(schema.get("minItems", 0)))
        ]

    def _first_valid(self, schema: Json, candidates: Iterable[Any]) -> Any:
        self._count_steps(len(schema.get("enum", ())) // 100)
        leaf = compile_schema({name: schema[name] for name in schema if name in _SCALAR_KEYWORDS})
        for candidate in candidates:
            if leaf.is_valid(candidate):
                return candidate
        raise ValueError(f"no value for {render_json(schema, 200)} was found")

    def _merge(self, one: Json, other: Any) -> Any:
        """Merge two schemas that must both hold: join members and required names; else the keywords of `other` win."""
        if not isinstance(other, dict) or not one:
            return other
        both = {**one, **other}
        both["properties"] = {**(one.get("properties") or {}), **(other.get("properties") or {})}
        both["required"] = list(dict.fromkeys([*(one.get("required") or []), *(other.get("required") or [])]))
        self._count_steps(len(both["properties"]) + len(both["required"]))
        return {name: value for name, value in both.items() if value or name not in ("properties", "required")}


def _first_possible(make: Callable[[Any], Any], choices: Sequence[Any]) -> Any:
    """Return the instance of the first choice that has one; raise the error of the last choice if none has."""
    *others, last = choices
    for choice in others:
        with suppress(_EndlessError, ValueError):
            return make(choice)
    return make(last)


def _implied_type(schema: Json) -> str:
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return (
        # Without a `type`, `minimum` and similar keywords imply a number.
        "number" if _SCALAR_KEYWORDS & {name for name in schema if "imum" in name or name == "multipleOf"} else "string"
    )


def _candidates(schema: Json) -> Iterable[Any]:
    kind = schema["type"]
    if kind == "string":
        return _candidate_texts(schema)
    if kind in ("integer", "number"):
        return (int(number) if float(number).is_integer() else number for number in _candidate_numbers(schema))
    return [False, True] if kind == "boolean" else [None]


def _candidate_texts(schema: Json) -> Iterator[str]:
    if (known := FORMAT_EXAMPLES.get(schema.get("format", ""))) is not None:
        yield known
    least = int(schema.get("minLength", 0))
    pieces = ("a", "A", "0", "a0", "A0", "a@example.com", "a-", "a_", "https://example.com/")
    lengths = range(least, least + 13)
    yield from (piece * length for length in lengths for piece in pieces[:3])
    yield from chain(pieces, FORMAT_EXAMPLES.values())


def _candidate_numbers(schema: Json) -> Iterator[float]:
    yield 0
    low = max((schema[name] for name in ("minimum", "exclusiveMinimum") if name in schema), default=None)
    high = min((schema[name] for name in ("maximum", "exclusiveMaximum") if name in schema), default=None)
    step = schema.get("multipleOf", 1)
    for bound, away in ((low, 1), (high, -1)):
        if bound is not None:
            # The neighbours are candidates, too, in case the bound is exclusive or not a multiple.
            nearest = step * (math.ceil(bound / step) if away > 0 else math.floor(bound / step))
            yield from (bound, nearest, nearest + away * step)
    if low is not None and high is not None:
        yield (low + high) / 2

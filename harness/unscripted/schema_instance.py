"""Finds the least value that satisfies a JSON Schema, in a bounded number of steps: without optional members."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from harness.contract.compile_schema import compile_request_schema, compile_schema, resolve_pointer
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import omit, pick, write_json
from harness.core.text import shorten

MAX_STEPS = 10_000
"""The maximum number of schemas and values that are tried for one instance."""
MAX_DEPTH = 100
"""The maximum depth of a schema, with its references resolved."""
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
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
_IMPLIED: Mapping[str, set[str]] = {
    "object": {"properties", "required"},
    "array": {"items", "prefixItems"},
    "number": {*_BOUNDS, "multipleOf"},
}
"""The types of a schema without a `type`, by the keywords that imply them; else it is a string."""
_SCALAR_KEYWORDS = ("type", "const", "enum", "minLength", "maxLength", "pattern", "format", "multipleOf", *_BOUNDS)


def make_instance(schema: Any, of: str = "the schema") -> Any:
    """Make a value that satisfies a JSON Schema; errors call the schema `of`.

    ScriptError if none is found: the search supports types, enum, const, anyOf, oneOf, allOf, $ref, bounds, formats and
    simple patterns.
    """
    try:
        conforms = compile_request_schema(schema).is_valid
        found = _Search(schema).least_value(schema, ())
        if conforms(found):
            return found
        reason = f"{shorten(write_json('the value', found), 200)} does not satisfy it"
    except (LookupError, TypeError, ValueError, ArithmeticError) as problem:
        place = ".".join(map(str, getattr(problem, "instance_path", ())))
        reason = shorten(f"{place}: {problem}".removeprefix(": ").partition("\n")[0], 200)
    raise ScriptError(f"no example of {of} could be made up: {reason}. Script the turn: mock.script(message('…')).")


@dataclass(slots=True)
class _Search:
    """Searches for the smallest instance of a schema, `root`, the target of references."""

    root: Any
    steps: int = 0

    def least_value(self, schema: Any, within: tuple[str, ...]) -> Any:
        """Find the smallest value for a schema; `within` are the references that led there, '' for each other level."""
        self._count_steps(1)
        if len(within) > MAX_DEPTH:
            raise OverflowError(f"its least instance is nested deeper than {MAX_DEPTH}")
        if not isinstance(schema, dict):
            _refuse_false(schema)
            return ""
        if "$ref" in schema or "allOf" in schema:
            return self._least_of_all(schema, within)
        types = schema.get("type") or next(
            (kind for kind, names in _IMPLIED.items() if names & schema.keys()), "string"
        )
        union = next((name for name in ("anyOf", "oneOf") if schema.get(name)), "")
        if not union and ("const" in schema or "enum" in schema):
            return self._first_valid(schema, [schema["const"]] if "const" in schema else schema["enum"])
        if not union and isinstance(types, str):
            return self._least_of_type({**schema, "type": types}, (*within, ""))
        # The first branch that has an instance counts.
        *others, last = schema[union] if union else [{"type": kind} for kind in types]
        rest = omit(schema, "anyOf", "oneOf")
        for branch in others:
            with suppress(ValueError):
                return self.least_value(self._merge(rest, branch), (*within, ""))
        return self.least_value(self._merge(rest, last), (*within, ""))

    def _least_of_all(self, schema: Json, within: tuple[str, ...]) -> Any:
        """Find the smallest instance of `$ref`, `allOf` and the keywords beside them."""
        merged: Json = {}
        names = list[str]()
        for part in (omit(schema, "allOf"), *schema.get("allOf", ())):
            merged = self._merge(merged, part)
            if name := merged.pop("$ref", ""):
                names.append(name)
                merged = self._merge(merged, resolve_pointer(name, self.root))
        if not set(names).isdisjoint(within):
            raise ValueError("every instance would contain itself")
        return self.least_value(merged, (*within, *(names or ("",))))

    def _least_of_type(self, schema: Json, within: tuple[str, ...]) -> Any:
        if schema["type"] == "object":
            declared, others = schema.get("properties", {}), schema.get("additionalProperties")
            return {name: self.least_value(declared.get(name, others), within) for name in schema.get("required", ())}
        if schema["type"] == "array":
            first, rest = schema.get("prefixItems", []), schema.get("items")
            indexes = range(int(schema.get("minItems", 0)))
            return [self.least_value(first[index] if index < len(first) else rest, within) for index in indexes]
        self._count_steps(int(schema.get("minLength", 0)) // 100)
        return self._first_valid(schema, _SCALARS[schema["type"]](schema))

    def _count_steps(self, number: int) -> None:
        self.steps += number
        if self.steps > MAX_STEPS:
            raise OverflowError(f"its least instance takes more than {MAX_STEPS:,} steps to find")

    def _first_valid(self, schema: Json, candidates: Iterable[Any]) -> Any:
        self._count_steps(len(schema.get("enum", ())) // 100)
        leaf = compile_schema(pick(schema, *_SCALAR_KEYWORDS))
        for candidate in candidates:
            if leaf.is_valid(candidate):
                return candidate
        raise ValueError(f"no value for {shorten(write_json('the schema', schema), 200)} was found")

    def _merge(self, one: Json, other: Any) -> Json:
        """Merge two schemas that must both hold: join members and required names; else the keywords of `other` win."""
        if not isinstance(other, dict):
            _refuse_false(other)
            return one
        properties = {**one.get("properties", {}), **other.get("properties", {})}
        required = list(dict.fromkeys([*one.get("required", ()), *other.get("required", ())]))
        self._count_steps(len(properties) + len(required))
        joined = {"properties": properties, "required": required}
        both = {**one, **other}
        return both | {name: value for name, value in joined.items() if name in both}


def _refuse_false(schema: Any) -> None:
    if schema is False:
        raise ValueError("no value satisfies false")


def _candidate_texts(schema: Json) -> Iterator[str]:
    yield FORMAT_EXAMPLES.get(schema.get("format", ""), "example")
    least = int(schema.get("minLength", 0))
    yield from (piece * length for length in range(least, least + 13) for piece in ("a", "A", "0"))
    yield from ("a0", "A0", "a-", "a_", "https://example.com/", *FORMAT_EXAMPLES.values())


def _candidate_numbers(schema: Json) -> Iterator[float]:
    bounds, step = [schema[name] for name in _BOUNDS if name in schema], schema.get("multipleOf", 1)
    numbers = [0.0]
    for bound in bounds:
        # The neighbours are candidates, too, in case the bound is exclusive or not a multiple.
        nearest = step * math.floor(bound / step)
        numbers += [bound, nearest, nearest + step, nearest - step]
    if bounds:
        numbers.append((min(bounds) + max(bounds)) / 2)
    yield from (int(number) if float(number).is_integer() else number for number in numbers)


_SCALARS: Mapping[str, Callable[[Json], Iterable[Any]]] = {
    "string": _candidate_texts,
    "integer": _candidate_numbers,
    "number": _candidate_numbers,
    "boolean": lambda schema: (False,),
    "null": lambda schema: (None,),
}
"""The values to try for a schema of a scalar type, the best first."""

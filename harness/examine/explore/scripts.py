"""Hypothesis strategies for whole scripts: texts, refusals, reasoning, and calls of a user's own tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.errors import ConfigError, missing_extra
from harness.items import custom_tool_call, function_call, message, reasoning, refusal, web_search_call

try:
    from hypothesis import strategies as st
except ImportError as problem:
    raise missing_extra("a generated script", "hypothesis", "explore") from problem

__all__ = ["Built", "scripts"]

MOST_CALLS = 3
LONG_TEXT = "0123456789" * 100
ANNOTATING = {"$schema", "additionalProperties", "default", "description", "examples", "format", "title"}
"""JSON Schema keywords that do not affect generated values."""
KNOWN = {
    *("$defs", "$ref", "anyOf", "const", "enum", "type", "properties", "required", "items", "minItems", "maxItems"),
    *("minimum", "maximum", "minLength", "maxLength", "pattern"),
}


@dataclass(frozen=True, slots=True)
class Built:
    """A deferred call of a builder, whose `repr` is the call as code."""

    builder: Callable[..., Any]
    args: Sequence[Any]

    def build(self) -> Any:
        """Call the builder."""
        return self.builder(*(argument.build() if isinstance(argument, Built) else argument for argument in self.args))

    def __repr__(self) -> str:
        return f"{self.builder.__name__}({', '.join(map(repr, self.args))})"


def scripts(
    tools: Sequence[Mapping[str, Any]] = (), *, parallel: bool = True, reasons: bool = False, most_turns: int = 4
) -> st.SearchStrategy[list[list[Built]]]:
    """Generate scripts that end with a message, after up to `most_turns - 1` turns that call the request's `tools`.

    Tools are functions, custom tools and `web_search`, as a request declares them; arguments fit their `parameters`.
    `parallel` allows several calls in one turn, `reasons` puts reasoning first. ConfigError for any other tool or an
    unknown schema keyword.
    """
    calls = [made for tool in tools if (made := _calls_of(tool)) is not None]
    shown = [_said(), *(_built(web_search_call, _texts()) for tool in tools if tool.get("type") == "web_search")]
    beside = st.lists(st.one_of(shown), max_size=2)
    before = st.lists(_built(reasoning, st.text(min_size=1)), max_size=1) if reasons else st.just([])
    last = st.tuples(before, beside, _said().map(lambda said: [said])).map(_join)
    if not calls:
        return last.map(lambda turn: [turn])
    called = st.lists(st.one_of(calls), min_size=1, max_size=MOST_CALLS if parallel else 1)
    calling = st.tuples(before, beside, called).map(_join)
    return st.tuples(st.lists(calling, max_size=most_turns - 1), last).map(lambda parts: [*parts[0], parts[1]])


def _join(parts: Sequence[Sequence[Built]]) -> list[Built]:
    return [piece for part in parts for piece in part]


def _built(builder: Callable[..., Any], *args: st.SearchStrategy[Any]) -> st.SearchStrategy[Built]:
    return st.tuples(*args).map(lambda values: Built(builder, values))


def _texts() -> st.SearchStrategy[str]:
    return st.one_of(st.text(), st.just(LONG_TEXT))


def _said() -> st.SearchStrategy[Built]:
    return st.one_of(_built(message, _texts()), _built(message, _built(refusal, _texts())))


def _calls_of(tool: Mapping[str, Any]) -> st.SearchStrategy[Built] | None:
    """Generate calls of a tool; None for a tool that only the API runs."""
    match tool.get("type"):
        case "function":
            schema = tool.get("parameters") or {}
            arguments = _values(schema if schema.get("type") else {**schema, "type": "object"}, schema)
            return _built(function_call, st.just(tool["name"]), arguments)
        case "custom" if "format" not in tool or tool["format"].get("type") == "text":
            return _built(custom_tool_call, st.just(tool["name"]), _texts())
        case "web_search":
            return None
    raise ConfigError(
        f"scripts: tool {tool!r} cannot be generated. Pass functions, custom tools with text, or web_search."
    )


def _values(schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Generate values that fit a JSON Schema, within the subset that strict functions allow."""
    if unknown := set(schema) - KNOWN - ANNOTATING:
        raise ConfigError(f"scripts: the keyword {min(unknown)!r} in a tool's parameters is not supported: {schema!r}")
    if "$ref" in schema:
        found: Any = root
        for part in schema["$ref"].removeprefix("#").strip("/").split("/"):
            found = found[part] if part else found
        return st.deferred(lambda: _values(found, root))
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema["enum"] if "enum" in schema else [schema["const"]])
    if "anyOf" in schema:
        # Hypothesis shrinks towards the first branch.
        simplest_first = sorted(schema["anyOf"], key=lambda option: option.get("type") != "null")
        return st.one_of([_values(alternative, root) for alternative in simplest_first])
    kinds = schema.get("type", ["null", "boolean", "integer", "string"])
    simplest_first = [kinds] if isinstance(kinds, str) else sorted(kinds, key=lambda kind: kind != "null")
    return st.one_of([_of_type(kind, schema, root) for kind in simplest_first])


def _of_type(kind: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    low, high = schema.get("minimum"), schema.get("maximum")
    match kind:
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(low, high)
        case "number":
            return st.floats(low, high, allow_nan=False, allow_infinity=False)
        case "string" if "pattern" in schema:
            return st.from_regex(schema["pattern"], fullmatch=False)
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=schema.get("maxLength"))
        case "array":
            items = _values(schema.get("items", {}), root)
            return st.lists(items, min_size=schema.get("minItems", 0), max_size=schema.get("maxItems"))
        case "object":
            members = {
                name: _values(member_schema, root) for name, member_schema in schema.get("properties", {}).items()
            }
            needed = {name: member for name, member in members.items() if name in schema.get("required", ())}
            return st.fixed_dictionaries(
                needed, optional={name: member for name, member in members.items() if name not in needed}
            )
    raise ConfigError(f"scripts: the type {kind!r} in a tool's parameters is not a type of JSON Schema.")

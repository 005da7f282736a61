"""Token counts: a deterministic estimate of a real tokenizer's, four characters per token of what the model reads.

It reads functions as TypeScript types with comments, and schemas as JSON. The constants were fitted to recorded usage
(`python -m tools.cache_agreement`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string, objects_in

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_ITEM = 4  # role and separators
TOKENS_PER_CALL = 8  # the name of the tool
TOKENS_PER_FORMAT = 8  # the heading of a schema
_CHARACTERS_PER_IMAGE = 140 * CHARACTERS_PER_TOKEN
_TOKENS_OF_FUNCTIONS = 12  # the heading of all functions
_TOKENS_OF_TOOLS: Mapping[str, int] = {
    "web_search": 260,
    "web_search_preview": 260,
    "code_interpreter": 170,
    "tool_search": 80,
    "shell": 300,
    "apply_patch": 600,
}
"""What the API says of its own tools, where it was recorded."""
_MAX_LEVELS = 10
"""How many levels of a schema are rendered."""

_COUNTED_MEMBERS = frozenset({"content", "text", "output", "arguments", "input", "code", "summary", "refusal"})


_UNCACHED: Json = {"cache_write_tokens": 0, "cached_tokens": 0}
_UNREASONED: Json = {"reasoning_tokens": 0}


def estimate_tokens(items: Iterable[Json]) -> int:
    """Estimate the tokens of items; only text members count, not ids and types."""
    return sum(map(_estimate_item_tokens, items))


def _estimate_item_tokens(item: Json) -> int:
    tokens = TOKENS_PER_ITEM + -(-_count_characters(item) // CHARACTERS_PER_TOKEN)
    if "arguments" in item or item.get("type") == "custom_tool_call":
        return tokens + TOKENS_PER_CALL
    return tokens + _estimate_json_tokens(tools) if (tools := item.get("tools")) else tokens


def estimate_settings_tokens(body: Json) -> int:
    """Estimate the tokens that a request has besides its input: instructions, tools, and the schema of its answer."""
    tokens = _estimate_tools_tokens(objects_in(body.get("tools")))
    if text := body.get("instructions"):
        tokens += estimate_tokens([{"text": text}])
    if schema := as_object(as_object(body.get("text")).get("format")).get("schema"):
        tokens += TOKENS_PER_FORMAT + _estimate_json_tokens(schema)
    return tokens


def _estimate_json_tokens(value: Any) -> int:
    return len(_render_json(value)) // CHARACTERS_PER_TOKEN


def _render_json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested deeper than it can write: not counted
        return ""


def _estimate_tools_tokens(tools: Sequence[Json]) -> int:
    characters = [_count_tool(tool) for tool in tools]
    heading = _TOKENS_OF_FUNCTIONS if any(characters) else 0
    own = sum([_TOKENS_OF_TOOLS.get(as_string(tool.get("type")), 0) for tool in tools])
    return own + heading + sum(characters) // CHARACTERS_PER_TOKEN


def _count_tool(tool: Json) -> int:
    """Count the characters of a tool of the client as the model reads it; of a deferred one its name and description."""
    kind, named = tool.get("type"), len(as_string(tool.get("name"))) + len(as_string(tool.get("description")))
    if kind == "namespace":
        return named + sum([_count_tool(member) for member in objects_in(tool.get("tools"))])
    if kind == "function":
        return named if tool.get("defer_loading") else len(_render_function(tool))
    return named + len(_render_json(tool.get("format"))) if kind == "custom" else 0


def _render_function(tool: Json) -> str:
    parameters, text = as_object(tool.get("parameters")), as_string(tool.get("description"))
    taken = f"_: {_render_type(parameters)}" if parameters.get("properties") else ""
    return f"{_render_comment(text)}type {tool.get('name')} = ({taken}) => any;\n\n"


def _render_comment(text: str) -> str:
    return f"// {text}\n" if text else ""


def _render_type(schema: Json, levels: int = _MAX_LEVELS) -> str:
    """Render a JSON schema as a type of TypeScript, so many levels of it."""
    if not levels:
        return "any"
    if isinstance(values := schema.get("enum"), list):
        return " | ".join(map(_render_json, values))
    kind, options = schema.get("type"), schema.get("anyOf") or schema.get("oneOf")
    if isinstance(kind, list):
        options = [{**schema, "type": name} for name in kind]
    if isinstance(options, list):
        return " | ".join([_render_type(option, levels - 1) for option in objects_in(options)])
    if properties := as_object(schema.get("properties")):
        required = schema.get("required") or ()
        lines = [
            f"{_render_comment(as_string(member.get('description')))}{name}{'' if name in required else '?'}: "
            f"{_render_type(member, levels - 1)},"
            for name, value in properties.items()
            for member in (as_object(value),)
        ]
        return "\n".join(["{", *lines, "}"])
    if kind == "array":
        return f"{_render_type(as_object(schema.get('items')), levels - 1)}[]"
    return as_string(kind) or "any"


def count_words(items: Iterable[Json]) -> int:
    """Count the words in items, a lower bound of tokens: no tokenizer joins words across white space."""
    return sum([_count_item_words(item) for item in items])


def _count_item_words(item: Any) -> int:
    values = [value for name, value in item.items() if name in _COUNTED_MEMBERS]
    own = sum([len(value.split()) for value in values if isinstance(value, str)])
    return own + sum(
        [
            _count_item_words(part)
            for value in values
            if isinstance(value, list)
            for part in value
            if isinstance(part, dict)
        ]
    )


def _count_characters(item: Any) -> int:
    count = _CHARACTERS_PER_IMAGE if item.get("type") == "input_image" else 0
    for name, value in item.items():
        if name in _COUNTED_MEMBERS:
            if isinstance(value, str):
                count += len(value)
            elif isinstance(value, list):
                for part in value:
                    count += _count_characters(part) if isinstance(part, dict) else 0
    return count


def set_usage(counted: Json, own: Mapping[str, int]) -> Json:
    """Set a script's counts in a response's `usage`: `input_tokens`, `cached`, `cache_written`, `output_tokens`, …"""
    named = {"cached": "cached_tokens", "cache_written": "cache_write_tokens"}
    # A script that counts the input itself counts what is cached of it, too.
    counts_input = "input_tokens" in own or not own.keys().isdisjoint(named)
    read = {**(_UNCACHED if counts_input else counted["input_tokens_details"])}
    said = {**counted["output_tokens_details"]}
    read |= {named[name]: count for name, count in own.items() if name in named}
    if "reasoning" in own:
        said["reasoning_tokens"] = own["reasoning"]
    totals = {name: own.get(name, counted[name]) for name in ("input_tokens", "output_tokens")}
    read["cached_tokens"] = min(read["cached_tokens"], totals["input_tokens"])
    said["reasoning_tokens"] = min(said["reasoning_tokens"], totals["output_tokens"])
    return {
        "input_tokens": totals["input_tokens"],
        "input_tokens_details": read,
        "output_tokens": totals["output_tokens"],
        "output_tokens_details": said,
        "total_tokens": sum(totals.values()),
    }


def make_usage(input_tokens: int, output: Sequence[Json], spent: int | None = None) -> Json:
    """Make the `usage` object of a response; `spent` is its output tokens if known."""
    output_tokens = reasoned = 0
    for item in output:
        is_reasoning = item["type"] == "reasoning"
        if spent is not None and not is_reasoning:
            continue
        count = _estimate_item_tokens(item)
        reasoned += count if is_reasoning else 0
        output_tokens += count
    if spent is not None:
        output_tokens, reasoned = spent, reasoned and min(reasoned, spent)
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": _UNCACHED,
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoned} if reasoned else _UNREASONED,
        "total_tokens": input_tokens + output_tokens,
    }

"""The API's phrases for types, lists and similar names in its messages, and the errors that several rules share."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json

_EXPECTED_PHRASES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a decimal",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_PLURALS = {
    "object": "objects",
    "string": "strings",
    "integer": "integers",
    "number": "decimals",
    "boolean": "booleans",
}
_ACTUAL_PHRASES = {str: "a string", bool: "a boolean", int: "an integer", float: "a decimal number", list: "an array"}
ABBREVIATED_OVER = 16  # 'in_memory' is not abbreviated, 'previous_response_id' is


def describe_actual(value: Any) -> str:
    """Phrase the type of a value as the API does: `a string`, `an object`, `null` …"""
    return "null" if value is None else _ACTUAL_PHRASES.get(type(value), "an object")


def join_with(parts: Sequence[str], word: str) -> str:
    """Join words as `a`, `a and b`, `a, b, and c`."""
    if len(parts) < 3:
        return f" {word} ".join(parts)
    return f"{', '.join(parts[:-1])}, {word} {parts[-1]}"


def quote_and_join(values: Iterable[Any], word: str) -> str:
    """Quote and join values as `'auto' and 'disabled'`."""
    return join_with([f"'{value}'" for value in values], word)


def abbreviate(name: str) -> str:
    """Shorten a long name as in messages about types: `pre..._id`."""
    return name if len(name) <= ABBREVIATED_OVER else f"{name[:3]}...{name[-3:]}"


def describe_expected(root: Json, schema: Json) -> str:
    """Phrase the type that a schema expects as the API does."""
    # An overlay's annotation on a reference overrides the phrase of its target.
    while "$ref" in schema and "x-expected" not in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "x-expected" in schema:
        return str(schema["x-expected"])
    if "anyOf" in schema:
        return _describe_union(root, schema["anyOf"])
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if values:
        return f"one of {quote_and_join((abbreviate(str(value)) for value in values), 'or')}"
    if schema.get("type") == "array":
        return f"an array of {_describe_plural(root, schema.get('items', {}))}"
    return _EXPECTED_PHRASES.get(str(schema.get("type")), "an object")


def _describe_plural(root: Json, schema: Json) -> str:
    if "x-expected" not in schema:
        while "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
        if (
            "enum" not in schema
            and (plural := _PLURALS.get(str(schema.get("type", "object"))))
            and "anyOf" not in schema
        ):
            return plural
        if "anyOf" in schema:
            return "objects"
    return describe_expected(root, schema)


def _describe_union(root: Json, branches: Sequence[Json]) -> str:
    parts: list[str] = []
    for branch in branches:
        part = describe_expected(root, branch)
        if part != "null" and part not in parts:
            parts.append(part)
    if len(parts) == 1:
        return parts[0]
    bare = [part.removeprefix("an ").removeprefix("a ") for part in parts[1:]]
    return f"one of {join_with([parts[0], *bare], 'or')}"


def did_you_mean(name: str, known: Iterable[str], body: Any) -> str:
    """Phrase ` Did you mean 'stream' or 'store'?` with names within two edits that the body lacks, nearest first."""
    like = (word for word in known if word not in body and abs(len(word) - len(name)) <= 2)  # a name can be long
    near = sorted((edits, word) for word in like if (edits := edit_distance(name, word)) <= 2)
    return f" Did you mean {quote_and_join((word for _, word in near), 'or')}?" if near else ""


def edit_distance(one: str, other: str) -> int:
    """Compute the Levenshtein distance."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def format_path(path: Iterable[str | int]) -> str:
    """Format `("input", 0, "type")` as `input[0].type`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def missing_parameter(path: str) -> ApiError:
    """Return the error for a member that a body must have."""
    return bad_request(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def invalid_type(path: str, expected: str, got: str = "{kind}") -> ApiError:
    """Return the error for a value of another JSON type than the expected one."""
    return bad_request(f"Invalid type for '{path}': expected {expected}, but got {got} instead.", path, "invalid_type")


def invalid_value(path: str = "{path}", values: str = "{values}") -> ApiError:
    """Return the error for a value that is not in a list."""
    return bad_request(f"Invalid value: '{{value}}'. Supported values are: {values}.", path, "invalid_value")


def invalid_id(path: str, prefix: str, value: str = "{id}") -> ApiError:
    """Return the error for an id of another kind."""
    return bad_request(
        f"Invalid '{path}': '{value}'. Expected an ID that begins with '{prefix}'.", path, "invalid_value"
    )


def unsupported_value(path: str) -> ApiError:
    """Return the error for a value that other models accept."""
    said = "'{value}' is not supported with the '{model}' model. Supported values are: {values}."
    return bad_request(f"Unsupported value: {said}", path, "unsupported_value")


def unsupported_parameter(name: str, where: str) -> ApiError:
    """Return the error for a member that the API accepts elsewhere."""
    return bad_request(f"Unsupported parameter: '{name}' is not supported {where}.", name, "unsupported_parameter")


def exclusive_parameters(names: str, path: str = "{path}") -> ApiError:
    """Return the error for several members of which a body, or the part of it at a path, may have one."""
    said = f"'{path}'. Ensure you are only providing one of: {names}."
    return bad_request(f"Mutually exclusive parameters: {said}", path or None, "mutually_exclusive_parameters")


def missing_exclusive_parameters(names: str) -> ApiError:
    """Return the error for a part that lacks all of several members, one of which is needed."""
    said = f"'{{path}}'. Ensure you are providing exactly one of: {names}."
    code = "missing_mutually_exclusive_parameters"
    return bad_request(f"Missing mutually exclusive parameters: {said}", "{path}", code)


def wrong_content_type(accepted: str) -> ApiError:
    """Return the error for a body of another content type than the accepted one."""
    return bad_request(
        f"Unsupported content type: '{{type}}'. This API method only accepts '{accepted}' requests, but you specified the "
        "header 'Content-Type: {type}'. Please try again with a supported content type.",
        code="unsupported_content_type",
    )

"""Whether a model could have said a turn to this request: its text format, its limits.

What no model of the API could have said is the script's mistake (ScriptError); what it could not have said to the end is
cut. Both only where it is certain: an estimate of tokens cuts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

import jsonschema_rs
import orjson

from harness.api.tokens import count_words
from harness.contract.compile_schema import compile_request_schema
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.shorten import shorten
from harness.ending import Ending, incomplete
from harness.items.kind import Item

HOSTED_CALLS = frozenset(
    {"code_interpreter_call", "file_search_call", "image_generation_call", "mcp_call", "web_search_call"}
)
"""The calls that `max_tool_calls` counts: of tools that the API runs."""

_WORD = re.compile(r"\S+")


def check_turn(body: Json, items: Sequence[Item], ending: Ending) -> None:
    """ScriptError when a turn breaks the JSON schema that the request asks for, or has more calls than it allows.

    As recorded, every finished text conforms to its schema, unless `strict` is false; comments and refusals are free.
    """
    limit = body.get("max_tool_calls")
    if limit is not None and (calls := sum(item.type in HOSTED_CALLS for item in items)) > limit:
        raise ScriptError(
            f"the turn has {calls} calls of the API's own tools, but max_tool_calls is {limit}: the API ignores those "
            "beyond it. Script fewer, or raise max_tool_calls."
        )
    requested = (body.get("text") or {}).get("format") or {}
    if requested.get("type") == "json_schema" and requested.get("strict") is not False and not ending.off_schema:
        for text in _output_texts(items):
            _check_schema(text, requested)


def _output_texts(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if item.type == "message" and item.members.get("phase") != "commentary":
            yield from (part["text"] for part in item.members["content"] if part["type"] == "output_text")


def _check_schema(text: str, requested: Json) -> None:
    if not (reason := _describe_mismatch(text, requested["schema"])):
        return
    raise ScriptError(
        f"message: {shorten(text, 121)!r} is not what text.format ({requested.get('name')}) asks for: {reason}. The API's "
        "models keep to the schema: script a text that does, or say that this one need not: "
        "[message('…'), completed(off_schema=True)]."
    )


def _describe_mismatch(text: str, schema: Json) -> str:
    """What in a text breaks a schema, empty if nothing does; a schema that is none breaks nothing here."""
    try:
        validator = compile_request_schema(schema)
    except ValueError:
        return ""
    try:
        validator.validate(orjson.loads(text))
    except orjson.JSONDecodeError as problem:
        return f"it is no JSON: {problem}"
    except jsonschema_rs.ValidationError as problem:
        place = "".join(f"[{step!r}]" for step in problem.instance_path)
        return f"{problem.message}{f' (at {place})' if place else ''}"
    return ""


def limit_output(output: list[Json], ending: Ending, limit: int) -> tuple[list[Json], Ending]:
    """Output of no more words than the request allows tokens, and how it ends then.

    No token holds two words, so a text of more words than `limit` is one that no model could have finished. Only texts
    of messages are counted and cut, and only in a response that would have been completed.
    """
    left = limit
    for number, item in enumerate(output if ending.status == "completed" else ()):
        if item["type"] == "message":
            if (own := count_words((item,))) > left:
                return [*output[:number], _cut_message(item, left)], incomplete()
            left -= own
    return output, ending


def _cut_message(message: Json, left: int) -> Json:
    parts: list[Json] = []
    for part in message["content"]:
        name = "refusal" if part["type"] == "refusal" else "text"
        ends = [word.end() for word in _WORD.finditer(part[name])]
        if left <= 0:
            break
        parts.append(part if len(ends) <= left else _cut_part(part, name, ends[left - 1]))
        left -= len(ends)
    return {**message, "status": "incomplete", "content": parts}


def _cut_part(part: Json, name: str, length: int) -> Json:
    made = {**part, name: part[name][:length]}
    if part.get("annotations"):
        made["annotations"] = [note for note in part["annotations"] if _annotation_end(note) <= length]
    if part.get("logprobs"):
        made["logprobs"] = list(_cut_logprobs(part["logprobs"], length))
    return made


def _annotation_end(note: Json) -> int:
    return int(note.get("end_index", note.get("index")) or 0)


def _cut_logprobs(entries: Sequence[Json], length: int) -> Iterator[Json]:
    ends = accumulate(len(entry["token"]) for entry in entries)
    return (entry for entry, end in zip(entries, ends, strict=True) if end <= length)

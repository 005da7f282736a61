"""What the model asks the client to run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.items.kind import item, require_text
from harness.items.stream_grammar import StreamedText, TextOrDeltas


@item("fc", StreamedText("arguments", "function_call_arguments"), fills={"call_id": None})
def function_call(
    name: str,
    arguments: Mapping[str, Any] | TextOrDeltas = "{}",
    *,
    call_id: str | None = None,
    namespace: str | None = None,
    async_: bool | None = None,
    caller: Json | None = None,
) -> Json:
    """The model calls a function of the client.

    `arguments` is an object, written as compact JSON, or a str that is passed as it is: models do emit broken JSON; a
    list of str is the exact deltas. Without `call_id` the World gives one out. `caller` is who calls, say
    `{"type": "program", "caller_id": "call_1"}`: such a call stays `in_progress`, as recorded.
    """
    return {
        "arguments": encode_arguments(arguments),
        "call_id": call_id,
        "name": require_text("name", name),
        **_optional_members(namespace, async_, caller),
    }


@item("ctc", StreamedText("input", "custom_tool_call_input"), fills={"call_id": None})
def custom_tool_call(
    name: str,
    input: TextOrDeltas = "",
    *,
    call_id: str | None = None,
    namespace: str | None = None,
    async_: bool | None = None,
    caller: Json | None = None,
) -> Json:
    """The model calls a custom tool of the client with free text; a list of str is the exact deltas of it."""
    return {
        "call_id": call_id,
        "input": input,
        "name": require_text("name", name),
        **_optional_members(namespace, async_, caller),
    }


def _optional_members(namespace: str | None, async_: bool | None, caller: Json | None) -> Json:
    if caller is not None and not isinstance(caller, dict):
        raise ScriptError(f"caller is {caller!r}. Give an object, say {{'type': 'program', 'caller_id': 'call_1'}}.")
    known: Json = {"namespace": namespace, "async": async_, "caller": caller}
    known["status"] = "in_progress" if caller and caller.get("type") == "program" else None
    return {name: value for name, value in known.items() if value is not None}


def encode_arguments(arguments: Mapping[str, Any] | TextOrDeltas) -> TextOrDeltas:
    """Arguments as a model writes them: an object as compact JSON, a text as it is; ScriptError when it is no JSON."""
    if not isinstance(arguments, Mapping):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ScriptError(f"arguments cannot be written as JSON: {error}. Give plain JSON values, or a str.") from error

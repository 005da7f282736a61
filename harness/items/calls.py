"""Calls of the client's functions and custom tools."""

from collections.abc import Mapping
from typing import Any

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import is_model, without_nulls, write_json
from harness.core.text import show
from harness.items.examples import PNG, Examples, after_message, typed
from harness.items.kind import input_item, item, require_text
from harness.items.stream_elements import StreamedText, TextOrDeltas


def _function_examples() -> Examples:
    call = typed("function_call", call_id="call_1", name="deploy", arguments='{"ref":"v2"}')
    look = typed("function_call", call_id="call_1", name="look", arguments="{}")
    output = typed("function_call_output", call_id="call_1", output="v2 is live")
    image = typed("input_image", image_url=PNG, detail="low")
    return {
        "function_call": after_message(call, output),
        "function_call_output in parts": after_message(
            call, {**output, "output": [typed("input_text", text="v2 is live")]}
        ),
        "parallel function calls": after_message(
            *({**call, "call_id": f"call_{number}"} for number in (1, 2)),
            *({**output, "call_id": f"call_{number}", "output": "live"} for number in (1, 2)),
        ),
        "function_call_output with an image": after_message(look, {**output, "output": [image]}),
    }


def _custom_tool_examples() -> Examples:
    call = typed("custom_tool_call", call_id="call_1", name="run", input="make")
    output = typed("custom_tool_call_output", call_id="call_1", output="ok")
    return {
        "custom_tool_call": after_message(call, output),
        "custom_tool_call_output in parts": after_message(call, {**output, "output": [typed("input_text", text="ok")]}),
    }


@item(
    "fc",
    StreamedText("arguments", "function_call_arguments"),
    defaults={"call_id": None},
    call_name="function call",
    tool_types=("function",),
    examples=_function_examples(),
)
def function_call(
    name: str,
    arguments: Mapping[str, Any] | TextOrDeltas = "{}",
    *,
    call_id: str | None = None,
    namespace: str | None = None,
    async_: bool | None = None,
    caller: Json | None = None,
    off_schema: bool = False,
) -> Json:
    """Let the model call a function of the client.

    `arguments` is an object, written as compact JSON, or a str that is passed unchanged, as models do emit invalid
    JSON; a list of str is the exact deltas. Without `call_id` the World generates one. `caller` is the caller, for
    example `{"type": "program", "caller_id": "call_1"}`: such a call stays `in_progress`, as recorded.

    With `off_schema` the request need not declare the function, and the arguments may violate even a strict schema.
    """
    return {
        "arguments": encode_arguments(arguments),
        "call_id": call_id,
        "name": require_text("name", name),
        **_optional_members(namespace, async_, caller, off_schema),
    }


@item(
    "ctc",
    StreamedText("input", "custom_tool_call_input"),
    defaults={"call_id": None},
    call_name="custom tool call",
    tool_types=("custom",),
    examples=_custom_tool_examples(),
)
def custom_tool_call(
    name: str,
    input: TextOrDeltas = "",
    *,
    call_id: str | None = None,
    namespace: str | None = None,
    async_: bool | None = None,
    caller: Json | None = None,
    off_schema: bool = False,
) -> Json:
    """Let the model call a custom tool of the client with free text; a list of str is its exact deltas.

    With `off_schema` the request need not declare the tool.
    """
    return {
        "call_id": call_id,
        "input": input,
        "name": require_text("name", name),
        **_optional_members(namespace, async_, caller, off_schema),
    }


input_item("function_call_output", "What a function of the client returned.", output_of="function_call", status=True)
input_item(
    "custom_tool_call_output", "What a custom tool of the client returned.", output_of="custom_tool_call", status=True
)


def _optional_members(namespace: str | None, async_: bool | None, caller: Json | None, off_schema: bool) -> Json:
    if caller is not None and not isinstance(caller, dict):
        raise ScriptError(
            f"caller is {show(caller)}. Pass an object, such as {{'type': 'program', 'caller_id': 'call_1'}}."
        )
    known: Json = {"namespace": namespace, "async": async_, "caller": caller, "off_schema": off_schema or None}
    known["status"] = "in_progress" if caller and caller.get("type") == "program" else None
    return without_nulls(known)


def encode_arguments(arguments: Any) -> Any:
    """Serialize arguments as a model does: an object as compact JSON, a str unchanged; ScriptError for other values."""
    return write_json("arguments", arguments) if isinstance(arguments, Mapping) or is_model(arguments) else arguments

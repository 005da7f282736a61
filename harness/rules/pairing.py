"""Calls and outputs pair up over the resolved transcript: the chain or conversation, references, and the request's input."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import ApiError
from harness.exchange import Json
from harness.items import function_call, message
from harness.rule import TRANSCRIPT, Case, World, after, documented, recorded, reported, rule
from harness.transcript import CALLS, Transcript

HI: Json = {"role": "user", "content": "hi"}
CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
ASYNC_GUIDE = "https://developers.openai.com/api/docs/guides/async-tool-calling.md"
_CALLED = (function_call("f", "{}", call_id="call_1"),)
_TWO_CALLED = ([function_call("f", "{}", call_id="call_1"), function_call("g", "{}", call_id="call_2")],)
_EXAMPLES: dict[str, Json] = {
    "custom_tool_call": {"name": "t", "input": "x"},
    "local_shell_call": {
        "id": "lsh_1",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    "shell_call": {"action": {"commands": ["ls"]}},
    "apply_patch_call": {"status": "completed", "operation": {"type": "delete_file", "path": "a"}},
    "computer_call": {
        "id": "cu_1",
        "status": "completed",
        "pending_safety_checks": [],
        "action": {"type": "screenshot"},
    },
    "tool_search_call": {"execution": "client", "arguments": {}},
}


@rule(
    when=TRANSCRIPT,
    error=ApiError(
        400, "Duplicate item found with id {id}. Remove duplicate items from your input and try again.", "input"
    ),
    source=[
        recorded(
            "vercel/ai: an approval request in the chain; posit-dev/chatlas: messages that are taken", "2026-08-07"
        ),
        reported("https://github.com/vercel/ai/issues/18605", "2026-08-07"),
        reported("https://github.com/github/copilot-cli/issues/3560", "2026-06"),
    ],
    rejects={
        "Duplicate item found with id fc_1. Remove duplicate items from your input and try again.": {
            "input": [{**CALL, "id": "fc_1"}, OUTPUT, {**CALL, "id": "fc_1"}, OUTPUT]
        },
        "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.": {
            "input": [
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {"type": "reasoning", "id": "rs_1", "summary": []},
            ]
        },
        "Duplicate item found with id {0.output.0.id}. Remove duplicate items from your input and try again.": after(
            {"input": "hi"},
            {"previous_response_id": "{0.id}", "input": [{"type": "item_reference", "id": "{0.output.0.id}"}, HI]},
        ),
    },
    accepts=[
        {"input": [CALL, OUTPUT, {**CALL}, {**OUTPUT}]},
        {"input": [{"role": "assistant", "id": "msg_made_up", "content": text} for text in "ab"]},
        {"input": [HI, HI, {"role": "assistant", "content": "x"}, {"role": "assistant", "content": "x"}]},
    ],
    fix="With `previous_response_id` or `conversation`, send only what is new.",
)
def duplicate_item(world: World, transcript: Transcript) -> Iterator[Json]:
    """An item id may stand once in the transcript, whether inlined, referred to, or part of what is continued.

    Items without id are never duplicates, nor are messages under an id this key never stored (recorded: the API took two
    with the same made-up id); a `call_id` that stands twice is no fault.
    """
    seen = {item.get("id") for item in transcript.items[: transcript.start]}
    for item in transcript.added:
        id = item.get("id")
        if (
            id
            and id in seen
            and item.get("type") != "function_call_output"
            and ("role" not in item or id in world.items)
        ):
            yield {"id": id}
        seen.add(id)


@rule(
    when=TRANSCRIPT,
    error=ApiError(400, "No tool output found for {kind} {call_id}.", "input"),
    source=[
        reported("https://github.com/router-for-me/CLIProxyAPI/issues/2368", "2026-03-27"),
        reported("https://github.com/microsoft/agent-framework/issues/8663", "2026-09"),
        documented(ASYNC_GUIDE, "2026"),
    ],
    rejects={
        "No tool output found for function call call_1.": {"input": [HI, CALL]},
        **{
            f"No tool output found for {CALLS[type]} call_1.": {
                "input": [HI, {"type": type, "call_id": "call_1", **members}]
            }
            for type, members in _EXAMPLES.items()
        },
        "No tool output found for function call call_9.": after(
            {"input": "hi"}, {"previous_response_id": "{0.id}"}, turns=(function_call("f", "{}", call_id="call_9"),)
        ),
        "No tool output found for function call call_8.": after(
            Case({}, on="POST /conversations"),
            {"conversation": "{0.id}"},
            {"conversation": "{0.id}"},
            turns=(function_call("f", "{}", call_id="call_8"),),
        ),
        "No tool output found for function call call_2.": after(
            {"input": "hi"}, {"previous_response_id": "{0.id}", "input": [OUTPUT]}, turns=_TWO_CALLED
        ),
    },
    accepts=[
        {"input": [HI, CALL, {"role": "assistant", "content": "calling"}, OUTPUT]},
        {"input": [HI, OUTPUT, CALL]},
        {"input": [HI, {**CALL, "async": True}, HI]},
        {"input": [HI, {"type": "web_search_call", "id": "ws_1", "status": "completed"}, HI]},
        {"input": [HI, {"type": "tool_search_call", "execution": "server", "arguments": {}}]},
        after({"input": "hi"}, {"previous_response_id": "{0.id}", "input": [OUTPUT]}, turns=(*_CALLED, message("ok"))),
    ],
    fix="Answer every call of the turn before, in one request: one `…_output` item with its `call_id` for each.",
)
def call_needs_output(transcript: Transcript) -> Iterator[Json]:
    """Every call that the client executes needs an output with its `call_id`; the first without one is named.

    Order does not matter, and other items may stand between. A call with `async: true` may stay unanswered; calls the
    API executes itself need no output.
    """
    answered = set(transcript.outputs)
    for (kind, call_id), item in transcript.calls.items():
        if (kind, call_id) not in answered and not item.get("async"):
            yield {"kind": CALLS[kind], "call_id": call_id}


@rule(
    when=TRANSCRIPT,
    error=ApiError(400, "No tool call found for {kind} with call_id {call_id}.", "input"),
    source=[
        recorded("vercel/ai", "2026"),
        reported("https://github.com/continuedev/continue/issues/10092", "2026-02-01"),
        reported("https://github.com/microsoft/vscode/issues/320060", "2026-06-05"),
    ],
    rejects={
        "No tool call found for function call output with call_id call_1.": {"input": [HI, OUTPUT]},
        "No tool call found for custom tool call output with call_id call_1.": {
            "input": [CALL, OUTPUT, {"type": "custom_tool_call_output", "call_id": "call_1", "output": "x"}]
        },
        "No tool call found for computer call with call_id call_1.": {
            "input": [
                HI,
                {
                    "type": "computer_call_output",
                    "call_id": "call_1",
                    "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="},
                },
            ]
        },
        "No tool call found for shell call output with call_id call_1.": {
            "input": [HI, {"type": "shell_call_output", "call_id": "call_1", "output": []}]
        },
    },
    accepts=[{"input": [HI, {"type": "function_call_output", "name": "f", "output": "x"}]}],
    fix="Send the call before its output, or keep the `previous_response_id` or `conversation` that holds it.",
)
def output_needs_call(transcript: Transcript) -> Iterator[Json]:
    """Every output needs a call of its own kind with the same `call_id`; an output without `call_id` is let through."""
    calls = transcript.calls
    for kind, call_id in transcript.outputs:
        if (kind, call_id) not in calls:
            suffix = "" if kind == "computer_call" else " output"
            yield {"kind": f"{CALLS[kind]}{suffix}", "call_id": call_id}


@rule(
    when=TRANSCRIPT,
    error=ApiError(400, "The following MCP approval requests do not have an approval: {ids}", "input"),
    source=reported("eight independent public programs that handle it, of OpenAI and of Foundry", "2026"),
    rejects={
        "The following MCP approval requests do not have an approval: mcpr_1": {
            "input": [
                HI,
                {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "n", "arguments": "{}"},
            ]
        }
    },
    accepts=[
        {
            "input": [
                HI,
                {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "n", "arguments": "{}"},
                {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
            ]
        }
    ],
    fix="Send one `mcp_approval_response` for each of them before anything else.",
)
def approval_request_unanswered(transcript: Transcript) -> Iterator[Json]:
    """Every MCP approval request needs its response, or the call it led to, before the next turn."""
    asked = [item["id"] for item in transcript.items if item.get("type") == "mcp_approval_request" and item.get("id")]
    settled = {item.get("approval_request_id") for item in transcript.items} if asked else set()
    if open_requests := [id for id in asked if id not in settled]:
        yield {"ids": ", ".join(open_requests)}

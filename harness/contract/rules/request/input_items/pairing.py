"""Pairs of calls and outputs in the resolved transcript: the chain or conversation, references, and the request's input."""

from collections.abc import Iterator

import orjson

from harness.contract.rule import TRANSCRIPT_MEMBERS, RuleScope, after, assumed, documented, recorded, reported, rule
from harness.contract.rules.example_requests import ASK, ASYNC_GUIDE, CALL, CREATE_CONVERSATION, HI, OUTPUT
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.items import function_call, message
from harness.items.hosted import ONE_PIXEL_PNG
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES, Item
from harness.items.transcript import Transcript

SCOPE = RuleScope(when=TRANSCRIPT_MEMBERS)

APPROVAL_REQUEST: Json = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "server_label": "s",
    "name": "n",
    "arguments": "{}",
}
APPROVAL_RESPONSE: Json = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
_CALL_3, _OUTPUT_3 = {**CALL, "call_id": "call_3"}, {**OUTPUT, "call_id": "call_3"}
_TWO_CALLS = [function_call("f", "{}", call_id="call_1"), function_call("g", "{}", call_id="call_2")]
_OK = message("ok")
_CALL_MEMBERS: dict[str, Json] = {
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

_CLIENT_SEARCH: Json = {
    "type": "tool_search_call",
    "call_id": "call_1",
    "execution": "client",
    "arguments": {"queries": ["rates"]},
}
_SCREENSHOT: Json = {
    "type": "computer_call_output",
    "call_id": "call_1",
    "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{ONE_PIXEL_PNG}"},
}


def _chained(*items: Json, to: int = 0) -> Json:
    """Make an example body that continues the response to a step."""
    return {"previous_response_id": f"{{{to}.id}}", "input": [*items]}


def _calling(call_id: str) -> Item:
    return function_call("f", "{}", call_id=call_id)


@rule(
    bad_request("No tool output found for {kind} {call_id}.", "input"),
    reported("https://github.com/router-for-me/CLIProxyAPI/issues/2368", "2026-03-27"),
    reported("https://github.com/microsoft/agent-framework/issues/8663", "2026-09"),
    reported("https://github.com/microsoft/agent-framework/issues/7304: two calls, one output", "2026-07-24"),
    reported("https://github.com/livekit/agents/issues/5136: a stored call, sent again, is accepted", "2026-03-18"),
    documented(ASYNC_GUIDE, "2026"),
    items=tuple(CLIENT_CALL_NAMES),
    rejects={
        ("function call", "call_1"): [HI, CALL],
        **{
            (CLIENT_CALL_NAMES[type], "call_1"): [HI, {"type": type, "call_id": "call_1", **members}]
            for type, members in _CALL_MEMBERS.items()
        },
        ("function call", "call_9"): after(ASK, {"previous_response_id": "{0.id}"}, turns=[_calling("call_9")]),
        ("function call", "call_8"): after(
            CREATE_CONVERSATION, {"conversation": "{0.id}"}, {"conversation": "{0.id}"}, turns=[_calling("call_8")]
        ),
        ("function call", "call_2"): after(ASK, _chained(OUTPUT), turns=[_TWO_CALLS]),
        ("function call", "call_3"): [HI, {**_CALL_3, "id": "fc_01"}, {**_CALL_3, "id": "fc_call_3"}, _OUTPUT_3],
    },
    accepts=[
        [HI, CALL, {"role": "assistant", "content": "calling"}, OUTPUT],
        [HI, OUTPUT, CALL],
        [HI, {**CALL, "async": True}, HI],
        [HI, {"type": "web_search_call", "id": "ws_1", "status": "completed"}, HI],
        [HI, {"type": "tool_search_call", "execution": "server", "arguments": {}}],
        [HI, {**_CLIENT_SEARCH, "execution": "server"}],
        [HI, _CLIENT_SEARCH, OUTPUT],
        after(ASK, _chained(OUTPUT), turns=[_calling("call_1"), _OK]),
        after(ASK, _chained(CALL, OUTPUT), turns=[_calling("call_1"), _OK]),
        after(
            ASK,
            _chained(CALL, OUTPUT),
            {"previous_response_id": "{1.id}", "input": "and now?"},
            turns=[_calling("call_1"), _OK, _OK],
        ),
    ],
    fix="Answer every call of the turn before, in one request: one `…_output` item with its `call_id` for each.",
)
def call_needs_output(transcript: Transcript) -> Iterator[Json]:
    """Every call that the client executes needs an output with its `call_id`; the first call without one is reported.

    Each output answers one call. Order does not matter, and other items may come in between. A call with `async: true`
    may stay unanswered; calls that the API executes need no output. A function's output also answers a tool search of
    the client (recorded 2026-07).
    """
    for kind, call_id in transcript.unanswered_calls:
        yield {"kind": CLIENT_CALL_NAMES[kind], "call_id": call_id}


@rule(
    bad_request("No tool call found for {kind} with call_id {call_id}.", "input"),
    recorded("vercel/ai", "2026"),
    reported("https://github.com/continuedev/continue/issues/10092", "2026-02-01"),
    reported("https://github.com/microsoft/vscode/issues/320060", "2026-06-05"),
    recorded("pydantic/pydantic-ai: the API's own tool search needs no pair by call_id", "2026-07-31"),
    reported("https://github.com/openai/openai-agents-js/issues/1435: an output sent again in a chain"),
    assumed("that two outputs of one call are refused in one request, too"),
    items=tuple(CALL_OF_OUTPUT),
    rejects={
        ("function call output", "call_1"): [HI, OUTPUT],
        ("custom tool call output", "call_1"): [
            CALL,
            OUTPUT,
            {**OUTPUT, "type": "custom_tool_call_output", "output": "x"},
        ],
        ("computer call", "call_1"): [HI, _SCREENSHOT],
        ("shell call output", "call_1"): [HI, {"type": "shell_call_output", "call_id": "call_1", "output": []}],
        ("function call output", "call_3"): after(
            ASK, _chained(_OUTPUT_3), _chained(_OUTPUT_3, to=1), turns=[_calling("call_3"), _OK]
        ),
        ("function call output", "call_4"): [HI, {**CALL, "call_id": "call_4"}, *[{**OUTPUT, "call_id": "call_4"}] * 2],
    },
    accepts=[
        [HI, {"type": "function_call_output", "name": "f", "output": "x"}],
        [HI, {**CALL, "async": True}, OUTPUT, HI, OUTPUT],
        [
            HI,
            {**_CLIENT_SEARCH, "execution": "server"},
            {"type": "tool_search_output", "call_id": "call_1", "execution": "server", "tools": []},
        ],
    ],
    fix="Send the call before its output, or keep the `previous_response_id` or `conversation` that holds it.",
)
def output_needs_call(transcript: Transcript) -> Iterator[Json]:
    """Every output needs a call of its own kind with the same `call_id` that no other output answers.

    An asynchronous call may be answered again; an output without `call_id` is accepted.
    """
    for kind, call_id in transcript.uncalled_outputs:
        suffix = "" if kind == "computer_call" else " output"
        yield {"kind": f"{CLIENT_CALL_NAMES[kind]}{suffix}", "call_id": call_id}


_WARNED_CALL: Json = {
    "type": "computer_call",
    "call_id": "call_1",
    **_CALL_MEMBERS["computer_call"],
    "pending_safety_checks": [{"id": "cu_sc_1", "code": "malicious_instructions", "message": "Look out."}],
}


@rule(
    bad_request("Computer tool has unacknowledged safety check for {ids}", "input"),
    reported("https://github.com/openai/openai-agents-python/issues/843: the whole error", "2025-06-11"),
    reported("https://github.com/openai/openai-agents-python/pull/923: mended by acknowledging them", "2025-06-23"),
    assumed("that it names all checks of a call that are not acknowledged, and no others"),
    items="computer_call_output",
    rejects={"['cu_sc_1']": [HI, _WARNED_CALL, _SCREENSHOT]},
    accepts=[
        [HI, _WARNED_CALL, {**_SCREENSHOT, "acknowledged_safety_checks": [{"id": "cu_sc_1"}]}],
        [HI, {**_WARNED_CALL, "pending_safety_checks": []}, _SCREENSHOT],
    ],
    fix="Ask the user, then send the call's `pending_safety_checks` as `acknowledged_safety_checks` of its output.",
)
def safety_check_unacknowledged(transcript: Transcript) -> Iterator[Json]:
    """The output of a computer call acknowledges all its pending safety checks."""
    outputs = {item["call_id"]: item for item in transcript.added_by_type.get("computer_call_output", ())}
    for call in transcript.items_of("computer_call") if outputs else ():
        if output := outputs.get(call.get("call_id")):
            known = {check.get("id") for check in output.get("acknowledged_safety_checks") or ()}
            pending = [check.get("id") for check in call.get("pending_safety_checks") or ()]
            if ids := [id for id in pending if id not in known]:
                yield {"ids": ids}


@rule(
    bad_request("The following MCP approval requests do not have an approval: {ids}", "input"),
    reported("eight independent public programs that handle it, of OpenAI and of Foundry", "2026"),
    items="mcp_approval_request",
    rejects={
        "mcpr_1": [HI, APPROVAL_REQUEST],
        "mcpr_1, mcpr_2": [APPROVAL_REQUEST, {**APPROVAL_REQUEST, "id": "mcpr_2"}],
    },
    accepts=[[HI, APPROVAL_REQUEST, APPROVAL_RESPONSE]],
    fix="Send one `mcp_approval_response` for each of them before anything else.",
)
def approval_request_unanswered(transcript: Transcript) -> Iterator[Json]:
    """Every MCP approval request needs its response, or the call that it led to, before the next turn."""
    requests = [item["id"] for item in transcript.items_of("mcp_approval_request") if item.get("id")]
    items = transcript.items_from_first("mcp_approval_request") if requests else ()
    # The call that a request led to names it as well: either one settles it.
    settled = {item.get("approval_request_id") for item in items}
    if open_requests := [id for id in requests if id not in settled]:
        yield {"ids": ", ".join(open_requests)}


@rule(
    bad_request(
        "The following MCP approval requests have approval responses but weren't passed as input: {ids}", "input"
    ),
    reported("https://github.com/microsoft/agent-framework/pull/4054", "2026-02-18"),
    reported("https://github.com/motojinc25/chatwalaau", "2026"),
    reported(
        "https://community.openai.com/t/incorrect-behavior-of-conversation-api-with-mcp-approval-output-item/1365706",
        "2025",
    ),
    items="mcp_approval_response",
    rejects={
        "mcpr_2": [HI, {**APPROVAL_RESPONSE, "approval_request_id": "mcpr_2"}],
        "call_1, mcpr_2": [
            APPROVAL_REQUEST,
            {**APPROVAL_RESPONSE, "approval_request_id": "call_1"},
            APPROVAL_RESPONSE,
            {**APPROVAL_RESPONSE, "approval_request_id": "mcpr_2", "approve": False},
        ],
    },
    accepts=[[HI, APPROVAL_REQUEST, {**APPROVAL_RESPONSE, "approve": False, "reason": "too dear"}]],
    fix="Continue the response that asked (`previous_response_id`), or send its `mcp_approval_request` too.",
)
def approval_without_request(transcript: Transcript) -> Iterator[Json]:
    """An MCP approval must answer a request in the same transcript; a request may be answered twice.

    That a later answer to the same request is accepted is assumed: no report says what the API does.
    """
    # Stored items have been accepted once; only those that this request adds can be refused.
    answers = transcript.added_by_type.get("mcp_approval_response", ())
    requests = {item.get("id") for item in transcript.items} if answers else set()
    if unknown := [id for item in answers if (id := item["approval_request_id"]) not in requests]:
        yield {"ids": ", ".join(unknown)}


_PROGRAM: Json = {"caller": {"type": "program", "caller_id": "call_2"}}
_FUNCTION: Json = {"type": "function", "name": "f", "parameters": {}, "strict": False}
_STRUCTURED: list[Json] = [{**_FUNCTION, "output_schema": {"type": "object"}}]


@rule(
    bad_request("Invalid 'input[{index}].output': the output of function '{name}' is not valid JSON.", "input"),
    reported("https://github.com/openai/openai-agents-python/pull/3932: refused with a 400", "2026-07-24"),
    assumed("the words, and that an output in parts is not looked at"),
    when="input[]",
    mentions="output_schema",
    rejects={
        ("2", "f"): {
            "input": [HI, {**CALL, **_PROGRAM}, {**OUTPUT, "output": "An error occurred."}],
            "tools": _STRUCTURED,
        }
    },
    accepts=[
        {"input": [HI, {**CALL, **_PROGRAM}, {**OUTPUT, "output": '{"ok": true}'}], "tools": _STRUCTURED},
        {"input": [HI, CALL, {**OUTPUT, "output": "An error occurred."}], "tools": _STRUCTURED},
    ],
    fix="Return what the tool's `output_schema` describes, as JSON; an error, too.",
)
def program_output_not_json(request: Request, transcript: Transcript) -> Iterator[Json]:
    """If a function declares an `output_schema`, its output for a call by a program must be JSON."""
    structured = {tool.get("name") for tool in _functions(request.body) if tool.get("output_schema")}
    calls = {call.get("call_id"): call for call in transcript.items if structured and _is_programs(call)}
    for index, item in enumerate(request.body["input"] if calls else ()):
        call = calls.get(item.get("call_id")) if item.get("type") == "function_call_output" else None
        if call and call["name"] in structured and isinstance(item.get("output"), str) and not _is_json(item["output"]):
            yield {"index": index, "name": call["name"]}


def _functions(body: Json) -> list[Json]:
    tools = body.get("tools") or []
    return [*tools, *(inner for tool in tools for inner in tool.get("tools") or () if isinstance(inner, dict))]


def _is_programs(item: Json) -> bool:
    return item.get("type") == "function_call" and (item.get("caller") or {}).get("type") == "program"


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True

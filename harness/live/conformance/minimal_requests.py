"""A request for each kind of input item, content part and tool, as small as it can be: a server must take all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.verify.examples import MINIMAL_REQUEST

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)
PDF = (
    "data:application/pdf;base64,JVBERi0xLjQKMSAwIG9iago8PC9UeXBlL0NhdGFsb2cvUGFnZXMgMiAwIFI+PgplbmRvYmoKMiAwIG9iago8PC9U"
    "eXBlL1BhZ2VzL0tpZHNbMyAwIFJdL0NvdW50IDE+PgplbmRvYmoKMyAwIG9iago8PC9UeXBlL1BhZ2UvUGFyZW50IDIgMCBSL01lZGlhQm94WzAg"
    "MCA5IDldPj4KZW5kb2JqCnRyYWlsZXI8PC9Sb290IDEgMCBSPj4="
)
FIRST_MESSAGE: Json = {"role": "user", "content": "Ship v2."}
NEXT_MESSAGE: Json = {"role": "user", "content": "And now?"}
COMPLETED: Json = {"status": "completed"}
SCHEMA: Json = {
    "type": "object",
    "properties": {"ref": {"type": "string"}},
    "required": ["ref"],
    "additionalProperties": False,
}


def _typed(type: str, **members: Any) -> Json:
    return {"type": type, **members}


def _assistant_message(*parts: Json) -> Json:
    return _typed("message", role="assistant", content=list(parts))


def _user_message(*parts: Json) -> Json:
    return _typed("message", role="user", content=list(parts))


def _function_history(output: str | list[Json]) -> list[Json]:
    """A function that was called, and what it gave."""
    call = _typed("function_call", call_id="call_1", name="deploy", arguments='{"ref":"v2"}')
    return [FIRST_MESSAGE, call, _typed("function_call_output", call_id="call_1", output=output)]


def _custom_tool_history(output: str | list[Json]) -> list[Json]:
    """The same of a custom tool."""
    call = _typed("custom_tool_call", call_id="call_1", name="run", input="make")
    return [FIRST_MESSAGE, call, _typed("custom_tool_call_output", call_id="call_1", output=output)]


TEXT_PART = _typed("input_text", text="What is it?")
CITATION = _typed("url_citation", url="https://example.org", title="A guide", start_index=0, end_index=2)

ITEMS: Mapping[str, list[Json]] = {
    "message of the user": [FIRST_MESSAGE],
    "message of the system": [{"role": "system", "content": "Be brief."}, FIRST_MESSAGE],
    "message of the developer": [{"role": "developer", "content": "Be brief."}, FIRST_MESSAGE],
    "message of the assistant": [FIRST_MESSAGE, {"role": "assistant", "content": "Which?"}, NEXT_MESSAGE],
    "message of the assistant in parts": [
        FIRST_MESSAGE,
        _assistant_message(_typed("output_text", text="Which?", annotations=[])),
        NEXT_MESSAGE,
    ],
    "refusal": [FIRST_MESSAGE, _assistant_message(_typed("refusal", refusal="No.")), NEXT_MESSAGE],
    "annotations": [
        FIRST_MESSAGE,
        _assistant_message(_typed("output_text", text="Here.", annotations=[CITATION])),
        NEXT_MESSAGE,
    ],
    "input_image": [_user_message(TEXT_PART, _typed("input_image", image_url=PNG, detail="low"))],
    "input_file": [_user_message(TEXT_PART, _typed("input_file", filename="a.pdf", file_data=PDF))],
    "function_call": _function_history("v2 is live"),
    "function_call_output in parts": _function_history([_typed("input_text", text="v2 is live")]),
    "parallel function calls": [
        FIRST_MESSAGE,
        *(_typed("function_call", call_id=f"call_{n}", name="deploy", arguments='{"ref":"v2"}') for n in (1, 2)),
        *(_typed("function_call_output", call_id=f"call_{n}", output="live") for n in (1, 2)),
    ],
    "function_call_output with an image": [
        FIRST_MESSAGE,
        _typed("function_call", call_id="call_1", name="look", arguments="{}"),
        _typed("function_call_output", call_id="call_1", output=[_typed("input_image", image_url=PNG, detail="low")]),
    ],
    "custom_tool_call": _custom_tool_history("ok"),
    "custom_tool_call_output in parts": _custom_tool_history([_typed("input_text", text="ok")]),
    "web_search_call": [
        FIRST_MESSAGE,
        _typed("web_search_call", id="ws_1", action=_typed("search", query="v2", queries=["v2"]), **COMPLETED),
        NEXT_MESSAGE,
    ],
    "file_search_call": [
        FIRST_MESSAGE,
        _typed("file_search_call", id="fs_1", queries=["v2"], results=None, **COMPLETED),
        NEXT_MESSAGE,
    ],
    "code_interpreter_call": [
        FIRST_MESSAGE,
        _typed("code_interpreter_call", id="ci_1", code="1", container_id="cntr_1", outputs=None, **COMPLETED),
        NEXT_MESSAGE,
    ],
    "image_generation_call": [
        FIRST_MESSAGE,
        _typed("image_generation_call", id="ig_1", result=PNG.partition(",")[2], **COMPLETED),
        NEXT_MESSAGE,
    ],
    "mcp_list_tools": [
        FIRST_MESSAGE,
        _typed(
            "mcp_list_tools",
            id="mcpl_1",
            server_label="prod",
            tools=[{"name": "deploy", "input_schema": {"type": "object"}}],
        ),
        NEXT_MESSAGE,
    ],
    "mcp_call": [
        FIRST_MESSAGE,
        _typed("mcp_call", id="mcp_1", server_label="prod", name="deploy", arguments="{}", output="live"),
        NEXT_MESSAGE,
    ],
    "mcp_approval_response": [
        FIRST_MESSAGE,
        _typed("mcp_approval_request", id="mcpr_1", server_label="prod", name="deploy", arguments="{}"),
        _typed("mcp_approval_response", approval_request_id="mcpr_1", approve=True),
    ],
    "mcp_approval_response that declines": [
        FIRST_MESSAGE,
        _typed("mcp_approval_request", id="mcpr_1", server_label="prod", name="deploy", arguments="{}"),
        _typed("mcp_approval_response", approval_request_id="mcpr_1", approve=False, reason="Not today."),
    ],
    "local_shell_call": [
        FIRST_MESSAGE,
        _typed(
            "local_shell_call",
            id="lsh_1",
            call_id="call_1",
            action=_typed("exec", command=["ls"], env={}),
            **COMPLETED,
        ),
        _typed("local_shell_call_output", id="call_1", output="a"),
    ],
    "shell_call": [
        FIRST_MESSAGE,
        _typed("shell_call", call_id="call_1", action={"commands": ["ls"]}),
        _typed(
            "shell_call_output",
            call_id="call_1",
            output=[{"outcome": _typed("exit", exit_code=0), "stdout": "a", "stderr": ""}],
        ),
    ],
    "apply_patch_call": [
        FIRST_MESSAGE,
        _typed("apply_patch_call", call_id="call_1", operation=_typed("delete_file", path="a"), **COMPLETED),
        _typed("apply_patch_call_output", call_id="call_1", output="done", **COMPLETED),
    ],
}
"""Histories by the kind of item that they hold."""

TOOLS: Mapping[str, Json] = {
    "function": _typed("function", name="deploy", description="Deploy.", parameters=SCHEMA, strict=True),
    "function that is not strict": _typed("function", name="deploy", parameters={"type": "object"}, strict=False),
    "custom": _typed("custom", name="run", description="Run a command."),
    "web_search": _typed("web_search"),
    "code_interpreter": _typed("code_interpreter", container=_typed("auto")),
    "image_generation": _typed("image_generation"),
}
"""Tools that need nothing else; a server may run without any of the hosted ones, but the API has them."""

CHOICES: Mapping[str, Any] = {
    "none": "none",
    "required": "required",
    "a function": _typed("function", name="deploy"),
    "allowed_tools": _typed("allowed_tools", mode="auto", tools=[_typed("function", name="deploy")]),
}
"""Values of `tool_choice` with the first of TOOLS."""

FIRST_CASE = Case({"input": "Ship v2."})
STORED_ITEMS: Mapping[str, Case] = {
    "item_reference": Case(
        {"input": [_typed("item_reference", id="{1.data.0.id}"), NEXT_MESSAGE]},
        before=(FIRST_CASE, Case(on="GET /responses/{0.id}/input_items")),
    ),
    "compaction": Case(
        {"input": [_typed("compaction", encrypted_content="{0.output.1.encrypted_content}"), NEXT_MESSAGE]},
        before=(Case(MINIMAL_REQUEST, on="POST /responses/compact"),),
    ),
}
"""Requests about items that a server has made."""

REQUEST_MEMBERS: Mapping[str, Json] = {
    "instructions": {"instructions": "Be brief."},
    "metadata": {"metadata": {"run": "1"}},
    "temperature": {"temperature": 0.5, "top_p": 0.9},
    "max_output_tokens": {"max_output_tokens": 64},
    "truncation": {"truncation": "auto"},
    "parallel_tool_calls": {"parallel_tool_calls": False},
    "store": {"store": False},
    "user": {"user": "u", "safety_identifier": "s", "prompt_cache_key": "k"},
    "service_tier": {"service_tier": "auto"},
    "text.format": {"text": {"format": _typed("text")}},
    "null members": {"instructions": None, "tools": None, "previous_response_id": None, "temperature": None},
    "text.verbosity": {"text": {"verbosity": "medium"}},
    "top_logprobs": {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
    "max_tool_calls": {"max_tool_calls": 3},
    "stream_options": {"stream": True, "stream_options": {"include_obfuscation": False}},
    "include": {"include": ["message.output_text.logprobs"]},
    "include of tools": {"include": ["file_search_call.results", "web_search_call.action.sources"]},
}
"""Members that any request may have."""


def minimal_requests() -> Iterator[tuple[str, str, Case]]:
    """The area, the name and the request of every probe."""
    for name, items in ITEMS.items():
        yield "items", name, Case({"input": items})
    yield from (("items", name, case) for name, case in STORED_ITEMS.items())
    for name, tool in TOOLS.items():
        yield "tools", name, Case({"input": "hi", "tools": [tool]})
    for name, choice in CHOICES.items():
        yield (
            "tools",
            f"tool_choice: {name}",
            Case({"input": "hi", "tools": [TOOLS["function"]], "tool_choice": choice}),
        )
    store = Case({"name": "docs"}, on="POST /vector_stores")
    search = _typed("file_search", vector_store_ids=["{0.id}"])
    yield "tools", "file_search", Case({"input": "hi", "tools": [search]}, before=(store,))
    for name, members in REQUEST_MEMBERS.items():
        yield "members", name, Case({"input": "hi", **members})

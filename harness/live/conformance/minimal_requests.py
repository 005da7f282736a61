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
ASK: Json = {"role": "user", "content": "Ship v2."}
THEN: Json = {"role": "user", "content": "And now?"}
DONE: Json = {"status": "completed"}
SCHEMA: Json = {
    "type": "object",
    "properties": {"ref": {"type": "string"}},
    "required": ["ref"],
    "additionalProperties": False,
}


def _of(type: str, **members: Any) -> Json:
    return {"type": type, **members}


def _said(*parts: Json) -> Json:
    return _of("message", role="assistant", content=list(parts))


def _asked(*parts: Json) -> Json:
    return _of("message", role="user", content=list(parts))


def _deployed(output: str | list[Json]) -> list[Json]:
    """A function that was called, and what it gave."""
    call = _of("function_call", call_id="call_1", name="deploy", arguments='{"ref":"v2"}')
    return [ASK, call, _of("function_call_output", call_id="call_1", output=output)]


def _run(output: str | list[Json]) -> list[Json]:
    """The same of a custom tool."""
    call = _of("custom_tool_call", call_id="call_1", name="run", input="make")
    return [ASK, call, _of("custom_tool_call_output", call_id="call_1", output=output)]


WORDS = _of("input_text", text="What is it?")
CITED = _of("url_citation", url="https://example.org", title="A guide", start_index=0, end_index=2)

ITEMS: Mapping[str, list[Json]] = {
    "message of the user": [ASK],
    "message of the system": [{"role": "system", "content": "Be brief."}, ASK],
    "message of the developer": [{"role": "developer", "content": "Be brief."}, ASK],
    "message of the assistant": [ASK, {"role": "assistant", "content": "Which?"}, THEN],
    "message of the assistant in parts": [ASK, _said(_of("output_text", text="Which?", annotations=[])), THEN],
    "refusal": [ASK, _said(_of("refusal", refusal="No.")), THEN],
    "annotations": [ASK, _said(_of("output_text", text="Here.", annotations=[CITED])), THEN],
    "input_image": [_asked(WORDS, _of("input_image", image_url=PNG, detail="low"))],
    "input_file": [_asked(WORDS, _of("input_file", filename="a.pdf", file_data=PDF))],
    "function_call": _deployed("v2 is live"),
    "function_call_output in parts": _deployed([_of("input_text", text="v2 is live")]),
    "parallel function calls": [
        ASK,
        *(_of("function_call", call_id=f"call_{n}", name="deploy", arguments='{"ref":"v2"}') for n in (1, 2)),
        *(_of("function_call_output", call_id=f"call_{n}", output="live") for n in (1, 2)),
    ],
    "function_call_output with an image": [
        ASK,
        _of("function_call", call_id="call_1", name="look", arguments="{}"),
        _of("function_call_output", call_id="call_1", output=[_of("input_image", image_url=PNG, detail="low")]),
    ],
    "custom_tool_call": _run("ok"),
    "custom_tool_call_output in parts": _run([_of("input_text", text="ok")]),
    "web_search_call": [
        ASK,
        _of("web_search_call", id="ws_1", action=_of("search", query="v2", queries=["v2"]), **DONE),
        THEN,
    ],
    "file_search_call": [ASK, _of("file_search_call", id="fs_1", queries=["v2"], results=None, **DONE), THEN],
    "code_interpreter_call": [
        ASK,
        _of("code_interpreter_call", id="ci_1", code="1", container_id="cntr_1", outputs=None, **DONE),
        THEN,
    ],
    "image_generation_call": [ASK, _of("image_generation_call", id="ig_1", result=PNG.partition(",")[2], **DONE), THEN],
    "mcp_list_tools": [
        ASK,
        _of(
            "mcp_list_tools",
            id="mcpl_1",
            server_label="prod",
            tools=[{"name": "deploy", "input_schema": {"type": "object"}}],
        ),
        THEN,
    ],
    "mcp_call": [
        ASK,
        _of("mcp_call", id="mcp_1", server_label="prod", name="deploy", arguments="{}", output="live"),
        THEN,
    ],
    "mcp_approval_response": [
        ASK,
        _of("mcp_approval_request", id="mcpr_1", server_label="prod", name="deploy", arguments="{}"),
        _of("mcp_approval_response", approval_request_id="mcpr_1", approve=True),
    ],
    "mcp_approval_response that declines": [
        ASK,
        _of("mcp_approval_request", id="mcpr_1", server_label="prod", name="deploy", arguments="{}"),
        _of("mcp_approval_response", approval_request_id="mcpr_1", approve=False, reason="Not today."),
    ],
    "local_shell_call": [
        ASK,
        _of(
            "local_shell_call",
            id="lsh_1",
            call_id="call_1",
            action=_of("exec", command=["ls"], env={}),
            **DONE,
        ),
        _of("local_shell_call_output", id="call_1", output="a"),
    ],
    "shell_call": [
        ASK,
        _of("shell_call", call_id="call_1", action={"commands": ["ls"]}),
        _of(
            "shell_call_output",
            call_id="call_1",
            output=[{"outcome": _of("exit", exit_code=0), "stdout": "a", "stderr": ""}],
        ),
    ],
    "apply_patch_call": [
        ASK,
        _of("apply_patch_call", call_id="call_1", operation=_of("delete_file", path="a"), **DONE),
        _of("apply_patch_call_output", call_id="call_1", output="done", **DONE),
    ],
}
"""Histories by the kind of item that they hold."""

TOOLS: Mapping[str, Json] = {
    "function": _of("function", name="deploy", description="Deploy.", parameters=SCHEMA, strict=True),
    "function that is not strict": _of("function", name="deploy", parameters={"type": "object"}, strict=False),
    "custom": _of("custom", name="run", description="Run a command."),
    "web_search": _of("web_search"),
    "code_interpreter": _of("code_interpreter", container=_of("auto")),
    "image_generation": _of("image_generation"),
}
"""Tools that need nothing else; a server may run without any of the hosted ones, but the API has them."""

CHOICES: Mapping[str, Any] = {
    "none": "none",
    "required": "required",
    "a function": _of("function", name="deploy"),
    "allowed_tools": _of("allowed_tools", mode="auto", tools=[_of("function", name="deploy")]),
}
"""Values of `tool_choice` with the first of TOOLS."""

HI = Case({"input": "Ship v2."})
STORED: Mapping[str, Case] = {
    "item_reference": Case(
        {"input": [_of("item_reference", id="{1.data.0.id}"), THEN]},
        before=(HI, Case(on="GET /responses/{0.id}/input_items")),
    ),
    "compaction": Case(
        {"input": [_of("compaction", encrypted_content="{0.output.1.encrypted_content}"), THEN]},
        before=(Case(MINIMAL_REQUEST, on="POST /responses/compact"),),
    ),
}
"""Requests about items that a server has made."""

MEMBERS: Mapping[str, Json] = {
    "instructions": {"instructions": "Be brief."},
    "metadata": {"metadata": {"run": "1"}},
    "temperature": {"temperature": 0.5, "top_p": 0.9},
    "max_output_tokens": {"max_output_tokens": 64},
    "truncation": {"truncation": "auto"},
    "parallel_tool_calls": {"parallel_tool_calls": False},
    "store": {"store": False},
    "user": {"user": "u", "safety_identifier": "s", "prompt_cache_key": "k"},
    "service_tier": {"service_tier": "auto"},
    "text.format": {"text": {"format": _of("text")}},
    "null members": {"instructions": None, "tools": None, "previous_response_id": None, "temperature": None},
    "text.verbosity": {"text": {"verbosity": "medium"}},
    "top_logprobs": {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
    "max_tool_calls": {"max_tool_calls": 3},
    "stream_options": {"stream": True, "stream_options": {"include_obfuscation": False}},
    "include": {"include": ["message.output_text.logprobs"]},
    "include of tools": {"include": ["file_search_call.results", "web_search_call.action.sources"]},
}
"""Members that any request may have."""


def probes() -> Iterator[tuple[str, str, Case]]:
    """The area, the name and the request of every probe."""
    for name, items in ITEMS.items():
        yield "items", name, Case({"input": items})
    yield from (("items", name, case) for name, case in STORED.items())
    for name, tool in TOOLS.items():
        yield "tools", name, Case({"input": "hi", "tools": [tool]})
    for name, choice in CHOICES.items():
        yield (
            "tools",
            f"tool_choice: {name}",
            Case({"input": "hi", "tools": [TOOLS["function"]], "tool_choice": choice}),
        )
    store = Case({"name": "docs"}, on="POST /vector_stores")
    search = _of("file_search", vector_store_ids=["{0.id}"])
    yield "tools", "file_search", Case({"input": "hi", "tools": [search]}, before=(store,))
    for name, members in MEMBERS.items():
        yield "members", name, Case({"input": "hi", **members})

"""Requests that are right: every kind of item, part, tool, choice and format that the schema knows, with many members.

`test_samples.py` holds this module and `tools.py` to the schema: a new kind without a sample fails there.
"""

from collections.abc import Iterator

from harness.contract.rule import CREATE_RESPONSE, RULES, Case
from harness.contract.rules.example_requests import VALID_BODY
from harness.contract.rules.request.input_items.images import PNG
from harness.core.exchange import Json
from tests.contract.evidence.samples.mutate import places
from tests.contract.evidence.samples.tools import CHOICES, ENVIRONMENTS, OBJECT, TOOLS, part

ROLES = {"user", "assistant", "system", "developer", "item_reference"}
DEPLOYED: Json = {**VALID_BODY, "model": "my-deployment"}
"""No listed model: it is taken to have every tool."""
DIRECT: Json = {"type": "direct"}
PROGRAM: Json = {"type": "program", "caller_id": "call_p"}
EXPLICIT: Json = {"mode": "explicit", "ttl": "30m"}
DONE: Json = {"status": "completed"}


USER_PARTS: list[Json] = [
    part("input_text", text="What is it?", prompt_cache_breakpoint=EXPLICIT),
    part("input_image", image_url=PNG, detail="low"),
    part("input_file", filename="a.pdf", file_data="data:application/pdf;base64,JVBERi0xLjQ=", detail="auto"),
    part("input_file", file_id="file_1"),
    part("scoped_content", scope="x"),
    part("input_audio", input_audio={"data": "UklGRg==", "format": "wav"}),
]
OUTPUT_PARTS: list[Json] = [
    part("input_text", text="ok", prompt_cache_breakpoint=None),
    part("input_image", image_url=PNG, detail=None),
    part("input_file", file_url="https://example.org/a.pdf", filename=None),
    part("scoped_content"),
]
ANNOTATIONS: list[Json] = [
    part("file_citation", file_id="file_1", filename="a", index=0),
    part("url_citation", url="https://example.org", title="A", start_index=0, end_index=1),
    part("container_file_citation", container_id="c", file_id="f", filename="a", start_index=0, end_index=1),
    part("file_path", file_id="file_1", index=0),
]
TOKEN: Json = {"token": "a", "bytes": [97], "logprob": -0.5}
ASSISTANT_PARTS: list[Json] = [
    part("output_text", text="A.", annotations=ANNOTATIONS, logprobs=[{**TOKEN, "top_logprobs": [TOKEN]}]),
    part("refusal", refusal="No."),
]
POINT: Json = {"x": 1, "y": 2}
ACTIONS: list[Json] = [
    part("click", button="left", **POINT, keys=["CTRL"]),
    part("double_click", keys=None, **POINT),
    part("drag", path=[POINT, POINT]),
    part("keypress", keys=["a"]),
    part("move", **POINT),
    part("screenshot"),
    part("scroll", scroll_x=0, scroll_y=5, **POINT),
    part("type", text="a"),
    part("wait"),
]
SEARCHES: list[Json] = [
    part("search", query="a", queries=["a"]),
    part("open_page", url=None),
    part("find_in_page", pattern="a", url="https://example.org"),
]
PATCHES: list[Json] = [
    part("create_file", path="a", diff="+a"),
    part("delete_file", path="a"),
    part("update_file", path="a", diff="-a"),
]
MCP_ERRORS: list[Json] = [
    part("mcp_protocol_error", code=1, message="m"),
    part("mcp_tool_execution_error", content=[]),
    part("http_error", code=500, message="m"),
]
OUTCOMES: list[Json] = [part("exit", exit_code=0), part("timeout")]
SHELL: Json = {"commands": ["ls"], "max_output_length": 9, "timeout_ms": None}
SHELL_OUTPUT: list[Json] = [{"outcome": outcome, "stdout": "a", "stderr": ""} for outcome in OUTCOMES]

CALLS: list[list[Json]] = [
    [
        part("function_call", id="fc_1", call_id="c1", name="f", arguments="{}", caller=DIRECT, namespace="n", **DONE),
        part("function_call_output", id="fc_2", call_id="c1", output=OUTPUT_PARTS, caller=PROGRAM, **DONE),
    ],
    [
        part("function_call", call_id="c1", name="f", arguments="{}"),
        part("function_call_output", call_id="c1", output="ok", name="f", namespace="n"),
    ],
    [
        part("custom_tool_call", id="ctc_1", call_id="c1", name="c", input="x", caller=PROGRAM),
        part("custom_tool_call_output", call_id="c1", output=[part("input_text", text="ok")], caller=DIRECT),
    ],
    *(
        [
            part("computer_call", id="cu_1", call_id="c1", pending_safety_checks=[{"id": "s"}], action=action, **DONE),
            part(
                "computer_call_output",
                call_id="c1",
                output=part("computer_screenshot", image_url=PNG),
                acknowledged_safety_checks=[{"id": "s", "code": None, "message": "m"}],
            ),
        ]
        for action in ACTIONS
    ),
    [
        part("computer_call", call_id="c1", pending_safety_checks=[], actions=ACTIONS, **DONE),
        part("computer_call_output", call_id="c1", output=part("computer_screenshot", file_id="file_1")),
    ],
    [
        part(
            "local_shell_call",
            id="lsh_1",
            call_id="c1",
            action=part("exec", command=["ls"], env={"A": "b"}, timeout_ms=1, user=None, working_directory="/"),
            **DONE,
        ),
        part("local_shell_call_output", id="c1", call_id="c1", output="{}"),
    ],
    *(
        [
            part("shell_call", call_id="c1", action=SHELL, environment=environment),
            part("shell_call_output", call_id="c1", output=SHELL_OUTPUT, max_output_length=9),
        ]
        for environment in ENVIRONMENTS
    ),
    *(
        [
            part("apply_patch_call", call_id="c1", operation=patch, caller=DIRECT, **DONE),
            part("apply_patch_call_output", call_id="c1", output="done", **DONE),
        ]
        for patch in PATCHES
    ),
    [
        part("tool_search_call", id="tsc_1", call_id="c1", execution="client", arguments={"q": "a"}, **DONE),
        part("tool_search_output", call_id="c1", execution="client", tools=TOOLS[:1]),
    ],
    [
        part("mcp_approval_request", id="mcpr_1", arguments="{}", name="f", server_label="m"),
        part("mcp_approval_response", approval_request_id="mcpr_1", approve=True, reason="r"),
    ],
]
FOUND: Json = {"file_id": "f", "filename": "a", "score": 0.5, "text": "t", "attributes": {"a": "b", "c": 1, "d": True}}
ITEMS: list[Json] = [
    {"role": "user", "content": USER_PARTS},
    part("message", id="msg_1", role="developer", content="Be brief.", **DONE),
    {"role": "system", "content": [part("input_text", text="Be brief.")]},
    part("message", id="msg_2", role="assistant", content=ASSISTANT_PARTS, phase="final_answer", **DONE),
    {"role": "assistant", "content": "A.", "phase": None},
    part("file_search_call", id="fs_1", queries=["a"], results=[FOUND], **DONE),
    *(part("web_search_call", id="ws_1", action=search, **DONE) for search in SEARCHES),
    part("additional_tools", role="developer", tools=[*TOOLS[:2], part("local_shell")]),
    part("configuration_update", reasoning={"effort": "low"}, text={"format": part("text")}),
    part("reasoning", id="rs_1", summary=[part("summary_text", text="s")], encrypted_content="gAAAAABx", content=[]),
    part("compaction", id="cmp_1", encrypted_content="gAAAAABx"),
    part("image_generation_call", id="ig_1", result="aGk=", action="edit", size="1024x1024", quality="low", **DONE),
    part(
        "code_interpreter_call",
        id="ci_1",
        code="1",
        container_id="c",
        outputs=[part("logs", logs="1"), part("image", url="https://example.org/a.png")],
        **DONE,
    ),
    part("mcp_list_tools", id="mcpl_1", server_label="m", tools=[{"name": "f", "input_schema": {"type": "object"}}]),
    *(part("mcp_call", id="mcp_1", arguments="{}", name="f", server_label="m", error=error) for error in MCP_ERRORS),
    part("compaction_trigger"),
    part("program", id="p", call_id="c", code="1", fingerprint="f"),
    part("program_output", id="p", call_id="c", result="1", **DONE),
    part("agent_message", id="x", author="a", recipient="b", content=[part("input_text", text="a")]),
    part("multi_agent_call", id=None, action="wait_agent", arguments="{}", call_id="c"),
    part("multi_agent_call_output", action="wait_agent", call_id="c", output=[part("output_text", text="a")]),
]
FORMATS: list[Json] = [
    part("text"),
    part("json_object"),
    part("json_schema", name="out", schema=OBJECT, strict=True, description="d"),
]
INCLUDE = [
    *("file_search_call.results", "web_search_call.results", "web_search_call.action.sources"),
    *("message.input_image.image_url", "computer_call_output.output.image_url", "code_interpreter_call.outputs"),
    "message.output_text.logprobs",
]
POLICY: Json = {"input": {"mode": "score"}, "output": {"mode": "block"}}
PLAIN: Json = {
    "instructions": "Be brief.",
    "metadata": {"a": "b"},
    "temperature": 0.5,
    "top_p": 0.9,
    "presence_penalty": 0,
    "frequency_penalty": -1.5,
    "parallel_tool_calls": False,
    "stream": True,
    "stream_options": {"include_obfuscation": False},
    "background": False,
    "max_output_tokens": 16,
    "max_tool_calls": 1,
    "user": "u",
    "safety_identifier": "s",
    "prompt_cache_options": {"mode": "implicit", "ttl": "12h", "prewarm": False},
    "prompt_cache_key": "k",
    "prompt_cache_retention": "24h",
    "truncation": "auto",
    "store": True,
    "service_tier": "auto",
    "top_logprobs": 2,
    "context_management": [{"type": "compaction", "compact_threshold": 1000}],
    "moderation": {"model": "omni-moderation-latest", "policy": POLICY},
    "include": INCLUDE,
    "access_programs": {"cyber": "standard"},
    "background_options": {"completion_window": "soonest", "continuation_id": "c"},
    "image": {"context_compression": "auto"},
}
THINKING: list[Json] = [
    {"effort": "low", "summary": "auto", "context": "current_turn", "mode": "standard"},
    {"effort": None, "summary": None},
]


def requests() -> Iterator[Json]:
    """Bodies of `POST /responses` that the mock takes, none twice."""
    seen = []
    for body in (*_written(), *_of_rules()):
        if body not in seen:
            seen.append(body)
            yield body


def _written() -> Iterator[Json]:
    yield VALID_BODY
    yield {**DEPLOYED, **PLAIN}
    yield from ({**VALID_BODY, "input": items} for items in CALLS)
    yield from ({**DEPLOYED, "input": [item]} for item in ITEMS)
    yield {**DEPLOYED, "input": [*(item for call in CALLS[1:2] for item in call), *ITEMS[:6], *ITEMS[9:11]]}
    yield from ({**DEPLOYED, "tools": [tool]} for tool in TOOLS)
    yield {**DEPLOYED, "tools": TOOLS}
    yield from (
        {**VALID_BODY, "input": "As JSON.", "text": {"format": format, "verbosity": "medium"}} for format in FORMATS
    )
    yield from ({**DEPLOYED, "tools": TOOLS, "tool_choice": choice} for choice in CHOICES)
    yield from ({**VALID_BODY, "model": "gpt-5", "reasoning": reasoning} for reasoning in THINKING)
    yield {**VALID_BODY, "model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}


def _of_rules() -> Iterator[Json]:
    for rule in RULES.values():
        yield from ({**VALID_BODY, **case.body} for case in rule.accepts if _is_plain(case))


def _is_plain(case: Case) -> bool:
    special = case.before or case.turns or case.absent or case.headers or case.raw or case.account or case.as_of
    return isinstance(case.body, dict) and not special and case.on in (None, CREATE_RESPONSE)


REQUESTS = list(requests())
NAMED = sorted({value for body in REQUESTS for path, value in places(body) if path[-1:] == ("type",) and value} | ROLES)
"""Values of `type` and `role` to choose among."""

"""Items of every other kind: what their builders put on the wire, and what they refuse."""

import pytest

from harness.core.errors import ScriptError
from harness.items import (
    apply_patch_call,
    apply_patch_call_output,
    code_interpreter_call,
    compaction,
    computer_call,
    create_file,
    created_by,
    custom_tool_call,
    delete_file,
    file_search_call,
    find_in_page,
    function_call,
    image_generation_call,
    local_shell_call,
    mcp_approval_request,
    mcp_call,
    mcp_list_tools,
    multi_agent_call,
    open_page,
    program,
    program_output,
    search,
    shell_call,
    shell_call_output,
    shell_output,
    tool_search_call,
    tool_search_output,
    update_file,
    web_search_call,
)
from harness.items.kind import ITEMS, item_from_wire
from tests.support.wired import wire

CALLED_BY_PROGRAM = {"type": "program", "caller_id": "call_1"}
BLOCKED = {"type": "image_generation_user_error", "code": "moderation_blocked", "message": "No."}


def completed(**members):
    return {"status": "completed", **members}


def acted(type, **members):
    return completed(action={"type": type, **members})


def patched(type, **members):
    return completed(call_id="c", operation={"type": type, **members})


FOUND = [{"file_id": "file-1"}]
LS = {"commands": ["ls"], "max_output_length": None, "timeout_ms": None}
ASKED = {"arguments": "{}", "name": "ask", "server_label": "docs"}
ASKED_Q = {**ASKED, "arguments": '{"q":1}'}
OPEN = {"input_schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            function_call("f", call_id="call_1", async_=True, caller=CALLED_BY_PROGRAM),
            {"status": "in_progress", "arguments": "{}", "async": True, "call_id": "call_1", "name": "f"}
            | {"caller": CALLED_BY_PROGRAM},
        ),
        (custom_tool_call("f", "1;", call_id="call_1"), completed(call_id="call_1", input="1;", name="f")),
        (file_search_call("storage"), completed(queries=["storage"], results=None)),
        (file_search_call(["a", "b"], results=FOUND), completed(queries=["a", "b"], results=FOUND)),
        (web_search_call(), completed()),
        (web_search_call("weather Oslo"), acted("search", queries=["weather Oslo"], query="weather Oslo")),
        (
            web_search_call(search("a", "b", sources=["https://example.org", {"type": "api", "name": "oai-weather"}])),
            acted(
                "search",
                queries=["a", "b"],
                query="a",
                sources=[{"type": "url", "url": "https://example.org"}, {"type": "api", "name": "oai-weather"}],
            ),
        ),
        (web_search_call(open_page("https://example.org")), acted("open_page", url="https://example.org")),
        (web_search_call(find_in_page("https://a", "b")), acted("find_in_page", pattern="b", url="https://a")),
        (tool_search_call({"a": "b"}), completed(arguments={"a": "b"}, call_id=None, execution="server")),
        (
            tool_search_output([{"type": "function", "name": "f"}]),
            completed(call_id=None, execution="server", tools=[{"type": "function", "name": "f"}]),
        ),
        (
            code_interpreter_call("2+2", container_id="cntr_1", outputs=["4\n", {"type": "image", "url": "https://a"}]),
            completed(
                code="2+2",
                container_id="cntr_1",
                outputs=[{"type": "logs", "logs": "4\n"}, {"type": "image", "url": "https://a"}],
            ),
        ),
        (
            multi_agent_call("wait_agent", {"timeout_ms": 9}, call_id="call_1"),
            {"action": "wait_agent", "arguments": '{"timeout_ms":9}', "call_id": "call_1"},
        ),
        (code_interpreter_call(None, container_id="c"), completed(code=None, container_id="c", outputs=None)),
        (program("1", call_id="c", fingerprint="gA"), {"call_id": "c", "code": "1", "fingerprint": "gA"}),
        (program_output("call_1", "1"), completed(call_id="call_1", result="1")),
        (
            image_generation_call("aGk=", revised_prompt="A kite.", action="generate"),
            completed(action="generate", background="opaque", output_format="png", quality="high", size="1024x1024")
            | {"result": "aGk=", "revised_prompt": "A kite."},
        ),
        (image_generation_call(error=BLOCKED), {"status": "failed", "error": BLOCKED, "result": None}),
        (
            mcp_list_tools("docs", ["ask", {"name": "find", "description": "Finds.", "annotations": None}]),
            {
                "server_label": "docs",
                "tools": [
                    {"annotations": {"read_only": False}, "description": "", "name": "ask", **OPEN},
                    {"annotations": None, "description": "Finds.", "name": "find", **OPEN},
                ],
            },
        ),
        (mcp_list_tools("docs", error="unreachable"), {"error": "unreachable", "server_label": "docs", "tools": []}),
        (
            mcp_call("docs", "ask", {"q": 1}, output="5 °C", approval_request_id="mcpr_1"),
            completed(**ASKED_Q, approval_request_id="mcpr_1", error=None, output="5 °C"),
        ),
        (
            mcp_call("docs", "ask", error="424: "),
            {**ASKED, "status": "failed", "approval_request_id": None, "output": None}
            | {"error": {"type": "http_error", "code": 424, "message": "424: "}},
        ),
        (mcp_approval_request("docs", "ask", {"q": 1}), ASKED_Q),
        (
            computer_call({"type": "screenshot"}, call_id="call_1"),
            completed(action={"type": "screenshot"}, call_id="call_1", pending_safety_checks=[]),
        ),
        (
            computer_call([{"type": "wait"}], call_id="call_1", pending_safety_checks=[{"id": "sc_1"}]),
            completed(actions=[{"type": "wait"}], call_id="call_1", pending_safety_checks=[{"id": "sc_1"}]),
        ),
        (
            local_shell_call(["ls", "-a"], env={"A": "b"}, working_directory="/tmp", call_id="call_1"),
            acted("exec", command=["ls", "-a"], env={"A": "b"}, working_directory="/tmp") | {"call_id": "call_1"},
        ),
        (shell_call("ls", call_id="call_1"), completed(action=LS, call_id="call_1")),
        (
            shell_call(["ls", ["p", "wd"]], container_id="cntr_1", call_id="call_1", timeout_ms=9, max_output_length=8),
            completed(
                action={"commands": ["ls", "pwd"], "max_output_length": 8, "timeout_ms": 9},
                call_id="call_1",
                environment={"type": "container_reference", "container_id": "cntr_1"},
            ),
        ),
        (
            shell_call_output("call_1", "a.md\n", shell_output(stderr="no", exit_code=1), shell_output(exit_code=None)),
            completed(
                call_id="call_1",
                max_output_length=None,
                output=[
                    {"outcome": {"type": "exit", "exit_code": 0}, "stderr": "", "stdout": "a.md\n"},
                    {"outcome": {"type": "exit", "exit_code": 1}, "stderr": "no", "stdout": ""},
                    {"outcome": {"type": "timeout"}, "stderr": "", "stdout": ""},
                ],
            ),
        ),
        (apply_patch_call(create_file("a", ["+#", "A"]), call_id="c"), patched("create_file", diff="+#A", path="a")),
        (apply_patch_call(update_file("a", "@@"), call_id="c"), patched("update_file", diff="@@", path="a")),
        (apply_patch_call(delete_file("a"), call_id="c"), patched("delete_file", path="a")),
        (apply_patch_call_output("call_1", "ok"), completed(call_id="call_1", output="ok")),
        (apply_patch_call_output("call_1", status="failed"), {"status": "failed", "call_id": "call_1", "output": None}),
        (compaction("gAAAAAB"), {"encrypted_content": "gAAAAAB"}),
        (compaction(), {"encrypted_content": None}),
        (created_by("user_1", compaction("gAAAAAB")), {"created_by": "user_1", "encrypted_content": "gAAAAAB"}),
    ],
    ids=lambda value: getattr(value, "type", ""),
)
def test_on_the_wire(made, expected):
    said = wire(made)
    assert said == {"id": said["id"], "type": made.type, **expected}
    assert list(said) == ["id", "type", *(["status"] if "status" in said else []), *sorted(set(expected) - {"status"})]
    assert said["id"].startswith(f"{ITEMS.find(made.type).prefix}_")


PREFIXES = {
    "apply_patch_call": "apc",
    "apply_patch_call_output": "apo",
    "code_interpreter_call": "ci",
    "compaction": "cmp",
    "multi_agent_call": "mac",
    "multi_agent_call_output": "maco",
    "agent_message": "amsg",
    "computer_call": "cu",
    "custom_tool_call": "ctc",
    "file_search_call": "fs",
    "function_call": "fc",
    "image_generation_call": "ig",
    "local_shell_call": "lsh",
    "mcp_approval_request": "mcpr",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "message": "msg",
    "program": "cm",
    "program_output": "cmo",
    "reasoning": "rs",
    "shell_call": "sh",
    "shell_call_output": "sho",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
    "web_search_call": "ws",
}


def test_the_prefix_of_every_kind():
    assert {name: declared.prefix for name, declared in ITEMS.items() if not declared.dialects} == PREFIXES


@pytest.mark.parametrize(
    "made",
    [
        custom_tool_call("f"),
        tool_search_call({}, execution="client"),
        computer_call({"type": "wait"}),
        local_shell_call(["ls"]),
        shell_call("ls"),
        apply_patch_call(delete_file("a")),
        program("text(1)"),
    ],
    ids=lambda made: made.type,
)
def test_a_call_id_is_given_out(made):
    assert wire(made)["call_id"].startswith("call_")


def test_the_apis_own_search_for_tools_has_no_call_id():
    assert wire(tool_search_call({}))["call_id"] is None


def test_a_container_is_given_out():
    assert len(wire(code_interpreter_call("1"))["container_id"].removeprefix("cntr_")) == 48


def test_the_last_of_the_images_shown_is_the_result():
    made = image_generation_call(["YQ==", "Yg=="])
    assert made.members["result"] == "Yg=="
    assert made.deltas == {("image_generation_call.partial_image", 0): ("YQ==", "Yg==")}


def test_commands_have_exact_deltas():
    assert shell_call(["ls", ["p", "wd"]]).deltas == {("shell_call_command", 1): ("p", "wd")}


# A recorded item is a turn


@pytest.mark.parametrize("status", ["failed", "in_progress", "generating"])
def test_a_status_of_its_own_is_kept(status):
    recorded = {"id": "ig_1", "type": "image_generation_call", "status": status, "result": None}
    assert wire(item_from_wire(recorded))["status"] == status


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_a_status_that_the_response_gives_is_dropped(status):
    assert item_from_wire({"type": "web_search_call", "status": status}) == web_search_call()


def test_a_recorded_failure_without_status_is_one():
    recorded = {"type": "mcp_call", "arguments": "{}", "name": "f", "server_label": "docs", "error": {"code": 500}}
    assert wire(item_from_wire(recorded))["status"] == "failed"


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ({"type": "mcp_call", "arguments": "{}", "name": "f", "server_label": "docs"}, mcp_call("docs", "f")),
        ({"type": "mcp_list_tools", "server_label": "docs"}, mcp_list_tools("docs")),
        ({"type": "file_search_call", "queries": ["a"]}, file_search_call("a")),
        ({"type": "code_interpreter_call", "code": "1"}, code_interpreter_call("1")),
        ({"type": "tool_search_call", "arguments": {}}, tool_search_call({})),
        ({"type": "computer_call", "action": {"type": "wait"}}, computer_call({"type": "wait"})),
        ({"type": "program", "code": "text(1)"}, program("text(1)")),
        ({"type": "apply_patch_call", "operation": delete_file("a")}, apply_patch_call(delete_file("a"))),
    ],
    ids=lambda value: getattr(value, "type", ""),
)
def test_an_item_written_by_hand_may_leave_things_out(written, made):
    assert item_from_wire(written) == made


# What is wrong is said


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: function_call("f", caller="program"),
            "caller is 'program'. Pass an object, such as {'type': 'program'",
        ),
        (lambda: custom_tool_call("", "a"), "custom_tool_call: name is ''. Pass a non-empty string"),
        (lambda: custom_tool_call("f", 3), "custom_tool_call: input is 3. Pass a str, or a list of str"),
        (lambda: file_search_call([""]), "file_search_call: queries[0] is ''. Pass a non-empty string"),
        (lambda: web_search_call({"type": "click"}), "Pass the search text, or one of: search, open_page, find_"),
        (lambda: web_search_call(3), "web_search_call: action is 3"),
        (lambda: web_search_call(""), "web_search_call: query is ''"),
        (lambda: tool_search_call({}, execution="cloud"), "execution is 'cloud'. Use one of: server, client"),
        (lambda: code_interpreter_call(3), "code_interpreter_call: code is 3"),
        (lambda: code_interpreter_call("1", outputs=[{"a": 1}]), "outputs[0] is {'a': 1}. Pass a string,"),
        (lambda: program(""), "program: code is ''"),
        (lambda: program_output("", "1"), "program_output: call_id is ''"),
        (lambda: image_generation_call([]), "result is []. Pass base64, or a list of it"),
        (lambda: image_generation_call(3), "image_generation_call: result is 3"),
        (lambda: mcp_list_tools("docs", [{}]), "tools[0] is {}. Pass a name, or an object with a name"),
        (lambda: mcp_call("docs", "f", {"a": {1}}), "mcp_call: arguments cannot be serialized to JSON"),
        (lambda: mcp_call("", "f"), "mcp_call: server_label is ''"),
        (lambda: computer_call([{"x": 1}]), "action 0 is {'x': 1}. Pass an object with a type"),
        (lambda: local_shell_call("ls -a"), "command is 'ls -a'. Pass its words: ['ls', '-a']"),
        (lambda: shell_call([3]), "shell_call: command is 3. Pass a str"),
        (lambda: item_from_wire({"type": "shell_call"}), "shell_call: action is None. Pass an object"),
        (lambda: item_from_wire({"type": "shell_call", "action": {}}), "commands is None. Pass a list of commands"),
        (lambda: shell_call_output("call_1", 3), "output is [3]. Pass a list of what shell_output('…') returns"),
        (lambda: apply_patch_call({"type": "move"}), "Pass one of: create_file, update_file, delete_file"),
        (lambda: apply_patch_call_output("call_1", status="done"), "status is 'done'. Use one of: completed, failed"),
        (lambda: compaction(""), "compaction: encrypted_content is ''"),
        (lambda: created_by("", compaction()), "created_by is ''. Pass a non-empty string."),
    ],
)
def test_what_cannot_be_built_is_a_script_error(build, words):
    with pytest.raises(ScriptError) as error:
        build()
    assert words in str(error.value)

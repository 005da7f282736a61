"""The events of each kind of item between `output_item.added` and `output_item.done`, and how it is announced."""

from hashlib import blake2b
from zlib import crc32

import pytest

from harness.answers.writer import render_events
from harness.core.ids import ALPHANUMERIC_TABLE
from harness.items import (
    apply_patch_call,
    apply_patch_call_output,
    code_interpreter_call,
    compaction,
    computer_call,
    create_file,
    custom_tool_call,
    delete_file,
    file_search_call,
    function_call,
    image_generation_call,
    local_shell_call,
    mcp_approval_request,
    mcp_call,
    mcp_list_tools,
    message,
    program,
    program_output,
    shell_call,
    shell_call_output,
    shell_output,
    tool_search_call,
    tool_search_output,
    web_search_call,
)
from tests.support.streams import between, response, streamed

GENERATED = ["in_progress", "generating"]
SEARCHED = ["in_progress", "searching", "completed"]
CALLED = ["mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done"]
NO_COMMAND = {"commands": [], "max_output_length": None, "timeout_ms": None}
CALLED_WITH_LEAVE = [*CALLED[:2], "mcp_call.in_progress", CALLED[2]]
COMMAND = ["shell_call_command.added", "shell_call_command.delta", "shell_call_command.done"]
OF_THE_IMAGE = ["action", "background", "output_format", "quality", "result", "revised_prompt", "size"]
CONTENT = ["shell_call_output_content.delta", "shell_call_output_content.done"]


def own(name, phases):
    return [f"{name}.{phase}" for phase in phases]


CODE = [
    *("code_interpreter_call.in_progress", "code_interpreter_call_code.delta", "code_interpreter_call_code.done"),
    *("code_interpreter_call.interpreting", "code_interpreter_call.completed"),
]


@pytest.mark.parametrize(
    ("made", "told", "announced"),
    [
        (
            function_call("f", '{"a":1}', caller={"type": "program", "caller_id": "call_1"}),
            own("function_call_arguments", ["delta", "done"]),
            {"arguments": ""},
        ),
        (custom_tool_call("f", "SELECT 1;"), own("custom_tool_call_input", ["delta", "done"]), {"input": ""}),
        (
            file_search_call("a", results=[{"file_id": "file-1"}]),
            own("file_search_call", SEARCHED),
            {"queries": [], "results": None},
        ),
        (web_search_call("a"), own("web_search_call", SEARCHED), {"action": {"type": "search"}}),
        (web_search_call(), own("web_search_call", SEARCHED), {}),
        (code_interpreter_call("1", outputs=["1"]), CODE, {"code": "", "outputs": []}),
        (code_interpreter_call("1"), CODE, {"code": "", "outputs": None}),
        (code_interpreter_call(None), [CODE[0], *CODE[3:]], {"code": ""}),
        (
            image_generation_call(action="generate"),
            own("image_generation_call", [*GENERATED, "partial_image", "completed"]),
            dict.fromkeys(OF_THE_IMAGE, ...),
        ),
        (
            image_generation_call(error={"message": "No."}),
            own("image_generation_call", GENERATED),
            {"error": ..., "result": ...},
        ),
        (mcp_list_tools("docs", ["a"]), own("mcp_list_tools", ["in_progress", "completed"]), {"tools": []}),
        (mcp_list_tools("docs", error="No."), own("mcp_list_tools", ["in_progress", "failed"]), {"error": ...}),
        (
            mcp_call("docs", "a", '{"a":1}', output="1"),
            [*CALLED, "mcp_call.completed"],
            {"arguments": "", "output": None},
        ),
        (mcp_call("docs", "a", error="No."), [*CALLED, "mcp_call.failed"], {"arguments": "", "error": None}),
        (
            mcp_call("docs", "a", approval_request_id="mcpr_1"),
            [*CALLED_WITH_LEAVE, "mcp_call.completed"],
            {"arguments": "", "output": None},
        ),
        (mcp_approval_request("docs", "a", '{"a":1}'), [], {}),
        (computer_call({"type": "screenshot"}), [], {}),
        (local_shell_call(["ls"], env={"A": "b"}), [], {"action": {"type": "exec", "command": [], "env": {}}}),
        (shell_call(["ls", "pwd"], max_output_length=9), [*COMMAND, *COMMAND], {"action": NO_COMMAND}),
        (
            shell_call_output("call_1", "a", shell_output("b", exit_code=1)),
            [*CONTENT, *CONTENT],
            {"status": "in_progress", "output": []},
        ),
        (shell_call_output("call_1", shell_output("a", "b")), CONTENT, {"status": "in_progress", "output": []}),
        (
            apply_patch_call(create_file("a", "+")),
            own("apply_patch_call_operation_diff", ["delta", "done"]),
            {"operation": {"type": "create_file", "diff": "", "path": "a"}},
        ),
        (apply_patch_call(delete_file("a")), [], {}),
        (apply_patch_call_output("call_1", "a"), [], {"status": "completed"}),
        (tool_search_call({"paths": ["f"]}), [], {"arguments": {}}),
        (tool_search_output([{"type": "web_search"}]), [], {}),
        (program("text(1)"), [], {"code": ""}),
        (program_output("call_1", "1"), [], {"status": "completed", "result": ""}),
        (compaction("gAAAAABfbG9uZw"), [], {}),
    ],
    ids=lambda value: getattr(value, "type", ""),
)
def test_a_kind_is_announced_and_has_its_events(made, told, announced):
    stream = streamed(made)
    assert between(stream) == ["output_item.added", *told, "output_item.done"]
    done = stream[-2]["item"]
    expected = {**done, **({"status": "in_progress"} if "status" in done else {}), **announced}
    assert stream[2]["item"] == {name: value for name, value in expected.items() if value is not ...}


def test_a_model_that_reasons_announces_nothing_of_what_it_searches():
    said = response(web_search_call("a"), reasoning={"effort": "low", "summary": None})
    begun = {"id": said["output"][0]["id"], "type": "web_search_call", "status": "in_progress"}
    assert list(render_events(said))[2]["item"] == begun


def test_commands_do_not_name_their_item():
    stream = streamed(shell_call(["ls", "pwd"]))
    told = [event for event in stream if "shell_call_command" in event["type"]]
    assert not any("item_id" in event for event in told)
    whole = [(event["output_index"], event["command_index"], event["command"]) for event in told if "command" in event]
    assert whole == [(0, 0, ""), (0, 0, "ls"), (0, 1, ""), (0, 1, "pwd")]


def test_what_a_command_printed_is_not_padded():
    stream = streamed(shell_call_output("call_1", shell_output("a", "b", exit_code=1)))
    stdout, stderr, done = stream[3:6]
    assert (stdout["delta"], stderr["delta"]) == ({"stdout": "a"}, {"stderr": "b"})
    assert "obfuscation" not in stdout
    assert done["output"] == [{"outcome": {"type": "exit", "exit_code": 1}, "stderr": "b", "stdout": "a"}]
    assert {event["command_index"] for event in (stdout, stderr, done)} == {0}


def test_exact_commands_are_streamed_as_given():
    stream = streamed(shell_call(["ls", ["p", "wd"]]))
    assert [event["delta"] for event in stream if "delta" in event] == ["ls", "p", "wd"]


def test_the_arguments_of_an_mcp_call_are_one_delta():
    stream = streamed(mcp_call("docs", "ask", {"q": "How cold is it?"}))
    assert [event["delta"] for event in stream if "delta" in event] == ['{"q":"How cold is it?"}']
    assert "delta" not in str(between(streamed(mcp_call("docs", "ask", ""))))


def test_every_image_that_was_to_be_seen_is_shown():
    like = {"background": "opaque", "output_format": "png", "quality": "high", "size": "1024x1024"}
    made = image_generation_call(["YQ==", "Yg=="])
    shown = [event for event in streamed(made) if "partial_image_index" in event]
    assert [(event["partial_image_index"], event["partial_image_b64"]) for event in shown] == [(0, "YQ=="), (1, "Yg==")]
    assert all(like.items() <= event.items() for event in shown)
    again = [event for event in render_events(response(made)) if "partial_image_index" in event]
    assert [event["partial_image_b64"] for event in again] == ["Yg=="]


@pytest.mark.parametrize("made", [web_search_call("a"), mcp_call("docs", "f"), code_interpreter_call("1")])
def test_work_that_is_cut_is_neither_completed_nor_failed(made):
    told = between(list(render_events(response(made, status="incomplete"))))
    assert not [name for name in told if name.endswith((".completed", ".failed"))]


NOISE = b"".join(blake2b(b"%d" % n).digest() for n in range(65)).translate(ALPHANUMERIC_TABLE).decode()


@pytest.mark.parametrize("words", [1, 300, 5_000])
def test_the_padding_is_noise_from_a_place_that_the_id_and_the_number_decide(words: int) -> None:
    said = response(message([f"word{n} "[: n % 9] for n in range(words)]))
    start = crc32(said["output"][0]["id"].encode()) % 16 * 256
    deltas = [event for event in render_events(said) if event["type"].endswith(".delta")]
    for event in deltas:
        place = (start + 61 * event["sequence_number"]) % 4096
        assert event["obfuscation"] == NOISE[place : place + -len(event["delta"]) % 16]

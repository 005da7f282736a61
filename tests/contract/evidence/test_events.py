"""Every event type that the SDK knows is told by the mock, or stands here with the reason why not."""

from harness.contract import schema
from harness.contract.check import check_answer
from harness.contract.schema import discriminator_values
from harness.core.exchange import Json
from harness.ending import failed, incomplete
from harness.items import (
    apply_patch_call,
    code_interpreter_call,
    compaction,
    computer_call,
    create_file,
    custom_tool_call,
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
    reasoning,
    refusal,
    shell_call,
    shell_call_output,
    shell_output,
    tool_search_call,
    tool_search_output,
    url_citation,
    web_search_call,
)
from harness.server.mock_api import MockApi
from harness.verify.examples import as_recorded
from tests.support.in_process import post

EVENT = "ResponseStreamEvent"
NOT_TOLD = {
    "response.audio.delta": "the Responses API gives no audio; the types stand in the union, no recording has one",
    "response.audio.done": "as response.audio.delta",
    "response.audio.transcript.delta": "as response.audio.delta",
    "response.audio.transcript.done": "as response.audio.delta",
    "response.compaction.compacting": "in the types only; recorded streams with a compaction have none",
    "keepalive": "sent after seconds of silence; the mock is never silent for seconds",
    "response.rate_limits.updated": "recorded after some streams, undocumented; read, not told",
}

TURNS = [
    [reasoning("**Planning**", content="First."), message("Hi.", annotations=[url_citation("https://a", "A", 0, 2)])],
    [message(refusal("No."))],
    [function_call("f", {"a": 1}), custom_tool_call("t", "x")],
    [file_search_call("a"), web_search_call("b"), tool_search_call({"paths": ["c"]}), tool_search_output([])],
    [code_interpreter_call("2+2"), program("x"), program_output("call_1", "4")],
    [image_generation_call(["aQ==", "aW0="]), compaction("gAAAAABh")],
    [mcp_list_tools("s", ["t"]), mcp_list_tools("s", error="down"), mcp_approval_request("s", "t")],
    [mcp_call("s", "t", output="ok"), mcp_call("s", "t", error="down")],
    [computer_call({"type": "screenshot"}), local_shell_call(["ls"])],
    [shell_call("ls"), shell_call_output("call_1", shell_output("a", "b")), apply_patch_call(create_file("a", "+b"))],
    [message("Once"), incomplete()],
    [failed()],
]


def told() -> list[Json]:
    """Return the events of all turns, and of one of a background response."""
    mock = MockApi()
    mock.open("sk-events").script(*map(as_recorded, TURNS), message("Hi."))
    bodies = [{} for _ in TURNS] + [{"background": True}]
    sent = [{"model": "gpt-4.1", "input": "hi", "stream": True, **more} for more in bodies]
    return [event for body in sent for event in post(mock, body, key="sk-events").events or ()]


def test_every_event_type_is_streamed_or_listed_and_conforms() -> None:
    events, root = told(), schema.load(EVENT)
    known, seen = set(discriminator_values(root, root, "type")), {event["type"] for event in events}
    assert known - seen == set(NOT_TOLD)
    assert seen <= known
    assert [found for event in events if (found := check_answer(EVENT, event))] == []

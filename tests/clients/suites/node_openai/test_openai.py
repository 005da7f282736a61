"""The npm package `openai`: one response, a stream, structured output, tools, what is stored."""

import pytest
from story import FORECAST, MILD, OSLO, PARIS, REMOTE, answered, decisions

from harness import surfaced
from harness.items import file_citation, file_search_call, mcp_call, message, reasoning, url_citation

REPORT = file_citation("file-1", "report.pdf", cite="the report")
PAGE = url_citation("https://example.org", "A page", cite="the page")
CITED = message("See the report and the page.", annotations=[REPORT, PAGE])


def test_text(mock, play):
    mock.script(message("Hello."))
    response = play("text")
    assert response["output_text"] == "Hello."
    surfaced(response, mock.replies)


def test_events(mock, play):
    mock.script([reasoning("**Looking**"), file_search_call(["report"]), CITED])
    events = play("events", store=mock.vector_store())
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    surfaced(events, mock.replies)


def test_stream_helper(mock, play):
    mock.script(message(["Hel", "lo."]))
    told = play("helper")
    assert told["deltas"] == [["Hel", "Hel"], ["lo.", "Hello."]]
    surfaced(told["final"], mock.replies)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_structured_output(mock, play, stream):
    mock.script(message(FORECAST))
    assert play("parsed", stream=stream) == MILD.model_dump()


def test_structured_calls(mock, play):
    mock.script([PARIS, OSLO])
    assert play("parsedCalls") == [["get_weather", {"city": "Paris"}], ["get_weather", {"city": "Oslo"}]]


def test_citations_are_replayed(mock, play):
    mock.script([file_search_call(["report"]), CITED], message("Yes."), message("No."))
    history = play("streamedReplay", store=mock.vector_store(), questions=["What?", "Sure?", "Not?"])
    assert [item["role"] for item in history if "role" in item] == ["user", "assistant"] * 3
    assert mock.exchanges[2].request.body["input"][2]["content"][0]["annotations"] == mock.replies[0].annotations


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_tool_runner(mock, play, stream):
    mock.script([reasoning("**Looking**"), PARIS, OSLO], message("Both are mild."))
    assert play("runner", stream=stream)["output_text"] == "Both are mild."
    assert answered(mock) == [1, 1]


def test_tool_runner_approves(mock, play, shipped):
    mock.script([PARIS, REMOTE], message("v2 is out."))
    assert play("runner", mcp=True)["output_text"] == "v2 is out."
    assert decisions(mock) == [(True, 1)]


@pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])
def test_approvals(mock, play, approve):
    mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live", "announce": "Done."})
    mock.script(
        [REMOTE, mcp_call("prod", "announce"), message("That is settled.")],
        *([] if approve else [message("That is settled.")]),
    )
    response = play("approvals", approve=approve)
    assert response["output_text"] == "That is settled."
    assert decisions(mock) == [(approve, int(approve))] * 2


def test_background(mock, play):
    mock.script(message("Hello."))
    surfaced(play("background"), mock.replies)


def test_cancel(mock, play):
    mock.script(message("Hello."))
    assert play("cancelled") == "cancelled"


def test_a_stream_is_resumed(mock, play):
    mock.script(message(["Hel", "lo."]))
    told = play("resumed", after=4)
    assert told["numbers"] == list(range(len(told["numbers"])))
    assert (told["last"]["type"], told["output_text"]) == ("response.completed", "Hello.")


def test_delete(mock, play):
    mock.script(message("Hello."))
    with mock.refuses("response_not_found"):
        gone = play("deleted")
    assert (gone["kind"], gone["status"]) == ("NotFoundError", 404)


def test_input_items_come_in_pages(mock, play):
    mock.script(message("Hello."))
    assert play("inputItems") == ["one", "two", "three"]
    assert [exchange.request.query.get("limit") for exchange in mock.exchanges[1:]] == [2, 2]


def test_input_tokens(mock, play):
    assert play("inputTokens")["input_tokens"] > 0


def test_compact(mock, play):
    mock.script(message("Hello."), message("Go on."))
    told = play("compacted")
    assert (told["object"], told["kinds"][-1], told["output_text"]) == ("response.compaction", "compaction", "Go on.")


def test_conversation(mock, play):
    mock.script(message("You are Ann."))
    with mock.refuses("conversation_path_not_found"):
        told = play("conversation")
    assert told["output_text"] == "You are Ann."
    assert told["texts"] == ["I am Ann.", "Who am I?", "You are Ann."]
    assert (told["topic"], told["same"], told["left"], told["gone"]["status"]) == ("names", True, 2, 404)


def test_socket(mock, node):
    mock.script(PARIS, message(["It is ", "mild."]), message(["Hello."]))
    with mock.refuses("number_above_maximum"):
        told = node("socket.mjs")
    assert told["deltas"] == ["It is ", "mild.", "Hello."]
    assert (told["error"]["param"], told["again"]["output"][0]["content"][0]["text"]) == ("temperature", "Hello.")
    surfaced(told["final"], mock.replies)

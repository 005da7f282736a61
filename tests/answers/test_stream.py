"""What a response's stream says, in which order, and how it looks on the wire."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.answers.encode import encode_events
from harness.answers.item_writer import split_into_tokens
from harness.answers.reader import StreamError
from harness.answers.response import TOOL_USAGE
from harness.answers.writer import render_events
from harness.items import file_path, function_call, message, output_text, reasoning, refusal, url_citation
from tests.support.streams import between, deltas, response, streamed, tokens, types

SUMMARY = [f"reasoning_summary_{name}" for name in ("part.added", "text.delta", "text.done", "part.done")]


NOTED = "output_text.annotation.added"
RAW = ["reasoning_text.delta", "reasoning_text.done"]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (message("Hi."), ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"]),
        (message(""), ["content_part.added", "output_text.done", "content_part.done"]),
        (message(refusal("No.")), ["content_part.added", "refusal.delta", "refusal.done", "content_part.done"]),
        (reasoning(["a", "b"]), [*SUMMARY, *SUMMARY]),
        (reasoning(encrypted_content="gAAAAAB", content=[]), []),
        (reasoning(content="1+1"), ["content_part.added", *RAW, "content_part.done"]),
        (
            message("A.", annotations=[url_citation("https://example.org", "T", 0, 0)]),
            ["content_part.added", "output_text.delta", NOTED, "output_text.done", "content_part.done"],
        ),
        (
            message("", annotations=[file_path("file-1")]),
            ["content_part.added", NOTED, "output_text.done", "content_part.done"],
        ),
    ],
    ids=[
        *("a message", "an empty message", "a refusal", "summaries", "reasoning that shows nothing", "raw reasoning"),
        *("a citation of no text", "an annotation of an empty text"),
    ],
)
def test_the_events_of_an_item(made, told):
    whole = ["created", "in_progress", "output_item.added", *told, "output_item.done", "completed"]
    assert types(streamed(made)) == whole


def test_parallel_calls_come_one_after_the_other():
    call = ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"]
    stream = streamed(function_call("f", {"a": 1}), function_call("g", {"b": 2}))
    assert between(stream) == [*call, *call]
    places = [event["output_index"] for event in stream if "output_index" in event]
    assert places == sorted(places)


def test_a_background_response_is_queued_first_and_never_padded():
    stream = streamed(message("Hi"), background=True)
    assert types(stream)[:3] == ["created", "queued", "in_progress"]
    assert [event["response"]["status"] for event in stream[:3]] == ["queued", "queued", "in_progress"]
    assert not any("obfuscation" in event for event in stream)


def test_an_error_event_precedes_the_failed_response():
    error = {"code": "insufficient_quota", "message": "You exceeded …"}
    stream = render_events(response(status="failed", usage=None, error=error))
    assert types(stream) == ["created", "in_progress", "error", "failed"]
    told = {**error, "type": "insufficient_quota", "param": None}
    assert stream[2] == {"type": "error", "error": told, "sequence_number": 2}
    assert [event["response"]["error"] for event in stream[:2]] == [None, None]


def test_a_rate_limit_within_a_stream_is_about_tokens():
    error = {"code": "rate_limit_exceeded", "message": "Request too large"}
    stream = render_events(response(status="failed", error=error))
    assert stream[2]["error"]["type"] == "tokens"


def test_a_response_that_is_cut_ends_incomplete():
    stream = render_events(response(message("Once upon a time"), status="incomplete"))
    assert types(stream)[-4:] == ["output_text.done", "content_part.done", "output_item.done", "incomplete"]
    assert stream[-2]["item"]["status"] == "incomplete"
    assert "status" not in stream[-3]["part"]


def test_only_a_finished_response_is_streamed():
    told = "^event 0: the response is 'queued'; only one that is completed, incomplete or failed is"
    with pytest.raises(StreamError, match=told):
        render_events(response(status="queued"))


# What the events hold


def test_the_response_starts_empty():
    first, second, *_, last = streamed(message("Hi"))
    begun = response(status="in_progress", completed_at=None, usage=None, service_tier="auto", output=[])
    assert [event["response"] for event in (first, second, last)] == [begun, begun, response(message("Hi"))]


def test_the_tools_have_done_nothing_at_the_start():
    usage = {"web_search": {"num_requests": 2}, "image_gen": TOOL_USAGE["image_gen"]}
    events = list(render_events(response(tool_usage=usage)))
    assert [event["response"]["tool_usage"] for event in (*events[:2], events[-1])] == [TOOL_USAGE, TOOL_USAGE, usage]


@pytest.mark.parametrize(("final", "asked"), [("default", "auto"), ("flex", "flex"), ("auto", "auto")])
def test_the_service_tier_starts_as_asked(final, asked):
    assert render_events(response(service_tier=final))[0]["response"]["service_tier"] == asked


def test_members_that_a_response_lacks_are_not_made_up():
    old = response()
    del old["completed_at"], old["service_tier"]
    assert set(render_events(old)[0]["response"]) == set(old)


def test_items_are_announced_empty():
    stream = streamed(reasoning("a", encrypted_content="c"), message("Hi", phase="final_answer"), function_call("f"))
    told = [{**event["item"], "id": ""} for event in stream if event["type"] == "response.output_item.added"]
    begun = {"id": "", "status": "in_progress"}
    assert told == [
        {"id": "", "type": "reasoning", "encrypted_content": "c=", "summary": []},
        {**begun, "type": "message", "content": [], "phase": "final_answer", "role": "assistant"},
        {**begun, "type": "function_call", "arguments": "", "call_id": told[2]["call_id"], "name": "f"},
    ]


def test_members_stand_in_the_order_of_the_api():
    stream = streamed(reasoning("a"), message("Hi", annotations=[file_path("file-1")]), function_call("f", {"a": 1}))
    for event in stream:
        assert list(event) == ["type", *sorted(set(event) - {"type"})]


def test_finished_parts_leave_logprobs_to_the_others():
    entry = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}
    stream = streamed(message("Hi", logprobs=[entry]))
    told = {event["type"]: event for event in stream}
    assert told["response.output_text.delta"]["logprobs"] == [entry]
    assert told["response.output_text.done"]["logprobs"] == [entry]
    assert told["response.content_part.done"]["part"]["logprobs"] == []
    assert told["response.output_item.done"]["item"]["content"][0]["logprobs"] == [entry]


def test_a_text_with_logprobs_is_cut_at_its_tokens():
    stream = streamed(message("Hello", logprobs=tokens("Hel", "lo")))
    assert deltas(stream, "output_text") == ["Hel", "lo"]


def test_logprobs_go_with_the_delta_in_which_their_token_ends():
    stream = streamed(message(["He", "l", "lo"], logprobs=tokens("Hel", "l", "o")))
    told = [event["logprobs"] for event in stream if event["type"] == "response.output_text.delta"]
    assert [[entry["token"] for entry in logprobs] for logprobs in told] == [[], ["Hel"], ["l", "o"]]


# Deltas


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("Hello there.", ["Hello", " there", "."]),
        ('{"city":"Oslo"}', ['{"', "city", '":"', "Oslo", '"}']),
        ("a_b 12345\n\n c", ["a", "_", "b", " ", "123", "45", "\n\n ", "c"]),
        ("a" * 40, ["a" * 16, "a" * 16, "a" * 8]),
        ("今日は🌦️", ["今日は", "🌦️"]),
    ],
)
def test_a_text_is_cut_like_tokens(text, pieces):
    assert list(split_into_tokens(text)) == pieces


@given(st.text())
def test_no_character_is_lost_by_cutting(text):
    assert "".join(split_into_tokens(text)) == text


def test_exact_deltas_are_streamed_as_given():
    stream = streamed(message(["Hel", "", "lo"], "b"), function_call("f", ["{", "}"]))
    assert deltas(stream, "output_text") == ["Hel", "", "lo", "b"]
    assert deltas(stream, "function_call_arguments") == ["{", "}"]


def test_exact_deltas_end_where_a_cut_text_ends():
    said = message(["Once", " upon", " a", " time"])
    short = response(message("Once up"), status="incomplete")
    assert deltas(render_events(short, items=[said]), "output_text") == ["Once", " up"]


def test_deltas_of_another_text_are_not_used():
    assert deltas(render_events(response(message("Hi")), items=[message(["By", "e"])]), "output_text") == ["Hi"]
    assert deltas(render_events(response(message("Hi")), items=[None, message(["x"])]), "output_text") == ["Hi"]


@pytest.mark.parametrize("text", ["Hello there, all of you.", "🌦️ sun", "x" * 16, "a b c d e f g"])
def test_every_delta_is_padded_to_a_multiple_of_16(text):
    stream = streamed(message(text), reasoning(text), function_call("f", text))
    padded = [event for event in stream if event["type"].endswith(".delta")]
    assert padded
    for event in padded:
        assert (len(event["delta"]) + len(event["obfuscation"])) % 16 == 0
        assert len(event["obfuscation"]) < 16
        assert event["obfuscation"] == "" or event["obfuscation"].isalnum()
        assert event["obfuscation"].isascii()


def test_padding_differs_from_delta_to_delta_and_is_the_same_again():
    said = message(["a"] * 50)
    padding = [event["obfuscation"] for event in streamed(said) if "obfuscation" in event]
    assert len(set(padding)) == 50
    assert padding == [event["obfuscation"] for event in streamed(said) if "obfuscation" in event]


def test_padding_can_be_left_out():
    assert not any("obfuscation" in event for event in streamed(message("Hi"), obfuscate=False))


# Annotations


def test_an_annotation_follows_the_text_it_covers():
    stream = streamed(message("Rain is likely.", annotations=[url_citation("https://example.org", "T", cite="is")]))
    told = [event.get("delta", event["type"]) for event in stream if event["type"].startswith("response.output_text.")]
    assert told[:-1] == ["Rain", " is", "response.output_text.annotation.added", " likely", "."]


def test_annotations_are_counted_by_part():
    notes = [file_path("file-1", cite="A"), file_path("file-2")]
    stream = streamed(message("A b", output_text("A b", annotations=notes), annotations=notes))
    told = [event for event in stream if "annotation_index" in event]
    assert [(event["content_index"], event["annotation_index"]) for event in told] == [(0, 0), (0, 1), (1, 0), (1, 1)]


# Frames


def test_frames_are_server_sent_events_of_one_line_each():
    stream = streamed(message("a\nb 🌦️"))
    blocks = encode_events(stream).decode().split("\n\n")
    assert blocks.pop() == ""
    for block, event in zip(blocks, stream, strict=True):
        first, second = block.split("\n")
        assert first == f"event: {event['type']}"
        assert second.startswith('data: {"type":"')
        assert json.loads(second.removeprefix("data: ")) == event

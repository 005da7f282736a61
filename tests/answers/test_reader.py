"""A stream read back: it adds up to its response, or the reader says which event is wrong."""

import json
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.answers.reader import StreamError
from harness.answers.recorded_stream import read_recorded
from harness.answers.writer import render_events
from harness.core.errors import HarnessError
from harness.items import (
    compaction,
    image_generation_call,
    mcp_list_tools,
    message,
    program,
    reasoning,
    shell_call_output,
    tool_search_call,
    url_citation,
    web_search_call,
)
from harness.items.hosted import search as web_search
from tests.support.streams import ENDINGS, ITEMS, fold, response, streamed, tokens

IMAGES = image_generation_call(["YQ==", "Yg=="])


@settings(deadline=None)
@given(st.lists(ITEMS, max_size=4), ENDINGS, st.booleans(), st.booleans(), st.booleans())
def test_fold_reads_what_events_tells(items, ending, exact, obfuscate, background):
    said = response(*items, **ending)
    stream = render_events(said, items=items if exact else (), obfuscate=obfuscate, background=background)
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert fold(stream) == said
    assert json.loads(json.dumps(said)) == said


def test_fold_passes_over_what_recorded_streams_also_hold():
    said = response(message("Hi"), reasoning(encrypted_content="first"))
    stream = list(render_events(said))
    stream.insert(2, {"type": "keepalive"})
    stream.append({"type": "response.rate_limits.updated", "rate_limits": []})
    added = next(event for event in stream if event.get("item", {}).get("type") == "reasoning")
    added["item"]["encrypted_content"] = "second"
    assert fold(renumbered(stream)) == said


@pytest.mark.parametrize(
    ("made", "announced"),
    [
        (message("Hi"), {"status": "completed"}),
        (web_search_call("rain"), {"action": {"type": "search"}}),
        (tool_search_call({"goal": "rain"}, execution="client"), {"call_id": "call_other"}),
        (program("text(1)"), {"fingerprint": "other"}),
    ],
    ids=["a message that is completed", "the type of an action", "another call_id", "another fingerprint"],
)
def test_fold_accepts_an_item_that_is_announced_with(made, announced):
    stream = streamed(made)
    stream[2]["item"] = {**stream[2]["item"], **announced}
    assert fold(stream) == stream[-1]["response"]


def test_fold_accepts_rounded_logprobs_or_none():
    stream = streamed(message("Hi", logprobs=tokens("Hi")))
    stream[4]["logprobs"] = [{**tokens("Hi")[0], "logprob": -0.4999}]
    del stream[5]["logprobs"]
    assert fold(stream) == stream[-1]["response"]


def test_fold_accepts_a_summary_that_is_cut_and_left_out():
    stream = list(render_events(response(reasoning("Compare both"), status="incomplete")))
    assert [event["type"].rpartition("_")[2] for event in stream[7:9]] == ["part.done", "item.done"]
    del stream[6:8]
    stream[6]["item"] = {**stream[6]["item"], "summary": []}
    stream[7]["response"] = {**stream[7]["response"], "output": [stream[6]["item"]]}
    assert fold(renumbered(stream)) == stream[7]["response"]


def test_fold_accepts_a_summary_that_begins_again_after_a_cut():
    stream = list(render_events(response(reasoning("Compare both"), status="incomplete")))
    del stream[5]
    assert fold(renumbered(stream)) == stream[-1]["response"]


def test_fold_takes_an_item_that_a_failure_left_open_from_the_end():
    said = response(reasoning("Compare"), message("Hi"), status="failed", error={"code": "server_error", "message": ""})
    stream = list(render_events(said))
    assert [event["output_index"] for event in stream if event["type"] == "response.output_item.done"] == [0]
    assert fold(stream) == said


def test_fold_accepts_images_that_do_not_say_what_they_are_like():
    stream = streamed(IMAGES)
    for event in stream[5:7]:
        del event["size"], event["quality"], event["background"], event["output_format"]
    assert fold(stream) == stream[-1]["response"]


def test_fold_accepts_an_event_that_only_the_types_know():
    stream = streamed(compaction("gAAAAAB"))
    item = {"item_id": stream[2]["item"]["id"], "output_index": 0}
    stream.insert(3, {"type": "response.compaction.compacting", **item})
    assert fold(renumbered(stream)) == stream[-1]["response"]


def test_fold_adds_up_what_a_command_printed():
    stream = streamed(shell_call_output("call_1", "one two"))
    whole = stream[3]
    assert whole["delta"] == {"stdout": "one two"}
    stream[3:4] = [{**whole, "delta": {"stdout": "one "}}, {**whole, "delta": {"stdout": "two", "stderr": ""}}]
    assert fold(renumbered(stream)) == stream[-1]["response"]
    stream[4]["delta"] = {"stdout": "two", "stderr": "!"}
    with pytest.raises(StreamError, match=r"shell_call_output_content \(stderr\) add up to '!', but the item says ''"):
        fold(renumbered(stream))


# What is new is read, and found


def test_an_unknown_kind_of_item_is_read_from_its_done_event():
    stream = streamed(message("Hi"))
    thought = {"id": "dr_1", "type": "daydream", "status": "completed", "text": "Sheep."}
    own = [
        {"type": "response.output_item.added", "item": {**thought, "text": ""}, "output_index": 1},
        {"type": "response.daydream.drifting", "item_id": "dr_1", "output_index": 1},
        {"type": "response.output_item.done", "item": thought, "output_index": 1},
    ]
    stream[-1:-1] = own
    last = stream[-1]["response"] = {**stream[-1]["response"], "output": [*stream[-1]["response"]["output"], thought]}
    said, (found,) = read_recorded(renumbered(stream))
    assert said == last
    assert found == ("events[8]", "item 1 is an item of the unknown kind 'daydream'", "unknown_kind")
    with pytest.raises(StreamError, match=r"^event 8: item 1 is an item of the unknown kind 'daydream'$"):
        fold(renumbered(stream))


def test_the_events_of_an_unknown_kind_are_its_own():
    stream = item_changed(type="daydream")(streamed(message("Hi")))
    stream[4] = {**stream[4], "output_index": 1}
    told = "event 4: expected an event of item 0, an item of the unknown kind 'daydream'"
    with pytest.raises(StreamError, match=told):
        read_recorded(stream)


def test_a_stream_without_numbers_is_read():
    stream = [{name: event[name] for name in event if name != "sequence_number"} for event in streamed(message("Hi"))]
    said, (found,) = read_recorded(stream)
    assert said == stream[-1]["response"]
    assert found == ("events[0]", "no event has a sequence_number", "unnumbered")
    stream[4]["delta"] = None
    with pytest.raises(StreamError, match=r"^event 4: "):
        read_recorded(stream)


@pytest.mark.parametrize("left", [{"output": []}, {"output": None}])
def test_an_output_that_is_left_out_at_the_end_is_read_from_the_items(left):
    stream = streamed(message("Hi"))
    whole = stream[-1]["response"]
    said, (found,) = read_recorded(response_changed("completed", **left)(stream))
    assert said == whole
    assert found == ("events[8]", "response.completed: response.output is left out", "output_left_out")


def test_a_stream_of_the_api_as_it_is_known_has_no_findings():
    assert read_recorded(streamed(message("Hi"), web_search_call("rain")))[1] == []


# What fold refuses


def renumbered(stream):
    return [{**event, "sequence_number": number} for number, event in enumerate(stream)]


def dropped(name):
    def change(stream):
        return renumbered([event for event in stream if event["type"] != f"response.{name}"])

    return change


def changed(name, **members):
    def change(stream):
        return [{**event, **members} if event["type"] == f"response.{name}" else event for event in stream]

    return change


def response_changed(name, **members):
    def change(stream):
        (told,) = (event["response"] for event in stream if event["type"] == f"response.{name}")
        return changed(name, response={**told, **members})(stream)

    return change


def swapped(first):
    def change(stream):
        stream[first], stream[first + 1] = stream[first + 1], stream[first]
        return renumbered(stream)

    return change


def item_changed(**members):
    def change(stream):
        return [{**event, "item": {**event["item"], **members}} if "item" in event else event for event in stream]

    return change


def done_changed(**members):
    def change(stream):
        return [*stream[:10], {**stream[10], "item": {**stream[10]["item"], **members}}, stream[11]]

    return change


NOTED = "output_text.annotation.added"


def note_added(stream):
    note = next(event for event in stream if "annotation_index" in event)
    stream.insert(7, {**note, "annotation_index": 1})
    return renumbered(stream)


@pytest.mark.parametrize(
    ("change", "index", "words"),
    [
        (lambda stream: [], 0, "expected response.created, but the stream ends"),
        (lambda stream: stream[:5], 2, "item 0 is never done"),
        (lambda stream: stream[:-1], 11, "expected an item or the terminal event, but the stream ends"),
        (lambda stream: [*stream[:4], *stream[5:]], 4, "sequence_number is 5, expected 4"),
        (lambda stream: ["x", *stream], 0, "'x' is not an event; it needs a 'type'"),
        (lambda stream: [{"sequence_number": 0}], 0, "is not an event; it needs a 'type'"),
        (dropped("created"), 0, "expected response.created, found response.in_progress"),
        (dropped("in_progress"), 1, "expected response.in_progress, found response.output_item.added"),
        (dropped("output_item.added"), 2, "expected an item or the terminal event, found response.content_part.added"),
        (dropped("content_part.added"), 3, "expected response.content_part.added, found response.output_text.delta"),
        (dropped("output_text.delta"), 5, "the deltas of response.output_text add up to '', but the item says 'Rain"),
        (dropped("output_text.done"), 8, "expected response.output_text.done, found response.content_part.done"),
        (dropped(NOTED), 7, "expected response.output_text.annotation.added, found response.out"),
        (note_added, 7, "annotation 1 is not among the 1 of the done item"),
        (changed(NOTED, annotation_index=1), 6, "annotation_index is 1, expected 0"),
        (swapped(4), 8, "the deltas of response.output_text add up to ' isRain likely', but the item says"),
        (swapped(8), 8, "expected response.output_text.done, found response.content_part.done"),
        (changed("output_item.added", output_index=1), 2, "output_index is 1, expected 0"),
        (changed("output_item.done", output_index=1), 2, "item 0 is never done"),
        (changed("output_text.delta", item_id="msg_0"), 4, "item_id is 'msg_0', expected 'msg_"),
        (changed("output_text.delta", content_index=1), 4, "content_index is 1, expected 0"),
        (changed("output_text.delta", delta=None), 4, "response.output_text.delta: delta is None, expected a str"),
        (changed("output_text.done", text="Rain"), 8, "text is 'Rain', expected 'Rain is likely'"),
        (changed("content_part.done", part={}), 9, "response.content_part.done: part is {}"),
        (changed("output_item.added", item=None), 2, "response.output_item.added: item is None, expected {'id': 'msg_"),
        (changed("output_item.done", item=None), 10, "item is None, expected an object"),
        (done_changed(content=[{"type": "input_text"}]), 3, "the done message is malformed (KeyError('input_text')"),
        (item_changed(role="user"), 11, "response.completed: response.output is [{'id': 'msg_"),
        (response_changed("created", status="queued"), 0, "response.status is 'queued', expected 'in_progress'"),
        (response_changed("created", id=7), 0, "response.id is 7, expected a str"),
        (response_changed("in_progress", id="resp_2"), 1, "response.id is 'resp_2', expected 'resp_"),
        (response_changed("completed", id="resp_2"), 11, "response.id is 'resp_2', expected 'resp_"),
        (response_changed("completed", status="failed"), 11, "response.status is 'failed', expected 'completed'"),
        (changed("completed", response="x"), 11, "response is 'x', expected an object"),
    ],
)
def test_fold_says_which_event_is_wrong(change, index, words):
    stream = streamed(message(["Rain", " is", " likely"], annotations=[url_citation("https://example.org", "T", 5, 7)]))
    assert stream[6]["type"] == f"response.{NOTED}"
    with pytest.raises(StreamError, match=f"^event {index}: ") as error:
        fold(change(deepcopy(stream)))
    assert (words in str(error.value), error.value.index) == (True, index)


def failing():
    return list(render_events(response(status="failed", error={"code": "server_error", "message": "one"})))


def test_fold_compares_the_error_with_the_failed_response():
    stream = failing()
    stream[2]["error"]["message"] = "other"
    with pytest.raises(StreamError, match=r"response\.error is .*one.*, expected .*other"):
        fold(stream)


def test_fold_refuses_a_stream_that_ends_with_an_error():
    stream = failing()
    stream[2]["error"] = "flat"
    with pytest.raises(StreamError, match="but the stream ends"):
        fold(stream[:-1])


@pytest.mark.parametrize(
    ("made", "index", "members", "words"),
    [
        (
            message("Hi", logprobs=tokens("Hi")),
            4,
            {"logprobs": tokens("Ho")},
            r"event 5: the deltas' logprobs are .*Ho.*, but the item says .*Hi",
        ),
        (image_generation_call(), 5, {"partial_image_b64": None}, "event 5: partial_image_b64 is None, expected a str"),
        (IMAGES, 6, {"partial_image_index": 0}, r"event 6: .* partial_image_index is 0, expected 1"),
    ],
    ids=["other logprobs", "an image that is none", "an image with the number of another"],
)
def test_fold_refuses_an_event_with(made, index, members, words):
    stream = streamed(made)
    stream[index] = {**stream[index], **members}
    with pytest.raises(StreamError, match=words):
        fold(stream)


def test_fold_misses_a_phase():
    with pytest.raises(StreamError, match=r"event 4: expected response.web_search_call.searching, found .*completed"):
        fold(dropped("web_search_call.searching")(streamed(web_search_call("rain"))))


def test_long_values_are_shortened_in_messages():
    stream = streamed(message("x" * 1000))
    with pytest.raises(StreamError, match="x…x") as error:
        fold(changed("output_text.done", text="")(stream))
    assert len(str(error.value)) < 300
    assert isinstance(error.value, HarnessError)


# Another kind is one function


def test_several_listings_stream_side_by_side_and_only_the_last_is_done():
    said = response(mcp_list_tools("docs", ["a"]), mcp_list_tools("wiki"), message("Hi"))
    stream = list(render_events(said, obfuscate=False))
    told = [(event["type"].removeprefix("response."), event["output_index"]) for event in stream[2:9]]
    assert told == [
        *[("output_item.added", 0), ("mcp_list_tools.in_progress", 0)],
        *[("output_item.added", 1), ("mcp_list_tools.in_progress", 1)],
        *[("mcp_list_tools.completed", 0), ("mcp_list_tools.completed", 1), ("output_item.done", 1)],
    ]
    assert fold(stream) == said
    stream[6], stream[7] = stream[7], stream[6]
    assert fold(renumbered(stream)) == said


def test_a_single_listing_is_done():
    stream = list(render_events(response(mcp_list_tools("docs"), message("Hi")), obfuscate=False))
    assert stream.pop(5)["type"] == "response.output_item.done"
    with pytest.raises(StreamError, match="item 0 is never done"):
        fold(renumbered(stream))


def test_fold_accepts_sources_that_come_last():
    site = {"type": "url", "url": "https://a.example"}
    search = web_search_call(web_search("a", sources=[site["url"]]))
    stream = json.loads(json.dumps(streamed(search, message("Hi"))))
    final = stream[-1]["response"]["output"][0]["action"]
    final["sources"] = [*final["sources"], {**site, "url": "https://b.example?utm_source=openai"}]
    assert fold(stream)["output"][0]["action"]["sources"] == [site]
    final["sources"] = final["sources"][1:]
    with pytest.raises(StreamError, match=r"response\.output is"):
        fold(stream)

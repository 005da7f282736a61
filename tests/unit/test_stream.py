import gzip
import json
from collections import defaultdict
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError, RegistrationError
from harness.ids import Ids
from harness.item import ITEMS, Grow, Item, finish, item
from harness.items import file_path, function_call, message, output_text, reasoning, refusal, url_citation
from harness.stream import StreamError, cut, events, fold, frames

NOW = 1788812320
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"


def response(*items, status="completed", **members):
    """A finished response that said these items."""
    ids = Ids("stream")
    name = ids.response(NOW)
    cut_off = {"status": "incomplete"} if status == "incomplete" else {}
    return {
        "id": name,
        "object": "response",
        "created_at": NOW,
        "status": status,
        "completed_at": NOW + 1 if status == "completed" else None,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "model": "gpt-4.1-2025-04-14",
        "output": [finish(one, ids, name, NOW, **cut_off) for one in items],
        "parallel_tool_calls": True,
        "service_tier": "default",
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 11,
        },
        "metadata": {},
        **members,
    }


def types(stream):
    """The event types without `response.`, runs of deltas as one."""
    names = [event["type"].removeprefix("response.") for event in stream]
    return [name for name, before in zip(names, ["", *names], strict=False) if name != before]


def streamed(*items, **options):
    return list(events(response(*items), items=items, **options))


def deltas(stream, stem):
    return [event["delta"] for event in stream if event["type"] == f"response.{stem}.delta"]


def between(stream):
    """The events of the items alone."""
    return types(stream)[2:-1]


# The order of events


def test_a_message():
    assert types(streamed(message("Hello there."))) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


def test_an_empty_message_has_no_deltas():
    assert between(streamed(message(""))) == [
        "output_item.added",
        "content_part.added",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ]


def test_a_refusal():
    assert between(streamed(message(refusal("I can't.")))) == [
        "output_item.added",
        "content_part.added",
        "refusal.delta",
        "refusal.done",
        "content_part.done",
        "output_item.done",
    ]


def test_each_summary_is_a_part():
    part = [
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
    ]
    assert between(streamed(reasoning(["a", "b"]))) == ["output_item.added", *part, *part, "output_item.done"]


def test_reasoning_that_shows_nothing():
    assert between(streamed(reasoning(encrypted_content="gAAAAAB", content=[]))) == [
        "output_item.added",
        "output_item.done",
    ]


def test_raw_reasoning_is_content():
    assert between(streamed(reasoning(content="Add both."))) == [
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
    ]


def test_parallel_calls_come_one_after_the_other():
    call = [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    stream = streamed(function_call("f", {"a": 1}), function_call("g", {"b": 2}))
    assert between(stream) == [*call, *call]
    assert [event["output_index"] for event in stream if "output_index" in event] == sorted(
        event["output_index"] for event in stream if "output_index" in event
    )


def test_a_background_response_is_queued_first_and_never_padded():
    stream = streamed(message("Hi"), background=True)
    assert types(stream)[:3] == ["created", "queued", "in_progress"]
    assert [event["response"]["status"] for event in stream[:3]] == ["queued", "queued", "in_progress"]
    assert not any("obfuscation" in event for event in stream)


def test_an_error_is_told_before_the_response_has_failed():
    stream = events(
        response(status="failed", usage=None, error={"code": "insufficient_quota", "message": "You exceeded …"})
    )
    assert types(stream) == ["created", "in_progress", "error", "failed"]
    assert stream[2] == {
        "type": "error",
        "error": {
            "type": "insufficient_quota",
            "code": "insufficient_quota",
            "message": "You exceeded …",
            "param": None,
        },
        "sequence_number": 2,
    }
    assert [event["response"]["error"] for event in stream[:2]] == [None, None]


def test_a_rate_limit_within_a_stream_is_about_tokens():
    stream = events(response(status="failed", error={"code": "rate_limit_exceeded", "message": "Request too large"}))
    assert stream[2]["error"]["type"] == "tokens"


def test_a_response_that_is_cut_ends_incomplete():
    stream = events(response(message("Once upon a time"), status="incomplete"))
    assert types(stream)[-4:] == ["output_text.done", "content_part.done", "output_item.done", "incomplete"]
    assert stream[-2]["item"]["status"] == "incomplete"
    assert "status" not in stream[-3]["part"]


def test_only_a_finished_response_is_streamed():
    with pytest.raises(
        StreamError, match="the response is 'queued'; only one that is completed, incomplete or failed is"
    ):
        events(response(status="queued"))


# What the events hold


def test_the_response_starts_empty():
    stream = streamed(message("Hi"))
    for event in stream[:2]:
        assert event["response"] == response(
            status="in_progress", completed_at=None, usage=None, service_tier="auto", output=[]
        )
    assert stream[-1]["response"] == response(message("Hi"))


@pytest.mark.parametrize(("final", "asked"), [("default", "auto"), ("flex", "flex"), ("auto", "auto")])
def test_the_service_tier_starts_as_asked(final, asked):
    assert events(response(service_tier=final))[0]["response"]["service_tier"] == asked


def test_members_that_a_response_lacks_are_not_made_up():
    old = response()
    del old["completed_at"], old["service_tier"]
    assert set(events(old)[0]["response"]) == set(old)


def test_items_are_announced_empty():
    stream = streamed(reasoning("a", encrypted_content="c"), message("Hi", phase="final_answer"), function_call("f"))
    told = [{**event["item"], "id": ""} for event in stream if event["type"] == "response.output_item.added"]
    assert told == [
        {"id": "", "type": "reasoning", "encrypted_content": "c", "summary": []},
        {
            "id": "",
            "type": "message",
            "status": "in_progress",
            "content": [],
            "phase": "final_answer",
            "role": "assistant",
        },
        {
            "id": "",
            "type": "function_call",
            "status": "in_progress",
            "arguments": "",
            "call_id": told[2]["call_id"],
            "name": "f",
        },
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


def tokens(*texts):
    return [{"token": text, "logprob": -0.5, "bytes": list(text.encode()), "top_logprobs": []} for text in texts]


def test_a_text_with_logprobs_is_cut_at_its_tokens():
    stream = streamed(message("Hello", logprobs=tokens("Hel", "lo")))
    assert deltas(stream, "output_text") == ["Hel", "lo"]


def test_logprobs_go_with_the_delta_in_which_their_token_ends():
    stream = streamed(message(["He", "l", "lo"], logprobs=tokens("Hel", "l", "o")))
    told = [
        [entry["token"] for entry in event["logprobs"]]
        for event in stream
        if event["type"] == "response.output_text.delta"
    ]
    assert told == [[], ["Hel"], ["l", "o"]]


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
    assert list(cut(text)) == pieces


@given(st.text())
def test_no_character_is_lost_by_cutting(text):
    assert "".join(cut(text)) == text


def test_exact_deltas_are_streamed_as_given():
    stream = streamed(message(["Hel", "", "lo"], "b"), function_call("f", ["{", "}"]))
    assert deltas(stream, "output_text") == ["Hel", "", "lo", "b"]
    assert deltas(stream, "function_call_arguments") == ["{", "}"]


def test_exact_deltas_end_where_a_cut_text_ends():
    said = message(["Once", " upon", " a", " time"])
    short = response(message("Once up"), status="incomplete")
    assert deltas(events(short, items=[said]), "output_text") == ["Once", " up"]


def test_deltas_of_another_text_are_not_used():
    assert deltas(events(response(message("Hi")), items=[message(["By", "e"])]), "output_text") == ["Hi"]
    assert deltas(events(response(message("Hi")), items=[None, message(["x"])]), "output_text") == ["Hi"]


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
    told = [
        event.get("delta", event["type"])
        for event in stream
        if event["type"].startswith("response.output_text.") and not event["type"].endswith("done")
    ]
    assert told == ["Rain", " is", "response.output_text.annotation.added", " likely", "."]


def test_annotations_are_counted_by_part():
    notes = [file_path("file-1", cite="A"), file_path("file-2")]
    stream = streamed(message("A b", output_text("A b", annotations=notes), annotations=notes))
    told = [event for event in stream if "annotation_index" in event]
    assert [(event["content_index"], event["annotation_index"]) for event in told] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_citation_of_no_text_comes_last():
    stream = streamed(message("A b", annotations=[url_citation("https://example.org", "T", 0, 0)]))
    assert between(stream)[2:5] == ["output_text.delta", "output_text.annotation.added", "output_text.done"]


def test_an_annotation_of_an_empty_text_is_still_added():
    stream = streamed(message("", annotations=[file_path("file-1")]))
    assert between(stream)[1:4] == ["content_part.added", "output_text.annotation.added", "output_text.done"]


# Frames


def test_frames_are_server_sent_events_of_one_line_each():
    stream = streamed(message("a\nb 🌦️"))
    blocks = frames(stream).decode().split("\n\n")
    assert blocks.pop() == ""
    for block, event in zip(blocks, stream, strict=True):
        first, second = block.split("\n")
        assert first == f"event: {event['type']}"
        assert second.startswith('data: {"type":"')
        assert json.loads(second.removeprefix("data: ")) == event


def test_the_same_response_gives_the_same_bytes():
    said = message("Hello there."), function_call("f", {"a": 1}, call_id="call_1")
    assert frames(streamed(*said)) == frames(streamed(*said))


# fold is the inverse of events

TEXTS = st.text(max_size=40) | st.sampled_from(["", "🌦️ sun", '{"a":1}', "Hello there.\n\nBye"])
DELTAS = TEXTS | st.lists(st.text(max_size=5), max_size=5)


@st.composite
def output_texts(draw):
    text = draw(TEXTS)
    place = st.integers(0, len(text))
    ranges = [sorted(draw(st.tuples(place, place))) for _ in range(draw(st.integers(0, 3)))]
    notes = [url_citation("https://example.org", "T", *span) for span in ranges]
    return output_text(text, annotations=[*notes, *([file_path("file-1", draw(place))] if draw(st.booleans()) else [])])


PARTS = DELTAS | st.builds(refusal, DELTAS) | output_texts()
MESSAGES = st.builds(
    lambda parts, phase: message(*parts, phase=phase),
    st.lists(PARTS, min_size=1, max_size=3),
    st.sampled_from([None, "commentary", "final_answer"]),
)
CALLS = st.builds(
    function_call,
    st.sampled_from(["get_weather", "f"]),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), max_size=3) | DELTAS,
    namespace=st.none() | st.just("travel"),
)
THOUGHTS = st.builds(
    reasoning,
    st.lists(DELTAS, max_size=3),
    encrypted_content=st.none() | st.just("gAAAAAB"),
    content=st.none() | st.lists(DELTAS, max_size=2),
)
ENDINGS = st.sampled_from(
    [
        {},
        {"status": "incomplete"},
        {"status": "failed", "error": None},
        {"status": "failed", "error": {"code": "server_error", "message": "An error occurred."}},
    ]
)


@settings(deadline=None)
@given(st.lists(MESSAGES | CALLS | THOUGHTS, max_size=4), ENDINGS, st.booleans(), st.booleans(), st.booleans())
def test_fold_reads_what_events_tells(items, ending, exact, obfuscate, background):
    said = response(*items, **ending)
    stream = events(said, items=items if exact else (), obfuscate=obfuscate, background=background)
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert fold(stream) == said
    assert json.loads(json.dumps(said)) == said


def test_fold_passes_over_what_recorded_streams_also_hold():
    said = response(message("Hi"), reasoning(encrypted_content="first"))
    stream = events(said)
    stream = list(stream)
    stream.insert(2, {"type": "keepalive"})
    stream.append({"type": "response.rate_limits.updated", "rate_limits": []})
    added = next(event for event in stream if event.get("item", {}).get("type") == "reasoning")
    added["item"]["encrypted_content"] = "second"
    assert fold(renumbered(stream)) == said


def test_fold_accepts_a_message_that_is_completed_from_the_start():
    stream = streamed(message("Hi"))
    stream[2]["item"]["status"] = "completed"
    assert fold(stream)["output"][0]["status"] == "completed"


def test_fold_accepts_rounded_logprobs_or_none():
    stream = streamed(message("Hi", logprobs=tokens("Hi")))
    stream[4]["logprobs"] = [{**tokens("Hi")[0], "logprob": -0.4999}]
    del stream[5]["logprobs"]
    assert fold(stream) == stream[-1]["response"]


def test_fold_accepts_a_summary_that_is_told_anew_when_it_is_cut():
    stream = list(events(response(reasoning("Compare both"), status="incomplete")))
    del stream[5]
    assert fold(renumbered(stream)) == stream[-1]["response"]


def test_fold_takes_an_item_that_a_failure_left_open_from_the_end():
    said = response(reasoning("Compare"), message("Hi"), status="failed", error={"code": "server_error", "message": ""})
    stream = list(events(said))
    last = max(n for n, event in enumerate(stream) if event["type"] == "response.output_item.done")
    del stream[last]
    assert fold(renumbered(stream)) == said


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
        return [
            {**event, "response": {**event["response"], **members}} if event["type"] == f"response.{name}" else event
            for event in stream
        ]

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
        (lambda stream: ["x", *stream], 0, "'x' is no event; it needs a 'type'"),
        (lambda stream: [{"sequence_number": 0}], 0, "is no event; it needs a 'type'"),
        (dropped("created"), 0, "expected response.created, found response.in_progress"),
        (dropped("in_progress"), 1, "expected response.in_progress, found response.output_item.added"),
        (dropped("output_item.added"), 2, "expected an item or the terminal event, found response.content_part.added"),
        (dropped("content_part.added"), 3, "expected response.content_part.added, found response.output_text.delta"),
        (
            dropped("output_text.delta"),
            5,
            "the deltas of response.output_text add up to '', but the item says 'Rain is",
        ),
        (dropped("output_text.done"), 8, "expected response.output_text.done, found response.content_part.done"),
        (
            dropped("output_text.annotation.added"),
            7,
            "expected response.output_text.annotation.added, found response.out",
        ),
        (note_added, 7, "annotation 1 is not among the 1 of the done item"),
        (changed("output_text.annotation.added", annotation_index=1), 6, "annotation_index is 1, expected 0"),
        (swapped(4), 8, "the deltas of response.output_text add up to ' isRain likely', but the item says"),
        (swapped(8), 8, "expected response.output_text.done, found response.content_part.done"),
        (changed("output_item.added", output_index=1), 2, "output_index is 1, expected 0"),
        (changed("output_item.done", output_index=1), 2, "item 0 is never done"),
        (changed("output_text.delta", item_id="msg_0"), 4, "item_id is 'msg_0', expected 'msg_"),
        (changed("output_text.delta", content_index=1), 4, "content_index is 1, expected 0"),
        (changed("output_text.delta", delta=None), 4, "response.output_text.delta: delta is None, expected a str"),
        (changed("output_text.done", text="Rain"), 8, "text is 'Rain', expected 'Rain is likely'"),
        (changed("content_part.done", part={}), 9, "response.content_part.done: part is {}"),
        (changed("output_item.done", item=None), 10, "item is None, expected an object"),
        (item_changed(type="mesage"), 2, "No item kind 'mesage'. Did you mean 'message'?"),
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
    assert [event["type"].removeprefix("response.") for event in stream][6] == "output_text.annotation.added"
    stream = change(deepcopy(stream))
    with pytest.raises(StreamError) as error:
        fold(stream)
    assert words in str(error.value)
    assert error.value.index == index
    assert str(error.value).startswith(f"event {index}: ")


def test_fold_compares_the_error_with_the_failed_response():
    stream = events(response(status="failed", error={"code": "server_error", "message": "one"}))
    stream[2]["error"]["message"] = "other"
    with pytest.raises(StreamError, match=r"response\.error is .*one.*, expected .*other"):
        fold(stream)


def test_fold_refuses_a_stream_that_ends_with_an_error():
    stream = events(response(status="failed", error={"code": "server_error", "message": "one"}))
    stream[2]["error"] = "flat"
    with pytest.raises(StreamError, match="but the stream ends"):
        fold(stream[:-1])


def test_fold_compares_the_logprobs_of_deltas():
    stream = streamed(message("Hi", logprobs=tokens("Hi")))
    stream[4]["logprobs"] = tokens("Ho")
    with pytest.raises(StreamError, match=r"event 5: the deltas' logprobs are .*Ho.*, but the item says .*Hi"):
        fold(stream)


def test_long_values_are_shortened_in_messages():
    stream = streamed(message("x" * 1000))
    with pytest.raises(StreamError, match=" … ") as error:
        fold(changed("output_text.done", text="")(stream))
    assert len(str(error.value)) < 300


def test_a_stream_error_is_for_the_user():
    assert issubclass(StreamError, HarnessError)


# Another kind is one function


def test_a_kind_streams_as_its_sentence_says(monkeypatch):
    class Phase:
        def __init__(self, name):
            self.name = name

        def announce(self, thing):
            return thing

        def settle(self, thing):
            return {}

        def tell(self, thing, pen, place):
            pen.put(f"{thing['type']}.{self.name}", place)

    monkeypatch.delitem(ITEMS, "code_interpreter_call", raising=False)
    monkeypatch.setattr("harness.item.ITEMS", dict(ITEMS))

    @item("ci", Phase("in_progress"), Grow("code", "code_interpreter_call_code"), Phase("interpreting"))
    def code_interpreter_call(code):
        """The model runs Python."""
        return {"code": code, "container_id": "cntr_1", "outputs": None}

    said = response(code_interpreter_call("print(2+2)"))
    stream = events(said)
    assert between(stream) == [
        "output_item.added",
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done",
        "code_interpreter_call.interpreting",
        "output_item.done",
    ]
    assert stream[2]["item"]["code"] == ""
    assert fold(stream) == said


def test_an_unknown_kind_cannot_be_streamed():
    with pytest.raises(RegistrationError, match="No item kind 'mesage'"):
        events(response(output=[{"id": "msg_1", "type": "mesage"}]))


# Against the SDK and against recordings


@settings(deadline=None, max_examples=30)
@given(st.lists(MESSAGES | CALLS | THOUGHTS, max_size=3))
def test_every_event_is_valid_for_the_sdk(items):
    adapter = pytest.importorskip("pydantic").TypeAdapter(
        pytest.importorskip("openai.types.responses").ResponseStreamEvent
    )
    for event in streamed(*items):
        read = adapter.validate_json(json.dumps(event), strict=True)
        assert read.type == event["type"]
        assert json.loads(read.model_dump_json(exclude_unset=True, by_alias=True)) == event


OWN = {"function_call", "message", "reasoning"}
ASIDE = {"keepalive", "response.rate_limits.updated"}


def recorded_streams():
    """Whole recorded streams of our kinds that number their events: `(id, events)`."""
    for path in sorted(CORPUS.glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            for exchange in map(json.loads, lines):
                if "/responses" not in (exchange.get("url_path") or ""):
                    continue
                stream = [event["data"] for event in exchange.get("events") or () if isinstance(event["data"], dict)]
                kinds = {event["item"]["type"] for event in stream if event["type"] == "response.output_item.added"}
                whole = bool(stream) and stream[0]["type"] == "response.created"
                if whole and kinds <= OWN and "sequence_number" in stream[0] and not exchange.get("sequence_gaps"):
                    yield exchange["id"], stream


def shape(stream):
    """Event types with the names of their members, runs of deltas as one."""
    told = []
    for event in stream:
        step = event["type"], frozenset(event) - {"obfuscation", "logprobs"}
        if event["type"] not in ASIDE and not (told and event["type"].endswith(".delta") and told[-1] == step):
            told.append(step)
    return told


def turns(stream, output):
    """The items of a recorded stream with the deltas in which they came."""
    exact = [defaultdict(list) for _ in output]
    for event in stream:
        if event["type"].endswith(".delta"):
            stem = event["type"].removeprefix("response.").removesuffix(".delta")
            place = stem, event.get("content_index", event.get("summary_index", 0))
            exact[event["output_index"]][place].append(event["delta"])
    return [Item(one["type"], {}, pieces) for one, pieces in zip(output, exact, strict=True)]


def agrees(stream):
    try:
        final = fold(stream)
    except StreamError:
        return False
    queued = any(event["type"] == "response.queued" for event in stream)
    return shape(events(final, items=turns(stream, final["output"]), background=queued)) == shape(stream)


@pytest.mark.skipif(not CORPUS.exists(), reason="no recorded traffic beside the project")
def test_recorded_streams_are_told_the_same_way(capsys):
    told = {name: agrees(stream) for name, stream in recorded_streams()}
    share = sum(told.values()) / len(told)
    with capsys.disabled():
        print(f"\n{sum(told.values())} of {len(told)} recorded streams agree: {share:.2%}")
    assert share > 0.99, [name for name, agreed in told.items() if not agreed]

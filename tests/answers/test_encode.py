"""Frames that are kept as templates: the bytes of the plain encoder, whatever stands in the texts of an item."""

from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.answers import encode
from harness.answers.encode import MAX_KEPT_SIZE, MAX_PADDED_SIZE, encode_event, encode_events
from harness.answers.reader import StreamError
from harness.answers.recorded_stream import read_recorded
from harness.answers.writer import ResponseEvents, render_events
from harness.contract.rule import CREATE_RESPONSE, RULES, Case, Rule
from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.items import function_call, message
from harness.items.kind import Item, render_item
from harness.verify import read_files
from harness.verify.examples import play_case
from harness.verify.judging.mock_answer import build_turn, renderable_response
from tests.support.shared import PRESENT, RECORDINGS
from tests.support.streams import ENDINGS, ITEMS, response

MARKS = '\0000\0 \0001\0 \\u00000\\u0000 %b {0} "\\u00001\\u0000" \0002\0 \n\n data: x'
WORDS = message([f"word{n} "[: n % 9] for n in range(300)])


def response_with(item: Item, seed: str = "ids") -> Json:
    """Return a response with this item, whose ids follow from the seed."""
    wire = render_item(item, Ids(seed), "resp_0", 0)
    return {"id": "resp_0", "status": "completed", "error": None, "output": [wire], "reasoning": {"effort": None}}


def one_by_one(events: ResponseEvents) -> bytes:
    """Return the events, each encoded alone."""
    return b"".join(map(encode_event, events))


def assert_same_bytes(events: ResponseEvents) -> None:
    """The bytes are those of the plain encoder: the first time, when the templates are made, and when they are there."""
    plain = one_by_one(events)
    for _ in range(3):
        assert encode_events(events) == plain


@settings(deadline=None)
@given(
    items=st.lists(ITEMS, max_size=3),
    ending=ENDINGS,
    exact=st.booleans(),
    obfuscate=st.booleans(),
    background=st.booleans(),
)
def test_items_of_every_kind(items: list[Item], ending: Json, exact: bool, obfuscate: bool, background: bool) -> None:
    said = response(*items, **ending)
    assert_same_bytes(render_events(said, items=items if exact else (), obfuscate=obfuscate, background=background))


@pytest.mark.parametrize(
    "item", [message(MARKS), message([MARKS, "", MARKS]), message(MARKS, MARKS), function_call("f", {"a": MARKS})]
)
def test_a_text_may_look_like_what_the_templates_hold(item: Item) -> None:
    assert_same_bytes(render_events(response_with(item), items=[item]))


@pytest.mark.parametrize("seed", [f"seed {n}" for n in range(20)])
def test_the_padding_follows_from_the_id_of_each_answer(seed: str) -> None:
    assert_same_bytes(render_events(response_with(WORDS, seed), items=[WORDS]))


@pytest.mark.parametrize("size", [MAX_KEPT_SIZE // 2, MAX_KEPT_SIZE, MAX_PADDED_SIZE])
def test_items_of_any_size(size: int) -> None:
    assert_same_bytes(render_events(response_with(message("ab " * (size // 3)))))


def test_numbers_of_more_deltas_than_the_noise_has_places() -> None:
    item = message([str(n % 10) for n in range(5_000)])
    assert_same_bytes(render_events(response_with(item), items=[item]))


def test_an_item_that_is_repeated_is_not_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    said = function_call("get_weather", {"city": "Oslo"})
    answers = [response_with(said, seed) for seed in ("first", "second", "third")]
    for answer in answers[:2]:
        encode_events(render_events(answer))
    monkeypatch.setattr(encode, "write_item", None)
    sent = encode_events(render_events(answers[2]))
    for name in ("id", "call_id"):
        assert orjson.dumps(answers[2]["output"][0][name]) in sent
        assert orjson.dumps(answers[1]["output"][0][name]) not in sent


def test_unique_and_large_values_leave_no_template() -> None:
    kept = encode.make_template.cache_info().currsize
    encode_events(render_events(response_with(message("Said only once, and only here."))))
    for _ in range(3):
        encode_events(render_events(response_with(message("x" * MAX_KEPT_SIZE))))
    assert encode.make_template.cache_info().currsize == kept


def test_events_that_are_no_plan_are_encoded_as_they_are() -> None:
    events = list(render_events(response(message("Hi"))))[:3]
    assert encode_events(events) == one_by_one(events)


def streamed(rule: Rule) -> Iterator[Case]:
    """Yield the examples of a rule that create a response, as streams."""
    for case in [*rule.rejects.values(), *rule.accepts]:
        if case.raw is None and (case.on or CREATE_RESPONSE) == CREATE_RESPONSE:
            yield replace(case, body={**(case.body or {}), "stream": True})


@pytest.mark.parametrize("area", sorted({rule.area for rule in RULES.values()}))
def test_the_streams_of_the_examples_of_rules(area: str) -> None:
    for rule in RULES.values():
        for case in streamed(rule) if rule.area == area else ():
            events = play_case(case).answer.events
            if events is not None:
                assert encode_events(events) == encode_events(events) == one_by_one(events)


def recorded_responses() -> Iterator[tuple[Json, list[Item]]]:
    """Yield the responses of recorded streams that the mock can tell, each with its items and their exact deltas."""
    for folder in RECORDINGS:
        for file in sorted(folder.glob("*.jsonl.gz")):
            for exchange in read_files.read_recording(file):
                try:
                    final, _ = read_recorded(exchange.events or ())
                except StreamError:
                    continue
                if renderable_response(final) and final["status"] in ("completed", "incomplete"):
                    yield final, [line for line in build_turn(exchange.events or (), final) if isinstance(line, Item)]


@pytest.mark.slow
@pytest.mark.skipif(not PRESENT, reason="no recorded traffic beside the project")
def test_recorded_streams() -> None:
    recorded = list(recorded_responses())
    assert len(recorded) > 1_000
    for final, items in recorded:
        assert_same_bytes(render_events(final, items=items))

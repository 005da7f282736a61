"""The frames of an item: the same events whatever stands in its texts, its padding by its id and its numbers."""

from __future__ import annotations

from hashlib import blake2b
from zlib import crc32

import orjson
import pytest

from harness.answers.item_frames import MAX_KEPT_SIZE, frame_item
from harness.answers.item_writer import ItemPlace
from harness.answers.stream import encode_events, fold, render_events
from harness.core.exchange import Json
from harness.core.ids import ALPHANUMERIC_TABLE, Ids
from harness.items import function_call, message
from harness.items.kind import Item, render_item

PLACE = ItemPlace(0, 2, padded=True, left_open=False, reasons=False)
NOISE = b"".join(blake2b(b"%d" % n).digest() for n in range(65)).translate(ALPHANUMERIC_TABLE).decode()
MARKS = '\0000\0 \0001\0 \\u00000\\u0000 %b {0} "\\u00001\\u0000" \0002\0 \n\n data: x'


def response_with(item: Item, seed: str = "ids") -> Json:
    wire = render_item(item, Ids(seed), "resp_0", 0)
    return {"id": "resp_0", "status": "completed", "error": None, "output": [wire], "reasoning": {"effort": None}}


def deltas(events: list[Json]) -> list[Json]:
    return [event for event in events if event["type"].endswith(".delta")]


@pytest.mark.parametrize(
    "item", [message(MARKS), message([MARKS, "", MARKS]), message(MARKS, MARKS), function_call("f", {"a": MARKS})]
)
def test_a_text_may_look_like_what_the_templates_hold(item: Item) -> None:
    response = response_with(item)
    events = render_events(response, items=[item])
    assert fold(events) == response
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


@pytest.mark.parametrize("words", [1, 300, 5_000])
def test_the_padding_is_noise_from_a_place_that_the_id_and_the_number_decide(words: int) -> None:
    response = response_with(message([f"word{n} "[: n % 9] for n in range(words)]))
    start = crc32(response["output"][0]["id"].encode()) % 16 * 256
    for event in deltas(list(render_events(response))):
        place = (start + 61 * event["sequence_number"]) % 4096
        assert event["obfuscation"] == NOISE[place : place + -len(event["delta"]) % 16]


def test_an_item_that_is_said_again_has_its_own_ids_and_the_same_template() -> None:
    said = function_call("get_weather", {"city": "Paris"})
    first, second = (response_with(said, seed)["output"][0] for seed in ("one", "two"))
    one, other = frame_item(first, {}, PLACE), frame_item(second, {}, PLACE)
    assert one.template is other.template
    for own, foreign, frames in ((first, second, b"".join(one.pieces())), (second, first, b"".join(other.pieces()))):
        for name in ("id", "call_id"):
            assert orjson.dumps(own[name]) in frames
            assert orjson.dumps(foreign[name]) not in frames


def test_a_large_item_is_not_kept() -> None:
    wire = response_with(message("x" * MAX_KEPT_SIZE))["output"][0]
    assert frame_item(wire, {}, PLACE).template is not frame_item(wire, {}, PLACE).template


def test_events_are_read_as_they_are_sent() -> None:
    item = message("Grüße, 😀\n", annotations=[{"type": "url_citation", "url": "https://x.org", "title": "t"}])
    events = render_events(response_with(item), items=[item])
    assert encode_events(list(events)) == encode_events(events)
    assert next(reversed(events)) == events[-1]

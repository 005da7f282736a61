"""The events of a response: a sequence that is written when it is read."""

import pickle
from dataclasses import FrozenInstanceError

import pytest

from harness.answers import writer
from harness.answers.encode import encode_events
from harness.answers.writer import render_events
from harness.items import function_call, message
from harness.items.kind import Item
from tests.support.streams import fold, response

MARKS = '\0000\0 \0001\0 \\u00000\\u0000 %b {0} "\\u00001\\u0000" \0002\0 \n\n data: x'
NOTED = message("Grüße, 😀\n", annotations=[{"type": "url_citation", "url": "https://x.org", "title": "t"}])


@pytest.mark.parametrize(
    "item", [message(MARKS), message([MARKS, "", MARKS]), message(MARKS, MARKS), function_call("f", {"a": MARKS})]
)
def test_events_are_numbered_and_add_up_to_the_response(item: Item) -> None:
    said = response(item)
    events = render_events(said, items=[item])
    assert fold(events) == said
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_it_is_a_sequence_like_the_list_of_its_events() -> None:
    events = render_events(response(NOTED), items=[NOTED])
    told = list(events)
    assert events == told
    assert events == render_events(response(NOTED), items=[NOTED])
    assert events != told[:-1]
    assert (len(events), events[0], events[3:], next(reversed(events))) == (len(told), told[0], told[3:], told[-1])
    assert encode_events(events) == encode_events(told)


def test_its_length_is_known_before_it_is_read() -> None:
    assert len(render_events(response(NOTED))) == len(list(render_events(response(NOTED))))


def test_nothing_is_written_until_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "write_item", None)
    events = render_events(response(NOTED), items=[NOTED])
    with pytest.raises(TypeError):
        list(events)


def test_a_reader_may_change_its_events() -> None:
    events = render_events(response(NOTED))
    first, again = list(events), list(events)
    first[2]["item"] = None
    assert list(events) == again


def test_its_plan_is_frozen_and_can_be_pickled() -> None:
    events = render_events(response(NOTED), items=[NOTED])
    with pytest.raises(FrozenInstanceError):
        events.response = {}  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(events)) == events


def test_items_without_exact_deltas_are_not_held() -> None:
    item = message("Hi")
    assert render_events(response(item), items=[item]).items == ()

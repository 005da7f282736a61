"""Streams against others: kinds of one's own, the SDK's types, recorded traffic."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import RegistrationError
from harness.item import ITEMS, Grow, Item, item
from harness.stream import StreamError, events, fold
from tests.unit.streams import (
    CALLS,
    MESSAGES,
    THOUGHTS,
    between,
    response,
    streamed,
)

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"


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

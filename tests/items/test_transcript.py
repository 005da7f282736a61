"""A chain knows of itself what a full walk would find, and a turn walks only what is new."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.api.tokens import estimate_tokens
from harness.items import message
from harness.items.transcript import EMPTY_CHAIN, ItemChain, Transcript, collect_calls, collect_outputs
from harness.server.mock_api import MockApi
from tests.support.in_process import post

IDS = st.sampled_from(["c1", "c2", "c3"])
ITEMS = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, st.text(max_size=9)),
    st.builds(lambda id: {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"}, IDS),
    st.builds(lambda id: {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}", "async": True}, IDS),
    st.builds(lambda id: {"type": "custom_tool_call", "call_id": id, "name": "t", "input": ""}, IDS),
    st.builds(lambda id: {"type": "function_call_output", "call_id": id, "output": "ok"}, IDS),
    st.builds(lambda id: {"type": "custom_tool_call_output", "call_id": id, "output": "ok"}, IDS),
)
LINKS = st.lists(st.lists(ITEMS, max_size=4), max_size=5)


def chain_of(links):
    chain = EMPTY_CHAIN
    for items in links:
        chain = chain.extend(*items)
    return chain


@pytest.mark.slow
@given(LINKS, st.lists(ITEMS, max_size=4))
def test_a_transcript_pairs_calls_and_outputs_as_a_walk_of_all_items_does(links, added):
    transcript = Transcript(chain_of(links), added)
    items = [item for link in links for item in link] + added
    calls, outputs = dict(collect_calls(items)), collect_outputs(items)
    assume(len(calls) == len(collect_calls(items)))
    uncalled = [
        key
        for place, key in enumerate(outputs)
        if key not in calls or (key in outputs[:place] and not calls[key].get("async"))
    ]
    assert list(transcript.items) == items
    assert transcript.unanswered_calls == [key for key in calls if key not in outputs and not calls[key].get("async")]
    assert list(transcript.uncalled_outputs) == uncalled


C1 = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
O1 = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
KEY = ("function_call", "c1")


@pytest.mark.parametrize(
    ("links", "added", "unanswered", "uncalled"),
    [
        ([], [C1, C1, O1], [KEY], []),
        ([[C1], [C1, O1]], [], [], []),
        ([[C1], [O1, C1]], [], [KEY], []),
        ([], [C1, O1, C1, O1], [], []),
        ([], [C1, O1, O1], [], [KEY]),
        ([], [O1, C1], [], []),
        ([[C1]], [O1], [], []),
        ([[C1]], [O1, O1], [], [KEY]),
        ([[C1], [O1]], [O1], [], [KEY]),
        ([[C1], [O1]], [C1, O1], [], []),
        ([[C1], [O1]], [C1], [KEY], []),
        ([[C1]], [C1, O1], [], []),
        ([[C1]], [C1, C1, O1], [], []),
        ([[O1], [C1]], [], [], []),
        ([[O1], [C1]], [O1], [], [KEY]),
        ([[{**C1, "async": True}], [O1]], [O1, O1], [], []),
        ([[{**C1, "async": True}]], [], [], []),
    ],
)
def test_each_output_answers_one_call(links, added, unanswered, uncalled):
    transcript = Transcript(chain_of(links), added)
    assert (list(transcript.unanswered_calls), list(transcript.uncalled_outputs)) == (unanswered, uncalled)


@given(LINKS, st.lists(ITEMS, max_size=4))
def test_a_transcript_counts_all_tokens_and_finds_all_types(links, added):
    transcript = Transcript(chain_of(links), added)
    assert transcript.tokens == estimate_tokens(transcript.items)
    for kind in ("", "function_call", "custom_tool_call_output"):
        found = [item for item in transcript.items_from_first(kind) if item.get("type", "") == kind]
        assert found == [item for item in transcript.items if item.get("type", "") == kind]


def test_a_turn_of_a_chain_does_not_walk_the_earlier_items(monkeypatch):
    api, previous = MockApi(fallback=lambda request: [message("Yes.")]), {}
    for number in range(3):
        answer = post(api, {"model": "gpt-4.1", "input": f"question {number}", **previous})
        assert answer.status == 200
        previous = {"previous_response_id": answer.body["id"]}
        monkeypatch.setattr(ItemChain, "__iter__", None)


def test_facts_of_a_chain_of_any_length_are_found_without_recursion():
    assert chain_of([[{"role": "user", "content": "abcd"}]] * 20_000).facts.tokens == 20_000 * 5

"""What is known of a transcript is carried along, so that the losses of a chain cost what each request adds."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.history import request as history_request
from harness.analysis.history.items import extend_hash, item_key
from harness.analysis.history.request import NO_ITEMS
from harness.items import message
from harness.server.mock_api import MockApi
from tests.support.in_process import post

ITEMS = st.sampled_from(
    [
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": "Be brief."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
    ]
)


@given(st.lists(st.lists(ITEMS, max_size=3), max_size=4))
def test_a_transcript_knows_the_same_however_it_came_together(parts):
    known = NO_ITEMS.extend(())
    for part in parts:
        known = known.extend(part)
    items = [item for part in parts for item in part]
    keys = [key for item in items if (key := item_key(item))]
    assert [*known.items] == items
    assert [*known.others] == [item for item in items if "role" not in item]
    assert [*known.keys] == keys
    assert [*known.digests] == [*accumulate(keys, extend_hash, initial=hash(()))]


def test_the_losses_of_a_chain_read_each_item_a_few_times(monkeypatch):
    api, previous = MockApi(fallback=lambda call: [message(f"To {call.request.body['input']}: yes.")]), {}
    for number in range(40):
        answer = post(api, {"model": "gpt-4.1", "input": f"question {number}", **previous}, key="sk-1")
        previous = {"previous_response_id": answer.body["id"]}
    read = []
    monkeypatch.setattr(history_request, "item_key", lambda item: read.append(item) or item_key(item))
    assert api.open("sk-1").losses == []
    assert len(read) <= 2 * 80

"""Which of two faults the API names: every earlier one of this list beats every later one, whatever the body's order.

Measured with pairs of faults by a public probe (2026-08-30) on gpt-5.6-terra.
"""

from itertools import combinations
from typing import Any

import pytest

from harness.server.mock_api import MockApi
from harness.verify.examples import OK_TURN
from tests.support.in_process import post

ABSENT = object()
BODY = {"model": "gpt-5.6-terra", "input": "ping"}
LOGPROBS = ["message.output_text.logprobs"]

PRESENCE = {"model": {"model": ABSENT}, "input": {"input": ABSENT}, "zzz": {"zzz": 1}}
NUMBERS = {
    *("temperature", "top_p", "presence_penalty", "frequency_penalty", "max_output_tokens", "max_tool_calls"),
    "top_logprobs",
}
FIELDS = (
    *("input", "previous_response_id", "prompt", "moderation", "include", "tools", "tool_choice", "metadata", "text"),
    *("temperature", "top_p", "presence_penalty", "frequency_penalty", "parallel_tool_calls", "stream"),
    *("stream_options", "background", "max_output_tokens", "max_tool_calls", "reasoning", "user", "safety_identifier"),
    *("prompt_cache_options", "prompt_cache_key", "prompt_cache_retention", "truncation", "instructions", "store"),
    *("service_tier", "top_logprobs", "context_management"),
)
"""The fields of a request in the order in which the API looks at them."""
WRONG: dict[str, Any] = {name: "x" if name in NUMBERS else 7 for name in FIELDS}
"""A value of the wrong type for each field."""
STATE = {
    "both": {"previous_response_id": "resp_x", "conversation": "conv_x"},
    "conversation": {"conversation": "conv_x"},
    "prompt": {"prompt": {"id": "pmpt_x"}},
    "previous": {"previous_response_id": "resp_x"},
}
NOTHING_SAID = {"nothing": {"input": []}}
CAPABILITY = {
    "temperature unsupported": {"temperature": 0.5},
    "top_p unsupported": {"top_p": 0.5},
    "presence_penalty unsupported": {"presence_penalty": 0.5},
    "frequency_penalty unsupported": {"frequency_penalty": 0.5},
    "logprobs included": {"include": LOGPROBS},
    "logprobs counted": {"top_logprobs": 1},
}
FAULTS: dict[str, dict[str, Any]] = {
    **{f"{name} absent or unknown": fault for name, fault in PRESENCE.items()},
    **{f"{name} mistyped": {name: value} for name, value in WRONG.items()},
    **STATE,
    **NOTHING_SAID,
    **CAPABILITY,
}
NO_PAIR = {
    ("conversation", "previous"),
    *((f"{name} absent or unknown", later) for name in ("model", "input") for later in ("prompt", "prompt mistyped")),
}
"""Together the first two are the fault `both`; a prompt template can stand for the model and the input."""

ITEMS: dict[str, Any] = {
    "no object": 7,
    "no such type": {"type": "bogus"},
    "no such role": {"role": "tool", "content": "x"},
    "unknown member": {"role": "user", "content": "x", "bogus": 1},
    "member absent": {"type": "function_call", "name": "f", "arguments": "{}"},
    "bad id": {"type": "reasoning", "id": "x_1", "summary": []},
    "no such part": {"role": "user", "content": [{"type": "text", "text": "x"}]},
    "part of another role": {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]},
}


def refusal(*faults: dict[str, Any]) -> dict[str, Any]:
    """Return what the API says to a body with these faults, the first of which stands last in it."""
    body = dict(BODY)
    for fault in reversed(faults):
        body = {name: value for name, value in body.items() if name not in fault} | fault
    sent = {name: value for name, value in body.items() if value is not ABSENT}
    answer = post(MockApi(fallback=lambda _: OK_TURN), sent)
    assert answer.status >= 400, "the mock took it"
    return answer.body["error"]


ALONE = {name: refusal(fault) for name, fault in FAULTS.items()}


@pytest.mark.parametrize("name", WRONG)
def test_a_field_is_named_by_its_own_fault(name: str) -> None:
    assert (ALONE[f"{name} mistyped"]["param"], ALONE[f"{name} mistyped"]["code"]) == (name, "invalid_type")


def test_all_faults_are_distinguished() -> None:
    assert len({(error["message"], error["param"]) for error in ALONE.values()}) == len(FAULTS)


@pytest.mark.parametrize("first", FAULTS)
def test_a_fault_beats_every_later_one(first: str) -> None:
    pairs = [pair for pair in combinations(FAULTS, 2) if pair[0] == first and pair not in NO_PAIR]
    for pair in pairs:
        assert refusal(*map(FAULTS.get, pair)) == ALONE[first], pair


@pytest.mark.parametrize("first", ITEMS)
def test_among_items_the_first_fault_wins(first: str) -> None:
    alone = refusal({"input": [ITEMS[first]]})
    for second in ITEMS.values():
        assert refusal({"input": [ITEMS[first], second]}) == alone


@pytest.mark.parametrize("item", ITEMS)
def test_a_faulty_item_beats_the_fields_after_the_input(item: str) -> None:
    fault = {"input": [ITEMS[item]]}
    assert refusal(fault, {"tools": 7}) == refusal(fault)
    assert refusal({"zzz": 1}, fault) == ALONE["zzz absent or unknown"]

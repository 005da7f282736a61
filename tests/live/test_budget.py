"""What sending requests costs at most: calls, and tokens for what a model answers."""

from __future__ import annotations

import pytest

from harness.live.client.budget import DEFAULT_OUTPUT_TOKENS, Budget, estimate_request, sum_budgets


@pytest.mark.parametrize(
    ("method", "path", "body", "accepted", "cost"),
    [
        ("POST", "/v1/responses", b'{"input":"hi","max_output_tokens":16}', True, Budget(1, 10, 16)),
        ("POST", "/v1/threads/t/runs", b'{"max_completion_tokens":256}', True, Budget(1, 8, 256)),
        ("POST", "/v1/responses", b"{}", True, Budget(1, 1, DEFAULT_OUTPUT_TOKENS)),
        ("POST", "/v1/responses", b'{"max_output_tokens":"x"}', True, Budget(1, 7, DEFAULT_OUTPUT_TOKENS)),
        ("POST", "/v1/responses", b"no JSON", True, Budget(1, 2, DEFAULT_OUTPUT_TOKENS)),
        ("POST", "/v1/responses", b"[]", True, Budget(1, 1, DEFAULT_OUTPUT_TOKENS)),
        ("POST", "/v1/responses", b'{"input":"hi"}', False, Budget(1)),
        ("GET", "/v1/responses/resp_1", b"", True, Budget(1)),
        ("POST", "/v1/conversations", b"{}", True, Budget(1)),
    ],
)
def test_only_what_a_model_answers_costs_tokens(
    method: str, path: str, body: bytes, accepted: bool, cost: Budget
) -> None:
    assert estimate_request(method, path, body, accepted) == cost


def test_budgets_add_up_and_read_as_a_sentence() -> None:
    assert str(sum_budgets([Budget(1, 10, 16), Budget(1, 1000)])) == "2 calls, at most about 1,010 tokens in and 16 out"
    assert str(sum_budgets([Budget(1)])) == "1 call, at most about 0 tokens in and 0 out"


def test_what_it_cost_before_is_the_least_that_it_costs_again() -> None:
    cost = Budget(1, 10, 500)
    assert cost.at_least({"input_tokens": 900, "output_tokens": 20}) == Budget(1, 900, 500)
    assert cost.at_least({"input_tokens": None, "output_tokens": 700}) == Budget(1, 10, 700)

"""Estimates the cost of requests to an API before they are sent: calls, and the maximum of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from harness.api.tokens import CHARACTERS_PER_TOKEN

DEFAULT_OUTPUT_TOKENS = 500
"""The assumed tokens of the answer to a short request without a limit."""
LIMIT_MEMBERS = ("max_output_tokens", "max_completion_tokens")
MODEL_PATHS = ("/responses", "/runs", "/submit_tool_outputs", "/compact")
"""Suffixes of the paths that a model answers; nothing else is billed by token."""


class Budget(NamedTuple):
    """The number of calls, and an estimate of the maximum number of tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, other: Budget) -> Budget:
        """Return the sum of both budgets."""
        return Budget(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def at_least(self, used: Mapping[str, Any]) -> Budget:
        """Return the budget, raised to the `usage` of an answer where that is higher."""
        counts = (used.get(name) for name in ("input_tokens", "output_tokens"))
        input, output = (count if isinstance(count, int) else 0 for count in counts)
        return Budget(self.calls, max(self.input_tokens, input), max(self.output_tokens, output))

    def __str__(self) -> str:
        calls = "1 call" if self.calls == 1 else f"{self.calls:,} calls"
        return f"{calls}, at most about {self.input_tokens:,} tokens in and {self.output_tokens:,} out"


def estimate_request(method: str, path: str, body: bytes, is_accepted: bool = True) -> Budget:
    """Estimate the cost of one request; `path` is without its query. A refused request costs no tokens."""
    if not is_accepted or method != "POST" or not path.endswith(MODEL_PATHS):
        return Budget(1)
    return Budget(1, -(-len(body) // CHARACTERS_PER_TOKEN), _output_limit(body))


def _output_limit(body: bytes) -> int:
    request: Any = None
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        return DEFAULT_OUTPUT_TOKENS
    limits = [request.get(name) for name in LIMIT_MEMBERS] if isinstance(request, dict) else []
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), DEFAULT_OUTPUT_TOKENS)


def sum_budgets(budgets: Iterable[Budget]) -> Budget:
    """Return the sum of all budgets."""
    total = Budget()
    for budget in budgets:
        total = total.plus(budget)
    return total

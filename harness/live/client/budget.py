"""What sending requests to an API would cost, told before it is done: calls, and tokens at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from harness.api.tokens import CHARACTERS_PER_TOKEN

DEFAULT_OUTPUT_TOKENS = 500
"""Tokens of an answer whose request names no limit, when the model is asked for little."""
LIMIT_MEMBERS = ("max_output_tokens", "max_completion_tokens")
MODEL_PATHS = ("/responses", "/runs", "/submit_tool_outputs", "/compact")
"""How the paths end at which a model speaks; nothing else is paid by the token."""


class Budget(NamedTuple):
    """The number of calls, and the tokens that they cost at most: estimated, for those a model answers."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, other: Budget) -> Budget:
        """Both together."""
        return Budget(*(one + another for one, another in zip(self, other, strict=True)))

    def at_least(self, used: Mapping[str, Any]) -> Budget:
        """The same, raised to what the `usage` of an answer says."""
        told = (used.get(name) for name in ("input_tokens", "output_tokens"))
        input, output = (count if isinstance(count, int) else 0 for count in told)
        return Budget(self.calls, max(self.input_tokens, input), max(self.output_tokens, output))

    def __str__(self) -> str:
        said = "1 call" if self.calls == 1 else f"{self.calls:,} calls"
        return f"{said}, at most about {self.input_tokens:,} tokens in and {self.output_tokens:,} out"


def estimate_request(method: str, path: str, body: bytes, taken: bool = True) -> Budget:
    """The cost of one request; `path` is without its query. What the API refuses (`taken` is False) costs no tokens."""
    if not taken or method != "POST" or not path.endswith(MODEL_PATHS):
        return Budget(1)
    return Budget(1, -(-len(body) // CHARACTERS_PER_TOKEN), _output_limit(body))


def _output_limit(body: bytes) -> int:
    said: Any = None
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return DEFAULT_OUTPUT_TOKENS
    limits = [said.get(name) for name in LIMIT_MEMBERS] if isinstance(said, dict) else []
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), DEFAULT_OUTPUT_TOKENS)


def sum_budgets(budgets: Iterable[Budget]) -> Budget:
    """The cost of all of them."""
    whole = Budget()
    for each in budgets:
        whole = whole.plus(each)
    return whole

"""The log probabilities of a text that no model has made: of the right shape, each token almost certain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.answers.item_writer import split_into_tokens
from harness.api.include import LOGPROBS
from harness.core.exchange import Json

MAX_TOKENS = 2_000
"""Entries of one text at most; the tokens of a longer one are as much longer."""
OTHER_TOKENS = (" the", " a", " and", " of", " to", " in", " is", " it", " on", " that", " for", " with", " as", " at")
"""What the next most likely tokens are, over and over."""


def make_logprobs(text: str, body: Json) -> list[Json]:
    """One entry a token of a text, with the `top_logprobs` that the request asks for; empty unless it includes them."""
    if LOGPROBS not in (body.get("include") or ()):
        return []
    alternatives = int(body.get("top_logprobs") or 0)
    return [
        {**_entry(token, -0.01), "top_logprobs": list(_alternatives(token, alternatives))} for token in _tokens(text)
    ]


def _tokens(text: str) -> Any:
    tokens = split_into_tokens(text)
    if len(tokens) <= MAX_TOKENS:
        return tokens
    size = -(-len(tokens) // MAX_TOKENS)
    return ["".join(tokens[start : start + size]) for start in range(0, len(tokens), size)]


def _alternatives(token: str, number: int) -> Iterator[Json]:
    """The most likely tokens in order, the token itself first."""
    others = [other for other in OTHER_TOKENS if other != token]
    shown = [token, *(others[place % len(others)] + "!" * (place // len(others)) for place in range(number - 1))]
    return (_entry(each, -0.01 - 4.0 * place) for place, each in enumerate(shown[:number]))


def _entry(token: str, logprob: float) -> Json:
    return {"bytes": list(token.encode("utf-8", "surrogatepass")), "logprob": logprob, "token": token}

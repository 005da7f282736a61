"""The log probabilities of a text that no model has made: of the right shape, each token almost certain."""

from __future__ import annotations

from harness.answers.item_writer import split_into_tokens
from harness.api.include import LOGPROBS
from harness.core.exchange import Json

MAX_TOKENS = 2_000
"""Entries of one text at most; the tokens of a longer one are as much longer."""
OTHER_TOKENS = (
    *(" the", " a", " and", " of", " to", " in", " is", " it", " on", " that"),
    *(" for", " with", " as", " at", " be", " by", " or", " an", " if", " so"),
)
"""The next most likely tokens: as many as a request can ask for."""


def make_logprobs(text: str, body: Json) -> list[Json]:
    """Make an entry for each token of a text, with as many `top_logprobs` as are asked for; none if not included."""
    if LOGPROBS not in (body.get("include") or ()):
        return []
    tokens, number = split_into_tokens(text), int(body.get("top_logprobs") or 0)
    # A long text has fewer, longer tokens, so that the answer does not grow with it.
    size = -(-len(tokens) // MAX_TOKENS) or 1
    entries = []
    for start in range(0, len(tokens), size):
        token = "".join(tokens[start : start + size])
        likely = [token, *(rival for rival in OTHER_TOKENS if rival != token)][:number]
        top = [_entry(choice, place) for place, choice in enumerate(likely)]
        entries.append({**_entry(token, 0), "top_logprobs": top})
    return entries


def _entry(token: str, place: int) -> Json:
    return {"bytes": list(token.encode("utf-8", "surrogatepass")), "logprob": -0.01 - 4.0 * place, "token": token}

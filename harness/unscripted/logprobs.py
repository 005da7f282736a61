"""Makes up log probabilities of a text in the right form, with each token almost certain."""

from __future__ import annotations

from harness.answers.item_writer import split_into_tokens
from harness.api.include import LOGPROBS
from harness.core.exchange import Json

MAX_TOKENS = 2_000
"""The maximum number of entries for a text; longer texts get longer tokens."""
OTHER_TOKENS = (
    *(" the", " a", " and", " of", " to", " in", " is", " it", " on", " that"),
    *(" for", " with", " as", " at", " be", " by", " or", " an", " if", " so"),
)
"""The next most likely tokens, as many as a request can ask for."""


def make_logprobs(text: str, body: Json) -> list[Json]:
    """Build an entry for each token, with as many `top_logprobs` as requested; empty if the request omits logprobs."""
    if LOGPROBS not in (body.get("include") or ()):
        return []
    tokens, number = split_into_tokens(text), int(body.get("top_logprobs") or 0)
    # A long text gets fewer, longer tokens, so that the answer stays bounded.
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

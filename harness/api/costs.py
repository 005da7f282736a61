"""What an answer costs: the published prices of models, in dollars per million tokens, with the day of each change."""

from functools import lru_cache
from typing import Any, NamedTuple

from harness.api.http.dialects import OPENAI
from harness.api.model_facts import find_by_name, read_table
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_object

_PER_TOKENS = 1_000_000
_LONG_INPUT, _LONG_OUTPUT = 2, 1.5
"""The factors for a request with a long input: from genai-prices and litellm, as all prices."""
_KEPT = 2.5
"""The factor for what is written for 12 hours: the guide to prompt caching, the page of gpt-6.2-sol (2026-11)."""


class Price(NamedTuple):
    """A model's prices from a day on; requests with more than `long` input tokens cost more, unless it is 0.

    `cached` and `written` are those of input tokens that are read from and written to the prompt cache.
    """

    since: str
    input: float
    cached: float
    written: float
    output: float
    long: int = 0


@lru_cache(maxsize=256)
def find_price(model: str, day: str) -> Price | None:
    """Return the price of a model on a day (YYYY-MM-DD); None if it is unknown."""
    rows = (find_by_name(read_table()["prices"], model) or ((),))[0]
    return next((price for row in rows if (price := Price(*row)).since <= day), None)


def find_cost_of(exchange: Exchange, day: str) -> float | None:
    """Return what the response in an answer of OpenAI's API costs in dollars; None without a response or a price."""
    return find_cost(as_object(exchange.answer.body), day) if exchange.request.dialect == OPENAI else None


def find_cost(response: Json, day: str) -> float | None:
    """Return what a response costs in dollars at the standard tier; None without usage, or if a price is unknown.

    Unknown are those of other tiers.
    """
    usage, price = as_object(response.get("usage")), find_price(str(response.get("model")), day)
    details = as_object(usage.get("input_tokens_details"))
    if price is None or response.get("service_tier", "default") != "default":
        return None
    kept = as_object(details.get("cache_write_tokens_details")).get("ttl_12h_tokens", 0)
    cached, written = details.get("cached_tokens", 0), details.get("cache_write_tokens", 0)
    counts: list[Any] = [usage.get("input_tokens"), usage.get("output_tokens"), cached, written, kept]
    if not all(isinstance(count, int) for count in counts):  # a run of an assistant counts under other names
        return None
    read, made, cached, written, kept = counts
    plain = read - cached - written + kept * _KEPT
    spent = plain * price.input + cached * price.cached + (written - kept) * price.written
    said = made * price.output
    if 0 < price.long < read:
        spent, said = spent * _LONG_INPUT, said * _LONG_OUTPUT
    return float(spent + said) / _PER_TOKENS

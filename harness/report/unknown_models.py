"""Names of models that no table knows but that were accepted: another model than intended may answer the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from harness.api.http.dialects import OPENAI
from harness.core.json_values import as_object
from harness.core.text import pluralize, quote
from harness.report.sanitize import sanitize_value
from harness.world.world import World

MAX_NAMES = 10
"""How many names get a line, those with the most requests."""

UnknownModels = Mapping[str, int]
"""The number of requests by model name."""


def count_unknown_models(world: World) -> Counter[str]:
    """Count the answered OpenAI requests by model name, for names that neither the table nor the test knows."""
    told = world.account.models or ()
    names = (
        as_object(exchange.request.body).get("model")
        for exchange in world.exchanges
        if exchange.request.dialect == OPENAI and 200 <= exchange.status < 300 and not exchange.is_routed
    )
    counted = Counter(name for name in names if isinstance(name, str) and name not in told)
    return Counter(
        {sanitize_value(name): number for name, number in counted.items() if world.models.find(name) is None}
    )


def merge_unknown_models(counts: Iterable[UnknownModels]) -> Counter[str]:
    """Add up the counts of several runs."""
    merged: Counter[str] = Counter()
    for run in counts:
        merged.update(run)
    return merged


def unknown_model_lines(counts: UnknownModels) -> list[str]:
    """Return a line for each name, those with the most requests first, and one for the rest."""
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    lines = [
        f"model {quote(name)}: no table knows it, {pluralize(number, 'request')} under it" for name, number in ranked
    ]
    rest = len(lines) - MAX_NAMES
    return lines if rest <= 0 else [*lines[:MAX_NAMES], f"… and {rest} more models that no table knows"]

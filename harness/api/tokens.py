"""Token counts: a deterministic estimate of the magnitude of a real tokenizer's (four characters per token)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.core.exchange import Json

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_TOOL = 40  # its name, description and schema
TOKENS_PER_ITEM = 4  # role and separators

_COUNTED_MEMBERS = frozenset({"content", "text", "output", "arguments", "input", "code", "summary", "refusal"})


_UNCACHED: Json = {"cache_write_tokens": 0, "cached_tokens": 0}
_UNREASONED: Json = {"reasoning_tokens": 0}


def estimate_tokens(items: Iterable[Json]) -> int:
    """Estimate the tokens of items; only text members count, not ids and types."""
    return sum(map(_estimate_item_tokens, items))


def _estimate_item_tokens(item: Json) -> int:
    return TOKENS_PER_ITEM + -(-_count_characters(item) // CHARACTERS_PER_TOKEN)


def count_words(items: Iterable[Json]) -> int:
    """Count the words in items, a lower bound of tokens: no tokenizer joins words across white space."""
    return sum([_count_item_words(item) for item in items])


def _count_item_words(item: Any) -> int:
    values = [value for name, value in item.items() if name in _COUNTED_MEMBERS]
    own = sum([len(value.split()) for value in values if isinstance(value, str)])
    return own + sum(
        [
            _count_item_words(part)
            for value in values
            if isinstance(value, list)
            for part in value
            if isinstance(part, dict)
        ]
    )


def _count_characters(item: Any) -> int:
    count = 0
    for name, value in item.items():
        if name in _COUNTED_MEMBERS:
            if isinstance(value, str):
                count += len(value)
            elif isinstance(value, list):
                for part in value:
                    count += _count_characters(part) if isinstance(part, dict) else 0
    return count


def set_usage(counted: Json, own: Mapping[str, int]) -> Json:
    """Set a script's counts in a response's `usage`: `input_tokens`, `cached`, `cache_written`, `output_tokens`, …"""
    named = {"cached": "cached_tokens", "cache_written": "cache_write_tokens"}
    # A script that counts the input itself counts what is cached of it, too.
    counts_input = "input_tokens" in own or not own.keys().isdisjoint(named)
    read = {**(_UNCACHED if counts_input else counted["input_tokens_details"])}
    said = {**counted["output_tokens_details"]}
    read |= {named[name]: count for name, count in own.items() if name in named}
    if "reasoning" in own:
        said["reasoning_tokens"] = own["reasoning"]
    totals = {name: own.get(name, counted[name]) for name in ("input_tokens", "output_tokens")}
    read["cached_tokens"] = min(read["cached_tokens"], totals["input_tokens"])
    said["reasoning_tokens"] = min(said["reasoning_tokens"], totals["output_tokens"])
    return {
        "input_tokens": totals["input_tokens"],
        "input_tokens_details": read,
        "output_tokens": totals["output_tokens"],
        "output_tokens_details": said,
        "total_tokens": sum(totals.values()),
    }


def make_usage(input_tokens: int, output: Sequence[Json], spent: int | None = None) -> Json:
    """Make the `usage` object of a response; `spent` is its output tokens if known."""
    output_tokens = reasoned = 0
    for item in output:
        is_reasoning = item["type"] == "reasoning"
        if spent is not None and not is_reasoning:
            continue
        count = _estimate_item_tokens(item)
        reasoned += count if is_reasoning else 0
        output_tokens += count
    if spent is not None:
        output_tokens, reasoned = spent, min(reasoned, spent)
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": _UNCACHED,
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoned} if reasoned else _UNREASONED,
        "total_tokens": input_tokens + output_tokens,
    }

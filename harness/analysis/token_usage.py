"""The tokens that the answers in a journal used, in total and by agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.core.replies import ModelReply, token_counts

_DETAILS = {
    "cached_tokens": ("input_tokens_details", "prompt_token_details", "prompt_tokens_details"),
    "reasoning_tokens": ("output_tokens_details", "completion_tokens_details"),
}
"""The counts that are nested in a usage object, with the possible names of the member that holds them."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts, named as on the wire: `input_tokens` include `cached_tokens`, `output_tokens` `reasoning_tokens`.

    `by_agent` holds the share of each agent by name; comparisons ignore it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0
    by_agent: Mapping[str, Usage] = field(default_factory=dict, compare=False, repr=False)

    def __add__(self, other: Usage) -> Usage:
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNT_NAMES}
        return replace(self, **sums, by_agent={})

    def as_json(self) -> Json:
        """Return the counts as JSON."""
        return {name: getattr(self, name) for name in COUNT_NAMES}


COUNT_NAMES = tuple(member.name for member in fields(Usage) if member.name != "by_agent")


def sum_usage(replies: Iterable[ModelReply], agents: Mapping[int, str]) -> Usage:
    """Sum the usage of replies; `agents` maps the number of an exchange to the name of its agent."""
    total, shares = Usage(), dict[str, Usage]()
    for reply in replies:
        counted = as_object(reply.usage)
        details = {name: _detail(counted, name, members) for name, members in _DETAILS.items()}
        counts: Json = token_counts(reply.usage) | details
        own = Usage(**counts)
        total += own
        if agent := agents.get(reply.exchange):
            shares[agent] = shares.get(agent, Usage()) + own
    return replace(total, by_agent=shares)


def _detail(usage: Json, name: str, members: Iterable[str]) -> int:
    counts = (as_object(usage.get(member)).get(name) for member in members)
    return next((count for count in counts if isinstance(count, int)), 0)

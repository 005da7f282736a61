"""Why a prompt was not read from the cache: it is compared with an earlier one to the first place that differs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from json import dumps
from typing import NamedTuple

from harness.analysis.lanes import INSTRUCTION_ROLES, ReferenceKey, reference_keys
from harness.analysis.prompt_prefix import ABSENT, FirstDifference, find_difference, view_items
from harness.answers.prompt import Prompt
from harness.api.tokens import estimate_tokens
from harness.core.exchange import Json
from harness.core.text import share_of_ends
from harness.world.prompt_cache import REASONING, CachedPrompt, read_settings_in_prefix

_REASONS: Mapping[str, str] = {
    "model": "model_changed",
    "prompt_cache_key": "prompt_cache_key_changed",
    "service_tier": "service_tier_changed",
    "tools": "tools_changed",
    "parallel_tool_calls": "tools_changed",
    "text.format": "text_format_changed",
    "reasoning.effort": "reasoning_effort_changed",
    "text.verbosity": "verbosity_changed",
    "prompt": "input_changed",
}
"""The API's reason for a difference in a setting, in the order in which its guide lists them (assumed to be its own)."""
EDITED = 0.8
"""How much two texts share if one is an edit of the other."""
MAX_COMPARED = 16
"""With how many agents, the newest first, the instructions of a new one are compared."""


class PromptDifference(NamedTuple):
    """The first difference of two prompts, with the API's reason, and the tokens before it."""

    reason: str
    first: FirstDifference
    tokens: int


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """A request that read less from the cache than an earlier one had left there.

    `reason` is the API's, or `expired`, or `no_breakpoint` if the prompt begins alike but ends at no boundary that was
    cached. `at` is the first place that differs, `before` and `now` are the texts there. `missed_tokens` could have been
    read after exchange `compared`.
    """

    exchange: int
    reason: str
    at: str
    before: str
    now: str
    missed_tokens: int
    compared: int

    def __repr__(self) -> str:
        place = f": {self.at}: {self.before} became {self.now}" if self.at else ""
        return f"request {self.exchange} missed: {self.reason}{place}"


@dataclass(frozen=True, slots=True)
class CacheReport:
    """What a World's requests read from the prompt cache: `hit_rate` is the share of all input tokens.

    `cost` is what the answers cost in dollars at standard prices; None if a price is unknown.
    """

    hit_rate: float
    misses: Sequence[CacheMiss]
    cost: float | None = None


def compare_prompts(before: Prompt, now: Prompt) -> PromptDifference | None:
    """Find the first difference by which a prompt does not begin like an earlier one."""
    return next(filter(None, (_compare_settings(before, now), _compare_items(before, now))), None)


def _compare_settings(before: Prompt, now: Prompt) -> PromptDifference | None:
    old, new = read_settings_in_prefix(before), read_settings_in_prefix(now)
    for setting, reason in _REASONS.items():
        if first := find_difference(old[setting], new[setting], setting):
            return PromptDifference(reason, first, 0)
    # From GPT-6.2 on the API appends instructions to the input.
    if now.settings.family.withholds:
        return None
    was, given = (prompt.body.get("instructions", ABSENT) for prompt in (before, now))
    first = find_difference(was, given, "instructions")
    return PromptDifference("input_changed", first, 0) if first else None


def _compare_items(before: Prompt, now: Prompt, most: int | None = None) -> PromptDifference | None:
    """Compare the items of a prompt with at `most` as many of an earlier one."""
    items = before.transcript.items[:most]
    new = view_items(now.transcript.items[: len(items)])
    for place, view in enumerate(view_items(items)):
        other = new[place] if place < len(new) else ABSENT
        if first := find_difference(view or REASONING, other or REASONING, f"input[{place}]"):
            is_compacted = "compaction" in now.transcript.types - before.transcript.types
            tokens = before.tokens - before.transcript.tokens + estimate_tokens(items[:place])
            return PromptDifference("context_compacted" if is_compacted else "input_changed", first, tokens)
    return None


def diagnose(cached: CachedPrompt, before: CachedPrompt | None) -> Json:
    """Return the `prompt_cache_diagnostics` of a request that asks to be compared with an earlier response."""
    if before is None:
        return {"type": "comparison_response_not_found"}
    difference = compare_prompts(before.prompt, cached.prompt)
    reusable = before.use.kept
    if difference is None or (reusable and difference.tokens >= reusable):
        return {"type": "cache_hit"}
    missed = (reusable or cached.prompt.tokens) - difference.tokens
    counts = {"cache_missed_tokens": missed} | ({"comparison_reusable_tokens": reusable} if reusable else {})
    return {"type": "cache_miss", "reason": difference.reason, **counts}


def find_misses(prompts: Mapping[str, CachedPrompt], agents: Mapping[int, str]) -> list[CacheMiss]:
    """Find the requests that missed the cache, oldest first; `agents` maps the number of an exchange to its agent.

    A prompt is compared with those whose answer it repeats; if it begins a conversation, what does not depend on it
    is compared with the agent's latest, or with that of an agent whose instructions are the same but for an edit.
    """
    said: dict[ReferenceKey, list[CachedPrompt]] = {}
    latest: dict[str, CachedPrompt] = {}
    misses = []
    for response, cached in prompts.items():
        continued = _find_continued(response, cached, said)
        found = [_find_miss(cached, before, compare_prompts(before.prompt, cached.prompt)) for before in continued]
        agent = agents.get(cached.exchange)
        if not continued and agent is not None:
            before = latest.get(agent) or _find_edited(cached, latest)
            found = [_find_new_beginning(cached, before)] if before else []
        if found and all(found):
            misses.append(found[0])
        if agent is not None:
            latest.pop(agent, None)  # so that the newest are the last
            latest[agent] = cached
        for key in (("id", response), *(key for item in cached.output for key in reference_keys(item))):
            said.setdefault(key, []).insert(0, cached)
    return [miss for miss in misses if miss]


def _find_continued(
    response: str, cached: CachedPrompt, said: Mapping[ReferenceKey, Sequence[CachedPrompt]]
) -> Sequence[CachedPrompt]:
    """Find the earlier prompts whose answer a prompt continues, newest first."""
    id = cached.prompt.body.get("previous_response_id")
    if id is not None:
        return said.get(("id", id), ())
    keys: Iterator[ReferenceKey] = (
        key for item in reversed(cached.prompt.transcript.items) for key in reference_keys(item)
    )
    return next((said[key] for key in keys if key in said), ())


def _find_edited(cached: CachedPrompt, latest: dict[str, CachedPrompt]) -> CachedPrompt | None:
    """Find a prompt of the same key, of another agent, whose instructions are the same but for an edit, such as the time."""
    key, text = cached.prompt.body.get("prompt_cache_key"), _read_instructions(cached.prompt)
    newest = islice(reversed(latest.values()), MAX_COMPARED) if text else ()
    of_key = (before for before in newest if before.prompt.body.get("prompt_cache_key") == key)
    missed = (before for before in of_key if before.use.kept > cached.use.read)
    return next((before for before in missed if share_of_ends(text, _read_instructions(before.prompt)) >= EDITED), None)


def _read_instructions(prompt: Prompt) -> str:
    views = view_items(_leading_instructions(prompt))
    instructions = prompt.body.get("instructions")
    return dumps([instructions, *views]) if instructions or views else ""


def _leading_instructions(prompt: Prompt) -> list[Json]:
    return [*takewhile(lambda item: item.get("role") in INSTRUCTION_ROLES, prompt.transcript.items)]


def _find_new_beginning(cached: CachedPrompt, before: CachedPrompt) -> CacheMiss | None:
    """Find the miss of a prompt that begins a conversation: its settings or leading instructions have changed."""
    settings = _compare_settings(before.prompt, cached.prompt)
    difference = settings or _compare_items(before.prompt, cached.prompt, len(_leading_instructions(before.prompt)))
    return _find_miss(cached, before, difference) if difference else None


def _find_miss(cached: CachedPrompt, before: CachedPrompt, difference: PromptDifference | None) -> CacheMiss | None:
    missed = before.use.kept - cached.use.read
    if missed <= 0:
        return None
    if difference:
        texts = difference.first.texts
        return CacheMiss(cached.exchange, difference.reason, difference.first.at, *texts, missed, before.exchange)
    has_expired = cached.at - before.at >= before.use.lifetime
    return CacheMiss(
        cached.exchange, "expired" if has_expired else "no_breakpoint", "", "", "", missed, before.exchange
    )

"""The prompt cache of one key: how many tokens of a prompt were read from it, and how many written to it.

A prompt is cached from its beginning to a boundary. Before gpt-5.6 a boundary is every 128 tokens. From gpt-5.6 on it is
the end of a message that the client sent, or a breakpoint, and its tokens are exact. A chain keeps the boundaries of its
items, so that a turn only costs its new items; a prompt below 1,024 tokens costs nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.prompt_prefix import split_item, view_part, view_tools
from harness.answers.parameters import default_retention
from harness.answers.prompt import Prompt
from harness.api.tokens import estimate_tokens
from harness.core.exchange import Json
from harness.core.json_values import objects_in
from harness.core.limits import oldest_beyond
from harness.items.kind import CALL_OF_OUTPUT
from harness.items.transcript import Boundary, ItemChain

LEAST_TOKENS, STEP = 1_024, 128
BLOCK_SIZE = 512
"""The characters between two boundaries of older models, about one step of tokens."""
MAX_REMEMBERED, MAX_PROMPTS = 20_000, 1_000
"""The maximum number of boundaries and of prompts remembered per key; the newest are kept."""
MAX_LOOKED_UP, MAX_WRITTEN = 80, 4
"""How many boundaries, from gpt-5.6 on, a request looks up and writes: the last ones of its prompt."""
LIFETIMES: Mapping[str, int] = {"in_memory": 300, "24h": 1_800, "30m": 1_800, "12h": 43_200}
"""Seconds that a boundary lives after it was written or read: of the documented range the least."""
DETAILS_SINCE = "2026-11-04"
"""The day since which the guide has two lifetimes, and usage the tokens written for each."""
REASONING: Json = {"type": "reasoning"}
"""What is compared of a reasoning item: that it is there."""
_TIERS: Mapping[str | None, str] = {None: "default", "auto": "default", "fast": "priority"}
_ROLES = {"user": "user", "assistant": "assistant", "developer": "developer", "system": "developer"}


Text = tuple[str | bytes, Json | None]
"""What a model reads of a part, and the client's breakpoint behind it."""


class CacheUse(NamedTuple):
    """The tokens of a prompt `read` from the cache and those `written`, by lifetime; `kept` can be read from now on."""

    read: int
    written: Mapping[str, int]
    kept: int
    lifetime: int

    def details(self, day: str) -> Json:
        """Return the `input_tokens_details` of an answer on a day (YYYY-MM-DD)."""
        counts: Json = {"cache_write_tokens": sum(self.written.values()), "cached_tokens": self.read}
        if self.written and day >= DETAILS_SINCE:
            by_ttl = {f"ttl_{ttl}_tokens": self.written.get(ttl, 0) for ttl in ("12h", "30m")}
            counts["cache_write_tokens_details"] = by_ttl
        return counts


class CachedPrompt(NamedTuple):
    """A prompt that the cache has seen: its exchange, time, usage and output."""

    exchange: int
    at: int
    prompt: Prompt
    use: CacheUse
    output: Sequence[Json]


class _Place(NamedTuple):
    """A boundary in a prompt: the key in the cache, the tokens before, the lifetime, and whether to write it."""

    key: int
    tokens: int
    ttl: str
    is_written: bool


class PromptCache:
    """The cached beginnings of one key's prompts, each with the time at which it expires; `prompts` by response."""

    def __init__(self) -> None:
        self._expires: dict[int, int] = {}
        self.prompts: dict[str, CachedPrompt] = {}

    def use(self, prompt: Prompt, output: Sequence[Json], now: int, day: str) -> CacheUse:
        """Read the longest cached beginning of a prompt, and write what is to be cached of it and of its output."""
        is_new = prompt.settings.family.cache_options
        ttl = (prompt.body.get("prompt_cache_options") or {}).get("ttl") or "30m"
        if not is_new:
            retention = prompt.body.get("prompt_cache_retention") or default_retention(prompt.settings.family, day)
            ttl = retention or "in_memory"
        unread: list[_Place] = []
        read = 0
        for place in _select_places(prompt, ttl) if is_new else _every_place(prompt, output, ttl):
            if self._expires.get(place.key, 0) > now and place.tokens <= prompt.tokens:
                self._keep(place, now)
                read = place.tokens
                break
            unread.append(place)
        written: dict[str, int] = {}
        end = read
        for place in reversed(unread):
            if place.is_written:
                self._keep(place, now)
                written[place.ttl] = written.get(place.ttl, 0) + place.tokens - end
                end = place.tokens
        for key in oldest_beyond(self._expires, MAX_REMEMBERED):
            del self._expires[key]
        if is_new:
            return CacheUse(read, written, end, LIFETIMES[ttl])
        return CacheUse(read // STEP * STEP, {}, min(end, prompt.tokens) // STEP * STEP, LIFETIMES[ttl])

    def _keep(self, place: _Place, now: int) -> None:
        self._expires.pop(place.key, None)  # the newest last
        self._expires[place.key] = now + LIFETIMES[place.ttl]

    def remember(self, response: str, cached: CachedPrompt) -> None:
        """Remember the prompt of a response, for comparisons."""
        self.prompts[response] = cached
        for old in oldest_beyond(self.prompts, MAX_PROMPTS):
            del self.prompts[old]


def read_settings_in_prefix(prompt: Prompt) -> Json:
    """Return the settings of a request, besides texts, that change the beginning of the prompt, by place."""
    body, shown = prompt.body, prompt.settings.initial_response
    text, tier = shown.get("text") or {}, body.get("service_tier")
    return {
        "model": shown.get("model"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "service_tier": _TIERS.get(tier, tier),
        "tools": view_tools(body),
        "parallel_tool_calls": shown.get("parallel_tool_calls"),
        "text.format": text.get("format"),
        "reasoning.effort": (shown.get("reasoning") or {}).get("effort"),
        "text.verbosity": text.get("verbosity"),
        "prompt": body.get("prompt"),
    }


def _walk_back(prompt: Prompt, output: Sequence[Json] = ()) -> Iterator[tuple[int, int, Boundary]]:
    """Yield the boundaries of a prompt and its output from the end, each after its key and the tokens before it."""
    body, transcript = prompt.body, prompt.transcript
    base = hash(_dump(read_settings_in_prefix(prompt)))
    tokens, before = prompt.settings.tokens, 0
    opening: Sequence[Boundary] = ()
    if text := body.get("instructions"):
        opening = _find_boundaries([{"role": "developer", "content": text}], Boundary(base, 0))
        tokens -= opening[-1].tokens
        if prompt.settings.family.withholds:  # it reads them after the input
            opening = ()
        else:
            base, before = opening[-1].digest, opening[-1].tokens
    link: ItemChain | None = ItemChain(output, ItemChain(transcript.added, transcript.stored))
    while link is not None:
        for boundary in reversed(_boundaries_of(link) if link.own else ()):
            if (total := tokens + before + boundary.tokens) < LEAST_TOKENS:
                return
            yield hash((base, boundary.digest)), total, boundary
        link = link.previous
    for boundary in reversed(opening):
        if tokens + boundary.tokens >= LEAST_TOKENS:
            yield boundary.digest, tokens + boundary.tokens, boundary


def _every_place(prompt: Prompt, output: Sequence[Json], ttl: str) -> Iterator[_Place]:
    """Yield each boundary of a prompt and its output, as older models cache both (recorded 2025-09 to 2026-01)."""
    for key, tokens, _ in _walk_back(prompt, output):
        yield _Place(key, tokens, ttl, is_written=True)


def _select_places(prompt: Prompt, ttl: str) -> Iterator[_Place]:
    """Yield the boundaries that a newer model looks up, the last first.

    Of these it writes the last end of a message, the end of the leading instructions (recorded 2026-08), and breakpoints.
    """
    is_implicit = (prompt.body.get("prompt_cache_options") or {}).get("mode") != "explicit"
    left, looked_up = MAX_WRITTEN - is_implicit, 0
    has_end = has_opening = not is_implicit
    for key, tokens, boundary in _walk_back(prompt):
        is_marked, is_end = boundary.ttl is not None, is_implicit and boundary.is_end
        if not (is_marked or is_end):
            continue
        is_written = is_end and (not has_end or (boundary.is_opening and not has_opening))
        has_end, has_opening = has_end or is_end, has_opening or (is_end and boundary.is_opening)
        if is_marked and not is_written:
            is_written = left > 0
            left -= is_written
        yield _Place(key, tokens, boundary.ttl or ttl, is_written)
        looked_up += 1
        if looked_up == MAX_LOOKED_UP:
            return


def _boundaries_of(chain: ItemChain) -> Sequence[Boundary]:
    """Return the boundaries of a chain's own items; links that already have theirs are not visited again."""
    missing: list[ItemChain] = []
    link: ItemChain | None = chain
    while link is not None and link.boundaries is None:
        missing.append(link)
        link = link.previous
    last = link.boundaries[-1] if link and link.boundaries else Boundary(0, 0)
    for unmarked in reversed(missing):
        unmarked.boundaries = _find_boundaries(unmarked.own, last) or [last]
        last = unmarked.boundaries[-1]
    return chain.boundaries or ()


def _find_boundaries(items: Sequence[Json], last: Boundary) -> list[Boundary]:
    """Find the boundaries in items after `last`, which covers all items before them."""
    found: list[Boundary] = []
    digest, tokens, _, _, is_opening = last
    for item in items:
        role, (head, texts) = item.get("role"), _read_item(item)
        is_opening = is_opening and role in INSTRUCTION_ROLES
        is_end = is_opening or role == "user" or item.get("type") in CALL_OF_OUTPUT
        own = estimate_tokens((item,))
        digest = hash((digest, head))
        if len(texts) > 1 or len(texts[0][0]) > BLOCK_SIZE:
            found += _split_texts(texts, Boundary(digest, tokens), own)
            digest, ttl = found[-1].digest, found.pop().ttl
        else:  # most items
            digest, ttl = hash((digest, texts[0][0])), _ttl_of(texts[0][1])
        tokens += own
        found.append(Boundary(digest, tokens, ttl, is_end, is_opening))
    return found


def _split_texts(texts: Sequence[Text], last: Boundary, own: int) -> Iterator[Boundary]:
    """Yield the boundaries within an item of `own` tokens, after those before it."""
    digest, done = last.digest, 0
    size = sum([len(text) for text, _ in texts]) or 1
    for text, mark in texts:
        for start in range(0, len(text) or 1, BLOCK_SIZE):
            block = text[start : start + BLOCK_SIZE]
            digest = hash((digest, block))
            done += len(block)
            ttl = _ttl_of(mark) if start + BLOCK_SIZE >= len(text) else None
            yield Boundary(digest, last.tokens + own * done // size, ttl)


def _ttl_of(mark: Json | None) -> str | None:
    return None if mark is None else mark.get("ttl") or ""


def _read_item(item: Json) -> tuple[str | bytes, Sequence[Text]]:
    """Return what a model reads of an item: its head, then the text of each part, with the part's breakpoint."""
    content, role = item.get("content"), item.get("role")
    if role in _ROLES and isinstance(content, str):  # most items
        return _ROLES[role], ((content, None),)
    head, name = split_item(item)
    key = _ROLES[role] if role in _ROLES and name == "content" else _dump(head or REASONING)
    content = item.get(name) if name else None
    if isinstance(content, list):
        parts = [(_read_part(part), part.get("prompt_cache_breakpoint")) for part in objects_in(content)]
        return key, parts or (("", None),)
    return key, ((content if isinstance(content, str) else _dump(content), None),)


def _read_part(part: Json) -> str | bytes:
    read = view_part(part)
    return read if isinstance(read, str) else _dump(read)


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # arguments nested deeper than it can write: not compared
        return b"{}"

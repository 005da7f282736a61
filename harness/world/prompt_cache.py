"""The prompt cache of one key: how much of a prompt has the same beginning as an earlier one.

As recorded: prefixes from 1,024 tokens on, in steps of 128, of the same model. Prompts are compared in blocks of bytes,
so that the cost of a lookup depends on the request only, not on the length of the chain that it continues.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from harness.core.exchange import Json
from harness.core.limits import oldest_beyond

LEAST_TOKENS, STEP = 1_024, 128
BLOCK_SIZE = 512
"""The size of a compared block in bytes, about one step of tokens."""
MAX_BLOCKS = 2_000
"""The maximum number of blocks remembered per prompt; what follows is not cached."""
MAX_REMEMBERED = 20_000
"""The maximum number of blocks remembered per key; the newest are kept."""
PROMPT_MEMBERS = ("model", "instructions", "tools", "text", "prompt", "input")
"""The members of a request that make up its prompt, in the order in which the model reads them."""


class PromptCache:
    """The beginnings of the prompts of one key."""

    def __init__(self) -> None:
        self._blocks: dict[int, None] = {}

    def read(self, body: Json, tokens: int, continued: Json | None) -> int:
        """Return the number of cached tokens of a prompt with `tokens` in total, and cache the prompt itself.

        `continued` is the response that the request continues; its prompt is the beginning of this one.
        """
        if tokens < LEAST_TOKENS or (body.get("prompt_cache_options") or {}).get("mode") == "explicit":
            return 0
        if continued is not None:
            return _round(((continued.get("usage") or {}).get("input_tokens")) or 0)
        raw = b"".join(orjson.dumps(body[name]) for name in PROMPT_MEMBERS if name in body)
        known = self._add_blocks(raw)
        return _round(tokens * known // max(len(raw), 1))

    def _add_blocks(self, raw: bytes) -> int:
        """Remember the blocks of a prompt; returns how many leading bytes were known."""
        known, is_known = 0, True
        for block in _hash_blocks(raw):
            is_known = is_known and block in self._blocks
            known += BLOCK_SIZE * is_known
            self._blocks[block] = None
        for block in oldest_beyond(self._blocks, MAX_REMEMBERED):
            del self._blocks[block]
        return min(known, len(raw))


def _hash_blocks(raw: bytes) -> Iterator[int]:
    """Yield a hash for each block, covering all bytes up to its end.

    The last block may be short, so that a prompt is cached whole.
    """
    before = 0
    for start in range(0, min(len(raw), MAX_BLOCKS * BLOCK_SIZE), BLOCK_SIZE):
        before = hash((before, raw[start : start + BLOCK_SIZE]))
        yield before


def _round(tokens: int) -> int:
    return tokens // STEP * STEP if tokens >= LEAST_TOKENS else 0

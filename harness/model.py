"""What is known of each model family: its dated snapshot, and the defaults a response echoes for it.

Read from recorded responses of 2025-08 to 2026-09. A name that is not listed is taken for the family with the longest
common prefix, and answers under its own name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Model:
    """One family: `effort` is the default reasoning effort, None for a model that does not reason."""

    name: str
    snapshot: str
    effort: str | None = None
    top_p: float = 1.0
    retention: str = "in_memory"
    turns: str | None = None

    @property
    def reasons(self) -> bool:
        """Whether it is a reasoning model (`o…`, `gpt-5…` but the chat ones)."""
        return self.turns is not None


def _plain(name: str, date: str) -> Model:
    return Model(name, f"{name}-{date}")


def _reasoning(name: str, date: str, effort: str, top_p: float = 1.0, retention: str = "in_memory") -> Model:
    return Model(name, f"{name}-{date}" if date else name, effort, top_p, retention, "current_turn")


MODELS = {
    model.name: model
    for model in (
        _plain("gpt-4-turbo", "2024-04-09"),
        _plain("gpt-4o", "2024-08-06"),
        _plain("gpt-4o-mini", "2024-07-18"),
        _plain("gpt-4.1", "2025-04-14"),
        _plain("gpt-4.1-mini", "2025-04-14"),
        _plain("gpt-4.1-nano", "2025-04-14"),
        _reasoning("computer-use-preview", "2025-03-11", "medium"),
        _reasoning("o1", "2024-12-17", "medium"),
        _reasoning("o3", "2025-04-16", "medium"),
        _reasoning("o3-mini", "2025-01-31", "medium"),
        _reasoning("o3-deep-research", "2025-06-26", "medium"),
        _reasoning("o4-mini", "2025-04-16", "medium"),
        _reasoning("o4-mini-deep-research", "2025-06-26", "medium"),
        _reasoning("gpt-5", "2025-08-07", "medium"),
        _reasoning("gpt-5-mini", "2025-08-07", "medium"),
        _reasoning("gpt-5-nano", "2025-08-07", "medium"),
        _reasoning("gpt-5-codex", "", "medium"),
        _reasoning("gpt-5.1", "2025-11-13", "none"),
        _reasoning("gpt-5.2", "2025-12-11", "none", 0.98),
        _reasoning("gpt-5.2-codex", "", "medium", 0.98),
        _reasoning("gpt-5.2-pro", "2025-12-11", "medium", 0.98),
        Model("gpt-5.2-chat-latest", "gpt-5.2-chat-latest", "medium", 0.85, "in_memory", "current_turn"),
        _reasoning("gpt-5.3-codex", "", "medium", 0.98),
        _reasoning("gpt-5.3-codex-spark", "", "medium", 0.98),
        _reasoning("gpt-5.4", "2026-03-05", "none", 0.98, "24h"),
        _reasoning("gpt-5.4-mini", "2026-03-17", "none", 0.98, "24h"),
        _reasoning("gpt-5.4-nano", "2026-03-17", "none", 0.98, "24h"),
        _reasoning("gpt-5.5", "2026-04-23", "medium", 0.98, "24h"),
        Model("gpt-5.6", "gpt-5.6-sol", "medium", 0.98, "24h", "all_turns"),
        Model("gpt-5.6-sol", "gpt-5.6-sol", "medium", 0.98, "24h", "all_turns"),
        Model("gpt-5.6-luna", "gpt-5.6-luna", "medium", 0.98, "24h", "all_turns"),
        Model("gpt-5.6-terra", "gpt-5.6-terra", "medium", 0.98, "24h", "all_turns"),
        Model("gpt-6-luna", "gpt-6-luna", "medium", 0.98, "24h", "all_turns"),
        Model("gpt-6-astra", "gpt-6-astra", "medium", 0.98, "24h", "all_turns"),
    )
}

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@lru_cache(maxsize=512)
def model(name: str) -> Model:
    """The family of a model name; a dated name is its own snapshot, an unknown one borrows the nearest family's defaults."""
    if known := MODELS.get(name):
        return known
    family = MODELS.get(_DATED.sub("", name)) or _nearest(name)
    return Model(name, name, family.effort, family.top_p, family.retention, family.turns)


def _nearest(name: str) -> Model:
    for length in range(len(name), 1, -1):
        for known in MODELS.values():
            if known.name.startswith(name[:length]):
                return known
    return MODELS["gpt-4.1"]

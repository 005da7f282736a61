"""What is known of each model family: its dated snapshot, and the defaults a response echoes for it.

Read from recorded responses of 2025-08 to 2026-09. A name that is not listed is taken for the family with the longest
common prefix, and answers under its own name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Model:
    """One family: `effort` is the default reasoning effort, None for a model that does not reason.

    `efforts` are the ones it takes, empty where that is not known; `verbosities` the values of `text.verbosity` it takes.
    """

    name: str
    snapshot: str
    effort: str | None = None
    top_p: float = 1.0
    retention: str = "in_memory"
    turns: str | None = None
    efforts: tuple[str, ...] = ()
    verbosities: tuple[str, ...] = ("low", "medium", "high")

    @property
    def reasons(self) -> bool:
        """Whether it is a reasoning model (`o…`, `gpt-5…` but the chat ones)."""
        return self.turns is not None


CLASSIC = ("low", "medium", "high")
FIVE = ("minimal", *CLASSIC)
FIVE_ONE = ("none", *CLASSIC)
FIVE_TWO = (*FIVE_ONE, "xhigh")
FIVE_SIX = (*FIVE_TWO, "max")
UNKNOWN: tuple[str, ...] = ()


def _plain(name: str, date: str) -> Model:
    return Model(name, f"{name}-{date}", verbosities=("medium",))


def _reasoning(
    name: str,
    date: str,
    effort: str,
    efforts: tuple[str, ...],
    *,
    top_p: float = 1.0,
    retention: str = "in_memory",
    turns: str = "current_turn",
    verbosities: tuple[str, ...] = ("low", "medium", "high"),
) -> Model:
    snapshot = f"{name}-{date}" if date[:1].isdigit() else date or name
    return Model(name, snapshot, effort, top_p, retention, turns, efforts, verbosities)


MODELS = {
    model.name: model
    for model in (
        _plain("gpt-4-turbo", "2024-04-09"),
        _plain("gpt-4o", "2024-08-06"),
        _plain("gpt-4o-mini", "2024-07-18"),
        _plain("gpt-4.1", "2025-04-14"),
        _plain("gpt-4.1-mini", "2025-04-14"),
        _plain("gpt-4.1-nano", "2025-04-14"),
        _reasoning("computer-use-preview", "2025-03-11", "medium", UNKNOWN),
        _reasoning("o1", "2024-12-17", "medium", UNKNOWN),
        _reasoning("o3", "2025-04-16", "medium", CLASSIC),
        _reasoning("o3-mini", "2025-01-31", "medium", CLASSIC),
        _reasoning("o3-deep-research", "2025-06-26", "medium", UNKNOWN),
        _reasoning("o4-mini", "2025-04-16", "medium", CLASSIC),
        _reasoning("o4-mini-deep-research", "2025-06-26", "medium", UNKNOWN),
        _reasoning("gpt-5", "2025-08-07", "medium", FIVE),
        _reasoning("gpt-5-mini", "2025-08-07", "medium", FIVE),
        _reasoning("gpt-5-nano", "2025-08-07", "medium", FIVE),
        _reasoning("gpt-5-codex", "", "medium", CLASSIC, verbosities=("medium",)),
        _reasoning("gpt-5.1", "2025-11-13", "none", FIVE_ONE),
        _reasoning("gpt-5.2", "2025-12-11", "none", FIVE_TWO, top_p=0.98),
        _reasoning("gpt-5.2-codex", "", "medium", UNKNOWN, top_p=0.98),
        _reasoning("gpt-5.2-pro", "2025-12-11", "medium", UNKNOWN, top_p=0.98),
        _reasoning("gpt-5.2-chat-latest", "", "medium", UNKNOWN, top_p=0.85),
        _reasoning("gpt-5.3-codex", "", "medium", UNKNOWN, top_p=0.98),
        _reasoning("gpt-5.3-codex-spark", "", "medium", UNKNOWN, top_p=0.98),
        _reasoning("gpt-5.4", "2026-03-05", "none", FIVE_TWO, top_p=0.98, retention="24h"),
        _reasoning("gpt-5.4-mini", "2026-03-17", "none", FIVE_TWO, top_p=0.98, retention="24h"),
        _reasoning("gpt-5.4-nano", "2026-03-17", "none", FIVE_TWO, top_p=0.98, retention="24h"),
        _reasoning("gpt-5.5", "2026-04-23", "medium", FIVE_TWO, top_p=0.98, retention="24h"),
        *(
            _reasoning(name, snapshot, "medium", efforts, top_p=0.98, retention="24h", turns="all_turns")
            for name, snapshot, efforts in (
                ("gpt-5.6", "gpt-5.6-sol", FIVE_SIX),
                ("gpt-5.6-sol", "", FIVE_SIX),
                ("gpt-5.6-luna", "", FIVE_SIX),
                ("gpt-5.6-terra", "", FIVE_SIX),
                ("gpt-6-luna", "", UNKNOWN),
                ("gpt-6-astra", "", UNKNOWN),
            )
        ),
    )
}

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@lru_cache(maxsize=512)
def known(name: str) -> Model | None:
    """The family of a listed model, by its name or dated; None for any other: nothing is known of its abilities."""
    return MODELS.get(name) or MODELS.get(_DATED.sub("", name))


@lru_cache(maxsize=512)
def model(name: str) -> Model:
    """The defaults a response echoes: a dated name is its own snapshot, an unlisted one borrows the nearest family's."""
    if name in MODELS:
        return MODELS[name]
    return replace(known(name) or _nearest(name), name=name, snapshot=name)


def _nearest(name: str) -> Model:
    for length in range(len(name), 1, -1):
        for known in MODELS.values():
            if known.name.startswith(name[:length]):
                return known
    return MODELS["gpt-4.1"]

"""What is known of each model family: its dated snapshot, the defaults a response echoes for it, what it cannot do.

Read from recorded responses of 2025-08 to 2026-10, and from reports of refusals. A name that is not listed is taken for
the family with the longest common prefix, answers under its own name, and has no ability held against it. `learn` adds a
family of your own or replaces one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)  # one is looked up by itself for every response
class Model:
    """One family: `effort` is the default reasoning effort, None for a model that does not reason.

    `efforts` are the ones it takes, empty where that is not known; `verbosities` the values of `text.verbosity` it takes.
    `lacks` are the types of tools it is known to refuse, `window` its context in tokens, None where that is not known.
    """

    name: str
    snapshot: str
    effort: str | None = None
    top_p: float = 1.0
    retention: str = "in_memory"
    turns: str | None = None
    efforts: tuple[str, ...] = ()
    verbosities: tuple[str, ...] = ("low", "medium", "high")
    lacks: frozenset[str] = frozenset()
    schemas: bool = True
    summaries: bool = True
    window: int | None = None

    @property
    def reasons(self) -> bool:
        """Whether it is a reasoning model (`o…`, `gpt-5…` but the chat ones)."""
        return self.turns is not None


CLASSIC = ("low", "medium", "high")
FIVE = ("minimal", *CLASSIC)
FIVE_ONE = ("none", *CLASSIC)
FIVE_TWO = (*FIVE_ONE, "xhigh")
FIVE_SIX = (*FIVE_TWO, "max")
CODEX = (*CLASSIC, "xhigh")
ASTRA = (*CODEX, "max")
UNKNOWN: tuple[str, ...] = ()


MEDIUM = ("medium",)


SEARCH = frozenset({"web_search", "web_search_preview"})
COMPUTER = frozenset({"computer_use_preview"})
TOOL_SEARCH = frozenset({"tool_search"})


def _plain(name: str, date: str, window: int, *, lacks: frozenset[str] = frozenset(), schemas: bool = True) -> Model:
    return Model(name, f"{name}-{date}", verbosities=("medium",), lacks=lacks, schemas=schemas, window=window)


def _reasoning(
    name: str,
    date: str,
    effort: str,
    efforts: tuple[str, ...],
    *,
    top_p: float = 1.0,
    retention: str = "in_memory",
    turns: str = "current_turn",
    **abilities: Any,
) -> Model:
    snapshot = f"{name}-{date}" if date[:1].isdigit() else date or name
    return Model(name, snapshot, effort, top_p, retention, turns, efforts, **abilities)


MODELS = {
    model.name: model
    for model in (
        # windows: the models' pages; refused tools and schemas: recordings of maruel/genai, public reports to 2026-09
        # tool_search: https://developers.openai.com/api/docs/guides/tools-tool-search and a report of 2026-07
        # efforts and verbosities: refusals quoted in public to 2026-10, say https://github.com/openai/codex/issues/6647
        _plain("gpt-3.5-turbo", "0125", 16_385, schemas=False),
        _plain("gpt-4", "0613", 8_192, lacks=SEARCH, schemas=False),
        _plain("gpt-4-turbo", "2024-04-09", 128_000, lacks=SEARCH, schemas=False),
        _plain("gpt-4o", "2024-08-06", 128_000),
        _plain("gpt-4o-mini", "2024-07-18", 128_000, lacks=TOOL_SEARCH),
        _plain("gpt-4.1", "2025-04-14", 1_047_576, lacks=TOOL_SEARCH),
        _plain("gpt-4.1-mini", "2025-04-14", 1_047_576, lacks=TOOL_SEARCH),
        _plain("gpt-4.1-nano", "2025-04-14", 1_047_576),
        _reasoning("computer-use-preview", "2025-03-11", "medium", UNKNOWN),
        _reasoning("o1", "2024-12-17", "medium", UNKNOWN, window=200_000),
        _reasoning("o3", "2025-04-16", "medium", CLASSIC, window=200_000),
        _reasoning("o3-mini", "2025-01-31", "medium", CLASSIC, window=200_000),
        _reasoning("o3-deep-research", "2025-06-26", "medium", UNKNOWN, schemas=False, window=200_000),
        _reasoning("o4-mini", "2025-04-16", "medium", CLASSIC, window=200_000),
        _reasoning("o4-mini-deep-research", "2025-06-26", "medium", UNKNOWN, schemas=False, window=200_000),
        _reasoning("gpt-5", "2025-08-07", "medium", FIVE, lacks=TOOL_SEARCH | {"shell"}, window=400_000),
        _reasoning("gpt-5-mini", "2025-08-07", "medium", FIVE, lacks=frozenset({"shell"}), window=400_000),
        _reasoning("gpt-5-nano", "2025-08-07", "medium", FIVE, window=400_000),
        Model("gpt-5-chat-latest", "gpt-5-chat-latest", lacks=SEARCH, verbosities=MEDIUM, window=128_000),
        _reasoning("gpt-5-codex", "", "medium", CLASSIC, verbosities=MEDIUM, window=400_000),
        _reasoning("gpt-5.1", "2025-11-13", "none", FIVE_ONE, lacks=TOOL_SEARCH, window=400_000),
        _reasoning("gpt-5.1-codex", "", "medium", CLASSIC, verbosities=MEDIUM),
        _reasoning("gpt-5.1-codex-mini", "", "medium", CLASSIC, verbosities=MEDIUM),
        _reasoning("gpt-5.1-codex-max", "", "medium", CODEX, verbosities=MEDIUM),
        _reasoning("gpt-5.1-chat-latest", "", "medium", MEDIUM),
        _reasoning("gpt-5.2", "2025-12-11", "none", FIVE_TWO, top_p=0.98, retention="24h", window=400_000),
        _reasoning("gpt-5.2-codex", "", "medium", CODEX, top_p=0.98, verbosities=MEDIUM),
        _reasoning("gpt-5.2-pro", "2025-12-11", "medium", UNKNOWN, top_p=0.98),
        _reasoning("gpt-5.2-chat-latest", "", "medium", MEDIUM, top_p=0.85),
        _reasoning("gpt-5.3-chat-latest", "", "medium", MEDIUM, top_p=0.85),
        _reasoning("gpt-5.3-codex", "", "medium", FIVE_TWO, top_p=0.98),
        _reasoning(
            *("gpt-5.3-codex-spark", "", "medium", CODEX),
            top_p=0.98,
            lacks=frozenset({"image_generation"}),
            summaries=False,
        ),
        _reasoning("gpt-5.4", "2026-03-05", "none", FIVE_TWO, top_p=0.98, retention="24h", lacks=COMPUTER),
        _reasoning("gpt-5.4-mini", "2026-03-17", "none", FIVE_TWO, top_p=0.98, retention="24h"),
        _reasoning(
            *("gpt-5.4-nano", "2026-03-17", "none", FIVE_TWO),
            top_p=0.98,
            retention="24h",
            lacks=TOOL_SEARCH,
        ),
        _reasoning("gpt-5.5", "2026-04-23", "medium", FIVE_TWO, top_p=0.98, retention="24h", lacks=COMPUTER),
        *(
            _reasoning(name, snapshot, "medium", efforts, top_p=0.98, retention="24h", turns="all_turns", lacks=lacks)
            for name, snapshot, efforts, lacks in (
                ("gpt-5.6", "gpt-5.6-sol", FIVE_SIX, frozenset()),
                ("gpt-5.6-sol", "", FIVE_SIX, frozenset()),
                ("gpt-5.6-luna", "", FIVE_SIX, frozenset()),
                ("gpt-5.6-terra", "", FIVE_SIX, frozenset()),
                ("gpt-6-luna", "", FIVE_SIX, frozenset()),
                ("gpt-6-sol", "", UNKNOWN, frozenset()),
                ("gpt-6.1-sol", "", UNKNOWN, frozenset()),
                ("gpt-6.1-terra", "", UNKNOWN, frozenset()),
                ("gpt-6-astra", "", ASTRA, COMPUTER),
            )
        ),
    )
}

NO_MODELS = frozenset({"gpt-5.3"})
"""Names that read like the API's but were refused by it (reported in 2026)."""

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_FOREIGN = re.compile(r"(gemini|gemma|claude|mistral|mixtral|codestral|llama|deepseek|grok|qwen|command-r)[-\d.].*")
_ABSENT = re.compile(r".*(\s|non-?exist|not-?exist|invalid|nope).*", re.IGNORECASE)


@lru_cache(maxsize=512)
def is_none_of_the_api(name: str) -> bool:
    """Whether a name is known to be no model of the API: another vendor's family, or one that says so of itself.

    Everything else may exist: fine-tunes, deployments, models to come, names of a router (`vendor/model`).
    """
    return bool(not name or name in NO_MODELS or _FOREIGN.fullmatch(name) or _ABSENT.fullmatch(name))


def learn(family: Model) -> None:
    """Add a family under its name, or replace the one of that name."""
    MODELS[family.name] = family
    known.cache_clear()
    model.cache_clear()


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

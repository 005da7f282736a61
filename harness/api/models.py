"""The model families: dated snapshots, the defaults that a response echoes, unsupported features.

Read from recorded responses of 2025-08 to 2026-10, and from reports of refusals. An unlisted name has the defaults of the
family with the longest common prefix, answers under its own name, and no feature is refused for it. Each World has its
own table; `mock.learn(Model(…))` adds a family to it, or replaces one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)  # a cache key, compared by identity
class Model:
    """A family: `effort` is the default reasoning effort, None for a model that does not reason.

    `efforts` are those that it supports, empty if unknown; `verbosities` the supported values of `text.verbosity`.
    `lacks` are the types of tools that it is known to refuse, `window` its context window in tokens, None if unknown.
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


CLASSIC_EFFORTS = ("low", "medium", "high")
GPT_5_EFFORTS = ("minimal", *CLASSIC_EFFORTS)
GPT_5_1_EFFORTS = ("none", *CLASSIC_EFFORTS)
GPT_5_2_EFFORTS = (*GPT_5_1_EFFORTS, "xhigh")
GPT_5_6_EFFORTS = (*GPT_5_2_EFFORTS, "max")
CODEX_EFFORTS = (*CLASSIC_EFFORTS, "xhigh")
ASTRA_EFFORTS = (*CODEX_EFFORTS, "max")
UNKNOWN_EFFORTS: tuple[str, ...] = ()


MEDIUM_ONLY = ("medium",)


MAX_CACHED = 512
"""The number of names that a table caches."""
WEB_SEARCH_TOOLS = frozenset({"web_search", "web_search_preview"})
COMPUTER_TOOLS = frozenset({"computer_use_preview"})
TOOL_SEARCH_TOOLS = frozenset({"tool_search"})


def _chat_model(
    name: str, date: str, window: int, *, lacks: frozenset[str] = frozenset(), schemas: bool = True
) -> Model:
    return Model(name, f"{name}-{date}", verbosities=("medium",), lacks=lacks, schemas=schemas, window=window)


def _reasoning_model(
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


_DATE_SUFFIX = re.compile(r"-\d{4}-\d{2}-\d{2}$")
FALLBACK_FAMILY = "gpt-4.1"
"""The family whose defaults a name has that shares no prefix with any other."""


class Models(Mapping[str, Model]):
    """An immutable table of families by name."""

    __slots__ = ("_defaults", "_families", "_found")

    def __init__(self, families: Iterable[Model]) -> None:
        self._families = {family.name: family for family in families}
        self._found: dict[str, Model | None] = {**self._families}
        self._defaults = {**self._families}

    def __getitem__(self, name: str) -> Model:
        return self._families[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._families)

    def __len__(self) -> int:
        return len(self._families)

    def with_family(self, family: Model) -> Models:
        """A copy of the table with this family, which replaces the one of its name."""
        return Models({**self._families, family.name: family}.values())

    def find(self, name: str) -> Model | None:
        """The family of a listed model, by its name with or without a date; None for any other name."""
        try:
            return self._found[name]
        except KeyError:
            family = self._families.get(_DATE_SUFFIX.sub("", name))
            return _cache(self._found, name, family)

    def defaults(self, name: str) -> Model:
        """The defaults that a response echoes: those of the family, or of the nearest one; a dated name is its snapshot."""
        try:
            return self._defaults[name]
        except KeyError:
            family = self.find(name) or self._nearest_family(name)
            return _cache(self._defaults, name, replace(family, name=name, snapshot=name))

    def _nearest_family(self, name: str) -> Model:
        """The first family that shares the longest beginning with a name, of two characters at least."""
        shared = {known: _count_shared(known, name) for known in self._families}
        nearest = max(shared, key=shared.__getitem__)
        return self._families[nearest if shared[nearest] > 1 else FALLBACK_FAMILY]


def _count_shared(one: str, other: str) -> int:
    """How many characters two names begin with in common."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _cache(table: dict[str, T], name: str, value: T) -> T:
    """The value itself, stored under the name unless the table is full."""
    if len(table) < MAX_CACHED:
        table[name] = value
    return value


MODELS = Models(
    (
        # windows: the models' pages; refused tools and schemas: recordings of maruel/genai, public reports to 2026-09
        # tool_search: https://developers.openai.com/api/docs/guides/tools-tool-search and a report of 2026-07
        # efforts and verbosities: refusals quoted in public to 2026-10, say https://github.com/openai/codex/issues/6647
        _chat_model("gpt-3.5-turbo", "0125", 16_385, schemas=False),
        _chat_model("gpt-4", "0613", 8_192, lacks=WEB_SEARCH_TOOLS, schemas=False),
        _chat_model("gpt-4-turbo", "2024-04-09", 128_000, lacks=WEB_SEARCH_TOOLS, schemas=False),
        _chat_model("gpt-4o", "2024-08-06", 128_000),
        _chat_model("gpt-4o-mini", "2024-07-18", 128_000, lacks=TOOL_SEARCH_TOOLS),
        _chat_model("gpt-4.1", "2025-04-14", 1_047_576, lacks=TOOL_SEARCH_TOOLS),
        _chat_model("gpt-4.1-mini", "2025-04-14", 1_047_576, lacks=TOOL_SEARCH_TOOLS),
        _chat_model("gpt-4.1-nano", "2025-04-14", 1_047_576),
        _reasoning_model("computer-use-preview", "2025-03-11", "medium", UNKNOWN_EFFORTS),
        _reasoning_model("o1", "2024-12-17", "medium", UNKNOWN_EFFORTS, window=200_000),
        _reasoning_model("o3", "2025-04-16", "medium", CLASSIC_EFFORTS, window=200_000),
        _reasoning_model("o3-mini", "2025-01-31", "medium", CLASSIC_EFFORTS, window=200_000),
        _reasoning_model("o3-deep-research", "2025-06-26", "medium", UNKNOWN_EFFORTS, schemas=False, window=200_000),
        _reasoning_model("o4-mini", "2025-04-16", "medium", CLASSIC_EFFORTS, window=200_000),
        _reasoning_model(
            "o4-mini-deep-research", "2025-06-26", "medium", UNKNOWN_EFFORTS, schemas=False, window=200_000
        ),
        _reasoning_model(
            "gpt-5", "2025-08-07", "medium", GPT_5_EFFORTS, lacks=TOOL_SEARCH_TOOLS | {"shell"}, window=400_000
        ),
        _reasoning_model(
            "gpt-5-mini", "2025-08-07", "medium", GPT_5_EFFORTS, lacks=frozenset({"shell"}), window=400_000
        ),
        _reasoning_model("gpt-5-nano", "2025-08-07", "medium", GPT_5_EFFORTS, window=400_000),
        Model(
            "gpt-5-chat-latest", "gpt-5-chat-latest", lacks=WEB_SEARCH_TOOLS, verbosities=MEDIUM_ONLY, window=128_000
        ),
        _reasoning_model("gpt-5-codex", "", "medium", CLASSIC_EFFORTS, verbosities=MEDIUM_ONLY, window=400_000),
        _reasoning_model("gpt-5.1", "2025-11-13", "none", GPT_5_1_EFFORTS, lacks=TOOL_SEARCH_TOOLS, window=400_000),
        _reasoning_model("gpt-5.1-codex", "", "medium", CLASSIC_EFFORTS, verbosities=MEDIUM_ONLY),
        _reasoning_model("gpt-5.1-codex-mini", "", "medium", CLASSIC_EFFORTS, verbosities=MEDIUM_ONLY),
        _reasoning_model("gpt-5.1-codex-max", "", "medium", CODEX_EFFORTS, verbosities=MEDIUM_ONLY),
        _reasoning_model("gpt-5.1-chat-latest", "", "medium", MEDIUM_ONLY),
        _reasoning_model("gpt-5.2", "2025-12-11", "none", GPT_5_2_EFFORTS, top_p=0.98, retention="24h", window=400_000),
        _reasoning_model("gpt-5.2-codex", "", "medium", CODEX_EFFORTS, top_p=0.98, verbosities=MEDIUM_ONLY),
        _reasoning_model("gpt-5.2-pro", "2025-12-11", "medium", UNKNOWN_EFFORTS, top_p=0.98),
        _reasoning_model("gpt-5.2-chat-latest", "", "medium", MEDIUM_ONLY, top_p=0.85),
        _reasoning_model("gpt-5.3-chat-latest", "", "medium", MEDIUM_ONLY, top_p=0.85),
        _reasoning_model("gpt-5.3-codex", "", "medium", GPT_5_2_EFFORTS, top_p=0.98),
        _reasoning_model(
            *("gpt-5.3-codex-spark", "", "medium", CODEX_EFFORTS),
            top_p=0.98,
            lacks=frozenset({"image_generation"}),
            summaries=False,
        ),
        _reasoning_model(
            "gpt-5.4", "2026-03-05", "none", GPT_5_2_EFFORTS, top_p=0.98, retention="24h", lacks=COMPUTER_TOOLS
        ),
        _reasoning_model("gpt-5.4-mini", "2026-03-17", "none", GPT_5_2_EFFORTS, top_p=0.98, retention="24h"),
        _reasoning_model(
            *("gpt-5.4-nano", "2026-03-17", "none", GPT_5_2_EFFORTS),
            top_p=0.98,
            retention="24h",
            lacks=TOOL_SEARCH_TOOLS,
        ),
        _reasoning_model(
            "gpt-5.5", "2026-04-23", "medium", GPT_5_2_EFFORTS, top_p=0.98, retention="24h", lacks=COMPUTER_TOOLS
        ),
        *(
            _reasoning_model(
                name, snapshot, "medium", efforts, top_p=0.98, retention="24h", turns="all_turns", lacks=lacks
            )
            for name, snapshot, efforts, lacks in (
                ("gpt-5.6", "gpt-5.6-sol", GPT_5_6_EFFORTS, frozenset()),
                ("gpt-5.6-sol", "", GPT_5_6_EFFORTS, frozenset()),
                ("gpt-5.6-luna", "", GPT_5_6_EFFORTS, frozenset()),
                ("gpt-5.6-terra", "", GPT_5_6_EFFORTS, frozenset()),
                ("gpt-6-luna", "", GPT_5_6_EFFORTS, frozenset()),
                ("gpt-6-sol", "", UNKNOWN_EFFORTS, frozenset()),
                ("gpt-6.1-sol", "", UNKNOWN_EFFORTS, frozenset()),
                ("gpt-6.1-terra", "", UNKNOWN_EFFORTS, frozenset()),
                ("gpt-6-astra", "", ASTRA_EFFORTS, COMPUTER_TOOLS),
            )
        ),
    )
)
"""The families of the API."""

NONEXISTENT_MODELS = frozenset({"gpt-5.3"})
"""Plausible names that the API refused (reported in 2026)."""

_OTHER_VENDOR = re.compile(
    r"(gemini|gemma|claude|mistral|mixtral|codestral|llama|deepseek|grok|qwen|command-r)[-\d.].*"
)
_INVENTED_NAME = re.compile(r".*(\s|non-?exist|not-?exist|invalid|nope).*", re.IGNORECASE)


@lru_cache(maxsize=512)
def is_nonexistent_model(name: str) -> bool:
    """Whether the API has no such model: another vendor's family, or a name like `gpt-nonexistent`.

    Everything else may exist: fine-tunes, deployments, future models, names of a router (`vendor/model`).
    """
    return bool(
        not name or name in NONEXISTENT_MODELS or _OTHER_VENDOR.fullmatch(name) or _INVENTED_NAME.fullmatch(name)
    )

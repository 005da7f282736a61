"""The model families: what each can do, the defaults that a response echoes, names that do not exist.

The facts come from `model_facts.json` (`harness.api.model_facts`). An unlisted name has the defaults of the family with the
longest common prefix, answers under its own name, and no feature is refused for it. Each World has its own table;
`mock.add_model(Model(…))` adds a family to it, or replaces one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, TypeVar

from harness.api.model_facts import find_shutdown, read_table, refused_tools
from harness.core.dates import CONTRACT_DATE
from harness.core.registry import MAX_COMPARED
from harness.core.text import count_shared

_WORD = re.compile(r"[A-Za-z]+")
_SHORTEST_WORD = 3
_OWN_WORDS = frozenset({"code", "lunar", "astral", "terran"})
"""Words one slip from a word in a model's name that mean something else: `gpt-5-code` is not `gpt-5-codex`."""

Shape = tuple[str, ...]
NamesByShape = Mapping[Shape, Sequence[str]]
"""Known names, grouped by the separators around their words."""


def group_by_shape(names: Iterable[str]) -> NamesByShape:
    """Group names by shape, within which slips are searched."""
    groups: dict[Shape, list[str]] = {}
    for name in names:
        groups.setdefault(_shape(name), []).append(name)
    return groups


def find_meant(name: str, known: NamesByShape) -> str | None:
    """Return the known name that differs from a name by one slip, or None."""
    words = _WORD.findall(name)
    for correct in known.get(_shape(name), ()):
        differing = [
            (place, word, meant)
            for place, (word, meant) in enumerate(zip(words, _WORD.findall(correct), strict=True))
            if word != meant
        ]
        if len(differing) == 1 and _is_slip(*differing[0]):
            return correct
    return None


def _shape(name: str) -> Shape:
    """Return the text before, between and after the words of a name."""
    return tuple(_WORD.split(name))


def _is_slip(place: int, word: str, meant: str) -> bool:
    """Return whether a word is one slip from the meant one; `place` is its index in the name."""
    if len(meant) < _SHORTEST_WORD or word.lower() == meant.lower() or word in _OWN_WORDS:
        return False
    if _has_swapped_letters(word, meant):
        return True
    if place and (len(meant) == _SHORTEST_WORD or word[0] != meant[0]):
        return False
    if len(word) == len(meant):
        return sum(letter != due for letter, due in zip(word, meant, strict=True)) == 1
    if len(word) == len(meant) + 1:
        is_doubled = word[0] == word[1]
        return any(word[:index] + word[index + 1 :] == meant for index in range(0 if is_doubled else 1, len(word)))
    return any(meant[:index] + meant[index + 1 :] == word for index in range(len(meant)))


def _has_swapped_letters(word: str, meant: str) -> bool:
    """Return whether only two neighbouring letters are swapped."""
    if len(word) != len(meant):
        return False
    first = next((index for index in range(len(word)) if word[index] != meant[index]), len(word))
    return word[first:] == meant[first : first + 2][::-1] + meant[first + 2 :] != meant[first:]


T = TypeVar("T")
When = Literal["always", "effort none", "never", "unknown"]
"""When a reasoning model accepts sampling parameters or returns logprobs."""

MAX_CACHED = 512
"""The number of names cached per table."""
FALLBACK_FAMILY = "gpt-4.1"
"""The family with the defaults for a name that shares no prefix with any other."""
_BEFORE_GPT_6 = ("gpt-3", "gpt-4", "gpt-5", "chatgpt-4o", "o1", "o3", "o4", "codex-mini", "computer-use")
_DATE_SUFFIX = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True, eq=False)  # a cache key, compared by identity
class Model:
    """A family: `effort` is the default reasoning effort, None for a model that does not reason.

    `turns` is the default of `reasoning.context`, None for a model that does not reason. Empty tuples mean unknown: any
    value is accepted. `lacks` holds the types of tools that it is known to refuse; `window` and `max_output` are in
    tokens, None if unknown. A request needs one of `needs_tools` and may have no tools but `only_tools`. `gone` is the
    day (YYYY-MM-DD) from which it is refused as not found, `removed` the day from which its name does not exist, `withholds`
    the day from which it does not get reasoning that follows an edit. Of a
    `name_only` family only the name is known. One that is not `found` is not a model of the Responses API.
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
    schema_unions: bool = True
    summaries: bool = True
    window: int | None = None
    max_output: int | None = None
    names: tuple[str, ...] = ()
    served: bool = True
    found: bool = True
    flex: bool = True
    gone: str = ""
    removed: str = ""
    mode: str = "standard"
    modes: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    summary_values: tuple[str, ...] = ()
    retention_since: str = ""
    retentions: tuple[str, ...] = ()
    sampling: When = "effort none"
    logprobs: When = "effort none"
    search_filters: bool = True
    cache_options: bool = True
    configuration_updates: bool = True
    added_choice: bool = True
    images: bool = True
    needs_tools: tuple[str, ...] = ()
    only_tools: tuple[str, ...] = ()
    encrypts: bool = False
    name_only: bool = False

    @property
    def precedes_gpt_6(self) -> bool:
        """Whether the name says that it is older than GPT-6; aliases, such as `gpt-daybreak-red-latest`, do not say."""
        return self.name.startswith(_BEFORE_GPT_6)

    truncations: tuple[str, ...] = ()
    withholds: str = ""

    def has_ended(self, day: str) -> bool:
        """Return whether the model is gone on a day (YYYY-MM-DD)."""
        return any("" < end <= day for end in self.ends)

    @property
    def ends(self) -> tuple[str, str]:
        """The first day without the model, and the first day its name is unknown; empty while it is served."""
        return self.gone, self.removed

    @property
    def reasons(self) -> bool | None:
        """Whether it is a reasoning model (`o…`, `gpt-5…` except the chat ones); None if unknown."""
        return None if self.name_only else self.turns is not None


class Models(Mapping[str, Model]):
    """An immutable table of families by name."""

    __slots__ = ("_defaults", "_families", "_found", "_meant", "_published", "_shapes")

    def __init__(self, families: Iterable[Model] | None = None) -> None:
        """Make a table of these families; without any, the API's are loaded on first use."""
        self._published = families is None
        self._families: dict[str, Model] = {family.name: family for family in families or ()}
        self._found: dict[str, Model | None] = dict(_by_every_name(self._families))
        self._defaults: dict[str, Model] = {}
        self._meant: dict[str, str | None] = {}
        self._shapes: NamesByShape | None = None

    def __getitem__(self, name: str) -> Model:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def with_family(self, family: Model) -> Models:
        """Return a copy of the table with this family, replacing the one of its name."""
        return Models({**self._all(), family.name: family}.values())

    def find(self, name: str) -> Model | None:
        """Return the family of a listed model, by any of its names, with or without a date; None for any other name."""
        try:
            return self._found[name]
        except KeyError:
            family = self._all().get(name) or self._found.get(_DATE_SUFFIX.sub("", name))
            return _cache(self._found, name, family)

    def find_meant(self, name: str) -> str | None:
        """Return the served model that an unlisted name is one slip from: `gpt-4.1` for `gtp-4.1`."""
        try:
            return self._meant[name]
        except KeyError:
            meant = None if self.find(name) else self._find_slip(name) or self._find_slip(_DATE_SUFFIX.sub("", name))
            return _cache(self._meant, name, meant)

    def _find_slip(self, name: str) -> str | None:
        if self._shapes is None:
            served = [family for family in self._all().values() if family.served and family.found]
            self._shapes = group_by_shape({alias: None for family in served for alias in (family.name, *family.names)})
        return find_meant(name, self._shapes)

    def defaults(self, name: str) -> Model:
        """Find the defaults that a response echoes, of the family or the nearest one; a dated name is its snapshot."""
        try:
            return self._defaults[name]
        except KeyError:
            families, family = self._all(), self.find(name)
            if family is None or family.name_only:
                family = self._nearest_family(name)
            own = (
                family
                if name in families and not families[name].name_only
                else replace(family, name=name, snapshot=name)
            )
            return _cache(self._defaults, name, own)

    def _all(self) -> dict[str, Model]:
        if self._published and not self._families:
            families = {name: _build_family(name, facts) for name, facts in read_table()["families"].items()}
            self._found.update(_by_every_name(families))
            self._families = families  # last: another thread may be reading
        return self._families

    def _nearest_family(self, name: str) -> Model:
        """Return the first family with the longest common prefix with a name, of at least two characters."""
        shared = {
            candidate: count_shared(candidate, name)
            for candidate, family in self._all().items()
            if not family.name_only
        }
        nearest = max(shared, key=shared.__getitem__)
        return self._families[nearest if shared[nearest] > 1 else FALLBACK_FAMILY]


def _by_every_name(families: Mapping[str, Model]) -> Iterator[tuple[str, Model]]:
    """Yield each name with its family; a family's own name overrides an alias."""
    yield from ((alias, family) for family in families.values() for alias in family.names)
    yield from families.items()


_MEMBERS = frozenset(field.name for field in fields(Model))
_MEMBER_OF_FACT = {
    "configuration_update": "configuration_updates",
    "input.image": "images",
    "json_schema": "schemas",
    "summaries": "summary_values",
    "temperature": "sampling",
    "web_search.filters": "search_filters",
}
"""The members of a family that have another name than their fact."""


def _build_family(name: str, facts: Mapping[str, Sequence[Any]]) -> Model:
    """Build the family described by the facts (value, then sources); nothing is refused without a fact."""
    values = {fact: tuple(value) if isinstance(value, list) else value for fact, (value, *_) in facts.items()}
    own = {_MEMBER_OF_FACT.get(fact, fact): value for fact, value in values.items()}
    members: dict[str, Any] = {
        "snapshot": name,
        **dict.fromkeys(("sampling", "logprobs"), "unknown"),
        **{member: value for member, value in own.items() if member in _MEMBERS},
        "turns": values.get("context", "current_turn") if values.get("reasons") else None,
        "lacks": refused_tools(facts),
        "summaries": values.get("summaries") != (),
        "name_only": values.get("reasons") is None,
    }
    return Model(name, **members)


def _cache(table: dict[str, T], name: str, value: T) -> T:
    """Cache a value under a name, unless the table is full, and return it."""
    if len(table) < MAX_CACHED:
        table[name] = value
    return value


MODELS = Models()


def is_forecast_gone(name: str, day: str) -> bool:
    """Return whether a model's shutdown is announced for a day after CONTRACT_DATE, or for one before it."""
    return day > CONTRACT_DATE and (shutdown := find_shutdown(name)) is not None and shutdown.day <= day


_OTHER_VENDOR = re.compile(
    r"(gemini|gemma|claude|mistral|mixtral|codestral|llama|deepseek|grok|qwen|command-r)[-\d.].*"
)
_INVENTED_NAME = re.compile(r".*(\s|non-?exist|not-?exist|invalid|nope).*", re.IGNORECASE)


def is_of_other_vendor(name: str) -> bool:
    """Return whether a name is that of another vendor's model: `claude-sonnet-4-5`."""
    return bool(_OTHER_VENDOR.fullmatch(name))


@lru_cache(maxsize=512)
def is_nonexistent_model(name: str) -> bool:
    """Return whether the API has no such model: a refused name, another vendor's, or one like `gpt-nonexistent`.

    Anything else may exist: fine-tunes, deployments, future models, a router's names (`vendor/model`).
    """
    return bool(
        not name or name in read_table()["nonexistent"] or is_of_other_vendor(name) or _INVENTED_NAME.fullmatch(name)
    )


def suggest_model(name: str) -> str:
    """Return `; did you mean x?` for a name that is near one of the table's, else nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name[:MAX_COMPARED], MODELS, 1, cutoff=0.9)
    return f"; did you mean {near[0]}?" if near else ""

"""The facts about each model family in `model_facts.json`, each with its sources.

A family is an entry of names and facts, one fact per line: its value, then its sources, best first. A source says how
it is known (`recorded`, `reported`, `documented`, `typed`, `assumed`), where, and when. Anything missing is unknown,
and nothing is refused because of it.

A shutdown is announced per name (`shutdowns`: the day, the replacement or "", sources); `gone` is one that was observed.
`prices` are per name, too: the newest first, each the day of its change or "", dollars per million tokens of input, cached
input, input written to the cache, and output, and the tokens above which an input is long.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

MODELS_FILE = Path(__file__).with_name("model_facts.json")
_DATED_SOURCE = re.compile(r"(\w+) (.*?)(?: (\d{4}(?:-\d\d){0,2}))?")
_SNAPSHOT = re.compile(r"-\d{4}-\d\d-\d\d$")
_TOOL = "tool."

FACTS: Mapping[str, str] = {
    "names": "ids, snapshots and aliases",
    "snapshot": "the `model` of its answers",
    "served": "served by the Responses API",
    "found": "its name is found by the Responses API",
    "gone": "the day from which it is 404",
    "removed": "the day from which its name does not exist",
    "window": "context window, tokens",
    "max_output": "most output, tokens",
    "reasons": "it is a reasoning model",
    "effort": "the default of `reasoning.effort`",
    "efforts": "values of `reasoning.effort`",
    "mode": "the default of `reasoning.mode`",
    "modes": "values of `reasoning.mode`",
    "context": "the default of `reasoning.context`",
    "contexts": "values of `reasoning.context`",
    "withholds": "the day from which it does not get reasoning that follows an edit",
    "summaries": "values of `reasoning.summary`",
    "temperature": "when it takes sampling parameters",
    "logprobs": "when it gives logprobs",
    "top_p": "the default of `top_p`",
    "verbosities": "values of `text.verbosity`",
    "json_schema": "structured output",
    "schema_unions": "unions at the top of a function's parameters",
    "encrypted_content": "encrypted reasoning (`include`)",
    "encrypts": "encrypted reasoning in every answer",
    "retention": "the default of `prompt_cache_retention`",
    "retention_since": "the day since when it is that default, `in_memory` before",
    "retentions": "values of `prompt_cache_retention`",
    "cache_options": "`prompt_cache_options` and breakpoints",
    "configuration_update": "`configuration_update` as an input item",
    "added_choice": "`tool_choice` of a tool of `additional_tools`",
    "input.image": "images as input",
    "input.file": "files as input",
    "input.audio": "audio as input",
    "flex": "`service_tier: flex`",
    "background": "background responses",
    "truncation": "`truncation: auto`",
    "truncations": "values of `truncation`",
    "compaction": "`context_management`",
    "moderation": "moderation of input and output",
    "needs_tools": "it needs one of these tools",
    "only_tools": "it takes no other tools",
    "web_search.filters": "filters of `web_search`",
    **{
        f"{_TOOL}{kind}": f"the tool `{kind}`"
        for kind in (
            *("function", "custom", "deferred", "namespace", "tool_search", "programmatic_tool_calling"),
            *("web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp"),
            *("computer", "computer_use_preview", "shell", "local_shell", "apply_patch"),
        )
    },
}
"""All facts that a family may have, with their meaning, in display order."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A value and how it is known: its sources as in the file, best first."""

    value: Any
    sources: tuple[str, ...]

    @property
    def level(self) -> str:
        """The level of the best source: recorded, reported, documented, typed or assumed."""
        return self.sources[0].partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Shutdown:
    """An announced shutdown: its day, the recommended model or "", and its sources, best first."""

    day: str
    replacement: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The content of `model_facts.json`: the facts of each family, and the names that the API refused, with the source."""

    families: Mapping[str, Mapping[str, Fact]]
    nonexistent: Mapping[str, str]


def split_source(source: str) -> tuple[str, str, str]:
    """Split a source into level, place and date; the date may be empty."""
    found = _DATED_SOURCE.fullmatch(source)
    return (found[1], found[2], found[3] or "") if found else (source, "", "")


@cache
def read_table() -> Mapping[str, Any]:
    """Read the file: `families`, each with a list of value and sources per fact, `prices`, `shutdowns`, `nonexistent`."""
    table: Mapping[str, Any] = orjson.loads(MODELS_FILE.read_bytes())
    return table


@cache
def load_model_facts() -> ModelFacts:
    """Load the facts of the file with their sources."""
    table = read_table()
    families = {
        family: {name: Fact(value, tuple(sources)) for name, (value, *sources) in facts.items()}
        for family, facts in table["families"].items()
    }
    return ModelFacts(families, table["nonexistent"])


def find_shutdown(name: str) -> Shutdown | None:
    """Return the announced shutdown of a model, by its name; that of the base model for a fine-tuned one."""
    base = name.split(":")[1] if name.startswith("ft:") else name
    entry = find_by_name(read_table()["shutdowns"], base)
    return Shutdown(entry[0], entry[1], tuple(entry[2:])) if entry else None


def find_by_name(table: Mapping[str, Sequence[Any]], name: str) -> Sequence[Any] | None:
    """Return the entry of a model in a table by name; a snapshot without one has that of its alias."""
    return table.get(name) or table.get(_SNAPSHOT.sub("", name))


def refused_tools(facts: Mapping[str, Sequence[Any]]) -> frozenset[str]:
    """Return the types of tools that a family of the table is known to refuse."""
    return frozenset(name[len(_TOOL) :] for name, fact in facts.items() if fact[0] is False and name.startswith(_TOOL))

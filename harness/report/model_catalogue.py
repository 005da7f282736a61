"""The table of models as documentation: rows, a page per family, JSON, and how much of it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.api.model_facts import FACTS, Fact, load_model_facts, split_source
from harness.core.exchange import Json

LEVELS = ("recorded", "reported", "documented", "typed", "assumed")
_NOT_OF_RESPONSES = frozenset({"served", "found"})
"""Facts of models that the Responses API does not serve; no other facts matter for them."""
_EXCLUSIVE = frozenset(
    {"served", "found", "gone", "removed", "shutdown", "needs_tools", "only_tools", "web_search.filters"}
)
"""Facts that only some families have; a family without them is not incomplete."""
_OF_REASONING = frozenset({"effort", "efforts", "mode", "modes", "context", "contexts", "summaries"})
_WIDTH = max(map(len, FACTS))


def model_row(family: str) -> dict[str, str]:
    """Summarize a family in one row: names, kind, tokens in and out, how many facts are known and open."""
    facts = load_model_facts().families[family]
    return {
        "family": family,
        "names": str(len(facts["names"].value)),
        "model": _describe_kind(facts),
        "window": _show(facts.get("window")),
        "output": _show(facts.get("max_output")),
        "known": str(len(facts)),
        "open": str(len(open_facts(facts))),
    }


def open_facts(facts: Mapping[str, Fact]) -> list[str]:
    """List the facts that could be known about a family but are not, in order."""
    reasons = facts.get("reasons")
    without = _OF_REASONING if reasons and reasons.value is False else frozenset()
    if not _NOT_OF_RESPONSES.isdisjoint(facts) or (reasons is None and "gone" in facts):
        return []
    return [name for name in FACTS if name not in facts and name not in _EXCLUSIVE and name not in without]


def model_sections(family: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a family's page: headings and lines."""
    facts = load_model_facts().families[family]
    known = [(name, facts[name]) for name in FACTS if name in facts]
    yield (
        "Known",
        [f"{name:<{_WIDTH}}  {format_value(fact.value)}  ({'; '.join(fact.sources)})" for name, fact in known],
    )
    yield "Open: nothing is refused for it", [f"{name:<{_WIDTH}}  {FACTS[name]}" for name in open_facts(facts)] or ["-"]


def model_json(family: str) -> Json:
    """Convert a family to JSON: its facts with their sources, and the names of the open ones."""
    facts = load_model_facts().families[family]
    known: Json = {}
    for name, fact in facts.items():
        sources = [dict(zip(("level", "where", "date"), split_source(source), strict=True)) for source in fact.sources]
        known[name] = {"value": fact.value, "sources": sources}
    return {"family": family, "facts": known, "open": open_facts(facts)}


def describe_model(family: str) -> str:
    """Describe a family by its other names."""
    facts = load_model_facts().families[family]
    others = [name for name in facts["names"].value if name != family]
    return f"Also {', '.join(others)}." if others else "It has no other name."


def coverage_rows(met: Mapping[str, Sequence[int]] | None = None) -> list[dict[str, str]]:
    """Return a row for each fact: in how many families it is known, by level, and open; with `met`, its recordings."""
    families = load_model_facts().families.values()
    rows = []
    for name in FACTS:
        levels = Counter(facts[name].level for facts in families if name in facts)
        row = {"fact": name, "known": str(levels.total()), **{level: _count(levels[level]) for level in LEVELS}}
        row["open"] = _count(sum(name in open_facts(facts) for facts in families))
        if met is not None:
            seen, right = met.get(name, (0, 0))
            row |= {"seen": _count(seen), "right": _count(right) if seen else "never met"}
        rows.append(row)
    return rows


def format_value(value: Any) -> str:
    """Format the value of a fact."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _describe_kind(facts: Mapping[str, Fact]) -> str:
    if "served" in facts:
        return "not served"
    if "gone" in facts:
        return f"gone since {facts['gone'].value}"
    reasons = facts.get("reasons")
    return "open" if reasons is None else "reasons" if reasons.value else "does not reason"


def _show(fact: Fact | None) -> str:
    return "" if fact is None else f"{fact.value:,}"


def _count(number: int) -> str:
    return str(number) if number else ""

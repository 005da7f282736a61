"""Rules, losses and models as documentation: a table row, a page, JSON."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import harness.analysis.losses
import harness.foundry  # noqa: F401  (registers every operation and rule)
from harness.analysis.loss import Loss
from harness.api.model_facts import FACTS, Fact, Shutdown, find_shutdown, load_model_facts, read_table, split_source
from harness.api.operations import OPERATIONS
from harness.contract.rule import LEVELS, Case, Rule, matches_operation
from harness.core.exchange import Json
from harness.core.registry import suggest_name
from harness.items.kind import Item


def rule_row(rule: Rule) -> dict[str, str]:
    """Summarize a rule in one row: id, area, evidence level, summary."""
    return {"id": rule.id, "area": rule.area, "level": rule.level, "summary": rule.summary}


def rule_sections(rule: Rule) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a rule's page: heading and lines."""
    error = rule.error
    yield "Applies to", ["every request"] if "*" in rule.on else list(_operation_ids(rule))
    if rule.dialects:
        yield "Only on", list(rule.dialects)
    if rule.since or rule.until:
        yield "When", [" ".join(f"{name} {day}" for name, day in (("since", rule.since), ("until", rule.until)) if day)]
    yield (
        "Error",
        [f"{error.status} {error.message}", f"type {error.type}, param {_name(error.param)}, code {_name(error.code)}"],
    )
    yield "Fix", [rule.fix or "no advice yet"]
    yield "Refused", [text for words, case in rule.rejects.items() for text in (_example_text(case), f"  {words}")]
    yield "Accepted", [_example_text(case) for case in rule.accepts] or ["no example"]
    yield "Evidence", [" ".join(filter(None, (source.level, source.where, source.date))) for source in rule.sources]


def _name(value: str | None) -> str:
    return "null" if value is None else value


def find_rules(rules: Iterable[Rule], words: Sequence[str]) -> list[Rule]:
    """Return the rules whose text, refusals, sources or advice contain all of these words, ignoring case."""
    texts = ((rule, _searched_text(rule)) for rule in rules)
    return [rule for rule, text in texts if all(word.lower() in text for word in words)]


def suggest_words(rules: Iterable[Rule], words: Sequence[str]) -> str:
    """Report which of the words no rule has, each with the nearest word of some rule."""
    texts = [_searched_text(rule) for rule in rules]
    known = sorted({word for text in texts for word in _WORD.findall(text)})
    missing = [word for word in words if not any(word.lower() in text for text in texts)]
    unknown = [f"{word!r} is in none. {suggest_name(word.lower(), known)}" for word in missing]
    return " ".join(unknown) or "Each is in some rule; use fewer."


_WORD = re.compile(r"[a-z_][\w.-]{2,}")


def _searched_text(rule: Rule) -> str:
    error = rule.error
    said = (rule.id, rule.area, rule.level, rule.doc, error.message, error.param, error.code, rule.fix, *rule.rejects)
    known = (text for source in rule.sources for text in (source.level, source.where, source.date))
    return " ".join(str(text) for text in (*said, *known) if text).lower()


def loss_row(loss: Loss) -> dict[str, str]:
    """Summarize a loss in one row: id, area, `when` it is searched for (always, or only if strict), summary."""
    return {"id": loss.id, "area": loss.area, "when": "strict" if loss.strict else "always", "summary": loss.summary}


def loss_sections(loss: Loss) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a loss's page: heading and lines."""
    yield "Message", [loss.message]
    yield "Fix", [loss.fix]
    yield "Lost", [_example_text(case) for case in loss.loses]
    yield "Kept", [_example_text(case) for case in loss.keeps]


def loss_json(loss: Loss) -> Json:
    """Convert a loss to JSON."""
    examples = {
        "loses": [_example_json(case) for case in loss.loses],
        "keeps": [_example_json(case) for case in loss.keeps],
    }
    return {**loss_row(loss), "doc": loss.doc, "message": loss.message, **examples, "fix": loss.fix}


def _example_text(case: Case) -> str:
    return json.dumps(_example_json(case), ensure_ascii=False)


def rule_json(rule: Rule) -> Json:
    """Convert a rule to JSON."""
    error = rule.error
    return {
        **rule_row(rule),
        "doc": rule.doc,
        "on": list(_operation_ids(rule)),
        "error": {"status": error.status, **error.members()},
        "rejects": [{"message": words, "request": _example_json(case)} for words, case in rule.rejects.items()],
        "accepts": [_example_json(case) for case in rule.accepts],
        "sources": [asdict(source) for source in rule.sources],
        "fix": rule.fix,
        "dialects": list(rule.dialects),
        "since": rule.since,
        "until": rule.until,
    }


def _operation_ids(rule: Rule) -> Iterator[str]:
    """Yield the operations that a rule applies to, with patterns resolved except `*`."""
    for on in rule.on:
        known = [] if on == "*" else [operation for operation in OPERATIONS if matches_operation([on], operation)]
        yield from known or [on]


def _example_json(case: Case) -> Any:
    """Convert an example to JSON: its body if it has nothing else, or else all members that are set."""
    special = {_JSON_NAMES.get(field.name, field.name): getattr(case, field.name) for field in fields(case)}
    special = {name: _to_json(value) for name, value in special.items() if value not in (None, (), "")}
    return special["body"] if set(special) == {"body"} else special


_JSON_NAMES = {"account": "given"}
"""Members of an example that have another name in JSON."""


def _to_json(value: Any) -> Any:
    """Convert any part of an example to JSON; for dataclasses only members that differ from their defaults."""
    if isinstance(value, Mapping):
        return {name: _to_json(member) for name, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json(part) for part in (value if isinstance(value, list | tuple) else sorted(value))]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Case):
        return _example_json(value)
    if isinstance(value, Item):
        return {"type": value.type, **value.members}
    if is_dataclass(value):
        return {
            field.name: _to_json(own) for field in fields(value) if (own := getattr(value, field.name)) != field.default
        }
    return value if isinstance(value, str | int | float | None) else str(value)


_NOT_OF_RESPONSES = frozenset({"served", "found"})
"""Facts of models that the Responses API does not serve; no other facts matter for them."""
_EXCLUSIVE = frozenset(
    {"served", "found", "gone", "removed", "needs_tools", "only_tools", "web_search.filters", "withholds"}
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
    if announced := _shutdowns_of(facts["names"].value):
        yield (
            "Announced shutdowns",
            [
                f"{name}  {shutdown.day}{f', use {shutdown.replacement}' * bool(shutdown.replacement)}"
                f"  ({'; '.join(shutdown.sources)})"
                for name, shutdown in announced.items()
            ],
        )
    if prices := list(_list_prices(facts["names"].value)):
        yield "Dollars per million tokens: input, cached, written to the cache, output", prices
    yield "Open: nothing is refused for it", [f"{name:<{_WIDTH}}  {FACTS[name]}" for name in open_facts(facts)] or ["-"]


def model_json(family: str) -> Json:
    """Convert a family to JSON: its facts with their sources, and the names of the open ones."""
    facts = load_model_facts().families[family]
    known: Json = {}
    for name, fact in facts.items():
        sources = [dict(zip(("level", "where", "date"), split_source(source), strict=True)) for source in fact.sources]
        known[name] = {"value": fact.value, "sources": sources}
    shutdowns = {name: asdict(shutdown) for name, shutdown in _shutdowns_of(facts["names"].value).items()}
    return {"family": family, "facts": known, "shutdowns": shutdowns, "open": open_facts(facts)}


def _list_prices(names: Sequence[str]) -> Iterator[str]:
    """Yield the prices of these names, the newest first, with their sources."""
    table = read_table()["prices"]
    for name in filter(table.__contains__, names):
        rows, *sources = table[name]
        for since, *prices in rows:
            day = f" from {since}" * bool(since)
            yield f"{name}{day}  {', '.join(f'{price:g}' for price in prices[:4])}  ({'; '.join(sources)})"


def _shutdowns_of(names: Sequence[str]) -> dict[str, Shutdown]:
    return {name: shutdown for name in names if (shutdown := find_shutdown(name))}


def describe_model(family: str) -> str:
    """Describe a family by its other names, or say that only the name is known."""
    facts = load_model_facts().families[family]
    others = [name for name in facts["names"].value if name != family]
    named = f"Also {', '.join(others)}." if others else "It has no other name."
    return f"{named} Nothing else is known of it, so nothing is refused for it." if len(facts) == 1 else named


def coverage_rows(met: Mapping[str, Sequence[int]] | None = None) -> list[dict[str, str]]:
    """Return a row for each fact: in how many families it is known, by level, and open; with `met`, its recordings."""
    families = load_model_facts().families.values()
    rows = []
    for name in FACTS:
        levels = Counter(facts[name].level for facts in families if name in facts)
        row = {"fact": name, "known": str(levels.total())}
        row |= {level: _count(levels[level]) for level in LEVELS}
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

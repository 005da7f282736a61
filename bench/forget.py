"""Makes the mock forget facts that recordings show, so that there is something to learn from them.

It can forget rules (so that it accepts what they refuse), members and values of schemas, and abilities of models (so
that it refuses both). This cannot be undone within a process.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar

import harness.foundry  # noqa: F401  (registers every rule)
from harness.api.model_facts import read_table
from harness.contract import schema
from harness.contract.rule import RULES
from harness.core.exchange import Json
from harness.overrides.observe import atoms_of

LISTED_FACTS = {
    "reasoning.effort": "efforts",
    "reasoning.mode": "modes",
    "reasoning.context": "contexts",
    "reasoning.summary": "summaries",
    "text.verbosity": "verbosities",
    "prompt_cache_retention": "retentions",
}
"""The facts that list the allowed values of a member."""
COMMON = 0.3
"""The maximum share of exchanges with a member or value to forget; without more common ones nothing could be judged."""
ESSENTIAL = ("type", "role", "input", "model", "content", "text", "function")


Chosen = TypeVar("Chosen", str, "Fact")


class Fact(NamedTuple):
    """An ability of a model family: a value of a list, or a tool (with an empty `value`)."""

    family: str
    name: str
    value: str = ""


class Forgotten(NamedTuple):
    """What is forgotten: ids of rules, names of members and values in schemas, facts about models."""

    rules: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


def choose_forgotten(exchanges: Iterable[Json], messages: Mapping[str, str], count: int, seed: int) -> Forgotten:
    """Choose `count` rules, names and facts each that these exchanges show.

    `messages` maps rules to the beginnings of their messages; an exchange has `request`, `response` and `status`.
    """
    families = {name: family for family, facts in read_table()["families"].items() for name in facts["names"][0]}
    names, facts, rules = Counter[str](), dict[Fact, None](), dict[str, None]()
    exchanges = list(exchanges)
    for exchange in exchanges:
        body, answer = exchange.get("request"), exchange.get("response")
        if exchange["status"] >= 400:
            error = answer.get("error") if isinstance(answer, dict) else None
            said = str(error.get("message")) if isinstance(error, dict) else ""
            rules |= dict.fromkeys(id for id, begin in messages.items() if said.startswith(begin))
        elif isinstance(body, dict):
            atoms = atoms_of(body)
            names.update(sorted({name for place, value in atoms for name in _names_in(place, value)}))
            facts |= dict.fromkeys(_facts_in(atoms, families.get(str(body.get("model")), "")))
    rare = [name for name, times in names.items() if 2 <= times <= COMMON * len(exchanges) and name not in ESSENTIAL]
    chance = random.Random(seed)

    def pick(known: Iterable[Chosen]) -> tuple[Chosen, ...]:
        ordered = sorted(known)
        return tuple(chance.sample(ordered, min(count, len(ordered))))

    return Forgotten(pick(rules), pick(rare), pick(facts))


def _names_in(place: str, value: Any) -> Iterable[str]:
    yield place.rpartition(".")[2].removesuffix("[]")
    if isinstance(value, str) and value not in ("text", "list") and place.endswith(("type", "status", "effort")):
        yield value


def _facts_in(atoms: Iterable[tuple[str, Any]], family: str) -> Iterable[Fact]:
    known = read_table()["families"].get(family, {})
    for place, value in atoms:
        fact = LISTED_FACTS.get(place, "")
        if fact in known and isinstance(known[fact][0], list) and value in known[fact][0]:
            yield Fact(family, fact, value)
        elif family and place == "tools[].type" and known.get(f"tool.{value}", [True])[0] is not False:
            yield Fact(family, f"tool.{value}")


def forget(forgotten: Forgotten) -> None:
    """Remove them from the mock of this process, which must not have handled any request yet."""
    for id in forgotten.rules:
        del RULES[id]
    families = read_table()["families"]
    for family, name, value in forgotten.facts:
        rest = False if not value else [member for member in families[family][name][0] if member != value]
        families[family][name] = [rest, "assumed forgotten"]
    load = schema._load_epoch
    if names := frozenset(forgotten.names):
        schema._load_epoch = cache(lambda root, epoch: _cut(load(root, epoch), names))


def _cut(node: Any, names: Collection[str]) -> Any:
    if isinstance(node, list):
        return [_cut(part, names) for part in node if not isinstance(part, str) or part not in names]
    if not isinstance(node, dict):
        return node
    kept = {name: _cut(part, names) for name, part in node.items()}
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: part for name, part in kept["properties"].items() if name not in names}
    return kept

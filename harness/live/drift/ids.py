"""Pairs recorded ids with those of the live API, so that later requests refer to objects that exist now."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from harness.verify.compare import map_strings

ID_MEMBERS = re.compile(r"(?:.*_)?id|encrypted_content")
"""Matches members whose values later requests may repeat."""


def translate_ids(value: Any, live_ids: Mapping[str, str]) -> Any:
    """Replace the recorded ids in a JSON value with live ones, also within longer strings."""
    return map_strings(value, lambda text: live_ids[text] if text in live_ids else _translate_text(text, live_ids))


def _translate_text(text: str, live_ids: Mapping[str, str]) -> str:
    for id in sorted((id for id in live_ids if len(id) > 5 and id in text), key=len, reverse=True):
        text = text.replace(id, live_ids[id])
    return text


def pair_ids(recorded: Any, live: Any) -> Iterator[tuple[str, str]]:
    """Yield each id in a recorded answer with the id in the same place of the live one; items are paired by type."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        for name in recorded.keys() & live.keys():
            before, after = recorded[name], live[name]
            if ID_MEMBERS.fullmatch(name) and isinstance(before, str) and isinstance(after, str):
                yield before, after
            yield from pair_ids(before, after)
    elif isinstance(recorded, list) and isinstance(live, list):
        for type, items in _group_by_type(recorded).items():
            for before, after in zip(items, _group_by_type(live).get(type, ()), strict=False):
                yield from pair_ids(before, after)


def ids_in(answer: Any) -> set[str]:
    """Collect the ids in an answer."""
    return {id for id, _ in pair_ids(answer, answer)}


def type_of(value: Any) -> str:
    """Return the type of an item or event; for an event of a run, its name."""
    return str(value.get("type", value.get("event", ""))) if isinstance(value, dict) else ""


def _group_by_type(values: list[Any]) -> Mapping[str, list[Any]]:
    grouped: dict[str, list[Any]] = defaultdict(list)
    for value in values:
        grouped[type_of(value)].append(value)
    return grouped

"""Writes overrides as the text that `contract/overrides_file.py` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import yaml

from harness.contract.overrides import AddedMember, AddedRefusal, Condition, Evidence, Exemption, Overrides
from harness.contract.overrides_file import FORMAT
from harness.contract.rule import CREATE_RESPONSE
from harness.core.exchange import Json

HEADER = """\
# What the API did in your recordings, and this release of responses-harness did not know: `harness learn` wrote it.
# Read it, change it, delete what you do not want: docs/learn.md says what each line means.
"""


class _ContractDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes no aliases."""

    def ignore_aliases(self, _: Any) -> bool:
        """Tell whether a value is written out again where it stands twice."""
        return True


def render_overrides(overrides: Overrides) -> str:
    """Render overrides as text."""
    parts: list[tuple[str, Sequence[Any], Callable[[Any], Json]]] = [
        ("exemptions", overrides.exemptions, _exemption_json),
        ("refusals", overrides.refusals, _refusal_json),
        ("members", overrides.members, _member_json),
    ]
    document = {"format": FORMAT} | {
        name: [write(entry) for entry in entries] for name, entries, write in parts if entries
    }
    return HEADER + yaml.dump(document, Dumper=_ContractDumper, sort_keys=False, allow_unicode=True, width=120)


def _exemption_json(entry: Exemption) -> Json:
    first: Json = {"rule": entry.rule, "at": entry.at, "words": dict(entry.words)}
    return _drop_empty({**first, **_condition_json(entry.condition), "seen": _seen_json(entry.seen)})


def _refusal_json(entry: AddedRefusal) -> Json:
    error = {"status": entry.error.status, **entry.error.members()}
    first: Json = {"error": error, "instead": entry.instead}
    return _drop_empty({**first, **_condition_json(entry.condition), "seen": _seen_json(entry.seen)})


def _member_json(entry: AddedMember) -> Json:
    return _drop_empty({"in": entry.root, "at": entry.at, "seen": _seen_json(entry.seen)})


def _condition_json(condition: Condition) -> Json:
    when = [
        _drop_empty({"at": member.at, "value": list(member.values), "is": list(member.kinds), "of": member.of})
        for member in condition.members
    ]
    dialect = condition.dialect if condition.dialect != "openai" else ""
    operation = condition.on if condition.on != CREATE_RESPONSE else ""
    return {"operation": operation, "dialect": dialect, "models": list(condition.models), "when": when}


def _seen_json(seen: Iterable[Evidence]) -> list[Json]:
    return [
        _drop_empty({"file": exchange.file, "exchange": exchange.exchange, "date": exchange.date}) for exchange in seen
    ]


def _drop_empty(entry: Json) -> Json:
    return {name: value for name, value in entry.items() if value not in ("", [], {})}

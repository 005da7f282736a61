"""What an adapter declares before its first task: its client and the client's abilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from harness.api.http.dialects import API_ROOTS
from harness.core.errors import Malformed
from harness.core.exchange import Json
from harness.core.registry import suggest_name
from harness.examine.case import AREAS, FEATURES, STATES

_KNOWN = {"areas": AREAS, "features": FEATURES, "states": STATES, "dialects": API_ROOTS, "streams": (False, True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The client's name and release, and what it supports: see `AREAS`, `FEATURES`, `STATES`.

    `states_of` limits the states of a feature that the client does not support in all of them. `hosted` are the types
    of hosted tools that it can send, None for any type.
    """

    client: str
    areas: frozenset[str] = frozenset(AREAS)
    features: frozenset[str] = frozenset()
    states: tuple[str, ...] = ("replay",)
    states_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dialects: tuple[str, ...] = ("openai",)
    streams: tuple[bool, ...] = (False, True)
    hosted: tuple[str, ...] | None = None

    def as_json(self) -> Json:
        """Return this declaration as JSON."""
        lists = {name: sorted(getattr(self, name)) for name in ("areas", "features")}
        rest = {name: list(getattr(self, name)) for name in ("states", "dialects", "streams")}
        states_of = {feature: list(states) for feature, states in self.states_of.items()}
        hosted = self.hosted and list(self.hosted)
        return {"client": self.client, **lists, **rest, "states_of": states_of, "hosted": hosted}

    @classmethod
    def from_json(cls, body: object) -> Declaration:
        """Read a declaration from JSON. Malformed names the wrong member."""
        if not isinstance(body, dict) or not isinstance(body.get("client"), str):
            raise Malformed('a declaration is an object with the name of the client: {"client": "openai 3.0.0", …}')
        known = [member.name for member in fields(cls)]
        for name, value in body.items():
            if name not in known:
                raise Malformed(f"a declaration has no member {name!r}. {suggest_name(name, known)}")
            if name in _KNOWN:
                _check_names(name, value, _KNOWN[name])
        hosted = body.get("hosted")
        if not (
            hosted is None or (isinstance(hosted, list) and all(isinstance(tool_type, str) for tool_type in hosted))
        ):
            raise Malformed("declaration.hosted must be a list of types of tools, or null for all")
        states_of = body.get("states_of", {})
        if not isinstance(states_of, dict):
            raise Malformed('declaration.states_of must be an object: {"guardrails": ["replay"]}')
        _check_names("states_of", list(states_of), FEATURES)
        for feature, states in states_of.items():
            _check_names(f"states_of.{feature}", states, STATES)
        made: dict[str, Any] = {"client": body["client"], "hosted": None if hosted is None else tuple(hosted)}
        made["states_of"] = {feature: tuple(states) for feature, states in states_of.items()}
        for name in _KNOWN:
            if name in body:
                made[name] = (frozenset if name in ("areas", "features") else tuple)(body[name])
        return cls(**made)


def _check_names(name: str, value: object, known: Iterable[object]) -> None:
    if not isinstance(value, list):
        raise Malformed(f"declaration.{name} must be a list")
    for element in value:
        if element not in known:
            raise Malformed(f"declaration.{name}: {element!r} is unknown. {suggest_name(element, map(str, known))}")

"""Walks two schema trees side by side: members by name, items, union branches by their key, or else by similarity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.exchange import Json

BOUND_KEYWORDS = (
    *("minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
)


SchemaNode = tuple[Any, str]
"""A schema and the JSON pointer to it."""


@dataclass(frozen=True, slots=True)
class SchemaAlternative:
    """One alternative that a schema allows, with references, unions and compositions resolved.

    `at` is the pointer to its keywords; `members` and `parts` (`items`, `additionalProperties`) are its children.
    """

    at: str
    keywords: Json
    members: Mapping[str, SchemaNode]
    parts: Mapping[str, SchemaNode]
    required: frozenset[str]

    @property
    def type(self) -> str:
        """The JSON type (an `integer` is a `number`); `any` without one."""
        named = self.keywords.get("type", "object" if self.members else "array" if "items" in self.parts else "any")
        names = [name for name in named if name != "null"] if isinstance(named, list) else [named]
        return "number" if names == ["integer"] else str(names[0]) if names else "null"

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of `enum` or `const`; empty without either."""
        return (self.keywords["const"],) if "const" in self.keywords else tuple(self.keywords.get("enum", ()))

    @property
    def name(self) -> str:
        """A short name for display: the key of the union, else the type."""
        return next(iter(map(str, self.constants("type") or self.constants("event"))), self.type)

    def constants(self, member: str) -> tuple[Any, ...]:
        """List the constant values of a member, without null."""
        return tuple(_constant_values(self.members.get(member, ({}, ""))[0]))

    def combine(self, other: SchemaAlternative, at: str) -> SchemaAlternative:
        """Combine both alternatives, as in `allOf`."""
        return SchemaAlternative(
            at,
            self.keywords | other.keywords,
            {**self.members, **other.members},
            {**self.parts, **other.parts},
            self.required | other.required,
        )


@dataclass(frozen=True, slots=True)
class AlignedPlace:
    """A place in both trees: the alternatives of each, and the pairs among them."""

    at: str
    ours: Sequence[SchemaAlternative]
    theirs: Sequence[SchemaAlternative]
    pairs: Sequence[tuple[SchemaAlternative, SchemaAlternative]]


def align_schemas(ours: Json, theirs: Json, start: SchemaNode) -> Iterator[AlignedPlace]:
    """Yield every pair of places that two trees share, once, from the root of `ours` and from `start` in `theirs`."""
    queue: list[tuple[SchemaNode, SchemaNode]] = [((ours, "#"), start)]
    seen = set()
    while queue:
        mine, other = queue.pop()
        place = _align_place(alternatives(ours, *mine), alternatives(theirs, *other), mine[1])
        key = (tuple(form.at for form in place.ours), tuple(form.at for form in place.theirs))
        if key not in seen:
            seen.add(key)
            yield place
            queue += [pair for form, like in place.pairs for pair in _shared_children(form, like)]


def _align_place(ours: list[SchemaAlternative], theirs: list[SchemaAlternative], at: str) -> AlignedPlace:
    return AlignedPlace(at, ours, theirs, [(mine, alike) for mine in ours for alike in _most_similar(mine, theirs)])


def _shared_children(mine: SchemaAlternative, other: SchemaAlternative) -> Iterator[tuple[SchemaNode, SchemaNode]]:
    for ours, theirs in ((mine.members, other.members), (mine.parts, other.parts)):
        yield from ((ours[name], theirs[name]) for name in ours if name in theirs)


def alternatives(tree: Json, node: Any, at: str) -> list[SchemaAlternative]:
    """List the alternatives of a schema without null; resolve references, and expand unions and `allOf`."""
    if not isinstance(node, dict):
        return [SchemaAlternative(at, {}, {}, {}, frozenset())]
    if "$ref" in node:
        return alternatives(tree, resolve_pointer(tree, node["$ref"]), node["$ref"])
    result = [_own_alternative(node, at)]
    for index, part in enumerate(node.get("allOf", ())):
        more = alternatives(tree, part, f"{at}/allOf/{index}")
        result = [form.combine(peer, at) for form in result for peer in more]
    for key in ("anyOf", "oneOf"):
        if key in node:
            branches = [f for i, branch in enumerate(node[key]) for f in alternatives(tree, branch, f"{at}/{key}/{i}")]
            result = [form.combine(branch_form, branch_form.at) for form in result for branch_form in branches]
    return [form for form in result if form.type != "null"]


def _own_alternative(node: Json, at: str) -> SchemaAlternative:
    words = {name: value for name, value in node.items() if name in ("type", "enum", "const", *BOUND_KEYWORDS)}
    members = {
        name: (part, f"{at}/properties/{_escape_pointer(name)}") for name, part in node.get("properties", {}).items()
    }
    found = ((name, node.get(name), f"{at}/{name}") for name in ("items", "additionalProperties"))
    parts = {name: (part, below) for name, part, below in found if isinstance(part, dict)}
    return SchemaAlternative(at, words, members, parts, frozenset(node.get("required", ())))


def _most_similar(mine: SchemaAlternative, theirs: Sequence[SchemaAlternative]) -> list[SchemaAlternative]:
    scored = [(score, form) for form in theirs if (score := _similarity(mine, form)) > 0]
    best = max((score for score, _ in scored), default=0)
    return [form for score, form in scored if score == best]


def _similarity(mine: SchemaAlternative, other: SchemaAlternative) -> float:
    """Score the similarity of two alternatives, from 0: a union's key decides, then `role`, then shared members."""
    if mine.type != other.type:
        return 0
    if mine.type != "object" or not (mine.members and other.members):
        return 1 + (bool(mine.values) == bool(other.values))
    shared = len(mine.members.keys() & other.members.keys()) / len(mine.members.keys() | other.members.keys())
    for weight, member in ((4, "type"), (4, "event"), (2, "role")):
        own, others = set(mine.constants(member)), set(other.constants(member))
        if own and others and member != "role" and not own & others:
            return 0
        shared += weight * (len(own & others) / len(own | others) if own else 0)
    return shared


def _constant_values(schema: Json) -> Iterator[Any]:
    for branch in schema.get("anyOf", ()):
        yield from _constant_values(branch)
    yield from [schema["const"]] if "const" in schema else schema.get("enum", ())


def resolve_pointer(tree: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer (`#/$defs/Name`); None without any."""
    for step in pointer.split("/")[1:]:
        tree = tree.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(tree, dict) else None
    return tree


def _escape_pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")

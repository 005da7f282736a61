"""Two schema trees walked side by side: members by name, items, union branches by their key, else by likeness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.exchange import Json

BOUNDS = (
    *("minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
)


Node = tuple[Any, str]
"""A schema and the JSON pointer to it."""


@dataclass(frozen=True, slots=True)
class Form:
    """One alternative that a schema allows, its references, unions and compositions dissolved.

    `at` is where its keywords (`words`) stand, `members` and `parts` (`items`, `additionalProperties`) lead on.
    """

    at: str
    words: Json
    members: Mapping[str, Node]
    parts: Mapping[str, Node]
    required: frozenset[str]

    @property
    def type(self) -> str:
        """Its JSON type, `integer` being a number; `any` when it says none."""
        named = self.words.get("type", "object" if self.members else "array" if "items" in self.parts else "any")
        names = [name for name in named if name != "null"] if isinstance(named, list) else [named]
        return "number" if names == ["integer"] else str(names[0]) if names else "null"

    @property
    def values(self) -> tuple[Any, ...]:
        """The values an enum or a const allows; empty when it has neither."""
        return (self.words["const"],) if "const" in self.words else tuple(self.words.get("enum", ()))

    @property
    def name(self) -> str:
        """A short name for people: its key, else its type."""
        return next(iter(map(str, self.constants("type") or self.constants("event"))), self.type)

    def constants(self, member: str) -> tuple[Any, ...]:
        """The constants of one of its members, null left out."""
        return tuple(_constants(self.members.get(member, ({}, ""))[0]))

    def joined(self, other: Form, at: str) -> Form:
        """Both at once, as in `allOf`."""
        return Form(
            at,
            self.words | other.words,
            {**self.members, **other.members},
            {**self.parts, **other.parts},
            self.required | other.required,
        )


@dataclass(frozen=True, slots=True)
class Place:
    """One place in both trees: our forms, theirs, and which is which."""

    at: str
    ours: Sequence[Form]
    theirs: Sequence[Form]
    pairs: Sequence[tuple[Form, Form]]


def places(ours: Json, theirs: Json, start: Node) -> Iterator[Place]:
    """Every pair of places that two trees share: from the top of ours, from `start` in theirs; each pair once."""
    queue: list[tuple[Node, Node]] = [((ours, "#"), start)]
    seen = set()
    while queue:
        mine, other = queue.pop()
        place = _place(forms(ours, *mine), forms(theirs, *other), mine[1])
        key = (tuple(form.at for form in place.ours), tuple(form.at for form in place.theirs))
        if key not in seen:
            seen.add(key)
            yield place
            queue += [pair for form, like in place.pairs for pair in _shared(form, like)]


def _place(ours: list[Form], theirs: list[Form], at: str) -> Place:
    return Place(at, ours, theirs, [(mine, other) for mine in ours for other in _likest(mine, theirs)])


def _shared(mine: Form, other: Form) -> Iterator[tuple[Node, Node]]:
    for ours, theirs in ((mine.members, other.members), (mine.parts, other.parts)):
        yield from ((ours[name], theirs[name]) for name in ours if name in theirs)


def forms(tree: Json, node: Any, at: str) -> list[Form]:
    """The alternatives a schema allows, null left out; references followed, unions and `allOf` multiplied out."""
    if not isinstance(node, dict):
        return [Form(at, {}, {}, {}, frozenset())]
    if "$ref" in node:
        return forms(tree, find(tree, node["$ref"]), node["$ref"])
    result = [_own(node, at)]
    for index, part in enumerate(node.get("allOf", ())):
        more = forms(tree, part, f"{at}/allOf/{index}")
        result = [form.joined(other, at) for form in result for other in more]
    for key in ("anyOf", "oneOf"):
        if key in node:
            branches = [f for i, branch in enumerate(node[key]) for f in forms(tree, branch, f"{at}/{key}/{i}")]
            result = [form.joined(other, other.at) for form in result for other in branches]
    return [form for form in result if form.type != "null"]


def _own(node: Json, at: str) -> Form:
    words = {name: value for name, value in node.items() if name in ("type", "enum", "const", *BOUNDS)}
    members = {name: (part, f"{at}/properties/{_escaped(name)}") for name, part in node.get("properties", {}).items()}
    found = ((name, node.get(name), f"{at}/{name}") for name in ("items", "additionalProperties"))
    parts = {name: (part, below) for name, part, below in found if isinstance(part, dict)}
    return Form(at, words, members, parts, frozenset(node.get("required", ())))


def _likest(mine: Form, theirs: Sequence[Form]) -> list[Form]:
    scored = [(score, form) for form in theirs if (score := _likeness(mine, form)) > 0]
    best = max((score for score, _ in scored), default=0)
    return [form for score, form in scored if score == best]


def _likeness(mine: Form, other: Form) -> float:
    """How alike two forms are: 0 for not at all; the key of a union decides, then `role`, then the shared members."""
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


def _constants(schema: Json) -> Iterator[Any]:
    for branch in schema.get("anyOf", ()):
        yield from _constants(branch)
    yield from [schema["const"]] if "const" in schema else schema.get("enum", ())


def find(tree: Any, pointer: str) -> Any:
    """What a JSON pointer (`#/$defs/Name`) leads to; None when it leads nowhere."""
    for step in pointer.split("/")[1:]:
        tree = tree.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(tree, dict) else None
    return tree


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")

"""For every keyword that stands in a schema of requests: a body that breaks this one and no other."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson

from harness.contract.schema import allowed_types, deref, discriminator_values, json_type
from harness.core.exchange import Json
from tests.contract.evidence.samples.mutate import KEYS, Path, instance

ANNOTATIONS = ("$schema", "$defs", "$ref", "title", "description", "default")
LEADING_ON = ("anyOf", "allOf", "properties", "items", "if", "else")
WRONG: tuple[Any, ...] = (5, "zzz", {"zzz": 1}, [], True, 1.5, None)
TEXTS = ("!", "zzz9", "{}!x", "{}_", "")


@dataclass(frozen=True)
class Broken:
    """A body that breaks one keyword of one node: which, what the breach must be called, and where it lies.

    `alone` says that no other branch of a union takes a value of the type.
    """

    node: int
    keyword: str
    body: Any
    called: str
    path: Path
    alone: bool = True


Wrap = Callable[[Any], Any]
"""From a value at a place to a whole body that holds it there and is right otherwise."""


def occurrences(root: Json, node: Any) -> Iterator[tuple[int, str]]:
    """Every keyword that asserts something, with the identity of the node it stands in; reachable ones only."""
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or not isinstance(one, dict):
            continue
        seen.add(id(one))
        branches = one.get("anyOf", ())
        waiting += [] if {} in branches else branches  # a union with a branch that takes anything asserts nothing
        waiting += [deref(root, one)] if "$ref" in one else [*one.get("properties", {}).values()]
        waiting += [*one.get("allOf", ()), one.get("items"), one.get("additionalProperties")]
        yield from ((id(one), keyword) for keyword, value in one.items() if _asserts(keyword, value))


def _asserts(keyword: str, value: Any) -> bool:
    leads_on = keyword in LEADING_ON or (keyword == "additionalProperties" and value is not False)
    return not (leads_on or keyword in ANNOTATIONS or keyword.startswith("x-"))


@dataclass
class Breaker:
    """Walk a root and break every node once; objects written as one in `known` are left out."""

    root: Json
    known: frozenset[bytes] = frozenset()
    seen: set[int] = field(default_factory=set)

    def place(self, node: Json, path: Path, wrap: Wrap) -> Iterator[Broken]:
        """Yield the breaks of a place: its type, the key of its union, then each of its branches."""
        leaves = list(self._leaves(node))
        types = allowed_types(self.root, node)
        if wrong := [value for value in WRONG if not {json_type(value), *_wider(value)} & types]:
            yield from (Broken(id(leaf), "type", wrap(wrong[0]), "type", path) for leaf in leaves if "type" in leaf)
        objects = [leaf for leaf in leaves if leaf.get("type") == "object"]
        keys = {
            key
            for key in KEYS
            if len(objects) > 1 and any(discriminator_values(self.root, leaf, key) for leaf in objects)
        }
        above = "x-at" in deref(self.root, node)
        for leaf in leaves:
            alone = sum(bool(allowed_types(self.root, leaf) & allowed_types(self.root, rival)) for rival in leaves) == 1
            if id(leaf) not in self.seen and not (leaf in objects and written(leaf) in self.known):
                self.seen.add(id(leaf))
                own = keys - {"role"} if "type" in leaf.get("required", ()) else keys
                yield from self._leaf(leaf, path, wrap, own, above, alone or leaf in objects)

    def _leaves(self, node: Json) -> Iterator[Json]:
        node = deref(self.root, node)
        if "anyOf" not in node:
            yield node
        for branch in node.get("anyOf", ()):
            yield from self._leaves(branch)

    def _leaf(self, leaf: Json, path: Path, wrap: Wrap, keys: set[str], above: bool, alone: bool) -> Iterator[Broken]:
        if "not" in leaf:
            yield Broken(id(leaf), "not", wrap(instance(self.root, {"type": leaf.get("type")}, Random(0))), "not", path)
            return
        good = self._good(leaf, keys)
        for keyword, value in leaf.items():
            for bad, called, below in self._breaks(keyword, value, leaf, good, keys):
                yield Broken(id(leaf), keyword, wrap(bad), called, (*path, *below), alone)
        for part in leaf.get("allOf", ()):
            for bad, called, below in self._breaks("pattern", part["pattern"], leaf, good, keys):
                yield Broken(id(part), "pattern", wrap(bad), called, (*path, *below), alone)
        for name in keys & {*leaf.get("properties", {})}:
            yield from self._key(leaf, name, path, wrap, good, above)
        yield from self._inside(leaf, path, wrap, good, keys)

    def _good(self, leaf: Json, keys: set[str]) -> Any:
        """The least that is right, and with a key: an item that may lack its type would be taken for a message."""
        good = instance(self.root, leaf, Random(0), optional=0)
        is_typed = "type" in keys and "role" not in leaf.get("required", ())
        kinds = discriminator_values(self.root, leaf, "type") if is_typed else []
        return {**good, "type": kinds[0]} if kinds and isinstance(good, dict) else good

    def _inside(self, leaf: Json, path: Path, wrap: Wrap, good: Any, keys: set[str]) -> Iterator[Broken]:
        for name, member in leaf.get("properties", {}).items():
            if name not in keys:
                yield from self.place(member, (*path, name), lambda value, name=name: wrap({**good, name: value}))
        if isinstance(leaf.get("items"), dict) and leaf.get("maxItems") != 0:
            yield from self.place(leaf["items"], (*path, 0), lambda value: wrap([value, *good[1:]]))
        if isinstance(leaf.get("additionalProperties"), dict):
            yield from self.place(leaf["additionalProperties"], (*path, "k"), lambda value: wrap({**good, "k": value}))

    def _key(self, leaf: Json, name: str, path: Path, wrap: Wrap, good: Any, above: bool) -> Iterator[Broken]:
        """Yield a key of a union: what is wrong with it is told at the key, or at the whole where the union says so."""
        inner, place = deref(self.root, leaf["properties"][name]), path if above else (*path, name)
        for node in (inner, *inner.get("anyOf", ())):
            words = [word for word in ("type", "const", "enum") if word in node]
            yield from (Broken(id(node), word, wrap({**good, name: "zzz"}), "enum", place) for word in words)
        if name in leaf.get("required", ()) and not (name == "type" and good.keys() == {"id", "type"}):
            # An id alone is a reference: such an item breaks nothing without its type.
            without = wrap({member: value for member, value in good.items() if member != name})
            if above and name == "type" and "role" in good:  # an item without a type is a message
                yield Broken(id(leaf), "required", without, "required", (*path, "content"))
            else:
                yield Broken(id(leaf), "required", without, "enum" if above else "required", place)

    def _breaks(
        self, keyword: str, value: Any, leaf: Json, good: Any, keys: set[str]
    ) -> Iterator[tuple[Any, str, tuple[str, ...]]]:
        """Values that break a keyword of a branch, what the breach is called, and where it lies below the place."""
        match keyword:
            case "required":
                for name in set(value) - keys:
                    yield {member: inner for member, inner in good.items() if member != name}, "required", (name,)
            case "additionalProperties" if value is False:
                yield {**good, "zzz": 1}, "additionalProperties", ("zzz",)
            case "enum" | "const":
                yield ("zzz" if isinstance(good, str) else good + 1), "enum", ()
            case "minLength" | "maxLength":
                short, size = keyword == "minLength", value + (1 if keyword == "maxLength" else -1)
                yield (good + "x" * size)[:size], f"{keyword}:empty" if short and not size else keyword, ()
            case "minItems" | "maxItems":
                size = value + (1 if keyword == "maxItems" else -1)
                fill = good[:1] or [instance(self.root, leaf.get("items", {}), Random(0), optional=0)]
                yield (fill * size), f"{keyword}:empty" if keyword == "minItems" and not size else keyword, ()
            case "minimum" | "maximum":
                yield value + (1 if keyword == "maximum" else -1), keyword, ()
            case "maxProperties":
                yield {f"k{number}": "v" for number in range(value + 1)}, "maxProperties", ()
            case "propertyNames":
                yield {"k" * (value["maxLength"] + 1): "v"}, "propertyNames", ()
            case "pattern":
                yield _breaking(value, leaf, good), "pattern", ()


def written(node: Any) -> bytes:
    """Return a schema as bytes, to know it again in another root."""
    return orjson.dumps(node)


def _breaking(pattern: str, leaf: Json, good: str) -> str:
    """Return a text that breaks this pattern, as few of the others as can be, and no length."""
    others = [part["pattern"] for part in leaf.get("allOf", ()) if part["pattern"] != pattern]
    texts = [text.format(good.removesuffix("x")) for text in TEXTS]
    wrong = [text for text in texts if not re.search(pattern, text) and len(text) >= leaf.get("minLength", 0)]
    return min(wrong, key=lambda text: sum(not re.search(pattern, text) for pattern in others))


def _wider(value: Any) -> list[str]:
    return ["number"] if json_type(value) == "integer" else []

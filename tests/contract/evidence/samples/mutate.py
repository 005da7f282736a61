"""One thing wrong: a JSON value with one member dropped, added, replaced or stretched at a random place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from harness.contract.phrasing import format_path
from harness.contract.schema import deref
from harness.core.exchange import Json

Step = str | int
Path = tuple[Step, ...]

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 16.0, 10**30, -(10**30), 1e300, 2**63),
    *("", "x", "x\n", "é", "\U0001f600" * 3, "\0", "'", "{path}", "%s", "x" * 600, "auto", "data:image/png;base64,"),
    *([], [[]], [None], [1], ["x"], [{}], {}, {"": None}, {"x": {"x": {"x": []}}}, {"type": "object"}),
    *({"type": "x"}, {"type": 1}, {"type": None}, {"type": ["x"]}, {"type": {}}, {"role": "x"}, {"role": ["user"]}),
    *({"type": "message"}, {"type": "function"}, {"type": "input_text"}, {"id": "x"}, {"role": "user", "type": "x"}),
    *({"$ref": "#/x"}, {"$ref": 1}, {"$ref": "#"}, {"properties": [1]}, {"anyOf": []}, {"type": "array", "items": 1}),
)
NAMES = (
    *("x", "typ", "type", "role", "id", "status", "content", "name", "call_id", "phase", "strict", "tools", "action"),
    *("output", "encrypted_content", "agent", "agent_reference", "async", "execution", "approval_request_id"),
    *("properties", "required", "enum", "const", "items", "anyOf", "allOf", "minItems", "pattern", "$defs", "format"),
    *("", "x" * 600, "é", "\U0001f600", "a.b", "a[0]", "'", "{path}", "stroe", "messages", "__proto__", "$ref"),
)
KEYS = ("type", "role")
"""The members by which a branch of a union is chosen."""


@dataclass(frozen=True)
class Mutation:
    """A value that was right, and what became of it: `path` is where it changed, `body` all of it."""

    how: str
    path: Path
    body: Any

    @property
    def at(self) -> str:
        """The path as the API writes it."""
        return format_path(self.path)


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value inside with its path, the whole first."""
    yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in members:
        yield from places(inner, (*path, step))


def mutate(body: Any, chance: Random, stock: Stock) -> Mutation:
    """Return a JSON value with one thing wrong."""
    path, value = chance.choice([*places(body)])
    ways = [name for name, (fits, _) in WAYS.items() if fits(path, value)]
    if not ways:  # a whole that is neither an object nor an array, a text or a number
        return Mutation("replace", (), chance.choice(ODD))
    how = chance.choice(ways)
    changed_at, changed = WAYS[how][1](chance, path, value, stock)
    return Mutation(how, changed_at, replaced(body, changed_at, changed))


@st.composite
def mutations(draw: st.DrawFn, bodies: Sequence[Any], keys: Sequence[str] = ()) -> Mutation:
    """Return one of the bodies with one thing wrong; `keys` are values of `type` and `role` to choose among."""
    chance = draw(st.randoms(use_true_random=False))
    return mutate(chance.choice(bodies), chance, Stock(bodies, [*keys, "x"]))


class Gone:
    """In place of a value: the member is dropped."""


def replaced(body: Any, path: Path, value: Any) -> Any:
    """Return a copy of a JSON value with another one at a path; `Gone` drops the member."""
    if not path:
        return deepcopy(value)
    step, *rest = path
    inner = body.get(step) if isinstance(body, dict) else body[step]
    changed = value if not rest else replaced(inner, tuple(rest), value)
    if isinstance(body, list):
        return [deepcopy(changed) if index == step else member for index, member in enumerate(body)]
    return {name: member for name, member in {**body, step: deepcopy(changed)}.items() if member is not Gone}


class Stock(NamedTuple):
    """What a mutation may take its values from, besides ODD."""

    bodies: Sequence[Any]
    keys: Sequence[str]


Changed = tuple[Path, Any]
"""The path of what is changed, and what stands there then."""


def _drop(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    return path, Gone


def _drop_one(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    index = chance.randint(0, len(value) - 1)
    return path, value[:index] + value[index + 1 :]


def _add(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    name = chance.choice([name for name in NAMES if name not in value])
    return (*path, name), chance.choice(ODD)


def _append(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    index = chance.randint(0, len(value))
    return path, [*value[:index], chance.choice(ODD), *value[index:]]


def _replace(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    return path, chance.choice(ODD)


def _graft(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    other = chance.choice(stock.bodies)
    return path, chance.choice([inner for _, inner in places(other)])


def _number(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    return path, chance.choice([value + 10**6, value - 10**6, value * 1.0, value + 0.25, str(value), bool(value)])


def _text(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    changed = [value + "\n", " " + value, value.upper() + "_", value * 65, value * 129, value * 513, value[1:], [value]]
    return path, chance.choice(changed)


def _stretch(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    times = chance.choice([17, 129])
    if isinstance(value, list):
        return path, value * times
    return path, value | {f"k{number}": "v" for number in range(times)}


def _key(chance: Random, path: Path, value: Any, stock: Stock) -> Changed:
    return path, chance.choice(stock.keys)


WAYS: dict[str, Any] = {
    "drop a member": (lambda path, value: path and isinstance(path[-1], str), _drop),
    "drop an element": (lambda path, value: isinstance(value, list) and value, _drop_one),
    "add a member": (lambda path, value: isinstance(value, dict), _add),
    "add an element": (lambda path, value: isinstance(value, list), _append),
    "replace": (lambda path, value: path, _replace),
    "replace by another's": (lambda path, value: path, _graft),
    "another number": (lambda path, value: isinstance(value, int | float), _number),
    "another text": (lambda path, value: isinstance(value, str), _text),
    "stretch": (lambda path, value: path and isinstance(value, list | dict), _stretch),
    "another kind": (lambda path, value: path and path[-1] in KEYS and isinstance(value, str), _key),
}


def instance(root: Json, node: Json, chance: Random, depth: int = 0, *, optional: float = 0.3) -> Any:
    """Something a schema lets through, nearly always; `optional` is how many of the members not required it holds."""

    def inside(part: Json) -> Any:
        return instance(root, part, chance, depth + 1, optional=optional)

    node = deref(root, node)
    if "anyOf" in node:
        return instance(root, chance.choice(node["anyOf"]), chance, depth, optional=optional)
    if values := node.get("enum", [node["const"]] if "const" in node else []):
        return chance.choice(values)
    if isinstance(types := node.get("type"), list):
        return instance(root, {**node, "type": chance.choice(types)}, chance, depth, optional=optional)
    if node.get("type") == "array":
        few = max(node.get("minItems", 1), 1) if depth < 6 else node.get("minItems", 0)
        return [inside(node.get("items", {})) for _ in range(min(few, node.get("maxItems", few)))]
    if node.get("type") == "object":
        required, members = node.get("required", ()), node.get("properties", {}).items()
        wanted = [
            (name, member) for name, member in members if name in required or (depth < 4 and chance.random() < optional)
        ]
        return {name: inside(member) for name, member in wanted if "not" not in member}
    plain = {"string": _matching(node), "integer": 1, "number": 1, "boolean": True, "null": None}
    return node.get("minimum", plain.get(node.get("type", "")))


def _matching(node: Json) -> str:
    """A short text that fits the patterns of ids (`^msg`, `^(cntr|cfile)`), of addresses, of names and of tunnels."""
    patterns = [node.get("pattern", ""), *(part.get("pattern", "") for part in node.get("allOf", ()))]
    found = (re.fullmatch(r"\^(?:([\w:/]+)|\((\w+)(?:\|\w+)*\))", pattern) for pattern in patterns)
    prefix = "".join(match[1] or match[2] for match in found if match)
    return "tunnel_" + "x" * 32 if "^tunnel_" in patterns[0] else f"{prefix}x"

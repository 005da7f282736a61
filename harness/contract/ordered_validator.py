"""Validates JSON in the API's order: type, required, unknown members, members in declared order, one error at a time.

A branch of a union is chosen by JSON type, then by its key (`type`, `role`), never by trying all. Annotations of
schemas: `x-known` and `x-values` (lists as the API prints them), `x-known-rule`, `x-key` and `x-default` (the key of a
union and the value of a missing one), `x-at: parent`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import jsonschema_rs
from jsonschema import Draft202012Validator, ValidationError

from harness.contract import schema as schemas
from harness.contract.compile_schema import compile_schema
from harness.contract.phrasing import describe_expected, format_path
from harness.contract.schema import allowed_types, deref, discriminator_values, json_type
from harness.core.dates import CONTRACT_DATE, start_of_epoch
from harness.core.exchange import Finding, Json
from harness.core.text import show

KEYWORD_ORDER = ("type", "enum", "const", "required", "if", "additionalProperties")
MANY = 8
"""Above this many members or items, the fast validator checks each first, and only those that it refuses are walked."""
INTEGRAL = "integral"
"""The kind of a float without a fraction, which is an integer, too: JSON has one kind of number."""
KINDS = (*schemas.JSON_TYPES.values(), "null", INTEGRAL)
LIBRARY_KEYWORDS = (
    *("properties", "allOf", "if", "not"),
    *("minLength", "minItems", "maxItems", "maxProperties", "minimum", "maximum"),
)
"""The keywords that jsonschema checks; the API has words or an order of its own for the others."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A value that does not fit a schema: the keyword and its value, and where in the body; `schema` has the keyword."""

    keyword: str
    limit: Any
    value: Any
    schema: Json
    path: tuple[str | int, ...] = ()


class Part(NamedTuple):
    """A part of a value that the walk checks next, by its own schema; `place` leads to it, `()` is the value itself."""

    value: Any
    schema: Json
    place: tuple[str | int, ...] = ()


Steps = Iterator[Mismatch | Part]


class _Union(NamedTuple):
    """A union prepared for the walk: the branches that fit each kind of value, and objects by the value of their `key`.

    `chosen` maps such a value to the branch whose error the API reports, `named` to all that may be right; `unnamed`
    are those that may be right with any other value. `without_key` is the first branch that does not require the key.
    """

    by_kind: Mapping[str, Json]
    key: str
    chosen: Mapping[str, Json]
    named: Mapping[str, Json]
    unnamed: Json
    without_key: Json | None


class SchemaWalk:
    """Validates values by a root's schema, which must never be freed.

    The nodes of the schema are prepared when the walk first meets them: in order, without references. To the functions
    that check keywords, the library's and those below, it is the validator (`is_type`, `evolve`, `descend`).
    """

    def __init__(self, root: Json) -> None:
        self._root = root
        self._keywords: dict[int, list[tuple[str, Any]]] = {}

    def keywords_of(self, node: Any) -> list[tuple[str, Any]]:
        """Return the keywords of a node in the API's order, with their values as the checks below take them."""
        if (prepared := self._keywords.get(id(node))) is None:
            pairs = sorted(node.items(), key=_rank)
            prepared = self._keywords[id(node)] = [(name, self._prepare(name, value, node)) for name, value in pairs]
        return prepared

    def _prepare(self, keyword: str, value: Any, node: Json) -> Any:
        match keyword:
            case "anyOf" | "oneOf":
                return self._prepare_union(value, node)
            case "type":
                return _kinds_of_types([value] if isinstance(value, str) else value)
            case "enum" | "const":
                values = value if isinstance(value, list) else [value]
                return values, _kinds_of_types(allowed_types(self._root, {"enum": values}))
            case "properties":
                return {name: deref(self._root, member) for name, member in value.items()}
            case "allOf":
                return [deref(self._root, part) for part in value]
            case "items" | "additionalProperties" if isinstance(value, dict):
                return deref(self._root, value)
        return value

    def _prepare_union(self, alternatives: Sequence[Json], node: Json) -> _Union:
        root, key = self._root, node.get("x-key", "type")
        branches = [deref(root, branch) for branch in alternatives]
        kinds = [_kinds_of_types(allowed_types(root, branch)) for branch in branches]
        by_kind = {
            kind: _any_of(branch for branch, theirs in zip(branches, kinds, strict=True) if kind in theirs)
            for kind in KINDS
        }
        objects = by_kind["object"]["anyOf"]
        keys = [discriminator_values(root, branch, key) for branch in objects]
        has_other = [_allows_other_keys(root, branch, key) for branch in objects]
        chosen: dict[str, Json] = {}
        for branch, names in zip(objects, keys, strict=True):  # in the order of errors that list them
            chosen |= dict.fromkeys((name for name in names if name not in chosen), branch)
        return _Union(
            by_kind,
            key,
            chosen,
            {
                name: _any_of(
                    branch
                    for branch, names, is_open in zip(objects, keys, has_other, strict=True)
                    if is_open or name in names
                )
                for name in chosen
            },
            _any_of(branch for branch, is_open in zip(objects, has_other, strict=True) if is_open),
            next((branch for branch in objects if not _requires_member(root, branch, key)), None),
        )

    def find_mismatches(self, value: Any) -> Iterator[Mismatch]:
        """Walk the schema in the API's order, and yield what does not fit; a deep body leads to no deep recursion."""
        path: tuple[str | int, ...] = ()
        walked = [(self._check(value, deref(self._root, self._root)), path)]
        while walked:
            steps, path = walked[-1]
            step = next(steps, None)
            if step is None:
                walked.pop()
            elif isinstance(step, Part):
                walked.append((self._check(step.value, step.schema), path + step.place))
            else:
                yield replace(step, path=path + step.path)

    def _check(self, value: Any, node: Json) -> Steps:
        for keyword, prepared in self.keywords_of(node):
            if check := _CHECKS.get(keyword):
                yield from check(self, prepared, value, node)

    def is_type(self, value: Any, type: str) -> bool:
        """Return whether a value has a type of JSON Schema."""
        return bool(Draft202012Validator.TYPE_CHECKER.is_type(value, type))

    def evolve(self, schema: Json) -> jsonschema_rs.Validator:
        """Return a validator of a part of the schema, for functions that only ask it whether a value is valid."""
        return schemas.part_validator(self._root, schema)

    def descend(self, value: Any, schema: Json, path: str | int | None = None, **_: Any) -> Iterator[Part]:
        """Leave a part of a value to the walk, where jsonschema's own validators would recur."""
        yield Part(value, deref(self._root, schema), () if path is None else (path,))

    def _check_type(self, kinds: frozenset[str], value: Any, node: Json) -> Steps:
        if _kind_of(value) not in kinds:
            yield self._type_mismatch(node, value)

    def _type_mismatch(self, node: Json, value: Any) -> Mismatch:
        return Mismatch("type", describe_expected(self._root, node), value, node)

    def _check_enum(self, allowed: tuple[Sequence[Any], frozenset[str]], value: Any, node: Json) -> Steps:
        values, kinds = allowed
        if _kind_of(value) not in kinds:
            yield self._type_mismatch(node, value)
        elif value not in values:
            yield Mismatch("enum", values, value, node)

    def _check_additional(self, allowed: Any, value: Any, node: Json) -> Steps:
        if not isinstance(value, dict):
            return
        members = node.get("properties", {})
        # Of many members a compiled validator looks at each, and only what it refuses is walked: metadata may have
        # thousands.
        decide = (
            schemas.part_validator(self._root, allowed).is_valid
            if isinstance(allowed, dict) and len(value) > MANY
            else None
        )
        for name in value:
            if "not" in (member := members.get(name, {})):
                yield Mismatch("not", allowed, value, member, (name,))
            elif name in members:
                continue
            elif allowed is False:
                yield Mismatch("additionalProperties", allowed, value, node, (name,))
            elif isinstance(allowed, dict) and not (decide and decide(value[name])):
                yield Part(value[name], allowed, (name,))

    def _check_items(self, items: Json, value: Any, _node: Json) -> Steps:
        if not isinstance(value, list):
            return
        decide = schemas.part_validator(self._root, items).is_valid if len(value) > MANY else None
        for index, item in enumerate(value):
            if decide is None or not decide(item):
                yield Part(item, items, (index,))

    def _check_union(self, union: _Union, value: Any, node: Json) -> Steps:
        fitting = union.by_kind[_kind_of(value)]
        if not fitting["anyOf"]:
            yield self._type_mismatch(node, value)
        elif isinstance(value, dict):
            name = value.get(union.key)
            likely = union.named.get(name, union.unnamed) if isinstance(name, str) else union.by_kind["object"]
            branch = _choose_branch(union, value, node)
            # If only the chosen branch is likely, the walk itself tells whether it fits.
            is_decided = [id(option) for option in likely["anyOf"]] == [id(branch)]
            if is_decided or not likely["anyOf"] or not self.evolve(likely).is_valid(value):
                yield branch if isinstance(branch, Mismatch) else Part(value, branch)
        # With one branch left, its own error is more precise than the union's; if none of several lists or strings
        # fits, the API reports the first branch.
        elif len(fitting["anyOf"]) == 1 or not self.evolve(fitting).is_valid(value):
            yield Part(value, fitting["anyOf"][0])


def _by_library(keyword: str) -> Callable[[SchemaWalk, Any, Any, Json], Steps]:
    """Return the library's check of a keyword; its errors become mismatches, without its message."""
    check = Draft202012Validator.VALIDATORS[keyword]

    def steps(walk: SchemaWalk, limit: Any, value: Any, node: Json) -> Steps:
        for step in check(walk, limit, value, node):
            yield Mismatch(keyword, limit, value, node) if isinstance(step, ValidationError) else step

    return steps


def _rank(pair: tuple[str, Any]) -> int:
    return KEYWORD_ORDER.index(pair[0]) if pair[0] in KEYWORD_ORDER else len(KEYWORD_ORDER)


def _any_of(branches: Iterable[Json]) -> Json:
    return {"anyOf": [*branches]}


def _kind_of(value: Any) -> str:
    return INTEGRAL if isinstance(value, float) and value.is_integer() else json_type(value)


def _kinds_of_types(types: Iterable[str]) -> frozenset[str]:
    kinds = {*types}
    if "number" in kinds:
        kinds.add("integer")
    return frozenset({*kinds, INTEGRAL} if "integer" in kinds else kinds)


def _check_required(_: SchemaWalk, names: Sequence[str], value: Any, node: Json) -> Steps:
    for name in names:
        if isinstance(value, dict) and name not in value:
            yield Mismatch("required", name, value, node, (name,))


def _check_property_names(_: SchemaWalk, names: Json, value: Any, node: Json) -> Steps:
    limit = names["maxLength"]
    for name in value if isinstance(value, dict) else ():
        if len(name) > limit:
            yield Mismatch("propertyNames", limit, name, names)


def _check_pattern(_: SchemaWalk, pattern: str, value: Any, node: Json) -> Steps:
    if isinstance(value, str) and not _compile_pattern(pattern).search(value):
        yield Mismatch("pattern", pattern, value, node)


def _check_max_length(_: SchemaWalk, limit: int, value: Any, node: Json) -> Steps:
    """Check the length like the library, but without a message, which would quote the text, possibly megabytes long."""
    if isinstance(value, str) and len(value) > limit:
        yield Mismatch("maxLength", limit, value, node)


_CHECKS: Mapping[str, Callable[[SchemaWalk, Any, Any, Json], Steps]] = {
    **{keyword: _by_library(keyword) for keyword in LIBRARY_KEYWORDS},
    **dict.fromkeys(("anyOf", "oneOf"), SchemaWalk._check_union),
    **dict.fromkeys(("enum", "const"), SchemaWalk._check_enum),
    "type": SchemaWalk._check_type,
    "required": _check_required,
    "additionalProperties": SchemaWalk._check_additional,
    "propertyNames": _check_property_names,
    "pattern": _check_pattern,
    "maxLength": _check_max_length,
    "items": SchemaWalk._check_items,
}
"""How the walk checks each keyword; it passes over the others."""


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with JSON Schema's `$`, which only matches at the very end, not before a last newline."""
    return re.compile(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern)


def _choose_branch(union: _Union, value: Json, schema: Json) -> Json | Mismatch:
    """Return the branch whose error the API reports for an object, or the error if there is no such branch."""
    objects: Sequence[Json] = union.by_kind["object"]["anyOf"]
    name = value.get(union.key, schema.get("x-default"))
    if len(objects) == 1 or not union.chosen:
        return objects[0]
    if isinstance(name, str) and name in union.chosen:
        return union.chosen[name]
    # An item without `type` is validated by the branch that does not require one: a message.
    if union.key not in value and "x-at" not in schema:
        return union.without_key or Mismatch("required", union.key, value, {}, (union.key,))
    return _unknown_key_error(schema, union.key, name, list(union.chosen))


def _allows_other_keys(root: Json, schema: Json, key: str) -> bool:
    """Return whether a branch may be right whatever the value of the key is."""
    schema = deref(root, schema)
    if "anyOf" in schema:
        return any(_allows_other_keys(root, branch, key) for branch in schema["anyOf"])
    return not discriminator_values(root, schema, key)


def _requires_member(root: Json, schema: Json, name: str) -> bool:
    schema = deref(root, schema)
    if "anyOf" in schema:
        return all(_requires_member(root, branch, name) for branch in schema["anyOf"])
    return name in schema.get("required", ())


def _unknown_key_error(schema: Json, key: str, value_of_key: Any, names: list[str]) -> Mismatch:
    known = schema.get("x-known")
    outside = known is not None and value_of_key not in known
    # The API names the item instead of its `type` if it knows the type, but not at this place.
    place = () if schema.get("x-at") == "parent" or (known and not outside) else (key,)
    values = known if outside else schema.get("x-values", names)
    rule = schema.get("x-known-rule") if outside else schema.get("x-rule")
    return Mismatch("enum", values, value_of_key, {"x-values": values, "x-rule": rule}, place)


def has_only_known(root: str, body: Any, as_of: str) -> bool:
    """Return, quickly, whether an answer conforms to the schema `root` of a day and has no unknown members.

    A closed schema allows a subset of what the schema allows, as no schema of an event has `not`, `if` or `oneOf` (a
    test ensures that).
    """
    return _closed_validators(root, start_of_epoch(as_of, schemas.changes_of(root)))[0].is_valid(body)


def find_unknown_members(root: str, body: Any, as_of: str = CONTRACT_DATE) -> Iterator[Finding]:
    """Yield the members of an answer that the schema `root` does not list on a day; SchemaError for an unknown root.

    The user's own data has no unknown members: metadata, a JSON schema, arguments, headers. Items of an unknown type
    are not searched: they violate the schema (`check_answer`).
    """
    decide, walk = _closed_validators(root, start_of_epoch(as_of, schemas.changes_of(root)))
    if decide.is_valid(body):
        return
    for mismatch in walk.find_mismatches(body):
        if mismatch.keyword == "additionalProperties":
            yield Finding(format_path(mismatch.path), f"unknown member {show(mismatch.path[-1])}")


@cache
def _closed_validators(root: str, epoch: str) -> tuple[jsonschema_rs.Validator, SchemaWalk]:
    closed = forbid_unknown_members(schemas.load(root, epoch))
    return compile_schema(closed), SchemaWalk(closed)


def forbid_unknown_members(node: Any) -> Any:
    """Close a schema: forbid unknown members wherever it lists members, unless it already restricts others itself."""
    if isinstance(node, list):
        return [forbid_unknown_members(part) for part in node]
    if not isinstance(node, dict):
        return node
    closed: Json = {}
    for name, value in node.items():
        named = name in ("properties", "$defs")
        closed[name] = (
            {key: forbid_unknown_members(part) for key, part in value.items()}
            if named
            else forbid_unknown_members(value)
        )
    return {"additionalProperties": False, **closed} if node.get("properties") else closed

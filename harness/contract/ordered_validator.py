"""Validates JSON in the API's order: type, required, unknown members, members in declared order, one error at a time.

A branch of a union is chosen by JSON type, then by its key (`type`, `role`), never by trying all. Annotations of
schemas: `x-known` and `x-values` (lists as the API prints them), `x-known-rule`, `x-key` and `x-default` (the key of a
union and the value of a missing one), `x-at: parent`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

from jsonschema import ValidationError, validators
from jsonschema.validators import Draft202012Validator
from referencing import Registry

from harness.contract import schema as schemas
from harness.contract.phrasing import describe_expected
from harness.contract.schema import allowed_types, deref, discriminator_values, json_type
from harness.core.exchange import Json

KEYWORD_ORDER = ("type", "enum", "const", "required", "if", "additionalProperties")
MANY = 8
"""Above this many members or items, the fast validator checks each first, and only those that it refuses are walked."""
Validator = Any
"""The class returned by `validators.create`; its `descend` and `evolve` are not in the library's protocol."""
ValidationErrors = Iterator[ValidationError]


def make_ordered_validator(schema: Json) -> Validator:
    """Make a validator whose `iter_errors` walks a root's schema in the API's order; the schema must never be freed."""
    keywords: dict[str, Any] = {
        "anyOf": partial(_check_union, schema),
        "oneOf": partial(_check_union, schema),
        "type": partial(_check_type, schema),
        "enum": partial(_check_enum, schema),
        "const": partial(_check_enum, schema),
        "required": _check_required,
        "additionalProperties": partial(_check_additional, schema),
        "propertyNames": _check_property_names,
        "pattern": _check_pattern,
        "maxLength": _check_max_length,
        "items": partial(_check_items, schema),
    }
    kind = validators.create(
        meta_schema=Draft202012Validator.META_SCHEMA,
        validators={**Draft202012Validator.VALIDATORS, **keywords},
        type_checker=Draft202012Validator.TYPE_CHECKER,
        applicable_validators=_sort_keywords,
    )
    return kind(schema, registry=Registry())  # the default registry would fetch the documents that a `$ref` names


def _sort_keywords(schema: Any) -> list[tuple[str, Any]]:
    if "$ref" in schema:
        return [("$ref", schema["$ref"])]
    return sorted(
        schema.items(),
        key=lambda pair: KEYWORD_ORDER.index(pair[0]) if pair[0] in KEYWORD_ORDER else len(KEYWORD_ORDER),
    )


def _type_matches(root: Json, schema: Json, value: Any) -> bool:
    types, name = allowed_types(root, schema), json_type(value)
    return name in types or (name == "integer" and "number" in types) or _is_integral(value, types)


def _is_integral(value: Any, types: frozenset[str]) -> bool:
    return "integer" in types and isinstance(value, float) and value.is_integer()  # JSON has one kind of number


def _type_error(root: Json, schema: Json, value: Any) -> ValidationError:
    return ValidationError(
        "", validator="type", validator_value=describe_expected(root, schema), instance=value, schema=schema
    )


def _check_type(root: Json, validator: Validator, types: Any, value: Any, schema: Json) -> ValidationErrors:
    if not _type_matches(root, {"type": types}, value):
        yield _type_error(root, schema, value)


def _check_enum(root: Json, validator: Validator, values: Any, value: Any, schema: Json) -> ValidationErrors:
    values = values if isinstance(values, list) else [values]
    if not _type_matches(root, {"enum": values}, value):
        yield _type_error(root, schema, value)
    elif value not in values:
        yield ValidationError("", validator="enum", validator_value=values, instance=value, schema=schema)


def _check_required(validator: Validator, names: Sequence[str], value: Any, schema: Json) -> ValidationErrors:
    for name in names:
        if isinstance(value, dict) and name not in value:
            yield ValidationError("", validator="required", validator_value=name, path=[name], schema=schema)


def _check_additional(root: Json, validator: Validator, allowed: Any, value: Any, schema: Json) -> ValidationErrors:
    if not isinstance(value, dict):
        return
    members = schema.get("properties", {})
    # Of many members a compiled validator looks at each, and only what it refuses is walked: metadata may have
    # thousands.
    many = isinstance(allowed, dict) and len(value) > MANY
    decide = schemas.part_validator(root, allowed).is_valid if many else None
    for name in value:
        if "not" in (member := members.get(name, {})):
            yield ValidationError("", validator="not", path=[name], schema=member)
        elif name in members:
            continue
        elif allowed is False:
            yield ValidationError("", validator="additionalProperties", path=[name], schema=schema)
        elif isinstance(allowed, dict) and not (decide and decide(value[name])):
            yield from validator.descend(value[name], allowed, path=name)


def _check_property_names(validator: Validator, names: Json, value: Any, schema: Json) -> ValidationErrors:
    limit = names["maxLength"]
    for name in value if isinstance(value, dict) else ():
        if len(name) > limit:
            yield ValidationError("", validator="propertyNames", validator_value=limit, instance=name, schema=names)


def _check_pattern(validator: Validator, pattern: str, value: Any, schema: Json) -> ValidationErrors:
    if isinstance(value, str) and not _compile_pattern(pattern).search(value):
        yield ValidationError("", validator="pattern", validator_value=pattern, instance=value, schema=schema)


def _check_max_length(validator: Validator, limit: int, value: Any, schema: Json) -> ValidationErrors:
    """Check the length like the library, but without a message, which would quote the text, possibly megabytes long."""
    if isinstance(value, str) and len(value) > limit:
        yield ValidationError("", validator="maxLength", validator_value=limit, instance=value, schema=schema)


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with JSON Schema's `$`, which only matches at the very end, not before a last newline."""
    return re.compile(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern)


def _check_items(root: Json, validator: Validator, items: Json, value: Any, schema: Json) -> ValidationErrors:
    if not isinstance(value, list):
        return
    decide = schemas.part_validator(root, items).is_valid if len(value) > MANY else None
    for index, item in enumerate(value):
        if decide is None or not decide(item):
            yield from validator.descend(item, items, path=index)


def _check_union(root: Json, validator: Validator, branches: Any, value: Any, schema: Json) -> ValidationErrors:
    fitting = [branch for branch in branches if _type_matches(root, branch, value)]
    if not fitting:
        yield _type_error(root, schema, value)
    # With one branch left, its own error is more precise than the union's.
    elif len(fitting) == 1 and not isinstance(value, dict):
        yield from validator.descend(value, fitting[0])
    elif isinstance(value, dict):
        yield from _check_keyed_union(root, validator, fitting, value, schema)
    # If none of several lists or strings fits, the API reports the first branch.
    elif not any(validator.evolve(schema=branch).is_valid(value) for branch in fitting):
        yield from validator.descend(value, fitting[0])


def _check_keyed_union(
    root: Json, validator: Validator, branches: list[Json], value: Json, schema: Json
) -> ValidationErrors:
    key = schema.get("x-key", "type")
    # Validating every branch of a union of 40 items would dominate the time of a request.
    likely = (branch for branch in branches if _may_match_key(root, branch, key, value.get(key)))
    if any(validator.evolve(schema=branch).is_valid(value) for branch in likely):
        return
    table = {name: branch for branch in reversed(branches) for name in discriminator_values(root, branch, key)}
    value_of_key = value.get(key, schema.get("x-default"))
    if len(branches) == 1 or not table:
        yield from validator.descend(value, branches[0])
    elif isinstance(value_of_key, str) and value_of_key in table:
        yield from validator.descend(value, table[value_of_key])
    # An item without `type` is validated by the branch that does not require one: a message.
    elif key not in value and "x-at" not in schema:
        if without := next((branch for branch in branches if not _requires_member(root, branch, key)), None):
            yield from validator.descend(value, without)
        else:
            yield ValidationError("", validator="required", validator_value=key, path=[key], schema={})
    else:
        yield _unknown_key_error(schema, key, value_of_key, list(table))


def _may_match_key(root: Json, schema: Json, key: str, value_of_key: Any) -> bool:
    schema = deref(root, schema)
    if "anyOf" in schema:
        return any(_may_match_key(root, branch, key, value_of_key) for branch in schema["anyOf"])
    values = discriminator_values(root, schema, key)
    return not values or not isinstance(value_of_key, str) or value_of_key in values


def _requires_member(root: Json, schema: Json, name: str) -> bool:
    schema = deref(root, schema)
    if "anyOf" in schema:
        return all(_requires_member(root, branch, name) for branch in schema["anyOf"])
    return name in schema.get("required", ())


def _unknown_key_error(schema: Json, key: str, value_of_key: Any, names: list[str]) -> ValidationError:
    known = schema.get("x-known")
    outside = known is not None and value_of_key not in known
    # The API names the item instead of its `type` if it knows the type, but not at this place.
    place = [] if schema.get("x-at") == "parent" or (known and not outside) else [key]
    values = known if outside else schema.get("x-values", names)
    rule = schema.get("x-known-rule") if outside else schema.get("x-rule")
    return ValidationError(
        "",
        validator="enum",
        validator_value=values,
        instance=value_of_key,
        path=place,
        schema={"x-values": values, "x-rule": rule},
    )

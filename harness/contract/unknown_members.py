"""Members of an answer that no schema has: the API may add some at any time, so they are reported but not errors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs

from harness.contract import schema
from harness.contract.compile_schema import compile_schema
from harness.contract.first_violation import format_path
from harness.contract.ordered_validator import make_ordered_validator
from harness.core.dates import CONTRACT_DATE, start_of_epoch
from harness.core.exchange import Finding, Json
from harness.core.text import show


def has_only_known(root: str, body: Any, as_of: str = CONTRACT_DATE) -> bool:
    """Return, quickly, whether an answer conforms to the schema `root` of a day and has no unknown members.

    A closed schema allows a subset of what the schema allows, as no schema of an event has `not`, `if` or `oneOf` (a
    test ensures that).
    """
    return _closed_validators(root, start_of_epoch(as_of, schema.changes_of(root)))[0].is_valid(body)


def find_unknown_members(root: str, body: Any, as_of: str = CONTRACT_DATE) -> Iterator[Finding]:
    """Yield the members of an answer that the schema `root` does not list on a day; SchemaError for an unknown root.

    The user's own data has no unknown members: metadata, a JSON schema, arguments, headers. Items of an unknown type
    are not searched: they violate the schema (`check_answer`).
    """
    decide, walk = _closed_validators(root, start_of_epoch(as_of, schema.changes_of(root)))
    if decide.is_valid(body):
        return
    for error in walk.iter_errors(body):
        if error.validator == "additionalProperties":
            path = list(error.absolute_path)
            yield Finding(format_path(path), f"unknown member {show(path[-1])}")


@cache
def _closed_validators(root: str, epoch: str) -> tuple[jsonschema_rs.Validator, Any]:
    closed = forbid_unknown_members(schema.load(root, epoch))
    return compile_schema(closed), make_ordered_validator(closed)


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

"""The first violation of a schema as the API reports it: its keyword, place and limits.

`ordered_validator` finds it; this module collects its facts. Annotations in schemas: `x-rule` (the rule for violations
at this place), `x-facts`, `x-expected` (the API's phrase for a type), `x-values` (a list as the API prints it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from harness.contract import schema as schemas
from harness.contract.phrasing import abbreviate, describe_actual, did_you_mean, format_path, quote_and_join
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Json
from harness.core.json_values import as_string

if TYPE_CHECKING:
    from harness.contract.ordered_validator import Mismatch, SchemaWalk

NAMED_RULE_KEYWORDS = ("enum", "pattern", "not")
"""The keywords for which a schema may name the rule; every other keyword has its own rule."""


@dataclass(frozen=True, slots=True)
class SchemaViolation:
    """The first schema violation of a body: the keyword, the rule named by the schema (if any), and the facts.

    `filler` is a valid value for a missing member.
    """

    keyword: str
    rule: str | None
    facts: Mapping[str, Any]
    filler: Any = None

    @property
    def path(self) -> str:
        """The place in the API's notation: `input[0].content[1].type`."""
        return str(self.facts["path"])


def find_violation(root: str, body: Any, as_of: str = CONTRACT_DATE) -> SchemaViolation | None:
    """Return how `body` first violates the schema `root` of a day; None if it is valid.

    Linear in the size of `body`.
    """
    fast = schemas.validator(root, as_of)
    if fast.is_valid(body):
        return None
    error = next(_load_walk(root, as_of).find_mismatches(body), None)
    if error is None:
        unseen = next(iter(fast.iter_errors(body)))
        raise RuntimeError(f"the validators disagree: {unseen.kind.name} at {format_path(list(unseen.instance_path))}")
    return _to_schema_violation(error, body)


def _to_schema_violation(error: Mismatch, body: Any) -> SchemaViolation:
    schema = error.schema
    keyword, own = _facts_of_keyword(error)
    facts = {"path": format_path(error.path), "limit": error.limit, "hint": "", **schema.get("x-facts", {}), **own}
    if keyword == "additionalProperties" and len(error.path) == 1:
        known = [name for name, member in schema["properties"].items() if "not" not in member]
        facts["hint"] = did_you_mean(str(error.path[-1]), known, body)
    # The API has a special message for null as a parameter.
    if keyword == "type" and error.value is None and len(error.path) == 1:
        keyword = "null"
    named = schema.get("x-rule") if keyword in NAMED_RULE_KEYWORDS else None
    return SchemaViolation(keyword, named, facts, _make_filler(error, schema) if keyword == "required" else None)


def _make_filler(error: Mismatch, schema: Json) -> Any:
    """Make the emptiest valid value for a missing member by its type; a non-empty list contains empty strings."""
    member = schema.get("properties", {}).get(error.limit, {})
    for option in member.get("anyOf", [member]):
        if "const" in option or "enum" in option:
            return option.get("const", option.get("enum", [None])[0])
        if option.get("type") == "array":
            return [""] * option.get("minItems", 0)
        if isinstance(option.get("type"), str):
            return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(option["type"], {})
    return {}


def _facts_of_keyword(error: Mismatch) -> tuple[str, Json]:
    """Return the keyword whose rule has the API's error, and what only this keyword adds to the facts."""
    value, schema = error.value, error.schema
    match error.keyword:
        case "type":
            return "type", {"expected": error.limit, "kind": describe_actual(value)}
        case "enum":
            listed = quote_and_join(schema.get("x-values", error.limit), "and")
            return "enum", {"value": as_string(value), "values": listed}
        case "minLength" | "maxLength" | "minItems" | "maxItems" | "maxProperties":
            empty = error.keyword in ("minLength", "minItems") and not value
            length = len(value) if isinstance(value, str | list | dict) else 0
            return f"{error.keyword}:empty" if empty else error.keyword, {"length": length}
        case "minimum" | "maximum":
            numeric = "integer" if schema.get("type") == "integer" else "decimal"
            return error.keyword, {"numeric": numeric, "value": value}
        case "pattern":
            return "pattern", {"value": value, "pattern": schema.get("pattern")}
        case "propertyNames":
            return "propertyNames", {"name": abbreviate(str(value)), "key": str(value), "length": len(str(value))}
    return error.keyword, {}


@lru_cache(maxsize=schemas.MAX_DAYS)
def _load_walk(root: str, as_of: str = CONTRACT_DATE) -> SchemaWalk:
    # `jsonschema` is slow to import, and a client that is never refused does not need it.
    from harness.contract.ordered_validator import SchemaWalk

    return SchemaWalk(schemas.load(root, as_of))

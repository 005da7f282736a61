"""Patterns in JSON Schemas that the newer models cannot enforce."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from harness.api.models import Model
from harness.contract.rule import Case, RuleScope, reported, rule
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(area="tools")
_WITHOUT_LOOKAROUND = ("gpt-5.5", "gpt-5.6", "gpt-6")
"""The families that refuse lookarounds; gpt-5.4 accepts them."""
_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose members are schemas by name."""
_LOOKAROUND = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(\(\?<?[=!])", re.DOTALL)
"""An escape, a character class, or (in the group) the start of a lookahead or lookbehind."""
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EMAIL = {"type": "string", "pattern": "^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z.]+$"}


def _closed(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _function(schema: Json, model: str = "gpt-5.5", **members: Any) -> Json:
    tool = {"type": "function", "name": "send", "parameters": schema, "strict": True, **members}
    return {"model": model, "tools": [tool]}


_DEFINED = {**_closed(to={"$ref": "#/$defs/Email"}), "$defs": {"Email": {"anyOf": [{"type": "null"}, _EMAIL]}}}


@rule(
    when=("tools", "text"),
    reads=(),
    mentions=("(?=", "(?!", "(?<=", "(?<!"),
    since="2026-05-24",
    error=bad_request(
        "Invalid JSON schema: regex lookaround is not supported. Found at {place}.", "{path}", "invalid_json_schema"
    ),
    source=[
        reported("https://github.com/decolua/9router/issues/1556: gpt-5.5, with param and code", "2026-05-29"),
        reported(
            "https://github.com/Kilo-Org/kilocode/issues/10179: gpt-5.5, in $defs; gpt-5.4 takes it", "2026-05-27"
        ),
        reported("https://github.com/existential-birds/daydream/issues/304: in text.format.schema", "2026-08-05"),
        reported("https://github.com/vercel/ai/pull/21037: a strict function", "2026-09-17"),
        reported("https://github.com/cline/cline/pull/14019: gpt-6-astra, on Azure, too", "2026-09-10"),
        reported(
            "https://github.com/pleaseai/shunt/pull/558: refused once, and accepted in later probes", "2026-09-14"
        ),
    ],
    assumed="that it is accepted with `strict: false`: no report says so, and the accepted probes may have had it",
    rejects={
        "$.properties.email.pattern": _function(_closed(email=_EMAIL)),
        "$.properties.to.items.pattern": _function(_closed(to={"type": "array", "items": _EMAIL}), model="gpt-6-sol"),
        "$['$defs'].Email.anyOf[1].pattern": {
            "model": "gpt-5.6-sol",
            "text": {"format": {"type": "json_schema", "name": "n", "schema": _DEFINED, "strict": True}},
        },
    },
    accepts=[
        _function(_closed(email=_EMAIL), model="gpt-5.4"),
        _function(_closed(email=_EMAIL), strict=False),
        _function(_closed(email={"type": "string", "pattern": "^(?:a|b)[(?=]\\(?=$"})),
        _function(_closed(pattern={"type": "string", "description": "(?=a)"})),
        Case(_function(_closed(email=_EMAIL)), as_of="2026-05-01"),
    ],
    fix="Leave out the pattern, or write it without lookahead and lookbehind; `z.email()` of zod makes one with them.",
)
def schema_with_lookaround(request: Request, family: Model | None) -> Iterator[Json]:
    """A pattern in an enforced schema must have no lookahead or lookbehind."""
    if family is None or not family.name.startswith(_WITHOUT_LOOKAROUND):
        return
    for tool in request.body.get("tools") or ():
        if tool["type"] == "function" and tool.get("strict") is not False:
            yield from ({"place": place, "path": "tools"} for place in _find_lookarounds(tool.get("parameters")))
    format = (request.body.get("text") or {}).get("format") or {}
    if format.get("strict") is not False:
        found = _find_lookarounds(format.get("schema"))
        yield from ({"place": place, "path": "text.format.schema"} for place in found)


def _find_lookarounds(schema: Any) -> Iterator[str]:
    """Yield the places of patterns with a lookaround in a schema, in order; its lists and maps contain schemas."""
    waiting: list[tuple[Any, str, bool]] = [(schema, "$", False)]
    while waiting:
        node, place, is_map = waiting.pop()
        if isinstance(node, list):
            waiting += [(part, f"{place}[{index}]", False) for index, part in reversed([*enumerate(node)])]
        elif isinstance(node, dict):
            if not is_map and isinstance(pattern := node.get("pattern"), str) and _has_lookaround(pattern):
                yield f"{place}.pattern"
            inner = [(part, f"{place}{_step(name)}", not is_map and name in _MAPS) for name, part in node.items()]
            waiting += [part for part in reversed(inner) if is_map or part[1] != f"{place}.pattern"]


def _has_lookaround(pattern: str) -> bool:
    return any(match[1] for match in _LOOKAROUND.finditer(pattern))


def _step(name: str) -> str:
    return f".{name}" if _IDENTIFIER.fullmatch(name) else f"['{name}']"

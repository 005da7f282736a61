"""Converts the matchers of a fixture to conditions of a route: {"userMessage": "weather"} → {"user": "weather"}."""

import re
from dataclasses import dataclass
from typing import Any

from harness.core.exchange import Json
from harness.core.text import show
from harness.world.scripting.validation import (
    BOOLEAN,
    TEXT,
    TEXT_LIST,
    WHOLE_NUMBER,
    InvalidData,
    ValueForm,
    check_members,
    errors_at,
)

MATCHERS = (
    *("userMessage", "systemMessage", "inputText", "toolCallId", "toolResultContains", "toolName", "model"),
    *("responseFormat", "predicate", "sequenceIndex", "turnIndex", "hasToolResult", "endpoint", "context"),
)
_NO_LIKE = {
    "inputText": "it matches embeddings, which the mock leaves to a test: mock.route(…)",
    "predicate": "it is code. Write it as a condition: mock.when(user=lambda text: …)",
    "responseFormat": "the Responses API has no response_format, so that it never matches there; the form of an answer "
    "is text.format, and the mock holds each turn to it. Leave the matcher out",
    "context": "it is a header of aimock. Each test has its own mock, by API key",
}
"""Matchers that have no equivalent condition, and the reason."""
_SYSTEM = ValueForm("a text, or a list of texts", lambda value: TEXT.is_valid(value) or TEXT_LIST.is_valid(value))
_CHAT = ("chat",)
"""Endpoints whose fixtures also answer `POST /responses`."""


@dataclass(frozen=True, slots=True)
class ConvertedMatch:
    """The conditions that a request must meet, and the fixture's place among those with the same conditions."""

    conditions: Json
    sequence: int | None = None
    turn: int | None = None


def convert_match(value: Any) -> ConvertedMatch:
    """Convert the matchers of a fixture. InvalidData for one that is unknown or has no equivalent in the mock."""
    with errors_at("match"):
        given = check_members(value, "matcher", MATCHERS)
        match = {name: wanted for name, wanted in given.items() if wanted is not None}
        for name in match:
            if name in _NO_LIKE:
                with errors_at(name):
                    raise InvalidData(f"{_NO_LIKE[name]}.")
        if (endpoint := match.get("endpoint", "chat")) not in _CHAT:
            with errors_at("endpoint"):
                raise InvalidData(f"{show(endpoint)} is another part of the API. Answer it in a test: mock.route(…).")
        places = [_check_place(match, name) for name in ("sequenceIndex", "turnIndex")]
        return ConvertedMatch(_convert_conditions(match), *places)


def _check_place(match: Json, name: str) -> int | None:
    return WHOLE_NUMBER.check(name, match[name]) if name in match else None


def _convert_conditions(match: Json) -> Json:
    """Convert each matcher to a condition, except empty strings, which match everything."""
    conditions: Json = {}
    if user := _text(match, "userMessage"):
        conditions["user"] = user
    if system := _SYSTEM.check("systemMessage", match.get("systemMessage", "")):
        conditions["instructions"] = system if isinstance(system, str) else _all_of(system)
    if tool := _text(match, "toolName"):
        conditions["tools"] = [tool]
    if model := _text(match, "model"):
        conditions["model"] = {"pattern": rf"^{escape_pattern(model)}(-\d|$)"}
    if output := _text(match, "toolResultContains"):
        conditions["input"] = output
    if answered := _convert_outputs(match, bool(output)):
        conditions["call_id"] = {"pattern": answered}
    return conditions


def _text(match: Json, name: str) -> str:
    return str(TEXT.check(name, match.get(name, "")))


def escape_pattern(text: str) -> str:
    """Escape only the characters that have a meaning in a pattern, so that it stays readable."""
    return re.sub(r"\\([- ])", r"\1", re.escape(text))


def _all_of(texts: list[str]) -> Any:
    """Build a condition that matches several strings in any order."""
    if len(texts) == 1:
        return texts[0]
    return {"pattern": f"(?s)^{''.join(f'(?=.*{escape_pattern(text)})' for text in texts)}"}


def _convert_outputs(match: Json, has_output: bool) -> str:
    """Return a pattern of `call_id` for the calls that must have been answered; empty if that does not matter."""
    if call := _text(match, "toolCallId"):
        return rf"(^|\n){escape_pattern(call)}$"
    wanted = BOOLEAN.check("hasToolResult", match.get("hasToolResult", has_output))
    if wanted or has_output:
        return "."
    return "^$" if "hasToolResult" in match else ""

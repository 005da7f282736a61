"""Every keyword of the request schemas has words of its own, and the words name types as the API does."""

import re
from functools import cache
from typing import Any

import pytest

from harness.api.operations import OPERATIONS
from harness.contract import first_violation, schema
from harness.contract.check import rule_for
from harness.contract.phrasing import format_path
from harness.contract.rules.example_requests import VALID_BODY
from tests.contract.evidence.samples.keywords import Breaker, Broken, occurrences, written
from tests.contract.evidence.samples.mutate import places, replaced
from tests.support.slow import slow_except, slow_except_every

FIRST = "CreateResponse"
OTHERS = sorted({operation.body_schema for operation in OPERATIONS.values() if operation.body_schema} - {FIRST})


@cache
def broken(root: str) -> list[tuple[Broken, first_violation.SchemaViolation | None]]:
    """Each keyword of a root broken by a body of its own, and what is found; definitions of the first root only there."""
    whole, least = schema.load(root), VALID_BODY if root == FIRST else {}
    known = [] if root == FIRST else map(written, schema.load(FIRST)["$defs"].values())
    every = Breaker(whole, frozenset(known)).place(
        whole, (), lambda body: {**least, **body} if isinstance(body, dict) else body
    )
    return [(fault, first_violation.find_violation(root, fault.body)) for fault in every]


@pytest.mark.slow
def test_every_keyword_can_be_broken() -> None:
    whole = schema.load(FIRST)
    assert set(occurrences(whole, whole)) - {(fault.node, fault.keyword) for fault, _ in broken(FIRST)} == set()


@pytest.mark.parametrize("root", slow_except(range(1, 100), [FIRST, *OTHERS]))
class TestABrokenKeyword:
    @pytest.mark.slow
    def test_a_broken_keyword_is_named_where_it_is_broken(self, root: str) -> None:
        for fault, violation in broken(root):
            if fault.alone or violation:
                assert violation, fault
                assert (violation.keyword, violation.path) == (fault.called, format_path(fault.path)), fault

    def test_a_broken_keyword_has_words_that_say_where(self, root: str) -> None:
        for fault, violation in broken(root):
            if violation:
                rule = rule_for(violation.keyword, violation.rule)
                error = rule.error.fill(violation.facts)
                assert rule.id in NAMED_ELSEWHERE or str(error.param).startswith(violation.path), fault
                assert "{path}" not in rule.error.message or f"'{violation.path}'" in error.message, fault


NAMED_ELSEWHERE = {"context_management_type", "moved_parameter"}
"""The rules whose `param` is not the place: the API names what is around it, or where it belongs."""
TEXT = "a string"
OBJECT = "an object"
CALL = {"type": "function_call", "call_id": "c", "name": "f"}
SHELL = {"type": "local_shell_call", "call_id": "c"}


def item(**members: Any) -> dict[str, Any]:
    return {"input": [members]}


VALUES = {"a string": "x", "an integer": 5, "a decimal number": 1.5, "a boolean": True, "null": None}
VALUES |= {"an array": [], "an object": {}}
OBJECTS = ("a text format",)


def contradicts(expected: str, kind: str) -> bool:
    """Return whether a sentence says it got what it expected."""
    alternatives = ["array"] if expected.startswith("an array") else re.split(", or |, | or ", expected)
    bare = [re.sub("^(?:one of |an? )+", "", alternative) for alternative in alternatives]
    types = {"string" if type.startswith("'") else type.split()[0] for type in bare}
    got = kind.split()[-1] if kind != "a decimal number" else "decimal"
    return got in types or (got == "integer" and "decimal" in types)


@pytest.mark.parametrize(
    ("place", "expected", "body"),
    slow_except_every(
        4,
        [
            ("frequency_penalty", "a decimal", {"frequency_penalty": "5"}),
            ("reasoning", OBJECT, {"reasoning": "x"}),
            ("prompt", OBJECT, {"prompt": "x"}),
            ("tools[0]", OBJECT, {"tools": ["x"]}),
            ("metadata.a", TEXT, {"metadata": {"a": 1}}),
            ("truncation", "one of 'auto' or 'disabled'", {"truncation": 5}),
            ("tool_choice", "one of an object or 'none', 'auto', or 'required'", {"tool_choice": 5}),
            ("text.format", "a text format", {"text": {"format": "x"}}),
            ("conversation", "one of a string or object", {"conversation": 5}),
            ("input[0].content[0]", OBJECT, item(role="user", content=["x"])),
            ("input[0].content[0].text", TEXT, item(role="user", content=[{"type": "input_text", "text": 5}])),
            ("input[0].arguments", TEXT, item(**CALL, arguments=5)),
            ("input[0].summary", "an array of objects", item(type="reasoning", summary="x")),
            ("input[0].queries", "an array of strings", item(type="file_search_call", queries="x")),
            (
                "input[0].action.env",
                "an object with string keys and string values",
                item(**SHELL, action={"type": "exec", "command": [], "env": 5}),
            ),
        ],
    ),
)
def test_a_type_is_expected_in_the_phrase_of_its_place(place: str, expected: str, body: dict[str, Any]) -> None:
    """Put a value of each type there: refused in these words, or of a type that the phrase or a nullable member takes."""
    path = next(path for path, _ in places(body) if format_path(path) == place)
    for kind, value in VALUES.items():
        found = first_violation.find_violation("CreateResponse", {**VALID_BODY, **replaced(body, path, value)})
        if found and found.keyword == "type" and found.path == place:
            message = rule_for("type", None).error.fill(found.facts).message
            assert message == f"Invalid type for '{place}': expected {expected}, but got {kind} instead."
            assert not contradicts(expected, kind)
        else:
            assert kind == "null" or contradicts(expected, kind) or (kind == "an object" and expected in OBJECTS)

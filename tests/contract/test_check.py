"""The contract: which rule speaks, in which order, about what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from harness.api.http.body import MAX_BODY_DEPTH, coerce_query, count_members, find_duplicate_name, parse_body
from harness.contract.check import check, drop_nulls, named_rules, rule_for
from harness.contract.rule import RULES, assumed, rule
from harness.contract.rule_plan import forget_plans
from harness.contract.schema import load, root_names, schemas_directory
from harness.core.errors import ApiError
from harness.core.exchange import JsonFault, ReceivedRequest, Request
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.world import World
from tests.support.checked import AUTH, refused, request


class TestTheOrder:
    @pytest.mark.parametrize(("headers", "rule"), [({}, "auth_missing"), (AUTH, "body_syntax")])
    def test_begins_with_the_key_and_what_came_over_the_wire(self, headers: dict[str, str], rule: str) -> None:
        sent = Request("POST", "/responses", headers, fault=JsonFault("syntax"), operation="POST /responses")
        assert refused(sent) == rule

    def test_then_the_schema_then_the_state(self) -> None:
        unknown = {"previous_response_id": "resp_0"}
        assert refused(request({**unknown, "seed": 1})) == "unknown_parameter"
        assert refused(request(unknown)) == "previous_response_not_found"
        assert refused(request()) is None

    def test_ignores_the_schema_where_there_is_none(self) -> None:
        named = {"params": {"conversation_id": "conv_x"}, "operation": "GET /conversations/{conversation_id}"}
        assert refused(Request("GET", "/conversations/conv_x", AUTH, **named)) == "conversation_path_not_found"

    def test_judges_the_query_of_a_request_without_body(self) -> None:
        named = {"params": {"response_id": "resp_0"}, "operation": "GET /responses/{response_id}"}
        sent = Request("GET", "/responses/resp_0", AUTH, {"stream": "x"}, schema="RetrieveResponse", **named)
        assert refused(sent) == "invalid_type"

    def test_changes_nothing_in_the_body(self) -> None:
        sent = request({"temperature": None, "input": [{"role": "user", "content": "x"}]})
        before = str(sent.body)
        assert refused(sent) is None
        assert str(sent.body) == before


SUBJECTS = ("request", "world", "transcript")


def subjects(*names: str) -> Any:
    """Return a rule that takes these subjects and yields what they are."""
    scope: dict[str, Any] = {}
    args = ", ".join(names)
    exec(
        f'def judge({args}):\n    """A rule."""\n    yield {{"seen": " ".join(type(one).__name__ for one in ({args},))}}',
        scope,
    )
    return scope["judge"]


@pytest.fixture
def registered() -> Iterator[Any]:
    """Registers a rule on an operation of its own; both are gone after the test."""
    before = dict(RULES)

    def register(judge: Any, on: str) -> None:
        judge.__module__ = "mine"
        rule(on=on, error=ApiError(400, "{seen}"), source=assumed("a test"), rejects={})(judge)

    yield register
    RULES.clear()
    RULES.update(before)
    forget_plans()


@pytest.mark.parametrize("names", [names for size in (1, 2, 3) for names in combinations(SUBJECTS, size)], ids=" ".join)
def test_a_rule_gets_the_subjects_it_accepts(registered: Any, names: tuple[str, ...]) -> None:
    registered(subjects(*names), "POST /mine")
    refusal = check(Request("POST", "/mine", AUTH, body={}, operation="POST /mine"), World())
    assert refusal is not None
    assert refusal.error.message == " ".join(names).title()


class TestTheWords:
    @pytest.mark.parametrize(
        ("keyword", "named", "rule"),
        [
            ("enum", "input_item_type", "input_item_type"),
            ("type", None, "invalid_type"),
            ("type", "no_such_rule", "invalid_type"),
            ("contains", None, "unexplained"),
        ],
    )
    def test_are_those_of_the_rule_the_schema_names_or_of_the_keyword(
        self, keyword: str, named: str | None, rule: str
    ) -> None:
        assert rule_for(keyword, named).id == rule

    def test_that_schemas_name_all_exist(self) -> None:
        for root in root_names(schemas_directory()):
            assert named_rules(load(root)) <= set(RULES)

    def test_are_found_at_every_depth(self) -> None:
        schema = {
            "anyOf": [{"x-rule": "b_x"}, {"properties": {"a": {"x-known-rule": "a_x", "x-rule": "input_item_type"}}}],
            "x-rule": 5,
        }
        assert named_rules(schema) == {"a_x", "b_x", "input_item_type"}


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (
            {"model": None, "input": None, "tools": None, "text": {"format": None}},
            {"model": None, "input": None, "text": {"format": None}},
        ),
        ({"a": 1}, {"a": 1}),
        ([None], [None]),
        (None, None),
    ],
)
def test_null_is_absence_at_the_top_level_alone(body: Any, left: Any) -> None:
    assert drop_nulls(body) == left


class TestABody:
    @pytest.mark.parametrize(
        ("raw", "value"),
        [(b"", {}), (b"null", {}), (b"{}", {}), (b"[1, 1.5]", [1, 1.5]), (b'"x"', "x"), (b"0", 0), (b"false", False)],
    )
    def test_is_parsed(self, raw: bytes, value: Any) -> None:
        assert parse_body(raw) == (value, None)

    @pytest.mark.parametrize(
        ("raw", "fault"),
        [
            (b"{", JsonFault("syntax")),
            (b"\xff", JsonFault("unicode")),
            (b'{"a":{"b":1,"b":2}}', JsonFault("duplicate", "b", "a.b")),
            (b'[{"a":[{"b":1},{"b":1,"b":2}]}]', JsonFault("duplicate", "b", "a.b")),
            (b'[[1, "x", {}], {"" : 1, "":2}]', JsonFault("duplicate", "", "")),
        ],
    )
    def test_has_at_most_one_fault(self, raw: bytes, fault: JsonFault) -> None:
        assert parse_body(raw) == (None, fault)

    @pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
    def test_may_be_so_deep_and_no_deeper(self, opening: bytes, closing: bytes) -> None:
        def deep(levels: int) -> tuple[Any, JsonFault | None]:
            return parse_body(opening * levels + b"1" + closing * levels)

        assert deep(MAX_BODY_DEPTH)[1] is None
        assert deep(MAX_BODY_DEPTH + 1) == (None, JsonFault("syntax"))
        assert deep(100_000) == (None, JsonFault("syntax"))

    def test_may_be_wide_without_being_deep(self) -> None:
        assert parse_body(b"[" + b"[]," * 1000 + b"[]]")[1] is None

    def test_counts_its_members_at_all_depths(self) -> None:
        assert count_members({"a": [{"b": 1}, {"c": {"d": []}}], "e": "f"}) == 5

    @pytest.mark.parametrize(
        ("raw", "slow"),
        [
            (b'{"a":"x: y","b":{"c":[1,"2"]}}', False),
            (b'{"a": "x", "b": "\\":"}', False),
            (b'{"a" : 1}', True),
            (b'{"a":":"}', True),
            (b'{"a\\\\":1}', True),
        ],
    )
    def test_is_parsed_again_only_when_a_count_of_names_leaves_it_open(
        self, monkeypatch: pytest.MonkeyPatch, raw: bytes, slow: bool
    ) -> None:
        searched: list[Any] = []
        monkeypatch.setattr("harness.api.http.body._find_duplicate", lambda value, path: searched.append(value))
        assert find_duplicate_name(raw, parse_body(raw)[0]) is None
        assert bool(searched) is slow


PARAMETERS = {
    "properties": {"n": {"type": "integer"}, "b": {"type": "boolean"}, "a": {"type": "array"}, "s": {"type": "string"}}
}


class TestAQuery:
    @pytest.mark.parametrize(
        ("query", "value"),
        [
            ({"n": "3", "b": "true", "a": "x", "s": "3"}, {"n": 3, "b": True, "a": ["x"], "s": "3"}),
            ({"n": "-3", "b": "false", "a": ["x", "y"]}, {"n": -3, "b": False, "a": ["x", "y"]}),
            ({"n": "3.0", "b": "1", "x": "true"}, {"n": "3.0", "b": "1", "x": "true"}),
            ({"n": "", "b": "", "a": ""}, {"n": "", "b": "", "a": [""]}),
            ({"n": ["3"], "b": ["true"], "s": ["x"]}, {"n": ["3"], "b": ["true"], "s": ["x"]}),
            ({"n": "9" * 301}, {"n": "9" * 301}),
            ({"n": "\u0663"}, {"n": "\u0663"}),
        ],
    )
    def test_becomes_what_its_schema_wants_where_it_can(self, query: dict[str, Any], value: dict[str, Any]) -> None:
        assert coerce_query(query, PARAMETERS) == value

    def test_stays_text_without_a_schema(self) -> None:
        assert coerce_query({"n": "3"}, {}) == {"n": "3"}


class TestAPromptTemplate:
    def test_may_stand_for_the_input(self) -> None:
        mock = MockApi(fallback=lambda _: [message("ok")])
        mock.open("sk-prompt").organization(prompts=["pmpt_1"])
        headers = {"authorization": "Bearer sk-prompt", "content-type": "application/json"}
        answer = mock.handle(ReceivedRequest("POST", "/v1/responses", headers, raw=b'{"prompt": {"id": "pmpt_1"}}'))
        assert answer.status == 200

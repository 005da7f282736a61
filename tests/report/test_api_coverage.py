"""Which rules a request is held to, and what else of the API a journal touches."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.contract.rule import RULES
from harness.contract.rule_plan import applicable_rules
from harness.core.exchange import ReceivedRequest, Request
from harness.faults import rate_limit
from harness.items import function_call, reasoning
from harness.report.api_coverage import (
    DIMENSIONS,
    Coverage,
    _matching_branches,
    api_surface,
    has_coverage,
    measure_coverage,
    merge_coverage,
    percent_covered,
)
from harness.server.mock_api import MockApi
from tests.support.reports import KEY, ask, make_mock, post


def touched(mock: MockApi) -> Coverage:
    world = mock.worlds[KEY]
    return measure_coverage(world.exchanges, world)


def rules(given: Any = "hi", **members: Any) -> frozenset[str]:
    mock = make_mock()
    ask(mock, given, **members)
    return touched(mock)["rules"]


def test_what_is_known_has_a_name_in_every_dimension() -> None:
    assert set(api_surface()) == set(DIMENSIONS)
    assert all(api_surface().values())


def test_every_rule_that_refuses_anything_is_known() -> None:
    left_out = set(RULES) - api_surface()["rules"]
    assert left_out == {rule.id for rule in RULES.values() if rule.until and not rule.check}


def test_a_request_without_tools_touches_no_rule_of_tools() -> None:
    bare, tooled = rules(), rules(tools=[{"type": "function", "name": "f", "parameters": None, "strict": False}])
    assert not [id for id in bare if RULES[id].area == "tools"]
    assert [id for id in tooled if RULES[id].area == "tools"]
    assert bare < tooled


def test_a_good_request_touches_the_rules_that_it_keeps() -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "x"}
    assert {"call_needs_output", "unknown_parameter"} <= rules([call, output])


@pytest.mark.parametrize(
    ("keyword", "members"),
    [
        ("minimum", {"temperature": 1}),
        ("maxProperties", {"metadata": {"a": "b"}}),
        ("enum", {"truncation": "auto"}),
    ],
)
def test_a_rule_about_a_form_counts_when_something_of_that_form_is_sent(keyword: str, members: Any) -> None:
    rule = next(rule.id for rule in RULES.values() if rule.keyword == keyword)
    assert (rule in rules(), rule in rules(**members)) == (False, True)


def test_a_rule_about_a_form_counts_only_for_the_kind_of_tool_that_has_it() -> None:
    function = {"type": "function", "name": "f", "parameters": None, "strict": False}
    search = {"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 5}
    rule = next(rule.id for rule in RULES.values() if rule.keyword == "maximum")
    assert [rule in rules(tools=[tool]) for tool in (function, search)] == [False, True]


def test_a_refusal_stops_at_the_rule_that_refused() -> None:
    found = rules("hi", bogus=1, tools=[{"type": "function", "name": "f", "parameters": None, "strict": False}])
    assert "unknown_parameter" in found
    assert not [id for id in found if RULES[id].check and RULES[id].area == "tools"]


def test_rules_after_the_one_that_refused_are_not_counted() -> None:
    found = rules(previous_response_id="resp_" + "0" * 50)
    assert [id for id in RULES if id in found and RULES[id].check][-1] == "previous_response_not_found"


def test_a_body_that_is_no_json_is_held_to_no_rule_about_forms() -> None:
    mock = make_mock()
    post(mock, b"{")
    found = touched(mock)
    assert found["refusals"] == {"body_syntax"} == found["refusals"] & found["rules"]
    assert "unknown_parameter" not in found["rules"]


def test_rules_of_an_account_count_when_the_test_made_one() -> None:
    mock = make_mock()
    mock.open(KEY).script(rate_limit(after="1s"))
    ask(mock, "hi")
    assert "rate_limit" in touched(mock)["refusals"]


def test_kinds_of_items_events_endpoints_and_dialects_are_seen() -> None:
    mock = make_mock([reasoning("**Plan**"), function_call("f", {})])
    ask(mock, [{"role": "user", "content": "hi"}], stream=True)
    ask(mock, "plain")
    post(mock, {}, "/v1/conversations")
    post(mock, {"model": "gpt-4.1", "input": "hi"}, "/openai/v1/responses", **{"api-key": KEY})
    found = touched(mock)
    assert found["said"] == {"reasoning", "function_call"}
    assert found["sent"] == {"message"}
    assert {"response.created", "response.function_call_arguments.delta"} <= found["events"]
    assert found["endpoints"] == {"POST /responses", "POST /conversations"}
    assert found["dialects"] == {"openai", "azure"}


def test_an_event_of_a_websocket_is_held_to_the_rules_of_the_request_it_carries() -> None:
    mock = make_mock()
    session = mock.open_session(ReceivedRequest("GET", "/v1/responses", {"authorization": f"Bearer {KEY}"}))
    session.receive(json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi", "temperature": 1}))
    found = touched(mock)
    assert found["endpoints"] == {"WS /responses"}
    assert rules(temperature=1) - {"body_syntax"} <= found["rules"] | {"body_too_large"}


def test_what_the_contract_asks_is_in_the_order_of_the_rules() -> None:
    mock = make_mock()
    request = Request("POST", "/responses", operation="POST /responses", body={"model": "gpt-4.1", "input": "hi"})
    areas = [rule.area for rule in applicable_rules(request, mock.worlds[KEY])]
    assert areas
    assert areas == sorted(areas, key=[rule.area for rule in RULES.values()].index)


def test_shares_are_whole_and_rounded_down() -> None:
    of = frozenset("abc")
    assert [percent_covered(frozenset(some), of) for some in ("", "a", "ab", "abc", "xyz")] == [0, 33, 66, 100, 0]
    assert percent_covered(of, frozenset()) == 0
    assert [has_coverage(frozenset("a"), of, least) for least in (33.3, 33.4)] == [True, False]
    assert has_coverage(of, of, 100)


def test_what_several_touch_is_put_together() -> None:
    one = {"rules": frozenset("a")}
    assert merge_coverage([one, {"rules": frozenset("b"), "said": frozenset("c")}])["rules"] == {"a", "b"}
    assert set(merge_coverage([])) == set(DIMENSIONS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "role", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(["model", "input", "tools", "metadata", "stream", "text"]), JSON))
def test_whatever_is_sent_can_be_surveyed(body: dict[str, Any]) -> None:
    mock = make_mock()
    post(mock, body)
    assert touched(mock)["rules"]


@pytest.mark.parametrize(
    ("kind", "discriminator", "matching"), [("object", "b", [1]), ("object", None, [0, 1]), ("string", None, [2])]
)
def test_a_value_is_held_to_the_branch_of_a_union_that_is_of_its_type(kind, discriminator, matching):
    objects = [{"type": "object", "properties": {"type": {"enum": [name]}}} for name in "ab"]
    union = {"anyOf": [*objects, {"type": "string"}]}
    found = _matching_branches({}, union, "type", kind, discriminator)
    assert list(found) == [union["anyOf"][place] for place in matching]

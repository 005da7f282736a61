"""Which functions a request offers, and in which namespace each is called."""

import pytest

from harness.api.tools import (
    declared_tools,
    function_namespaces,
    is_deferred,
    loaded_tools,
    namespace_of,
    plain_functions,
)
from harness.core.exchange import Json
from harness.items import function_call, message, tool_search_output
from tests.support.in_process import Client, error
from tests.support.tools import OUTPUT

F: Json = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
LATER: Json = {**F, "defer_loading": True}
SEARCH: Json = {"type": "tool_search"}
CRM: Json = {"type": "namespace", "name": "crm", "description": "d"}
CRM["tools"] = [{**F, "name": "g"}, {**LATER, "name": "h"}]
FOUND: Json = {"type": "tool_search_output", "tools": [LATER]}


def test_the_tools_are_those_of_the_request_and_those_its_input_adds() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [CRM]}
    assert declared_tools({"tools": [F], "input": [added, {"role": "user", "content": "hi"}]}) == [F, CRM]
    assert declared_tools({"input": "hi"}) == []


@pytest.mark.parametrize(("tool", "waits"), [(F, False), (LATER, True), (CRM, True), (SEARCH, False)])
def test_a_tool_is_deferred_when_it_or_one_in_it_waits_for_a_search(tool: Json, waits: bool) -> None:
    assert is_deferred(tool) is waits


def test_a_function_at_the_top_is_called_by_its_name_alone_unless_it_is_deferred() -> None:
    assert plain_functions([F, {**LATER, "name": "later"}, CRM, SEARCH]) == {"f"}


def test_a_function_of_a_namespace_is_called_in_it() -> None:
    assert function_namespaces([F, LATER, CRM]) == {"g": "crm"}


def test_a_deferred_function_is_called_in_a_namespace_once_it_is_found() -> None:
    assert function_namespaces([F, LATER, CRM], found=True) == {"f": "f", "g": "crm", "h": "crm"}


def test_what_a_search_has_loaded_is_a_namespace_of_the_functions_own_name() -> None:
    strict = {"strict": True, "description": "d"}
    space = {"type": "namespace", "description": "d", "name": "f", "tools": [{**F, **strict}]}
    assert loaded_tools({"tools": [F, CRM]}, [{**LATER, **strict}]) == {"f": space, "crm": CRM}


def test_a_function_that_was_never_deferred_is_not_loaded() -> None:
    assert loaded_tools({"tools": [F, SEARCH]}, [F]) == {}


@pytest.mark.parametrize(
    ("tools", "items", "space"),
    [
        ([F], [], None),
        ([LATER, SEARCH], [], "f"),
        ([CRM, F], [], None),
        ([{**CRM, "tools": [F]}], [], "crm"),
        ([], [FOUND], "f"),
        ([], [{**FOUND, "tools": [{**CRM, "tools": [F]}]}], "crm"),
        ([], [], None),
    ],
)
def test_the_model_calls_a_function_where_it_was_found(tools: list[Json], items: list[Json], space: str | None) -> None:
    assert namespace_of("f", tools, items) == space


ASKED: Json = {"model": "gpt-5.6-sol", "tools": [LATER, SEARCH]}


class TestAScriptedCall:
    @pytest.fixture
    def client(self) -> Client:
        return Client()

    def test_a_scripted_call_names_the_namespace_of_its_function(self, client: Client) -> None:
        client.mock.script(function_call("f", "{}"), function_call("f", "{}", namespace="mine"))
        answers = [client.ask(**ASKED).body for _ in range(2)]
        assert [answer["output"][0]["namespace"] for answer in answers] == ["f", "mine"]

    def test_a_scripted_call_of_a_function_that_needs_no_arguments_has_none(self, client: Client) -> None:
        client.mock.script(function_call("f", "{}"))
        assert "namespace" not in client.ask(tools=[F]).body["output"][0]

    def test_a_scripted_call_is_sent_back_with_it_after_the_search_that_found_it(self, client: Client) -> None:
        turn = [tool_search_output([LATER]), function_call("f", "{}", call_id="call_1")]
        client.mock.script(turn, message("done"))
        found, call = client.ask(**ASKED).body["output"]
        bare = {name: value for name, value in call.items() if name != "namespace"}
        assert client.ask([found, call, OUTPUT], **ASKED).status == 200
        assert error(client.ask([found, bare, OUTPUT], **ASKED))[2] == "input[1].namespace"

    def test_a_scripted_call_of_a_stored_turn_is_judged_with_what_that_turn_found(self, client: Client) -> None:
        client.mock.script([tool_search_output([LATER]), function_call("f", "{}", call_id="call_1")])
        first = client.ask(**ASKED).body["id"]
        call = {"type": "function_call", "call_id": "call_2", "name": "f", "arguments": "{}"}
        again = [OUTPUT, call, {**OUTPUT, "call_id": "call_2"}]
        assert error(client.ask(again, previous_response_id=first, **ASKED))[2] == "input[1].namespace"

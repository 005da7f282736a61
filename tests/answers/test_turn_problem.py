"""A turn held to its request: its calls, what `tool_choice` demands, its text."""

import json
from typing import Any

import pytest

from harness.answers.turn_problem import find_turn_problem
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.ending import RECORDED_ENDING, completed, failed, incomplete
from harness.items import (
    code_interpreter_call,
    custom_tool_call,
    function_call,
    mcp_call,
    message,
    refusal,
    tool_search_output,
    web_search_call,
)
from harness.items.kind import Item, item_from_wire
from tests.support.in_process import Client, error
from tests.support.threads import FUNCTION, Desk
from tests.support.tools import functions, mcp_tool, strict_function

WEATHER = strict_function("get_weather", address="string")
NAMESPACE: Json = {"type": "namespace", "name": "crm", "description": "d", "tools": functions("find")}
DEFERRED: Json = {**functions("late")[0], "defer_loading": True}
PARIS = {"address": "Paris"}


@pytest.fixture
def client() -> Client:
    return Client()


def told(client: Client, turn: Any, **members: Any) -> str:
    """Return the mistake of a script whose first turn is this; without a mistake the test fails."""
    client.mock.script(turn)
    answer = client.ask(**members)
    assert (answer.status, answer.body["error"]["code"]) == (418, "ScriptError")
    assert client.world.problems
    return str(answer.body["error"]["message"])


def problem(*turn: Item, **body: Any) -> str:
    """Why no model could say a turn to a request without a history; empty if one could."""
    return find_turn_problem(body, turn, completed(), tuple)


class TestACall:
    def test_a_call_of_a_tool_that_is_not_declared_is_a_mistake_with_the_nearest_name(self, client: Client) -> None:
        assert told(client, function_call("get_wether", PARIS), tools=[WEATHER]) == (
            "script, turn 1: function_call('get_wether'): the request declares no function of that name, so no model can "
            "call it. Did you mean 'get_weather'?\nDeclare it in the `tools` of the request, or opt out "
            "with function_call(…, off_schema=True)."
        )

    def test_a_call_names_the_turn_and_its_route(self, client: Client) -> None:
        client.mock.when(input="weather").script("Sunny.", function_call("f"))
        client.ask("weather")
        told = error(client.ask("weather"))[1]
        assert told.startswith("when(input='weather'), turn 2: function_call('f'): the request")

    def test_a_call_after_a_response_with_tools_needs_them_again(self, client: Client) -> None:
        client.mock.script(function_call("get_weather", PARIS, call_id="call_1"), function_call("get_weather", PARIS))
        first = client.ask(tools=[WEATHER]).body["id"]
        output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
        again = error(client.ask([output], previous_response_id=first))[1]
        assert "those of the response before are not taken over" in again

    @pytest.mark.parametrize(
        ("call", "tools"),
        [
            (custom_tool_call("run", "x"), functions("run")),
            (function_call("run"), [{"type": "custom", "name": "run"}]),
            (mcp_call("prod", "deploy"), [mcp_tool("docs")]),
            (web_search_call("news"), functions("web_search")),
            (code_interpreter_call("1"), []),
        ],
    )
    def test_a_call_of_another_kind_of_tool_is_a_mistake(self, call: Item, tools: list[Json]) -> None:
        told = problem(call, tools=tools)
        assert ("the request declares no " in told, "call it. It has no tools.\n" in told) == (True, not tools)

    @pytest.mark.parametrize(
        ("call", "tools"),
        [
            (function_call("find"), [NAMESPACE]),
            (function_call("late"), [DEFERRED, {"type": "tool_search"}]),
            (web_search_call("news"), [{"type": "web_search_preview"}]),
            (mcp_call("docs", "ask"), [mcp_tool("docs")]),
        ],
    )
    def test_a_call_of_a_declared_tool_is_no_problem(self, call: Item, tools: list[Json]) -> None:
        assert problem(call, tools=tools) == ""

    def test_a_call_may_be_of_a_tool_that_a_search_has_found(self) -> None:
        assert problem(tool_search_output(functions("found")), function_call("found")) == ""
        read = [{"type": "tool_search_output", "tools": functions("found")}]
        assert find_turn_problem({}, [function_call("found")], completed(), lambda: read) == ""

    def test_a_call_may_be_of_a_tool_that_the_input_adds(self) -> None:
        read = [{"type": "additional_tools", "role": "developer", "tools": functions("more")}]
        assert find_turn_problem({"input": read}, [function_call("more")], completed(), lambda: read) == ""

    @pytest.mark.parametrize("hidden", [{"prompt": {"id": "pmpt_1"}}, {"agent_reference": {"name": "a"}}])
    def test_a_call_may_be_of_a_tool_that_a_template_or_an_agent_has(self, hidden: Json) -> None:
        assert problem(function_call("f"), **hidden) == ""

    @pytest.mark.parametrize(
        "turn",
        [
            function_call("f", off_schema=True),
            custom_tool_call("f", off_schema=True),
            [function_call("f"), completed(off_schema=True)],
            [web_search_call("x"), completed(off_schema=True)],
            [function_call("f"), incomplete()],
        ],
    )
    def test_a_call_may_be_made_up_where_the_script_says_so(self, client: Client, turn: Any) -> None:
        client.mock.script(turn)
        answer = client.ask()
        assert answer.status == 200
        assert "off_schema" not in json.dumps(answer.body)

    def test_a_call_that_was_recorded_may_be_of_any_tool(self) -> None:
        assert find_turn_problem({}, [function_call("f")], RECORDED_ENDING, tuple) == ""

    def test_a_call_in_wire_form_may_say_so_too(self, client: Client) -> None:
        wire = {"type": "function_call", "name": "f", "arguments": "{}", "off_schema": True}
        client.mock.script(item_from_wire(wire))
        assert client.ask().status == 200
        with pytest.raises(ScriptError, match=r"message: off_schema is True\. .* only for calls"):
            item_from_wire({"type": "message", "content": [], "off_schema": True})


class TestArguments:
    def test_arguments_with_a_typo_break_a_strict_schema(self, client: Client) -> None:
        assert told(client, function_call("get_weather", {"adress": "Paris"}), tools=[WEATHER]) == (
            'script, turn 1: function_call(\'get_weather\'): the arguments {"adress":"Paris"} break the tool\'s schema, '
            "which is strict: it has no member 'adress'. Did you mean 'address'?\nThe API's models keep to a strict schema: "
            "correct the arguments, declare the tool with `strict: false`, or opt out with "
            "function_call(…, off_schema=True)."
        )

    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            ({}, '"address" is a required property'),
            ({"address": 5}, "5 is not of type \"string\" (at ['address'])"),
            ('{"address": ', "it is not JSON: "),
            ("[" * 300 + "]" * 300, "it is not JSON: it nests more than 200 levels deep"),
        ],
    )
    def test_wrong_arguments_are_reported_with_the_difference(self, arguments: Any, reason: str) -> None:
        assert reason in problem(function_call("get_weather", arguments), tools=[WEATHER])

    @pytest.mark.parametrize("strict", [{}, {"strict": None}])
    def test_arguments_are_held_to_the_schema_as_the_api_closes_it(self, strict: Json) -> None:
        schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
        tool = {"type": "function", "name": "f", "parameters": schema, **strict}
        found = problem(function_call("f", {"a": "x"}), tools=[tool])
        assert '"b" is a required property' in found
        assert "as it is without `strict` and the API then requires every property" in found
        assert problem(function_call("f", {"a": "x", "b": "y"}), tools=[tool]) == ""

    def test_arguments_may_be_anything_without_strict(self) -> None:
        assert problem(function_call("f", {"x": 1}), tools=functions("f")) == ""
        open_schema = {"type": "object", "properties": {}, "additionalProperties": True}
        tool = {"type": "function", "name": "f", "parameters": open_schema}
        assert problem(function_call("f", {"x": 1}), tools=[tool]) == ""

    def test_arguments_may_break_it_where_the_script_says_so(self) -> None:
        assert problem(function_call("get_weather", {"adress": "x"}, off_schema=True), tools=[WEATHER]) == ""

    @pytest.mark.parametrize(
        "schema", [{"$ref": "http://unknown.invalid/"}, {"$ref": "file:///etc/hosts"}, {"type": 5}]
    )
    def test_arguments_are_not_held_to_a_schema_that_is_none(self, schema: Json) -> None:
        tool = {"type": "function", "name": "f", "parameters": schema, "strict": True}
        assert problem(function_call("f", {"x": 1}), tools=[tool]) == ""

    def test_arguments_name_the_member_beside_the_wrong_one(self) -> None:
        inner = WEATHER["parameters"]
        outer = {"type": "object", "properties": {"place": inner}, "required": ["place"], "additionalProperties": False}
        tool = {"type": "function", "name": "f", "parameters": outer, "strict": True}
        found = problem(function_call("f", {"place": {"adress": "x"}}), tools=[tool])
        assert "it has no member 'adress' (at ['place']). Did you mean 'address'?" in found


TOOLS = functions("f", "g")
FORCED = {"type": "function", "name": "f"}
ALLOWED = {"type": "allowed_tools", "mode": "required", "tools": [FORCED]}
MAY_CALL = {**ALLOWED, "mode": "auto"}
SEARCH = {"type": "web_search_preview"}
NO_CALL = "the turn has no call, but tool_choice is"


class TestToolChoice:
    @pytest.mark.parametrize(
        ("choice", "turn", "said"),
        [
            ("none", [function_call("f")], "function_call('f'): tool_choice is 'none', so no model makes this call."),
            ("required", [message("No.")], f"{NO_CALL} 'required': a model has to make one."),
            (FORCED, [function_call("g")], "function_call('g'): tool_choice is the function 'f', so no model makes"),
            (FORCED, [message("No.")], f"{NO_CALL} the function 'f'"),
            (ALLOWED, [function_call("g")], "function_call('g'): tool_choice is required of the function 'f', so"),
            (MAY_CALL, [function_call("g")], "function_call('g'): tool_choice is auto of the function 'f'"),
            (SEARCH, [message("No.")], f"{NO_CALL} 'web_search_preview'"),
        ],
    )
    def test_tool_choice_that_a_turn_does_not_follow_is_a_mistake(
        self, choice: Any, turn: list[Item], said: str
    ) -> None:
        assert problem(*turn, tools=TOOLS, tool_choice=choice).startswith(said)

    @pytest.mark.parametrize(
        ("choice", "turn"),
        [
            ("auto", [function_call("f")]),
            ("none", [message("Hi.")]),
            ("none", [function_call("f", off_schema=True)]),
            ("required", [message("I look."), function_call("f")]),
            ("required", [web_search_call("x"), message("Found.")]),
            (FORCED, [function_call("f"), function_call("f")]),
            (MAY_CALL, [message("Hi.")]),
            (SEARCH, [web_search_call("x"), message("Found.")]),
        ],
    )
    def test_a_tool_choice_that_a_turn_follows_is_no_problem(self, choice: Any, turn: list[Item]) -> None:
        assert problem(*turn, tools=[*TOOLS, SEARCH], tool_choice=choice) == ""

    def test_a_violated_tool_choice_is_reported_with_its_place_and_the_fix(self, client: Client) -> None:
        assert told(client, "Sunny.", tools=[WEATHER], tool_choice="required") == (
            "script, turn 1: the turn has no call, but tool_choice is 'required': a model has to make one.\nScript that "
            "call, opt out with [message(…), completed(off_schema=True)], or change the request's tool_choice."
        )

    @pytest.mark.parametrize("ending", [completed(off_schema=True), incomplete(), failed(), RECORDED_ENDING])
    def test_tool_choice_is_not_asked_of_a_turn_that_says_how_it_ends(self, ending: Any) -> None:
        body = {"tools": TOOLS, "tool_choice": "required"}
        assert find_turn_problem(body, [message("No.")], ending, tuple) == ""

    def test_tool_choice_is_not_asked_of_a_model_without_a_script(self, client: Client) -> None:
        assert client.ask(tools=TOOLS, tool_choice="required").status == 200


class TestParallelCalls:
    def test_parallel_calls_are_a_mistake_where_the_request_forbids_them(self) -> None:
        both = [function_call("f"), function_call("g")]
        told = "the turn has 2 calls (function_call('f'), function_call('g')), but parallel_tool_calls is false"
        assert problem(*both, tools=TOOLS, parallel_tool_calls=False).startswith(told)
        assert problem(*both, tools=TOOLS) == ""

    def test_parallel_calls_of_hosted_tools_and_of_programs_do_not_count(self) -> None:
        searches = [web_search_call("a"), web_search_call("b"), function_call("f")]
        assert problem(*searches, tools=[*TOOLS, SEARCH], parallel_tool_calls=False) == ""
        caller = {"type": "program", "caller_id": "call_1"}
        own = [function_call("f", caller=caller), function_call("g", caller=caller)]
        assert problem(*own, tools=TOOLS, parallel_tool_calls=False) == ""


def test_max_tool_calls_is_soft() -> None:
    assert problem(web_search_call("a"), web_search_call("b"), tools=[SEARCH], max_tool_calls=1) == ""


class TestARun:
    """The tools are those of the assistant, or of the run."""

    def mistake(self, turn: Any, assistant: Json, **run: Any) -> str:
        desk = Desk(**assistant)
        desk.mock.script(turn)
        with pytest.raises(AssertionError):
            desk.run(desk.thread("hi"), **run)
        return str(desk.world.exchanges[-1].answer.body["error"]["message"])

    def test_a_run_cannot_call_what_neither_declares(self) -> None:
        found = self.mistake(function_call("g"), {"tools": [FUNCTION]})
        assert "script, turn 1: function_call('g'): the request declares no function" in found

    def test_a_run_is_held_to_a_strict_schema(self) -> None:
        strict = {"type": "function", "function": {name: WEATHER[name] for name in ("name", "parameters", "strict")}}
        found = self.mistake(function_call("get_weather", {"adress": "x"}), {"tools": [strict]})
        assert "Did you mean 'address'?" in found

    def test_calls_one_at_a_time_where_it_must(self) -> None:
        both = [function_call("f", {}), function_call("f", {})]
        assert "parallel_tool_calls is false" in self.mistake(both, {"tools": [FUNCTION]}, parallel_tool_calls=False)

    def test_a_run_answers_once_it_has_called(self) -> None:
        desk = Desk(tools=[FUNCTION])
        desk.mock.script(function_call("f", {}, call_id="call_a"), message("done"))
        run = desk.settled(desk.run(desk.thread("hi"), tool_choice="required").body)
        assert desk.settled(desk.submit(run, {"call_a": "ok"}).body)["status"] == "completed"

    def test_a_run_waits_for_a_call_that_is_made_up(self) -> None:
        desk = Desk()
        desk.mock.script([function_call("f", {}), completed(off_schema=True)])
        assert desk.settled(desk.run(desk.thread("hi")).body)["status"] == "requires_action"


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
FITTING = json.dumps({"city": "Oslo", "days": [1]})


def formatted(**more: Any) -> dict[str, Any]:
    return {"text": {"format": {"type": "json_schema", "name": "trip", "schema": SCHEMA, **more}}}


class TestAText:
    @pytest.mark.parametrize("strict", [{}, {"strict": True}, {"strict": None}])
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("Oslo.", "it is not JSON: "),
            ('{"city": "Oslo"}', '"days" is a required property'),
            ('{"city": "Oslo", "days": [1, "x"]}', '"x" is not of type "integer" (at [\'days\'][1])'),
            ('{"city": "Oslo", "day": [1]}', "it has no member 'day'. Did you mean 'days'?"),
        ],
    )
    def test_a_text_that_breaks_the_schema_is_a_mistake(
        self, client: Client, strict: Any, text: str, reason: str
    ) -> None:
        said = told(client, message(text), **formatted(**strict))
        assert said.startswith(f"script, turn 1: message: {text!r} is not what text.format (trip) asks for: {reason}")
        assert said.endswith("or opt out with [message(…), completed(off_schema=True)].")

    @pytest.mark.parametrize(
        "turn",
        [
            message(FITTING),
            message(list(FITTING)),
            [message("Let me see.", phase="commentary"), message(FITTING, phase="final_answer")],
            message(refusal("No.")),
            function_call("f", "{}"),
            [message("Oslo."), completed(off_schema=True)],
            [message(FITTING[:9]), incomplete()],
        ],
    )
    def test_a_text_keeps_to_it_or_need_not(self, client: Client, turn: Any) -> None:
        client.mock.script(turn)
        assert client.ask(**formatted(), tools=functions("f")).status == 200

    def test_a_text_may_break_one_that_is_not_strict(self, client: Client) -> None:
        client.mock.script(message("Oslo."))
        assert client.ask(**formatted(strict=False)).status == 200

    @pytest.mark.parametrize("schema", [{"type": "bogus"}, {"$ref": "#/nope"}, {"$ref": "http://unknown.invalid/"}])
    def test_a_text_leaves_a_schema_that_is_none_to_the_rules(self, schema: Any) -> None:
        asked = {"text": {"format": {"type": "json_schema", "name": "trip", "schema": schema}}}
        assert find_turn_problem(asked, [message("{}")], completed(), tuple) == ""

    def test_a_text_is_held_to_it_even_when_it_was_recorded(self) -> None:
        assert find_turn_problem(formatted(), [message("Oslo.")], RECORDED_ENDING, tuple)

    def test_a_text_is_not_judged_in_a_failure(self, client: Client) -> None:
        client.mock.script([message("Os"), failed()])
        assert client.ask(**formatted(), stream=True).status == 200

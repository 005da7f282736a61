"""A route of a script: tried in order, met by all its conditions, named by them."""

import re
from typing import Any

import pytest

from harness.core.errors import ScriptError
from harness.core.exchange import Json, Request
from harness.items import message
from harness.items.transcript import EMPTY_CHAIN, ItemChain, Transcript, resolve_transcript
from harness.world.route import Route, condition_value, is_match
from harness.world.script import Script
from tests.support.calls import answer
from tests.support.in_process import user
from tests.support.tools import functions, mcp_tool


class TestARoute:
    def test_a_route_is_tried_in_the_order_of_adding_the_bare_script_last(self) -> None:
        script = Script()
        script.add([message("else")])
        script.when({"input": "deploy"}).script(message("first"))
        script.when({"input": "deploy now"}).script(message("second"))
        assert [answer(script, "Deploy now") for _ in range(3)] == ["first", "second", "else"]

    def test_a_route_needs_all_its_conditions(self) -> None:
        script = Script()
        script.when({"input": "x", "model": "gpt-5*"}).script(message("both"))
        script.add([message("else")])
        assert answer(script, "x") == "else"
        assert answer(script, "x", model="gpt-5-mini") == "both"

    def test_a_route_on_something_else_is_refused(self) -> None:
        told = r"when\(size=…\): no condition 'size'\. Known: instructions, tools, model"
        with pytest.raises(ScriptError, match=told):
            Script().when({"size": "x", "mood": "x"})

    def test_a_route_is_named_by_its_conditions(self) -> None:
        assert str(Route({"input": "x", "tools": ["f"]})) == "when(input='x', tools=['f'])"
        assert str(Route({})) == "script"


HI, DEVELOPER, SYSTEM = user("hi"), {"role": "developer", "content": "B"}, {"role": "system", "content": "C"}
ANSWERED = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}


def value(body: Json, what: str, stored: ItemChain = EMPTY_CHAIN, items: Json | None = None) -> Any:
    return condition_value(
        Request("POST", "/responses", body=body), resolve_transcript(stored, body, items or {}), what
    )


class TestACondition:
    @pytest.mark.parametrize(
        ("what", "body", "heard"),
        [
            ("instructions", {"instructions": "Be brief."}, "Be brief."),
            ("instructions", {"instructions": "A", "input": [DEVELOPER, SYSTEM]}, "A\nB\nC"),
            ("instructions", {}, ""),
            ("input", {"input": "hello"}, "hello"),
            ("input", {"input": [user("a"), user("b")]}, "b"),
            ("input", {"input": [user([{"type": "input_text", "text": t} for t in "ab"])]}, "a\nb"),
            ("input", {"input": [{"type": "function_call_output", "output": "18 C"}]}, "18 C"),
            ("input", {"input": [user("a"), {"type": "item_reference", "id": "x"}]}, "a"),
            ("input", {"input": [user([{"type": "input_image", "image_url": "x"}])]}, ""),
            ("input", {}, ""),
            ("model", {"model": "gpt-5"}, "gpt-5"),
            ("model", {}, ""),
            ("agent", {"agent_reference": {"name": "ops"}}, "ops"),
            ("user", {"input": "hi"}, "hi"),
            ("user", {"input": [HI, ANSWERED]}, "hi"),
            ("user", {"input": [HI, user([{"type": "input_image"}])]}, "hi"),
            ("user", {"input": [ANSWERED]}, ""),
            ("call_id", {"input": [HI, ANSWERED, {**ANSWERED, "call_id": "call_2"}]}, "call_1\ncall_2"),
            ("call_id", {"input": [ANSWERED]}, "call_1"),
            ("call_id", {"input": [ANSWERED, HI]}, ""),
            ("call_id", {"input": "hi"}, ""),
            ("agent", {"agent": {"name": "ops"}}, "ops"),
            ("agent", {"metadata": {"agent": "ops"}}, "ops"),
            ("agent", {"metadata": None}, ""),
            ("tools", {"tools": [*functions("f"), mcp_tool("s"), {"type": "web_search"}]}, ["f", "s", "web_search"]),
            ("tools", {"tools": None}, []),
        ],
    )
    def test_a_condition_looks_at_one_side_of_a_request(self, what: str, body: dict[str, Any], heard: Any) -> None:
        assert value(body, what) == heard

    @pytest.mark.parametrize(
        ("what", "body", "heard"),
        [
            ("instructions", {"instructions": "A", "input": [ANSWERED]}, "A\nStored."),
            ("instructions", {"input": [ANSWERED, DEVELOPER]}, "Stored.\nB"),
            ("user", {"input": [ANSWERED]}, "Weather?"),
            ("user", {"input": "hi"}, "hi"),
            ("input", {"input": [{"type": "item_reference", "id": "msg_1"}]}, "Referenced."),
            ("input", {"input": []}, "Looking."),
            ("call_id", {"input": [ANSWERED]}, "call_0\ncall_1"),
            ("call_id", {"input": "hi"}, ""),
            ("tools", {"tools": functions("f"), "input": [ANSWERED]}, ["f", "g", "h"]),
        ],
    )
    def test_a_condition_looks_at_what_the_request_continues(self, what: str, body: dict[str, Any], heard: Any) -> None:
        stored = [
            {"role": "system", "content": "Stored."},
            {"type": "additional_tools", "role": "developer", "tools": functions("g")},
            user("Weather?"),
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
            {"type": "tool_search_output", "execution": "client", "call_id": "s", "tools": functions("h", "f")},
            {**ANSWERED, "call_id": "call_0", "output": [{"type": "input_image", "image_url": "x"}]},
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        ]
        items = {"msg_1": {"role": "user", "content": "Referenced."}}
        assert value(body, what, ItemChain(stored), items) == heard

    def test_a_condition_sees_nothing_in_a_request_without_an_object(self) -> None:
        request, names = Request("GET", "/responses/resp_1"), ("instructions", "tools", "input", "agent")
        transcript = Transcript(EMPTY_CHAIN, [])
        assert [condition_value(request, transcript, name) for name in names] == ["", [], "", ""]

    @pytest.mark.parametrize(
        ("name", "wanted", "actual", "met"),
        [
            ("input", "WEATHER", "the weather in Paris", True),
            ("input", "rain", "the weather in Paris", False),
            ("input", re.compile(r"in \w+$"), "the weather in Paris", True),
            ("input", re.compile("^in"), "the weather in Paris", False),
            ("input", lambda text: len(text) > 3, "long", True),
            ("model", "gpt-5*", "gpt-5-mini", True),
            ("model", "gpt-5", "gpt-5-mini", False),
            ("model", re.compile("mini"), "gpt-5-mini", True),
            ("tools", "f", ["f", "g"], True),
            ("tools", ["f", "g"], ["g", "f", "h"], True),
            ("tools", ["f", "x"], ["f"], False),
            ("tools", lambda names: not names, [], True),
            ("tools", re.compile("^get_"), ["web_search", "get_weather"], True),
            ("tools", re.compile("^set_"), ["web_search", "get_weather"], False),
        ],
    )
    def test_a_condition_is_met_by_kind(self, name: str, wanted: Any, actual: Any, met: bool) -> None:
        assert is_match(name, wanted, actual) is met

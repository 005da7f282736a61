"""A route of a script: tried in order, met by all its conditions, named by them."""

from __future__ import annotations

import pytest

from harness.core.errors import ScriptError
from harness.items import message
from harness.world.route import Route
from harness.world.script import Script
from tests.support.calls import answer


class TestARoute:
    def test_a_route_is_tried_in_the_order_of_adding_the_bare_script_last(self) -> None:
        script = Script()
        script.add([message("else")])
        script.when({"input": "deploy"}).script(message("first"))
        script.when({"input": "deploy now"}).script(message("second"))
        assert [answer(script, "Deploy now") for _ in range(3)] == ["first", "second", "else"]

    def test_a_route_that_is_spent_steps_aside(self) -> None:
        script = Script()
        script.when({"input": "x"}).script(message("once"))
        script.add([message("else")])
        assert [answer(script, "x"), answer(script, "x")] == ["once", "else"]

    def test_a_route_needs_all_its_conditions(self) -> None:
        script = Script()
        script.when({"input": "x", "model": "gpt-5*"}).script(message("both"))
        script.add([message("else")])
        assert answer(script, "x") == "else"
        assert answer(script, "x", model="gpt-5-mini") == "both"

    def test_on_something_else_is_refused(self) -> None:
        told = r"when\(size=…\): no condition 'size'\. Known: instructions, tools, model"
        with pytest.raises(ScriptError, match=told):
            Script().when({"size": "x", "mood": "x"})

    def test_a_route_is_named_by_its_conditions(self) -> None:
        assert str(Route({"input": "x", "tools": ["f"]})) == "when(input='x', tools=['f'])"
        assert str(Route({})) == "script"

"""What the model says next: the forms of a turn, the routes that choose among them, and what happens without one."""

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.core.errors import NoTurn, ScriptError
from harness.core.exchange import Request
from harness.ending import incomplete
from harness.items import function_call, message
from harness.items.kind import Item
from harness.world.script import Script, remove_waiting
from tests.support.calls import answer, ask, texts


def scripted(*turns: Any, repeat: bool = False) -> Script:
    script = Script()
    script.add(turns, repeat)
    return script


class TestATurn:
    def test_a_turn_may_be_an_item_a_list_or_a_tuple(self) -> None:
        script = scripted(message("one"), [message("two"), message("three")], (message("four"),))
        assert [texts(script.next(ask()).lines) for _ in range(3)] == [["one"], ["two", "three"], ["four"]]

    def test_a_turn_may_be_a_text_wherever_it_may_be_a_message(self) -> None:
        script = Script()
        script.when({"input": "routed"}).script("zero")
        script.add(["one", ["two", message("three")], ("four", incomplete()), lambda request: "five"])
        assert answer(script, "routed") == "zero"
        assert [texts(script.next(ask()).lines[:2]) for _ in range(2)] == [["one"], ["two", "three"]]
        assert script.next(ask()).lines[1] == incomplete()
        assert answer(script) == "five"

    def test_a_turn_may_be_a_generator_function_that_is_sent_each_next_request(self) -> None:
        def talk(first: Request) -> Iterator[Item]:
            second = yield message(f"1: {first.body['input']}")
            third = yield [message(f"2: {second.body['input']}")]
            yield message(f"3: {third.body['input']}")

        script = scripted(talk, message("after"))
        assert [answer(script, word) for word in ("a", "b", "c", "d")] == ["1: a", "2: b", "3: c", "after"]

    def test_a_turn_may_be_an_iterator(self) -> None:
        begun_nowhere = (message(word) for word in ("three",))
        script = scripted(iter([message("one"), message("two")]), begun_nowhere, message("four"))
        assert [answer(script) for _ in range(4)] == ["one", "two", "three", "four"]

    @pytest.mark.parametrize("turn", [5, None, [message("x"), 5], [["x"]], [[message("x")]]])
    def test_a_turn_of_another_form_is_refused_when_it_is_scripted(self, turn: Any) -> None:
        with pytest.raises(ScriptError, match=r"^script: .* is not a turn\. Pass an item"):
            scripted(turn)

    def test_a_turn_that_is_refused_leaves_the_script_as_it_was(self) -> None:
        script = Script(lambda request: [message("fallback")])
        with pytest.raises(ScriptError):
            script.add([message("x"), 5])
        assert answer(script) == "fallback"

    def test_a_turn_that_raises_is_named_with_what_it_raised(self) -> None:
        def broken(request: Request) -> Iterator[Item]:
            yield message("fine")
            raise ValueError("out of ideas")

        script = Script()
        script.when({"input": "x"}).script(lambda request: request.body["no"], broken)
        with pytest.raises(ScriptError, match=r"when\(input='x'\): a turn raised KeyError: 'no'"):
            script.next(ask("x"))
        assert answer(script, "x") == "fine"
        with pytest.raises(ScriptError, match="a turn raised ValueError: out of ideas"):
            script.next(ask("x"))

    def test_a_turn_may_say_itself_that_the_script_is_wrong(self) -> None:
        def strict(request: Request) -> Item:
            raise ScriptError("asked too early")

        script = scripted(strict)
        told = r"^asked too early, at .*test_script\.py:\d+\n  at test_script.*, in strict"
        with pytest.raises(ScriptError, match=told):
            script.next(ask())

    @pytest.mark.parametrize(
        ("give_up", "told"),
        [(pytest.fail, "Failed: no more"), (pytest.skip, "Skipped: no more"), (sys.exit, "SystemExit: no more")],
    )
    def test_a_turn_that_gives_up_the_test_or_the_process_has_raised_too(
        self, give_up: Callable[[str], None], told: str
    ) -> None:
        script = scripted(lambda _: give_up("no more"))
        with pytest.raises(ScriptError, match=f"a turn raised {told}"):
            script.next(ask())

    def test_a_turn_that_is_interrupted_is_not_answered(self) -> None:
        def model(request: Request) -> str:
            raise KeyboardInterrupt

        script = scripted(model)
        with pytest.raises(KeyboardInterrupt):
            script.next(ask())

    def test_a_turn_that_raises_is_reported_with_its_line_and_frames(self) -> None:
        def look_up(name: str) -> str:
            return {"a": "b"}[name]

        def model(request: Request) -> Item:
            return message(look_up(request.body["input"]))

        script = scripted(model)
        with pytest.raises(ScriptError) as told:
            script.next(ask("x"))
        first, outer, inner, fix = str(told.value).splitlines()
        line = model.__code__.co_firstlineno
        assert re.fullmatch(rf"script: a turn raised KeyError: 'x', at /.*/test_script\.py:{line - 2}", first)
        assert outer == f'  at test_script.py:{line + 1}, in model: return message(look_up(request.body["input"]))'
        assert inner == f'  at test_script.py:{line - 2}, in look_up: return {{"a": "b"}}[name]'
        assert fix == "Correct that line, or what it expects of the request."

    def test_a_turn_that_passes_wrong_arguments_to_a_builder_is_reported_with_its_line(self) -> None:
        script = scripted(lambda request: function_call("", {}))
        with pytest.raises(ScriptError, match=r"^function_call: name is ''.*, at .*test_script\.py:\d+\n  at "):
            script.next(ask())

    def test_a_turn_that_returns_what_no_turn_is_names_the_function(self) -> None:
        def model(request: Request) -> Any:
            return 5

        script = scripted(model)
        told = r"^script: 5 is not a turn.*\n  at model \(test_script\.py:\d+\), which returned it"
        with pytest.raises(ScriptError, match=told):
            script.next(ask())

    def test_a_turn_that_is_async_is_refused_when_it_is_scripted(self) -> None:
        async def model(request: Request) -> Item:
            return message("x")

        with pytest.raises(ScriptError, match=r"^script: model \(test_script\.py:\d+\) is async, so not a turn"):
            Script().add([model])

    @pytest.mark.parametrize(
        ("condition", "raised"),
        [(lambda text: text.no, "AttributeError: .*"), (lambda _: sys.exit("no more"), "SystemExit: no more")],
    )
    def test_a_condition_that_raises_is_reported_with_its_line(
        self, condition: Callable[[str], bool], raised: str
    ) -> None:
        script = Script()
        script.when({"input": condition}).script(message("x"))
        with pytest.raises(ScriptError, match=rf"the condition `input` raised {raised}, at .*test_script\.py:\d+"):
            script.next(ask("x"))


class TestRepeatedTurns:
    def test_repeated_turns_are_played_over_and_over(self) -> None:
        script = scripted(message("a"), lambda request: message(request.body["input"]), repeat=True)
        assert [answer(script, word) for word in ("1", "2", "3", "4")] == ["a", "2", "a", "4"]
        assert script.unused == []
        script.add(["x", "y"], repeat=True)
        script.next(ask())
        remove_waiting(script, "0.0", "")
        assert answer(script) == "x"

    def test_repeated_turns_that_no_request_took_are_unused(self) -> None:
        script = Script()
        script.when({"input": "x"}).script("a", "b", repeat=True)
        assert len(script.unused) == 1

    def test_repeated_turns_go_on_after_a_function_has_raised(self) -> None:
        script = scripted(lambda request: request.body["metadata"]["a"], repeat=True)
        for _ in range(2):
            with pytest.raises(ScriptError, match="a turn raised KeyError"):
                script.next(ask())

    def test_repeated_turns_hold_no_generator(self) -> None:
        def model(request: Request) -> Iterator[Item]:
            yield message("x")

        for turn in (model, iter(["x"])):
            with pytest.raises(ScriptError, match=r"^script: .* cannot be repeated\. Use a loop in the generator\."):
                Script().add([turn], repeat=True)

    @pytest.mark.parametrize(("turns", "repeat"), [([], True), (["x"], 2), (["x"], None)])
    def test_repeated_turns_are_turns_and_a_truth(self, turns: list[str], repeat: Any) -> None:
        with pytest.raises(ScriptError, match=r"^script: repeat is .* Pass True, after the turns to repeat\.$"):
            Script().add(turns, repeat)


class TestWithoutATurn:
    def test_the_fallback_answers_when_nothing_was_scripted(self) -> None:
        script = Script(lambda call: [message(f"echo {call.request.body['input']}")])
        assert answer(script, "x") == "echo x"

    def test_the_fallback_is_silent_once_something_was(self) -> None:
        script = Script(lambda call: [message("echo")])
        script.add([message("one")])
        script.next(ask())
        with pytest.raises(NoTurn):
            script.next(ask())

    def test_the_problem_says_that_nothing_was_scripted(self) -> None:
        with pytest.raises(NoTurn) as told:
            Script().next(ask())
        left = "No turn is left for this request: nothing was scripted."
        assert str(told.value) == f"{left}\nAdd one: mock.script(message('…'))."

    def test_the_problem_names_the_turns_that_were_used(self) -> None:
        script = Script()
        script.when({"input": "x"}).script(message("one"))
        script.next(ask("x"))
        with pytest.raises(NoTurn, match=r"No turn is left for this request: when\(input='x'\) \(1 taken\)\.\nAdd one"):
            script.next(ask("x"))

    def test_the_problem_shows_the_closest_route_and_what_differs(self) -> None:
        script = Script()
        script.when({"input": "a", "model": "o*", "instructions": "planner"}).script(message("far"))
        script.when({"input": "weather", "model": "gpt-*"}).script(message("near"), message("near"))
        with pytest.raises(NoTurn) as told:
            script.next(ask("x" * 300))
        assert str(told.value).splitlines() == [
            "No turn answers this request. The closest is when(input='weather', model='gpt-*'), 2 turns left:",
            "  - input wanted: 'weather'",
            f"  + input was:    '{'x' * 196}...",
            "Loosen that condition, or add a turn that answers every request: mock.script(…).",
        ]


class TestWhatIsUnused:
    def test_what_is_unused_are_the_turns_nobody_took_with_their_routes(self) -> None:
        script = Script()
        route = script.when({"input": "x"}).script(message("one"))
        taken, left = message("two"), message("three")
        default = script.add([taken, left])
        script.next(ask("y"))
        assert script.unused == [(route, route.turns[0]), (default, left)]

    def test_what_is_unused_is_no_generator_that_has_begun(self) -> None:
        def talk(request: Request) -> Iterator[Item]:
            yield message("one")
            yield message("two")

        script = scripted(talk)
        assert len(script.unused) == 1
        script.next(ask())
        assert script.unused == []

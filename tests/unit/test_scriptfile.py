"""Script files: what they say, and how their mistakes are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.ending import Line, completed, failed, incomplete
from harness.errors import ScriptError
from harness.exchange import Request
from harness.items import function_call, message, reasoning
from harness.scriptfile import load
from harness.world import World

Write = Callable[..., Path]

IMPORTS = "from harness.items import function_call, message, reasoning\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a script file and returns its path."""

    def written(text: str, name: str = "script.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


def world_of(path: Path) -> World:
    """A World that a script file has scripted."""
    world = World()
    load(path).apply(world)
    return world


def ask(world: World, **body: Any) -> Sequence[Line]:
    return world.turns.next(Request("POST", "/responses", body={"model": "gpt-4.1", "input": "hi", **body}))


def complaint(path: Path) -> str:
    """What is wrong with a script file, without its folder."""
    with pytest.raises(ScriptError) as caught:
        load(path)
    return str(caught.value).replace(f"{path.parent}/", "")


class TestYaml:
    def test_turns_are_named_by_their_builders(self, write: Write) -> None:
        world = world_of(
            write("""
script:
  - message: "Hello."
  - function_call: {name: get_weather, arguments: {city: Paris}}
  - [ {reasoning: "Thinking."}, {message: "Done."} ]
  - reasoning:
  - [ {message: "Once"}, {incomplete: content_filter} ]
  - failed: {code: invalid_prompt, message: "No."}
  - [ {message: "Hi."}, {completed: {off_schema: true}} ]
""")
        )
        assert ask(world) == [message("Hello.")]
        assert ask(world) == [function_call("get_weather", {"city": "Paris"})]
        assert ask(world) == [reasoning("Thinking."), message("Done.")]
        assert ask(world) == [reasoning()]
        assert ask(world) == [message("Once"), incomplete("content_filter")]
        assert ask(world) == [failed("invalid_prompt", "No.")]
        assert ask(world) == [message("Hi."), completed(off_schema=True)]
        assert world.turns.unused == []

    def test_routes_are_tried_before_the_script(self, write: Write) -> None:
        world = world_of(
            write("""
script: [ {message: "anyone"} ]
when:
  - instructions: planner
    script: [ {message: "planner"} ]
  - tools: [a, b]
    model: gpt-4*
    script: [ {message: "tools"} ]
""")
        )
        assert ask(world, instructions="You are the Planner.") == [message("planner")]
        assert ask(world, tools=[{"name": "a"}, {"name": "b"}, {"name": "c"}]) == [message("tools")]
        assert ask(world) == [message("anyone")]

    def test_routes_alone_leave_other_requests_unanswered(self, write: Write) -> None:
        world = world_of(write("when: [ {instructions: planner, script: [ {message: p} ]} ]"))
        with pytest.raises(ScriptError, match="The closest is when"):
            ask(world)
        assert ask(world, instructions="planner") == [message("p")]

    def test_repeat_starts_again_when_it_is_spent(self, write: Write) -> None:
        world = world_of(write("script: [ {message: a}, {message: b} ]\nrepeat: true"))
        assert [ask(world)[0] for _ in range(5)] == [message(text) for text in "ababa"]
        assert world.turns.unused == []

    def test_every_world_starts_at_the_beginning(self, write: Write) -> None:
        script = load(write("script: [ {message: a}, {message: b} ]\nrepeat: true"))
        first, second = World(), World()
        script.apply(first)
        script.apply(second)
        assert ask(first) == ask(second) == [message("a")]

    def test_a_list_of_texts_is_the_exact_deltas(self, write: Write) -> None:
        assert ask(world_of(write("script: [ {message: [Hel, lo]} ]"))) == [message(["Hel", "lo"])]

    def test_a_date_stays_a_text(self, write: Write) -> None:
        world = world_of(write("script: [ {function_call: {name: f, arguments: {day: 2026-01-02}}} ]"))
        assert ask(world) == [function_call("f", {"day": "2026-01-02"})]

    def test_anchors_and_merge_keys_work(self, write: Write) -> None:
        world = world_of(
            write("""
script:
  - function_call: &call {name: f, arguments: {}}
  - function_call: {<<: *call, call_id: call_1}
""")
        )
        assert ask(world) == [function_call("f", {})]
        assert ask(world) == [function_call("f", {}, call_id="call_1")]

    def test_yml_is_yaml(self, write: Write) -> None:
        assert ask(world_of(write("script: [ {message: a} ]", "script.yml"))) == [message("a")]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("script:\n  - message: a\n  - mesage: b", "script.yaml:3: no item 'mesage'. Did you mean 'message'?"),
            (
                "script:\n  - function_call:\n      name: f\n      argumnts: {}",
                "script.yaml:4: no function_call argument 'argumnts'. Did you mean 'arguments'?",
            ),
            (
                "script:\n  - function_call: {arguments: {}}",
                "script.yaml:2: function_call: missing a required argument: 'name'. "
                "Its arguments: name, arguments, call_id, namespace, async_, caller.",
            ),
            (
                "when:\n  - instruction: planner\n    script: [ {message: a} ]",
                "script.yaml:2: no condition 'instruction'. Did you mean 'instructions'?",
            ),
            ("scripts: []", "script.yaml:1: no key 'scripts'. Did you mean 'script'?"),
            ("xyz: []", "script.yaml:1: no key 'xyz'. Known: script, when, repeat."),
            ("repeat: true", "script.yaml:1: nothing is scripted. Give `script:` or `when:`."),
            ("", "script.yaml:1: the file is empty. Begin with `script:` and a list of items."),
            (
                "- message: a",
                "script.yaml:1: [{'message': 'a'}] stands where names are expected: script, when, repeat.",
            ),
            ("script: []", "script.yaml:1: script is []. Give a list with at least one entry."),
            ("script: hello", "script.yaml:1: script is 'hello'. Give a list with at least one entry."),
            ("script:\n  - []", "script.yaml:2: a turn is []. Give a list with at least one entry."),
            ("script:\n  - hello", "script.yaml:2: a turn is 'hello'. Give a list with at least one entry."),
            (
                "script:\n  - [hello]",
                "script.yaml:2: 'hello' is no item. An item is one name with its arguments: `message: {text: …}`.",
            ),
            (
                "script:\n  - message: a\n    phase: commentary",
                "script.yaml:2: {'message': 'a', 'phase': 'commentary'} is no item. "
                "An item is one name with its arguments: `message: {text: …}`.",
            ),
            ("script: [ {message: a} ]\nscript: []", "script.yaml:2: key 'script' is given twice. Remove one."),
            ("script: [ {message: a} ]\nrepeat: often", "script.yaml:2: repeat is 'often'. It is true or false."),
            (
                "when:\n  - script: [ {message: a} ]",
                "script.yaml:2: a route has a condition (instructions, tools, model, input, agent) and a script. "
                "Give both.",
            ),
            ("when:\n  - model: 4\n    script: []", "script.yaml:2: model is 4. Give a text."),
            ("when:\n  - tools: [4]\n    script: []", "script.yaml:2: tools is [4]. Give a text or a list of names."),
            (
                "script:\n  - message: {text: a, phase: final}",
                "script.yaml:2: message: phase is 'final'. It is one of: commentary, final_answer.",
            ),
            (
                "script:\n  - message: {text: a, annotations: [[1]]}",
                "script.yaml:2: message: cannot convert dictionary update sequence element #0 to a sequence. "
                "Give plain JSON values; a str must be valid Unicode.",
            ),
            ("script:\n  - message: 'a\n", "script.yaml:3: found unexpected end of stream."),
            ("script: &a [*a]", "script.yaml:1: found unconstructable recursive node."),
            ("script: \x01", "script.yaml:1: unacceptable character #x0001: special characters are not allowed."),
        ],
    )
    def test_a_mistake_has_its_line_and_its_remedy(self, write: Write, text: str, expected: str) -> None:
        assert complaint(write(text)) == expected


class TestPython:
    def python(self, write: Write, text: str) -> Path:
        return write(IMPORTS + text, "script.py")

    @pytest.mark.parametrize(
        "text",
        [
            "script = message('a')",
            "script = [message('a')]",
            "script: list = [[message('a')]]",
            "def script(request):\n    yield message('a')",
            "script = [lambda request: [message('a')]]",
        ],
    )
    def test_the_script_is_a_turn_or_a_list_or_a_function(self, write: Write, text: str) -> None:
        world = world_of(self.python(write, text))
        assert ask(world) == [message("a")]

    def test_a_plain_function_answers_every_request(self, write: Write) -> None:
        world = world_of(self.python(write, "def script(request):\n    return message(request.body['input'])"))
        assert [ask(world, input=text) for text in "abc"] == [[message(text)] for text in "abc"]
        assert world.turns.unused == []

    def test_a_generator_function_is_told_each_request_and_ends(self, write: Write) -> None:
        world = world_of(
            self.python(
                write,
                "def script(request):\n    request = yield message(request.body['input'])\n"
                "    yield message(request.body['input'] * 2)",
            )
        )
        assert [ask(world, input=text) for text in "ab"] == [[message("a")], [message("bb")]]
        with pytest.raises(ScriptError, match="No turn is left"):
            ask(world)

    def test_routes_are_tried_first(self, write: Write) -> None:
        world = world_of(
            self.python(
                write,
                "routes = [({'instructions': 'planner'}, [message('p')]),\n"
                "          ({'model': 'o3*'}, lambda request: message('o'))]\n"
                "script = message('a')",
            )
        )
        assert ask(world, instructions="planner") == [message("p")]
        assert ask(world, model="o3-mini") == ask(world, model="o3") == [message("o")]
        assert ask(world) == [message("a")]

    def test_routes_alone_leave_other_requests_unanswered(self, write: Write) -> None:
        world = world_of(self.python(write, "routes = (({'instructions': 'planner'}, message('p')),)"))
        with pytest.raises(ScriptError, match="The closest is when"):
            ask(world)
        assert ask(world, instructions="planner") == [message("p")]

    def test_a_function_that_fails_says_where_and_is_asked_again(self, write: Write) -> None:
        path = self.python(write, "def script(request):\n    return message(request.body['metadata']['text'])")
        world = world_of(path)
        for _ in range(2):
            with pytest.raises(ScriptError, match=r"script\.py:3: KeyError: 'metadata'"):
                ask(world)
            assert ask(world, metadata={"text": "a"}) == [message("a")]

    def test_a_function_that_returns_nothing_is_told_so(self, write: Write) -> None:
        world = world_of(self.python(write, "def script(request):\n    return []"))
        with pytest.raises(ScriptError, match=r"script\.py:2: script: the function returned no item"):
            ask(world)

    def test_a_generator_that_fails_says_where(self, write: Write) -> None:
        world = world_of(self.python(write, "def script(request):\n    yield message(4)"))
        with pytest.raises(ScriptError, match=r"script\.py:3: message: text is 4"):
            ask(world)

    def test_a_file_may_hold_whatever_a_module_may(self, write: Write) -> None:
        text = "import dataclasses\nfrom typing import ClassVar\n@dataclasses.dataclass\nclass A:\n    x: 'ClassVar' = 'a'\n"
        assert ask(world_of(self.python(write, f"{text}script = message(A.x)"))) == [message("a")]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("script = [", "script.py:2: '[' was never closed."),
            ("x = 1\nscript = [message(y)]", "script.py:3: NameError: name 'y' is not defined"),
            (
                "script = message(4)",
                "script.py:2: message: text is 4. Give a str, or a list of str: the exact deltas to stream.",
            ),
            ("x = 1", "script.py:1: nothing is scripted. Define `script = [message('…')]` or `routes = […]`."),
            ("script = []", "script.py:2: script is empty. Give turns: [message('…')]."),
            ("script = [[]]", "script.py:2: script holds an empty turn. Give items: [message('…')]."),
            ("x = 1\nroutes = 4", "script.py:3: routes is 4. Give a list of ({condition: text}, [turns])."),
            ("routes = [4]", "script.py:2: routes[0] is 4. Give ({'instructions': 'planner'}, [turns])."),
            (
                "routes = [({'instruction': 'x'}, message('a'))]",
                "script.py:2: routes[0]: no condition 'instruction'. Did you mean 'instructions'?",
            ),
        ],
    )
    def test_a_mistake_has_its_line_and_its_remedy(self, write: Write, text: str, expected: str) -> None:
        assert complaint(self.python(write, text)) == expected

    @pytest.mark.parametrize("text", ["script = [4]", "globals()['script'] = 4"])
    def test_what_is_no_turn_is_named(self, write: Write, text: str) -> None:
        assert complaint(self.python(write, text)).partition(" is not a turn")[0] in (
            "script.py:2: script: 4",
            "script.py:1: script: 4",
        )

    @pytest.mark.parametrize(
        "text", ["script = (message('a') for _ in 'ab')", "script = [iter([])]", "async def script(request):\n    ..."]
    )
    def test_generators_and_async_functions_are_refused(self, write: Write, text: str) -> None:
        assert "is not a turn. Give the function itself" in complaint(self.python(write, text))


class TestFiles:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        assert complaint(tmp_path / "no.yaml") == (
            "no.yaml: cannot be read: No such file or directory. Give the path of a script file."
        )

    def test_a_file_in_another_encoding(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_bytes(b"\xff\xfe")
        assert complaint(tmp_path / "a.py") == "a.py: cannot be read: it is not UTF-8. Give the path of a script file."

    def test_a_file_of_another_kind(self, tmp_path: Path) -> None:
        assert complaint(tmp_path / "a.json") == (
            "a.json: not a script. The name of a script file ends in .py, .yaml, .yml."
        )

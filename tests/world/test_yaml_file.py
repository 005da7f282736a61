"""Script files: what they say, and how their mistakes are told."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ScriptError
from harness.core.exchange import Request
from harness.ending import TurnLine, completed, failed, incomplete
from harness.explain.turn import summarize_turn
from harness.faults import ScriptedRefusal, cut, hang_up, pause, rate_limit
from harness.items import function_call, message, reasoning, url_citation
from harness.items.kind import ITEMS
from harness.world.api_call import ApiCall
from harness.world.mock import Mock
from harness.world.scripting.document import DOCUMENT_KEYS
from harness.world.scripting.load import load_script_file
from harness.world.scripting.settings import SETTINGS
from harness.world.world import World

Write = Callable[..., Path]
KINDS = ", ".join(sorted(ITEMS))

NO_ITEM = 'is no item. An item is one name with its arguments, `message: {text: …}`, or `{"type": "message", …}`.'
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
    mock = Mock()
    load_script_file(path).apply(mock)
    return mock.world


def ask(world: World, **body: Any) -> Sequence[TurnLine]:
    return world.script.next(
        ApiCall(Request("POST", "/responses", body={"model": "gpt-4.1", "input": "hi", **body}), world)
    ).lines


def complaint(path: Path) -> str:
    """What is wrong with a script file, without its folder."""
    with pytest.raises(ScriptError) as caught:
        load_script_file(path)
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
        assert world.script.unused == []

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
        assert len(world.script.unused) == 1
        assert [ask(world)[0] for _ in range(5)] == [message(text) for text in "ababa"]
        assert world.script.unused == []

    def test_what_is_repeated_is_told_when_nobody_asks_for_it(self, write: Write) -> None:
        world = world_of(write("script: [ {message: a}, [{message: b}, incomplete: {}] ]\nrepeat: true"))
        ((_, turn),) = world.script.unused
        assert summarize_turn(turn) == 'message "a", message "b" + incomplete, over and over'

    def test_every_world_starts_at_the_beginning(self, write: Write) -> None:
        script = load_script_file(write("script: [ {message: a}, {message: b} ]\nrepeat: true"))
        first, second = World(), World()
        script.apply(Mock(first))
        script.apply(Mock(second))
        assert ask(first) == ask(second) == [message("a")]

    def test_a_project_has_its_resources(self, write: Write) -> None:
        world = world_of(
            write(
                "connections: {search: {type: CognitiveSearch, credentials: secret}}\n"
                "deployments: {mine: gpt-4.1, other: {modelName: Phi-4, modelPublisher: Microsoft}}\n"
                "indexes: {docs: {connectionName: search, indexName: docs}}\n"
                "datasets: {faq: {files: {a.txt: Paris}}}\n"
                "memory_stores: {coffee: {scope: user_1, memories: [Prefers dark roast.]}}\n"
                "skills: {refunds: {description: Decides., instructions: Ask first.}}\n"
                "toolboxes: {team: {tools: [{type: toolbox_search}]}}"
            )
        )
        store = world.store
        assert store.connections["search"]["credentials"] == {"key": "secret", "type": "ApiKey"}
        assert [each["modelName"] for each in store.deployments.values()] == ["gpt-4.1", "Phi-4"]
        assert store.indexes["docs"].latest["members"]["indexName"] == "docs"
        assert [list(each.blobs) for each in store.blobs.values()] == [["a.txt"]]
        (memory,) = store.memory_stores["coffee"].items.values()
        assert (memory["content"], memory["scope"]) == ("Prefers dark roast.", "user_1")
        assert (store.skills["refunds"].default, store.toolboxes["team"].default) == ("1", "1")

    def test_a_list_of_texts_is_the_exact_deltas(self, write: Write) -> None:
        assert ask(world_of(write("script: [ {message: [Hel, lo]} ]"))) == [message(["Hel", "lo"])]

    def test_a_date_stays_a_text(self, write: Write) -> None:
        world = world_of(write("script: [ {function_call: {name: f, arguments: {day: 2026-01-02}}} ]"))
        assert ask(world) == [function_call("f", {"day": "2026-01-02"})]

    def test_a_line_may_be_in_its_wire_form(self, write: Write) -> None:
        world = world_of(
            write("""
script:
  - - type: message
      content: [ {type: output_text, text: [Hel, lo]} ]
    - type: incomplete
      reason: content_filter
""")
        )
        assert ask(world) == [message(["Hel", "lo"]), incomplete("content_filter")]

    def test_faults_end_their_turns_or_are_turns(self, write: Write) -> None:
        world = world_of(
            write("""
script:
  - [ {message: "Once"}, {incomplete: content_filter}, {cut: {after: 4.5}}, {pause: {after: 3, until: shown}} ]
  - rate_limit: 200ms
  - hang_up:
""")
        )
        turn = pause(cut([message("Once"), incomplete("content_filter")], after=4.5), after=3, until="shown")
        assert ask(world) == turn
        for refused in (rate_limit("200ms"), hang_up()):
            with pytest.raises(ScriptedRefusal) as caught:
                ask(world)
            assert caught.value.refusal == refused

    def test_a_text_cites_as_in_python(self, write: Write) -> None:
        world = world_of(
            write("""
script:
  - message:
      text: See the guide.
      annotations: [ {type: url_citation, url: "https://a.example", title: A, cite: guide} ]
""")
        )
        note = url_citation("https://a.example", "A", cite="guide")
        assert ask(world) == [message("See the guide.", annotations=[note])]

    def test_one_route_may_repeat_and_another_not(self, write: Write) -> None:
        world = world_of(
            write("""
script: [ {message: once} ]
when:
  - model: o3*
    repeat: true
    script: [ {message: again} ]
""")
        )
        assert [ask(world, model="o3") for _ in range(3)] == [[message("again")]] * 3
        assert ask(world) == [message("once")]
        with pytest.raises(ScriptError, match="No turn"):
            ask(world)

    def test_a_route_may_look_for_a_pattern(self, write: Write) -> None:
        world = world_of(
            write(
                "when:\n  - input: {pattern: '^[Hh]i$'}\n    tools: [f]\n    script: [ {message: a} ]\n    repeat: true"
            )
        )
        tools = [{"name": "f"}]
        assert ask(world, input="hi", tools=tools) == [message("a")]
        for other in ({"input": "hi there", "tools": tools}, {"input": "hi"}):
            with pytest.raises(ScriptError, match="The closest is when"):
                ask(world, **other)

    def test_settings_are_of_every_world(self, write: Write) -> None:
        script = load_script_file(
            write("organization: {zdr: true, models: [gpt-4.1]}\ncitations: delta\nautomatic: false")
        )
        for world in (World(), World()):
            script.apply(Mock(world))
            assert (world.account.zdr, world.account.models) == (True, frozenset({"gpt-4.1"}))
            assert (world.citations, world.automatic) == ("delta", False)

    def test_a_merged_member_can_be_replaced(self, write: Write) -> None:
        world = world_of(
            write("""
script:
  - function_call: &call {name: f, arguments: {}}
  - function_call: {<<: *call, name: g}
""")
        )
        assert [ask(world), ask(world)] == [[function_call("f", {})], [function_call("g", {})]]

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
                "Its arguments: name, arguments, call_id, namespace, async_, caller, off_schema.",
            ),
            (
                "when:\n  - instruction: planner\n    script: [ {message: a} ]",
                "script.yaml:2: no condition 'instruction'. Did you mean 'instructions'?",
            ),
            ("scripts: []", "script.yaml:1: no key 'scripts'. Did you mean 'script'?"),
            ("xyz: []", f"script.yaml:1: no key 'xyz'. Known: {', '.join(DOCUMENT_KEYS)}."),
            (
                "repeat: true",
                f"script.yaml:1: nothing is scripted. Give `script:`, `when:` or a setting: {', '.join(SETTINGS)}.",
            ),
            ("", "script.yaml:1: the file is empty. Begin with `script:` and a list of items."),
            (
                "- message: a",
                f'script.yaml:1: [{{"message": "a"}}] stands where names are expected: {", ".join(DOCUMENT_KEYS)}.',
            ),
            ("script: []", "script.yaml:1: script is []. Give a list with at least one entry."),
            ("script: hello", 'script.yaml:1: script is "hello". Give a list with at least one entry.'),
            (
                "script:\n  - []",
                "script.yaml:2: [] is no turn. Give a text, an item (`message: {text: …}`), or a list of these, an ending "
                "and faults.",
            ),
            (
                "script:\n  - overloaded",
                'script.yaml:2: "overloaded" is the name of a turn. Write `overloaded:` with its arguments, or '
                "`message: overloaded`.",
            ),
            ("script:\n  - [5]", f"script.yaml:2: 5 {NO_ITEM}"),
            (
                "script:\n  - message: a\n    phase: commentary",
                f'script.yaml:2: {{"message": "a", "phase": "commentary"}} {NO_ITEM}',
            ),
            ("script: [ {message: a} ]\nscript: []", "script.yaml:2: key 'script' is given twice. Remove one."),
            ("script: [ {message: a} ]\nrepeat: often", 'script.yaml:2: repeat is "often". Give true or false.'),
            (
                "when:\n  - script: [ {message: a} ]",
                "script.yaml:2: a route has a condition (instructions, tools, model, input, user, call_id, agent) and a "
                "script. Give both.",
            ),
            ("when:\n  - model: 4\n    script: []", "script.yaml:2: model is 4. Give a text, or a pattern."),
            (
                "when:\n  - tools: [4]\n    script: []",
                "script.yaml:2: tools is [4]. Give a text, a list of names, or a pattern.",
            ),
            (
                "script:\n  - message: {text: a, phase: final}",
                "script.yaml:2: message: phase is 'final'. It is one of: commentary, final_answer.",
            ),
            (
                "script:\n  - message: {text: a, annotations: [[1]]}",
                "script.yaml:2: message: annotations[0] is [1]. Give an object with the type of the annotation.",
            ),
            (
                "script:\n  - - reasoning:\n    - message: a\n    - cut: {after: soon}",
                "script.yaml:4: cut: after is 'soon'. Give a number of events from 0 on, 4.5 to cut the fifth.",
            ),
            (
                "script:\n  - message: a\n  -\n    - incomplete:\n    - message: b",
                "script.yaml:4: A turn is items, then an ending, then faults: "
                '[{"message": "Once"}, {"cut": {"after": 4}}].',
            ),
            ("script:\n  - type: mesage", f"script.yaml:2: type is 'mesage'. An item's type is one of: {KINDS}."),
            ("script:\n  - function_call: {name: f, name: g}", "script.yaml:2: key 'name' is given twice. Remove one."),
            (
                "when:\n  - input:\n      pattern: '('\n    script: []",
                'script.yaml:3: pattern is "(": missing ), unterminated subpattern at position 0. '
                "Give a regular expression.",
            ),
            ("when:\n  - input: {pattern: 4}\n    script: []", "script.yaml:2: pattern is 4. Give a text."),
            (
                "organization:\n  zdr: true\n  verified: often",
                'script.yaml:3: verified is "often". Give true or false.',
            ),
            (
                "mcp:\n  prod:\n    deploy:\n      error: 4",
                "script.yaml:4: error is 4. Give a text or an object.",
            ),
            (
                "files: {a.txt: b}\nvector_stores:\n  docs:\n    - a.txt\n    - c.txt",
                "script.yaml:3: vector_store('c.txt'): this key has no file of this id; make one: mock.file(…).",
            ),
            ("vector_stores:\n  docs: [4]", "script.yaml:2: files is [4]. Give a list of texts."),
            (
                "connections:\n  search:\n    kind: x",
                "script.yaml:3: no member 'kind'. Known: type, target, metadata, credentials, isDefault.",
            ),
            (
                "connections:\n  search:\n    credentials: 4",
                "script.yaml:2: connection('search', credentials=4): give a text or an object.",
            ),
            (
                "datasets: {faq: {files: {a.txt: 4}}}",
                "script.yaml:1: dataset('faq'): the file 'a.txt' is 4; give a text or bytes.",
            ),
            (
                "memory_stores: {coffee: {memories: [{text: x}]}}",
                "script.yaml:1: memory_store('coffee'): {'text': 'x'} is no memory; give a text, or an object with "
                "content, kind and scope.",
            ),
            (
                "deployments: [a]",
                'script.yaml:1: deployments is ["a"]. Give an object: by each name, a text, what belongs to it.',
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
        assert world.script.unused == []

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
            with pytest.raises(ScriptError, match=r"a turn raised KeyError: 'metadata', at .*script\.py:3\n  at "):
                ask(world)
            assert ask(world, metadata={"text": "a"}) == [message("a")]

    def test_a_function_that_returns_nothing_is_told_so(self, write: Write) -> None:
        world = world_of(self.python(write, "def script(request):\n    return []"))
        with pytest.raises(ScriptError, match=r"script: \[\] is an empty turn.*\n  at script \(script\.py:2\)"):
            ask(world)

    def test_a_generator_that_fails_says_where(self, write: Write) -> None:
        world = world_of(self.python(write, "def script(request):\n    yield message(4)"))
        with pytest.raises(
            ScriptError,
            match=r"^message: text is 4\..*, at .*script\.py:3\n  at script\.py:3, in script: yield message\(4\)$",
        ):
            ask(world)

    def test_turns_repeat(self, write: Write) -> None:
        world = world_of(self.python(write, "script = ['a', lambda request: 'b']\nrepeat = True"))
        assert [ask(world) for _ in range(3)] == [[message("a")], [message("b")], [message("a")]]
        assert "script.py:3: repeat is 2. Give True" in complaint(self.python(write, "script = 'a'\nrepeat = 2"))

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            (
                "def script(request):\n    yield 'a'\nrepeat = True",
                "script.py:2: script: script (script.py:2) cannot be repeated.",
            ),
            ("routes = [({'input': 5}, ['x'])]", "script.py:2: routes[0]: when(input=5): give a text,"),
        ],
    )
    def test_what_cannot_be_added_is_told_with_its_line(self, write: Write, text: str, says: str) -> None:
        assert says in complaint(self.python(write, text))

    def test_setup_does_what_a_test_does(self, write: Write) -> None:
        text = (
            "def setup(mock):\n    mock.organization(zdr=True)\n    mock.mcp('prod', {'deploy': lambda ref: ref})\n"
            "    mock.when(instructions='planner').script(message('p'))\nscript = message('a')"
        )
        world = world_of(self.python(write, text))
        assert world.account.zdr
        assert ask(world, instructions="planner") == [message("p")]
        assert ask(world) == [message("a")]

    def test_a_setup_that_fails_for_one_world_is_told_to_its_client(self, write: Write) -> None:
        text = (
            "script = message('a')\n"
            "def setup(mock):\n    if mock.world.name == 'bad':\n        raise ValueError('no such customer')"
        )
        script = load_script_file(self.python(write, text))
        good, bad = World("good"), World("bad")
        for world in (good, bad):
            script.apply(Mock(world))
        assert ask(good) == [message("a")]
        for _ in range(2):
            with pytest.raises(ScriptError, match=r"script\.py:5: ValueError: no such customer"):
                ask(bad)

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
            (
                "x = 1",
                "script.py:1: nothing is scripted. "
                "Define `script = [message('…')]`, `routes = […]` or `def setup(mock):`.",
            ),
            ("setup = 4", "script.py:2: setup is 4. Give a plain function of the World: `def setup(mock):`."),
            (
                "def setup():\n    pass",
                "script.py:2: setup cannot be called with the World alone: too many positional arguments. "
                "`def setup(mock):`",
            ),
            (
                "def setup(mock):\n    mock.organization(\n        zrd=True)",
                "script.py:3: organization(zrd=…): Did you mean 'zdr'?",
            ),
            ("def setup(mock):\n    mock.mpc()", "script.py:3: AttributeError: 'Mock' object has no attribute 'mpc'"),
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
        assert re.search(
            "is not a turn. Give the function itself|is async, and no turn", complaint(self.python(write, text))
        )


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

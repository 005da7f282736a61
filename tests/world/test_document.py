"""Script files in YAML: their turns, their routes, their settings, and how their mistakes are told."""

from collections.abc import Callable

import pytest

from harness.core.errors import ScriptError
from harness.ending import completed, failed, incomplete
from harness.explain.turn import summarize_turn
from harness.faults import ScriptedRefusal, cut, hang_up, pause, rate_limit
from harness.foundry.assets import INDEXES
from harness.foundry.blobs import BLOBS
from harness.foundry.connections import CONNECTIONS, DEPLOYMENTS
from harness.foundry.memory_stores import MEMORY_STORES
from harness.foundry.skills import SKILLS
from harness.foundry.toolboxes import TOOLBOXES
from harness.items import function_call, message, reasoning, url_citation
from harness.items.kind import ITEMS
from harness.world.mock import Mock
from harness.world.scripting.document import DOCUMENT_KEYS
from harness.world.scripting.load import load_script_file
from harness.world.scripting.settings import SETTINGS
from harness.world.world import World
from tests.support.script_files import Write, at_mark, complaint, take_turn, world_of

KINDS = ", ".join(sorted(ITEMS))

NO_ITEM = 'is not an item. An item is one name with its arguments, `message: {text: …}`, or `{"type": "message", …}`.'


Yaml = Callable[[str], World]


@pytest.fixture
def yaml(write: Write) -> Yaml:
    """Returns the World that a text scripts."""

    def world(text: str) -> World:
        return world_of(write(text))

    return world


class TestYaml:
    def test_turns_are_named_by_their_builders(self, yaml: Yaml) -> None:
        world = yaml("""
script:
  - message: "Hello."
  - function_call: {name: get_weather, arguments: {city: Paris}}
  - [ {reasoning: "Thinking."}, {message: "Done."} ]
  - reasoning:
  - [ {message: "Once"}, {incomplete: content_filter} ]
  - failed: {code: invalid_prompt, message: "No."}
  - [ {message: "Hi."}, {completed: {off_schema: true}} ]
""")
        assert take_turn(world) == [message("Hello.")]
        assert take_turn(world) == [function_call("get_weather", {"city": "Paris"})]
        assert take_turn(world) == [reasoning("Thinking."), message("Done.")]
        assert take_turn(world) == [reasoning()]
        assert take_turn(world) == [message("Once"), incomplete("content_filter")]
        assert take_turn(world) == [failed("invalid_prompt", "No.")]
        assert take_turn(world) == [message("Hi."), completed(off_schema=True)]
        assert world.script.unused == []

    def test_routes_are_tried_before_the_script(self, yaml: Yaml) -> None:
        world = yaml("""
script: [ {message: "anyone"} ]
when:
  - instructions: planner
    script: [ {message: "planner"} ]
  - tools: [a, b]
    model: gpt-4*
    script: [ {message: "tools"} ]
""")
        assert take_turn(world, instructions="You are the Planner.") == [message("planner")]
        assert take_turn(world, tools=[{"name": "a"}, {"name": "b"}, {"name": "c"}]) == [message("tools")]
        assert take_turn(world) == [message("anyone")]

    def test_routes_alone_leave_other_requests_unanswered(self, yaml: Yaml) -> None:
        world = yaml("when: [ {instructions: planner, script: [ {message: p} ]} ]")
        with pytest.raises(ScriptError, match="The closest is when"):
            take_turn(world)
        assert take_turn(world, instructions="planner") == [message("p")]

    def test_repeat_starts_again_when_it_is_spent(self, yaml: Yaml) -> None:
        world = yaml("script: [ {message: a}, {message: b} ]\nrepeat: true")
        assert len(world.script.unused) == 1
        assert [take_turn(world)[0] for _ in range(5)] == [message(text) for text in "ababa"]
        assert world.script.unused == []

    def test_a_repeated_turn_that_is_never_used_is_reported(self, yaml: Yaml) -> None:
        world = yaml("script: [ {message: a}, [{message: b}, incomplete: {}] ]\nrepeat: true")
        ((_, turn),) = world.script.unused
        assert summarize_turn(turn) == 'message "a", message "b" + incomplete, repeated'

    def test_every_world_starts_at_the_beginning(self, write: Write) -> None:
        script = load_script_file(write("script: [ {message: a}, {message: b} ]\nrepeat: true"))
        first, second = World(), World()
        script.apply(Mock(first))
        script.apply(Mock(second))
        assert take_turn(first) == take_turn(second) == [message("a")]

    def test_a_project_has_its_resources(self, yaml: Yaml) -> None:
        world = yaml(
            "connections: {search: {type: CognitiveSearch, credentials: secret}}\n"
            "deployments: {mine: gpt-4.1, other: {modelName: Phi-4, modelPublisher: Microsoft}}\n"
            "indexes: {docs: {connectionName: search, indexName: docs}}\n"
            "datasets: {faq: {files: {a.txt: Paris}}}\n"
            "memory_stores: {coffee: {scope: user_1, memories: [Prefers dark roast.]}}\n"
            "skills: {refunds: {description: Decides., instructions: Ask first.}}\n"
            "toolboxes: {team: {tools: [{type: toolbox_search}]}}"
        )
        store = world.store
        assert store.table(CONNECTIONS)["search"]["credentials"] == {"key": "secret", "type": "ApiKey"}
        assert [deployment["modelName"] for deployment in store.table(DEPLOYMENTS).values()] == ["gpt-4.1", "Phi-4"]
        assert store.table(INDEXES)["docs"].latest["members"]["indexName"] == "docs"
        assert [list(blob.blobs) for blob in store.table(BLOBS).values()] == [["a.txt"]]
        (memory,) = store.table(MEMORY_STORES)["coffee"].items.values()
        assert (memory["content"], memory["scope"]) == ("Prefers dark roast.", "user_1")
        assert (store.table(SKILLS)["refunds"].default, store.table(TOOLBOXES)["team"].default) == ("1", "1")

    def test_a_date_stays_a_text(self, yaml: Yaml) -> None:
        world = yaml("script: [ {function_call: {name: f, arguments: {day: 2026-01-02}}} ]")
        assert take_turn(world) == [function_call("f", {"day": "2026-01-02"})]

    def test_a_line_may_be_in_its_wire_form(self, yaml: Yaml) -> None:
        world = yaml("""
script:
  - - type: message
      content: [ {type: output_text, text: [Hel, lo]} ]
    - type: incomplete
      reason: content_filter
""")
        assert take_turn(world) == [message(["Hel", "lo"]), incomplete("content_filter")]

    def test_faults_end_their_turns_or_are_turns(self, yaml: Yaml) -> None:
        world = yaml("""
script:
  - [ {message: "Once"}, {incomplete: content_filter}, {cut: {after: 4.5}}, {pause: {after: 3, until: shown}} ]
  - rate_limit: 200ms
  - hang_up:
""")
        turn = pause(cut([message("Once"), incomplete("content_filter")], after=4.5), after=3, until="shown")
        assert take_turn(world) == turn
        for refused in (rate_limit("200ms"), hang_up()):
            with pytest.raises(ScriptedRefusal) as caught:
                take_turn(world)
            assert caught.value.refusal == refused

    def test_a_text_cites_as_in_python(self, yaml: Yaml) -> None:
        world = yaml("""
script:
  - message:
      text: See the guide.
      annotations: [ {type: url_citation, url: "https://a.example", title: A, cite: guide} ]
""")
        note = url_citation("https://a.example", "A", cite="guide")
        assert take_turn(world) == [message("See the guide.", annotations=[note])]

    def test_one_route_may_repeat_and_another_not(self, yaml: Yaml) -> None:
        world = yaml("""
script: [ {message: once} ]
when:
  - model: o3*
    repeat: true
    script: [ {message: again} ]
""")
        assert [take_turn(world, model="o3") for _ in range(3)] == [[message("again")]] * 3
        assert take_turn(world) == [message("once")]
        with pytest.raises(ScriptError, match="No turn"):
            take_turn(world)

    def test_a_route_may_look_for_a_pattern(self, yaml: Yaml) -> None:
        world = yaml("when: [ {input: {pattern: '^[Hh]i$'}, tools: [f], script: [ {message: a} ], repeat: true} ]")
        tools = [{"name": "f"}]
        assert take_turn(world, input="hi", tools=tools) == [message("a")]
        for request in ({"input": "hi there", "tools": tools}, {"input": "hi"}):
            with pytest.raises(ScriptError, match="The closest is when"):
                take_turn(world, **request)

    def test_settings_are_of_every_world(self, write: Write) -> None:
        text = "organization: {zdr: true, models: [gpt-4.1]}\ncitations: delta\nautomatic: false"
        script = load_script_file(write(text))
        for world in (World(), World()):
            script.apply(Mock(world))
            assert (world.account.zdr, world.account.models) == (True, frozenset({"gpt-4.1"}))
            assert (world.citations, world.automatic) == ("delta", False)

    def test_anchors_and_merge_keys_work_and_a_merged_member_can_be_replaced(self, yaml: Yaml) -> None:
        world = yaml("""
script:
  - function_call: &call {name: f, arguments: {}}
  - function_call: {<<: *call, call_id: call_1}
  - function_call: {<<: *call, name: g}
""")
        assert take_turn(world) == [function_call("f", {})]
        assert take_turn(world) == [function_call("f", {}, call_id="call_1")]
        assert take_turn(world) == [function_call("g", {})]

    def test_yml_is_yaml(self, write: Write) -> None:
        assert take_turn(world_of(write("script: [ {message: a} ]", "script.yml"))) == [message("a")]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("script:\n  - message: a\n§  - mesage: b", "no item 'mesage'. Did you mean 'message'?"),
            (
                "script:\n  - function_call:\n      name: f\n§      argumnts: {}",
                "no function_call argument 'argumnts'. Did you mean 'arguments'?",
            ),
            (
                "script:\n§  - function_call: {arguments: {}}",
                "function_call: missing a required argument: 'name'. "
                "Its arguments: name, arguments, call_id, namespace, async_, caller, off_schema.",
            ),
            (
                "when:\n§  - instruction: planner\n    script: [ {message: a} ]",
                "no condition 'instruction'. Did you mean 'instructions'?",
            ),
            ("§scripts: []", "no key 'scripts'. Did you mean 'script'?"),
            ("§xyz: []", f"no key 'xyz'. Known: {', '.join(DOCUMENT_KEYS)}."),
            ("§repeat: true", f"nothing is scripted. Add `script:`, `when:` or a setting: {', '.join(SETTINGS)}."),
            ("§", "the file is empty. Begin with `script:` and a list of items."),
            ("§- message: a", f'[{{"message": "a"}}] is not an object. Its members: {", ".join(DOCUMENT_KEYS)}.'),
            ("§script: []", "script is []. Pass a list with at least one entry."),
            ("§script: hello", 'script is "hello". Pass a list with at least one entry.'),
            (
                "script:\n§  - []",
                "[] is not a turn. Pass a text, an item (`message: {text: …}`), or a list of these, an ending and faults.",
            ),
            (
                "script:\n§  - overloaded",
                '"overloaded" is the name of a kind of turn. Write `overloaded:` with its arguments, or '
                "`message: overloaded`.",
            ),
            ("script:\n§  - [5]", f"5 {NO_ITEM}"),
            ("script:\n§  - message: a\n    phase: commentary", f'{{"message": "a", "phase": "commentary"}} {NO_ITEM}'),
            ("script: [ {message: a} ]\n§script: []", "key 'script' is set twice. Remove one."),
            ("script: [ {message: a} ]\n§repeat: often", 'repeat is "often". Pass true or false.'),
            (
                "when:\n§  - script: [ {message: a} ]",
                "a route has a condition (instructions, tools, model, input, user, call_id, agent) and a "
                "script. Add both.",
            ),
            ("when:\n§  - model: 4\n    script: []", "model is 4. Pass a text, or a pattern."),
            ("when:\n§  - tools: [4]\n    script: []", "tools is [4]. Pass a text, a list of names, or a pattern."),
            (
                "script:\n§  - message: {text: a, phase: final}",
                "message: phase is 'final'. Use one of: commentary, final_answer.",
            ),
            (
                "script:\n§  - message: {text: a, annotations: [[1]]}",
                "message: annotations[0] is [1]. Pass an object with the type of the annotation.",
            ),
            (
                "script:\n  - - reasoning:\n    - message: a\n§    - cut: {after: soon}",
                "cut: after is 'soon'. Pass a non-negative number of events; 4.5 cuts the fifth.",
            ),
            (
                "script:\n  - message: a\n  -\n§    - incomplete:\n    - message: b",
                'A turn is items, then an ending, then faults: [{"message": "Once"}, {"cut": {"after": 4}}].',
            ),
            ("script:\n§  - type: mesage", f"type is 'mesage'. An item's type is one of: {KINDS}."),
            ("script:\n§  - function_call: {name: f, name: g}", "key 'name' is set twice. Remove one."),
            (
                "when:\n  - input:\n§      pattern: '('\n    script: []",
                'pattern is "(": missing ), unterminated subpattern at position 0. Use a regular expression.',
            ),
            ("when:\n§  - input: {pattern: 4}\n    script: []", "pattern is 4. Pass a text."),
            ("organization:\n  zdr: true\n§  verified: often", 'verified is "often". Pass true or false.'),
            ("mcp:\n  prod:\n    deploy:\n§      error: 4", "error is 4. Pass a text or an object."),
            (
                "files: {a.txt: b}\nvector_stores:\n§  docs:\n    - a.txt\n    - c.txt",
                "vector_store('c.txt'): no such file for this key; create one: mock.file(…).",
            ),
            ("vector_stores:\n§  docs: [4]", "files is [4]. Pass a list of texts."),
            (
                "connections:\n  search:\n§    kind: x",
                "no member 'kind'. Known: type, target, metadata, credentials, isDefault.",
            ),
            (
                "connections:\n§  search:\n    credentials: 4",
                "connection('search', credentials=4): pass a text or an object.",
            ),
            ("§datasets: {faq: {files: {a.txt: 4}}}", "dataset('faq'): the file 'a.txt' is 4; pass a string or bytes."),
            (
                "§memory_stores: {coffee: {memories: [{text: x}]}}",
                "memory_store('coffee'): {'text': 'x'} is not a memory; pass a string, or an object with "
                "content, kind and scope.",
            ),
            ("§deployments: [a]", 'deployments is ["a"]. Use an object with the names as keys.'),
            ("script:\n  - message: 'a\n§", "found unexpected end of stream."),
            ("script:\n§  - empty: x", "empty: too many positional arguments. Its arguments: none."),
            ("script:\n§  - message: !!bool x", "'x' is not a value of the type bool."),
            ("script:\n  - message: !!timestamp x\n§    delay: !!int ''", "'' is not a value of the type int."),
            ("§script: !!timestamp soon", 'script is "soon". Pass a list with at least one entry.'),
            ("§script: &a [*a]", "an alias stands for what contains it."),
            ("§script: \x01", "unacceptable character #x0001: control characters are not allowed."),
        ],
    )
    def test_a_mistake_has_its_line_and_its_remedy(self, write: Write, text: str, says: str) -> None:
        text, line = at_mark(text)
        assert complaint(write(text)) == f"script.yaml:{line}: {says}"

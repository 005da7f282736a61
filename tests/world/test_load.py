"""Files that cannot be read as a script."""

import re
from pathlib import Path

import pytest

from harness.core.errors import ScriptError
from harness.items import message
from harness.world.mock import Mock
from harness.world.scripting.load import load_script_file
from harness.world.world import World
from tests.support.script_files import Write, at_mark, complaint, take_turn, world_of


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no.yaml", "cannot be read: No such file or directory. Pass the path of a script file."),
        ("a.py", "cannot be read: it is not UTF-8. Pass the path of a script file."),
        ("a.json", "not a script. The name of a script file ends in .py, .yaml, .yml."),
    ],
    ids=["a missing file", "another encoding", "another kind"],
)
def test_what_is_no_script_file_is_reported(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe")
    assert complaint(tmp_path / name) == f"{name}: {says}"


IMPORTS = "from harness.items import function_call, message, reasoning\n"


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
        assert take_turn(world) == [message("a")]

    def test_a_plain_function_answers_every_request(self, write: Write) -> None:
        world = world_of(self.python(write, "def script(request):\n    return message(request.body['input'])"))
        assert [take_turn(world, input=text) for text in "abc"] == [[message(text)] for text in "abc"]
        assert world.script.unused == []

    def test_a_generator_function_receives_each_request_and_ends(self, write: Write) -> None:
        text = """
def script(request):
    request = yield message(request.body['input'])
    yield message(request.body['input'] * 2)
"""
        world = world_of(self.python(write, text))
        assert [take_turn(world, input=text) for text in "ab"] == [[message("a")], [message("bb")]]
        with pytest.raises(ScriptError, match="No turn is left"):
            take_turn(world)

    def test_routes_are_tried_first(self, write: Write) -> None:
        world = world_of(
            self.python(
                write,
                "routes = [({'instructions': 'planner'}, [message('p')]),\n"
                "          ({'model': 'o3*'}, lambda request: message('o'))]\n"
                "script = message('a')",
            )
        )
        assert take_turn(world, instructions="planner") == [message("p")]
        assert take_turn(world, model="o3-mini") == take_turn(world, model="o3") == [message("o")]
        assert take_turn(world) == [message("a")]

    def test_a_function_that_fails_says_where_and_is_asked_again(self, write: Write) -> None:
        path = self.python(write, "def script(request):\n    return message(request.body['metadata']['text'])")
        world = world_of(path)
        for _ in range(2):
            with pytest.raises(ScriptError, match=r"a turn raised KeyError: 'metadata', at .*script\.py:3\n  at "):
                take_turn(world)
            assert take_turn(world, metadata={"text": "a"}) == [message("a")]

    def test_turns_repeat(self, write: Write) -> None:
        world = world_of(self.python(write, "script = ['a', lambda request: 'b']\nrepeat = True"))
        assert [take_turn(world) for _ in range(3)] == [[message("a")], [message("b")], [message("a")]]
        assert "script.py:3: repeat is 2. Pass True" in complaint(self.python(write, "script = 'a'\nrepeat = 2"))

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            (
                "def script(request):\n    yield 'a'\nrepeat = True",
                "script.py:2: script: script (script.py:2) cannot be repeated.",
            ),
            ("routes = [({'input': 5}, ['x'])]", "script.py:2: routes[0]: when(input=5): pass a text,"),
        ],
    )
    def test_what_cannot_be_added_is_reported_with_its_line(self, write: Write, text: str, says: str) -> None:
        assert says in complaint(self.python(write, text))

    def test_setup_does_what_a_test_does(self, write: Write) -> None:
        text = (
            "def setup(mock):\n    mock.organization(zdr=True)\n    mock.mcp('prod', {'deploy': lambda ref: ref})\n"
            "    mock.when(instructions='planner').script(message('p'))\nscript = message('a')"
        )
        world = world_of(self.python(write, text))
        assert world.account.zdr
        assert take_turn(world, instructions="planner") == [message("p")]
        assert take_turn(world) == [message("a")]

    def test_a_setup_that_fails_for_one_world_is_reported_to_its_client(self, write: Write) -> None:
        fails = "    if mock.world.name == 'bad':\n        raise ValueError('no such customer')"
        text = f"script = message('a')\ndef setup(mock):\n{fails}"
        script = load_script_file(self.python(write, text))
        good, bad = World("good"), World("bad")
        for world in (good, bad):
            script.apply(Mock(world))
        assert take_turn(good) == [message("a")]
        for _ in range(2):
            with pytest.raises(ScriptError, match=r"script\.py:5: ValueError: no such customer"):
                take_turn(bad)

    def test_a_file_may_hold_whatever_a_module_may(self, write: Write) -> None:
        text = "import dataclasses\nfrom typing import ClassVar\n@dataclasses.dataclass\nclass A:\n    x: 'ClassVar' = 'a'\n"
        assert take_turn(world_of(self.python(write, f"{text}script = message(A.x)"))) == [message("a")]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("§script = [", "'[' was never closed."),
            ("x = 1\n§script = [message(y)]", "NameError: name 'y' is not defined"),
            ("§script = message(4)", "message: text is 4. Pass a str, or a list of str: the exact deltas to stream."),
            ("x = 1", "nothing is scripted. Define `script = [message('…')]`, `routes = […]` or `def setup(mock):`."),
            ("§setup = 4", "setup is 4. Pass a plain function of the World: `def setup(mock):`."),
            (
                "§def setup():\n    pass",
                "setup cannot be called with the World alone: too many positional arguments. `def setup(mock):`",
            ),
            ("def setup(mock):\n§    mock.organization(\n    zrd=True)", "organization(zrd=…): Did you mean 'zdr'?"),
            ("def setup(mock):\n§    mock.mpc()", "AttributeError: 'Mock' object has no attribute 'mpc'"),
            ("import sys\n§sys.exit(0)", "SystemExit: 0"),
            ("def setup(mock):\n§    raise SystemExit", "SystemExit: "),
            ("§script = []", "script is empty. Add turns: [message('…')]."),
            ("§script = [[]]", "script has an empty turn. Add items: [message('…')]."),
            ("x = 1\n§routes = 4", "routes is 4. Pass a list of ({condition: text}, [turns])."),
            ("§routes = [4]", "routes[0] is 4. Pass ({'instructions': 'planner'}, [turns])."),
            (
                "§routes = [({'instruction': 'x'}, message('a'))]",
                "routes[0]: no condition 'instruction'. Did you mean 'instructions'?",
            ),
        ],
    )
    def test_a_mistake_has_its_line_and_its_remedy(self, write: Write, text: str, says: str) -> None:
        text, line = at_mark(IMPORTS + text)
        assert complaint(write(text, "script.py")) == f"script.py:{line}: {says}"

    @pytest.mark.parametrize("text", ["script = [4]", "globals()['script'] = 4"])
    def test_what_is_no_turn_is_named(self, write: Write, text: str) -> None:
        line = 2 if text == "script = [4]" else 1
        assert complaint(self.python(write, text)).partition(" is not a turn")[0] == f"script.py:{line}: script: 4"

    @pytest.mark.parametrize(
        "text", ["script = (message('a') for _ in 'ab')", "script = [iter([])]", "async def script(request):\n    ..."]
    )
    def test_generators_and_async_functions_are_refused(self, write: Write, text: str) -> None:
        told = "is not a turn. Pass the function itself|is async, so not a turn"
        assert re.search(told, complaint(self.python(write, text)))

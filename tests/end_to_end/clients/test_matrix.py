"""The runner of the client suites: what it reads, what it runs where, and when a cell is as it should be.

The suites here are made up; their environment is the interpreter that runs this test.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigError
from tests.clients import __main__ as command
from tests.clients import cells, environments, matrix
from tests.clients.cells import Environment, found
from tests.clients.matrix import Row, Run, judged, played, runs
from tests.clients.publish import find_differences
from tests.support.examined import cell, results

Write = Callable[..., Path]
HERE = "[environments.here]\nhere = true\n"
TESTS = """
    import pytest
    from openai import BadRequestError, OpenAI
    from harness.items import message

    def ask(mock):
        client = OpenAI(max_retries=0)
        return client.responses.create(model="gpt-4.1", input=[{"role": "assistant", "content": [{"type": "input_file"}]}])

    def test_passes(mock):
        mock.script(message("Hello."))
        assert OpenAI().responses.create(model="gpt-4.1", input="hi").output_text == "Hello."
        with mock.refuses("input_file"), pytest.raises(BadRequestError):
            ask(mock)

    def test_is_refused(mock):
        ask(mock)

    @pytest.mark.parametrize("many", [1, 2])
    def test_parameters(mock, many):
        assert many == 1
"""


@pytest.fixture
def suite(tmp_path: Path) -> Write:
    """Write a suite and give the folder of all suites."""
    for name in ("conftest.py", "pytest.ini"):
        shutil.copy(cells.HERE / name, tmp_path)

    def write(table: str, tests: str = TESTS, name: str = "made_up", **files: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "suite.toml").write_text(table)
        lines = tests.splitlines()
        (folder / "test_it.py").write_text("\n".join(line.removeprefix("    ") for line in lines))
        for file, text in files.items():
            (folder / file.replace("__", ".")).write_text(text)
        return tmp_path

    return write


def table(**cells: str) -> str:
    return HERE + "".join(f'["cells"."{cell}"]\nhere = {json.dumps(outcome)}\n' for cell, outcome in cells.items())


def rows(root: Path, cache: Path) -> dict[str, Row]:
    return {row.test: row for _, more in played(runs(found(root=root)), 1, cache) for row in more}


def is_running(pid: str) -> bool:
    """Return whether a process goes on; one that has ended may still wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


class TestACell:
    @pytest.mark.slow
    def test_a_cell_is_as_expected_or_says_what_differs(self, suite: Write, tmp_path: Path) -> None:
        content = table(
            test_passes="green",
            test_is_refused="Invalid value: 'input_file'",
            **{"test_parameters[1]": "green", "test_parameters[2]": "No request came"},
        )
        by_test = rows(suite(content), tmp_path / "cache")
        assert [by_test[name].verdict for name in by_test] == ["green", "red", "green", "red"]
        assert [name for name in by_test if by_test[name].fault] == []
        assert "input_file" in by_test["test_is_refused"].reason

    @pytest.mark.slow
    def test_a_cell_that_ended_differently_is_reported_with_its_reason(self, suite: Write, tmp_path: Path) -> None:
        content = table(test_passes="never said", test_is_refused="green", test_parameters="another cause")
        by_test = rows(suite(content), tmp_path / "cache")
        assert by_test["test_passes"].fault == "passed, not red with 'never said'"
        assert by_test["test_is_refused"].fault.startswith("not green:")
        assert "do not say 'another cause'" in by_test["test_parameters[2]"].fault

    @pytest.mark.slow
    def test_a_cell_without_its_test_shows_what_was_printed(self, suite: Write, tmp_path: Path) -> None:
        root = suite(table(test_passes="green"), "import not_there\ndef test_passes(mock): pass\n")
        (row,) = rows(root, tmp_path / "cache").values()
        assert (row.verdict, "No module named 'not_there'" in row.fault) == ("none", True)

    @pytest.mark.slow
    def test_a_cell_that_does_not_end_is_stopped_with_its_children(self, suite: Write, tmp_path: Path) -> None:
        tests = """
    import os, subprocess, time
    from pathlib import Path

    def test_sleeps():
        child = subprocess.Popen(["sleep", "60"])
        Path(__file__).with_name("child").write_text(str(child.pid))
        time.sleep(60)
    """
        root = suite(HERE + "timeout = 4\n" + table(test_sleeps="green").removeprefix(HERE), tests)
        (row,) = rows(root, tmp_path / "cache").values()
        assert row.fault.endswith("stopped after 4 seconds")
        child = (root / "made_up" / "child").read_text()
        until = time.monotonic() + 10
        while is_running(child) and time.monotonic() < until:
            time.sleep(0.05)  # a killed process takes a moment to end
        assert not is_running(child)

    def test_a_cell_of_a_skipped_test_is_not_green(self) -> None:
        (row,) = judge(outcome="skipped")
        assert (row.verdict, row.fault) == ("skipped", "not green:\nE boom")

    def test_a_cell_with_losses_is_not_green(self) -> None:
        (row,) = judge(outcome="passed", losses=["call-dropped: deploy"])
        assert row.fault == "green, but with losses: call-dropped: deploy"

    def test_a_cell_of_no_table_is_an_error(self) -> None:
        first, missing = judge(cell=None, outcome="passed")
        assert (first.fault, missing.reason) == ("this test has no cell", "it did not run")

    def test_a_cell_keeps_the_failure_of_any_phase(self) -> None:
        (row,) = judge({"outcome": "failed"}, outcome="passed")
        assert row.verdict == "red"

    def test_a_cell_that_is_red_needs_the_cause_in_the_first_lines(self) -> None:
        content = ["Request 2 was refused\nby a rule: Invalid value", "1\n2\n3\n4\n5\nsixth"]
        assert [row.fault for row in judge(expected="Invalid value", says=content)] == [""]
        (row,) = judge(expected="sixth", says=content)
        assert row.fault.startswith("the harness's first 5 lines do not say 'sixth'")


def judge(*more: dict[str, Any], expected: str = "green", **content: Any) -> list[Row]:
    """Return the rows of a test that ended so."""
    here, file = Environment("here"), Path("suites/made_up/test_it.py")
    run = Run(cells.Suite(file.parent, (here,), {"test_x": {"here": expected}}, {file: ["test_x"]}), here)
    one = {
        "test": "test_x",
        "cell": "test_x",
        "outcome": "failed",
        "seconds": 0.1,
        "says": [],
        "text": "E boom",
        "losses": [],
        "refusals": 0,
    }
    return judged(run, [one | content, *(one | member for member in more)], "")


class TestATable:
    @pytest.mark.parametrize(
        ("content", "fault"),
        [
            ("no toml", "TOMLDecodeError"),
            ("[cells]", "KeyError('environments')"),
            (HERE + "colour = 1\n[cells]\n", "colour"),
            (table(test_gone="green"), "cells.test_gone: there is no such test"),
            (HERE + '[cells.test_passes]\nthere = "green"\n', "cells.test_passes: no environment there"),
            (HERE + '[cells.test_passes]\nhere = ""\n', "here must be 'green', 'not run' or a text"),
            (HERE + 'files = ["test_gone.py"]\n', "environments.here: no test runs in it"),
        ],
    )
    def test_a_table_that_does_not_match_is_refused(self, suite: Write, content: str, fault: str) -> None:
        with pytest.raises(ConfigError) as caught:
            found(root=suite(content))
        assert fault in str(caught.value)

    def test_a_table_needs_tests_that_can_be_read(self, suite: Write) -> None:
        with pytest.raises(ConfigError, match="test_it"):
            found(root=suite(table(test_a="green"), "def test_a(: pass"))

    def test_a_table_has_each_test_once(self, suite: Write) -> None:
        with pytest.raises(ConfigError, match="test_a is the name of two tests"):
            found(root=suite(table(test_a="green"), "def test_a(): pass\nclass TestB:\n  def test_a(self): pass"))

    def test_a_table_of_an_unknown_name_is_refused(self, suite: Write) -> None:
        with pytest.raises(ConfigError, match="no suite other in"):
            found(["other"], root=suite(table(test_passes="green")))


class TestAnEnvironment:
    @pytest.mark.slow
    def test_an_environment_runs_only_its_files_and_of_them_what_is_to_run(self, suite: Write, tmp_path: Path) -> None:
        content = HERE + 'files = ["test_it.py"]\n' + '[cells.test_later]\nhere = "not run"\n'
        tests = "def test_passes(): pass\ndef test_later(): pass"
        root = suite(content, tests, test_else__py="import not_there\ndef test_elsewhere(): pass")
        assert [(name, row.fault) for name, row in rows(root, tmp_path / "cache").items()] == [("test_passes", "")]

    def test_an_environment_sees_nothing_of_the_one_outside(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
        seen = matrix.surroundings(tmp_path)
        assert not {"OPENAI_API_KEY", "HTTPS_PROXY"} & set(seen)
        assert (seen["HOME"], seen["PATH"], seen["DO_NOT_TRACK"]) == (str(tmp_path), os.environ["PATH"], "1")

    def test_an_environment_is_made_once_and_again_when_interrupted(
        self, tmp_path: Path, commands: list[list[str]]
    ) -> None:
        made = environments.prepared(Environment("newest", python=("openai==3.54.0",), npm=("openai@6.1.0",)), tmp_path)
        assert [command[1] for command in commands] == ["venv", "pip", "install"]
        assert commands[1][-6:-1] == ["pytest", "pytest-asyncio", environments.NODE, "openai==3.54.0", "--editable"]
        assert environments.prepared(Environment("newest", ("openai==3.54.0",), ("openai@6.1.0",)), tmp_path) == made
        assert len(commands) == 3
        (made / environments.COMPLETE).unlink()
        environments.prepared(Environment("newest", ("openai==3.54.0",), ("openai@6.1.0",)), tmp_path)
        assert len(commands) == 6

    def test_an_environment_is_another_with_other_packages(self, tmp_path: Path, commands: list[list[str]]) -> None:
        folders = {environments.prepared(Environment("x", (package,)), tmp_path) for package in ("a==1", "a==2")}
        assert len(folders) == 2

    def test_an_environment_that_cannot_be_installed_fails_its_cells(
        self, suite: Write, tmp_path: Path, commands: list[list[str]]
    ) -> None:
        commands.append(["fail"])
        root = suite('[environments.x]\npython = ["a==1"]\n[cells.test_a]\nx = "green"\n', "def test_a(): pass")
        assert "no such package" in rows(root, tmp_path / "cache")["test_a"].fault

    def test_an_environment_needs_uv(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environments.sys, "executable", str(tmp_path / "python"))
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(ConfigError, match="pip install uv"):
            environments.prepared(Environment("x"), tmp_path)

    def test_an_environment_needs_npm_for_its_packages(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(ConfigError, match="npm is not there"):
            environments.prepared(Environment("x", npm=("openai@6.1.0",), here=True), tmp_path)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would be run to make environments; one that is there before makes them fail."""
    seen: list[list[str]] = []

    def run(command: list[str], **_: Any) -> None:
        if ["fail"] in seen:
            raise subprocess.CalledProcessError(1, command, stderr="no such package")
        seen.append([Path(command[0]).name, *command[1:]])

    monkeypatch.setattr(environments.subprocess, "run", run)
    monkeypatch.setattr(environments, "_uv", lambda: "uv")
    return seen


class TestTheCommand:
    @pytest.fixture(autouse=True)
    def _own_suites(self, suite: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = suite(table(test_passes="green", test_is_refused="input_file", test_parameters="No request came"))
        monkeypatch.setattr(command, "found", lambda names: found(names, root))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    @pytest.mark.slow
    def test_the_command_prints_a_matrix_and_writes_it(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert command.main(["made_up", "--json", str(tmp_path / "m.json"), "--jobs", "1"]) == 1
        printed = capsys.readouterr().out
        assert "3 of 4 cells as expected" in printed
        assert "1 green, 1 of them with expected refusals (1 in all); 2 red:\n   1  made_up: input_file\n" in printed
        assert "made_up in here: test_parameters[1]" in printed
        assert [row["verdict"] for row in json.loads((tmp_path / "m.json").read_text())] == [
            "green",
            "red",
            "green",
            "red",
        ]

    def test_the_command_lists_without_running(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main(["--list"]) == 0
        assert capsys.readouterr().out.split()[4:] == ["made_up", "here", "3"]

    def test_the_command_says_what_is_wrong_with_a_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main(["other"]) == 2
        assert "no suite other" in capsys.readouterr().out


PUBLISHED = """
| mine 1.0 | 1/4: 3 red |

### mine 1.0

| `tools/all` | 2 of 2 | It breaks. |
| `tools/some` | 1 of 2 | It breaks. |

### mine 0.9

| `tools/new` | 2 of 2 | It broke. |
"""


@pytest.mark.parametrize(
    ("case", "verdict", "difference"),
    [
        ("tools/all", "fail", []),
        ("tools/all", "pass", ["tools/all[plain,replay] passes, but is published as red"]),
        ("tools/some", "fail", []),
        ("tools/some", "pass", []),
        ("tools/new", "pass", []),
        ("tools/new", "hang", ["tools/new[plain,replay]: hang: It stands."]),
    ],
)
def test_a_release_that_does_other_than_published_is_reported(case: str, verdict: Any, difference: list[str]) -> None:
    [found] = results(cell(case, verdict, "plain,replay", "must", "It stands.")).clients
    assert [*find_differences(PUBLISHED, found)] == difference


@pytest.mark.slow
def test_a_program_in_node_reaches_the_mock(suite: Write, tmp_path: Path) -> None:
    if not shutil.which("node"):
        pytest.skip("no node")
    tests = """
    from harness.items import message

    def test_node(mock, node):
        mock.script(message("Hello."))
        assert node("ask.mjs", question="hi") == {"text": "Hello."}

    def test_fails(mock, node):
        node("fail.mjs")
    """
    ask = """
const {question} = JSON.parse(process.argv[2]);
const answer = await fetch(process.env.OPENAI_BASE_URL + "/responses", {method: "POST", body: JSON.stringify(
  {model: "gpt-4.1", input: question}), headers: {"content-type": "application/json",
  authorization: "Bearer " + process.env.OPENAI_API_KEY}});
console.log(JSON.stringify({text: (await answer.json()).output[0].content[0].text}));
"""
    content = table(test_node="green", test_fails="No request came")
    by_test = rows(suite(content, tests, ask__mjs=ask, fail__mjs="throw new Error('boom')"), tmp_path / "cache")
    assert [by_test[name].fault for name in by_test] == ["", ""]

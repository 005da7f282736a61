"""A run of many red tests says in every format what each of them says in the terminal: what is wrong, where, the fix.

The tests are in the folder `red`, each with parts of what its first cause must say.
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.slow
RED = Path(__file__).with_name("red")
FILES = ("scripts.py", "clients.py", "histories.py", "setups.py", "late.py")
LAST_SCREEN = 20
"""How many lines of a test's section may stand before its cause."""


class Cause(NamedTuple):
    """Parts of a cause."""

    title: str
    fix: str = ""
    place: str = ""


def read_expected() -> dict[str, Cause]:
    """Read what stands in the marks of the red tests, by name."""
    expected = {}
    for file in FILES:
        for node in ast.parse((RED / file).read_text(encoding="utf-8")).body:
            for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                if isinstance(mark, ast.Call) and getattr(mark.func, "attr", "") == "cause":
                    words = {word.arg: ast.literal_eval(word.value) for word in mark.keywords if word.arg}
                    expected[node.name] = Cause(**words)
    return expected


EXPECTED = read_expected()
LATE = "test_a_thread_outlives_its_test"


class Run(NamedTuple):
    """What a run has printed, and the folder with its reports."""

    printed: str
    folder: Path

    def harness(self, *words: str) -> str:
        """Run a command of the harness on a report."""
        command = [sys.executable, "-m", "harness", *words]
        environment = {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"}
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=environment, check=False)
        return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run") / "red"
    copytree(RED, folder, ignore=lambda *_: ["__pycache__"])
    reports = [f"--harness-report=r.{suffix}" for suffix in ("json", "html", "xml", "sarif", "md")]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *reports, *FILES]
    environment = {**os.environ, "GITHUB_ACTIONS": "true", "COLUMNS": "120", "GITHUB_WORKSPACE": str(folder)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1, done.stdout[-3000:]
    return Run(done.stdout, folder)


def read_terminal(run: Run) -> dict[str, str]:
    """Read the section of each test, without its mark in the source that is shown."""
    failures = re.split(r"^=+ (?:warnings summary|responses-harness: after the tests)", run.printed, flags=re.M)[0]
    failures = re.sub(r"^    @pytest\.mark\.cause\(.*?^    (?=@|def )", "", failures, flags=re.M | re.S)
    parts = re.split(r"^_{2,} (?:ERROR at \w+ of )?(\w+) _{2,}\n", failures, flags=re.M)
    late = run.printed.partition("responses-harness: after the tests")[2].partition("\n=")[0]
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    marked = {test: re.sub(r"^> +", f"in {test}: ", text, flags=re.M) for test, text in shown.items()}
    return {**marked, LATE: late}  # pytest marks the line that failed


def read_json(run: Run) -> dict[str, str]:
    """Read the first cause of each test."""
    tests = json.loads((run.folder / "r.json").read_text(encoding="utf-8"))["tests"]
    return {
        name_of(test["id"]): json.dumps(test["causes"][0], ensure_ascii=False) for test in tests if "causes" in test
    }


def read_junit(run: Run) -> dict[str, str]:
    """Read the failure of each test case."""
    cases = ElementTree.parse(run.folder / "r.xml").iter("testcase")
    return {
        case.attrib["name"]: "".join(case.itertext())
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }


def read_sarif(run: Run) -> dict[str, str]:
    """Read the message of each result."""
    results = json.loads((run.folder / "r.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    texts = (result["message"]["text"].partition(": ") for result in results)
    return {name_of(id): text for id, _, text in texts}


def read_groups(text: str, head: str) -> dict[str, str]:
    """Read a text of groups, each of which begins with its tests; the facts are those of the first."""
    groups = re.split(head, text, flags=re.M)[1:]
    return {name: group for group in groups for name in re.findall(r"\btest_\w+", group.splitlines()[0])[:1]}


def read_view(run: Run) -> dict[str, str]:
    """Read the causes of the page as text; each ends with its tests."""
    groups = re.split(r"^\d+\. ", run.harness("view", "--text", "r.html", "--tokens", "100000"), flags=re.M)[1:]
    tests = [re.findall(r"\btest_\w+", group.partition("\n  cases")[2]) for group in groups]
    return {named[0]: group for named, group in zip(tests, groups, strict=True)}


def read_annotations(run: Run) -> dict[str, str]:
    """Read the annotations; each ends with its tests."""
    texts = re.findall(r"^::error .*?::(.*)$", run.printed, re.M)
    lines = [text.split("%0A") for text in texts]
    return {re.findall(r"\btest_\w+", named)[0]: " ".join(text) for *text, named in lines}


FORMATS: Mapping[str, Callable[[Run], dict[str, str]]] = {
    "terminal": read_terminal,
    "json": read_json,
    "junit": read_junit,
    "sarif": read_sarif,
    "markdown": lambda run: read_groups((run.folder / "r.md").read_text(encoding="utf-8"), r"^\*\*\d+\.\*\* "),
    "report": lambda run: read_groups(run.harness("report", "r.json"), r"^\d+\. (?=\S+:\d+ )"),
    "view --text": read_view,
    "annotations": read_annotations,
}


@cache
def read(run: Run, format: str) -> dict[str, str]:
    return FORMATS[format](run)


def name_of(id: str) -> str:
    return id.rpartition("::")[2]


def plain(text: str) -> str:
    """Put a text on one line, without the quotes that JSON escapes."""
    return " ".join(text.replace('\\"', '"').replace("\\n", " ").split())


def test_each_red_test_is_in_every_format(run):
    seen = {name: set(read(run, name)) for name in FORMATS}
    assert len(EXPECTED) >= 45
    whole = ("terminal", "json", "junit", "sarif")  # the others name the first test of each cause with its facts
    assert {name: EXPECTED.keys() - seen[name] for name in whole} == {name: set() for name in whole}
    assert seen["markdown"] == seen["report"] == seen["view --text"]


def test_every_format_counts_the_same(run):
    report = json.loads((run.folder / "r.json").read_text(encoding="utf-8"))
    suite = ElementTree.parse(run.folder / "r.xml").getroot().attrib
    markdown = (run.folder / "r.md").read_text(encoding="utf-8")
    causes = len(read(run, "markdown"))
    wrong, errors = len(EXPECTED) - 5, 5
    counts = f"{wrong} failed, {errors} errors, 1 passed; {causes} causes"
    assert f" {wrong} failed, 1 passed, " in run.printed.splitlines()[-1]
    assert report["outcomes"] == {"failed": wrong, "error": errors, "passed": 1}
    assert (suite["failures"], suite["errors"]) == (str(wrong), str(errors))
    assert len(json.loads((run.folder / "r.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]) == wrong + errors
    assert markdown.startswith(f"### ❌ {counts}\n")
    assert run.harness("report", "r.json").startswith(f"{counts}\n")
    assert run.harness("view", "--text", "r.html").startswith(f"{counts}\n")
    assert f"{counts}\n" in (run.folder / "r.xml").read_text(encoding="utf-8")
    assert f"::notice title=contract::{causes - 10} more causes are in the report." in run.printed
    assert "\\`" not in markdown


def test_the_cause_stands_near_the_beginning_and_no_frame_of_a_library_does(run):
    before = {}
    for test, text in read(run, "terminal").items():
        lines = text.splitlines()
        words = EXPECTED[test].title.split()[:3]
        place = next(
            number for number in range(len(lines)) if " ".join(words) in plain(" ".join(lines[number : number + 2]))
        )
        before[test] = place
    assert {test: lines for test, lines in before.items() if lines > LAST_SCREEN} == {}
    assert not re.findall(r"^\S*(?:site-packages|harness)/\S+\.py:\d+", run.printed, re.M)
    configuration = ("test_a_marker_is_mistyped", "test_a_markers_value_is_mistyped", "test_a_cassette_is_missing")
    assert {before[test] for test in configuration} == {0}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("part", Cause._fields)
def test_a_cause_says_what_is_wrong_and_where_and_the_fix(run, format, part):
    shown = {test: plain(text) for test, text in read(run, format).items()}
    wanted = {test: plain(getattr(cause, part)) for test, cause in EXPECTED.items() if test in shown}
    assert len(wanted) >= (10 if format == "annotations" else 40)
    assert {test: (text, shown[test]) for test, text in wanted.items() if text not in shown[test]} == {}

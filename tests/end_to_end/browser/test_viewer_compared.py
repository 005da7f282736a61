"""The page of a run that is compared with an earlier one, in Chromium; skipped where there is no Chromium."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.report.report import RunFacts
from harness.viewer.trace import write_trace
from tests.end_to_end.browser.chromium import EveryPage, look_at, look_once
from tests.end_to_end.browser.stories import EVIL
from tests.support.command_line import run_cli
from tests.support.examined import cell, results, write_results
from tests.support.shown import Asked

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a reader saw of two runs, and of a client's two releases."""
    return look_once(tmp_path_factory, "compared", look)


def look(folder: Path) -> Any:
    leave_traces(
        folder / "old",
        first={"input": "Hi.", "model": EVIL},
        second={"input": 17},
        evil={"input": "Hi.", "model": EVIL},
    )
    leave_traces(folder / "new", first={"input": "Hi."}, second={"input": 17}, third={"input": "Hi.", "tool": 4})
    for release, verdicts in (("1.0", ("pass", "fail")), ("2.0", ("fail", "pass"))):
        cells = [
            cell(f"tools/{id}", verdict, "plain", "must", f"{id}.") for id, verdict in zip("ab", verdicts, strict=True)
        ]
        write_results(results(*cells, client=f"mine {release}"), folder / f"{release}.json")
    compare(folder / "new", folder / "old", folder / "run.html")
    compare(folder / "2.0.json", folder / "1.0.json", folder / "examined.html")
    return look_at(folder / "run.html", "compared.mjs", examined=str(folder / "examined.html"))


def leave_traces(folder: Path, **bodies: dict[str, Any]) -> None:
    """Write a trace for each test: its name, and the body that it sent."""
    for name, body in bodies.items():
        asked = Asked()
        asked.mock.script("Hello.")
        answer = asked.ask(**body)
        shown = asked.show("failed" if answer["error"] else "passed")
        named = replace(shown.row, id=f"test_a.py::{name}", name=f"test_a.py::{name}")
        write_trace(folder, RunFacts("trace", "pytest", commit="main@0123abcd"), replace(shown, row=named))


def compare(run: Path, earlier: Path, page: Path) -> None:
    ended = run_cli("view", str(run), "--against", str(earlier), "--out", str(page))
    assert ended.exit_code == 1, ended.stderr


class TestThePage(EveryPage):
    """Of two runs, the earlier one hostile."""


def test_what_differs_stands_above_the_causes(seen: Any) -> None:
    head, *lines = seen["compared"]
    assert head.endswith("old (main@0123abcd)")
    assert lines == [
        "1 new cause, 1 gone",
        "✓ 1 cause gone",
        "✗ 1 · Tests that fail and were not in the earlier run",
        "✓ 1 · Tests that pass again",
        "– 1 · Tests that failed before and are not in this run",
    ]
    assert seen["causes"] == [False, True]


def test_each_test_is_named_and_those_of_this_run_are_links(seen: Any) -> None:
    assert seen["listed"][1:] == ["test_a.py::third", "test_a.py::first", "test_a.py::evil"]
    assert seen["links"] == ["#/case/test_a.py%3A%3Athird", "#/case/test_a.py%3A%3Afirst"]


def test_two_releases_of_a_client_stand_side_by_side(seen: Any) -> None:
    assert seen["examined"]["head"] == ["cause", "mine 1.0", "mine 2.0"]
    assert seen["examined"]["counts"] == ["1 new", "1 gone", "0 in both"]
    assert seen["examined"]["all"] == ["cause", "mine 1.0", "mine 2.0"]
    assert seen["examined"]["counts_of_all"] == []

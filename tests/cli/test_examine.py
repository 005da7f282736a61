"""`responses-harness examine`: what it prints, how it ends."""

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from harness.examine.case import AREAS, CASES
from harness.examine.results import read_results
from tests.support.command_line import run_cli
from tests.support.examined import TARGET, cell, results, write_results
from tests.support.processes import spawn, wait_until

ROOT = Path(__file__).parents[2]
PLAIN = ("--modes", "plain,replay")

examine = partial(run_cli, "examine")


def test_the_cases_are_listed() -> None:
    lines = examine("--list").stdout.splitlines()
    assert lines[0].split() == ["area", "id", "severity", "title"]
    assert [line.split()[1] for line in lines[1:]] == list(CASES)
    assert {line.split()[0] for line in lines[1:]} == set(AREAS)


def test_the_list_as_json_says_what_a_case_is_about() -> None:
    [listed] = json.loads(examine("--list", "--cases", "answers/text", "--json").stdout)
    assert listed["title"] == "One message"
    assert {"does", "source", "shows", "severity", "area", "needs"} <= set(listed)


def test_a_client_that_cannot_show_that_an_answer_was_cut_is_reported(tmp_path: Path) -> None:
    outcome = json.dumps({"outcome": {"texts": []}})
    lines = ("import sys", 'print(\'{"client": "mute 1"}\', flush=True)', "for line in sys.stdin:")
    (tmp_path / "mute.py").write_text("\n".join([*lines, f"    print({outcome!r}, flush=True)"]))
    command = f"{sys.executable} {tmp_path / 'mute.py'}"
    shown = examine("--command", command, "--cases", "answers/text,answers/told-*", *PLAIN).stdout
    assert "not told  answers/told-cut-by-length, answers/told-cut-by-filter, answers/told-cut-before-text" in shown
    assert "the adapter does not declare incomplete (tells its user that an answer was cut, and why)" in shown


def test_results_are_put_side_by_side(tmp_path: Path) -> None:
    red = cell("answers/text", "fail", "plain,replay", "must", "it is not said")
    write_results(results(red), tmp_path / "a.json")
    write_results(results(cell("answers/text"), client="yours 2"), tmp_path / "b.json")
    ended = examine("--merge", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--report", str(tmp_path / "c.json"))
    assert ended.exit_code == 0
    assert "mine 1.0: 1 run in 1.5 s" in ended.stdout
    assert "To see one: responses-harness examine mine:Adapter --case answers/text --modes plain,replay" in ended.stdout
    assert [client.client for client in read_results(tmp_path / "c.json").clients] == ["mine 1.0", "yours 2"]


def test_the_command_for_reports_reads_those_of_examinations(tmp_path: Path) -> None:
    write_results(
        results(cell("answers/text", "fail", "plain,replay", "must", "No.\n  fix: Yes.")), tmp_path / "a.json"
    )
    lines = run_cli("report", str(tmp_path / "a.json")).stdout.splitlines()
    assert lines[0] == "mine 1.0: 1 fail"
    assert lines[2:5] == ["1. mine 1.0::answers/text[plain,replay]", "No.", "  fix     Yes."]


def test_one_cause_of_many_cases_is_one_line_with_its_fix(tmp_path: Path) -> None:
    why = "it is not said\n  fix: Say it."
    cells = [cell(f"answers/{name}", "fail", mode, "must", why) for name in "abcd" for mode in ("plain", "stream")]
    write_results(results(*cells, cell("answers/e", "warn", "plain", "should", "so so")), tmp_path / "a.json")
    _, told = examine("--merge", str(tmp_path / "a.json")).stdout.split("fail must", 1)
    assert [line.strip() for line in told.splitlines()[:5]] == [
        "8 runs of 4 cases: answers/a, answers/b, answers/c and 1 more",
        "it is not said",
        "fix: Say it.",
        "warn should  answers/e  [plain]",
        "so so",
    ]


@pytest.mark.slow
class TestExamining:
    def test_a_client_that_passes(self, tmp_path: Path) -> None:
        ended = examine("openai", "--cases", "*/one-call", *PLAIN, "--report", str(tmp_path / "a.json"))
        assert (ended.exit_code, ended.stderr) == (0, "")
        assert ended.stdout.splitlines()[0].startswith("openai ")
        assert [cell.verdict for cell in read_results(tmp_path / "a.json").clients[0].cells] == ["pass"]

    def test_a_client_that_fails_a_must(self) -> None:
        ended = examine(f"{TARGET}LastMessageOnly", "--cases", "answers/t*", *PLAIN)
        assert ended.exit_code == 1
        assert "fail must  answers/two-messages  [plain,replay]" in ended.stdout
        assert (
            f"responses-harness examine {TARGET}LastMessageOnly --case answers/two-messages --modes plain,replay"
            in ended.stdout
        )

    def test_one_case_shows_the_flow_and_the_diagram(self) -> None:
        ended = examine(f"{TARGET}LastMessageOnly", "--case", "answers/two-messages", *PLAIN, "-v")
        assert ended.exit_code == 1
        assert 'user "How is the weather?"' in ended.stdout
        assert "sequenceDiagram" in ended.stdout

    def test_a_known_failure_is_no_new_one(self, tmp_path: Path) -> None:
        file = str(tmp_path / "a.json")
        chosen = (f"{TARGET}LastMessageOnly", "--cases", "answers/two-messages", *PLAIN)
        examine(*chosen, "--report", file)
        ended = examine(*chosen, "--baseline", file)
        assert ended.exit_code == 0
        assert "against the baseline: 0 new, 1 known, 0 fixed" in ended.stdout

    def test_a_client_that_can_run_nothing_is_no_success(self) -> None:
        ended = examine(f"{TARGET}Dying", "--cases", "tools/one-call")
        assert ended.exit_code == 2
        assert "no case was run: dying declares the areas" in ended.stderr

    def test_an_interruption_keeps_what_there_is(self, tmp_path: Path) -> None:
        report, sign = tmp_path / "a.json", tmp_path / "asked"
        arguments = ["examine", f"{TARGET}Sleeping", "--cases", "answers/*", "--report", str(report)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SLEEPING_SIGN": str(sign)}
        with spawn([sys.executable, "-m", "harness", *arguments], env=environment) as child:
            assert wait_until(sign.exists, seconds=60)
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=20)
        assert child.returncode == 130
        assert "interrupted: unfinished cases are missing" in said
        assert not read_results(report).clients[0].complete

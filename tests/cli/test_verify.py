"""`responses-harness verify` on a command line: exit codes, what it prints, and everything that may lie in a folder."""

import gzip
import io
import json
import os
import random
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.cli.program import REDRAW_SECONDS, progress
from harness.verify.judge_files import verify_recordings
from tests.support.command_line import Terminal, run_cli
from tests.support.processes import run as run_child
from tests.support.recordings import HI, KEY, recorded, write_jsonl
from tests.support.schemas import assert_conforms

ROOT = Path(__file__).parents[2]
CASSETTES = ROOT / "tests/cassettes"

verify = partial(run_cli, "verify")


def told(tmp_path: Path, *paths: str | Path) -> dict[str, Any]:
    """Return the JSON report, which must be as its schema says."""
    verify(*paths, "--json", tmp_path / "said.json")
    said = json.loads((tmp_path / "said.json").read_text())
    assert_conforms(said, "verify")
    return said


def bad() -> list[dict[str, Any]]:
    (one,) = recorded(HI)
    return [{**one, "request": {**HI, "colour": "blue"}}]


class TestWhatIsAhead:
    @pytest.mark.parametrize(
        ("asked", "line"),
        [
            (("--forecast", "2027-01"), '"gpt-4.1" shuts down on 2027-01-14. Use gpt-6-luna, which OpenAI recommends.'),
            (
                ("--as-model", "gpt-6.2-sol"),
                "gpt-6.2-sol refuses this request: 400 Unsupported parameter: 'temperature'",
            ),
        ],
    )
    def test_what_is_ahead_says_what_will_not_be_accepted(
        self, tmp_path: Path, asked: tuple[str, str], line: str
    ) -> None:
        file = write_jsonl(tmp_path, recorded({**HI, "temperature": 0.3}))
        result = verify(file, *asked)
        assert (result.exit_code, line in result.stdout) == (1, True), result.stdout
        report = tmp_path / "a.sarif"
        assert verify(file, *asked, "--report", report).exit_code == 1
        (found,) = json.loads(report.read_text())["runs"][0]["results"]
        assert found["level"] == "warning"

    def test_other_defaults_are_listed_and_no_finding(self, tmp_path: Path) -> None:
        result = verify(write_jsonl(tmp_path, recorded(HI)), "--as-model", "gpt-6.2-sol")
        assert (result.exit_code, "takes this request otherwise" in result.stdout) == (0, True), result.stdout


class TestExitCode:
    def test_drift_is_no_finding(self, tmp_path: Path) -> None:
        (one,) = recorded(HI)
        one["response"]["mood"] = "good"
        assert verify(write_jsonl(tmp_path, [one])).exit_code == 0

    def test_2_when_the_report_cannot_be_written(self, tmp_path: Path) -> None:
        result = verify(write_jsonl(tmp_path, recorded(HI)), "--json", tmp_path / "no" / "report.json")
        assert result.exit_code == 2
        assert "cannot be written" in result.stderr


class TestReport:
    def test_it_goes_to_stdout_on_request(self, tmp_path: Path) -> None:
        result = verify(write_jsonl(tmp_path, bad()), "--json", "-")
        assert json.loads(result.stdout)["requests"]["refused"][0]["rule"] == "unknown_parameter"

    def test_it_has_what_was_promised(self, tmp_path: Path) -> None:
        said = told(tmp_path, CASSETTES)
        assert said["exchanges"] == 5
        assert said["skipped"] == 0
        assert said["requests"]["accepted"] == 4
        assert said["refusals"] | {"unverifiable_why": {}} == {
            "judged": 1,
            "same": 1,
            "different": [],
            "missed": [],
            "unverifiable": 0,
            "unverifiable_why": {},
            "drift": [],
        }
        assert [finding["at"] for finding in said["streams"]["findings"]] == ["events[6]"]

    def test_the_project_reproduces_its_own_evidence(self, tmp_path: Path) -> None:
        said = told(tmp_path, ROOT / "cassettes")
        assert said["refusals"]["same"] > 200
        assert said["refusals"]["different"] == said["refusals"]["missed"] == said["requests"]["refused"] == []
        assert said["answers"]["findings"] == said["streams"]["findings"] == said["unreadable"] == []


OTHERS = {
    "empty.yaml": b"",
    "rubbish.jsonl": random.Random(7).randbytes(4096),
    "cut.json.gz": gzip.compress(b'{"interactions": []}')[:-9],
}


class TestWhatMayLieInAFolder:
    def test_nothing_that_may_lie_in_a_folder_stops_the_others(self, tmp_path: Path) -> None:
        files = [tmp_path / name for name in OTHERS]
        for file in files:
            file.write_bytes(OTHERS[file.name])
        said = told(tmp_path, *files, write_jsonl(tmp_path, recorded(HI)))
        assert said["requests"]["accepted"] == 1
        assert [entry["file"] for entry in said["unreadable"]] == [file.as_posix() for file in files]
        assert [verify(file).exit_code for file in files] == [1, 1, 1]

    def test_a_name_that_is_no_text(self, tmp_path: Path) -> None:
        file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.yaml"))
        file.write_text("script: [Hi.]")
        written = told(tmp_path, file, write_jsonl(tmp_path, bad()), "--report", tmp_path / "said.html")
        assert [entry["file"] for entry in written["unreadable"]] == [f"{tmp_path}/n?.yaml"]

    def test_secrets_stay_hidden(self, tmp_path: Path) -> None:
        (one,) = recorded(HI)
        cookie = "session=0123456789abcdef"
        one["request_headers"] = {"authorization": f"Bearer {KEY}", "cookie": cookie}
        one["request"] = {**HI, "note": KEY, cookie: KEY}
        file = write_jsonl(tmp_path, [one])
        result = verify(file, "--json", "-")
        shown = result.stdout + verify(file).stdout
        assert result.exit_code == 1
        assert KEY not in shown
        assert "0123456789abcdef" not in shown


@pytest.mark.slow
def test_a_long_recording_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    line = json.dumps({**one, "response": {**one["response"], "metadata": {"pad": "x" * 400}}})
    peaks = []
    for number, times in enumerate((300, 6000)):
        file = tmp_path / f"{number}.jsonl"
        with file.open("w") as out:
            for index in range(times):
                out.write(line.replace("resp_", f"resp_{index:x}") + "\n")
        peaks.append(peak(file))
    assert peaks[1] < peaks[0] * 1.5


def peak(file: Path) -> int:
    """Return the most memory that judging a file takes, in what the system counts by."""
    code = "import resource, sys; from harness.cli import app; app(sys.argv[1:], standalone_mode=False); "
    code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    done = run_child([sys.executable, "-c", code, "verify", file], check=True)
    return int(done.stderr.split()[-1])


class TestProgress:
    @pytest.mark.parametrize("stream", [io.StringIO, Terminal])
    def test_a_bar_is_drawn_on_a_terminal_only(
        self, stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", drawn := stream())
        with progress("judging") as tell:
            for done in (1, 2):
                tell(done, 2)
                time.sleep(2 * REDRAW_SECONDS)
        assert ("judging" in drawn.getvalue(), "100%" in drawn.getvalue()) == (stream is Terminal,) * 2

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_each_file_is_reported(self, tmp_path: Path, jobs: int) -> None:
        files = [write_jsonl(tmp_path, recorded(HI), name) for name in ("a.jsonl", "b.jsonl")]
        (spools := tmp_path / "spools").mkdir()
        told: list[tuple[int, int]] = []
        verify_recordings(files, spools, jobs, progress=lambda done, total: told.append((done, total)))
        assert told == [(1, 2), (2, 2)]

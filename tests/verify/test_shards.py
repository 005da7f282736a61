"""Shards: recordings judged in several processes or on several machines give the report of one run."""

from __future__ import annotations

import os
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from harness.contract import schema
from harness.core.dates import CONTRACT_DATE
from harness.core.errors import ConfigError, HarnessError
from harness.verify.run import JudgeOptions, verify_recordings
from harness.verify.shards import Shard, merge_parts, parse_shard
from tests.support.command_line import run_cli
from tests.support.processes import run as run_child
from tests.support.recordings import HI, recorded, write_jsonl
from tests.support.slow import slow_except

FLAT_EXCHANGES = 60_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Seven files, some with findings of several kinds, drift, and what is no recording."""
    (folder := tmp_path / "recordings").mkdir()
    (one,) = recorded(HI)
    for number in range(7):
        each: dict[str, Any] = {**deepcopy(one), "id": f"t{number}#1"}
        if number % 2:
            each["request"] = {**HI, "colour": "blue"}
        if number % 3 == 0:
            each["response"]["new_member"] = 1
        write_jsonl(folder, [each] * (number + 1), f"{number}.jsonl")
    (folder / "notes.json").write_text('{"a": 1}')
    (folder / "broken.jsonl").write_text('{"interactions": ')
    monkeypatch.chdir(tmp_path)
    return folder


def run(*arguments: str) -> tuple[int, str]:
    done = run_cli("verify", *arguments)
    return done.exit_code, done.output


def judge_shards(count: int, *options: str) -> list[str]:
    parts = [f"part{number}.jsonl" for number in range(1, count + 1)]
    for number, part in enumerate(parts, 1):
        assert run("recordings", "--shard", f"{number}/{count}", "--json", part, *options)[0] in (0, 1)
    return parts


@pytest.mark.parametrize(
    ("count", "options"),
    slow_except((2, 5), [(count, options) for options in ((), ("--respell",)) for count in (1, 2, 4, 30)]),
)
def test_merged_they_are_the_report_of_one_run(folder: Path, count: int, options: tuple[str, ...]) -> None:
    alone = run("recordings", "--json", "alone.json", "--jobs", "1", *options)
    parts = judge_shards(count, *options)
    assert run("--merge", *reversed(parts), "--json", "merged.json") == alone
    assert Path("merged.json").read_bytes() == Path("alone.json").read_bytes()


@pytest.mark.parametrize(("jobs", "options"), [("2", ()), ("5", ()), ("2", ("--respell",))])
def test_processes_side_by_side_report_the_same(folder: Path, jobs: str, options: tuple[str, ...]) -> None:
    alone = run("recordings", "--json", "-", "--jobs", "1", *options)
    assert run("recordings", "--json", "-", "--jobs", jobs, *options) == alone


def test_each_file_is_of_one_shard_and_none_is_much_larger_than_another(folder: Path) -> None:
    files = sorted(folder.iterdir())
    for count in (1, 2, 3, 20):
        chosen = [Shard(number, count).choose(files) for number in range(1, count + 1)]
        assert [file for part in chosen for file in part] == files
    sizes = [sum(file.stat().st_size for file in Shard(number, 2).choose(files)) for number in (1, 2)]
    assert max(sizes) < 2 * min(sizes)


@pytest.mark.slow
def test_the_parts_of_other_runs_are_refused(folder: Path) -> None:
    first, second = judge_shards(2)
    run("recordings", "--shard", "2/2", "--json", "respelled.jsonl", "--respell")
    run("recordings", "--shard", "1/3", "--json", "third.jsonl")
    (folder / "late.jsonl").write_bytes((folder / "0.jsonl").read_bytes())
    run("recordings", "--shard", "2/2", "--json", "late.jsonl")
    cut = Path("cut.jsonl")
    cut.write_bytes(Path(second).read_bytes().rpartition(b"{")[0])
    for parts, problem in (
        ([first], "missing: shard 2/2. Pass the parts of all 2."),
        ([first, second, first], ""),
        ([first, "respelled.jsonl"], "are of different runs: respell is True and False"),
        ([first, "late.jsonl"], "are of different runs: recordings is"),
        ([first, "third.jsonl"], "is a shard of 3"),
        ([first, str(cut)], "cut.jsonl: it is truncated. Judge that shard again, or copy the file again."),
        ([first, "recordings/0.jsonl"], "0.jsonl: not a part written by"),
        ([first, "nowhere"], "nowhere: cannot be read"),
    ):
        code, output = run("--merge", *parts)
        assert problem in " ".join(output.split()), parts
        assert code == (2 if problem else 1)
    Path("copy.jsonl").write_bytes(Path(first).read_bytes())
    with pytest.raises(ConfigError, match=r"shard 1/2 is duplicated: part1.jsonl and copy.jsonl"):
        merge_parts([Path(first), Path("copy.jsonl"), Path(second)])


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "1/0", "a/b", "1/9999999", "-1/2"])
def test_a_shard_is_a_number_of_a_number(text: str) -> None:
    with pytest.raises(ConfigError, match="1/4"):
        parse_shard(text)


@pytest.mark.parametrize(
    "options",
    [("--shard", "1/2"), ("--shard", "1/2", "--json", "-"), ("--merge", "--jobs", "2"), ("--merge", "--respell")],
)
def test_options_that_do_not_fit_are_refused(folder: Path, options: tuple[str, ...]) -> None:
    assert run("recordings", *options)[0] == 2


def test_a_process_that_dies_is_told(folder: Path, tmp_path: Path) -> None:
    (spools := tmp_path / "spools").mkdir()
    with pytest.raises(HarnessError, match=r"a worker process died.*fewer --jobs"):
        verify_recordings([folder], spools, 2, JudgeOptions(make_observer=die))


def die(recording: Path, seen: Path) -> Any:
    """Stands for a process that the system ends."""
    os._exit(9)


def test_schemas_of_answers_say_nothing_that_holds_only_while_members_are_unknown() -> None:
    """What `has_only_known` relies on."""
    for root in ("ResponseStreamEvent", "AssistantStreamEvent"):
        for day in (CONTRACT_DATE, "2025-01-01", *schema.changes_of(root)):
            assert not {"not", "if", "oneOf"} & set(keywords(schema.load(root, day)))


def keywords(node: Any) -> Any:
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from keywords(part)
    if isinstance(node, dict):
        yield from node


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_is_flat_over_many_exchanges(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    peaks = []
    for number in (FLAT_EXCHANGES // 10, FLAT_EXCHANGES):
        (folder := tmp_path / str(number)).mkdir()
        line = write_jsonl(folder, [one], "line.jsonl").read_text()
        (folder / "line.jsonl").unlink()
        for file in range(10):
            with (folder / f"{file}.jsonl").open("w") as out:
                for index in range(number // 10):
                    out.write(line.replace("resp_", f"resp_{file:x}{index:x}"))
        peaks.append(peak(folder))
    assert peaks[1] < peaks[0] * 1.2


def peak(folder: Path) -> int:
    """Return the most memory of a process that judges the recordings in a folder, in what the system counts by."""
    code = "import resource, sys; from harness.cli import app; app(sys.argv[1:], standalone_mode=False); "
    code += "print(max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))"
    done = run_child([sys.executable, "-c", code, "verify", folder], timeout=600, check=True)
    return int(done.stdout.split()[-1])

"""Recordings judged one after the other: which files, in which order, within which memory."""

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import HarnessError
from harness.verify import remember
from harness.verify.judge_files import tally_verdicts
from harness.verify.judging.judge import judge as verdicts
from harness.verify.judging.verdict import Verdict, VerdictKind
from harness.verify.read_files import read_recording
from harness.world.world import World
from tests.support.recordings import HI, judge, judged, recorded, write_jsonl


def test_other_traffic_is_skipped_and_counted(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    others = [
        {**one, "url_path": "/v1/chat/completions"},
        {**one, "url_path": "/v1/embeddings"},
        {**one, "provider": "", "url_path": "/v1/messages"},
    ]
    report = judge(tmp_path, [one, *others])
    assert (report["exchanges"], report["skipped"]) == (4, 3)
    assert sum(report["skipped_why"].values()) == 3
    assert report["skipped_why"]["not judged: /chat/completions"] == 1


def test_models_that_are_not_in_the_table_are_named(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    named = [{**one, "request": {**HI, "model": model}} for model in ("gpt-next", "ft:gpt-4.1:a", "gpt-4.1", "n" * 99)]
    elsewhere = [
        {**one, "request": {**HI, "model": "mine"}, **more} for more in ({"status": 404}, {"provider": "azure"})
    ]
    tally, _ = judged(tmp_path, write_jsonl(tmp_path, [*named, *elsewhere]))
    assert [why for kind, why in tally.reasons if kind == "models"] == ["gpt-next", "n" * 80]


def test_files_are_worlds_apart(tmp_path: Path) -> None:
    one, two = recorded(HI, {**HI, "previous_response_id": "{0}"})
    apart = [write_jsonl(tmp_path, [one], "a.jsonl"), write_jsonl(tmp_path, [{**two, "id": "other/tape#1"}], "b.jsonl")]
    _, report = judged(tmp_path, *apart)
    assert (report["requests"]["accepted"], report["requests"]["unverifiable"]) == (1, 1)


def test_several_jobs_find_the_same_in_the_same_order(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    (folder := tmp_path / "many").mkdir()
    for number in range(6):
        bad = {**one, "id": f"t{number}#1", "request": {**HI, "colour": "blue"}}
        write_jsonl(folder, [bad], f"{number}.jsonl")
    alone, side_by_side = judged(tmp_path, folder)[1], judged(tmp_path, folder, jobs=2)[1]
    assert alone == side_by_side
    assert [entry["id"] for entry in alone["requests"]["refused"]] == [f"t{number}#1" for number in range(6)]


def test_a_worker_that_dies_is_reported_with_the_recordings_that_it_may_have_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class DyingPool(ThreadPoolExecutor):
        def map(self, judge: Any, *columns: Any) -> Any:
            yield from islice(super().map(judge, *columns), 1)
            raise BrokenProcessPool

    monkeypatch.setattr("harness.verify.judge_files.ProcessPoolExecutor", DyingPool)
    for number in range(3):
        write_jsonl(tmp_path, recorded(HI), f"{number}.jsonl")
    with pytest.raises(HarnessError, match=r"judging .*/1\.jsonl or one of the 2 after it\. Judge it alone"):
        judged(tmp_path, tmp_path, jobs=2)


def test_the_memory_of_a_long_recording_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember, "MIN_REMEMBERED", 10)
    (one,), world = recorded(HI), World("long")
    for number in range(100):
        (line,) = read_recording(
            write_jsonl(tmp_path, [{**one, "response": {**one["response"], "id": f"resp_{number:032x}"}}])
        )
        list(verdicts(line, world))
    assert 10 <= len(world.store.responses) <= 20
    assert f"resp_{99:032x}" in world.store.responses


def test_events_of_streams_are_counted_and_not_listed(tmp_path: Path) -> None:
    verdicts = [Verdict(VerdictKind.EXCHANGE), Verdict(VerdictKind.STREAM_EVENTS, {"times": 3})]
    tally = tally_verdicts(verdicts, tmp_path / "spool")
    assert (tally.counts[VerdictKind.STREAM_EVENTS], tally.spools) == (3, [])

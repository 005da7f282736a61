"""One recorder at a time has the lock of a cassette; what cannot be read is told."""

import fcntl
import multiprocessing
import os

import pytest

from harness.cassettes.files import (
    RecordError,
    is_free,
    journal_path,
    lock_cassette,
    read_cassette,
    recording_header,
    replace_file,
)
from harness.cassettes.format.interaction import CassetteHeader
from harness.cassettes.format.serializer import dump_cassette
from harness.cassettes.format.untrusted import UnreadableRecording
from tests.support.recordings import over_http


@pytest.fixture
def file(tmp_path):
    return tmp_path / "openai" / "weather.yaml"


def record(file, *interactions):
    replace_file(file, dump_cassette(CassetteHeader(), interactions))


def others(file):
    return sorted(entry.name for entry in file.parent.iterdir() if entry != file)


def test_two_recorders_of_one_cassette_are_reported(file):
    with (
        lock_cassette(file),
        pytest.raises(RecordError, match=r"weather.yaml: another recorder is writing this cassette"),
        lock_cassette(file),
    ):
        pytest.fail("unreachable")
    with lock_cassette(file):
        assert others(file) == [".weather.yaml.lock"]
    assert others(file) == []


def test_a_name_is_free_that_nobody_uses(file):
    assert is_free(file)
    with lock_cassette(file):
        assert not is_free(file)
    assert is_free(file)
    record(file, over_http({}, {}))
    assert not is_free(file)


@pytest.mark.parametrize(("mode", "names"), [("new", "a.py::a b.py::b"), ("all", "b.py::b")])
def test_a_header_names_the_tests_that_record_the_cassette(file, mode, names):
    alone = recording_header(file, mode, "a.py::a")
    assert alone.command == "pytest --record=all a.py::a"
    replace_file(file, dump_cassette(alone, [over_http({}, {})]))
    assert recording_header(file, mode, "b.py::b[1]").command == f"pytest --record=all {names}"


def hold(file, ready):
    with lock_cassette(file):
        ready.set()
        os.kill(os.getpid(), 9)


@pytest.mark.slow
def test_a_recorder_that_was_killed_holds_no_lock(file):
    start = multiprocessing.get_context("spawn")
    ready = start.Event()
    killed = start.Process(target=hold, args=(file, ready))
    killed.start()
    try:
        killed.join(60)
    finally:
        killed.kill()
    assert ready.is_set()
    assert others(file) == [".weather.yaml.lock"]
    assert is_free(file)
    assert others(file) == []


def test_a_lock_that_vanishes_meanwhile_is_made_anew(file, monkeypatch):
    file.parent.mkdir()
    flock, lost = fcntl.flock, [file.with_name(f".{file.name}.lock")]

    def removed(held, how):
        flock(held, how)
        if lost:
            lost.pop().unlink()

    monkeypatch.setattr(fcntl, "flock", removed)
    with lock_cassette(file):
        assert others(file) == [".weather.yaml.lock"]


def test_what_cannot_be_read_is_reported(file):
    def is_told(words, path=file):
        with pytest.raises(UnreadableRecording, match=words):
            read_cassette(path)

    is_told(r"weather.yaml: no such cassette\. Record it")
    file.parent.mkdir()
    journal_path(file).touch()
    is_told(r"weather.yaml: no such cassette\. The exchanges in \S+/\.weather\.yaml\.journal are recovered when it is")
    record(file, over_http({}, {}), over_http({}, {}))
    first, second = file.read_text().rsplit("https://api.openai.com", 1)
    file.write_text(f"{first}https://[api{second}")
    is_told(r"weather.yaml: exchange 2: its URL is invalid \(Invalid IPv6 URL\)")
    file.write_bytes(b"interactions: \xff")
    is_told("not UTF-8")
    is_told("cannot be read: Is a directory", file.parent)

"""A recorder writes whole files, one at a time, and none that holds a secret."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import re
import stat

import pytest

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.untrusted import UnreadableRecording
from harness.cassettes.recording import writer
from harness.cassettes.recording.writer import RecordError, SecretFound, is_free, lock_cassette, read_cassette
from tests.support.recordings import JSON, over_http, streamed

KEY = "sk-AbCd1234EfGh5678IjKlMnOpQrSt"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "openai" / "weather.yaml"


def open_recorder(file, **options):
    return writer.open_recorder(file, CassetteHeader(), **options)


def record(file, *interactions, **options):
    with open_recorder(file, **options) as recorder:
        for interaction in interactions:
            recorder.add(interaction)


def others(file):
    return sorted(entry.name for entry in file.parent.iterdir() if entry != file)


def test_what_was_added_is_in_the_file(file):
    record(file, over_http({"a": 1}, {"b": 2}), streamed(b"data: 1\n\n"))
    assert read_cassette(file).interactions == (over_http({"a": 1}, {"b": 2}), streamed(b"data: 1\n\n"))
    assert others(file) == []


def test_the_header_says_when_and_by_whom(file):
    record(file, over_http({}, {}, headers=JSON | {"user-agent": "OpenAI/Python 3.54.0"}))
    header = read_cassette(file).header
    assert (header.sdk, header.sdk_version) == ("OpenAI/Python", "3.54.0")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", header.recorded)


@pytest.mark.parametrize(
    ("path", "dialect"), [("/v1", "openai"), ("/openai/v1", "azure"), ("/api/projects/moon/openai/v1", "foundry")]
)
def test_the_header_says_which_dialect_was_spoken(file, path, dialect):
    record(file, over_http({}, {}, uri=f"https://127.0.0.1{path}/responses"))
    assert read_cassette(file).header.dialect == dialect


def test_what_the_header_says_already_stays(file):
    with writer.open_recorder(file, CassetteHeader("2026-01-02", sdk="mine", sdk_version="1")) as recorder:
        recorder.add(over_http({}, {}, headers=JSON | {"user-agent": "curl/8"}))
    header = read_cassette(file).header
    assert (header.recorded, header.sdk, header.sdk_version) == ("2026-01-02", "mine", "1")


def test_stored_interactions_come_first(file):
    record(file, over_http({"n": 2}, {}), existing=[over_http({"n": 1}, {})])
    assert [interaction.body for interaction in read_cassette(file).interactions] == [b'{"n":1}', b'{"n":2}']


def test_nothing_recorded_is_nothing_written(file):
    record(file)
    assert not file.exists()


def test_secrets_are_scrubbed(file):
    record(file, over_http({"input": f"my {KEY} and swordfish-9"}, {}), secrets=["swordfish-9"])
    assert KEY not in file.read_text()
    assert "swordfish" not in file.read_text()


def test_what_the_scrubber_misses_the_gate_refuses_and_the_old_file_stays(file, monkeypatch):
    record(file, over_http({"n": 1}, {}))
    before = file.read_bytes()
    existing = [over_http({f"input {number}": f"my {KEY}"}, {}) for number in range(4)]
    with pytest.raises(SecretFound, match=r"not written.*\n  line \d+: .*form of a key.*(\n.*)*and 3 more") as caught:
        record(file, over_http({}, {}), existing=existing)
    assert KEY not in str(caught.value)
    assert "interactions[0].request.body" in str(caught.value)
    assert file.read_bytes() == before
    assert others(file) == []


def test_an_interrupted_recording_is_written_as_far_as_it_came(file):
    def interrupted():
        with open_recorder(file) as recorder:
            recorder.add(over_http({"n": 1}, {}))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(read_cassette(file).interactions) == 1


class TestACassetteThatGrows:
    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch):
        monkeypatch.setattr(writer, "SAVE_INTERVAL", 0.0)
        monkeypatch.setattr(writer, "SAVE_PAUSE_FACTOR", 0)

    def test_is_there_before_the_recording_ends(self, file):
        with open_recorder(file) as recorder:
            for number in (1, 2):
                recorder.save_if_due(lambda: [over_http({"n": 1}, {})] * number)  # noqa: B023
                assert len(read_cassette(file).interactions) == number
        assert len(read_cassette(file).interactions) == 2

    def test_is_written_no_more_often_than_is_worth_it(self, file, monkeypatch):
        monkeypatch.setattr(writer, "SAVE_PAUSE_FACTOR", 10_000)
        with open_recorder(file) as recorder:
            recorder.save_if_due(lambda: [over_http({}, {})])
            recorder.save_if_due(lambda: pytest.fail("too early"))
        monkeypatch.setattr(writer, "SAVE_INTERVAL", 60.0)
        with open_recorder(file) as recorder:
            recorder.save_if_due(lambda: pytest.fail("too early"))

    def test_that_cannot_be_written_yet_is_written_later(self, file):
        odd = over_http({}, {}, answer_headers={"content-encoding": "gzip"}, chunks=((0.1, b"\x1f\x8b broken"),))
        with open_recorder(file) as recorder:
            recorder.save_if_due(lambda: [odd])
            assert not file.exists()
            recorder.save_if_due(lambda: [over_http({}, {})])
        assert len(read_cassette(file).interactions) == 1

    def test_stays_as_far_as_it_holds_no_secret(self, file, monkeypatch):
        found = iter([(), ("line 7: a key",), ("line 7: a key",)])
        monkeypatch.setattr(writer, "secrets_in", lambda *_: next(found))
        recorder = writer.Recorder(file, CassetteHeader())
        recorder.save_if_due(lambda: [over_http({"n": 1}, {})])
        recorder.save_if_due(lambda: [over_http({"n": 2}, {})] * 2)
        with pytest.raises(SecretFound, match=r"line 7: a key\n.*The first 1 exchange of this recording are there"):
            recorder.save()
        assert [interaction.body for interaction in read_cassette(file).interactions] == [b'{"n":1}']


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "the disk is full.*Nothing was changed.*Free some space"),
        (errno.EFBIG, "File too large.*Nothing was changed.*ulimit -f"),
        (errno.EIO, "Input/output error.*folder writable"),
    ],
)
def test_a_file_that_cannot_be_written_leaves_the_old_one(file, monkeypatch, code, says):
    record(file, over_http({"n": 1}, {}))
    before = file.read_bytes()

    def full(number):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(writer.os, "fsync", full)
    with pytest.raises(RecordError, match=says):
        record(file, over_http({"n": 2}, {}))
    assert file.read_bytes() == before
    assert others(file) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "a").write_text("a file")
    with pytest.raises(RecordError, match=r"a/b.yaml: cannot be written"):
        record(tmp_path / "a" / "b.yaml", over_http({}, {}))


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
    record(file, over_http({}, {}))
    assert others(file) == []


def test_a_lock_that_vanishes_meanwhile_is_made_anew(file, monkeypatch):
    file.parent.mkdir()
    flock, lost = fcntl.flock, [file.with_name(f".{file.name}.lock")]

    def removed(held, how):
        flock(held, how)
        if lost:
            lost.pop().unlink()

    monkeypatch.setattr(fcntl, "flock", removed)
    record(file, over_http({}, {}))
    assert len(read_cassette(file).interactions) == 1


def test_the_rights_of_a_file_stay(file):
    record(file, over_http({}, {}))
    file.chmod(0o640)
    record(file, over_http({}, {}))
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_what_cannot_be_read_is_told(file):
    def is_told(words, path=file):
        with pytest.raises(UnreadableRecording, match=words):
            read_cassette(path)

    is_told(r"weather.yaml: no such cassette\. Record it")
    record(file, over_http({}, {}), over_http({}, {}))
    first, second = file.read_text().rsplit("https://api.openai.com", 1)
    file.write_text(f"{first}https://[api{second}")
    is_told(r"weather.yaml: exchange 2: its URL is invalid \(Invalid IPv6 URL\)")
    file.write_bytes(b"interactions: \xff")
    is_told("not UTF-8")
    is_told("cannot be read: Is a directory", file.parent)


def test_a_request_alone_may_be_recorded(file):
    record(file, Interaction("GET", "https://api.openai.com/v1/models", status=200))
    assert read_cassette(file).interactions[0].body == b""

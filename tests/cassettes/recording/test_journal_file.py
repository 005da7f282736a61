"""The journal of a recording keeps its exchanges until the cassette is composed, by this recorder or by the next."""

import os

import pytest

from harness.cassettes.files import RecordError, journal_path, lock_cassette, read_cassette
from harness.cassettes.format.interaction import CassetteHeader
from harness.cassettes.format.serializer import dump_exchange
from harness.cassettes.recording.journal_file import (
    Journal,
    JournalEntry,
    Recovered,
    recover_recording,
    recover_recordings,
    recovered_path,
)
from tests.support.cpu_time import cpu_time
from tests.support.recordings import over_http

HEADER = CassetteHeader("2026-01-02", "azure", command="responses-harness record -- me")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weather.yaml"


def entry(number, body=None, is_whole=True):
    return JournalEntry(number, *dump_exchange(over_http({"n": number if body is None else body}, {})), is_whole)


def left(path, *entries, more=b""):
    """Leave a journal as a recorder that was killed does."""
    journal = Journal(path)
    journal.set_header(HEADER)
    for one in entries:
        journal.append(one)
    journal.close()
    with journal.path.open("ab") as out:
        out.write(more)
    return journal


def bodies(file):
    return [interaction.body for interaction in read_cassette(file).interactions]


def test_a_journal_that_was_left_becomes_a_cassette_of_its_own(path):
    left(path, entry(2), entry(1), entry(3, is_whole=False))
    path.write_text("the old cassette")
    recovered = recover_recording(path)
    assert recovered == Recovered(path.with_name("weather.recovered.yaml"), 3, 0)
    assert str(recovered) == f"recovered 3 exchanges of a recording that was ended: {recovered.file}"
    assert "recovered 1,544 exchanges of" in str(Recovered(path, 1544, 0))
    assert bodies(recovered.file) == [b'{"n":1}', b'{"n":2}', b'{"n":3}']
    assert read_cassette(recovered.file).header == HEADER
    assert (path.read_text(), journal_path(path).exists()) == ("the old cassette", False)
    assert recover_recording(path) is None


def test_a_last_line_that_was_not_finished_does_not_count(path):
    for cut in range(1, 60, 7):
        whole = (journal := left(path, entry(1), entry(2))).path.read_bytes()
        last = whole.rindex(b"\n", 0, -1) + 1
        journal.path.write_bytes(whole[: last + cut])
        recovered = recover_recording(path)
        assert (recovered.exchange_count, recovered.damaged_count) == (1, 0)
        recovered.file.unlink()


def test_damaged_lines_are_left_out_and_counted(path):
    left(path, entry(1), more=b'\x00\x00\xff\n[1]\n{"number": 1}\n3\n')
    recovered = recover_recording(path)
    assert "recovered 1 exchange of a recording that was ended, without 4 damaged lines: " in str(recovered)


def is_told(path, words):
    with pytest.raises(RecordError, match=rf"\.weather\.yaml\.journal: {words}"):
        recover_recording(path)


def test_a_file_of_another_program_is_reported_and_stays(path):
    journal_path(path).write_text("2026-11-28 started\n")
    is_told(path, r"not a journal of a recording, as its name says\.")
    assert journal_path(path).exists()


@pytest.mark.parametrize("content", [b"", b'{"header": {"comm'])
def test_a_journal_without_an_exchange_is_nothing(path, content):
    journal_path(path).write_bytes(content)
    assert recover_recording(path) is None
    assert [*path.parent.iterdir()] == []


def test_a_later_line_replaces_an_earlier_one_and_one_without_a_text_removes_it(path):
    left(path, entry(1), entry(2), entry(1, body="masked"), JournalEntry(2, "", False, False))
    assert bodies(recover_recording(path).file) == [b'{"n":"masked"}']


def test_a_journal_that_cannot_be_read_is_named(path):
    journal_path(path).mkdir()
    is_told(path, r"the journal .*cannot be read: Is a directory\. Make")


def test_a_journal_that_cannot_be_composed_stays(path, monkeypatch):
    left(path, entry(1))
    with monkeypatch.context() as patch:
        patch.setattr("harness.report.replace_file.os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(RecordError, match="the disk is full"):
            recover_recording(path)
    assert recover_recording(path).exchange_count == 1


def test_composing_costs_as_much_as_copying(path):
    """A recorder that is told to end within three seconds has ten thousand exchanges of 20 kB."""
    journal, text = left(path), {"text": " ".join(f"word {number}" for number in range(2_000))}
    dumped = entry(1, body=text)
    for number in range(1, 501):
        journal.append(dumped._replace(number=number))
    with cpu_time() as spent:
        assert journal.compose(path) == 500
    assert spent.seconds < 0.15


def test_journals_in_a_folder_are_recovered_unless_they_are_being_written(path):
    other = path.with_name("other.yaml")
    left(path, entry(1))
    left(other, entry(1))
    path.with_name(".database.journal").write_text("of another program\n")
    with lock_cassette(path):
        assert [recovered.file.name for recovered in recover_recordings(path.parent)] == ["other.recovered.yaml"]
    assert [recovered.file.name for recovered in recover_recordings(path.parent)] == ["weather.recovered.yaml"]
    assert [*recover_recordings(path.parent)] == [*recover_recordings(path.parent / "missing")] == []


def test_recovered_files_get_new_names(path):
    for name in ("weather.recovered.yaml", "weather.recovered-2.yaml"):
        left(path, entry(1))
        assert recover_recording(path).file.name == name
    assert recovered_path(path).name == "weather.recovered-3.yaml"


def test_a_link_in_its_place_is_not_followed(path, tmp_path):
    journal_path(path).symlink_to(target := tmp_path / "target")
    journal = Journal(path)
    journal.append(entry(1))
    assert (journal.unwritten_count, target.exists()) == (1, False)


def test_only_whole_exchanges_are_composed_at_the_end(path):
    journal = left(path, entry(1), entry(2, is_whole=False))
    assert journal.compose(path) == 1
    assert os.path.exists(journal.path)
    assert bodies(path) == [b'{"n":1}']

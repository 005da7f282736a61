"""A recorder scrubs each exchange once, appends it to a journal, and composes the cassette from that."""

import asyncio
import errno
import json
import os
import re
import stat
from collections import Counter
from dataclasses import replace

import pytest

from harness.cassettes.files import RecordError, journal_path, read_cassette
from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette
from harness.cassettes.recording import recorder as recorder_module
from harness.cassettes.recording.recorder import Recorder, Recording, SecretFound, open_recorder
from harness.cassettes.scrubbing.mask_interactions import Scrubbed, Scrubber, scrub_interactions
from harness.cassettes.scrubbing.mask_text import Unsearchable
from harness.cassettes.scrubbing.masks import is_pseudonym, pseudonym
from tests.support.processes import wait_until
from tests.support.recordings import JSON, over_http, streamed

KEY = "sk-AbCd1234EfGh5678IjKlMnOpQrSt"
PLAIN = "swordfish-Nine"
"""A secret without the form of one."""
ODD = over_http({}, {}, answer_headers={"content-encoding": "gzip"}, chunks=((0.1, b"\x1f\x8b broken"),))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "openai" / "weather.yaml"


def record(file, *interactions, header=None, **options):
    with open_recorder(file, header or CassetteHeader(), **options) as recorder:
        for interaction in interactions:
            recorder.add(interaction)


def others(file):
    return sorted(entry.name for entry in file.parent.iterdir() if entry != file)


def journal_lines(file):
    path = journal_path(file)
    *lines, _ = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return [json.loads(line) for line in lines]


def appended(file):
    """The numbers of the exchanges in the journal, in the order of its lines."""
    return [line["number"] for line in journal_lines(file) if "number" in line]


def test_what_was_added_is_in_the_file(file):
    interactions = (
        over_http({"a": 1}, {"b": 2}),
        streamed(b"data: 1\n\n"),
        Interaction("GET", "https://api.openai.com/v1/models", status=200),
    )
    record(file, *interactions)
    assert (read_cassette(file).interactions, others(file)) == (interactions, [])


def test_the_header_says_when_and_by_whom_unless_it_says_so_already(file):
    one = over_http({}, {}, headers=JSON | {"user-agent": "OpenAI/Python 3.54.0"})
    record(file, one)
    header = read_cassette(file).header
    assert (header.sdk, header.sdk_version) == ("OpenAI/Python", "3.54.0")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", header.recorded)
    mine = CassetteHeader("2026-01-02", "openai", sdk="mine", sdk_version="1")
    record(file, one, header=mine)
    assert read_cassette(file).header == mine


@pytest.mark.parametrize(
    ("path", "dialect"), [("/v1", "openai"), ("/openai/v1", "azure"), ("/api/projects/moon/openai/v1", "foundry")]
)
def test_the_header_says_which_dialect_was_spoken(file, path, dialect):
    record(file, over_http({}, {}, uri=f"https://127.0.0.1{path}/responses"))
    assert read_cassette(file).header.dialect == dialect


def test_the_header_is_that_of_the_first_request_whichever_ends_first(file):
    with open_recorder(file, CassetteHeader()) as recorder:
        for number in (2, 1):
            agent = JSON | {"user-agent": f"client/{number}"}
            recorder.after_interaction(number, over_http({"n": number}, {}, headers=agent))
    content = read_cassette(file)
    assert (content.header.sdk_version, [json.loads(one.body)["n"] for one in content.interactions]) == ("1", [1, 2])


def test_stored_interactions_come_first(file):
    with open_recorder(file, CassetteHeader()) as recorder:
        recorder.existing = [over_http({"n": 1}, {})]
        recorder.add(over_http({"n": 2}, {}))
    assert [interaction.body for interaction in read_cassette(file).interactions] == [b'{"n":1}', b'{"n":2}']


def test_nothing_recorded_is_nothing_written(file):
    with open_recorder(file, CassetteHeader()) as recorder:
        recorder.existing = [over_http({}, {})]
    assert [*file.parent.iterdir()] == []


def test_secrets_are_scrubbed(file):
    record(file, over_http({"input": f"my {KEY} and {PLAIN}"}, {}), secrets=[PLAIN])
    assert (KEY in file.read_text(), PLAIN in file.read_text()) == (False, False)


def test_an_interrupted_recording_is_written_as_far_as_it_came(file):
    def interrupted():
        with open_recorder(file, CassetteHeader()) as recorder:
            recorder.add(over_http({"n": 1}, {}))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(read_cassette(file).interactions) == 1


class TestTheJournal:
    def test_the_journal_has_each_exchange_once_and_is_readable_by_its_owner_alone(self, file):
        with open_recorder(file, CassetteHeader()) as recorder:
            for number in range(20):
                recorder.add(over_http({"n": number}, {}))
            assert wait_until(lambda: len(appended(file)) == 20)
            assert Counter(appended(file)) == Counter(range(1, 21))
            assert stat.S_IMODE(journal_path(file).stat().st_mode) == 0o600
            assert not file.exists()
        assert others(file) == []

    def test_the_journal_has_no_secret(self, file):
        with open_recorder(file, CassetteHeader(command=f"run {PLAIN}"), secrets=[PLAIN]) as recorder:
            recorder.add(
                over_http({"input": f"{KEY} {PLAIN}"}, {}, headers=JSON | {"authorization": "Bearer opaque-Key-1"})
            )
            assert wait_until(lambda: appended(file))
            journal = journal_path(file).read_text()
        assert [secret for secret in (KEY, PLAIN, "opaque-Key-1") if secret in journal] == []

    def test_the_journal_has_what_is_in_progress_and_the_cassette_does_not(self, file, monkeypatch):
        monkeypatch.setattr(recorder_module, "SYNC_INTERVAL", 0.01)
        with open_recorder(file, CassetteHeader()) as recorder:
            recording = Recording(recorder)
            exchange = asyncio.run(recording.begin_interaction(over_http({"n": 1}, {})))
            exchange.start_answer(200, [])
            exchange.add_chunk(b"data: 1\n\n")
            recorder.in_progress = recording.in_progress
            assert wait_until(lambda: appended(file) == [1])
            assert [line["is_whole"] for line in journal_lines(file)[1:]] == [False]
        assert [*file.parent.iterdir()] == []

    def test_scrubs_each_exchange_once(self, file, monkeypatch):
        scrubbed, scrub = [], Scrubber.scrub
        monkeypatch.setattr(Scrubber, "scrub", lambda self, plain: scrubbed.append(plain) or scrub(self, plain))
        record(file, *(over_http({"n": number}, {"id": f"resp_{number:048x}"}) for number in range(30)))
        assert len(scrubbed) == 30

    def test_the_journal_that_cannot_be_written_is_in_the_memory_until_there_is_space(self, file, monkeypatch):
        write, full = os.write, [True]

        def write_if_space(descriptor, data):
            if full and os.readlink(f"/proc/self/fd/{descriptor}").endswith(".journal"):
                write(descriptor, data[:20])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(descriptor, data)

        monkeypatch.setattr("harness.cassettes.recording.journal_file.os.write", write_if_space)
        with open_recorder(file, CassetteHeader()) as recorder:
            recorder.add(over_http({"n": 1}, {}))
            assert wait_until(lambda: recorder._journal.unwritten_count == 1)
            assert journal_lines(file) == []
            full.clear()
            recorder.add(over_http({"n": 2}, {}))
            assert wait_until(lambda: appended(file) == [1, 2])
        assert [interaction.body for interaction in read_cassette(file).interactions] == [b'{"n":1}', b'{"n":2}']


LATE = {
    "in plain": {"input": f"it was {PLAIN} then"},
    "escaped": {"input": json.dumps({"inner": json.dumps({"a": PLAIN})})},
    "in base64": {"input": "c3dvcmRmaXNoLU5pbmUgaXMgbXkgc2VjcmV0IG9mIHRvZGF5"},
    "in hexadecimal": {"input": f"{PLAIN} is it".encode().hex()},
    "percent-encoded": {"input": "q=%73wordfish%2DNine"},
    "as the name of a member": {PLAIN: 1},
}


class TestASecretThatIsLearnedLater:
    @pytest.mark.parametrize("body", LATE.values(), ids=LATE)
    def test_a_secret_that_is_learned_later_is_masked_before_too(self, file, body):
        interactions = [
            over_http(body, {"n": 1}),
            over_http({}, {}, headers=JSON | {"authorization": f"Bearer {PLAIN}"}),
        ]
        record(file, *interactions)
        (alone,) = scrub_interactions(interactions[:1])
        first, _ = read_cassette(file).interactions
        assert first.body == scrub_interactions(interactions)[0].body != alone.body

    def test_a_secret_that_is_learned_later_is_masked_where_it_is_spread_over_a_stream(self, file):
        deltas = [
            {"type": "response.output_text.delta", "item_id": "m", "delta": part} for part in ("swordf", "ish-N", "ine")
        ]
        stream = streamed(*(f"data: {json.dumps(delta)}\n\n".encode() for delta in deltas))
        interactions = [stream, over_http({}, {}, headers=JSON | {"authorization": f"Bearer {PLAIN}"})]
        record(file, *interactions)
        assert read_cassette(file).interactions[0].answer == scrub_interactions(interactions)[0].answer
        assert b'"ine"' not in read_cassette(file).interactions[0].answer

    def test_a_secret_is_masked_in_the_journal_as_soon_as_it_is_learned(self, file):
        with open_recorder(file, CassetteHeader(command=f"run {PLAIN}")) as recorder:
            recorder.add(over_http({"input": PLAIN}, {}))
            recorder.add(over_http({}, {}, headers=JSON | {"authorization": f"Bearer {PLAIN}"}))
            assert wait_until(lambda: appended(file) == [1, 1, 2])
            *_, header = (line["header"] for line in journal_lines(file) if "header" in line)
            *_, masked, _ = (line["text"] for line in journal_lines(file) if "text" in line)
            assert (PLAIN in masked, header["command"]) == (False, "")

    def test_a_secret_that_is_learned_later_costs_nothing_where_it_does_not_occur(self, file, monkeypatch):
        scrubbed, scrub = [], Scrubber.scrub
        monkeypatch.setattr(Scrubber, "scrub", lambda self, plain: scrubbed.append(plain.body) or scrub(self, plain))
        cookies = [{"set-cookie": f"__cf_bm={os.urandom(20).hex()}; path=/"} for _ in range(40)]
        taken = [over_http({"n": n}, {}, answer_headers=JSON | cookie) for n, cookie in enumerate(cookies)]
        late = over_http({}, {}, headers=JSON | {"authorization": f"Bearer {PLAIN}"})
        record(file, over_http({"input": PLAIN}, {}), *taken, late)
        assert len(scrubbed) == 1 + 40 + 1 + 1

    @pytest.mark.parametrize("late", ["file-AbCdEfGh12345678", pseudonym("file-AbCdEfGh12345678")])
    def test_a_secret_that_is_learned_later_may_be_an_id(self, file, late):
        interactions = [over_http({"input": f"see {late}"}, {}), over_http({}, {"id": late})]
        record(file, *interactions)
        assert (late in file.read_text()) is is_pseudonym(late)
        assert read_cassette(file).interactions == scrub_interactions(interactions)


def test_a_cassette_is_what_scrubbing_and_dumping_everything_at_once_gives(file):
    interactions = [
        over_http({"input": f"my {KEY}", "previous_response_id": f"resp_{1:048x}"}, {"id": f"resp_{2:048x}"}),
        streamed(b'data: {"type":"x","delta":"a"}\n\n', cut=True),
        over_http({"input": PLAIN}, {"id": f"resp_{1:048x}"}, headers=JSON | {"api-key": PLAIN}),
        Interaction("GET", "wss://api.openai.com/v1/responses", status=101, frames=((0.1, "client", '{"a": 1}'),)),
        over_http({}, {}, answer_headers=JSON | {"set-cookie": "id=AbCdEf123456"}),
    ]
    header = CassetteHeader("2026-01-02", "openai", "mine", "1")
    record(file, *interactions, header=header)
    assert file.read_text() == dump_cassette(header, scrub_interactions(interactions))


class TestWhatTheScrubberMisses:
    @pytest.fixture(autouse=True)
    def _miss(self, monkeypatch):
        scrub = Scrubber.scrub

        def miss(self, plain):
            return Scrubbed(plain) if b"missed" in plain.body else scrub(self, plain)

        monkeypatch.setattr(Scrubber, "scrub", miss)

    def test_what_the_scrubber_misses_is_refused_and_the_old_file_stays(self, file):
        record(file, over_http({"n": 1}, {}))
        before = file.read_bytes()
        missed = [over_http({f"missed {number}": f"my {KEY}"}, {}) for number in range(4)]
        says = r"not written.*\n  exchange 1, line \d+: .*form of a key.*(\n.*)*and \d+ more"
        with pytest.raises(SecretFound, match=says) as caught:
            record(file, *missed)
        assert KEY not in str(caught.value)
        assert "interactions[0].request.body" in str(caught.value)
        assert (file.read_bytes(), others(file)) == (before, [])

    def test_what_the_scrubber_misses_leaves_the_other_exchanges_in_a_file_of_their_own(self, file):
        kept = file.with_name("weather.recovered.yaml")
        with pytest.raises(SecretFound, match=rf"The other 2 exchanges of this recording are in {kept}\."):
            record(file, over_http({"n": 1}, {}), over_http({"missed": KEY}, {}), over_http({"n": 2}, {}))
        assert [interaction.body for interaction in read_cassette(kept).interactions] == [b'{"n":1}', b'{"n":2}']
        assert (file.exists(), others(file)) == (False, [kept.name])

    def test_what_the_scrubber_misses_is_refused_as_well_where_it_is_masked_late(self, file):
        late = over_http({}, {}, headers=JSON | {"authorization": f"Bearer {PLAIN}"})
        with pytest.raises(SecretFound, match="exchange 1, "):
            record(file, over_http({"missed": PLAIN}, {}), late)
        assert PLAIN not in file.with_name("weather.recovered.yaml").read_text()


def test_what_cannot_be_searched_is_refused_and_the_rest_is_kept_without_its_secrets(file):
    odd = replace(ODD, headers=JSON | {"authorization": f"Bearer {PLAIN}"})
    with pytest.raises(Unsearchable, match=r"exchange 2: the answer has an encoding.*The other 1 exchange"):
        record(file, over_http({"input": PLAIN}, {}), odd)
    assert others(file) == ["weather.recovered.yaml"]
    assert PLAIN not in file.with_name("weather.recovered.yaml").read_text()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "the disk is full.*Nothing was changed.*Free some space"),
        (errno.EFBIG, "File too large.*Nothing was changed.*ulimit -f"),
        (errno.EIO, "Input/output error.*folder writable"),
    ],
)
def test_a_file_that_cannot_be_written_leaves_the_old_one_and_the_next_recorder_has_the_exchanges(
    file, monkeypatch, code, says
):
    record(file, over_http({"n": 1}, {}))
    before = file.read_bytes()

    def full(number):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr("harness.report.replace_file.os.fsync", full)
        with pytest.raises(RecordError, match=rf"{says}.*What was recorded is in \S+/\.weather\.yaml\.journal, and"):
            record(file, over_http({"n": 2}, {}))
    assert file.read_bytes() == before
    assert others(file) == [".weather.yaml.journal"]
    with open_recorder(file, CassetteHeader()) as recorder:
        assert recorder.recovered.exchange_count == 1
    assert [one.body for one in read_cassette(recorder.recovered.file).interactions] == [b'{"n":2}']


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "a").write_text("a file")
    with pytest.raises(RecordError, match=r"a/b.yaml: cannot be written"):
        record(tmp_path / "a" / "b.yaml", over_http({}, {}))


def test_the_rights_of_a_file_stay(file):
    record(file, over_http({}, {}))
    file.chmod(0o640)
    record(file, over_http({}, {}))
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("is_left", [False, True], ids=["discard", "leave"])
def test_a_recording_that_is_not_saved_is_forgotten_or_left_for_the_next_recorder(file, is_left):
    with open_recorder(file, CassetteHeader()) as recorder:
        recorder.add(over_http({}, {}))
        recorder.leave() if is_left else recorder.discard()
    assert others(file) == ([".weather.yaml.journal"] if is_left else [])
    with open_recorder(file, CassetteHeader()) as recorder:
        assert bool(recorder.recovered) is is_left


def test_requests_wait_while_exchanges_that_have_ended_are_not_in_the_journal(file, monkeypatch):
    monkeypatch.setattr(Recorder, "_run", lambda _: None)  # nothing is ever scrubbed
    recorder = Recorder(file, CassetteHeader())
    asyncio.run(asyncio.wait_for(recorder.before_send(1, over_http({}, {})), 10))
    for _ in range(recorder_module.MAX_WAITING + 1):
        recorder.add(over_http({}, {}))
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(recorder.before_send(2, over_http({}, {})), 0.1))

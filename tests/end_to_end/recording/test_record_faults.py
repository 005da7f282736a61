"""`responses-harness record` as a process in front of a live API over TLS: what it leaves and says when things go wrong."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.cassettes.files import journal_path, read_cassette
from harness.cassettes.recording.journal_file import recover_recordings
from harness.items import message
from harness.server.mock_api import MockApi
from tests.support.processes import free_port, is_listening, spawn, wait_until
from tests.support.servers.live_server import over_tls
from tests.support.servers.stalling import STUCK, stalling

pytestmark = pytest.mark.slow
RECORD = """
import sys
from harness.cli import app
from harness.cli import run_command

run_command.GRACE_SECONDS = 0.2
app(sys.argv[1:], prog_name="harness")
"""
"""A recorder that waits for its command briefly."""
ASK = """
import http.client, json, os, time, urllib.request
for number in range({times}):
    body = json.dumps({{"model": "gpt-4.1", "input": f"hi {{number}}"}}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/responses", body)
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", "Bearer sk-live-0123456789abcdef")
    try:
        urllib.request.urlopen(request).read()
    except (OSError, http.client.HTTPException):
        pass
time.sleep({rest})
"""
Child = subprocess.Popen[str]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The live API, over TLS."""
    with over_tls(MockApi(fallback=lambda _: [message("Hello.")]), tmp_path_factory) as origin:
        yield f"{origin}/v1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.yaml"


def asking(times: int = 1, rest: float = 0) -> list[str]:
    return [sys.executable, "-c", ASK.format(times=times, rest=rest)]


@contextmanager
def recorder(
    upstream: str,
    into: Path,
    command: Sequence[str],
    setup: Callable[[], object] | None = None,
    own: Sequence[str] = (),
    **options: Any,
) -> Iterator[Child]:
    """Start a recorder; `own` are its options, `options` those of `Popen`."""
    called = [sys.executable, "-c", RECORD, "record", "--upstream", upstream, "--into", str(into), *own, "--", *command]
    with spawn(called, setup=setup, **{"stdout": subprocess.DEVNULL, **options}) as child:
        yield child


def result(child: Child) -> tuple[int, str]:
    """Return the exit code of a recorder and what it wrote to stderr."""
    errors = child.communicate(timeout=60)[1] or ""
    assert "Traceback" not in errors
    return child.returncode, errors


def record(*arguments: Any, **options: Any) -> tuple[int, str]:
    """Run a recorder to its end."""
    with recorder(*arguments, **options) as child:
        return result(child)


def soon(condition: Callable[[], object]) -> bool:
    """Return whether a condition comes true while a process may still be starting."""
    return wait_until(condition, seconds=60)


def recorded(file: Path) -> int:
    return len(read_cassette(file).interactions) if file.exists() else 0


def in_journal(file: Path) -> int:
    """Return how many exchanges are in the journal of a cassette that is being recorded."""
    journal = journal_path(file)
    return journal.read_bytes().count(b'{"number"') if journal.exists() else 0


def left_in(folder: Path) -> list[Path]:
    """Return the cassettes in a folder that are being recorded, or whose recorders were killed."""
    return [file.with_name(file.name[1:].removesuffix(".journal")) for file in folder.glob(".*.journal")]


def in_order(file: Path) -> int:
    """Return how many requests were recorded in the order in which they were sent."""
    bodies = [interaction.body for interaction in read_cassette(file).interactions]
    return sum(f'"hi {number}"'.encode() in body for number, body in enumerate(bodies))


class TestARecorder:
    def test_a_recorder_that_is_killed_leaves_what_the_next_one_recovers(self, live, file):
        with recorder(live, file, asking(3, rest=30)) as child:
            assert soon(lambda: in_journal(file) == 3)
            child.kill()
            child.wait(30)
        assert not file.exists()
        code, errors = record(live, file, asking())
        kept = file.with_name("a.recovered.yaml")
        assert (code, errors.splitlines()[0]) == (
            0,
            f"responses-harness: recovered 3 exchanges of a recording that was ended: {kept}",
        )
        assert (recorded(kept), recorded(file)) == (3, 1)
        assert sorted(entry.name for entry in file.parent.iterdir()) == ["a.recovered.yaml", "a.yaml"]

    def test_a_recorder_that_is_killed_leaves_all_but_half_a_second_of_answers(self, live, file):
        with recorder(live, file, asking(1000)) as child:
            assert soon(lambda: in_journal(file) >= 20)
            child.kill()
            child.wait(30)
        assert in_journal(file) >= 20
        (recovered,) = recover_recordings(file.parent)
        assert recovered.exchange_count == recorded(recovered.file) == in_order(recovered.file)

    def test_a_recorder_in_a_folder_recovers_what_was_left_there(self, live, tmp_path):
        with recorder(live, tmp_path, asking(2, rest=30)) as child:
            assert soon(lambda: max(map(in_journal, left_in(tmp_path)), default=0) >= 2)
            child.kill()
            child.wait(30)
        left = max(map(in_journal, left_in(tmp_path)))  # the client may have asked again
        code, errors = record(live, tmp_path, asking())
        assert (code, f"responses-harness: recovered {left} exchanges of a recording that was ended: " in errors) == (
            0,
            True,
        )
        assert len([*tmp_path.iterdir()]) == 2

    def test_a_recorder_whose_terminal_is_closed_ends_as_if_interrupted(self, live, file):
        with recorder(live, file, asking(2, rest=30)) as child:
            assert soon(lambda: in_journal(file) == 2)
            child.send_signal(signal.SIGHUP)
            code, errors = result(child)
        assert (code, f"2 exchanges in {file}" in errors) == (128 + signal.SIGHUP, True)
        assert [entry.name for entry in file.parent.iterdir()] == ["a.yaml"]

    def test_a_recorder_leaves_an_api_that_is_silent_and_keeps_what_came(self, file):
        with stalling(STUCK) as origin:
            code, errors = record(f"{origin}/v1", file, asking(), own=("--timeout", "0.3"))
        assert (code, f"1 exchange in {file}, 1 of them cut" in errors) == (0, True)
        assert "sent nothing for 0.3 s. What came before is recorded as cut" in errors
        (interaction,) = read_cassette(file).interactions
        assert (interaction.cut, interaction.answer) == (True, b"data: 1\n\n")

    def test_a_recorder_below_nohup_goes_on(self, live, file):
        with recorder(live, file, asking(2, rest=1), lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as child:
            assert soon(lambda: in_journal(file) == 2)
            child.send_signal(signal.SIGHUP)
            assert result(child)[0] == 0

    def test_a_recorder_whose_messages_nobody_reads_goes_on(self, live, file):
        read, write = os.pipe()
        os.close(read)
        with recorder(live, file, asking(), stderr=write) as child:
            os.close(write)
            assert child.wait(30) == 0
        assert recorded(file) == 1

    def test_a_recorder_beside_another_one_in_a_folder_gets_another_name(self, live, tmp_path):
        with recorder(live, tmp_path, asking(1, rest=30)) as first:
            assert soon(lambda: left_in(tmp_path))
            assert record(live, tmp_path, asking())[0] == 0
            first.terminate()
            result(first)
        assert len(list(tmp_path.iterdir())) == 2

    def test_a_recorder_that_may_not_write_so_much_leaves_the_old_file(self, live, file):
        assert record(live, file, asking())[0] == 0
        before, most = file.read_bytes(), file.stat().st_size // 2  # not even the first exchange
        few = (most, resource.RLIM_INFINITY)
        unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, few)
        code, errors = record(live, file, asking(9), limit, env=unmeasured)  # a measurement is a file as well
        assert (code, errors.splitlines()[1:]) == (
            2,
            [
                f"responses-harness: {file}: cannot be written: File too large. Nothing was changed. "
                "Raise the limit on the size of a file (`ulimit -f`). What was recorded is in "
                f"{journal_path(file)}, and the next recorder recovers it, without "
                "9 exchanges for which there was no space.",
                "manual: responses-harness manual recordings",
            ],
        )
        assert file.read_bytes() == before


def test_a_recording_is_replayed_though_nobody_reads_the_output(live, file):
    assert record(live, file, asking())[0] == 0
    port, (read, write) = free_port(), os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "harness", "serve", "--port", str(port), "--replay", str(file)]
    with spawn(command, stdout=write) as server:
        os.close(write)
        request = {"model": "gpt-4.1", "input": "hi 0"}
        assert soon(lambda: is_listening(port))
        assert httpx2.post(f"http://127.0.0.1:{port}/v1/responses", json=request).status_code == 200
        server.send_signal(signal.SIGHUP)
        assert "Traceback" not in server.communicate(timeout=30)[1]

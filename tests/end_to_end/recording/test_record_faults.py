"""`harness record` as a process in front of a live API over TLS: what it leaves and says when something goes wrong."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.cassettes.recording.writer import read_cassette
from harness.items import message
from harness.server.mock_api import Mock
from tests.support.live_api import Change, Live, Said, error
from tests.support.live_server import over_tls
from tests.support.processes import free_port, is_listening, wait_until

RECORD = """
import sys
from harness.cassettes.recording import recorder
from harness.cli import app

recorder.EVERY = 0.2
app(sys.argv[1:], prog_name="harness")
"""
ASK = """
import json, os, time, urllib.request
for number in range({times}):
    body = json.dumps({{"model": "gpt-4.1", "input": f"hi {{number}}"}}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/responses", body)
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", "Bearer sk-live-0123456789abcdef")
    try:
        urllib.request.urlopen(request).read()
    except OSError:
        pass
time.sleep({rest})
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The live API, over TLS."""
    with over_tls(Mock(fallback=lambda _: [message("Hello.")]), tmp_path_factory) as origin:
        yield f"{origin}/v1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.yaml"


def asking(times: int = 1, rest: float = 0) -> list[str]:
    return [sys.executable, "-c", ASK.format(times=times, rest=rest)]


def start(
    upstream: str, into: Path, command: Sequence[str], before: Callable[[], object] | None = None, **files: Any
) -> subprocess.Popen[str]:
    """A recorder, which writes what it has five times a second; `files` are its stdout and stderr."""
    called = [sys.executable, "-c", RECORD, "record", "--upstream", upstream, "--into", str(into), "--", *command]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **files}
    return subprocess.Popen(called, text=True, preexec_fn=before, **streams)


def ended(recorder: subprocess.Popen[str]) -> tuple[int, str]:
    said = recorder.communicate(timeout=60)[1] or ""
    assert "Traceback" not in said
    return recorder.returncode, said


def soon(condition: Callable[[], object]) -> bool:
    """Whether a condition comes true while a process may still be starting."""
    return any(wait_until(lambda: bool(condition())) for _ in range(6))


def recorded(file: Path) -> int:
    return len(read_cassette(file).interactions) if file.exists() else 0


class TestARecorder:
    def test_that_is_killed_leaves_what_it_had_written_so_far(self, live, file):
        recorder = start(live, file, asking(3, rest=30))
        assert soon(lambda: recorded(file) == 3)
        with recorder.stderr:  # type: ignore[union-attr]
            recorder.kill()
            recorder.wait()
        assert recorded(file) == 3
        assert ended(start(live, file, asking()))[0] == 0
        assert [each.name for each in file.parent.iterdir()] == ["a.yaml"]

    def test_whose_terminal_is_closed_ends_as_if_interrupted(self, live, file):
        recorder = start(live, file, asking(2, rest=30))
        assert soon(lambda: recorded(file) == 2)
        recorder.send_signal(signal.SIGHUP)
        code, said = ended(recorder)
        assert (code, f"2 exchanges in {file}" in said) == (128 + signal.SIGTERM, True)
        assert [each.name for each in file.parent.iterdir()] == ["a.yaml"]

    def test_below_nohup_goes_on(self, live, file):
        recorder = start(live, file, asking(2, rest=1), lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        assert soon(lambda: recorded(file) == 2)
        recorder.send_signal(signal.SIGHUP)
        assert ended(recorder)[0] == 0

    def test_whose_messages_nobody_reads_goes_on(self, live, file):
        read, write = os.pipe()
        os.close(read)
        recorder = start(live, file, asking(), stderr=write)
        os.close(write)
        assert recorder.wait(30) == 0
        assert recorded(file) == 1

    def test_beside_another_one_is_refused(self, live, file):
        first = start(live, file, asking(1, rest=30))
        assert soon(lambda: recorded(file) == 1)
        code, said = ended(start(live, file, asking()))
        assert (code, said.count("\n")) == (2, 1)
        assert f"{file}: another recorder is writing this cassette. Wait for it, or record into another file" in said
        first.terminate()
        assert ended(first)[0] == 128 + signal.SIGTERM

    def test_beside_another_one_in_a_folder_takes_another_name(self, live, tmp_path):
        several = [start(live, tmp_path, asking(1, rest=30))]
        assert soon(lambda: list(tmp_path.glob("*.yaml")))
        assert ended(start(live, tmp_path, asking()))[0] == 0
        several[0].terminate()
        ended(several[0])
        assert len(list(tmp_path.iterdir())) == 2

    def test_that_may_not_write_so_much_leaves_the_old_file(self, live, file):
        assert ended(start(live, file, asking()))[0] == 0
        before, most = file.read_bytes(), 2 * file.stat().st_size
        few = (most, resource.RLIM_INFINITY)
        unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, few)
        code, said = ended(start(live, file, asking(9), limit, env=unmeasured))  # a measurement is a file as well
        assert (code, said.splitlines()[1:]) == (
            2,
            [
                f"harness: {file}: cannot be written: File too large. What was there is unchanged. "
                "Raise the limit on the size of a file (`ulimit -f`)."
            ],
        )
        assert file.read_bytes() == before
        assert [each.name for each in file.parent.iterdir()] == ["a.yaml"]


def always(said: Said) -> Change:
    return lambda method, path, body: said


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (always(error(401, "Incorrect API key provided: sk-live*cdef.")), "1 × 401: is the key of the command right"),
        (always(error(429, "Slow down.", retry_after="7")), "1 × 429: the limits of the key are reached"),
        (always((404, {}, "<html>nothing here</html>")), "1 × 404: is the path of --upstream right?"),
        (always((308, {"location": "https://127.0.0.1:1/v1"}, "")), "1 × 308: the API is somewhere else: give --upstr"),
        (always(error(500, "No.")), "1 exchange in "),
    ],
)
def test_an_api_that_refuses_everything_is_recorded_and_told(file, tmp_path_factory, change, told):
    with over_tls(Live(change), tmp_path_factory) as origin:
        code, said = ended(start(f"{origin}/v1", file, asking()))
    assert (code, told in said, recorded(file)) == (0, True, 1)


def test_one_answer_of_404_among_others_is_nothing_to_tell(file, tmp_path_factory):
    def change(method, path, body):
        return error(404, "No such model.") if body["input"] == "hi 1" else None

    with over_tls(Live(change), tmp_path_factory) as origin:
        code, said = ended(start(f"{origin}/v1", file, asking(2)))
    assert (code, "the path of" in said, recorded(file)) == (0, False, 2)


def test_a_recording_is_played_though_nobody_reads_where(live, file):
    assert ended(start(live, file, asking()))[0] == 0
    port, (read, write) = free_port(), os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "harness", "serve", "--port", str(port), "--replay", str(file)]
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True) as server:
        os.close(write)
        asked = {"model": "gpt-4.1", "input": "hi 0"}
        assert soon(lambda: is_listening(port))
        assert httpx2.post(f"http://127.0.0.1:{port}/v1/responses", json=asked).status_code == 200
        server.send_signal(signal.SIGHUP)
        assert "Traceback" not in server.communicate(timeout=30)[1]

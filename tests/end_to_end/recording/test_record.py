"""`responses-harness record`: how it runs a command, what it prints, what it leaves, how it ends; and `serve --replay`."""

import contextlib
import json
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import Result

from harness.cassettes.files import lock_cassette, read_cassette
from harness.cassettes.format.interaction import Interaction
from harness.cli.run_command import run_command
from harness.core.exchange import ReceivedRequest
from harness.faults import Gate, pause, rate_limit
from harness.items import message
from harness.overrides.contract_file import parse_overrides
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support.command_line import run_cli
from tests.support.processes import free_port, is_listening, run, spawn, wait_until
from tests.support.servers.live_api import error
from tests.support.servers.live_api import live as live_api
from tests.support.servers.live_server import serving
from tests.support.slow import slow_except

KEY = "sk-live-0123456789abcdef"
ASK = """
import json, os, sys, urllib.request
asked = {"model": "gpt-4.1", "input": "hi", **json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}")}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/responses", json.dumps(asked).encode())
request.add_header("Content-Type", "application/json")
if key := os.environ.get("OPENAI_API_KEY"):
    request.add_header("Authorization", f"Bearer {key}")
try:
    print(urllib.request.urlopen(request).read().decode())
except urllib.error.HTTPError as refused:
    print(refused.status, refused.read().decode())
"""
"""A client that asks one thing; its argument is JSON that changes the request."""
ASKING = (sys.executable, "-c", ASK)


@pytest.fixture(scope="module")
def mock() -> MockApi:
    return MockApi(fallback=lambda _: [message("Hello.")])


@pytest.fixture(scope="module")
def live(mock: MockApi) -> Iterator[str]:
    with serving(mock) as origin:
        yield f"{origin}/v1"


@pytest.fixture
def world(mock: MockApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mock]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    yield mock.open(KEY)
    mock.close(KEY)


def record(upstream: str, into: Path, *options: str, command: Sequence[str] = ASKING) -> Result:
    return run_cli("record", "--upstream", upstream, "--into", into, *options, "--", *command)


def interactions_in(file: Path) -> tuple[Interaction, ...]:
    return read_cassette(file).interactions


class TestARecording:
    def test_a_recording_is_a_cassette_of_what_the_command_has_requested(self, live, world, tmp_path, capfd):
        file = tmp_path / "a.yaml"
        result = record(live, file)
        assert result.exit_code == 0
        (interaction,) = interactions_in(file)
        assert (interaction.method, interaction.uri, interaction.status, interaction.cut) == (
            "POST",
            f"{live}/responses",
            200,
            False,
        )
        assert json.loads(interaction.body) == {"model": "gpt-4.1", "input": "hi"}
        assert json.loads(capfd.readouterr().out)["output"][0]["content"][0]["text"] == "Hello."
        lines = result.stderr.splitlines()
        origin = live.removesuffix("/v1")
        assert re.fullmatch(rf"responses-harness: recording http://127.0.0.1:\d+/v1 in front of {origin}/v1", lines[0])
        assert lines[1:] == [f"responses-harness: 1 exchange in {file}"]

    def test_a_recording_holds_no_key(self, live, world, tmp_path):
        record(live, tmp_path / "a.yaml", command=(*ASKING, json.dumps({"metadata": {"note": KEY}})))
        assert KEY[3:] not in (tmp_path / "a.yaml").read_text()

    def test_a_recording_in_a_folder_is_a_new_file_each_time(self, live, world, tmp_path):
        script = tmp_path / "my app.py"
        script.write_text(ASK)
        for _ in range(2):
            record(live, tmp_path / "tapes", command=(sys.executable, str(script)))
        name = f"{Path(sys.executable).stem}-my-app".replace(".", "-")
        assert sorted(file.name for file in (tmp_path / "tapes").iterdir()) == [f"{name}-2.yaml", f"{name}.yaml"]

    def test_a_recording_in_a_file_replaces_it(self, live, world, tmp_path):
        file = tmp_path / "a.yaml"
        for _ in range(2):
            record(live, file)
        assert len(interactions_in(file)) == 1

    def test_a_recording_of_a_command_that_asks_nothing_leaves_nothing(self, live, tmp_path):
        result = record(live, tmp_path / "a.yaml", command=(sys.executable, "-c", ""))
        assert result.exit_code == 2
        assert "nothing was recorded. Does the command read OPENAI_BASE_URL?" in result.stderr
        assert list(tmp_path.iterdir()) == []


class TestTheEnd:
    def test_the_end_is_that_of_the_command(self, live, tmp_path):
        assert record(live, tmp_path, command=(sys.executable, "-c", "raise SystemExit(7)")).exit_code == 7
        killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        assert record(live, tmp_path, command=(sys.executable, "-c", killed)).exit_code == 128 + 9

    def test_the_end_says_what_the_key_was_refused_for(self, live, world, tmp_path, monkeypatch):
        world.script(rate_limit(after="1s"))
        limited = record(live, tmp_path / "a.yaml")
        assert "1 × 429: the limits of the key are reached" in limited.stderr
        assert interactions_in(tmp_path / "a.yaml")[0].answer_headers["retry-after"] == "1"
        monkeypatch.delenv("OPENAI_API_KEY")
        missing = record(live, tmp_path / "b.yaml")
        assert "1 × 401: is the key correct, and in the environment of the command?" in missing.stderr

    @pytest.mark.parametrize(
        ("answer", "hint"),
        slow_except(
            [0],
            [
                (error(401, "Incorrect API key provided: sk-live*cdef."), "1 × 401: is the key correct"),
                (error(429, "Slow down.", retry_after="7"), "1 × 429: the limits of the key are reached"),
                ((404, {}, "<html>nothing here</html>"), "1 × 404: is the path of --upstream correct?"),
                ((308, {"location": "https://127.0.0.1:1/v1"}, ""), "1 × 308: the API has moved: pass the location in"),
                (error(500, "No."), "1 exchange in "),
            ],
        ),
    )
    def test_the_end_of_an_api_that_refuses_everything_has_a_hint(self, tmp_path, answer, hint):
        with live_api(lambda method, path, body: answer) as (url, _):
            result = record(url, tmp_path / "a.yaml")
        assert (result.exit_code, hint in result.stderr, len(interactions_in(tmp_path / "a.yaml"))) == (0, True, 1)

    def test_the_end_has_no_hint_for_one_404_among_other_answers(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        script = f"{ASK}\nurllib.request.urlopen(request)"
        statuses = iter([(404, {}, "no such model")])
        with live_api(lambda method, path, body: next(statuses, None)) as (url, _):
            result = record(url, tmp_path / "a.yaml", command=(sys.executable, "-c", script))
        hint = "the path of" in result.stderr
        assert (result.exit_code, hint, len(interactions_in(tmp_path / "a.yaml"))) == (0, False, 2), result.stderr

    def test_the_end_of_a_command_that_did_not_reach_the_api_is_a_failure(self, tmp_path):
        result = record("http://127.0.0.1:9/v1", tmp_path / "a.yaml")
        assert result.exit_code == 1
        assert "responses-harness: http://127.0.0.1:9 cannot be reached: " in result.stderr
        assert "(1 ×)" in result.stderr
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (["--upstream", "api.openai.com"], "--upstream api.openai.com: this is no http:// or https:// URL"),
            (["--listen", "nowhere"], "--listen nowhere: pass HOST:PORT"),
            (["--listen", "127.0.0.1:99999"], "--listen 127.0.0.1:99999: pass HOST:PORT"),
            (["--listen", "256.0.0.1:0"], "cannot listen on 256.0.0.1:0"),
        ],
    )
    def test_the_end_of_what_was_requested_wrongly_is_one_message(self, tmp_path, options, problem):
        result = run_cli("record", "--into", tmp_path / "a.yaml", *options)
        assert result.exit_code == 2
        assert problem in result.stderr
        assert list(tmp_path.iterdir()) == []

    def test_the_end_of_a_command_that_is_not_there_is_that_of_a_shell(self, tmp_path):
        result = run_cli("record", "--into", tmp_path / "a.yaml", "--", "no-such-command")
        assert (result.exit_code, list(tmp_path.iterdir())) == (127, [])
        assert "no-such-command: cannot be run: No such file or directory" in result.stderr

    def test_the_end_of_a_second_recorder_of_a_cassette_is_one_message(self, live, tmp_path):
        with lock_cassette(tmp_path / "a.yaml"):
            result = record(live, tmp_path / "a.yaml")
        assert (result.exit_code, "another recorder is writing this cassette" in result.stderr) == (2, True)


class TestTheCommandInTheCassette:
    @pytest.fixture
    def agent(self, tmp_path):
        (tmp_path / "agent.py").write_text(ASK)
        return sys.executable, str(tmp_path / "agent.py")

    def made_by(self, live, file, *command):
        assert record(live, file, command=command).exit_code == 0
        return read_cassette(file).header.command

    def test_the_command_in_the_cassette_is_the_one_that_was_run(self, live, world, tmp_path, agent):
        assert self.made_by(live, tmp_path / "a.yaml", *agent, "{}") == shlex.join(
            ["responses-harness", "record", "--", *agent, "{}"]
        )

    def test_the_command_in_the_cassette_is_left_out_when_it_holds_a_secret_or_a_program(
        self, live, world, tmp_path, agent
    ):
        assert self.made_by(live, tmp_path / "a.yaml", *agent, json.dumps({"user": KEY})) == ""
        assert KEY not in (tmp_path / "a.yaml").read_text()
        assert self.made_by(live, tmp_path / "b.yaml", *ASKING) == ""


class TestAValidatingProxy:
    def test_a_validating_proxy_says_what_it_has_judged(self, live, world, tmp_path):
        result = record(live, tmp_path / "a.yaml", "--strict")
        assert result.exit_code == 0
        assert re.search(r"^requests +1 +1 +- ", result.stderr, re.M)

    def test_a_validating_proxy_is_not_green_when_it_could_judge_nothing(self, live, world, tmp_path):
        command = (sys.executable, "-c", ASK.replace("/responses", "/chat/completions"))
        checked = record(live, tmp_path / "a.yaml", "--check", command=command)
        strict = record(live, tmp_path / "a.yaml", "--strict", command=command)
        assert (checked.exit_code, strict.exit_code) == (0, 2)
        assert "responses-harness: nothing was judged: 1 exchange, and none that can be judged." in checked.stderr

    def test_a_validating_proxy_finds_where_the_live_api_differs(self, world, tmp_path):
        async def lenient(scope: Any, receive: Any, send: Any) -> None:
            await send(
                {"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"application/json")]}
            )
            await send({"type": "http.response.body", "body": b'{"error": {"message": "Bad input."}}'})

        command = (*ASKING, '{"input": 3}')
        with serving(lenient) as origin:
            checked = record(f"{origin}/v1", tmp_path / "a.yaml", "--check", command=command)
            strict = record(f"{origin}/v1", tmp_path / "a.yaml", "--strict", command=command)
        assert (checked.exit_code, strict.exit_code) == (0, 1)
        for part in ("the contract refuses it (invalid_type)", "refusals.different", "recorded  400 Bad input."):
            assert part in checked.stderr

    def test_a_validating_proxy_offers_to_learn_where_the_live_api_differs(self, live, world, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        world.world.overrides = parse_overrides("format: 1\nexemptions: [{rule: unknown_parameter, at: colour}]")
        command = (*ASKING, '{"model": "gpt-4.1", "input": "hi", "colour": "blue"}')
        offered = record(live, Path("a.yaml"), "--check", command=command).stderr
        for line in (
            "responses-harness: 1 exchange; the API and the mock disagree in 1:",
            "responses-harness:   a.yaml#1, POST /responses: accepted, the mock refuses it: Unknown parameter: 'colour'.",
            "responses-harness:   - unknown_parameter does not apply at colour (colour: text)",
        ):
            assert line in offered
        (told,) = re.findall("^responses-harness: learn it: (.*)", offered, re.M)
        assert run_cli(*shlex.split(told)[1:]).exit_code == 0
        (tmp_path / "pyproject.toml").write_text('[tool.harness]\ncontract = "contract.yaml"\n')
        again = record(live, Path("b.yaml"), "--strict", command=command)
        assert (again.exit_code, "learn it" in again.stderr) == (0, False), again.stderr

    def test_a_validating_proxy_finds_where_the_mock_would_have_answered_differently(self, mock, tmp_path, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", KEY)

        def change(method: str, path: str, body: Any) -> Any:
            raw = json.dumps(body).encode()
            answer = mock.handle(ReceivedRequest(method, path, {"authorization": f"Bearer {KEY}"}, raw=raw))
            return 200, {}, answer.body | {"truncation": "auto"}

        with live_api(change) as (url, _):
            checked = record(url, tmp_path / "a.yaml", "--check")
            strict = record(url, tmp_path / "a.yaml", "--strict")
        mock.close(KEY)
        assert (checked.exit_code, strict.exit_code) == (0, 1)
        assert re.search(r"^respelled +1 +- +1 ", checked.stderr, re.M)
        line = f"respelled.different  {tmp_path / 'a.yaml'}#1\n  truncation\n    recorded  'auto'\n    mock      'disabled'"
        assert line in checked.stderr


@contextlib.contextmanager
def interrupted(work: Callable[[], object], number: int = signal.SIGINT) -> Iterator[None]:
    """A signal reaches this process, and no other, once this work is done beside it."""

    def interrupt() -> None:
        try:
            work()
        finally:
            os.kill(os.getpid(), number)

    beside = threading.Thread(target=interrupt)
    beside.start()
    yield
    beside.join(60)


class TestAnInterruption:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_an_interruption_leaves_what_is_whole(self, live, world, tmp_path, number):
        gate = Gate()
        world.script(message("whole"), pause(message("Once upon"), after=3, until=gate))
        file = tmp_path / "a.yaml"
        stream = (
            "asked['stream'] = True; request.data = json.dumps(asked).encode(); urllib.request.urlopen(request).read()"
        )
        with interrupted(lambda: wait_until(lambda: len(world.exchanges) == 2), number):
            result = record(live, file, command=(sys.executable, "-c", f"{ASK}\n{stream}"))
        gate.open()
        assert result.exit_code == 128 + number
        assert f"1 exchange in {file}" in result.stderr
        assert [
            json.loads(interaction.answer)["output"][0]["content"][0]["text"] for interaction in interactions_in(file)
        ] == ["whole"]
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.yaml"]

    @pytest.mark.parametrize("is_terminal", [True, False])
    def test_an_interruption_of_a_terminal_reaches_the_command_by_itself(self, monkeypatch, is_terminal):
        monkeypatch.setattr(os, "isatty", lambda file: is_terminal)
        leads = "import os, sys; sys.exit(os.getpgrp() == os.getpid())"
        assert run_command([sys.executable, "-c", leads], os.environ) == (not is_terminal)

    def test_an_interruption_ends_also_a_command_that_does_not_listen(self, live, tmp_path, monkeypatch):
        monkeypatch.setattr("harness.cli.run_command.GRACE_SECONDS", 0.2)
        (deaf := tmp_path / "deaf").touch()
        ignoring = (
            f"import os, signal, time; signal.signal(2, signal.SIG_IGN); signal.signal(15, signal.SIG_IGN); "
            f"os.remove({str(deaf)!r}); time.sleep(60)"
        )
        with interrupted(lambda: wait_until(lambda: not deaf.exists())):
            result = record(live, tmp_path / "a.yaml", command=(sys.executable, "-c", ignoring))
        assert result.exit_code == 128 + signal.SIGKILL

    def test_an_interruption_ends_a_recorder_without_a_command(self, live, world, tmp_path):
        file, port = tmp_path / "tapes/recording.yaml", free_port()
        responses: list[httpx2.Response] = []
        body, headers = {"model": "gpt-4.1", "input": "hi"}, {"authorization": f"Bearer {KEY}"}

        def work() -> None:
            assert wait_until(lambda: is_listening(port))
            responses.append(httpx2.post(f"http://127.0.0.1:{port}/v1/responses", json=body, headers=headers))

        options = ["record", "--upstream", live, "--into", str(file.parent), "--listen", f"127.0.0.1:{port}"]
        with interrupted(work):
            result = run_cli(*options)
        assert f"responses-harness: export OPENAI_BASE_URL=http://127.0.0.1:{port}/v1" in result.stderr
        assert (responses[0].status_code, result.exit_code, len(interactions_in(file))) == (200, 0, 1)

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_an_interruption_that_comes_twice_leaves_what_is_whole(self, live, world, tmp_path, number):
        world.script(message("whole"), pause(message("Once upon"), after=3, until=Gate()))
        file, port = tmp_path / "a.yaml", free_port()
        url, headers = f"http://127.0.0.1:{port}/v1/responses", {"authorization": f"Bearer {KEY}"}
        asked = {"model": "gpt-4.1", "input": "hi"}
        options = ["--upstream", live, "--into", file, "--listen", f"127.0.0.1:{port}"]
        with spawn([sys.executable, "-m", "harness", "record", *options]) as recorder:
            assert wait_until(lambda: is_listening(port))
            httpx2.post(url, json=asked, headers=headers, timeout=60)
            streamed = {**asked, "stream": True}
            with httpx2.stream("POST", url, json=streamed, headers=headers, timeout=60) as answer:
                next(answer.iter_bytes())
                recorder.send_signal(number)
                assert wait_until(lambda: not is_listening(port))
                recorder.send_signal(number)
                _, told = recorder.communicate(timeout=60)
        assert recorder.returncode == 0
        assert told.splitlines()[-1] == f"responses-harness: 1 exchange in {file}"
        assert [interaction.cut for interaction in interactions_in(file)] == [False]


class TestServingARecording:
    def test_serving_a_recording_answers_as_the_api_has_answered(self, live, world, tmp_path, capfd):
        record(live, tmp_path / "a.yaml")
        recorded, port, printed = capfd.readouterr().out.strip(), free_port(), []

        def work() -> None:
            assert wait_until(lambda: is_listening(port))
            env = {**os.environ, "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
            for more in ("{}", '{"input": "ho"}'):
                answer = run([*ASKING, more], env=env, timeout=30)
                printed.append(answer.stdout.strip())

        with interrupted(work):
            result = run_cli("serve", "--replay", tmp_path, "--port", port)
        played, missed = printed
        assert json.loads(played)["output"][0]["content"] == json.loads(recorded)["output"][0]["content"]
        assert missed.startswith("418 ")
        assert f"export OPENAI_BASE_URL=http://127.0.0.1:{port}/v1" in result.stdout
        assert "not recorded: the closest recording, POST /v1/responses, differs:" in result.stderr
        assert '+  "input": "ho"' in result.stderr
        assert result.exit_code == 0

    def test_serving_a_recording_is_not_mixed_with_a_script(self, tmp_path):
        result = run_cli("serve", "--replay", tmp_path, "--zdr")
        assert (result.exit_code, "--replay only plays recordings" in result.stderr) == (2, True)

    def test_serving_a_recording_of_nothing_is_one_message(self, tmp_path):
        result = run_cli("serve", "--replay", tmp_path)
        assert (result.exit_code, "it has no recordings" in result.stderr) == (2, True)

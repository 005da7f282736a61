"""`responses-harness serve`: what it prints, whom it answers, and how it ends."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openai
import pytest

from harness.cli.serve import Entrance, _announce
from harness.core.errors import add_section
from harness.server.transport.asgi_types import AsgiApp
from tests.support.command_line import run_beside, run_cli
from tests.support.processes import free_port
from tests.support.servers.live_server import serving

Serve = Callable[..., str]


def client(base_url: str, api_key: str = "sk-test") -> openai.OpenAI:
    direct = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=direct)


def says(base_url: str, api_key: str = "sk-test", model: str = "gpt-4.1") -> str:
    """Return what the model says to a plain request."""
    with client(base_url, api_key) as each:
        return each.responses.create(model=model, input="hi").output_text


def test_it_prints_how_to_reach_it() -> None:
    port = free_port()
    with run_beside("serve", "--port", str(port)) as child:
        assert child.stdout
        url = f"http://127.0.0.1:{port}/v1"
        assert [child.stdout.readline() for _ in range(4)] == [
            f"Serving {url}\n",
            f"export OPENAI_BASE_URL={url}\n",
            "export OPENAI_API_KEY=sk-anything\n",
            f"Viewer  http://127.0.0.1:{port}/_harness/view\n",
        ]
        assert says(url, "sk-anything").startswith("Hello.")
        child.terminate()
        _, problems = child.communicate(timeout=20)
    assert (child.returncode, problems) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_however_early(end: signal.Signals) -> None:
    with run_beside("serve", "--port", "0") as child:
        assert child.stdout
        child.stdout.readline()
        child.send_signal(end)
        _, problems = child.communicate(timeout=20)
    assert (child.returncode, problems) == (0, "")


def test_a_key_opens_a_world_of_its_own(serve: Serve, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("script: [ {message: once} ]")
    url = serve("--script", str(script))
    assert says(url, "sk-a") == says(url, "sk-b") == "once"
    with pytest.raises(openai.APIStatusError, match="No turn is left") as caught:
        says(url, "sk-a")
    assert caught.value.status_code == 418


def test_only_named_keys_are_known(serve: Serve) -> None:
    url = serve("--keys", "sk-a, sk-b")
    assert says(url, "sk-a") == says(url, "sk-b")
    with pytest.raises(openai.AuthenticationError, match="Incorrect API key provided: sk-c"):
        says(url, "sk-c")


def test_zero_data_retention_stores_nothing(serve: Serve) -> None:
    with client(serve("--zdr")) as each:
        first = each.responses.create(model="gpt-4.1", input="hi")
        with pytest.raises(openai.BadRequestError, match="Zero Data Retention"):
            each.responses.create(model="gpt-4.1", input="hi", previous_response_id=first.id)


def test_the_assistants_may_be_gone(serve: Serve) -> None:
    with client(serve("--assistants", "gone")) as each, pytest.raises(openai.NotFoundError):
        each.post("/threads", cast_to=object, body={})


def test_one_dialect_may_be_served(serve: Serve) -> None:
    url = serve("--dialect", "azure")
    assert url.endswith("/openai/v1")
    assert says(url, api_key="any")


def test_only_named_models_are_known(serve: Serve) -> None:
    url = serve("--models", "gpt-4.1,o3")
    assert says(url, model="gpt-4.1") == says(url, model="o3")
    with pytest.raises(openai.BadRequestError, match="The requested model 'gpt-5' does not exist"):
        says(url, model="gpt-5")


def test_it_ends_inside_a_process_and_gives_its_signals_back(tmp_path: Path) -> None:
    script, port, handlers = tmp_path / "script.py", free_port(), handled()
    script.write_text("from harness.items import message\ndef script(request):\n    return message('Hi.')\n")
    heard: list[str] = []
    ended = threading.Event()

    def visit() -> None:
        with contextlib.suppress(openai.APIConnectionError):
            heard.extend(eventually(lambda: says(f"http://127.0.0.1:{port}/v1", "sk-b")) for _ in range(2))
        if not ended.is_set():
            os.kill(os.getpid(), signal.SIGTERM)

    visitor = threading.Thread(target=visit)
    visitor.start()
    result = run_cli("serve", "--port", str(port), "--keys", "sk-a,sk-b", "--script", str(script))
    ended.set()
    visitor.join(120)
    assert (result.exit_code, result.stderr, heard) == (0, "", ["Hi.", "Hi."])
    assert "export OPENAI_API_KEY=sk-a\n" in result.stdout
    assert handled() == handlers


def test_a_script_without_turns_leaves_the_small_talk(serve: Serve, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("organization: {models: [gpt-4.1]}")
    url = serve("--script", str(script))
    assert says(url).startswith("Hello.")
    with pytest.raises(openai.BadRequestError, match="The requested model 'gpt-5' does not exist"):
        says(url, model="gpt-5")


@pytest.mark.slow
def test_it_ends_with_what_went_wrong_for_each_key(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from harness.items import message\n"
        "def setup(mock):\n    mock.organization(zdr=mock.api_key == 'sk-refused')\n"
        "    mock.script(message('Paris it is.'), message('Sure.'))\n"
    )
    with run_beside("serve", "--port", "0", "--script", str(script)) as child:
        assert child.stdout
        url = child.stdout.readline().removeprefix("Serving ").strip()
        says(url, "sk-good")
        for _ in range(2):
            says(url, "sk-unanswered")
        with pytest.raises(openai.APIStatusError, match="No turn is left"):
            says(url, "sk-unanswered")
        with client(url, "sk-refused") as each, pytest.raises(openai.BadRequestError):
            each.responses.create(model="gpt-4.1", input="hi", previous_response_id="resp_1")
        with client(url, "sk-wrong") as each, pytest.raises(openai.BadRequestError):
            each.responses.create(model="gpt-4.1", input="hi", temperature=3)
        with client(url, "sk-lost") as each:
            first = each.responses.create(model="gpt-4.1", input="Where?")
            told = [{"role": "assistant", "content": "Paris it is.Paris it is."}]
            history: Any = [{"role": "user", "content": "Where?"}, *told, {"role": "user", "content": "Sure?"}]
            each.responses.create(model="gpt-4.1", input=history)
            assert first.output_text == "Paris it is."
        child.terminate()
        _, problems = child.communicate(timeout=20)
    assert child.returncode == 0
    told_at_once = [line for line in problems.splitlines() if line.startswith("responses-harness: ")]
    assert [line.partition(":")[2].split()[:3] for line in told_at_once] == [
        ["POST", "/v1/responses", status] for status in ("418:", "400:")
    ]
    assert problems.splitlines()[2:] == [
        "sk-unanswered: 3 exchanges, 1 unanswered",
        "sk-refused: 1 exchange, 1 refused",
        "sk-wrong: 1 exchange, 1 refused (1 unexpected)",
        "sk-lost: 2 exchanges, 1 loss (text-altered in 2)",
    ]


def test_a_script_that_cannot_be_read(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("script: [ {mesage: hi} ]")
    result = run_cli("serve", "--script", str(script))
    assert (result.exit_code, result.stdout) == (2, "")
    told = f"responses-harness: {script}:1: no item 'mesage'. Did you mean 'message'?"
    assert result.stderr == add_section(told, "scripts") + "\n"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Serves in this process what the command would serve in the foreground; returns its base URL."""
    with contextlib.ExitStack() as servers:

        def serve_beside(app: AsgiApp, host: str, port: int, entrance: Entrance, *_: object) -> None:
            urls.append(servers.enter_context(serving(app)) + entrance.root)

        def start(*arguments: str) -> str:
            result = run_cli("serve", "--port", "0", *arguments)
            assert result.exit_code == 0, result.stderr
            return urls.pop()

        urls: list[str] = []
        monkeypatch.setattr("harness.cli.serve.serve_foreground", serve_beside)
        yield start


def handled() -> list[Any]:
    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


def eventually(ask: Callable[[], str]) -> str:
    """Return what `ask` returns once the server is up; it has a minute."""
    for _ in range(600):
        with contextlib.suppress(openai.APIConnectionError):
            return ask()
        time.sleep(0.1)
    return ask()


@pytest.mark.parametrize(("view", "line"), [("/_harness/view", "Viewer  http://x/_harness/view\n"), ("", "")])
def test_the_viewer_is_named_where_it_is_served(capsys: pytest.CaptureFixture[str], view: str, line: str) -> None:
    entrance: Any = SimpleNamespace(variables=lambda origin: {"A": origin}, view=view, root="/v1", opens=False)
    _announce(entrance, "http://x", None)
    assert capsys.readouterr().out == f"Serving http://x/v1\nexport A=http://x\n{line}"

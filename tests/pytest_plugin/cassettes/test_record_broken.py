"""What goes wrong while tests are recorded: one message, and no cassette that is not whole."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cassettes.files import journal_path, lock_cassette, read_cassette
from harness.faults import cut, hang_up
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support.processes import free_port, spawn, wait_until
from tests.support.servers.live_server import over_tls

KEY = "sk-live-AbCd1234EfGh5678"
ONE = """
@pytest.mark.cassette("one")
def test_one(client):
    assert client.responses.create(model="gpt-4.1", input="hi").output_text == "hello"
"""
TOLERANT = """
@pytest.mark.cassette("one")
def test_one(client):
    with contextlib.suppress(openai.APIConnectionError):
        list(client.responses.create(model="gpt-4.1", input="hi", stream=True))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[MockApi, str]]:
    """The live API, over TLS."""
    mock = MockApi()
    with over_tls(mock, tmp_path_factory) as origin:
        yield mock, origin


@pytest.fixture
def live(server, monkeypatch) -> Iterator[Mock]:
    mock, origin = server
    monkeypatch.setenv("OPENAI_BASE_URL", f"{origin}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    yield mock.open(KEY)
    mock.close(KEY)


@pytest.fixture
def file(pytester) -> Path:
    return pytester.path / "cassettes/one.yaml"


def test_an_api_that_is_not_there_is_named(run, live: Mock, file, monkeypatch):
    url = f"http://127.0.0.1:{free_port()}/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    what = f"POST {url}/responses was not answered and not recorded: "
    for source in (ONE, TOLERANT):
        run(source, "--record").shows(f"*{what}*", failed=1)
    assert not file.exists()


def test_one_that_hangs_up_once_is_asked_again(run, live: Mock, file):
    live.script(hang_up(), message("hello"))
    source = ONE.replace("client.responses", "client.with_options(max_retries=1).responses")
    run(source, "--record").assert_outcomes(passed=1)
    assert len(read_cassette(file).interactions) == 1


def test_a_stream_that_breaks_off_is_kept_as_far_as_it_came(run, live: Mock, file):
    live.script(cut(message("Once upon a time"), after=4))
    run(TOLERANT, "--record").assert_outcomes(passed=1)
    (take,) = read_cassette(file).interactions
    assert (take.cut, take.answer.count(b"event: ")) == (True, 4)
    run(TOLERANT).assert_outcomes(passed=1)


def test_a_key_that_is_refused_fails_the_test_and_leaves_nothing(run, live: Mock, file, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-of-this-api")
    run(ONE, "--record").shows("*Incorrect API key provided*", failed=1)
    assert not file.exists()


def test_a_cassette_that_another_process_records_is_reported(run, live: Mock, file):
    with lock_cassette(file):
        run(ONE, "--record").shows("*one.yaml: another recorder is writing this cassette*", "*`pytest -n 0`*", errors=1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_test_leaves_no_half_cassette(pytester, write, live: Mock, file, number):
    live.script(message("hello"))
    (flag := pytester.path / "flag").touch()
    write(f"{ONE}    os.remove({str(flag)!r})\n    __import__('time').sleep(30)\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--record"]
    with spawn(command, stderr=subprocess.STDOUT, cwd=pytester.path) as child:
        assert wait_until(lambda: not flag.exists(), seconds=60)
        child.send_signal(number)
        output = child.communicate(timeout=30)[0]
    assert child.returncode
    assert len(live.exchanges) == 1, output
    assert not file.exists()
    assert journal_path(file).exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_the_next_run_names_what_a_run_that_died_has_recorded(run, write, live: Mock, file, options):
    live.script(message("hello"), message("hello"))
    died = f"{ONE}    __import__('time').sleep(0.5)\n    os._exit(3)\n"
    run(died, "--record", *options, apart=True)
    assert not file.exists()
    told = "recovered 1 exchange of a recording that was ended: cassettes/one.recovered.yaml"
    run(ONE, "--record", *options, apart=True).shows(f"*{told}*", passed=1)
    assert [len(read_cassette(kept).interactions) for kept in (file, file.with_name("one.recovered.yaml"))] == [1, 1]
    assert not journal_path(file).exists()
    assert "recovered" not in run(ONE, "--record", *options, apart=True).stdout.str()


AZURE = """
@pytest.mark.cassette("one")
def test_one():
    with openai.AzureOpenAI(api_version="2025-04-01-preview", max_retries=0) as client:
        first = client.responses.create(model="gpt-4.1", input="hi")
        events = client.responses.create(model="gpt-4.1", input="go", previous_response_id=first.id, stream=True)
        assert [event.type for event in events][-1] == "response.completed"
"""
FOUNDRY = """
@pytest.mark.cassette("one")
def test_one():
    url, key = os.environ["AZURE_AI_PROJECT_ENDPOINT"] + "/openai/v1", os.environ.get("AZURE_AI_API_KEY", "none")
    with openai.OpenAI(base_url=url, api_key=key, max_retries=0) as client:
        first = client.responses.create(model="gpt-4.1", input="hi")
        client.responses.create(model="gpt-4.1", input="go", previous_response_id=first.id)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "dialect", "endpoint", "path", "key"),
    [
        (AZURE, "azure", "AZURE_OPENAI_ENDPOINT", "", "AZURE_OPENAI_API_KEY"),
        (FOUNDRY, "foundry", "AZURE_AI_PROJECT_ENDPOINT", "/api/projects/moonshot", "AZURE_AI_API_KEY"),
    ],
)
def test_azure_and_foundry_are_recorded_alike(run, server, file, monkeypatch, source, dialect, endpoint, path, key):
    mock, origin = server
    secret = "0123456789abcdef0123456789abcdef"
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(endpoint, origin + path)
    monkeypatch.setenv(key, secret)
    mock.open(secret).script(message("hello"), message("gone"))
    run(source, "--record").assert_outcomes(passed=1)
    mock.close(secret)
    recorded = file.read_text(encoding="utf-8")
    assert read_cassette(file).header.dialect == dialect
    assert (secret in recorded, "moonshot" in recorded) == (False, False)
    for name in (endpoint, key):
        monkeypatch.delenv(name)
    run(source).assert_outcomes(passed=1)

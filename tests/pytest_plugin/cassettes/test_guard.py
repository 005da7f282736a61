"""A test that uses the harness never reaches the live API: the connection is refused, and the test fails for it."""

import socket
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

import pytest

from tests.support.inner_run import Run
from tests.support.slow import slow_except, slow_except_every

SESSION = ("-o", "harness_env=session")
APP = """
import contextlib, openai

client = openai.OpenAI(max_retries=0)
shared = openai.AsyncOpenAI(max_retries=0)

class Service:
    def __init__(self):
        self.client = openai.OpenAI(max_retries=0)

service = Service()

def answer(client=client):
    return client.responses.create(model="gpt-4.1", input="x").output_text

async def answer_async():
    return (await shared.responses.create(model="gpt-4.1", input="x")).output_text

def swallow():
    with contextlib.suppress(Exception):
        answer()
"""
REFUSED = "A connection to the live API, api.openai.com:443, was refused: this test uses the mock."
FIXES = [
    "  fix     Create the client while the test runs, in a function or in a fixture that requests `mock`. Or set *",
    "          *in pytest's configuration: clients created at import then use the mock, too.",
]
ADDRESS_FIX = (
    "  fix     Let the client read OPENAI_BASE_URL, or pass it `mock.base_url`: now it has an address of its own."
)


@pytest.fixture(autouse=True)
def _live(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A developer's environment, with a key for the live API, which must not even be looked up."""
    pytester.makepyfile(app=APP)
    pytester.syspathinsert()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    resolve, resolved = socket.getaddrinfo, []

    def note(host: Any, *args: Any, **options: Any) -> Any:
        if host in (None, "127.0.0.1", "localhost"):
            return resolve(host, *args, **options)
        resolved.append(host)
        raise socket.gaierror(f"{host} is not to be resolved")

    monkeypatch.setattr(socket, "getaddrinfo", note)
    yield
    assert resolved == []


def test_a_client_made_at_import_is_named_with_its_line_and_two_remedies(run: Run) -> None:
    lines = run("import app\ndef test_it(mock): app.answer()").shows(failed=1).outlines
    place = lines.index(REFUSED)
    assert lines[place + 1 : place + 3] == [
        "  made    app.py:3, at import: client = openai.OpenAI(max_retries=0)",
        '  asked   app.py:13, in answer: return client.responses.create(model="gpt-4.1", input="x").output_text',
    ]
    assert all(map(fnmatch, lines[place + 3 :], FIXES))
    assert "No request came" not in "\n".join(lines), "one cause, said once"


@pytest.mark.parametrize(
    ("body", "made"),
    slow_except_every(
        2,
        [
            ("app.answer(app.service.client)", "app.py:8, at import: self.client = openai.OpenAI(max_retries=0)"),
            ("app.answer(held['it'])", "test_the_line_*.py:*, at import: held = {'it': openai.OpenAI(max_retries=0)}"),
            ("app.answer(cached())", "test_the_line_*.py:*, at import: return openai.OpenAI(max_retries=0)"),
            ("app.answer(mine)", "test_the_line_*.py:*, in the fixture mine: return openai.OpenAI(max_retries=0)"),
        ],
    ),
    ids=["attribute", "dict", "cache", "fixture"],
)
def test_the_line_is_found_wherever_the_client_is_held(run: Run, body: str, made: str) -> None:
    result = run(f"""
import app, functools

held = {{'it': openai.OpenAI(max_retries=0)}}

@functools.lru_cache
def cached():
    return openai.OpenAI(max_retries=0)

cached()

@pytest.fixture(scope="session")
def mine():
    return openai.OpenAI(max_retries=0)

def test_it(mine, mock):
    {body}
""").shows("  made    *", "  asked   app.py:13, in answer: *", *FIXES, failed=1)
    shown = " ".join(result.stdout.str().split())  # a long line is wrapped
    assert fnmatch(shown, f"* made {made.replace('[', '[[]')} asked *")


@pytest.mark.parametrize("mark", ["asyncio", "anyio"])
def test_async_clients_are_refused_on_every_loop(run: Run, mark: str) -> None:
    fixtures = ", anyio_backend" if mark == "anyio" else ""
    source = f"import app\n@pytest.mark.{mark}\nasync def test_it(mock{fixtures}): await app.answer_async()"
    run(source).shows(
        "  made    app.py:4, at import: shared = openai.AsyncOpenAI(max_retries=0)",
        *FIXES,
        failed=2 if mark == "anyio" else 1,
    )


def test_a_refusal_that_the_code_swallows_fails_the_test(run: Run) -> None:
    result = run("""
import app

def test_swallowed(mock): app.swallow()

def test_in_a_thread(mock):
    thread = threading.Thread(target=app.swallow)
    thread.start()
    thread.join()

@pytest.fixture
def asking():
    app.swallow()
    yield

def test_in_a_fixture(asking, mock): ...

@pytest.fixture
def ending():
    yield
    app.swallow()

def test_at_its_end(ending, mock): ...
""")
    result.assert_outcomes(failed=3, passed=1, errors=1)
    assert sum(line.startswith("A connection to the live API") for line in result.outlines) == 4


def test_a_failure_that_has_another_cause_is_shown_with_it(run: Run) -> None:
    run("""
import app

def test_it(mock):
    app.swallow()
    assert 1 == 2
""").shows("E *assert 1 == 2", "*- responses-harness -*", "A connection to the live API, *", failed=1)


def test_what_a_library_sends_in_the_background_is_refused_and_fails_no_test(run: Run) -> None:
    """openai-agents uploads traces from a thread of its own, at times of its own."""
    run("""
import httpx

def test_it(mock):
    with ThreadPoolExecutor() as pool:
        sent = pool.submit(httpx.post, "https://api.openai.com/v1/traces/ingest")
    assert isinstance(sent.exception(), httpx.ConnectError)
    assert "is the live API, and" in str(sent.exception())
""").assert_outcomes(passed=1)


def test_an_address_in_the_code_is_to_be_given_that_of_the_mock(run: Run) -> None:
    run("""
def test_it(mock):
    own = openai.OpenAI(base_url="https://eu.api.openai.com/v1", max_retries=0)
    own.models.list()
""").shows(
        "A connection to the live API, eu.api.openai.com:443, *",
        "  made *, in test_it: own =*",
        "          openai.OpenAI(*",
        ADDRESS_FIX,
        failed=1,
    )


@pytest.mark.parametrize(
    ("fixture", "ask"),
    slow_except(
        (0, 3),
        [
            ("mock", 'urllib.request.urlopen("https://api.openai.com/v1/models")'),
            ("client", 'httpx.get("https://api.openai.com/v1/models")'),
            ("async_client", 'socket.create_connection(("mine.openai.azure.com", 443))'),
            ("cassette", 'socket.create_connection(("mine.services.ai.azure.com.", 443))'),
            ("mock", 'socket.create_connection(("MINE.cognitiveservices.azure.com", 443))'),
        ],
    ),
)
def test_no_way_to_any_provider_is_open(run: Run, ask: str, fixture: str) -> None:
    run(f"import httpx, socket, urllib.request\ndef test_it({fixture}): {ask}").shows(
        "A connection to the live API, *", "  asked   test_no_way_*.py:*, in test_it: *", failed=1
    )


def test_a_client_for_azure_made_at_import_needs_its_dialect(run: Run) -> None:
    run("""
azure = openai.AzureOpenAI(azure_endpoint="https" + ":" + "//mine.openai.azure.com", api_key="k", api_version="1")

def test_it(mock): azure.responses.create(model="gpt-4.1", input="x")
""").shows("  made    *, at import: azure =*", "          openai.AzureOpenAI(*", '  fix *dialect="azure"*')


def test_other_hosts_and_tests_without_the_harness_are_left_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: connected.append(address))
    run("""
import socket

def connect(address):
    with socket.socket() as one:
        one.connect(address)

def test_another_host(mock): connect(("192.0.2.1", 80))

def test_without(): connect(("api.openai.com", 443))
""").assert_outcomes(passed=2)
    assert connected == [("192.0.2.1", 80), ("api.openai.com", 443)]


@pytest.mark.slow
def test_the_line_is_found_in_a_large_project(run: Run) -> None:
    run("""
import app

many = [[number] for number in range(100_000)]

def test_it(mock):
    app.answer()
""").shows("  made    app.py:*, at import: *")


def test_a_client_that_could_not_be_made_is_none(run: Run) -> None:
    run("""
import urllib.request

def test_it(mock, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(openai.OpenAIError) as failed:
        openai.OpenAI()
    urllib.request.urlopen("https://api.openai.com/v1/models")
""").shows("A connection to the live API, *", "  asked   test_a_client_*.py:*, in test_it:*", failed=1)


@pytest.mark.parametrize("made", ["copy.copy(app.client)", "Unhashable(max_retries=0)"])
def test_the_line_of_a_copy_is_not_known(run: Run, made: str) -> None:
    run(f"""
import app, copy

class Unhashable(openai.OpenAI):
    __hash__ = None

client = {made}

def test_it(mock):
    app.answer(client)
""").shows("  made    on an unknown line: the client is a copy, or a library created it", *FIXES, failed=1)


def test_a_module_that_a_test_imports_makes_its_client_at_import(run: Run) -> None:
    run("""
def test_it(mock, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    import app
    app.answer()
""").shows("  made    app.py:3, at import: client = openai.OpenAI(max_retries=0)", failed=1)

"""What a test gets: a World of its own, a way there for any client, and the environment back as it was."""

import os
import sys

import openai
import pytest

from harness.items import message
from tests.support.inner_run import Run
from tests.support.slow import slow_except_every

ONE = """
def test_one(mock, client):
    mock.script(message("hi"))
    answer = client.responses.create(model="gpt-4.1", input="x")
    print(answer.id, answer.created_at, answer._request_id, mock.api_key)
    assert answer.output_text == "hi"
"""


def test_an_unmodified_app_finds_the_mock_by_its_environment(run, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.invalid/v1")
    run("""
def test_app(mock):
    mock.script(message("hi"))
    assert openai.OpenAI().responses.create(model="gpt-4.1", input="x").output_text == "hi"
    assert (os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]) == (mock.base_url, mock.api_key)
    assert [exchange.status for exchange in mock.exchanges] == [200]
""").assert_outcomes(passed=1)


def test_a_proxy_of_the_environment_is_not_asked(run, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "example.com")
    run("""
def test_app(mock):
    mock.script(message("hi"))
    assert openai.OpenAI(max_retries=0).responses.create(model="gpt-4.1", input="x").output_text == "hi"
    assert os.environ["NO_PROXY"].startswith("127.0.0.1,api.openai.com,")
    assert os.environ["NO_PROXY"].endswith(",example.com")
""").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "variable",
    slow_except_every(
        3, ["OPENAI_ORG_ID", "OPENAI_PROJECT", "OPENAI_PROJECT_ID", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"]
    ),
)
def test_no_variable_of_the_developer_leaks_in(run, monkeypatch, variable):
    monkeypatch.setenv(variable, "mine")
    run(f"def test_app(mock): assert '{variable}' not in os.environ").assert_outcomes(passed=1)
    assert os.environ[variable] == "mine"


def test_the_environment_is_restored_even_when_the_test_changes_it(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    run("""
def test_first(monkeypatch, mock):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")

def test_second():
    assert os.environ["OPENAI_API_KEY"] == "sk-mine"
    assert "OPENAI_BASE_URL" not in os.environ
""").assert_outcomes(passed=2)


def test_the_client_sends_each_request_once(mock, client):
    mock.organization(failing=True)
    with pytest.raises(openai.InternalServerError):
        client.responses.create(model="gpt-4.1", input="x")
    assert len(mock.exchanges) == 1


@pytest.mark.asyncio
async def test_the_asynchronous_client_sends_each_request_once(mock, async_client):
    mock.organization(failing=True)
    with pytest.raises(openai.InternalServerError):
        await async_client.responses.create(model="gpt-4.1", input="x")
    assert len(mock.exchanges) == 1


def test_two_tests_share_nothing(run):
    run("""
seen = {}

def test_first(mock, client):
    mock.script(message("hi"))
    seen["id"] = client.responses.create(model="gpt-4.1", input="x").id
    seen["world"] = mock

def test_second(mock, client):
    assert (mock.exchanges, mock.world.problems, mock.world.script.unused) == ([], [], [])
    assert mock.base_url == seen["world"].base_url and mock.api_key != seen["world"].api_key
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(seen["id"])
""").assert_outcomes(passed=2)


def test_two_keys_share_nothing(mock, client, mock_server):
    other = mock_server.api.open("sk-other", "other", mock_server.base_url)
    mock.script(message("one"))
    other.script(message("two"))
    with openai.OpenAI(api_key="sk-other") as second:
        one = client.responses.create(model="gpt-4.1", input="x")
        assert second.responses.create(model="gpt-4.1", input="x").output_text == "two"
        with pytest.raises(openai.NotFoundError):
            second.responses.retrieve(one.id)
    assert (len(mock.exchanges), len(other.exchanges)) == (1, 2)


def test_the_key_of_a_test_that_has_ended_is_refused(run):
    run("""
keys = []

def test_first(mock):
    keys.append(mock.api_key)

def test_second(mock):
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key=keys[0]).responses.create(model="gpt-4.1", input="x")
""").assert_outcomes(passed=2)


@pytest.mark.slow
def test_the_same_test_gives_the_same_bytes_wherever_it_runs(run):
    alone = printed(run(ONE, "-s"))
    among = printed(run("def test_before(mock): pass\n" + ONE + "def test_after(mock): pass", "-s"))
    grouped = printed(
        run("pytestmark = pytest.mark.xdist_group('a')\n" + ONE, "-rP", "-n1", "--dist=loadgroup", apart=True)
    )
    assert alone == among == grouped


def printed(result):
    result.assert_outcomes(passed=result.parseoutcomes()["passed"])
    return [line[line.index("resp_") :] for line in result.outlines if "resp_" in line]


def test_another_test_gives_other_ids(run):
    first, second = printed(run(ONE + ONE.replace("test_one", "test_two"), "-s"))
    assert first.split()[0] != second.split()[0]
    assert first.split()[3] != second.split()[3]


def test_a_client_without_the_sdk_says_what_to_install(run):
    run("""
import sys

@pytest.fixture
def without(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)

def test_sync(without, client): ...
def test_async(without, async_client): ...
def test_other(without, mock): ...
""").shows('*pip install *[[]openai]"*', errors=2, passed=1)


@pytest.mark.parametrize("fixture", ["openai_client", "async_openai_client"])
def test_a_client_without_the_responses_api_is_reported(run, pytester, monkeypatch, fixture):
    (pytester.mkdir("old") / "openai.py").write_text('__version__ = "1.50.0"\n')
    monkeypatch.syspath_prepend(pytester.path / "old")
    for name in [name for name in sys.modules if name.partition(".")[0] == "openai"]:
        monkeypatch.delitem(sys.modules, name)
    result = pytester.runpytest_inprocess(pytester.makepyfile(f"def test_it({fixture}): ..."), "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    said = result.stdout.str()
    assert "the fixture needs openai 1.66 or newer: openai 1.50.0, which is installed, has no Responses API." in said
    assert 'pip install "openai>=1.66"' in said


SILENT = """
def test_a(mock): pass
def test_b(mock): assert mock.exchanges == []
@pytest.mark.harness(requests="allow")
def test_c(mock): pass
def test_d(mock): swallow()
def test_e(): pass
@pytest.fixture
def client_of_all(mock): return openai.OpenAI()
def test_f(client_of_all): pass
"""


class TestATestThatSendsNothing:
    def test_a_test_that_sends_nothing_is_named_at_the_end_if_it_asked_for_the_mock(self, run: Run) -> None:
        run(SILENT.replace("swallow()", 'mock.script("Hi"); swallow()')).shows(
            "2 tests asked for `mock` but sent it no request: test_*.py::test_a, test_*.py::test_b", passed=6
        )

    def test_a_test_that_sends_nothing_fails_if_requests_are_required(self, run: Run) -> None:
        run('@pytest.mark.harness(requests="required")\ndef test_a(mock): pass').shows(
            "No request came with this test's key sk-harness-*",
            "  fix     The code under test must read OPENAI_BASE_URL and OPENAI_API_KEY*",
            failed=1,
        )

    def test_a_test_that_sends_nothing_fails_if_its_client_sends_them_elsewhere(self, run: Run) -> None:
        run("""
@pytest.mark.harness(requests="required")
def test_a(mock):
    swallow(openai.OpenAI(base_url="http://127.0.0.1:9/v1", max_retries=0))
""").shows("No request came with this test's key sk-harness-*", failed=1)

    def test_a_test_that_calls_a_provider_is_reported_behind_a_proxy_too(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        run("""
def test_a(mock):
    swallow(openai.OpenAI(base_url="http://api.openai.com/v1", max_retries=0))
""").shows("A connection to the live API, api.openai.com:80, was refused: this test uses the mock.", failed=1)


def test_a_server_in_the_middle_is_judged_without_being_asked_for(run: Run) -> None:
    run("""
from harness.drive import Chat

def test_it(mock):
    mock.script(message("Here."), message("There."))
    with Chat(mock.base_url, mock.api_key, stream=False) as chat:
        chat.say("Who?")
        swallow(input=[*chat.items, {"role": "user", "content": "Who?\\nAnd where?"}])
""").shows('request 2: the user\'s text "Who?" appears 2 times, but was sent 1 time', failed=1)


def test_a_red_test_is_reported_without_the_plugin_for_debugging(run: Run) -> None:
    source = "def test_it(mock, openai_client): openai_client.responses.create(input='hi')"
    run(source, "-pno:debugging").exits(pytest.ExitCode.TESTS_FAILED)

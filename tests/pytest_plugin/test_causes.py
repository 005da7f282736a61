"""Hints at errors of Python and of the SDK that come from how a test was set up."""

import gc

import openai
import pytest

from harness.pytest_plugin.causes import _shorten_chain, close_not_started
from tests.support.inner_run import Run

PLUGIN = """
import pytest

class Client:
    def get(self, path): return path

@pytest.fixture
def client(): return Client()

@pytest.fixture
def async_client(): return Client()
"""
MADE_TOO_EARLY = "*A client is created before the mock exists. *"
REMEDY = "*requests `mock`. Or set `harness_env = session` in pytest's configuration: *"


class TestClientsWithoutAKey:
    @pytest.fixture(autouse=True)
    def _no_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY", "AZURE_OPENAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)

    def test_clients_without_a_key_in_a_module(self, run: Run) -> None:
        run("client = openai.OpenAI()\ndef test_it(mock): ...").shows(
            "E *OpenAIError: *", MADE_TOO_EARLY, REMEDY, errors=1
        )

    def test_clients_without_a_key_in_a_conftest(self, pytester: pytest.Pytester, run: Run) -> None:
        pytester.makeconftest("import openai\nclient = openai.OpenAI()")
        result = run("def test_it(mock): ...")
        result.stderr.fnmatch_lines(["*OpenAIError: *", MADE_TOO_EARLY, REMEDY])

    def test_clients_without_a_key_in_a_fixture(self, run: Run) -> None:
        run("""
@pytest.fixture(scope="session")
def made(): return openai.OpenAI()

def test_it(made, mock): ...
""").shows("E *OpenAIError: *", f"E {MADE_TOO_EARLY}", f"E {REMEDY}", errors=1)

    def test_clients_without_a_key_for_azure(self, run: Run) -> None:
        run("client = openai.AzureOpenAI(api_version='1')\ndef test_it(mock): ...").shows(
            "*A client for Azure is created before the mock exists. *", '*(dialect="azure").'
        )

    def test_clients_without_a_key_need_no_hint_with_the_environment_of_the_session(self, run: Run) -> None:
        run("client = openai.OpenAI()\ndef test_it(mock): ...", "-o", "harness_env=session").assert_outcomes(passed=1)


class TestAFixtureOfAnotherPlugin:
    @pytest.fixture(autouse=True)
    def _plugin(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(web_plugin=PLUGIN)
        pytester.makeconftest("pytest_plugins = ['web_plugin']")
        pytester.syspathinsert()

    @pytest.mark.parametrize("name", ["client", "async_client"])
    def test_a_fixture_of_another_plugin_that_replaces_the_sdks_is_named(self, run: Run, name: str) -> None:
        own = name.replace("client", "openai_client")
        run(f"def test_it({name}, mock): {name}.responses.create(model='gpt-4.1', input='x')").shows(
            "E *AttributeError: 'Client' object has no attribute 'responses'",
            f"E *`{name}` is a fixture of web_plugin here, a web_plugin.Client. The client of the mock is `{own}`.",
            failed=1,
        )

    def test_a_fixture_is_named_when_the_application_takes_it_for_the_sdks(self, run: Run) -> None:
        run("""
def answer(api, chained):
    try:
        return api.responses.create(model="gpt-4.1", input="x")
    except AttributeError as problem:
        if chained:
            raise RuntimeError("no answer") from problem
        raise RuntimeError("no answer")

@pytest.mark.parametrize("chained", [True, False])
def test_it(client, mock, chained): answer(client, chained)
""").shows(*2 * ["E *The client of the mock is `openai_client`."], failed=2)

    def test_a_fixture_of_another_plugin_is_used_in_peace(self, run: Run) -> None:
        """A test of a web application uses its framework's client, and the mock behind it."""
        result = run("""
def test_it(client, mock, openai_client):
    mock.script(message("hi"))
    assert client.get("/") == "/"
    assert openai_client.responses.create(model="gpt-4.1", input="x").output_text == "hi"

def test_wrong(client, mock):
    client.post("/")
""")
        result.assert_outcomes(passed=1, failed=1)
        assert "openai_client" not in result.stdout.str().partition("FAILURES")[2]

    def test_a_fixture_of_another_plugin_leaves_the_clients_of_the_mock_under_their_own_names(self, run: Run) -> None:
        run("""
@pytest.mark.asyncio
async def test_it(mock, async_openai_client):
    mock.script(message("hi"))
    assert (await async_openai_client.responses.create(model="gpt-4.1", input="x")).output_text == "hi"
""").assert_outcomes(passed=1)


def test_the_shorter_names_are_the_same_clients(
    client: object, openai_client: object, async_client: object, async_openai_client: object
) -> None:
    assert client is openai_client
    assert isinstance(client, openai.OpenAI)
    assert async_client is async_openai_client
    assert isinstance(async_client, openai.AsyncOpenAI)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("items import mesage", "Did you mean 'message'?"),
        ("core.text import qoute", "Did you mean 'quote'?"),
        ("pytest_plugin.causes import name_hint", "Did you mean 'client_hint'?"),
        ("items import xyzzy", "The `harness` that was imported is the one of responses-harness. *"),
    ],
)
def test_a_misspelt_name_of_the_harness_is_spelt_right(run: Run, name: str, told: str) -> None:
    result = run(f"from harness.{name}\ndef test_it(mock): ...")
    result.stdout.fnmatch_lines(["*ImportError: cannot import name*", told])


def test_a_token_that_is_not_sent_over_plain_http(run: Run) -> None:
    said = "Bearer token authentication is not permitted for non-TLS protected (non-https) URLs."
    result = run(f"def test_it(mock): raise RuntimeError('{said}')\ndef test_other(): raise RuntimeError('{said}')")
    result.assert_outcomes(failed=2)
    shown = result.stdout.str().partition("short test summary")[0]
    assert shown.count("The mock speaks TLS to a test with the fixture `foundry_credential`") == 1


class TestATestWithoutRequests:
    def test_a_test_without_requests_gets_no_hint_where_that_is_not_the_cause(
        self, run: Run, pytester: pytest.Pytester
    ) -> None:
        pytester.makepyfile(pytest_socket="class SocketBlockedError(RuntimeError): ...")
        pytester.syspathinsert()
        own = ("raise RuntimeError('my own')", "raise pytest_socket.SocketBlockedError()")
        bodies = ("import no_such_module", "undefined", "len()", *own)
        tests = [
            f"def test_{at}(mock):\n    mock.script(message('hi'))\n    {body}\n" for at, body in enumerate(bodies)
        ]
        run("import pytest_socket\n" + "".join(tests)).shows(failed=5).hides("*No request came*")

    @pytest.mark.parametrize(
        "body", ["assert 0", "openai.OpenAI(base_url='http://127.0.0.1:9', max_retries=0).models.list()"]
    )
    def test_a_test_without_requests_gets_a_hint_where_that_may_be_the_cause(self, run: Run, body: str) -> None:
        run(f"def test_it(mock):\n    mock.script(message('hi'))\n    {body}").shows("No request came*")

    def test_a_test_without_requests_for_want_of_a_plugin_for_coroutines(self, run: Run) -> None:
        result = run("async def test_it(mock): mock.script(message('hi'))", "-p", "no:asyncio", "-p", "no:anyio")
        result.shows(failed=1).hides("*No request came*")

    @pytest.mark.parametrize(
        ("plugin", "option"),
        [("pytest_socket", "--allow-hosts=127.0.0.1,::1"), ("pytest_recording", "--allowed-hosts=127.0.0.1")],
    )
    def test_a_blocked_socket_is_reported_with_the_way_to_allow_loopback(
        self, run: Run, pytester: pytest.Pytester, plugin: str, option: str
    ) -> None:
        pytester.makepyfile(
            **{plugin: "def block(self, *_, **__):\n    self.close()\n    raise RuntimeError('Network is disabled')"}
        )
        pytester.syspathinsert()
        run(f"""
import socket, {plugin}

def test_it(mock, monkeypatch):
    mock.script(message('hi'))
    monkeypatch.setattr(socket.socket, "connect", {plugin}.block)
    openai.OpenAI(max_retries=0).responses.create(model="gpt-4.1", input="x")
""").shows(f"E *blocks the mock's address, too. Let loopback through: pytest {option}").hides("*No request came*")


class TestAFixtureMockOfTheProject:
    def test_a_fixture_mock_is_the_projects_and_the_longer_name_is_the_mocks(self, run: Run) -> None:
        run("""
@pytest.fixture
def mock(): return {}

def test_it(mock, openai_mock, openai_client):
    openai_mock.script(message("hi"))
    assert openai_client.responses.create(model="gpt-4.1", input="x").output_text == "hi"
    assert mock == {}
""").assert_outcomes(passed=1)

    def test_a_fixture_mock_of_the_project_that_replaces_the_harnesss_is_named(self, run: Run) -> None:
        run("""
@pytest.fixture
def mock(): return object()

def test_it(mock): mock.script(message("hi"))
""").shows("E *`mock` is a fixture of test_* here, *. The mock of responses-harness is `openai_mock`.")

    def test_a_fixture_mock_of_the_project_is_the_same_where_nobody_has_one(self, run: Run) -> None:
        run("def test_it(mock, openai_mock): assert mock is openai_mock").assert_outcomes(passed=1)


def test_frames_of_the_sdk_are_not_shown(run: Run) -> None:
    source = """
def answer(client): return client.responses.create(model="gpt-4.1", input="x", temperature=9)

def test_it(mock, openai_client): answer(openai_client)
"""
    result = run(source).shows(">   def test_it(*", ">   def answer(*", "E *BadRequestError: *")
    result.hides("*_base_client.py*")
    assert len(result.outlines) < 60
    run(source, "--full-trace").shows("*_base_client.py:*")


CALL = """
TOOLS = [{"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "strict": False}]

@pytest.mark.harness(unused="allow")
def test_it(mock, client):
    mock.script(function_call("get_weather", {"city": "Paris"}))
    client.responses.create(model="gpt-4.1", instructions="You are the planner.", input="x", tools=TOOLS)
"""
PATH = "planner → get_weather(city=Paris) unanswered"


def test_a_claim_says_how_it_was(run):
    run(CALL + "    assert mock.calls.named('get_weather').times(2)").shows(
        f"E *assert 1 call of get_weather, not 2; the path: {PATH}", failed=1
    )


def test_a_claim_that_holds_passes(run):
    run(CALL + "    assert mock.calls.named('get_weather').times(1)").assert_outcomes(passed=1)


class TestAClaimWithoutAnAssertion:
    def test_a_claim_without_an_assertion_fails_the_test_when_it_does_not_hold(self, run):
        run(CALL + "    mock.calls.named('get_weather').times(2)").shows(
            "A claim that is not asserted is false: 1 call of get_weather, not 2; the path: planner → *",
            "  where   test_a_claim_without_an_assertion_fails_the_test_when_it_does_not_hold.py:*",
            "  fix     Write `assert` before it, so that the test fails in that line, and check the path.",
            "  manual  responses-harness manual a-claim-does-not-hold",
            failed=1,
        )

    def test_a_claim_that_does_not_hold_fails_it_among_others_that_do(self, run):
        run(CALL + "    mock.calls.times(1)\n    mock.calls.before('book')").shows(
            "*there is no call of book; the path:*", failed=1
        )

    def test_a_claim_without_an_assertion_passes_when_it_holds(self, run):
        run(CALL + "    mock.calls.named('get_weather').times(1)").assert_outcomes(passed=1)

    @pytest.mark.parametrize(
        "line", ["assert not mock.calls.times(2)", "print(mock.calls.times(2))", "mock.calls.times(2) or None"]
    )
    def test_a_claim_without_an_assertion_passes_when_the_test_has_looked_at_it(self, run, line):
        run(CALL + f"    {line}").assert_outcomes(passed=1)


def test_a_comparison_is_followed_by_the_path(run):
    run(CALL + "    assert mock.agents == ['planner', 'ops']").shows(
        "E *assert ?'planner'? == ?'planner', 'ops'?",
        "E*Right contains one more item: 'ops'",
        f"E *the path: {PATH}",
        failed=1,
    )


def test_other_comparisons_are_left_alone(run):
    run("def test_it(mock):\n    assert [1] == [2]").shows(failed=1).hides("*the path*")


def test_a_coroutine_of_a_failed_test_is_named_and_closed_so_that_no_later_test_is_blamed(recwarn):
    async def agent():
        raise AssertionError("never awaited")

    def parse():
        waiting = agent()
        return int(str(waiting))

    with pytest.raises(ValueError, match="invalid literal") as failed:
        parse()
    assert close_not_started(failed.value) == (f"coroutine '{agent.__qualname__}' was never awaited",)
    del failed
    gc.collect(1)
    assert not recwarn.list


@pytest.mark.parametrize("is_loop", [False, True])
def test_a_chain_without_frames_is_its_first_and_its_last_error(is_loop: bool) -> None:
    failed, between, last = RuntimeError("failed"), ValueError("between"), KeyError("last")
    failed.__cause__, between.__cause__, last.__cause__ = between, last, failed if is_loop else None
    _shorten_chain(failed)
    assert failed.__cause__ is (between if is_loop else last)

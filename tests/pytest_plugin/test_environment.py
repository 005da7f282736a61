"""`harness_env = session`: the environment leads to the mock before collection, its key to the World of the running test."""

import os

import pytest

from tests.support.inner_run import Run
from tests.support.processes import SECONDS

SESSION = ("-o", "harness_env=session")
APP = """
import openai

client = openai.OpenAI(max_retries=0)
shared = openai.AsyncOpenAI(max_retries=0)

def answer():
    return client.responses.create(model="gpt-4.1", input="x").output_text

async def answer_async():
    return (await shared.responses.create(model="gpt-4.1", input="x")).output_text
"""
AT_IMPORT = """
import app

@pytest.mark.parametrize("n", range(3))
def test_it(mock, n):
    mock.script(message(str(n)))
    assert app.answer() == str(n)
    assert [exchange.status for exchange in mock.exchanges] == [200]
"""
SHARED = """
import app

{mark}
@pytest.mark.parametrize("n", range(3))
async def test_it(mock, n{fixtures}):
    mock.script(message(str(n)), message("at once"), message("at once"))
    assert await app.answer_async() == str(n)
    assert len(mock.exchanges) == 1
    assert await app.answer_async() == await app.answer_async() == "at once"
"""


@pytest.fixture
def _app(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """An application whose clients are made at import, and no key in the environment."""
    pytester.makepyfile(app=APP)
    pytester.syspathinsert()
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_app")
class TestAClientMadeAtImport:
    def test_a_client_made_at_import_asks_the_world_of_the_running_test(self, run: Run) -> None:
        run(AT_IMPORT, *SESSION).assert_outcomes(passed=3)
        assert not {"OPENAI_API_KEY", "OPENAI_BASE_URL"} & set(os.environ), "the environment is as it was"

    @pytest.mark.slow
    def test_a_client_made_at_import_does_so_in_the_workers_of_xdist(self, run: Run) -> None:
        run(AT_IMPORT, *SESSION, "-n", "2", apart=True).assert_outcomes(passed=3)

    def test_a_client_made_at_import_may_be_made_in_a_conftest(self, pytester: pytest.Pytester, run: Run) -> None:
        pytester.makeconftest("import app")
        run(AT_IMPORT, *SESSION).assert_outcomes(passed=3)

    def test_a_client_made_at_import_is_used_with_any_key_of_its_own_beside(self, run: Run) -> None:
        run(
            """
import app

@pytest.mark.harness(key="sk-test")
def test_it(mock, client):
    mock.script(message("a"), message("b"), message("c"))
    own = openai.OpenAI(api_key="sk-test", max_retries=0)
    made = client.responses.create(model="gpt-4.1", input="x")
    assert own.responses.retrieve(made.id).output_text == "a"
    assert [app.answer(), own.responses.create(model="gpt-4.1", input="x").output_text] == ["b", "c"]
""",
            *SESSION,
        ).assert_outcomes(passed=1)

    def test_a_client_made_at_import_that_asks_outside_the_mocks_tests_is_reported(self, run: Run) -> None:
        run(
            """
import app

def test_before(mock): ...

def test_it():
    with pytest.raises(openai.APIStatusError) as caught:
        app.answer()
    assert caught.value.status_code == 418
    print(caught.value.body["message"])
""",
            *SESSION,
            "-s",
        ).shows("*POST /responses: no test uses `mock` now, *Request the fixture `mock`*", passed=2)

    def test_a_client_made_at_import_that_asks_at_import_is_reported(self, run: Run) -> None:
        run("import app\napp.answer()\ndef test_it(mock): ...", *SESSION).shows(
            "E *APIStatusError: Error code: 418 - *no test uses `mock` now*", errors=1
        )


@pytest.mark.usefixtures("_app")
class TestASharedAsyncClient:
    """Each test has an event loop of its own, and connections of the tests before are of loops that have ended."""

    def test_a_shared_async_client_works_with_the_loops_of_pytest_asyncio(self, run: Run) -> None:
        run(SHARED.format(mark="@pytest.mark.asyncio", fixtures=""), *SESSION).assert_outcomes(passed=3)

    def test_a_shared_async_client_works_with_anyio_on_asyncio_and_on_trio(self, run: Run) -> None:
        both = SHARED.format(mark="@pytest.mark.anyio", fixtures=", anyio_backend")
        run(both, *SESSION).assert_outcomes(passed=6)

    def test_a_shared_async_client_works_although_a_stream_was_left_open(self, run: Run) -> None:
        source = """
import app

@pytest.mark.asyncio
async def test_leaves(mock):
    mock.script(message("word " * 5000))
    stream = await app.shared.responses.create(model="gpt-4.1", input="x", stream=True)
    async for event in stream:
        break
    await stream.close()
"""
        run(source + SHARED.format(mark="@pytest.mark.asyncio", fixtures=""), *SESSION).assert_outcomes(passed=4)


class TestTheEnvironment:
    def test_the_environment_keeps_the_key_of_the_session_during_a_test(self, run: Run) -> None:
        """A client that one test makes and keeps is of use to the next."""
        run(
            """
made = []

@pytest.mark.parametrize("n", range(2))
def test_it(mock, n):
    made.append(openai.OpenAI(max_retries=0))
    mock.script(message(str(n)))
    assert made[0].responses.create(model="gpt-4.1", input="x").output_text == str(n)
    assert mock.api_key != os.environ["OPENAI_API_KEY"]
""",
            *SESSION,
        ).assert_outcomes(passed=2)

    @pytest.mark.parametrize("dialect", ["azure", "foundry"])
    def test_the_environment_is_that_of_the_dialect_during_a_test(self, run: Run, dialect: str) -> None:
        make = "openai.AzureOpenAI()" if dialect == "azure" else "openai.OpenAI()"
        run(
            f"""
@pytest.mark.harness(dialect="{dialect}")
def test_it(mock):
    mock.script(message("hi"))
    with {make} as made:
        assert made.responses.create(model="gpt-4.1", input="x").output_text == "hi"
""",
            *SESSION,
        ).assert_outcomes(passed=1)

    def test_the_environment_is_not_set_before_a_test_without_the_option(self, run: Run) -> None:
        run("""
assert "OPENAI_BASE_URL" not in os.environ
def test_it(mock): ...
""").assert_outcomes(passed=1)

    def test_the_environment_of_an_unknown_kind_is_refused(self, run: Run) -> None:
        result = run("def test_it(): ...", "-o", "harness_env=module")
        result.stderr.fnmatch_lines(["ERROR: harness_env = module: use one of test, session."])

    @pytest.mark.slow
    def test_the_environment_costs_nothing_unless_a_request_comes(self, pytester: pytest.Pytester) -> None:
        pytester.makeconftest("""
import sys

def pytest_sessionfinish():
    watched = {"harness.server.http_server", "harness.server.mock_api", "uvicorn", "openai"}
    print("loaded:", sorted(watched & set(sys.modules)))
""")
        pytester.makepyfile("def test_it(): ...")
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-s", *SESSION, timeout=SECONDS)
        result.stdout.fnmatch_lines(["*loaded: []*"])

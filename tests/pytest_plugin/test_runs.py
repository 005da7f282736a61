"""Every way pytest runs: apart, in parallel, with event loops, only collecting."""

import pytest

from tests.support.processes import SECONDS

TWO = """
@pytest.mark.parametrize("n", range(8))
def test_parallel(mock, client, n):
    mock.script(*(message(str(n)) for _ in range(5)))
    said = [client.responses.create(model="gpt-4.1", input="x").output_text for _ in range(5)]
    assert said == [str(n)] * 5

def test_failing(mock, client):
    mock.script(message("left"))
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="gpt-4.1", input=[{"role": "user", "content": "x", "bogus": 1}])
"""
ASYNC = """
async def test_async({fixtures}async_client, mock):
    mock.script(message("hi"), message("one two three"))
    answer = await async_client.responses.create(model="gpt-4.1", input="x")
    async with async_client.responses.stream(model="gpt-4.1", input="y") as stream:
        events = [event.type async for event in stream]
    assert answer.output_text == "hi" and events[-1] == "response.completed"

async def test_at_once({fixtures}async_client, mock):
    mock.script(*(message("hi") for _ in range(10)))
    calls = [async_client.responses.create(model="gpt-4.1", input="x") for _ in range(10)]
    assert {{answer.output_text for answer in await asyncio.gather(*calls)}} == {{"hi"}}

async def test_abandoned({fixtures}async_client, mock):
    mock.script(message("word " * 500))
    stream = await async_client.responses.create(model="gpt-4.1", input="x", stream=True)
    async for event in stream:
        break
    await stream.close()
"""
COLLECT = """
import gc

@pytest.fixture(autouse=True)
def collected():
    yield
    gc.collect()
"""


@pytest.mark.slow
@pytest.mark.parametrize("fixtures", ["", "anyio_backend, "], ids=["strict", "anyio"])
def test_the_async_client_leaves_nothing_open(run, fixtures):
    mark = "anyio" if fixtures else "asyncio"
    backend = '@pytest.fixture\ndef anyio_backend(): return "asyncio"\n'
    run(f"pytestmark = pytest.mark.{mark}\n{backend}{COLLECT}{ASYNC.format(fixtures=fixtures)}").assert_outcomes(
        passed=3
    )


@pytest.mark.slow
def test_the_async_client_under_the_auto_mode_of_pytest_asyncio(run):
    run(COLLECT + ASYNC.format(fixtures=""), "-o", "asyncio_mode=auto").assert_outcomes(passed=3)


@pytest.mark.slow
def test_the_async_client_under_trio(run):
    backend = 'pytestmark = pytest.mark.anyio\n@pytest.fixture\ndef anyio_backend(): return "trio"\n'
    one = ASYNC.format(fixtures="anyio_backend, ").partition("async def test_at_once")[0]
    run(backend + COLLECT + one).assert_outcomes(passed=1)


@pytest.mark.slow
def test_in_parallel_processes(run):
    run(TWO, "-n", "2", apart=True).shows(
        "1 turn of the script was never used.",
        "*- responses-harness -*",
        "*refused: 400 Unknown parameter: *",
        passed=8,
        failed=1,
    )


def test_without_other_plugins(run):
    others = ["-p", "no:randomly", "-p", "no:asyncio", "-p", "no:anyio", "-p", "no:xdist"]
    run(TWO, *others, "-W", "ignore::pytest.PytestConfigWarning").assert_outcomes(passed=8, failed=1)


@pytest.mark.slow
def test_collecting_starts_no_server(pytester):
    pytester.makeconftest("""
import sys

def pytest_sessionfinish():
    watched = {"harness.server.http_server", "harness.server.mock_api", "fastapi", "openai"}
    print("loaded:", sorted(watched & set(sys.modules)))
""")
    pytester.makepyfile("def test_it(mock): ...")
    result = pytester.runpytest_subprocess("--collect-only", "-p", "no:cacheprovider", timeout=SECONDS)
    result.stdout.fnmatch_lines(["*<Function test_it>", "*loaded: []"])


PASSING = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_passes(number): ...

def test_is_skipped():
    pytest.skip("not here")
"""
NOTING = """
import os, pytest, sys

def note(moment):
    with open(f"{moment}-{os.getpid()}.modules", "w") as file:
        file.write(" ".join(sys.modules))

def pytest_sessionstart():
    note("start")

@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    note("end")
"""
LOADED_UNUSED = {
    *("responses_harness_pytest", "harness", "harness.pytest_plugin"),
    *("harness.pytest_plugin.plugin", "harness.pytest_plugin.options"),
}
"""All that the plugin may import in a project whose tests do not use it: it costs every run of that project."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [[], ["--junitxml=report.xml"], ["-n", "2"]],
    ids=["alone", "junit", "xdist"],
)
def test_a_project_that_does_not_use_the_plugin_loads_little_of_it(pytester, options):
    pytester.makepyfile(PASSING)
    pytester.makeconftest(NOTING)

    def loaded(*more: str) -> list[set[str]]:
        for file in pytester.path.glob("*.modules"):
            file.unlink()
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options, *more, timeout=SECONDS)
        result.assert_outcomes(passed=3, skipped=1)
        return [set(file.read_text().split()) for file in pytester.path.glob("*.modules")]

    without = set[str]().union(*loaded("-p", "no:responses_harness"))
    noted = loaded()
    assert len(noted) == (6 if "-n" in options else 2)  # at the start and at the end, in each process
    # The controller of xdist reports what its workers find.
    assert sum(modules - without == LOADED_UNUSED for modules in noted) == (4 if "-n" in options else 2)

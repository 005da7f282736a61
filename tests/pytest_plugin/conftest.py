"""How these tests run pytest inside pytest: with every warning an error, and a script's builders at hand."""

from collections.abc import Callable

import openai
import pytest

from harness.items import message
from harness.server.asgi import serve_in_thread
from harness.server.mock_api import MockApi
from tests.support.processes import SECONDS

INI = """
[pytest]
filterwarnings =
    error
    ignore:Module already imported:pytest.PytestAssertRewriteWarning
asyncio_default_fixture_loop_scope = function
"""
HEAD = """
import asyncio, os
import openai, pytest
from harness.items import function_call, message
"""


@pytest.fixture(scope="session")
def _loaded() -> None:
    """What a run inside needs is imported before it: it forgets its own imports, which would cost seconds each."""
    mock = MockApi(keys=())
    with serve_in_thread(mock) as server, openai.OpenAI(base_url=server.base_url, api_key="sk-warm") as client:
        mock.open("sk-warm").script(message("hi"), message("hi"))
        client.responses.create(model="gpt-4.1", input="hi")
        with client.responses.stream(model="gpt-4.1", input="hi") as stream:
            stream.until_done()


@pytest.fixture
def write(pytester: pytest.Pytester) -> Callable[[str], None]:
    """Write tests given as source, and the configuration of pytest."""

    def write(source: str) -> None:
        pytester.makeini(INI)
        pytester.makepyfile(HEAD + source)

    return write


@pytest.fixture
def run(pytester: pytest.Pytester, write: Callable[[str], None], _loaded: None) -> Callable[..., pytest.RunResult]:
    """Run tests given as source in this process; the lines of output are the result's."""

    def run(source: str, *args: str, apart: bool = False) -> pytest.RunResult:
        write(source)
        options = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", *args)  # hypothesis costs seconds each time
        if apart:
            return pytester.runpytest_subprocess(*options, timeout=SECONDS)
        return pytester.runpytest_inprocess(*options)

    return run

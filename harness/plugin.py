"""The pytest plugin: one server for a test run, one World for a test, and a report that says what went wrong.

Nothing but pytest is imported before the first test asks for the mock.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pytest

from harness.errors import ConfigError

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from harness.server import Server
    from harness.world import World

UNUSED = ("fail", "allow")
OPTIONS = {"unused": UNUSED, "dialect": ("openai", "azure", "foundry")}
"""What a `harness` marker may say, and which values it takes; without a dialect the mock speaks all of them."""
AZURE_VERSION = "2025-04-01-preview"
LEAKS = (
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT",
    "OPENAI_PROJECT_ID",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_API_TYPE",
    "OPENAI_API_VERSION",
)
"""Variables that would change the requests of a client; those that begin with AZURE_OPENAI_ do too."""

_OWN = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT")
"""Variables that lead to the mock, in some dialect or other."""

_WORLD = pytest.StashKey["World"]()
_JUDGED = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        'harness(unused="fail"): what the mock does at the end of a test; unused="allow" lets turns be left over. '
        'harness(dialect="azure"): the mock is that provider alone (openai, azure, foundry), and so is the environment.',
    )


@pytest.fixture(scope="session")
def mock_server() -> Iterator[Server]:
    """The server of this process, started by the first test that asks; it knows only the keys of running tests."""
    from harness.mock import Mock
    from harness.server import serving

    with serving(Mock(keys=())) as server:
        yield server


@pytest.fixture
def mock(request: pytest.FixtureRequest, mock_server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A World of this test's own, under a key of its own; the environment leads every OpenAI client to it.

    The test fails when a request found no turn, or a turn found no request (`@pytest.mark.harness(unused="allow")`
    permits the latter). The same test gives the same ids, times and key in every run.
    """
    from harness.dialect import ROOTS

    dialect = options(request.node).get("dialect")
    name = f"{request.node.parent.nodeid}::{request.node.name}"
    base_url = mock_server.base_url.removesuffix(ROOTS["openai"]) + ROOTS[dialect or "openai"]
    world = mock_server.mock.open(key_of(name), name, base_url)
    world.dialect = dialect
    request.node.stash[_WORLD] = world
    _lead(world, monkeypatch)
    yield world
    mock_server.mock.close(world.api_key)
    if len(world.problems) > request.node.stash.get(_JUDGED, len(world.problems)):
        _fail(world, unused=False)


@pytest.fixture
def client(mock: World) -> Iterator[OpenAI]:
    """An `openai.OpenAI` on the mock; it never retries, so that each call is one exchange."""
    openai = _sdk()
    http = openai.DefaultHttpxClient(verify=False)  # plain HTTP: loading certificates would take 20 ms
    with openai.OpenAI(base_url=mock.base_url, api_key=mock.api_key, max_retries=0, http_client=http) as made:
        yield made


@pytest.fixture
def async_client(mock: World) -> Iterator[AsyncOpenAI]:
    """An `openai.AsyncOpenAI` on the mock, for any event loop; it never retries and keeps no connection open.

    A connection that outlives its test's event loop cannot be closed any more.
    """
    import asyncio

    openai = _sdk()
    limits = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=1000, max_keepalive_connections=0)
    http = openai.DefaultAsyncHttpxClient(limits=limits, verify=False)
    made = openai.AsyncOpenAI(base_url=mock.base_url, api_key=mock.api_key, max_retries=0, http_client=http)
    yield made
    loop = asyncio.new_event_loop()
    loop.run_until_complete(made.close())
    loop.close()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Judge the script when the body has passed, so that it is the test that fails and not its teardown."""
    result = yield
    if world := item.stash.get(_WORLD, None):
        item.stash[_JUDGED] = len(world.problems)
        _fail(world, unused=_counts_unused(item))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the World saw to the report of a failure."""
    report = yield
    world = item.stash.get(_WORLD, None)
    if world and report.failed:
        from harness import failure

        unused = _JUDGED not in item.stash and _counts_unused(item)
        report.sections.append((failure.TITLE, failure.report(world, unused=unused)))
    if world and report.when == "teardown":
        del item.stash[_WORLD]
    return report


def options(node: pytest.Item) -> dict[str, str]:
    """The options of the `harness` markers of a test, the closest winning; what does not fit is a ConfigError."""
    chosen = {"unused": UNUSED[0]}
    for marker in reversed(list(node.iter_markers("harness"))):
        unknown = [*map(repr, marker.args), *(f"{name}=…" for name in marker.kwargs if name not in OPTIONS)]
        if unknown:
            raise ConfigError(
                f"@pytest.mark.harness({', '.join(unknown)}): it knows {', '.join(OPTIONS)}, as in unused='allow'."
            )
        chosen |= marker.kwargs
    for name, value in chosen.items():
        if value not in OPTIONS[name]:
            known = ", ".join(map(repr, OPTIONS[name]))
            raise ConfigError(f"@pytest.mark.harness({name}={value!r}): give one of {known}.")
    return chosen


def _counts_unused(node: pytest.Item) -> bool:
    return options(node)["unused"] == "fail"


def key_of(name: str) -> str:
    """The API key of a test."""
    return f"sk-harness-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _lead(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [*LEAKS, *_OWN, *(name for name in os.environ if name.startswith("AZURE_OPENAI_"))]:
        monkeypatch.delenv(variable, raising=False)
    for variable, value in _environment(world).items():
        monkeypatch.setenv(variable, value)
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1", prepend=",")


def _environment(world: World) -> dict[str, str]:
    """What leads clients to a World; those for Azure are set only where it is Azure alone, or OpenAI's would take them."""
    found = {"OPENAI_BASE_URL": world.base_url, "OPENAI_API_KEY": world.api_key}
    if world.dialect == "azure":
        key = {"AZURE_OPENAI_API_KEY": world.api_key, "OPENAI_API_VERSION": AZURE_VERSION}
        return {"AZURE_OPENAI_ENDPOINT": world.azure_endpoint, **key}
    if world.dialect == "foundry":
        project = dict.fromkeys(("AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT"), world.project_endpoint)
        return found | project
    return found


def _fail(world: World, *, unused: bool) -> None:
    from harness import failure

    if text := failure.verdict(world, unused=unused):
        pytest.fail(text, pytrace=False)


def _sdk() -> Any:
    try:
        import openai
    except ImportError:
        pytest.fail('the fixture needs the openai package: pip install "responses-harness[openai]"', pytrace=False)
    return openai

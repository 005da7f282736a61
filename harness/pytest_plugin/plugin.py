"""What pytest registers: options, fixtures, and hooks that hand a test over to the other modules once it uses the mock.

A run that does not use the mock pays for this module and `options.py` only: the others are imported when a test is
collected that asks for a fixture, when an option is given, or when a test fails.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, Literal

import pytest

from harness.pytest_plugin.options import (
    CAUSES_STASH_KEY,
    MARKERS,
    STARTED_STASH_KEY,
    declare_options,
    has_options,
    separate_record_mode,
    uses_harness,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI
    from pluggy import Result

    from harness.drive.clients import FoundryCredential
    from harness.server.http_server import Server
    from harness.world.mock import Mock
    from harness.world.route import Turn

_SDK = "openai"
_RUN = "harness-reporter"
"""The name of the plugin that reports a run that uses the mock."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the options, and note where clients are made, from before the first conftest to the end of the run."""
    declare_options(parser)
    config: Any = pluginmanager.get_plugin("pytestconfig")
    sys.meta_path.insert(0, noter := _ClientNoter())
    config.add_cleanup(lambda: sys.meta_path.remove(noter) if noter in sys.meta_path else None)
    if sdk := sys.modules.get(_SDK):
        _note_clients_of(sdk)


class _ClientNoter:
    """An import hook: the clients of `openai` are noted from its import on."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find the SDK as without this hook, and note its clients when it has been loaded."""
        if name != _SDK:
            return None
        finders = [finder for finder in sys.meta_path if not isinstance(finder, _ClientNoter)]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        if spec and spec.loader:

            def load_and_note(module: Any, load: Callable[[Any], None] = spec.loader.exec_module) -> None:
                load(module)
                if module.__name__ == _SDK:  # pytest's loader, which rewrites assertions, loads other modules, too
                    _note_clients_of(module)

            setattr(spec.loader, "exec_module", load_and_note)  # noqa: B010
        return spec


def _note_clients_of(sdk: Any) -> None:
    from harness.pytest_plugin.client_watch import note_clients_of

    note_clients_of(sdk)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> Generator[None, Any, Any]:
    """Set the environment before any file of the project is imported; explain what a client in a conftest needs."""
    separate_record_mode(args)
    _open_session(early_config)
    try:
        return (yield)
    except Exception as error:
        from harness.pytest_plugin.causes import add_client_hint

        add_client_hint(early_config, getattr(error, "cause", error))
        raise


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers; set the environment if a conftest has loaded this plugin, too late for the earlier hook."""
    config.stash[STARTED_STASH_KEY] = time.time()
    _open_session(config)
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    # The controller of pytest-xdist reports what its workers have found.
    if has_options(config) or config.getoption("dist", "no") != "no":
        start_run(config)


def _open_session(config: pytest.Config) -> None:
    if config.getini("harness_env") != "test":
        from harness.pytest_plugin.environment import set_session_environment

        set_session_environment(config)


def is_running(config: pytest.Config) -> bool:
    """Return whether anything in a run has used the mock."""
    return config.pluginmanager.has_plugin(_RUN)


def start_run(config: pytest.Config) -> None:
    """Register what reports a run that uses the mock; UsageError for an invalid option."""
    if not is_running(config):
        from harness.pytest_plugin.cassettes import ChangesReporter
        from harness.pytest_plugin.late_requests import late_requests
        from harness.pytest_plugin.reports import make_reporter
        from harness.pytest_plugin.unplayed import record_run

        late_requests(config)
        config.pluginmanager.register(make_reporter(config), _RUN)
        record_run(config)
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(ChangesReporter(), "harness-changes")


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Guard a test, or set up its cassette, before its other fixtures."""
    if uses_harness(item):
        start_run(item.config)
        names = item.fixturenames if isinstance(item, pytest.Function) else []
        first = "_cassette" if item.get_closest_marker("cassette") else "_live_api_guard"
        if first in names:
            names.remove(first)
        names.insert(0, first)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Explain what a client without a key in a module needs."""
    report = yield
    if report.failed and (call := getattr(report, "call", None)) and call.excinfo:
        from harness.pytest_plugin.causes import SECTION_TITLE, client_hint

        if hint := client_hint(collector.config, call.excinfo.value):
            report.sections.append((SECTION_TITLE, hint))
    return report


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Result[None], None]:
    """Explain what a client without a key in a fixture needs; replace an error by the connection that was refused."""
    item.stash[CAUSES_STASH_KEY] = ()  # the test may have failed before
    _hand_over(item, "setup", (yield))


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Result[None], None]:
    """Check script, client and cassette after the test body, so that the test fails and not its teardown."""
    _hand_over(item, "call", (yield))


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Result[None], None]:
    """Fail a test for a connection that was refused after its body, or that only a fixture noticed."""
    _hand_over(item, "teardown", (yield))


def _hand_over(item: pytest.Item, when: Literal["setup", "call", "teardown"], outcome: Result[None]) -> None:
    if is_running(item.config):
        from harness.pytest_plugin.outcome import STEPS

        take_steps(STEPS[when], item, outcome)
    elif isinstance(outcome.exception, Exception) and when != "teardown":
        from harness.pytest_plugin.causes import explain_call, explain_setup

        take_steps([explain_setup if when == "setup" else explain_call], item, outcome)


def take_steps(
    steps: Iterable[Callable[[pytest.Item, Result[None]], None]], item: pytest.Item, outcome: Result[None]
) -> None:
    """Judge what came of a phase of a test: each step may replace the outcome, or raise what replaces it."""
    for judge in steps:
        try:
            judge(item, outcome)
        except BaseException as error:
            outcome.force_exception(error)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Explain a failure in its report."""
    if not is_running(item.config):
        return (yield)
    from harness.pytest_plugin.outcome import explain_report

    return (yield from explain_report(item, call))


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare(
    left: object, right: object
) -> Generator[None, list[list[str] | None], list[list[str] | None]]:
    """Append the path behind a list from `mock` to pytest's explanation of the difference."""
    explained = yield
    module = sys.modules.get("harness.analysis.path")
    sides = [side for side in (left, right) if module and isinstance(side, module.OnPath)]
    return [[*lines, "", f"the path: {sides[0].path}"] if sides and lines else lines for lines in explained]


@pytest.fixture(scope="session")
def mock_server(pytestconfig: pytest.Config) -> Server:
    """Start the server of this process, from the first test that uses it to the end of the run.

    Only running tests have keys.
    """
    from harness.pytest_plugin.environment import start_server

    start_run(pytestconfig)
    return start_server(pytestconfig)


@pytest.fixture
def openai_mock(
    request: pytest.FixtureRequest, _live_api_guard: None, mock_server: Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Mock]:
    """A World for this test alone, under its own key; the environment points every OpenAI client at it.

    The test fails if a request has no turn or is refused unexpectedly (unless marked
    `@pytest.mark.harness(refusals="allow")`), a turn is unused (unless `unused="allow"`), or the client lost something
    (unless `losses="allow"`). The ids, times and key of a test are the same in every run.
    """
    from harness.pytest_plugin.environment import open_mock
    from harness.pytest_plugin.outcome import judge_end

    with open_mock(request, mock_server, monkeypatch) as mock:
        yield mock
    judge_end(request.node, mock.world)


@pytest.fixture
def mock(openai_mock: Mock) -> Mock:
    """The same as `openai_mock`, under a shorter name that a project may already use."""
    return openai_mock


@pytest.fixture
def openai_client(request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    """An `openai.OpenAI` for the mock, or for the test's cassette; it never retries, so each call is one exchange."""
    from harness.pytest_plugin.environment import open_client

    yield from open_client(request)


@pytest.fixture
def async_openai_client(request: pytest.FixtureRequest) -> Iterator[AsyncOpenAI]:
    """An `openai.AsyncOpenAI` like `openai_client`, for any event loop; it never retries and keeps no connection open.

    A connection that outlives its test's event loop can no longer be closed.
    """
    from harness.pytest_plugin.environment import open_async_client

    yield from open_async_client(request)


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    """The same as `openai_client`, under a shorter name that other plugins may use, too."""
    return openai_client


@pytest.fixture
def async_client(async_openai_client: AsyncOpenAI) -> AsyncOpenAI:
    """The same as `async_openai_client`, under a shorter name that other plugins may use, too."""
    return async_openai_client


@pytest.fixture
def foundry_credential(openai_mock: Mock) -> FoundryCredential:
    """A credential for `AIProjectClient(mock.project_endpoint, foundry_credential)`, synchronous or asynchronous.

    The mock of the test speaks TLS, since Azure's clients send no token over plain HTTP.
    """
    from harness.pytest_plugin.environment import make_credential

    return make_credential(openai_mock)


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Callable[[str], list[Turn]]:
    """The answers in a recording as turns of a script: `mock.script(*cassette("openai/scenarios/weather"))`."""
    from harness.pytest_plugin.cassettes import read_turns

    return partial(read_turns, request.config)


@pytest.fixture
def _cassette(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Answers a test from its cassette: replayed or recorded, or played as the script of its mock."""
    from harness.pytest_plugin.cassettes import is_played_as_script, open_cassette, play_script

    if is_played_as_script(request.node):
        yield from play_script(request)
    else:
        yield from open_cassette(request, monkeypatch)


@pytest.fixture
def _live_api_guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Blocks connections to providers while the test runs."""
    from harness.pytest_plugin.guard import block_providers

    with block_providers(request.node):
        yield

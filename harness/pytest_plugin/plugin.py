"""The fixture `mock`: one server per test run, one World per test.

A test fails for unanswered requests, unexpected refusals, unused turns and losses, with a report section that explains
them. Nothing but pytest is imported before the first test uses the mock.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from harness.core.errors import HarnessError
from harness.pytest_plugin.as_script import compare_with_recording
from harness.pytest_plugin.cassettes import note_outcome
from harness.pytest_plugin.causes import fail_for, note_causes, uses_harness
from harness.pytest_plugin.environment import SESSION_KEY, session_server, set_environment
from harness.pytest_plugin.guard import explain_refused, is_live_api_refused
from harness.pytest_plugin.hints import (
    describe_reached,
    hide_library_frames,
    list_not_started,
    may_come_of_silence,
    wait_for_hang_up,
)
from harness.pytest_plugin.late import late_requests
from harness.pytest_plugin.options import (
    ALLOW,
    REQUIRED,
    allowed_mistakes,
    allowed_refusals,
    judge_client,
    overrides_of,
    read_marker_options,
)
from harness.pytest_plugin.tls import report_rejected, tls_server

if TYPE_CHECKING:
    from harness.analysis.loss import Lost
    from harness.drive.coding_agents import CodingAgent
    from harness.explain.model import Cause
    from harness.server.http_server import Server
    from harness.server.mock_api import MockApi
    from harness.world.exploration import Exploration, Scenario
    from harness.world.mock import Mock
    from harness.world.world import World


WORLD_STASH_KEY = pytest.StashKey["World"]()
"""The stash key of a running test's World."""
_LOSSES_STASH_KEY = pytest.StashKey[tuple[tuple[int, ...], list["Lost"]]]()
_JUDGED_STASH_KEY = pytest.StashKey[int]()

PARTS = (
    "environment",
    "guard",
    "hints",
    "clients",
    "tls",
    "cassettes",
    "as_script",
    "after_recording",
    "traces",
    "reports",
    "late",
    "options",
)
"""The other modules of the plugin, each registered as a plugin of its own."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the parts of the plugin.

    If named in `pytest_plugins`, pytest would search all installed packages for each.

    `import_plugin` would warn of parts that are imported already, as their assertions can no longer be rewritten.
    """
    for part in PARTS:
        name = f"harness.pytest_plugin.{part}"
        pluginmanager.register(import_module(name), name)


@pytest.fixture(scope="session")
def mock_server(pytestconfig: pytest.Config) -> Server:
    """Start the server of this process, from the first test that uses it to the end of the run.

    Only running tests have keys.
    """
    from harness.core.limits import paused_collection

    with paused_collection():
        from harness.server.http_server import serve_in_thread
        from harness.server.mock_api import MockApi
    if early := session_server(pytestconfig):
        return early.start()
    late = late_requests(pytestconfig)
    return late.until_end.enter_context(serve_in_thread(late.watch(MockApi(keys=())), keep_alive=False))


@pytest.fixture
def openai_mock(
    request: pytest.FixtureRequest, _live_api_guard: None, mock_server: Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Mock]:
    """A World for this test alone, under its own key; the environment points every OpenAI client at it.

    The test fails if a request has no turn or is refused unexpectedly (unless marked
    `@pytest.mark.harness(refusals="allow")`), a turn is unused (unless `unused="allow"`), or the client lost something
    (unless `losses="allow"`). The ids, times and key of a test are the same in every run.
    """
    from harness.api.http.dialects import API_ROOTS
    from harness.drive.counted import record_runs
    from harness.pytest_plugin.client_reactions import forget_streams, note_caught_errors

    options = read_marker_options(request.node)
    dialect = options.get("dialect")
    name = f"{request.node.parent.nodeid}::{request.node.name}"
    secured = tls_server(request)
    server = secured.server if secured else mock_server
    base_url = server.base_url.removesuffix(API_ROOTS["openai"]) + API_ROOTS[dialect or "openai"]
    mock = mock_server.api.open(api_key_for(name), name, base_url)
    world = request.node.stash[WORLD_STASH_KEY] = mock.world
    world.dialect = dialect
    if as_of := options.get("as_of"):
        world.set_date(as_of)
    world.overrides = overrides_of(request.node)
    late_requests(request.config).begin(request.node, name, urlsplit(mock_server.base_url).netloc)
    for text in allowed_refusals(request.node):
        world.refusals.expect(text, required=False)
    if allowed := allowed_mistakes(request.node):
        world.open_webhooks().allowed.update(allowed)
    judge_client(world, options)
    forget_streams()
    for alias in (SESSION_KEY, options.get("key")):
        if alias:
            mock_server.api.add_alias(alias, mock.api_key)
    set_environment(mock, request.config, monkeypatch, secured.variables if secured else {})
    world.explorer = WorldExplorer(mock_server.api, world)
    world.coding_agents = partial(_make_coding_agent, mock)
    module = getattr(getattr(request.node, "module", None), "__name__", "")
    with note_caught_errors(world.refusals), record_runs(world.tool_runs, module):
        yield mock
    mock_server.api.close(world.api_key)
    problems = _count_problems(world)
    if problems > request.node.stash.get(_JUDGED_STASH_KEY, problems):
        _fail_test(world, shown=_is_showing_judged(request.node))


def _make_coding_agent(mock: Mock, name: str, **options: Any) -> CodingAgent:
    from harness.drive.coding_agents import CodingAgent

    return CodingAgent(name, mock, **options)


@pytest.fixture
def mock(openai_mock: Mock) -> Mock:
    """The same as `openai_mock`, under a shorter name that a project may already use."""
    return openai_mock


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check script and client after the test body has passed, so that the test fails and not its teardown."""
    try:
        result = yield
    finally:
        if (world := item.stash.get(WORLD_STASH_KEY, None)) and (forgotten := _list_never_awaited()):
            world.not_awaited = forgotten
        if world:
            from harness.pytest_plugin.client_reactions import list_unread

            world.unread_streams = list_unread()
    if world:
        if world.webhooks and world.courier:  # what is due at webhooks must be delivered before it is judged
            world.courier.deliver(world)
        item.stash[_JUDGED_STASH_KEY] = _count_problems(world)
        losses = _disallowed_losses(item, world, accepted_only=True)
        _fail_test(world, losses, unused=_is_unused_fatal(item), shown=_is_showing_judged(item))
        if read_marker_options(item)["requests"] == REQUIRED and not _has_requests(world):
            _fail_for_silence(item, world)
        if world.tool_runs.turns and _is_showing_judged(item):
            _fail_nonlinear(world)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the parts of the plugin know to the report of a failure, and hide frames of HTTP libraries."""
    world = item.stash.get(WORLD_STASH_KEY, None)
    option = item.config.getoption
    if call.excinfo and uses_harness(item) and not (option("fulltrace", False) or option("usepdb", False)):
        hide_library_frames(call.excinfo.value)
    report = yield
    if report.failed:
        explain_refused(item, report)
        report_rejected(item, report)
    note_outcome(item, report)
    compare_with_recording(item, report)
    if world and report.failed:
        is_silent = not world.exchanges and not world.strays
        if is_silent and call.excinfo and not world.not_awaited:
            world.not_awaited = list_not_started(call.excinfo.value)
        wait_for_hang_up(call, world)
        is_cause = bool(call.excinfo and isinstance(call.excinfo.value, HarnessError)) or is_live_api_refused(item)
        is_cause = is_cause or (is_silent and (_has_explored(world) or not may_come_of_silence(call, world)))
        report.sections += _report_sections(item, world, report, is_cause=is_cause, reached=describe_reached(call))
    if world and report.skipped and not hasattr(report, "wasxfail"):
        item.stash[_JUDGED_STASH_KEY] = 0  # a skip hides no refusal: earlier ones fail the teardown
    if world and report.when == "teardown":
        del item.stash[WORLD_STASH_KEY]
    return report


def _list_never_awaited() -> tuple[str, ...]:
    """List the coroutines that Python has warned about in this test.

    Empty if pytest does not collect warnings in a list.
    """
    held = getattr(getattr(warnings, "_showwarnmsg_impl", None), "__self__", None)
    told = (str(getattr(warning, "message", "")) for warning in held) if isinstance(held, list) else ()
    return tuple(text for text in told if text.endswith("was never awaited"))


def _report_sections(
    item: pytest.Item, world: World, report: pytest.TestReport, *, is_cause: bool, reached: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the sections of a failure: cause and flow, all details with `-v`.

    If it `is_cause`, the error itself is the cause. `reached` says what a client that did not connect tried to reach.
    """
    from harness.explain import render
    from harness.explain.stray import stray_cause
    from harness.explain.verdict import find_suspects, find_verdict

    unused, verbose = _is_unused_fatal(item), item.config.get_verbosity() > 0
    causes: list[Cause] = []
    if _JUDGED_STASH_KEY in item.stash:
        losses = _disallowed_losses(item, world, accepted_only=True)
        shown = _is_showing_judged(item)
        causes = find_verdict(world, losses, unused=unused, strays=True, shown=shown)
    elif not is_cause and (world.exchanges or report.when == "call"):
        causes = find_suspects(world, _disallowed_losses(item, world, accepted_only=False), unused=unused)
        causes = [replace(cause, came=reached) if cause.kind == "no_request" else cause for cause in causes]
    note_causes(item, causes)
    if world.strays and stray_cause(world) in causes:
        late_requests(item.config).note_told(world)
    if text := render.render_section(world, causes, told=report.longreprtext, verbose=verbose):
        yield render.SECTION_TITLE, text
    if verbose and (drawn := render.render_diagram(world)):
        yield render.DIAGRAM_TITLE, drawn


def _disallowed_losses(node: pytest.Item, world: World, *, accepted_only: bool) -> list[Lost]:
    """List the losses that a test does not allow; with `accepted_only`, only those that fail a test."""
    losses_option = read_marker_options(node)["losses"]
    if losses_option == "allow":
        return []
    found = find_losses(node, world, losses_option == "strict", accepted_only=accepted_only)
    return [lost for lost in found if lost.loss not in (losses_option if isinstance(losses_option, list) else ())]


def find_losses(node: pytest.Item, world: World, strict: bool, *, accepted_only: bool = False) -> list[Lost]:
    """Find the losses in a test's journal, or only those of accepted requests.

    Cached while the journal is unchanged.
    """
    from harness.analysis.loss import losses_in_accepted, losses_of

    if accepted_only and any(exchange.status >= 400 for exchange in world.exchanges):
        return losses_in_accepted(world.exchanges, strict, world.tool_runs)
    runs = world.tool_runs
    read = (world.exchange_count, len(runs.finished), len(runs.turns), len(runs.names), strict)
    if (known := node.stash.get(_LOSSES_STASH_KEY, None)) is None or known[0] != read:
        known = node.stash[_LOSSES_STASH_KEY] = read, losses_of(world.exchanges, strict, runs)
    return known[1]


def _count_problems(world: World) -> int:
    """Count the requests without a turn, the unexpected refusals and the other mistakes of a client."""
    refused = len(world.refusals.unexpected) + len(world.refusals.unexpected_strays)
    return len(world.shown_otherwise) + len(world.problems) + refused


def _is_unused_fatal(node: pytest.Item) -> bool:
    return bool(read_marker_options(node)["unused"] == "fail")


def _is_showing_judged(node: pytest.Item) -> bool:
    """Return whether a difference between what a client shows and what the model said fails a test."""
    return bool(read_marker_options(node)["losses"] != "allow")


def sent_nothing(item: pytest.Item, world: World) -> bool:
    """Return whether a test that names `mock` itself sent it no request, although nothing permits that."""
    names = getattr(getattr(item, "_fixtureinfo", None), "argnames", ())
    options = read_marker_options(item)
    is_permitted = options["requests"] == ALLOW or _has_requests(world)
    return not is_permitted and not {"mock", "openai_mock"}.isdisjoint(names)


def _has_requests(world: World) -> bool:
    return bool(world.exchange_count or world.strays) or _has_explored(world)


def _has_explored(world: World) -> bool:
    """Return whether a test has explored variations, whose requests belong to other Worlds."""
    return isinstance(world.explorer, WorldExplorer) and world.explorer.explored > 0


def _fail_for_silence(item: pytest.Item, world: World) -> None:
    """Fail a test that must send requests and sent none."""
    from harness.explain.turn import no_request_cause

    fail_for(item, no_request_cause(world))


def _fail_nonlinear(world: World) -> None:
    """Fail a test with a single `drive.Chat` if the requests of its server do not grow by one turn at a time."""
    from harness.core.text import item_text
    from harness.drive.chat import describe_nonlinear

    turns = world.tool_runs.turns
    # Several chats take turns, so that none of their requests continues the one before it.
    if [turn.number for turn in turns] == [*range(1, len(turns) + 1)]:
        texts = [item_text(turn.items[-1]) for turn in turns]
        if problem := describe_nonlinear(world.exchanges, texts):
            pytest.fail(problem, pytrace=False)


def api_key_for(name: str) -> str:
    """Return the API key of a test, derived from its name."""
    return f"sk-harness-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _fail_test(world: World, losses: Sequence[Lost] = (), *, unused: bool = False, shown: bool = True) -> None:
    from harness.explain.render import render_verdict

    if text := render_verdict(world, losses, unused=unused, strays=True, shown=shown):
        pytest.fail(text, pytrace=False)


@dataclass(slots=True)
class WorldExplorer:
    """Explores variations for the World of a test; `explored` is how many fresh Worlds it has made."""

    api: MockApi
    world: World
    explored: int = 0

    def __call__(self, scenario: Scenario, cases: str, seed: int, combined: int) -> Exploration:
        """Run the scenario under variations."""
        from harness.examine.explore.explore import explore

        return explore(scenario, self._fresh, cases, seed, combined)

    def generated(self, scenario: Scenario, strategy: Any, seed: int, examples: int) -> Exploration:
        """Run the scenario under generated scripts."""
        from harness.examine.explore.explore import explore_scripts

        return explore_scripts(scenario, self._fresh, strategy, seed, examples)

    @contextmanager
    def _fresh(self) -> Iterator[Mock]:
        from harness.drive.counted import record_runs
        from harness.world.refusals import StrayLog

        api, world = self.api, self.world
        self.explored += 1
        del api.worlds[world.api_key]
        strays, api.strays = api.strays, StrayLog()
        try:
            made = api.open(world.api_key, world.name, world.base_url, world.vocabulary)
            made.world.dialect, made.world.overrides = world.dialect, world.overrides
            made.world.set_date(world.as_of)
            with record_runs(made.world.tool_runs, ""):
                yield made
        finally:
            api.worlds[world.api_key], api.strays = world, strays

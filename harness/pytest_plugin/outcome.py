"""Judges a test that uses the mock, and explains in its report why it failed."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from harness.analysis.loss import Lost, losses_in_accepted, losses_of
from harness.core.errors import HarnessError
from harness.core.text import item_text
from harness.drive.chat import describe_nonlinear
from harness.explain import render
from harness.explain.cause import Cause
from harness.explain.find_causes import find_causes, find_suspects
from harness.explain.render import render_verdict
from harness.explain.turn import no_request_cause, stray_cause
from harness.pytest_plugin.cassettes import compare_with_recording, judge_cassette, note_outcome
from harness.pytest_plugin.causes import (
    close_not_started,
    describe_reached,
    explain_call,
    explain_setup,
    fail_for,
    hide_library_frames,
    may_come_of_silence,
    note_causes,
    wait_for_hang_up,
)
from harness.pytest_plugin.client_watch import list_unread
from harness.pytest_plugin.environment import report_rejected
from harness.pytest_plugin.guard import explain_refused, is_live_api_refused, judge_refused, replace_refused
from harness.pytest_plugin.late_requests import late_requests
from harness.pytest_plugin.marks import ALLOW, FAIL, REQUIRED, STRICT, read_marker_options
from harness.pytest_plugin.options import WORLD_STASH_KEY, uses_harness
from harness.pytest_plugin.unplayed import judge_unplayed
from harness.world.world import World

if TYPE_CHECKING:
    from pluggy import Result


_LOSSES_STASH_KEY = pytest.StashKey[tuple[tuple[object, ...], list["Lost"]]]()
_JUDGED_STASH_KEY = pytest.StashKey[int]()


def _judge_world(item: pytest.Item, outcome: Result[None]) -> None:
    """Check script and client of a test whose body has passed."""
    if (world := item.stash.get(WORLD_STASH_KEY, None)) is None:
        return
    if forgotten := _list_never_awaited():
        world.not_awaited = forgotten
    world.unread_streams = list_unread()
    if outcome.exception:
        return
    if world.webhooks and world.courier:  # what is due at webhooks must be delivered before it is judged
        world.courier.deliver(world)
    item.stash[_JUDGED_STASH_KEY] = _count_problems(world)
    _fail_test(item, world, _disallowed_losses(item, world, accepted_only=True), unused=_is_unused_fatal(item))
    if read_marker_options(item)["requests"] == REQUIRED and not _has_requests(world):
        fail_for(item, no_request_cause(world))
    if world.tool_runs.turns and _is_showing_judged(item):
        _fail_nonlinear(world)


def judge_end(item: pytest.Item, world: World) -> None:
    """Fail the teardown of a test for what became wrong after its body."""
    problems = _count_problems(world)
    if problems > item.stash.get(_JUDGED_STASH_KEY, problems):
        _fail_test(item, world)


STEPS = {
    "setup": (replace_refused, explain_setup),
    "call": (_judge_world, judge_cassette, judge_unplayed, judge_refused, explain_call),
    "teardown": (judge_refused,),
}


def explain_report(
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
        waiting = close_not_started(call.excinfo.value) if call.excinfo else ()
        if is_silent:
            world.not_awaited = world.not_awaited or waiting
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
    messages = (str(getattr(warning, "message", "")) for warning in held) if isinstance(held, list) else ()
    return tuple(text for text in messages if text.endswith("was never awaited"))


def _report_sections(
    item: pytest.Item, world: World, report: pytest.TestReport, *, is_cause: bool, reached: str
) -> Iterator[tuple[str, str]]:
    """Yield the sections of a failure: cause and flow, all details with `-v`.

    If it `is_cause`, the error itself is the cause. `reached` says what a client that did not connect tried to reach.
    """
    unused, verbose = _is_unused_fatal(item), item.config.get_verbosity() > 0
    causes: list[Cause] = []
    if _JUDGED_STASH_KEY in item.stash:
        losses = _disallowed_losses(item, world, accepted_only=True)
        shown = _is_showing_judged(item)
        causes = find_causes(world, losses, unused=unused, strays=True, shown=shown)
    elif not is_cause and (world.exchanges or report.when == "call"):
        causes = find_suspects(world, _disallowed_losses(item, world, accepted_only=False), unused=unused)
        causes = [replace(cause, came=reached) if cause.kind == "no_request" else cause for cause in causes]
    note_causes(item, causes)
    if world.strays and stray_cause(world) in causes:
        late_requests(item.config).note_reported(world)
    if text := render.render_section(world, causes, shown=report.longreprtext, verbose=verbose):
        yield render.SECTION_TITLE, text
    if verbose and (drawn := render.render_diagram(world)):
        yield render.DIAGRAM_TITLE, drawn


def _disallowed_losses(node: pytest.Item, world: World, *, accepted_only: bool) -> list[Lost]:
    """List the losses that a test does not allow; with `accepted_only`, only those that fail a test."""
    losses_option = read_marker_options(node)["losses"]
    if losses_option == ALLOW:
        return []
    found = find_losses(node, world, losses_option == STRICT, accepted_only=accepted_only)
    return [lost for lost in found if lost.loss not in (losses_option if isinstance(losses_option, list) else ())]


def find_losses(node: pytest.Item, world: World, strict: bool, *, accepted_only: bool = False) -> list[Lost]:
    """Find the losses in a test's journal, or only those of accepted requests.

    Cached while the journal is unchanged.
    """
    if accepted_only and any(exchange.status >= 400 for exchange in world.exchanges):
        return losses_in_accepted(world.exchanges, strict, world.observed)
    runs = world.observed
    read = (world.exchange_count, len(runs.finished), len(runs.turns), len(runs.names), runs.left, strict)
    if (known := node.stash.get(_LOSSES_STASH_KEY, None)) is None or known[0] != read:
        known = node.stash[_LOSSES_STASH_KEY] = read, losses_of(world.exchanges, strict, runs)
    return known[1]


def _count_problems(world: World) -> int:
    """Count the requests without a turn, the unexpected refusals and the other mistakes of a client."""
    refused = len(world.refusals.unexpected) + len(world.refusals.unexpected_strays)
    return len(world.shown_otherwise) + len(world.problems) + refused


def _is_unused_fatal(node: pytest.Item) -> bool:
    return bool(read_marker_options(node)["unused"] == FAIL)


def _is_showing_judged(node: pytest.Item) -> bool:
    """Return whether a difference between what a client shows and what the model said fails a test."""
    return bool(read_marker_options(node)["losses"] != ALLOW)


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
    return getattr(world.explorer, "explored", 0) > 0


def _fail_nonlinear(world: World) -> None:
    """Fail a test with a single `drive.Chat` if the requests of its server do not grow by one turn at a time."""
    turns = world.tool_runs.turns
    # Several chats take turns, so that none of their requests continues the one before it.
    if [turn.number for turn in turns] == [*range(1, len(turns) + 1)]:
        texts = [item_text(turn.items[-1]) for turn in turns]
        if problem := describe_nonlinear(world.exchanges, texts):
            pytest.fail(problem, pytrace=False)


def _fail_test(item: pytest.Item, world: World, losses: Sequence[Lost] = (), *, unused: bool = False) -> None:
    if text := render_verdict(world, losses, unused=unused, strays=True, shown=_is_showing_judged(item)):
        pytest.fail(text, pytrace=False)

"""Runs a test's own scenario under variations of the API's answers: `mock.explore`.

Each kind of variation maps the number of events of an answer to the faults that it may get; of each kind that changes the
result, the smallest is found.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random
from typing import Any

from harness.analysis.lanes import asks_model
from harness.analysis.loss import losses_in_accepted
from harness.contract.call import WorldCall
from harness.core.errors import ConfigError, missing_extra
from harness.examine.case import select_entries
from harness.examine.explore.variations import VARIATIONS, OtherDeltas, Step, Variation
from harness.explain.find_causes import find_causes
from harness.faults import Refusal, ScriptedRefusal, ends_early
from harness.world.exploration import ChangedResult, Exploration, Scenario
from harness.world.mock import Mock
from harness.world.route import Turn
from harness.world.script import PlayedTurn, Script

MOST_AT_ONCE = 4
"""The maximum number of combined steps."""
MAX_STEPS = 100
"""The maximum number of steps tried per kind of variation; of more, the first, the last and a seeded choice."""

FreshMock = Callable[[], AbstractContextManager[Mock]]
"""Opens a mock with a new World for a `with` block."""


@dataclass(frozen=True, slots=True)
class _ScenarioRun:
    """The result of a scenario; `answers` are the numbers of events in the model's answers."""

    result: Any
    error: Exception | None
    problems: Sequence[str]
    answers: Sequence[int]

    def differs_from(self, plain: _ScenarioRun) -> bool:
        return bool(self.error or set(self.problems) - set(plain.problems) or self.result != plain.result)


_Found = tuple[Any, _ScenarioRun]
"""What was tried, and the run that failed with it."""
_Fails = Callable[[Any], _ScenarioRun | None]
"""Tries something; returns the run if it failed."""


def explore(scenario: Scenario, fresh: FreshMock, cases: str, seed: int, combined: int) -> Exploration:
    """Run a scenario unchanged, then under each kind of variation whose id matches; see `Mock.explore`."""
    chosen = select_entries(VARIATIONS, cases, "explore: no variation")
    plain = _run_plain(scenario, fresh)
    tried, changed = 0, []

    def fails(steps: Sequence[Step]) -> _ScenarioRun | None:
        nonlocal tried
        tried += 1
        ran = _run(scenario, fresh, steps)
        return ran if ran.differs_from(plain) else None

    kinds_that_pass: list[Variation] = []
    for variation in chosen:
        if found := _find_smallest(_choose(variation.steps(plain.answers), seed), fails):
            changed.append(_describe(variation.id, variation.lossless, *found, plain))
        else:
            kinds_that_pass.append(variation)
    steps = [step for variation in kinds_that_pass for step in variation.steps(plain.answers)]
    # Combine only variations that pass alone, since a combination with a failing one proves nothing new.
    if combined and (found := _find_combined(steps, fails, seed, combined)):
        changed.append(_describe("combined", False, *found, plain))
    return Exploration(tried, changed)


def explore_scripts(scenario: Scenario, fresh: FreshMock, strategy: Any, seed: int, examples: int) -> Exploration:
    """Run a scenario under generated scripts, and report the smallest that it fails with; see `Mock.explore`."""
    tried = 0

    def fails(script: Sequence[Sequence[Any]]) -> _ScenarioRun | None:
        nonlocal tried
        tried += 1
        ran = _run(scenario, fresh, (), [[line.build() for line in turn] for turn in script])
        return ran if ran.error or ran.problems else None

    if (found := _find_generated(strategy, fails, seed, examples)) is None:
        return Exploration(tried, ())
    script, ran = found
    turns = ", ".join(repr(turn[0] if len(turn) == 1 else turn) for turn in script)
    error = f"raised {type(ran.error).__name__}: {ran.error}" if ran.error else ""
    step = f"mock.script({turns})"
    return Exploration(tried, [ChangedResult("generated", True, [step], None, ran.result, error, ran.problems)])


def _choose(steps: list[Step], seed: int) -> list[Step]:
    if len(steps) <= MAX_STEPS:
        return steps
    inner = sorted(Random(seed).sample(range(1, len(steps) - 1), MAX_STEPS - 2))
    return [steps[0], *(steps[number] for number in inner), steps[-1]]


def _find_smallest(steps: list[Step], fails: _Fails) -> _Found | None:
    """Find the first step, from small to large, that changes the result, preferably without raising an error."""
    raised: _Found | None = None
    for step in steps:
        if ran := fails([step]):
            if not ran.error:
                return [step], ran
            raised = raised or ([step], ran)
    return raised


def _describe(id: str, lossless: bool, steps: Sequence[Step], ran: _ScenarioRun, plain: _ScenarioRun) -> ChangedResult:
    problems = [problem for problem in ran.problems if problem not in plain.problems]
    error = f"raised {type(ran.error).__name__}: {ran.error}" if ran.error else ""
    return ChangedResult(id, lossless, [str(step) for step in steps], plain.result, ran.result, error, problems)


def _run_plain(scenario: Scenario, fresh: FreshMock) -> _ScenarioRun:
    """Run a scenario without variations. ConfigError if its result cannot serve for comparison."""
    plain = _run(scenario, fresh, ())
    if plain.error:
        raise plain.error
    if plain.problems:
        raise ConfigError(f"explore: the scenario fails without any variation: {plain.problems[0]}")
    if not plain.answers:
        raise ConfigError(
            "explore: the scenario sent no request to the model. Does it script the mock that it receives?"
        )
    if (again := _run(scenario, fresh, ())).differs_from(plain):
        raise ConfigError(
            f"explore: the scenario returns {plain.result!r}, then {again.result!r}, without any variation. Return what "
            "does not depend on time or chance."
        )
    return plain


def _run(scenario: Scenario, fresh: FreshMock, steps: Sequence[Step], turns: Sequence[Turn] = ()) -> _ScenarioRun:
    with fresh() as mock:
        mock.world.script = VariedScript(mock.world.script, steps)
        if turns:
            mock.script(*turns)
        result, error = None, None
        try:
            result = _call(scenario, mock)
        except Exception as problem:
            error = problem
        losses = losses_in_accepted(mock.world.exchanges, False, mock.world.observed)
        problems = [cause.what for cause in find_causes(mock.world, losses, unused=error is None)]
        return _ScenarioRun(result, error, problems, list(_count_events(mock)))


def _call(scenario: Scenario, mock: Mock) -> Any:
    """Call a scenario; an async one runs in an event loop of its own."""
    if not inspect.iscoroutinefunction(scenario):
        return scenario(mock)
    # In another thread, because an event loop may be running in this one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(scenario(mock))).result()


def _count_events(mock: Mock) -> Iterator[int]:
    for exchange in mock.exchanges:
        if asks_model(exchange.request) and exchange.answer.status < 400:
            yield len(exchange.answer.events or ())


class VariedScript(Script):
    """A script whose turns get the faults of the steps for their answers.

    A refused request takes no turn; a request that is sent again after a broken answer gets the same turn, complete:

        none or broken off -- a step refuses --> the same
        none or broken off -- any other request takes a turn --> the same, or broken off if faults end that turn early
        broken off -- the same body again --> none
    """

    __slots__ = ("_broken_off", "_given", "_steps")

    def __init__(self, script: Script, steps: Sequence[Step]) -> None:
        super().__init__(script.fallback, vocabulary=script.vocabulary, pace=script.pace)
        self._steps = list(steps)
        self._given = 0
        self._broken_off: tuple[object, PlayedTurn] | None = None

    def next(self, call: WorldCall) -> PlayedTurn:
        """Take the next turn, with the faults for this answer."""
        # A retry after a broken answer gets the answer that the client should have received.
        if self._broken_off and self._broken_off[0] == call.request.body:
            (_, taken), self._broken_off = self._broken_off, None
            return taken
        due = [step for step in self._steps if step.answer == self._given + 1]
        for step in due:
            if isinstance(step.fault, Refusal):
                self._steps.remove(step)
                raise ScriptedRefusal(step.fault)
        self._steps = [step for step in self._steps if step not in due]
        taken = super().next(call)
        self._given += 1
        varied = list(taken.lines)
        for step in due:
            varied = step.fault.apply(varied) if isinstance(step.fault, OtherDeltas) else [*varied, step.fault]
        if ends_early(varied) and not ends_early(taken.lines):
            self._broken_off = call.request.body, taken
        return taken._replace(lines=varied)


class _ResultChangedError(Exception):
    """Raised when the variation changes the scenario's result."""


def _find_combined(steps: Sequence[Step], fails: _Fails, seed: int, examples: int) -> _Found | None:
    """Find the smallest failing combination of steps among `examples`, with its run; None if all pass."""
    if not steps:
        return None
    try:
        from hypothesis import strategies
    except ImportError as problem:
        raise missing_extra("explore(combined=…)", "hypothesis", "explore") from problem
    if len(steps) < 2:
        return None
    numbers = strategies.lists(
        strategies.sampled_from(range(len(steps))), min_size=2, max_size=MOST_AT_ONCE, unique=True
    )
    combinations = numbers.map(lambda chosen: [steps[number] for number in chosen])
    return _find_generated(combinations, fails, seed, examples)


def _find_generated(strategy: Any, fails: _Fails, seed: int, examples: int) -> _Found | None:
    """Find the smallest failing value of a strategy among `examples`, with its run; None if all pass.

    hypothesis shrinks what fails.
    """
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    found: list[_Found] = []

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def passes(tried: Any) -> None:
        if (ran := fails(tried)) is not None:
            found.append((tried, ran))
            raise _ResultChangedError

    try:
        passes()
    except _ResultChangedError:  # hypothesis runs the smallest failure last
        return found[-1]
    return None

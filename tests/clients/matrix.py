"""Run the suites in their environments and hold each cell to its expectation."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.core.errors import HarnessError
from harness.drive.run_program import run_program
from tests.clients.cells import GREEN, Environment, Suite, function_of
from tests.clients.environments import prepared, python_of

KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "SYSTEMROOT")
"""What the tests see of the environment outside: no key, no proxy, no home with settings in it."""
QUIET: Mapping[str, str] = {
    "ANONYMIZED_TELEMETRY": "false",
    "AZURE_TRACING_GEN_AI_INSTRUMENT_RESPONSES_API": "false",
    "DO_NOT_TRACK": "1",
    "ENABLE_INSTRUMENTATION": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "NO_PROXY": "*",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""What keeps the frameworks from calling home."""
CAUSE = 5
"""Lines of the harness's report in which the cause must stand: what went wrong, and where."""


@dataclass(frozen=True, slots=True)
class Row:
    """A cell and how it came out: `verdict` is green or red, `fault` why that is not as it should be.

    `says` is all that the harness said of a failure, `reason` the line that names its cause; `refusals` counts those that
    were expected.
    """

    suite: str
    test: str
    environment: str
    packages: tuple[str, ...]
    expected: str
    verdict: str
    reason: str
    seconds: float
    fault: str = ""
    says: str = ""
    refusals: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """The tests of one suite in one of its environments."""

    suite: Suite
    environment: Environment

    @property
    def packages(self) -> tuple[str, ...]:
        return self.environment.python + self.environment.npm


def runs(suites: Sequence[Suite], only: str | None = None) -> list[Run]:
    """Return what there is to run; `only` names one environment."""
    every = [Run(suite, environment) for suite in suites for environment in suite.environments]
    return [run for run in every if only in (None, run.environment.name)]


def played(every: Sequence[Run], jobs: int, cache: Path | None = None) -> Iterator[tuple[Run, list[Row]]]:
    """The rows of each run, so many runs at a time; those that may take longest begin, the order is that of the runs."""
    longest = sorted(range(len(every)), key=lambda number: -every[number].environment.timeout)
    with ThreadPoolExecutor(jobs) as pool:
        rows = {number: pool.submit(_played, every[number], cache) for number in longest}
        yield from ((run, rows[number].result()) for number, run in enumerate(every))


def _played(run: Run, cache: Path | None) -> list[Row]:
    try:
        made = prepared(run.environment, cache)
    except HarnessError as problem:
        return [_missing(run, cell, str(problem)) for cell in run.suite.expected(run.environment.name)]
    with TemporaryDirectory(prefix="responses-harness-") as home:
        outcomes = Path(home) / "outcomes.jsonl"
        output = _tested(run, made, outcomes, Path(home))
        told = outcomes.read_text(encoding="utf-8").splitlines() if outcomes.exists() else []
    return judged(run, [json.loads(line) for line in told], output)


def _tested(run: Run, made: Path, outcomes: Path, home: Path) -> str:
    """Run the tests in a process group of their own, killed when its time is over; return what they printed."""
    name, suites = run.environment.name, str(run.suite.folder.parent)
    command = [str(python_of(run.environment, made)), "-m", "pytest", "-c", f"{suites}/pytest.ini"]
    command += ["--rootdir", suites, "--confcutdir", suites, "--environment", name, "--outcomes", str(outcomes)]
    command += ["--node-modules", str(made / "node_modules")]
    timeout = run.environment.timeout
    ended = run_program([*command, *map(str, run.suite.files(name))], timeout, home, surroundings(home))
    stopped = f"\nstopped after {timeout} seconds" if ended.code is None else ""
    return f"{ended.output}\n{ended.errors}{stopped}"


def surroundings(home: Path) -> dict[str, str]:
    """Return the environment variables of a run, whose home is an empty folder."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, **QUIET, "HOME": str(home)}


def judged(run: Run, told: Sequence[Mapping[str, Any]], output: str) -> list[Row]:
    """A row for each test that ran, and one for each cell without a test; `told` is what `suites/conftest.py` wrote."""
    expected = run.suite.expected(run.environment.name)
    ended: dict[str, Mapping[str, Any]] = {}
    for entry in told:
        if entry["test"] not in ended or entry["outcome"] != "passed":
            ended[entry["test"]] = entry
    rows = [_row(run, test, expected.get(test["cell"], "")) for test in ended.values()]
    ran = {name for test in ended.values() if test["cell"] for name in (test["cell"], function_of(test["cell"]))}
    return [*rows, *(_missing(run, cell, output) for cell in expected if cell not in ran)]


def _row(run: Run, one: Mapping[str, Any], expected: str) -> Row:
    verdict = GREEN if one["outcome"] == "passed" else "red" if one["outcome"] == "failed" else one["outcome"]
    reason = "" if verdict == GREEN else reason_of(one)
    return Row(
        run.suite.name,
        one["test"],
        run.environment.name,
        run.packages,
        expected,
        verdict,
        reason,
        one["seconds"],
        fault_of(one, expected),
        "\n\n".join(one["says"]),
        one["refusals"],
    )


def fault_of(one: Mapping[str, Any], expected: str) -> str:
    """Return what of the end of a test is not as its cell expects; empty when all is."""
    if not expected:
        return "this test has no cell"
    if expected == GREEN:
        if one["losses"]:
            return "green, but with losses: " + "; ".join(one["losses"])
        return "" if one["outcome"] == "passed" else f"not green:\n{one['text']}"
    if one["outcome"] != "failed":
        return f"{one['outcome']}, not red with {expected!r}"
    if expected in " ".join(line.strip() for line in causes(one)):
        return ""
    told = "\n".join(one["says"]) or one["text"]
    return f"the harness's first {CAUSE} lines do not say {expected!r}:\n{told}"


def causes(one: Mapping[str, Any]) -> list[str]:
    """Return the lines in which the harness must name the cause of a failure: the first ones of each text it wrote."""
    return [line for text in one["says"] for line in text.splitlines()[:CAUSE]]


def reason_of(one: Mapping[str, Any]) -> str:
    """Why a test failed, in one line."""
    return str(next(iter([*causes(one), *reversed(one["text"].splitlines()), one["outcome"]])))


def _missing(run: Run, cell: str, output: str) -> Row:
    expected = run.suite.expected(run.environment.name)[cell]
    told = (run.suite.name, cell, run.environment.name, run.packages, expected, "none", "it did not run", 0.0)
    return Row(*told, output.strip())

"""Cassettes played as scripts: `@pytest.mark.cassette("weather", as_script=True)`.

The answers of the recording become turns of the test's mock, which judges the requests by the rules. How the requests
differ from the recording is reported at the end of the run and in the report of a failed test, but fails no test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from harness.pytest_plugin.cassettes import cassette_path, fail_with_hint, read_cassette_marker

if TYPE_CHECKING:
    from harness.verify.recorded_script import RecordedScript
    from harness.world.mock import Mock
    from harness.world.world import World

TITLE = "responses-harness: changed since the recording"
_ATTRIBUTE = "harness_changes"
"""The attribute of a report with the changes of its test: plain values that pytest-xdist can send."""


class _Played(NamedTuple):
    script: RecordedScript
    world: World


_PLAYED_STASH_KEY = pytest.StashKey[_Played]()


def play_script(request: pytest.FixtureRequest) -> Iterator[None]:
    """Script the mock of a test with a recording."""
    from harness.cassettes.files import note_replay, read_cassette
    from harness.verify.recorded_script import read_script

    openai_mock: Mock = request.getfixturevalue("openai_mock")
    name = read_cassette_marker(request.node).name
    path = cassette_path(request.config, name)
    with fail_with_hint(request.node, ""):
        script = read_script(read_cassette(path).interactions, name)
        script.apply(openai_mock)
    request.node.stash[_PLAYED_STASH_KEY] = _Played(script, openai_mock.world)
    yield
    note_replay(path)


def compare_with_recording(item: pytest.Item, report: pytest.TestReport) -> None:
    """Compare the requests of a test with those of its recording, once its body has run."""
    if _PLAYED_STASH_KEY not in item.stash:
        return
    played = item.stash[_PLAYED_STASH_KEY]
    if report.when == "call":
        from harness.core.text import escape_controls
        from harness.verify.recorded_script import find_changes, summarize_changes

        changes = find_changes(played.script, played.world.exchanges)
        left_out = [f"not played: {why}" for why in played.script.left_out]
        told = [summarize_changes(changes, played.script.name), *map(str, changes)] if changes else []
        lines = [escape_controls(text) for text in [*(told or [f"{played.script.name}:"]), *left_out]]
        if told or left_out:
            setattr(report, _ATTRIBUTE, lines)
            if report.failed:
                report.sections.append((TITLE, "\n".join(lines)))
    if report.when == "teardown":
        del item.stash[_PLAYED_STASH_KEY]


class ChangesTold:
    """Reports at the end of a run what has changed since the recordings: a line per test, everything with `-v`."""

    def __init__(self) -> None:
        self._by_test: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the changes of a test from its report."""
        if lines := report.__dict__.pop(_ATTRIBUTE, None):
            self._by_test[report.nodeid] = lines

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print the changes."""
        if not self._by_test:
            return
        terminalreporter.section(TITLE)
        for test, lines in self._by_test.items():
            shown = lines if config.get_verbosity() > 0 else lines[:1]
            terminalreporter.write_line(f"{test}: {shown[0]}")
            for text in shown[1:]:
                for line in text.splitlines():
                    terminalreporter.write_line(f"  {line}")
        if config.get_verbosity() <= 0:
            terminalreporter.write_line("-v shows the differences; `pytest --record` records the tests again.")

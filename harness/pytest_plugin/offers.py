"""`pytest --record` offers to learn where the live API did otherwise than the mock.

Each test's last report carries the cassette that it recorded, so that it works in the same way with pytest-xdist.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from harness.pytest_plugin.cassettes import CASSETTE_STASH_KEY

_RECORDED_ATTRIBUTE = "_harness_recorded"


def pytest_configure(config: pytest.Config) -> None:
    """Watch a run that records."""
    if config.getoption("--record") is not None:
        config.pluginmanager.register(_Offers(config), "harness-offers")


class _Offers:
    """The cassettes that a run has recorded."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._recorded: dict[str, None] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach its cassette to the last report of a test."""
        session = item.stash.get(CASSETTE_STASH_KEY, None)
        report = yield
        if report.when == "teardown" and session and session.mode != "replay":
            setattr(report, _RECORDED_ATTRIBUTE, str(session.path))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the cassettes, where all reports arrive."""
        if not hasattr(self._config, "workerinput") and (path := report.__dict__.pop(_RECORDED_ATTRIBUTE, "")):
            self._recorded[path] = None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the cassettes that were written hold against the mock, and how to learn it."""
        from harness.overrides.offer import offer_learning

        root = self._config.rootpath
        written = [path for name in self._recorded if (path := Path(name)).exists()]
        for line in offer_learning(written, root) if written else ():
            terminalreporter.write_line(line)

"""A test as the viewer shows it, whole: for the page of a run and for traces."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from harness.pytest_plugin.plugin import CAUSES_STASH_KEY

if TYPE_CHECKING:
    from harness.report.report import ReportCase
    from harness.viewer.case_model import ShownCase
    from harness.world.world import World


def show_test(item: pytest.Item, case: ReportCase, world: World) -> ShownCase:
    """Show a test that has just ended; its findings are in its case."""
    from harness.viewer.build_run import show_world

    causes = item.stash.get(CAUSES_STASH_KEY, [])
    return show_world(case, world, causes, time.time() - case.seconds, str(item.config.rootpath))

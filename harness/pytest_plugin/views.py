"""A test as the viewer shows it, whole: for the page of a run and for traces."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from harness.pytest_plugin.plugin import CAUSES_STASH_KEY

if TYPE_CHECKING:
    from harness.core.exchange import Json
    from harness.report.report import ReportCase
    from harness.world.world import World


def view_of_test(item: pytest.Item, case: ReportCase, world: World) -> Json:
    """Write a test that has just ended as a page carries it; its findings are in its case."""
    from harness.viewer.build_run import view_of_world

    return view_of_world(case, world, item.stash.get(CAUSES_STASH_KEY, []), time.time() - case.seconds)

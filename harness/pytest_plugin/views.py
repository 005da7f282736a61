"""A test as the viewer shows it, whole: for the page of a run and for traces."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from harness.pytest_plugin.plugin import CAUSES_STASH_KEY

if TYPE_CHECKING:
    from harness.core.exchange import Json
    from harness.report.report import ReportCase
    from harness.viewer.model import ShownCase
    from harness.world.world import World

PAGE = ".html"
"""The suffix of reports that show tests as the viewer does."""


def view_of_test(item: pytest.Item, case: ReportCase, world: World) -> Json:
    """Write a test as a page carries it."""
    from dataclasses import asdict

    from harness.viewer.build_run import view_of_case

    view = view_of_case(show_test(item, case, world))
    return {**view, "row": asdict(view["row"])}


def show_test(item: pytest.Item, case: ReportCase, world: World) -> ShownCase:
    """Show a test that has just ended, whose findings are in its case."""
    from harness.viewer.build_case import Judgement, build_case
    from harness.viewer.build_run import head_of

    judged = Judgement(item.stash.get(CAUSES_STASH_KEY, []), [*case.found], [world.api_key])
    return build_case(head_of(case, time.time() - case.seconds), world, judged)

"""Makes a report's case for a test, with its position in the checkout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.report.formats import CHECKOUT_VARIABLE

if TYPE_CHECKING:
    from harness.report.report import ReportCase


def new_case(item: pytest.Item | pytest.Session, outcome: str, seconds: float = 0, **others: Any) -> ReportCase:
    """Make the case of a test that took `seconds` seconds; `others` are further members of the case.

    The case of a run is placed at its configuration file, which exists even if no test was collected.
    """
    from harness.report.report import ReportCase

    if isinstance(item, pytest.Session):
        configured = item.config.inipath
        place: tuple[str, int | None, str] = (configured.name if configured else "conftest.py", 0, "")
    else:
        place = item.location
    file, line, _ = place
    path = f"{_checkout_prefix(item.config.rootpath)}{Path(file).as_posix()}"
    return ReportCase(item.nodeid, path, (line or 0) + 1, outcome, round(seconds, 4), **others)


def _checkout_prefix(root: Path) -> str:
    """Return the path from the checkout to the root of the run: empty, or ending with a slash."""
    checkout = os.environ.get(CHECKOUT_VARIABLE)
    inside = root.relative_to(checkout).as_posix() if checkout and root.is_relative_to(checkout) else "."
    return "" if inside == "." else f"{inside}/"

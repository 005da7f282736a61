"""Why a test failed, as the parts of the plugin find out: its causes, for the terminal and the reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from traceback import walk_tb
from typing import TYPE_CHECKING, NoReturn

import pytest

from harness.core.errors import HarnessError
from harness.pytest_plugin.client_watch import Line, is_of_project
from harness.pytest_plugin.options import CAUSES_STASH_KEY

if TYPE_CHECKING:
    from harness.explain.model import Cause

_MAX_CHAIN = 20


def causes_of(item: pytest.Item) -> Sequence[Cause]:
    """Return why a test failed; empty if it has not, or if nobody has found out."""
    return item.stash.get(CAUSES_STASH_KEY, ())


def note_causes(item: pytest.Item, causes: Sequence[Cause]) -> None:
    """Keep the causes of a failure, unless those of an earlier phase are there."""
    item.stash[CAUSES_STASH_KEY] = causes_of(item) or causes


def fail_for(item: pytest.Item, *causes: Cause, details: str = "") -> NoReturn:
    """Fail a test with its causes instead of a traceback."""
    note_causes(item, causes)
    raise pytest.fail.Exception(render_failure(causes, details), pytrace=False) from None


def render_failure(causes: Sequence[Cause], details: str = "") -> str:
    """Render the causes of a failed test, and details of them."""
    from harness.core.text import escape_controls
    from harness.core.vocabulary import PYTHON
    from harness.explain.render import render_causes

    return escape_controls("\n\n".join(filter(None, [render_causes(causes, PYTHON), details])))


def cause_of_error(item: pytest.Item, error: BaseException) -> Cause:
    """Build the cause of a test that only its error explains, at the last line of the project before the error."""
    from harness.explain.model import Cause, raised_cause

    places = project_lines(error)
    where = (
        places[-1].show(str(item.config.rootpath)) if places else f"{item.location[0]}:{(item.location[1] or 0) + 1}"
    )
    if not isinstance(error, HarnessError):
        return raised_cause(pytest.ExceptionInfo.from_exception(error).exconly(), where)
    problem = error.problem
    shown = "\n".join([where, *(line.strip() for line in problem.shown)])
    return Cause(problem.what, section=error.section, where=shown, fix=problem.fix)


def project_lines(error: BaseException) -> list[Line]:
    """List the lines of the project in the traceback of an error, outermost first."""
    walked = [(frame.f_code, number) for frame, number in walk_tb(error.__traceback__)]
    return [
        Line(code.co_filename, number, f"in {code.co_name}")
        for code, number in walked
        if is_of_project(code.co_filename)
    ]


def error_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its causes, and the members of exception groups."""
    following: list[BaseException | None] = [error]
    for _ in range(_MAX_CHAIN):
        if not following:
            return
        if (failed := following.pop(0)) is not None:
            yield failed
            following += failed.exceptions if isinstance(failed, BaseExceptionGroup) else ()
            following.append(failed.__cause__ or failed.__context__)

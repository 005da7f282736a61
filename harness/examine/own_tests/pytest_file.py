"""Renders a file of pytest tests, each of which runs a case of the catalogue against a client."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from textwrap import indent

from harness.core.errors import COMMAND
from harness.examine.case import ClientCase

_NO_NAME = re.compile(r"\W+")
_HEAD = f'''"""Cases of what the API may do, as tests of a client; `{COMMAND} examine --write-test` wrote them."""

from __future__ import annotations

import pytest
from {__package__}.run_task import run_case

CLIENT = dict({{client}})
'''


def render_tests(
    cases: Mapping[str, Sequence[str]], known: Mapping[str, ClientCase], adapter: str, command: str
) -> str:
    """Render a file with a test for each case id, in these modes, with the client of an adapter or a command."""
    client = f"adapter={json.dumps(adapter)}" if adapter else f"command={json.dumps(command)}"
    tests = (_render_test(known[id], modes) for id, modes in cases.items())
    return "\n\n".join([_HEAD.format(client=client), *tests])


def _render_test(case: ClientCase, modes: Sequence[str]) -> str:
    allowed = [
        f"{option}={json.dumps(list(ids))}"
        for option, ids in (("refusals", case.refused), ("losses", case.losses))
        if ids
    ]
    allowed += ['unused="allow"'] if case.spare else []
    lines = [
        *([f"@pytest.mark.harness({', '.join(allowed)})"] if allowed else []),
        f'@pytest.mark.parametrize("mode", {json.dumps(list(modes))})',
        f"def test_{_NO_NAME.sub('_', case.id)}(mock, mode):",
        indent(_docstring(case), "    "),
        f"    run_case(mock, {json.dumps(case.id)}, mode, **CLIENT)",
    ]
    return "\n".join(lines) + "\n"


def _docstring(case: ClientCase) -> str:
    told = (
        f"{case.title} ({case.severity}).",
        "",
        f"The API: {case.does}",
        f"Source: {case.source}",
        f"Due: {case.shows}",
    )
    text = "\n".join(told).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}\n"""'

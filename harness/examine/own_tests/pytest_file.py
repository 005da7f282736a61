"""A file of tests for pytest from cases: each runs the script of a case against a client, and checks what it shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent

from harness.examine.case import ClientCase
from harness.examine.own_tests.case_source import CaseSource, find_source

_NO_NAME = re.compile(r"\W+")
_ALWAYS = (
    "import pytest",
    f"from {__package__}.run_task import expect",
    f"from {__package__}.run_task import run_task",
)


def render_tests(
    cases: Mapping[str, Sequence[str]], known: Mapping[str, ClientCase], adapter: str, command: str
) -> str:
    """The file: for each id of a case a test in these modes, of the client of an adapter or a command."""
    sources = {id: find_source(id) for id in cases}
    imports = {*_ALWAYS, *(line for each in sources.values() if each for line in each.imports)}
    if not all(sources.values()):
        imports |= {"import harness.examine.cases  # noqa: F401", "from harness.examine.case import CASES"}
    client = f"adapter={json.dumps(adapter)}" if adapter else f"command={json.dumps(command)}"
    tests = [_render_test(known[id], modes, sources[id]) for id, modes in cases.items()]
    head = [
        '"""Cases of what the API may do, as tests of a client; `harness examine --write-test` wrote them."""',
        "from __future__ import annotations",
        "\n".join(_sorted_imports(imports)),
        f"CLIENT = dict({client})",
    ]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(tests) + "\n"


def _sorted_imports(lines: set[str]) -> Iterator[str]:
    """Plain imports, then one line for each module that names are imported from."""
    yield from sorted(
        (line for line in lines if line.startswith("import ")), key=lambda line: line.startswith("import h")
    )
    names: dict[str, list[str]] = {}
    for line in sorted(lines):
        if line.startswith("from "):
            module, _, name = line.removeprefix("from ").partition(" import ")
            names.setdefault(module, []).append(name)
    yield from (f"from {module} import {', '.join(own)}" for module, own in names.items())


def _render_test(case: ClientCase, modes: Sequence[str], source: CaseSource | None) -> str:
    allowed = [f"{name}={json.dumps(list(ids))}" for name in ("refused", "losses") if (ids := getattr(case, name))]
    allowed += ['unused="allow"'] if case.spare else []
    lines = [
        *([f"@pytest.mark.harness({', '.join(allowed).replace('refused=', 'refusals=')})"] if allowed else []),
        f'@pytest.mark.parametrize("mode", {json.dumps(list(modes))})',
        f"def test_{_NO_NAME.sub('_', case.id)}(mock, mode):",
        indent(_docstring(case), "    "),
        *(indent(line, "    ") for line in _body(case, source)),
    ]
    return "\n".join(lines)


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


def _body(case: ClientCase, source: CaseSource | None) -> Iterator[str]:
    fails = ", fails=True" if case.fails else ""
    if source is None:
        yield f"case = CASES[{json.dumps(case.id)}]"
        yield "case.script(mock)"
        yield f"seen = run_task(mock, case.task, mode, **CLIENT, seconds={case.seconds:g})"
        yield f"expect(seen, *case.checks{fails})"
        return
    yield from source.definitions
    if source.turns is not None:
        yield f"mock.script({', '.join(source.turns)})"
    else:
        yield f"script = {source.script}"
        yield "script(mock)"
    yield f"seen = run_task(mock, {source.task}, mode, **CLIENT, seconds={case.seconds:g})"
    yield f"expect(seen, {', '.join(source.checks)}{fails})"

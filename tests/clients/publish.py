"""Examine the releases of `examined.toml` and write what came of it to a page of the manual."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.examine.adapter import parse_modes
from harness.examine.adapters import ADAPTERS, command_for
from harness.examine.case import AREAS, CASES, ClientCase
from harness.examine.results import RED, Cell, ClientResult
from harness.examine.run_cases import examine
from tests.clients.cells import Environment
from tests.clients.environments import ROOT, prepared, python_of
from tests.clients.matrix import QUIET

PAGE = ROOT / "docs" / "results" / "clients.md"
"""Where the examinations are published."""
HERE = Path(__file__).parent
EXAMINED, NOTES = HERE / "examined.toml", HERE / "notes.toml"
BEGIN, END = "<!-- published: begin -->", "<!-- published: end -->"
SHOWN = 200
"""Characters of a reason that nobody has written a line about."""


def read_environments(file: Path = EXAMINED) -> Iterator[tuple[str, Environment]]:
    """Yield the adapters, each with the environments of its releases."""
    for adapter, releases in tomllib.loads(file.read_text(encoding="utf-8")).items():
        for name, packages in releases.items():
            lists = {kind: tuple(names) for kind, names in packages.items()}
            yield adapter, Environment(f"{adapter}-{name}", **lists)


def examine_release(
    adapter: str,
    environment: Environment,
    cases: Sequence[ClientCase],
    modes: Iterable[str] = (),
    cache: Path | None = None,
) -> ClientResult:
    """Run cases against the release that an environment has, kept in a cache, in all modes or in some."""
    folder = prepared(environment, cache)
    os.environ.update(QUIET)
    os.environ["EXAMINE_NODE_PROJECT"] = str(folder)
    _, *rest = command_for(adapter)
    program = folder / "bin" / "node" if ADAPTERS[adapter].endswith(".mjs") else python_of(environment, folder)
    return examine([str(program), *rest], cases, parse_modes(modes))


def render_page(page: str, every: Sequence[ClientResult]) -> str:
    """Return the page, with the tables of these examinations between its two marks."""
    notes = tomllib.loads(NOTES.read_text(encoding="utf-8"))
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    told = [*_count_areas(every), "", *(line for client in every for line in _explain(client, notes))]
    return "\n".join([f"{before}{BEGIN}", "", *told, f"{END}{after}"])


def _count_areas(every: Iterable[ClientResult]) -> Iterator[str]:
    areas = [area for area in AREAS if any(case.area == area for case in CASES.values())]
    yield f"| client | {' | '.join(areas)} | seconds |"
    yield f"|---|{'---|' * len(areas)}---|"
    for client in every:
        counts = [_count([cell for cell in client.cells if cell.case.startswith(f"{area}/")]) for area in areas]
        yield f"| {client.client} | {' | '.join(counts)} | {client.seconds:.0f} |"


def _count(cells: Iterable[Cell]) -> str:
    """How many cells passed of those that apply; then, where there are some, how many failed."""
    verdicts = Counter(cell.verdict for cell in cells)
    applied = verdicts.total() - verdicts["not applicable"]
    red, warned = sum(verdicts[verdict] for verdict in RED), verdicts["warn"]
    worse = [f"{count} {word}" for count, word in ((red, "red"), (warned, "warn")) if count]
    return f"{verdicts['pass']}/{applied}{': ' + ', '.join(worse) if worse else ''}" if applied else "–"


def _explain(found: ClientResult, notes: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield a line for each case of which a cell is red: in how many modes, what is wrong, where the case is from."""
    own = {**notes.get("every client", {}), **notes.get(found.client.rpartition(" ")[0], {})}
    red = [cell for cell in found.cells if cell.verdict in RED]
    if not red:
        return
    yield f"### {found.client}\n"
    yield "| case | red | what is wrong | source of the case |\n|---|---|---|---|"
    for id in dict.fromkeys(cell.case for cell in red):
        cells = [cell for cell in red if cell.case == id]
        modes = f"{len(cells)} of {sum(cell.case == id for cell in found.cells)}"
        told = own.get(id) or f"{cells[0].verdict}: {cells[0].reason[:SHOWN]}"
        yield f"| `{id}` | {modes} | {_cell(told)} | {_cell(CASES[id].source)} |"
    yield ""


_EXPLAINED = re.compile(r"^\| `(?P<case>[^`]+)` \| (?P<red>\d+) of (?P<all>\d+) \|", re.M)


def find_differences(page: str, found: ClientResult) -> Iterator[str]:
    """Yield a line for each cell that is red though the page does not explain its case, or green though all of it is red.

    A client that the page does not have must be green.
    """
    _, _, own = page.partition(f"### {found.client}\n")
    explained = {row["case"]: row["red"] == row["all"] for row in _EXPLAINED.finditer(own.partition("\n### ")[0])}
    for cell in found.cells:
        red = cell.verdict in RED
        if red and cell.case not in explained:
            yield f"{cell.case}[{cell.mode}]: {cell.verdict}: {cell.reason}"
        if cell.verdict == "pass" and explained.get(cell.case):
            yield f"{cell.case}[{cell.mode}] passes, but is published as red"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")

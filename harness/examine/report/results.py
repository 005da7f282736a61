"""The results of examinations as data: the cells of one or several clients, from which all reports are rendered.

Texts are shortened and secrets masked when results are collected, so that no format can show them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from harness.core.errors import COMMAND, ConfigError
from harness.core.exchange import Json
from harness.examine.case import AREAS, ClientCase
from harness.examine.cell import RED, Cell
from harness.examine.run_cases import ClientExamination
from harness.report.sanitize import sanitize_value

RESULTS_VERSION = 1
_VARYING = re.compile(
    r"\b[a-z]{2,12}_[0-9A-Za-z]{16,}|\bsk-examine-[0-9a-f]+"
    r"|(?<=request )\d+|(?<=Request )\d+|(?<=\[)\d+(?=\])|\b\d+(?:\.\d+)?(?= s\b)"
)
"""Matches what varies between runs with the same reason: ids, keys, seconds, numbers of requests or elements."""
_NAMED_CASES = 3
"""The maximum number of cases that are named for one reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientResult:
    """The results of one client.

    `client` is its name and release; `adapter` the argument of `responses-harness examine`: `openai`, or `--command …`.
    It is not `complete` if the examination was interrupted.
    """

    client: str
    adapter: str
    seconds: float
    complete: bool
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """The name of the client without its release."""
        return self.client.partition(" ")[0]

    @property
    def failures(self) -> list[Cell]:
        """The red cells of the cases that every client must pass."""
        return [cell for cell in self.cells if cell.is_failure]

    def count(self, area: str = "") -> Counter[str]:
        """Count the cells of an area, or of all areas, by verdict."""
        return Counter(cell.verdict for cell in self.cells if not area or area_of(cell.case) == area)

    def reproduce(self, cell: Cell) -> str:
        """Return the command that runs a cell again."""
        return f"{COMMAND} examine {self.adapter} --case {cell.case} --modes {cell.mode}"

    def as_json(self) -> Json:
        """Return this result as JSON."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**own, "cells": [cell.as_json() for cell in self.cells]}

    @classmethod
    def from_json(cls, members: Json) -> ClientResult:
        """Read a result from the JSON of `as_json`."""
        return cls(**{**members, "cells": tuple(map(Cell.from_json, members["cells"]))})


@dataclass(frozen=True, slots=True)
class ExaminationResults:
    """The results of one or several clients, and the description of each case by id."""

    clients: tuple[ClientResult, ...]
    cases: Mapping[str, Json]

    @property
    def areas(self) -> list[str]:
        """The areas that have a case."""
        return [area for area in AREAS if any(area_of(id) == area for id in self.cases)]


def area_of(case: str) -> str:
    """Return the area of a case, given its id."""
    return case.partition("/")[0]


def case_json(case: ClientCase) -> Json:
    """Describe a case as JSON."""
    names = ("id", "area", "severity", "title", "does", "source", "shows")
    return {**{name: getattr(case, name) for name in names}, "needs": sorted(case.needs)}


def collect_results(found: ClientExamination, cases: Sequence[ClientCase], adapter: str) -> ExaminationResults:
    """Collect the results of one examination."""
    result = ClientResult(
        client=str(sanitize_value(found.declared.client)),
        adapter=adapter,
        seconds=round(found.seconds, 3),
        complete=found.complete,
        cells=tuple(replace(Cell.from_json(sanitize_value(cell.as_json())), view=cell.view) for cell in found.cells),
    )
    return ExaminationResults((result,), {case.id: case_json(case) for case in cases})


def merge_results(several: Iterable[ExaminationResults]) -> ExaminationResults:
    """Merge results; clients with the same name get a number."""
    clients: list[ClientResult] = []
    cases: dict[str, Json] = {}
    for examination in several:
        cases |= examination.cases
        clients += examination.clients
    times: Counter[str] = Counter()
    for number, client in enumerate(clients):
        times[client.client] += 1
        if times[client.client] > 1:
            clients[number] = replace(client, client=f"{client.client} ({times[client.client]})")
    return ExaminationResults(tuple(clients), cases)


def group_by_reason(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Group the failed cells of all cases and modes by severity, verdict and reason.

    Groups that make the examination fail come first.
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell.verdict in RED or cell.verdict == "warn":
            groups.setdefault((cell.severity, cell.verdict, reason_key(cell)), []).append(cell)
    return sorted(groups.values(), key=lambda group: not group[0].is_failure)


def reason_key(cell: Cell) -> str:
    """Return a key for the reason of a cell, without what varies between runs."""
    return _VARYING.sub("…", cell.reason) or cell.case


def name_cases(cells: Iterable[Cell]) -> str:
    """Name the first cases of a group and count the rest."""
    names = list(dict.fromkeys(cell.case for cell in cells))
    more = len(names) - _NAMED_CASES
    return ", ".join(names[:_NAMED_CASES]) + (f" and {more} more" if more > 0 else "")


def is_untold(cell: Cell) -> bool:
    """Return whether a case is not applicable only because the adapter does not report cut answers."""
    return cell.reason.startswith("the adapter does not declare incomplete ")


class BaselineComparison(NamedTuple):
    """The failures compared with a baseline: new, known (in both) and fixed."""

    new: Sequence[Cell]
    known: Sequence[Cell]
    fixed: Sequence[Cell]


def compare_with_baseline(result: ClientResult, baseline: ExaminationResults) -> BaselineComparison:
    """Compare a result with an earlier one of the same client, of any release. ConfigError without one."""
    before = {(cell.case, cell.mode) for cell in _find_earlier(result, baseline).failures}
    new = [cell for cell in result.failures if (cell.case, cell.mode) not in before]
    known = [cell for cell in result.failures if (cell.case, cell.mode) in before]
    fixed = [
        cell
        for cell in result.cells
        if (cell.case, cell.mode) in before and cell.verdict != "not applicable" and not cell.is_failure
    ]
    return BaselineComparison(new, known, fixed)


def _find_earlier(result: ClientResult, baseline: ExaminationResults) -> ClientResult:
    same = [earlier for earlier in baseline.clients if earlier.name == result.name]
    if exact := [earlier for earlier in same if earlier.client == result.client]:
        same = exact
    if len(same) == 1:
        return same[0]
    held = ", ".join(earlier.client for earlier in baseline.clients)
    problem = "several results" if same else "no result"
    raise ConfigError(
        f"--baseline: it has {problem} of {result.name} (it holds {held}). Pass the file of one earlier run."
    )

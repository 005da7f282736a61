"""Compares a run with an earlier one: causes that are new or gone, cases that broke or were mended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from harness.core.errors import ConfigError
from harness.viewer.model import CaseRow, Comparison, Run, ShownCell, ShownExamination

_WRONG_OUTCOMES = frozenset({"failed", "error"})
_NOT_TRIED = frozenset({"skipped", "not applicable"})
"""Outcomes and verdicts that do not show whether a case passes."""


_Verdict = Literal["wrong", "right", "unknown"]


class _Stand(NamedTuple):
    """A case of a run, and its result there."""

    id: str
    verdict: _Verdict


_Stands = Mapping[tuple[str, ...], _Stand]
"""The cases of a run, by a name that is the same in both runs."""


def compare_runs(run: Run, earlier: Run, label: str, paths: tuple[str, str] = ("", "")) -> Run:
    """Return the run with its differences from an earlier one, which `label` names.

    `paths` are the paths that the two were read from: recordings of the same name below them are the same case. An
    examination then has the cells of both. ConfigError if only one of the two is an examination.
    """
    if run.examination and earlier.examination:
        return _compare_examinations(run, run.examination, earlier, earlier.examination, label)
    if run.examination or earlier.examination:
        which = "the run" if run.examination else "the earlier run"
        raise ConfigError(f"--against: only {which} is an examination of clients. Pass two of the same kind.")
    now, before = _stands_of_rows(run.cases, paths[0]), _stands_of_rows(earlier.cases, paths[1])
    return replace(run, comparison=_compare(run, earlier, label, now, before))


def _compare(run: Run, earlier: Run, label: str, now: _Stands, before: _Stands) -> Comparison:
    met, known = _cause_ids(run), _cause_ids(earlier)
    wrong_now = [(key, stand) for key, stand in now.items() if stand.verdict == "wrong"]
    wrong_before = [(key, stand) for key, stand in before.items() if stand.verdict == "wrong"]
    return Comparison(
        label,
        new=[group.id for group in run.causes if group.id not in known],
        gone=[group for group in earlier.causes if group.id not in met],
        broken=[stand.id for key, stand in wrong_now if key in before and before[key].verdict != "wrong"],
        mended=[now[key].id for key, _ in wrong_before if key in now and now[key].verdict == "right"],
        added=[stand.id for key, stand in wrong_now if key not in before],
        missing=[stand.id for key, stand in wrong_before if key not in now],
    )


def _cause_ids(run: Run) -> set[str]:
    """Return the ids of all causes of a run, including those that are not the first of their case."""
    cells = run.examination.cells if run.examination else ()
    return {cause.group for row in run.cases for cause in row.causes} | {cell.group for cell in cells}


def _stands_of_rows(rows: Iterable[CaseRow], path: str) -> _Stands:
    stands: dict[tuple[str, ...], _Stand] = {}
    for row in rows:
        is_wrong = row.outcome in _WRONG_OUTCOMES or any(not cause.expected for cause in row.causes)
        verdict: _Verdict = "wrong" if is_wrong else "unknown" if row.outcome in _NOT_TRIED else "right"
        stands[(row.id.removeprefix(path).lstrip("/"),)] = _Stand(row.id, verdict)
    return stands


def _compare_examinations(
    run: Run, examined: ShownExamination, earlier: Run, before: ShownExamination, label: str
) -> Run:
    """Compare clients of the same name, and put the earlier cells beside the new ones, without their exchanges."""
    pairs = [(old, new) for new in examined.clients if (old := _find_earlier(new, before.clients))]
    renamed = {name: f"{name} (earlier)" if name in examined.clients else name for name in before.clients}
    stands_now = _stands_of_cells(examined.cells, {new: new for _, new in pairs})
    stands_before = _stands_of_cells(before.cells, dict(pairs))
    comparison = replace(
        _compare(run, earlier, label, stands_now, stands_before),
        clients=[(renamed[old], new) for old, new in pairs],
    )
    cells = [replace(cell, client=renamed[cell.client], flow="") for cell in before.cells]
    both = ShownExamination(
        [*renamed.values(), *examined.clients], {**before.cases, **examined.cases}, [*cells, *examined.cells]
    )
    return replace(run, examination=both, comparison=comparison)


def _find_earlier(client: str, earlier: Sequence[str]) -> str | None:
    """Return the same client in an earlier examination: of the same release, or else the only other release."""
    name = client.partition(" ")[0]
    same = [client] if client in earlier else [release for release in earlier if release.partition(" ")[0] == name]
    return same[0] if len(same) == 1 else None


def _stands_of_cells(cells: Iterable[ShownCell], clients: Mapping[str, str]) -> _Stands:
    """Return the results of some clients' cells, by the name of the client in the later run, the case and the mode."""
    stands: dict[tuple[str, ...], _Stand] = {}
    for cell in cells:
        if cell.client in clients:
            verdict: _Verdict = "wrong" if cell.group else "unknown" if cell.verdict in _NOT_TRIED else "right"
            id = f"{cell.client} {cell.case} [{cell.mode}]"
            stands[clients[cell.client], cell.case, cell.mode] = _Stand(id, verdict)
    return stands

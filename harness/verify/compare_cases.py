"""Compares a case with an earlier one, exchange by exchange: requests, answers and results.

Exchanges are paired by lane, operation and position. Ids that differ from run to run are the same if their answers are.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any, Literal

from harness.cassettes.recording.matching import ID
from harness.core.exchange import Json
from harness.core.json_values import map_strings
from harness.report.report import WRONG_OUTCOMES
from harness.verify.compare import Difference, Profile, compare
from harness.viewer.compared import ChangedExchange, ComparedCase, ComparedVerdict, Comparison
from harness.viewer.page_data import CaseRow, ShownCase, ShownExchange
from harness.viewer.pool import PoolReader

_BY_ELEMENT = Profile(is_indexed=True)


class _SameIds:
    """Which id of the earlier case is which of the later one; the answers say so first, then the requests."""

    def __init__(self) -> None:
        self._later: dict[str, str] = {}
        self._known: set[str] = set()

    def learn(self, was: Any, now: Any) -> None:
        """Pair the ids at the same places of two values, as far as neither is known yet."""
        if isinstance(was, dict) and isinstance(now, dict):
            for name in (name for name in was if name in now):
                self.learn(was[name], now[name])
        elif isinstance(was, list) and isinstance(now, list):
            for earlier, later in zip(was, now, strict=False):
                self.learn(earlier, later)
        elif isinstance(was, str) and isinstance(now, str) and ID.sub("", was) == ID.sub("", now):
            for earlier, later in zip(ID.findall(was), ID.findall(now), strict=True):
                if earlier not in self._later and later not in self._known:
                    self._later[earlier] = later
                    self._known.add(later)

    def rename(self, value: Any) -> Any:
        """Replace the ids of an earlier value by those of the later case."""
        return map_strings(value, lambda text: ID.sub(lambda found: self._later.get(found[0], found[0]), text))


def compare_cases(before: ShownCase, now: ShownCase) -> ComparedCase:
    """Compare a case with an earlier one."""
    ids, readers = _SameIds(), (PoolReader(before.pool), PoolReader(now.pool))
    pairs = _pair_exchanges(before, now)
    changes = [change for pair in pairs if (change := _compare_exchange(pair, (before, now), readers, ids))]
    old, new = (Counter(_unexpected_losses(case)) for case in (before, now))
    new_losses, gone_losses = sorted((new - old).elements()), sorted((old - new).elements())
    verdict = _judge(before.row, now.row, new_losses, gone_losses)
    outcomes = before.row.outcome, now.row.outcome
    return ComparedCase(now.row.id, verdict, outcomes, len(pairs) - len(changes), changes, new_losses, gone_losses)


_Pair = tuple[ShownExchange | None, ShownExchange | None]
"""The earlier and the later exchange at the same place."""


def _pair_exchanges(before: ShownCase, now: ShownCase) -> list[_Pair]:
    """Pair the exchanges of the same operation and lane by position, in the order of the journal.

    Those that are left over are paired across lanes: an agent with another model is another lane.
    """
    by_lane = _zip_groups(before, now, lambda case, shown: (case.lanes[shown.lane], *_operation(shown)))
    whole = [pair for pair in by_lane if pair[0] and pair[1]]
    gone, new = ({shown.number for pair in by_lane if None in pair and (shown := pair[side])} for side in (0, 1))
    left = _zip_groups(
        replace(before, exchanges=[shown for shown in before.exchanges if shown.number in gone]),
        replace(now, exchanges=[shown for shown in now.exchanges if shown.number in new]),
        lambda case, shown: _operation(shown),
    )
    return sorted([*whole, *left], key=lambda pair: next(shown.number for shown in reversed(pair) if shown))


def _operation(shown: ShownExchange) -> tuple[str, ...]:
    return (shown.operation,) if "{" in shown.operation else (shown.method, shown.path)


def _zip_groups(
    before: ShownCase, now: ShownCase, group: Callable[[ShownCase, ShownExchange], tuple[str, ...]]
) -> list[_Pair]:
    groups: dict[tuple[str, ...], tuple[list[ShownExchange], list[ShownExchange]]] = defaultdict(lambda: ([], []))
    for side, case in enumerate((before, now)):
        for shown in case.exchanges:
            groups[group(case, shown)][side].append(shown)
    return [pair for sides in groups.values() for pair in zip_longest(*sides)]


def _compare_exchange(
    pair: _Pair, cases: tuple[ShownCase, ShownCase], readers: tuple[PoolReader, PoolReader], ids: _SameIds
) -> ChangedExchange | None:
    """Return how an exchange differs from the earlier one; None if it is the same."""
    was, now = pair
    lane = cases[1].lanes[now.lane] if now else cases[0].lanes[was.lane] if was else ""
    if was is None or now is None:
        return ChangedExchange("new" if now else "gone", lane, now.number if now else 0, was.number if was else 0)
    sent, answered = ([part(was, readers[0]), part(now, readers[1])] for part in (_sent, _answered))
    ids.learn(*answered)
    ids.learn(*sent)
    found = next(chain(_differences(sent, ids), _differences(answered, ids)), None)
    if found is None:
        return None
    refused_before, refused = was.status >= 400, now.status >= 400
    what: Literal["changed", "refused", "accepted"] = (
        "changed" if refused == refused_before else "refused" if refused else "accepted"
    )
    return ChangedExchange(what, lane, now.number, was.number, *found)


def _sent(shown: ShownExchange, reader: PoolReader) -> Json:
    request = reader.value(shown.request)
    body = request if isinstance(request, dict) else {"body": request}
    return {**body, "(method)": shown.method, "(path)": shown.path, "(query)": reader.value(shown.query)}


def _answered(shown: ShownExchange, reader: PoolReader) -> Json:
    return {"status": shown.status, "output": reader.value(shown.output), "cut": shown.edge.cut}


def _differences(values: Sequence[Json], ids: _SameIds) -> Iterator[Difference]:
    yield from compare(ids.rename(values[0]), values[1], _BY_ELEMENT)


def _unexpected_losses(case: ShownCase) -> Iterator[str]:
    return (finding.rule for finding in case.findings if finding.kind == "loss" and not finding.expected)


def _judge(before: CaseRow, now: CaseRow, new: Sequence[str], gone: Sequence[str]) -> ComparedVerdict:
    """Judge what became of a case, in which some losses are `new` and some are `gone`."""
    causes, earlier = ({cause.group for cause in row.causes} for row in (now, before))
    was_wrong, is_wrong = (bool(row.causes) or row.outcome in WRONG_OUTCOMES for row in (before, now))
    if new or causes - earlier or (is_wrong and not was_wrong):
        return "worse"
    return "better" if gone or earlier - causes or (was_wrong and not is_wrong) else "same"


def judge_comparison(comparison: Comparison) -> ComparedVerdict:
    """Judge all of a run: worse if anything is, else better if anything is."""
    verdicts = {case.verdict for case in comparison.cases}
    if comparison.new or comparison.broken or comparison.added or "worse" in verdicts:
        return "worse"
    return "better" if comparison.gone or comparison.mended or "better" in verdicts else "same"

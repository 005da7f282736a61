"""A run as text for terminals and coding agents: the verdict, the causes, then the exchanges, within a token budget."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from textwrap import indent
from typing import Any

from harness.core.text import pluralize, shorten
from harness.explain.render import NO_LIMIT, render_cause
from harness.report.report import count_outcomes
from harness.viewer.compared import CauseGroup, ComparedCase, Comparison
from harness.viewer.json_form import from_json
from harness.viewer.page_data import Run, ShownCase, ShownCause, ShownExchange, TranscriptItem
from harness.viewer.pool import PoolReader

BYTES_PER_TOKEN = 4
"""Approximate characters per token of such a text."""
MAX_CASES = 5
"""How many cases of a cause are named, the first ones."""
MAX_CHANGES = 8
"""How many exchanges of a compared case are named, the first ones."""
LINE = 160
"""Maximum length of a line in a card."""
MAX_HEADS = 20
"""How many causes are named at the beginning, those with the most cases."""
LEAST_MILLISECONDS = 10
"""Minimum duration, in milliseconds, for a stream's timing to be mentioned."""
ITEM = 600
"""Characters of a marked item that are shown."""
OpenCase = Callable[[str], ShownCase | None]
"""Opens a case by its id."""


def render_run(run: Run, open_case: OpenCase, tokens: int) -> str:
    """Render a run in at most `tokens` tokens, the most important first; the end says what was left out."""
    return _within(_parts(run, open_case), tokens)


def render_case(run: Run, case: ShownCase, tokens: int) -> str:
    """Render one case in at most `tokens` tokens."""
    parts = [_head_of_case(case), *(_render_cause(cause, run) for cause in case.row.causes), *_cards(case)]
    return _within(parts, tokens)


def _within(parts: Iterable[str], tokens: int) -> str:
    """Join the parts that fit into `tokens`.

    The first is cut rather than dropped, and the end says that there is more.
    """
    budget, written = tokens * BYTES_PER_TOKEN, list[str]()
    for part in parts:
        if len(part) > budget:
            kept = [f"{part[:budget]}…"] if not written else []
            return "\n\n".join([*written, *kept, f"… more with --tokens {tokens * 4}, or of one: --case NAME"])
        budget -= len(part)
        written.append(part)
    return "\n\n".join(written)


def _parts(run: Run, open_case: OpenCase) -> Iterator[str]:
    """Yield the parts of a run, the most important first: verdict, causes, the cards of the first case of each."""
    yield _verdict(run)
    first = {cause.group: cause for row in reversed(run.cases) for cause in row.causes[:1]}
    for number, group in enumerate(run.causes, 1):
        yield _render_group(number, group, first.get(group.id), run)
    for group in run.causes:
        if group.cases and (case := open_case(group.cases[0][0])):
            yield "\n\n".join([_head_of_case(case), *_cards(case, group.cases[0][1])])
    if not run.causes:
        for row in run.cases:
            if case := open_case(row.id):
                yield "\n\n".join([_head_of_case(case), *_cards(case)])


def _verdict(run: Run) -> str:
    counts = count_outcomes(run.counts)
    seconds = f"{run.seconds:.1f} s" if run.seconds else ""
    facts = ", ".join(filter(None, [run.command, run.commit, seconds]))
    is_part = len(run.cases) < sum(run.counts.values())
    used = f" ({len(run.cases)} of them used the mock)" if is_part else ""
    good = "nothing wrong in the requests to the mock" if is_part else "nothing wrong"
    causes = pluralize(len(run.causes), "cause") if run.causes else good
    lines = [f"{counts}{used}; {causes}", f"({facts})" if facts else "", run.line, *run.notes]
    if len(run.causes) > 1:
        heads = (
            f"{number}. {_name_group(group, run)} ({len(group.cases)})"
            for number, group in enumerate(run.causes[:MAX_HEADS], 1)
        )
        lines += [shorten(f"  {' '.join(head.split())}", LINE) for head in heads]
    if run.comparison:
        lines += _compared(run.comparison)
    return "\n".join(filter(None, lines))


def _name_group(group: CauseGroup, run: Run) -> str:
    is_new = run.comparison and group.id in run.comparison.new
    return f"{'new: ' if is_new else ''}{group.what}"


def _compared(comparison: Comparison) -> Iterator[str]:
    """Yield the differences from the earlier run: counts, then the names behind each."""
    named = {
        "broken": comparison.broken,
        "mended": comparison.mended,
        "failing and not in the earlier one": comparison.added,
        "failed before and not in this one": comparison.missing,
    }
    counts = [f"{pluralize(len(comparison.new), 'new cause')}, {len(comparison.gone)} gone"]
    counts += [f"{len(ids)} {name}" for name, ids in named.items() if ids]
    yield f"against {comparison.earlier}: {'; '.join(counts)}"
    yield from (
        shorten(f"  gone: {' '.join(group.what.split())} ({len(group.cases)})", LINE) for group in comparison.gone
    )
    for name, ids in named.items():
        hidden = len(ids) - MAX_CASES
        yield from (f"  {name}: {id}" for id in ids[:MAX_CASES])
        yield f"  … {hidden} more" if hidden > 0 else ""
    is_only = len(comparison.cases) == 1
    changed = [case for case in comparison.cases if case.changes or case.verdict != "same" or is_only]
    for case in sorted(changed, key=lambda case: ("worse", "better", "same").index(case.verdict))[:MAX_CASES]:
        yield from _compared_case(case)
    hidden = len(changed) - MAX_CASES
    yield f"  … {pluralize(hidden, 'more case')} changed" if hidden > 0 else ""


def _compared_case(case: ComparedCase) -> Iterator[str]:
    """Yield what became of a case: its verdict and outcomes, then the exchanges that differ."""
    outcomes = " → ".join(dict.fromkeys(case.outcomes))
    yield f"  {case.verdict}: {case.id} ({outcomes}); {pluralize(case.same, 'exchange')} as before"
    for word, losses in (("new", case.new_losses), ("gone", case.gone_losses)):
        yield f"    {word} losses: {', '.join(dict.fromkeys(losses))}" if losses else ""
    differing = [change for change in case.changes if change.at]
    for change in differing[:MAX_CHANGES]:
        place = f"request {change.number} of {change.lane}, {_CHANGES[change.what]}"
        yield shorten(f"    {place}: {change.at} was {change.was}, is {change.now}", LINE)
    hidden = len(differing) - MAX_CHANGES
    more = Counter(change.what for change in case.changes if not change.at)
    yield f"    … {pluralize(hidden, 'more request')} changed" if hidden > 0 else ""
    yield from (f"    {pluralize(count, 'request')} {_CHANGES[kind]}" for kind, count in more.items())


_CHANGES = {
    "changed": "changed",
    "accepted": "accepted, refused before",
    "refused": "refused, accepted before",
    "new": "not there before",
    "gone": "not there any more",
}


def _render_group(number: int, group: CauseGroup, cause: ShownCause | None, run: Run) -> str:
    named = [f"{id}{f', request {exchange}' if exchange else ''}" for id, exchange in group.cases[:MAX_CASES]]
    hidden = len(group.cases) - len(named)
    more = [f"… {hidden} more"] if hidden else []
    what = _name_group(group, run)
    body = _render_cause(replace(cause, what=what), run) if cause else what
    cases = "\n".join([*named, *more])
    return f"{number}. {body}\n  cases   {indent(cases, ' ' * 10).strip()}"


def _render_cause(cause: ShownCause, run: Run) -> str:
    """Render a cause as a failed test does, with its rule."""
    known = run.documented.get(cause.rule)
    rule = [("rule", f"{cause.rule}: {known.summary}")] if known else []
    return render_cause(replace(cause, rows=[*cause.rows, *rule]), NO_LIMIT)


def _head_of_case(case: ShownCase) -> str:
    row = case.row
    place = f"{row.file}:{row.line}" if row.file else ""
    facts = ", ".join(filter(None, [row.outcome, place, pluralize(row.exchanges, "request")]))
    return "\n".join([f"{row.name} ({facts})", *(f"  then: {text}" for text in row.consequences)])


def _cards(case: ShownCase, wrong: int = 0) -> Iterator[str]:
    """Yield a card for each exchange; the wrong one also shows its marked items and its answer."""
    pool = PoolReader(case.pool)
    for shown in case.exchanges:
        yield _card(case, shown, pool, is_wrong=shown.number == wrong or bool(shown.error))
    if case.waiting:
        yield "\n".join(f"no request took {turn.text}" for turn in case.waiting)


def _card(case: ShownCase, shown: ShownExchange, pool: PoolReader, *, is_wrong: bool) -> str:
    lane = case.lanes[shown.lane] if shown.lane < len(case.lanes) else ""
    arrived = f"+{shown.edge.arrived:.0f} ms" if shown.edge.arrived is not None else ""
    head = "  ".join(filter(None, [f"{shown.number:>3}", arrived, lane, f"{shown.method} {shown.path}"]))
    before = f"({pluralize(shown.before, 'item')} as before) " if shown.before else ""
    lines = [head, shorten(f"      {before}{shown.gist}", LINE), shorten(f"      → {shown.status} {shown.said}", LINE)]
    if shown.retry_of:
        lines.append(f"      retry of request {shown.retry_of}")
    if sent := _sending(shown):
        lines.append(f"      {sent}")
    if shown.edge.cut:
        lines.append(f"      {shown.edge.cut}")
    if shown.answered_by and shown.answered_by.file:
        by = shown.answered_by
        lines.append(f"      by {by.route}, turn {by.turn}, {by.file}:{by.line}")
    elif shown.tried:
        lines += [f"      not by {route.route}: {route.failed}" for route in shown.tried if route.failed]
    if is_wrong:
        lines += [f"      {line}" for line in _marked(shown, pool)]
    return "\n".join(lines)


def _sending(shown: ShownExchange) -> str:
    """Describe how long a stream took and its longest pause, as measured; empty if it was sent at once."""
    times = [event.at for event in shown.events or () if event.at is not None] if shown.edge.measured else []
    if not times or times[-1] < LEAST_MILLISECONDS:
        return ""
    wait, place = max((end - start, place) for place, (start, end) in enumerate(pairwise([0.0, *times]), 1))
    return (
        f"{pluralize(len(times), 'event')} in {times[-1]:.0f} ms, the longest wait {wait:.0f} ms before event {place}"
    )


def _marked(shown: ShownExchange, pool: PoolReader) -> Iterator[str]:
    """Yield the items of a request that were refused, lost, doubled or edited, with their former content."""
    items: list[Any] = pool.value(shown.transcript) or []
    for item in (from_json(item, TranscriptItem) for item in items):
        if item.mark:
            said = f", from request {item.said}" if item.said else ""
            yield f"{item.mark} {item.at or '(not there)'}{said}: {_short(item.item)}"
            if item.was is not None and item.mark != "lost":
                yield f"  was: {_short(item.was)}"


def _short(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), ITEM)

"""`harness record --rules`, `harness drift` and `harness cassettes`: the live API asked about the rules and recordings."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from harness.cli.app import make_console, print_json, progress, require_known
from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.contract.rule import Rule
    from harness.live.client.budget import Budget
    from harness.live.client.paced import Sender
    from harness.live.drift.resend import ResentExchange
    from harness.live.inventory import CassetteStatus
    from harness.live.rule_evidence.outcome import ProbeOutcome
    from harness.live.rule_evidence.probes import Probe

LONG_WAIT = 2.0
"""Seconds from which on waiting is told."""
ALL_AREAS = "all"
"""What stands for every area."""
FRESH_DAYS = 30
"""Days for which what was asked about a rule is not asked again."""
KEY_BY_DIALECT: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "foundry": "AZURE_OPENAI_API_KEY",
}
"""Where the key to each dialect is looked for."""
DRIFT_MEANINGS = {
    "live": "the mock says what the API says now: record again",
    "recording": "the mock still says what was recorded: it is behind",
    "both": "the mock says either: what was stored then is not there now",
    "neither": "the mock says neither",
}

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; the budget is shown all the same.")]
KeyEnvOption = Annotated[
    str, typer.Option(metavar="NAME", help="The variable that holds the key, if it is another one.")
]
UpstreamOption = Annotated[str, typer.Option(envvar="OPENAI_BASE_URL", metavar="URL", help="The live API's root.")]


def record_rules(
    areas: Sequence[str], upstream: str, into: Path, *, key_env: str = "", yes: bool = False, fresh: int = FRESH_DAYS
) -> NoReturn:
    """Ask the live API for the examples of the rules of these areas (`all`, as without any), and keep its answers.

    What was asked of the same API in the last `fresh` days is not asked again, but told.
    """
    from harness.live.client.budget import sum_budgets
    from harness.live.rule_evidence import store
    from harness.live.rule_evidence.outcome import judge_probe
    from harness.live.rule_evidence.probes import probes_for_rules

    sender = _make_sender(upstream, key_env)
    dialect = sender.live.upstream.dialect
    probes, left_out = probes_for_rules(_rules_in_areas(areas), dialect)
    since = (date.today() - timedelta(days=fresh)).isoformat()
    kept = {
        probe: run
        for probe in probes
        if (run := store.find_recorded_run(into, dialect, probe, sender.live.public_name, since))
    }
    to_ask = [probe for probe in probes if probe not in kept]
    _print_left_out(len(kept), left_out)
    outcomes = [judge_probe(probe, run, fresh=False) for probe, run in kept.items()]
    if to_ask:
        _confirm_cost(sum_budgets(probe.cost for probe in to_ask), sender, yes)
        outcomes += _ask_and_keep(to_ask, sender, into, kept)
    _print_outcomes(outcomes)
    raise typer.Exit(int(any(one.finding in ("contradicted", "new words") for one in outcomes)))


def _rules_in_areas(areas: Sequence[str]) -> list[Rule]:
    from harness.contract.rule import RULES

    known_areas = [*dict.fromkeys(rule.area for rule in RULES.values()), ALL_AREAS]
    names = {require_known("area", area, known_areas) for area in areas} or {ALL_AREAS}
    return [rule for rule in RULES.values() if names & {rule.area, ALL_AREAS}]


def _make_sender(upstream: str, key_env: str) -> Sender:
    import harness.contract.rules  # noqa: F401  (registers every rule)
    from harness.api.upstream import parse_upstream as at
    from harness.live.client.paced import LiveApi, Sender

    behind = at(upstream)
    name = key_env or KEY_BY_DIALECT[behind.dialect]
    if not (key := os.environ.get(name, "").strip()):
        raise ConfigError(f"no key for {behind.origin}: set {name}, or name another variable with --key-env.")
    return Sender(LiveApi(behind, key), sleep=_wait_with_notice)


def _wait_with_notice(seconds: float) -> None:
    """Wait as long as the API asks for, and say so where it is long."""
    if seconds >= LONG_WAIT:
        typer.echo(f"waiting {seconds:.0f} s: the API has had enough requests for now", err=True)
    time.sleep(seconds)


def _print_left_out(fresh: int, left_out: Mapping[str, int]) -> None:
    """What is not sent, on stderr like all that is no result."""
    if fresh:
        typer.echo(f"{fresh} asked lately, and not again", err=True)
    for why, times in sorted(left_out.items()):
        typer.echo(f"{times} left out: {why}", err=True)


def _confirm_cost(cost: Budget, sender: Sender, yes: bool) -> None:
    """Show what it costs and ask whether to go on; where nobody can answer only --yes will do."""
    typer.echo(f"{sender.live.upstream.origin}: {cost}", err=True)
    if yes:
        return
    try:
        agreed = typer.confirm("Go on?", err=True)
    except typer.Abort:
        raise ConfigError("nothing was sent: nobody could be asked whether to spend this. Give --yes.") from None
    if not agreed:
        raise typer.Exit(1)


def _ask_and_keep(to_ask: Sequence[Probe], sender: Sender, into: Path, kept: Mapping[Probe, Any]) -> list[ProbeOutcome]:
    """Ask, and keep what was said of a rule before the next one is asked about, or when it is interrupted."""
    from harness.live.rule_evidence import store
    from harness.live.rule_evidence.outcome import judge_probe
    from harness.live.rule_evidence.send import send_probe

    outcomes: list[ProbeOutcome] = []
    asked: dict[Probe, Any] = {}
    dialect, key = sender.live.upstream.dialect, sender.live.key

    def keep() -> None:
        if asked:
            store.store_runs(into, dialect, dict(asked), [key])
            asked.clear()

    try:
        for probe in _with_progress(to_ask, "asking"):
            if asked and next(iter(asked)).rule is not probe.rule:
                keep()
            outcomes.append(judge_probe(probe, run := send_probe(probe, sender)))
            if outcomes[-1].finding != "unclear":
                asked[probe] = run
    finally:
        keep()
    return outcomes


def _with_progress(several: Sequence[Any], what: str) -> Iterator[Any]:
    """Each of them, with a bar where somebody looks."""
    with progress(what) as tell:
        for done, one in enumerate(several):
            tell(done, len(several))
            yield one


def _print_outcomes(outcomes: Sequence[ProbeOutcome]) -> None:
    from rich.table import Table

    from harness.live.rule_evidence.outcome import PROBE_FINDINGS

    console = make_console()
    table = Table("area", "examples", *PROBE_FINDINGS, box=None, pad_edge=False)
    areas = dict.fromkeys(one.probe.rule.area for one in outcomes)
    for area in (*areas, ALL_AREAS):
        found = Counter(one.finding for one in outcomes if area in (ALL_AREAS, one.probe.rule.area))
        table.add_row(area, str(found.total()), *(str(found[each] or "-") for each in PROBE_FINDINGS))
    console.print(table)
    for one in sorted(outcomes, key=lambda one: PROBE_FINDINGS.index(one.finding)):
        if one.finding != "confirmed":
            for text in _outcome_lines(one):
                console.print(text)


def _outcome_lines(one: ProbeOutcome) -> Iterator[str]:
    from harness.core.redact import redact
    from harness.core.shorten import shorten, shorten_json

    words = one.probe.expected_message
    what = "an example that it takes" if words is None else shorten(words)
    yield f"{one.finding}  {one.probe.rule.id}: {what}"
    if one.why:
        yield f"  {one.why}"
    if words is None or one.finding == "contradicted":
        yield f"  sent  {shorten_json(one.probe.case.body)}"
    for name in dict.fromkeys((*(one.expected or {}), *(one.received or {}))):
        rule, live = (one.expected or {}).get(name), (one.received or {}).get(name)
        if one.received is not None and rule != live:
            yield f"  {name}  " + redact(f"{rule!r} → {live!r}" if one.expected else repr(live))


def drift(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH...]", help="Recordings, or folders of them.")
    ] = None,
    upstream: UpstreamOption = "https://api.openai.com/v1",
    key_env: KeyEnvOption = "",
    yes: YesOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Send recorded requests to the live API again: what does it say now, what did it say then, and what does the mock?

    Ids, times, texts and usage are not compared.
    """
    from harness.live.drift.plan import plan_resending
    from harness.live.drift.resend import resend

    sender = _make_sender(upstream, key_env)
    planned = plan_resending(paths or [Path("cassettes")], sender.live.upstream.dialect)
    if not planned.conversations:
        why = "; ".join(f"{times} left out: {why}" for why, times in planned.left_out.items())
        raise ConfigError(f"no recorded request can be sent again. {why or 'Give the paths of recordings.'}")
    _print_left_out(0, planned.left_out)
    _confirm_cost(planned.cost, sender, yes)
    found: list[ResentExchange] = []
    try:
        for talk in _with_progress(planned.conversations, "sending"):
            found.extend(resend(talk, sender))
    finally:  # what was found before the API could not be asked any further is told, too
        if as_json:
            told = [{**one._asdict(), "found": [each._asdict() for each in one.found]} for one in found]
            print_json({"exchanges": told, "left_out": planned.left_out})
        elif found:
            _print_drift(found)
    raise typer.Exit(int(any(one.found for one in found)))


def _print_drift(found: Sequence[ResentExchange]) -> None:
    from harness.core.redact import redact
    from harness.core.shorten import pluralize, shorten
    from harness.live.drift.resend import CONTINUES_LOST_ANSWER

    console = make_console()
    same = sum(not one.why and not one.found for one in found)
    why_not = Counter(one.why for one in found if one.why)
    sent = pluralize(len(found) - why_not[CONTINUES_LOST_ANSWER], "exchange")
    console.print(f"{sent} sent again: {same} as recorded, {sum(bool(one.found) for one in found)} not")
    for why, times in why_not.items():
        console.print(f"{times} not {'sent' if why == CONTINUES_LOST_ANSWER else 'compared'}: {redact(why)}")
    places: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for one in found:
        for each in one.found:
            places.setdefault((each.at, each.recorded, each.live), []).append((one.id, each.mock))
    for (at, recorded, live), several in places.items():
        more = f" and {len(several) - 1} more" if several[1:] else ""
        console.print(redact(f"{several[0][0]}{more}  {at}"))
        console.print(redact(f"  recorded  {shorten(recorded, 300)}\n  live      {shorten(live, 300)}"))
        for meaning in dict.fromkeys(DRIFT_MEANINGS[mock] for _, mock in several if mock):
            console.print(f"  {meaning}")


def cassettes(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH...]", help="Cassettes, or folders of them.")
    ] = None,
    stale_after: Annotated[int, typer.Option(min=0, metavar="DAYS", help="When a recording is stale.")] = 90,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List cassettes: age, SDK then and now, which are stale, which nothing names, and what recording again costs."""
    import harness.contract.rules  # noqa: F401  (registers every rule)
    from harness.live.inventory import list_cassettes

    listed = list(list_cassettes(paths or [Path("cassettes")], date.today(), stale_after))
    if not listed:
        raise ConfigError("no cassette there: give the paths of recordings, or of folders of them.")
    if as_json:
        print_json([{**asdict(one), "file": one.file.as_posix(), "cost": one.cost._asdict()} for one in listed])
        return
    _print_inventory(listed)


def _print_inventory(listed: Sequence[CassetteStatus]) -> None:
    from rich.table import Table

    console = make_console()
    table = Table(
        "cassette", "exchanges", "recorded", "days", "sdk", "now", "replayed", "notes", box=None, pad_edge=False
    )
    for one in listed:
        notes = "; ".join([*one.stale, *(["nothing names it"] if one.orphan else [])])
        age = "-" if one.age is None else str(one.age)
        cells = (one.recorded or "-", age, one.sdk or "-", one.now or "-", one.replayed or "never", notes)
        table.add_row(one.file.as_posix(), str(one.exchanges), *cells)
    console.print(table)
    for text in _rerecord_lines(listed):
        console.print(text)


def _rerecord_lines(listed: Sequence[CassetteStatus]) -> Iterator[str]:
    """What to run to make the stale ones again, and what each costs."""
    from harness.live.client.budget import sum_budgets
    from harness.live.inventory import plan_rerecording

    costs = plan_rerecording(listed)
    yield from (f"{command}   # {cost}" for command, cost in costs.items())
    if len(costs) > 1:
        yield f"in all: {sum_budgets(costs.values())}"
    unknown = [one.file.as_posix() for one in listed if one.stale and not one.orphan and not one.again]
    yield from (f"{file}: no command makes it again" for file in unknown)

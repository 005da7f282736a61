"""`python -m tools.rule_evidence`: sends the rules' examples to the live API and stores its answers as evidence."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from harness.cli.drift import LiveOptions, confirm_cost, make_sender, print_left_out, with_progress
from harness.cli.program import ExitCode, argument, make_console, option, require_known
from harness.contract.rule import RULES, Rule
from harness.core.errors import ConfigError
from harness.core.secret_prefixes import redact
from harness.core.text import shorten, shorten_json
from harness.live.paced import Sender, sum_budgets
from tools.program import make_program
from tools.rule_evidence import store
from tools.rule_evidence.outcome import PROBE_FINDINGS, ProbeOutcome, judge_probe
from tools.rule_evidence.probes import Probe, probes_for_rules
from tools.rule_evidence.send import send_probe

ALL_AREAS = "all"
"""The name for all areas."""
FRESH_DAYS = 30
"""The number of days for which a recorded example is not sent again."""


@dataclass(frozen=True, kw_only=True)
class EvidenceOptions(LiveOptions):
    """The options of the command."""

    areas: list[str] | None = argument(None, "Whose rules' examples are sent; without one, all.", metavar="AREA")
    into: Path = option(Path("cassettes"), "Where the evidence is stored.", metavar="DIR")
    fresh: int = option(FRESH_DAYS, "Examples recorded so lately are judged, not sent again.", min=0, metavar="DAYS")


def record_rules(options: EvidenceOptions) -> None:
    """Send the examples of the rules to the live API, and store its answers."""
    sender, into = make_sender(options), options.into
    dialect = sender.live.upstream.dialect
    probes, left_out = probes_for_rules(_rules_in_areas(options.areas or []), dialect)
    since = (date.today() - timedelta(days=options.fresh)).isoformat()
    recorded = {
        probe: run
        for probe in probes
        if (run := store.find_recorded_run(into, dialect, probe, sender.live.public_name, since))
    }
    to_send = [probe for probe in probes if probe not in recorded]
    print_left_out(len(recorded), left_out)
    outcomes = [judge_probe(probe, run, fresh=False) for probe, run in recorded.items()]
    if to_send:
        confirm_cost(sum_budgets(probe.cost for probe in to_send), sender, options.yes)
        outcomes += _send_and_store(to_send, sender, into, recorded)
    _print_outcomes(outcomes)
    if any(outcome.finding in ("contradicted", "new words") for outcome in outcomes):
        raise typer.Exit(ExitCode.FOUND)
    if all(outcome.finding == "unclear" for outcome in outcomes):
        why = "no answer shows whether the rules are true" if outcomes else "no example can be sent to this API"
        raise ConfigError(f"nothing was judged: {why}.")
    raise typer.Exit(ExitCode.OK)


def _rules_in_areas(areas: Sequence[str]) -> list[Rule]:

    known_areas = [*dict.fromkeys(rule.area for rule in RULES.values()), ALL_AREAS]
    names = {require_known("area", area, known_areas) for area in areas} or {ALL_AREAS}
    return [rule for rule in RULES.values() if names & {rule.area, ALL_AREAS}]


def _send_and_store(
    probes: Sequence[Probe], sender: Sender, into: Path, recorded: Mapping[Probe, Any]
) -> list[ProbeOutcome]:
    """Send the examples; store the answers after each rule, and if interrupted."""
    outcomes: list[ProbeOutcome] = []
    unsaved: dict[Probe, Any] = {}
    dialect, key = sender.live.upstream.dialect, sender.live.key

    def save() -> None:
        if unsaved:
            store.store_runs(into, dialect, dict(unsaved), [key])
            unsaved.clear()

    try:
        for probe in with_progress(probes, "asking"):
            if unsaved and next(iter(unsaved)).rule is not probe.rule:
                save()
            outcomes.append(judge_probe(probe, run := send_probe(probe, sender)))
            if outcomes[-1].finding != "unclear":
                unsaved[probe] = run
    finally:
        save()
    return outcomes


def _print_outcomes(outcomes: Sequence[ProbeOutcome]) -> None:

    console = make_console()
    table = Table("area", "examples", *PROBE_FINDINGS, box=None, pad_edge=False)
    areas = dict.fromkeys(outcome.probe.rule.area for outcome in outcomes)
    for area in (*areas, ALL_AREAS):
        counts = Counter(outcome.finding for outcome in outcomes if area in (ALL_AREAS, outcome.probe.rule.area))
        table.add_row(area, str(counts.total()), *(str(counts[finding] or "-") for finding in PROBE_FINDINGS))
    console.print(table)
    for outcome in sorted(outcomes, key=lambda outcome: PROBE_FINDINGS.index(outcome.finding)):
        if outcome.finding != "confirmed":
            for text in _outcome_lines(outcome):
                console.print(text)


def _outcome_lines(outcome: ProbeOutcome) -> Iterator[str]:

    message = outcome.probe.expected_message
    what = "an example that it takes" if message is None else shorten(message)
    yield f"{outcome.finding}  {outcome.probe.rule.id}: {what}"
    if outcome.why:
        yield f"  {outcome.why}"
    if message is None or outcome.finding == "contradicted":
        yield f"  sent  {shorten_json(outcome.probe.case.body)}"
    for name in dict.fromkeys((*(outcome.expected or {}), *(outcome.received or {}))):
        rule, live = (outcome.expected or {}).get(name), (outcome.received or {}).get(name)
        if outcome.received is not None and rule != live:
            yield f"  {name}  " + redact(f"{rule!r} → {live!r}" if outcome.expected else repr(live))


app = make_program(record_rules)

if __name__ == "__main__":
    app()

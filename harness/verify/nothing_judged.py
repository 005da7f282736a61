"""Explains why nothing in some recordings was judged, so that having no findings is not mistaken for success."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from harness.cassettes.listing import printable_path
from harness.core.text import pluralize
from harness.verify.judging.gateways import is_host_of
from harness.verify.judging.verdict import UNVERIFIABLE
from harness.verify.output import JUDGED_MEMBERS, SECTIONS, count_reasons
from harness.verify.run import Tally

MAX_REASONS = 5
"""The maximum number of reasons that are given, the most frequent ones."""
MAX_PATHS = 5
"""The maximum number of paths that are named."""
MAX_HOSTS = 10
"""The maximum number of hosts that are named."""


def explain_nothing_judged(tally: Tally) -> str:
    """Explain why no exchange was judged, and what to do; empty if one was. Unverifiable exchanges do not count."""
    if count_decided(tally):
        return ""
    if tally.counts["exchanges"]:
        return f"nothing was judged: {_explain_exchanges(tally)}{_suggest_hosts(tally)}"
    if not tally.judged_files:
        return (
            "nothing was judged: no file there has a recording's suffix. Pass cassettes (YAML, JSON), HAR or JSON lines; "
            "of flows of mitmproxy `mitmdump -nr FILE --set hardump=out.har` makes a HAR file."
        )
    if tally.counts["others"] < len(tally.judged_files):
        return "nothing was judged: the recordings have no exchanges. Record them again."
    files = pluralize(len(tally.judged_files), "file")
    return f"nothing was judged: {files}, but no recording. Pass cassettes (YAML, JSON), HAR or JSON lines."


def explain_bare_paths(tally: Tally) -> str:
    """Explain which of the given paths contained no exchange, and what to do; empty if all did."""
    if not (bare := [printable_path(path) for path in tally.bare_paths]):
        return ""
    more = f" and {len(bare) - MAX_PATHS} more" if len(bare) > MAX_PATHS else ""
    return (
        f"nothing was judged of {', '.join(bare[:MAX_PATHS])}{more}: no exchange is recorded there. Correct the path, "
        "record it again, or leave it out."
    )


def count_decided(tally: Tally) -> int:
    """Count the verdicts; one exchange may have several, an unverifiable one has none."""
    decided = [name for name in JUDGED_MEMBERS if name != "unverifiable"]
    counts = {section: sum(tally.counts[f"{section}.{name}"] for name in decided) for section in SECTIONS}
    forms = counts.pop("answers") + counts.pop("streams")
    # The well-formed error of an unverifiable refusal proves nothing: a wrong key gets one, too.
    return sum(counts.values()) + max(0, forms - tally.counts["refusals.unverifiable"])


def explain_missing_hosts(tally: Tally, hosts: Collection[str]) -> str:
    """Explain which hosts given with --host have no exchanges, and which hosts have; empty if all have some."""
    seen = count_reasons(tally, "hosts")
    missing = [host for host in hosts if not any(is_host_of(met, host) for met in seen)]
    if not missing:
        return ""
    named = ", ".join(list(seen)[:MAX_HOSTS]) or "none is named"
    return f"--host {', '.join(missing)}: no exchange is with that host. The hosts of these recordings: {named}."


def _explain_exchanges(tally: Tally) -> str:
    reasons = [*_reasons(tally)][:MAX_REASONS] or ["no answer was recorded, or errors of the server alone"]
    return f"{pluralize(tally.counts['exchanges'], 'exchange')}, and none that can be judged. {'; '.join(reasons)}."


def _reasons(tally: Tally) -> Iterator[str]:
    for kind in ("skipped", *UNVERIFIABLE):
        yield from (f"{times} × {why}" for why, times in count_reasons(tally, kind).items())


def _suggest_hosts(tally: Tally) -> str:
    hosts = list(count_reasons(tally, "gateways"))[:MAX_HOSTS]
    return f" Judge a gateway by {' '.join(f'--host {host}' for host in hosts)}." if hosts else ""

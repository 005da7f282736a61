"""The output of `responses-harness verify`: JSON (`schemas/verify.json`), or a table and the first findings."""

from collections.abc import Collection, Iterator
from itertools import chain, islice
from typing import IO, Any

import orjson
from rich.table import Table

from harness.cassettes.files import printable_path
from harness.core.exchange import Json
from harness.core.text import pluralize, shorten
from harness.verify.judge_files import Tally
from harness.verify.judging.circumstances import is_host_of
from harness.verify.judging.verdict import DRIFTS, FINDINGS, UNVERIFIABLE, VerdictKind

VERSION = 1
MAX_SHOWN = 20
"""The maximum number of findings that are printed; the JSON has all."""
MAX_MESSAGE_LENGTH = 401
"""The maximum number of characters of a message that are printed."""

LISTED = (*FINDINGS, *DRIFTS, VerdictKind.REFUSAL_DRIFT)


def _sections_of(tally: Tally) -> dict[str, dict[str, str]]:
    """Return the report's sections and their members: a count, a count with its reasons (`why`), or a list."""
    sections: dict[str, dict[str, str]] = {}
    for kind in VerdictKind:
        section, _, name = kind.partition(".")
        if name and (section != "respelled" or tally.respelled):
            form = "why" if kind in UNVERIFIABLE else "list" if kind in LISTED else "count"
            sections.setdefault(section, {})[name] = form
    return sections


JUDGED_MEMBERS = ("accepted", "same", "conform", "refused", "different", "missed", "findings", "unverifiable")
"""The members of a section that count judged exchanges; each exchange counts under one of them."""


def write_json(tally: Tally, out: IO[bytes], nothing_judged: str = "") -> None:
    """Write the report as one JSON object, one entry per line; lists are streamed from the spools.

    `nothing_judged` is the reason if nothing was judged, or nothing in one of the paths.
    """
    out.write(b'{"version": %d' % VERSION)
    if nothing_judged:
        _write_member(out, "nothing_judged", nothing_judged)
    for name in ("exchanges", "others"):
        _write_member(out, name, tally.counts[name])
    out.write(b",\n")
    _write_with_reasons(out, tally, "skipped", "skipped")
    for section, members in _sections_of(tally).items():
        out.write(b',\n"%s": {\n  "judged": %d' % (section.encode(), count_judged(tally, section)))
        for name, kind in members.items():
            out.write(b",\n  ")
            _WRITERS[kind](out, tally, f"{section}.{name}", name)
        out.write(b"}")
    out.write(b",\n")
    _write_list(out, tally, "unreadable", "unreadable")
    out.write(b",\n")
    _write_list(out, tally, "others", "other_files")
    out.write(b"}\n")


def _write_member(out: IO[bytes], name: str, value: Any) -> None:
    out.write(b',\n"%s": %s' % (name.encode(), orjson.dumps(value)))


def _write_count(out: IO[bytes], tally: Tally, at: str, name: str) -> None:
    out.write(b'"%s": %d' % (name.encode(), tally.counts[at]))


def _write_with_reasons(out: IO[bytes], tally: Tally, at: str, name: str) -> None:
    _write_count(out, tally, at, name)
    out.write(b', "%s_why": %s' % (name.encode(), orjson.dumps(count_reasons(tally, at))))


def _write_list(out: IO[bytes], tally: Tally, at: str, name: str) -> None:
    out.write(b'"%s": [' % name.encode())
    for number, entry in enumerate(tally.entries(at)):
        out.write((b",\n    " if number else b"\n    ") + orjson.dumps(entry))
    out.write(b"]")


_WRITERS = {"count": _write_count, "why": _write_with_reasons, "list": _write_list}


def count_reasons(tally: Tally, at: str) -> dict[str, int]:
    """Count the exchanges for each reason of a verdict, most frequent first."""
    return {why: times for (named, why), times in tally.reasons.most_common() if named == at}


def count_judged(tally: Tally, section: str) -> int:
    """Count the exchanges that a section judges; its drift, events and absent requests do not count."""
    return sum(tally.counts[f"{section}.{name}"] for name in JUDGED_MEMBERS)


def counts_table(tally: Tally) -> Table:
    """Build a table of the counts, with one row per section: requests, refusals, answers, streams, `--respell`."""
    made = Table("", "judged", "good", "findings", "unverifiable", "drift", box=None, pad_edge=False)
    for section, members in _sections_of(tally).items():
        good = tally.counts[f"{section}.{next(iter(members))}"]
        wrong = sum(tally.counts[kind] for kind in FINDINGS if kind.startswith(f"{section}."))
        unknown, drift = (tally.counts[f"{section}.{name}"] for name in ("unverifiable", "drift"))
        numbers = (count_judged(tally, section), good, wrong, unknown, drift)
        made.add_row(section, *(str(number or "-") for number in numbers))
    return made


def summary_lines(tally: Tally, verbose: bool = False) -> Iterator[str]:
    """Yield the lines below the table: the first findings, then the reasons why exchanges were not judged.

    With `verbose`, files that are not recordings are named, too.
    """
    found = ((kind, entry) for kind in FINDINGS for entry in tally.entries(kind))
    for kind, entry in islice(found, MAX_SHOWN):
        yield f"{kind}  {entry.get('id') or entry['file']}"
        yield from (f"  {text}" for text in finding_lines(entry))
    if more := sum(1 for _ in found):
        yield f"… and {more} more; --json FILE has them all."
    for kind in (*UNVERIFIABLE, VerdictKind.SKIPPED):
        yield from (f"{kind}  {times} × {why}" for why, times in count_reasons(tally, kind).items())
    if unlisted := count_reasons(tally, "models"):
        yield f"models  their capabilities are unknown, so nothing was refused because of them: {', '.join(unlisted)}"
    for host, times in count_reasons(tally, "gateways").items():
        yield f"skipped  {pluralize(times, 'request')} for responses to {host}: --host {host} judges such"
    if others := tally.counts["others"]:
        no_recording = "is not a recording" if others == 1 else "are not recordings"
        yield f"others  {pluralize(others, 'file')} that {no_recording}{'' if verbose else '; -v names them'}"
    if verbose:
        yield from (f"  {entry['message']}" for entry in tally.entries("others"))


def finding_lines(entry: Json) -> Iterator[str]:
    """Yield the lines of a finding: place and message, or what was recorded and what the mock does."""
    if isinstance(entry.get("recorded"), str):
        yield f"{entry['at']}"
        yield from (f"  {side.ljust(8)}  {_shorten(entry[side])}" for side in ("recorded", "mock"))
    elif "recorded" in entry:
        yield f"recorded  {_format_error(entry['recorded'])}"
        yield f"mock      {_format_error(entry['mock']) if 'mock' in entry else 'takes it'}"
    elif "error" in entry:
        yield f"rule  {entry['rule']}"
        yield f"mock  {_format_error(entry['error'])}"
    else:
        yield f"{entry['at']}: {_shorten(entry['message'])}" if entry.get("at") else _shorten(entry["message"])


def _format_error(error: Json) -> str:
    status = f"{error['status']} " if "status" in error else ""
    message = _shorten(str(error.get("message", "no message")))
    return f"{status}{message} (param {error.get('param')}, code {error.get('code')})"


def _shorten(text: str) -> str:
    return shorten(text, MAX_MESSAGE_LENGTH)


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
        return f"nothing was judged: {_explain_exchanges(tally)}"
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
    requests, refusals, answers, streams = (
        sum(tally.counts[f"{section}.{name}"] for name in decided)
        for section in ("requests", "refusals", "answers", "streams")
    )
    # The well-formed error of an unverifiable refusal proves nothing: a wrong key gets one, too.
    return requests + refusals + max(0, answers + streams - tally.counts["refusals.unverifiable"])


def explain_missing_hosts(tally: Tally, hosts: Collection[str]) -> str:
    """Explain which hosts given with --host have no exchanges, and which hosts have; empty if all have some."""
    seen = count_reasons(tally, "hosts")
    missing = [host for host in hosts if not any(is_host_of(met, host) for met in seen)]
    if not missing:
        return ""
    named = ", ".join(list(seen)[:MAX_HOSTS]) or "none is named"
    return f"--host {', '.join(missing)}: no exchange is with that host. The hosts of these recordings: {named}."


def _explain_exchanges(tally: Tally) -> str:
    counts = chain.from_iterable(count_reasons(tally, kind).items() for kind in ("skipped", *UNVERIFIABLE))
    reasons = [f"{times} × {why}" for why, times in islice(counts, MAX_REASONS)]
    why = "; ".join(reasons) or "no answer was recorded, or errors of the server alone"
    hosts = list(count_reasons(tally, "gateways"))[:MAX_HOSTS]
    advice = f" Judge a gateway by {' '.join(f'--host {host}' for host in hosts)}." if hosts else ""
    return f"{pluralize(tally.counts['exchanges'], 'exchange')}, and none that can be judged. {why}.{advice}"

"""Offers what can be learned from recordings, and bundles the exchanges that contradict the mock."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import orjson

from harness.api.http.dialects import API_ROOTS
from harness.cassettes.scrubbing.mask_text import Masker
from harness.contract.overrides import Overrides, normalize_path, violation_path
from harness.core.errors import COMMAND, HarnessError
from harness.core.exchange import Json
from harness.core.secret_prefixes import redact
from harness.core.text import pluralize, shorten
from harness.overrides.derive import derive_overrides, relative_evidence
from harness.overrides.observe import Seen, iterate_disagreements, observe
from harness.overrides.project_file import (
    DEFAULT_NAME,
    describe_entry,
    find_project_file,
    read_overrides,
    scrub_overrides,
)
from harness.verify.judging.verdict import VerdictKind


def render_bundle(disagreements: Iterable[Seen]) -> str:
    """Render a bundle: a line for the first exchange of each kind, by verdict, recorded error and the mock's rule."""
    masker, first = Masker(), dict[bytes, Seen]()
    for seen in disagreements:
        violated = seen.violation
        rule = violated and (violated.rule.id, normalize_path(violation_path(violated.facts, violated.error.param)))
        first.setdefault(orjson.dumps([seen.verdict, seen.error, rule]), seen)
    entries = (_share_exchange(seen, number) for number, seen in enumerate(first.values(), 1))
    return "".join(f"{masker.mask_text(orjson.dumps(redact(entry)).decode())}\n" for entry in entries)


def _share_exchange(seen: Seen, number: int) -> Json:
    error = {name: value for name, value in seen.error.items() if name != "status"}
    request = seen.request
    return {
        "id": f"shared-{number}#1",
        "provider": request.dialect,
        "method": request.method,
        "url_path": f"{API_ROOTS[request.dialect]}{request.path}",
        "recorded_at": seen.date or None,
        "request": request.body,
        "status": seen.error["status"],
        "response": {"error": error} if error else None,
    }


MAX_SHOWN = 5
"""The maximum number of disagreements, and of entries, that are shown."""


def offer_learning(recordings: Sequence[Path], root: Path, hosts: Collection[str] = ()) -> list[str]:
    """Describe the disagreements in recordings, what would be learned, and the command, as lines; empty without any.

    What the overrides of the project at `root` already contain is not offered again. `hosts` are gateways to the API.
    """
    try:
        file = find_project_file(root)
        known = read_overrides(file) if file and file.exists() else None
        lines = _offer(recordings, known, file or recordings[0].parent / DEFAULT_NAME, hosts)
        return [line.replace(f"{root.absolute().as_posix()}/", "") for line in lines]
    except HarnessError:  # nothing can be judged, or the project's file has an error, which is reported elsewhere
        return []


def _offer(recordings: Sequence[Path], known: Overrides | None, file: Path, hosts: Collection[str]) -> Iterator[str]:
    judged = observe(recordings, known, hosts).seen
    differ = list(iterate_disagreements(judged))
    if not differ and not any(exchange.drift for exchange in judged):
        return
    learned, _ = scrub_overrides(relative_evidence(derive_overrides(recordings, hosts=hosts).overrides, str))
    old = {describe_entry(entry) for entry in known.entries} if known else ()
    entries = [text for text in map(describe_entry, learned.entries) if text not in old]
    yield f"{pluralize(len(judged), 'exchange')}; the API and the mock disagree in {len(differ)}:"
    yield from _cut([f"  {describe_disagreement(seen)}" for seen in differ])
    if not entries:
        yield "  nothing can be learned from it: it depends on more than the request."
        return
    command = " ".join([f"{COMMAND} learn", *(f"--host {shlex.quote(host)}" for host in hosts)])
    named = " ".join(shlex.quote(recording.as_posix()) for recording in recordings)
    yield f"learn it: {command} --contract {shlex.quote(file.as_posix())} {named}"
    yield "  writes what makes the mock do as the API did:"
    yield from _cut([f"  - {shorten(text, 200)}" for text in entries])


def describe_disagreement(seen: Seen) -> str:
    """Describe in which exchange the API and the mock differ, and how."""
    what = f"{seen.file}#{seen.number}, {seen.request.method} {seen.request.path}"
    recorded = f"{seen.error['status']} {seen.error.get('message', '')}"
    mock = f"{seen.violation.error.message} ({seen.violation.rule.id})" if seen.violation else ""
    if seen.verdict is VerdictKind.REQUEST_REFUSED:
        return shorten(f"{what}: accepted, the mock refuses it: {mock}", 400)
    if seen.verdict is VerdictKind.REFUSAL_MISSED:
        return shorten(f"{what}: refused, the mock accepts it: {recorded}", 400)
    return shorten(f"{what}: refused with another message: {recorded} (the mock: {mock})", 400)


def _cut(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MAX_SHOWN]
    if more := lines[MAX_SHOWN:]:
        yield f"  … {len(more)} more"

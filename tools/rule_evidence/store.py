"""Stores evidence in a folder: `<dialect>/rules/<rule>.yaml` for refusals, `<dialect>/accepts/<rule>.yaml` otherwise.

New recordings of a probe replace its old ones; entries that people transcribed keep their text.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from harness.api.http.dialects import parse_api_path
from harness.cassettes.files import lock_cassette, replace_file
from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette, parse_cassette
from harness.cassettes.format.untrusted import UnreadableRecording
from harness.cassettes.recording.recorder import SecretFound
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.contract.rule import LEVELS
from tools.rule_evidence.cassettes import SourcedInteraction, read_interactions
from tools.rule_evidence.outcome import find_runs
from tools.rule_evidence.probes import Probe
from tools.rule_evidence.splice import splice

RULES_FOLDER, ACCEPTS_FOLDER = "rules", "accepts"
ProbeRun = Sequence[SourcedInteraction]
"""The exchanges of one probe's steps."""


def find_recorded_run(folder: Path, dialect: str, probe: Probe, where: str, since: str) -> ProbeRun | None:
    """Find the newest run of this probe at the API `where`, recorded on the day `since` or later; None without any."""
    kinds = (RULES_FOLDER, ACCEPTS_FOLDER)
    cassettes = [_read_existing(_cassette_file(folder, dialect, kind, probe.rule.id)) for kind in kinds]
    runs = [[cassette[index] for index in run] for cassette in cassettes for run in find_runs(probe, cassette)]
    fresh = [run for run in runs if run[-1].origin.where == where and run[-1].origin.date >= since]
    return max(fresh, key=lambda run: run[-1].origin.date, default=None)


def _cassette_file(folder: Path, dialect: str, kind: str, rule: str) -> Path:
    return folder / dialect / kind / f"{rule}.yaml"


def _read_existing(file: Path) -> ProbeRun:
    return read_interactions(file) if file.is_file() else ()


def is_storable(run: ProbeRun) -> bool:
    """Return whether a run may be stored: its answers are complete, and a refusal has an error object."""
    last = run[-1]
    error = last.answer.get("error") if isinstance(last.answer, dict) else None
    is_complete = 0 < last.status < 500 and not any(sourced.interaction.cut for sourced in run)
    return bool(is_complete and (last.status < 400 or (isinstance(error, dict) and error)))


def store_runs(folder: Path, dialect: str, runs: Mapping[Probe, ProbeRun], secrets: Sequence[str] = ()) -> None:
    """Store the runs of one rule's probes. SecretFound if one contains any of these `secrets`, such as the key."""
    probes = [probe for probe, run in runs.items() if is_storable(run)]
    for kind in (RULES_FOLDER, ACCEPTS_FOLDER):
        fresh = [runs[probe] for probe in probes if runs[probe][-1].is_refusal is (kind == RULES_FOLDER)]
        if probes:
            _rewrite_cassette(_cassette_file(folder, dialect, kind, probes[0].rule.id), probes, fresh, secrets)


def _rewrite_cassette(file: Path, probes: Sequence[Probe], fresh: Sequence[ProbeRun], secrets: Sequence[str]) -> None:
    """Replace the runs of these probes in a file with fresh ones."""
    if not (file.is_file() or fresh):
        return
    new = [
        interaction
        for run in fresh
        for interaction in scrub_interactions([_normalize_reason(sourced.interaction) for sourced in run], secrets)
    ]
    text = dump_cassette(build_header(file.stem, new), new) if new else ""
    if places := secrets_in(text, secrets):
        listed = "\n  ".join(places[:5])
        raise SecretFound(f"{file}: not written, because an answer still holds what looks secret:\n  {listed}")
    with lock_cassette(file):
        existing = _read_existing(file)
        old = {index for probe in probes for run in find_runs(probe, existing) for index in run}
        if new or len(old) < len(existing):
            replace_file(file, _render_cassette(file, existing, old, new) if existing else text)
        else:
            file.unlink()


def _normalize_reason(interaction: Interaction) -> Interaction:
    """Replace the reason with the standard phrase for the status."""
    # A server's own reason depends on its HTTP version.
    return replace(
        interaction, reason=next((status.phrase for status in HTTPStatus if status == interaction.status), "")
    )


def _render_cassette(file: Path, existing: ProbeRun, old: Collection[int], new: Sequence[Interaction]) -> str:
    """Render the new text of a file; entries that stay keep their layout if possible."""
    left = [sourced.interaction for index, sourced in enumerate(existing) if index not in old]
    rendered = dump_cassette(build_header(file.stem, [*left, *new]), [*left, *new])
    spliced = splice(file.read_text(encoding="utf-8"), old, rendered)
    try:
        return spliced if parse_cassette(spliced, "") == parse_cassette(rendered, "") else rendered
    except UnreadableRecording:
        return rendered


def build_header(rule: str, interactions: Sequence[Interaction]) -> CassetteHeader:
    """Build the header of a rule's cassette: date and dialect if all entries agree, and the best evidence level."""
    dialects = {parse_api_path(urlsplit(interaction.uri).path).dialect for interaction in interactions}
    dates = {str(interaction.origin["date"]) for interaction in interactions if interaction.origin.get("date")}
    levels = sorted({interaction.origin["level"] for interaction in interactions}, key=LEVELS.index)
    return CassetteHeader(
        recorded=dates.pop() if len(dates) == 1 else "",
        dialect=dialects.pop() if len(dialects) == 1 else "",
        evidence=levels[0],
        probe=rule,
    )

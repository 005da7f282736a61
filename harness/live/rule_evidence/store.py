"""The evidence that a recording of the rules leaves behind: `<dialect>/rules/<rule>.yaml`, as `evidence` reads it.

A request that the API has taken stands in `<dialect>/accepts/<rule>.yaml`. What people have transcribed into a file stays
as they wrote it; what was recorded there before makes room for what is recorded now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from harness.api.dialects import parse_api_path
from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette, parse_cassette
from harness.cassettes.format.splice import splice
from harness.cassettes.format.untrusted_text import UnreadableRecording
from harness.cassettes.recording.writer import SecretFound, lock_cassette, replace_file
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.contract.rule import LEVELS
from harness.live.rule_evidence.outcome import find_runs
from harness.live.rule_evidence.probes import Probe
from harness.verify.evidence import SourcedInteraction, read_interactions

RULES_FOLDER, ACCEPTS_FOLDER = "rules", "accepts"
ProbeRun = Sequence[SourcedInteraction]


def find_recorded_run(place: Path, dialect: str, probe: Probe, where: str, since: str) -> ProbeRun | None:
    """The newest recording of this probe by the API at `where`, of the day `since` or later; None when there is none."""
    held = [
        _read_existing(_cassette_file(place, dialect, kind, probe.rule.id)) for kind in (RULES_FOLDER, ACCEPTS_FOLDER)
    ]
    found = [[each[at] for at in run] for each in held for run in find_runs(probe, each)]
    fresh = [run for run in found if run[-1].origin.where == where and run[-1].origin.date >= since]
    return max(fresh, key=lambda run: run[-1].origin.date, default=None)


def _cassette_file(place: Path, dialect: str, kind: str, rule: str) -> Path:
    return place / dialect / kind / f"{rule}.yaml"


def _read_existing(file: Path) -> ProbeRun:
    return read_interactions(file) if file.is_file() else ()


def is_storable(run: ProbeRun) -> bool:
    """Whether a run can stand in a cassette: a whole answer, a refusal with an error that is an object."""
    last = run[-1]
    error = last.answer.get("error") if isinstance(last.answer, dict) else None
    whole = 0 < last.status < 500 and not any(one.interaction.cut for one in run)
    return bool(whole and (last.status < 400 or (isinstance(error, dict) and error)))


def store_runs(place: Path, dialect: str, asked_now: Mapping[Probe, ProbeRun], secrets: Sequence[str] = ()) -> None:
    """Write down what was asked about one rule; `secrets` are values that must not be written, say the key."""
    probes = [probe for probe, run in asked_now.items() if is_storable(run)]
    for kind in (RULES_FOLDER, ACCEPTS_FOLDER):
        fitting = [asked_now[probe] for probe in probes if asked_now[probe][-1].is_refusal is (kind == RULES_FOLDER)]
        if probes:
            _rewrite_cassette(_cassette_file(place, dialect, kind, probes[0].rule.id), probes, fitting, secrets)


def _rewrite_cassette(file: Path, probes: Sequence[Probe], fresh: Sequence[ProbeRun], secrets: Sequence[str]) -> None:
    """Replace what the file holds of these probes by the fresh runs."""
    if not (file.is_file() or fresh):
        return
    new = [
        interaction
        for run in fresh
        for interaction in scrub_interactions([_normalize_reason(one.interaction) for one in run], secrets)
    ]
    text = dump_cassette(build_header(file.stem, new), new) if new else ""
    if places := secrets_in(text, secrets):
        listed = "\n  ".join(places[:5])
        raise SecretFound(f"{file}: not written, because an answer still holds what looks secret:\n  {listed}")
    with lock_cassette(file):
        held = _read_existing(file)
        old = {index for probe in probes for run in find_runs(probe, held) for index in run}
        if new or len(old) < len(held):
            replace_file(file, _render_cassette(file, held, old, new) if held else text)
        else:
            file.unlink()


def _normalize_reason(interaction: Interaction) -> Interaction:
    """The interaction with the standard phrase of its status: that of a server depends on its version of HTTP."""
    return replace(interaction, reason=next((each.phrase for each in HTTPStatus if each == interaction.status), ""))


def _render_cassette(file: Path, held: ProbeRun, old: Collection[int], new: Sequence[Interaction]) -> str:
    """The new text of a file; what stays keeps its layout where that is possible."""
    left = [one.interaction for index, one in enumerate(held) if index not in old]
    rendered = dump_cassette(build_header(file.stem, [*left, *new]), [*left, *new])
    spliced = splice(file.read_text(encoding="utf-8"), old, rendered)
    try:
        return spliced if parse_cassette(spliced, "") == parse_cassette(rendered, "") else rendered
    except UnreadableRecording:
        return rendered


def build_header(rule: str, takes: Sequence[Interaction]) -> CassetteHeader:
    """What the cassette of a rule says of itself: a date and a dialect where one holds for all, the best evidence."""
    dialects = {parse_api_path(urlsplit(take.uri).path).dialect for take in takes}
    dates = {str(take.origin["date"]) for take in takes if take.origin.get("date")}
    levels = sorted({take.origin["level"] for take in takes}, key=LEVELS.index)
    return CassetteHeader(
        recorded=dates.pop() if len(dates) == 1 else "",
        dialect=dialects.pop() if len(dialects) == 1 else "",
        evidence=levels[0],
        probe=rule,
    )

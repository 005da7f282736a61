"""Which exchanges of a cassette no test replays, by what was noted of the last runs on this machine."""

from __future__ import annotations

from pathlib import Path

from harness.cassettes.format.serializer import CassetteContent
from harness.cassettes.recording.last_used import digest_exchange, replay_notes
from harness.cassettes.recording.matching import describe_request
from harness.live.project_sources import ProjectSources


def find_unused_exchanges(file: Path, content: CassetteContent, sources: ProjectSources) -> tuple[str, ...]:
    """The exchanges over HTTP that no test has replayed since the file was written: `#2 POST /v1/responses`.

    Empty while that is not known: some test that names the cassette has not run since, or something else uses it.
    """
    tests = {str(sources.root / test) for test in sources.functions_naming(file)}
    if not tests or sources.is_named_elsewhere(file):
        return ()
    notes = [note for note in replay_notes(file) if note.at >= file.stat().st_mtime]
    played = set[str]()
    for note in notes:
        if note.digests is None:
            return ()
        played |= note.digests
    if tests - {note.test.partition("[")[0] for note in notes}:
        return ()
    numbered = ((number, each) for number, each in enumerate(content.interactions, 1) if not each.frames)
    return tuple(
        f"#{number} {describe_request(each)}" for number, each in numbered if digest_exchange(each) not in played
    )

"""Answers from a cassette for `mock.route`: `mock.route("POST", "/embeddings", recorded("embeddings.yaml"))`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from harness.api.http.dialects import root_of
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.recording.matching import NoMatch, Replay, api_root
from harness.cassettes.recording.replay_server import replayed_headers
from harness.cassettes.recording.writer import read_cassette
from harness.core.errors import ScriptError
from harness.core.exchange import Answer, Request
from harness.explain.unanswered import changed_lines


def recorded(path: str | Path) -> Callable[[Request], Answer]:
    """Return a function that answers requests from a cassette, matched by method, path below the root, and body.

    If several recordings match, each answers once, in order, and the last one from then on. Raises UnreadableRecording
    if the file is not a cassette. An unrecorded request raises ScriptError, which fails the test.
    """
    interactions = read_cassette(Path(path)).interactions
    root = api_root(interactions)
    replay = Replay([_below_root(interaction, root) for interaction in interactions], repeat_last=True)

    def answer(request: Request) -> Answer:
        asked = Interaction(request.method, request.path, request.headers, request.raw)
        found = replay.play(_below_root(asked, request.root))
        if isinstance(found, NoMatch):
            advice = "Record it again, or change the request."
            raise ScriptError(f"{path}: not recorded: {found.why}", changed_lines(found.diff), advice)
        return Answer(found.status, found.answer, replayed_headers(found))

    return answer


def _below_root(interaction: Interaction, root: str) -> Interaction:
    """Reduce an interaction's URL to the path below the API's root, without deployment and query."""
    path = urlsplit(interaction.uri).path
    return replace(interaction, uri=path.removeprefix(root_of(path) or root))

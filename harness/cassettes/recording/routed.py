"""Answers of a cassette for `mock.route`: `mock.route("POST", "/embeddings", recorded("embeddings.yaml"))`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.api.http.body import parse_body
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.recording.writer import read_cassette
from harness.core.errors import ScriptError
from harness.core.exchange import Answer, Request
from harness.core.text.shorten import shorten_json

_OF_CONNECTION = ("connection", "content-encoding", "content-length", "date", "transfer-encoding")
"""Headers of a recorded answer that belong to its connection."""


def recorded(path: str | Path) -> Callable[[Request], Answer]:
    """A function that answers as a cassette does: requests with the same method, end of the path and JSON body.

    Of several the next one answers, the last again and again. UnreadableRecording if the file is no cassette; what it does
    not hold is a ScriptError, which fails the test.
    """
    interactions = read_cassette(Path(path)).interactions
    taken: list[int] = []

    def answer(request: Request) -> Answer:
        matching = [at for at, each in enumerate(interactions) if _is_recorded(each, request)]
        if not matching:
            known = sum(_has_path(each, request) for each in interactions)
            raise ScriptError(
                f"{path}: of {known} recorded answers to {request.method} {request.path} none is to "
                f"{shorten_json(request.body)}. Record it again, or mend the request."
            )
        at = next((each for each in matching if each not in taken), matching[-1])
        taken.append(at)
        found = interactions[at]
        headers = {name: text for name, text in found.answer_headers.items() if name.lower() not in _OF_CONNECTION}
        return Answer(found.status, found.answer, headers)

    return answer


def _has_path(interaction: Interaction, request: Request) -> bool:
    return interaction.method == request.method and urlsplit(interaction.uri).path.endswith(_below(request))


def _below(request: Request) -> str:
    """The path below the base URL, whatever deployment stands before it."""
    return request.path if request.root else f"/{request.path.split('/', 4)[-1]}"


def _is_recorded(interaction: Interaction, request: Request) -> bool:
    if not _has_path(interaction, request) or not interaction.status:
        return False
    body: Any = parse_body(interaction.body)[0] if interaction.body else None
    return bool(body == request.body)

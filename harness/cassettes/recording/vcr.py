"""vcrpy with cassettes of this harness: persister and matcher, and streams recorded as they arrive.

`httpx_streams` handles streams, vcrpy everything else. A request that is not in the cassette is answered with a 418
that no SDK retries, and recorded in `problems`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import orjson
import vcr
import vcr.cassette
import vcr.persisters.filesystem
import vcr.record_mode
import vcr.request

from harness.cassettes.files import read_cassette
from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.recording.httpx_streams import transport_patches
from harness.cassettes.recording.matching import ComparableRequest, Replay, diff_requests
from harness.cassettes.recording.recorder import Recorder, open_recorder
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.cassettes.scrubbing.mask_text import Unsearchable
from harness.core.errors import COMMAND, HarnessError, Problem
from harness.core.headers import normalize_headers

CassetteMode = Literal["replay", "new", "all"]
"""`replay` sends no request, `new` records what is not in the cassette, `all` records everything again."""
_VCR_MODES: Mapping[CassetteMode, Any] = {
    "replay": vcr.record_mode.RecordMode.NONE,
    "new": vcr.record_mode.RecordMode.NEW_EPISODES,
    "all": vcr.record_mode.RecordMode.ALL,
}


class _Persister:
    """vcrpy's persister: it loads a cassette, which the recorder writes, after vcrpy has removed its patches."""

    def __init__(self, mode: CassetteMode) -> None:
        self._mode = mode

    def load_cassette(self, path: str, serializer: Any) -> tuple[list[Any], list[dict[str, Any]]]:  # noqa: ARG002
        """Return the requests and responses of a file; it counts as missing if everything is recorded again."""
        file = Path(path)
        if self._mode == "all" or (self._mode == "new" and not file.exists()):
            raise vcr.persisters.filesystem.CassetteNotFoundError
        interactions = [interaction for interaction in read_cassette(file).interactions if not interaction.frames]
        return [vcr.request.Request(**to_vcr_request(interaction)) for interaction in interactions], [
            to_vcr_response(interaction) for interaction in interactions
        ]

    def save_cassette(self, path: str, content: Mapping[str, Any], serializer: Any) -> None:
        """Write nothing."""


def to_vcr_request(interaction: Interaction) -> dict[str, Any]:
    """Convert the request of an interaction to vcrpy's form."""
    headers = {name: [value] for name, value in interaction.headers.items()}
    return {"method": interaction.method, "uri": interaction.uri, "body": interaction.body or None, "headers": headers}


def to_vcr_response(interaction: Interaction) -> dict[str, Any]:
    """Convert the response of an interaction to vcrpy's form, with `wire` added."""
    return {
        "status": {"code": interaction.status, "message": interaction.reason},
        "headers": {name: [value] for name, value in interaction.answer_headers.items()},
        "body": {"string": interaction.answer},
        "wire": {"chunks": interaction.chunks, "cut": interaction.cut},
    }


def interaction_from_vcr(request: Any, response: Mapping[str, Any]) -> Interaction:
    """Convert vcrpy's request and response to an interaction."""
    body = (response.get("body") or {}).get("string") or b""
    raw = body.encode() if isinstance(body, str) else body
    wire = response.get("wire") or {}
    return Interaction(
        request.method,
        request.uri,
        normalize_headers(request.headers),
        body_bytes(request.body),
        response["status"]["code"],
        normalize_headers(response["headers"]),
        tuple(wire.get("chunks") or (((0.0, raw),) if raw else ())),
        bool(wire.get("cut")),
        reason=response["status"].get("message") or "",
    )


def body_bytes(body: Any) -> bytes:
    """Convert vcrpy's request body to bytes: from bytes, a string, a file, pieces, fields to send as JSON, or None."""
    if body is None or isinstance(body, bytes):
        return body or b""
    if isinstance(body, str):
        return body.encode()
    if hasattr(body, "read"):
        return body_bytes(body.read())
    if isinstance(body, Mapping):
        return orjson.dumps(dict(body), default=str)
    return b"".join(map(body_bytes, body)) if isinstance(body, Iterable) else str(body).encode()


class CassetteSession:
    """A cassette in use by vcrpy: it answers, records, and collects `problems`."""

    def __init__(self, path: Path, mode: CassetteMode, *, secrets: Iterable[str] = (), pace: bool = False) -> None:
        readable = mode == "replay" or (mode == "new" and path.exists())
        self.existing = read_cassette(path).interactions if readable else ()
        self.replay = Replay(self.existing)
        self.recorder: Recorder | None = None
        self.mode = mode
        self.path = path
        self.pace = pace
        self.problems: list[Problem] = []
        self.vcr_cassette: Any = None
        self._secrets = tuple(secrets)
        self._refused: list[Interaction] = []
        self._loaded_count = 0
        self._unanswered: dict[tuple[str, str, bytes], Problem] = {}
        self._comparables: dict[tuple[str, str, bytes], ComparableRequest] = {}

    def match_request(self, live: Any, recorded: Any) -> None:
        """Match requests for vcrpy: AssertionError with the diff if a request is not the recorded one."""
        wanted, known = self._comparable(live), self._comparable(recorded)
        if wanted != known:  # vcrpy reads why from this error; an `assert` would match anything under `python -O`
            raise AssertionError("\n".join(diff_requests(known, wanted)))

    def _comparable(self, request: Any) -> ComparableRequest:
        key = (request.method, request.uri, body_bytes(request.body))
        if key not in self._comparables:
            self._comparables[key] = self.replay.comparable(
                Interaction(key[0], key[1], normalize_headers(request.headers), key[2])
            )
        return self._comparables[key]

    def find_answer(self, sent: Interaction) -> Interaction | None:
        """Return the interaction that answers a request; None if the API should answer it."""
        request = vcr.request.Request(**to_vcr_request(sent))
        # The HTTP library handles an upgrade only up to its 101.
        if sent.headers.get("upgrade", "").lower() == "websocket":
            why = f"{sent.uri}: a WebSocket is not recorded in process; `{COMMAND} record -- COMMAND` can"
            return self.refuse(sent, why)
        if self.mode != "all" and self.vcr_cassette.can_play_response_for(request):
            return interaction_from_vcr(request, self.vcr_cassette.play_response(request))
        if self.mode == "replay":
            played = sum(
                self._comparable(request) == self._comparable(recorded_request)
                for recorded_request in self.vcr_cassette.requests
            )
            miss = self.replay.explain_no_match(self._comparable(request), played)
            return self.refuse(sent, f"not recorded: {miss.why}", miss.diff)
        # Ids in the cassette are scrubbed: the API would only answer them with a confusing 404.
        if id := self.replay.recorded_id_in(sent):
            return self.refuse(sent, f"the request names {id}, which the cassette gave and the API does not know")
        return None

    def refuse(self, request: Interaction, why: str, diff: Sequence[str] = ()) -> Interaction:
        """Refuse a request that cannot be answered: a 418 with the reason, which is added to `problems`."""
        from harness.server.answering import teapot_answer

        problem = HarnessError(f"{self.path.as_posix()}: {why}", diff)
        self.problems.append(problem.problem)
        answer = teapot_answer(problem)
        headers = {"content-type": "application/json", **answer.headers}
        chunks = ((0.0, orjson.dumps(answer.body)),)
        self._refused.append(replace(request, status=answer.status, answer_headers=headers, chunks=chunks))
        return self._refused[-1]

    @property
    def failures(self) -> Sequence[Problem]:
        """The problems, then the requests that were never answered."""
        return [*dict.fromkeys([*self.problems, *self._unanswered.values()])]

    @property
    def interactions(self) -> Sequence[Interaction]:
        """The replayed, then the recorded, then the missing exchanges; empty if scrubbing fails."""
        interactions = [*self.replayed, *self._refused]
        if self.mode == "replay":
            return interactions
        with suppress(Unsearchable):
            return scrub_interactions(interactions, self._secrets)
        return ()

    @property
    def used_numbers(self) -> Sequence[int]:
        """The numbers, from 0, of the cassette's exchanges that were replayed or recorded."""
        played = self.vcr_cassette.play_counts
        return [
            index for index in range(len(self.vcr_cassette.requests)) if index >= self._loaded_count or played[index]
        ]

    @property
    def replayed(self) -> Iterator[Interaction]:
        """The cassette's exchanges that were replayed, then those that were recorded."""
        return map(self._exchange, self.used_numbers)

    @property
    def exchange_count(self) -> int:
        """The number of exchanges in the cassette."""
        return len(self.vcr_cassette.requests)

    @property
    def recorded_count(self) -> int:
        """The number of exchanges that were recorded now."""
        return self.exchange_count - self._loaded_count

    def find_unplayed(self, most: int) -> Sequence[Interaction]:
        """Return up to `most` exchanges of the cassette that were neither replayed nor recorded."""
        used = set(self.used_numbers)
        unplayed = (number for number in range(self.exchange_count) if number not in used)
        return [self._exchange(number) for number in islice(unplayed, most)]

    def _exchange(self, number: int) -> Interaction:
        return interaction_from_vcr(self.vcr_cassette.requests[number], self.vcr_cassette.responses[number])

    def attach(self, cassette: Any, recorder: Recorder | None) -> None:
        """Use the cassette that vcrpy has loaded, and record in it."""
        self.vcr_cassette, self._loaded_count, self.recorder = cassette, len(cassette), recorder
        if not recorder:
            return
        recorder.existing, append = self.existing, cassette.append

        def append_and_record(request: Any, response: Mapping[str, Any]) -> None:
            append(request, response)
            recorder.add(interaction_from_vcr(request, response))

        cassette.append = append_and_record  # for what `httpx_streams` does not handle, vcrpy calls it

    def note_unanswered(self, request: Interaction, why: str) -> None:
        """Record that a request was not answered; it may be sent again."""
        self._unanswered[request.method, request.uri, request.body] = Problem(why)

    def record(self, interaction: Interaction) -> None:
        """Record an interaction."""
        self._unanswered.pop((interaction.method, interaction.uri, interaction.body), None)
        self.vcr_cassette.append(vcr.request.Request(**to_vcr_request(interaction)), to_vcr_response(interaction))


@contextmanager
def use_cassette(
    path: Path,
    mode: CassetteMode = "replay",
    *,
    header: CassetteHeader | None = None,
    secrets: Iterable[str] = (),
    pace: bool = False,
) -> Iterator[CassetteSession]:
    """Answer the requests in a `with` block from a cassette, or record them into it; with `pace` as slowly as recorded.

    New recordings are written if the block ends without an exception, and forgotten after one; if it is interrupted,
    the next recorder of the cassette recovers them. UnreadableRecording if the cassette cannot be read, RecordError if
    it cannot be written.
    """
    known = tuple(secrets)
    header = header or CassetteHeader()
    with ExitStack() as stack:
        recorder = None if mode == "replay" else stack.enter_context(open_recorder(path, header, secrets=known))
        session = CassetteSession(path, mode, secrets=known, pace=pace)
        machine = vcr.VCR(
            record_mode=_VCR_MODES[mode],
            match_on=("method", "harness"),
            custom_patches=tuple(transport_patches(session)),
            record_on_exception=False,
        )
        machine.register_matcher("harness", session.match_request)
        machine.register_persister(_Persister(mode))
        try:
            with machine.use_cassette(str(path)) as cassette:
                session.attach(cassette, recorder)
                yield session
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            if recorder:
                recorder.leave()
            raise
        except BaseException:
            if recorder:
                recorder.discard()
            raise

"""vcrpy with our cassettes: our serializer, persister and matcher, and streams that arrive while they are recorded.

Streams come through `arrivals`, everything else vcrpy does as ever. A request that a cassette does not hold is
answered with a 418 that no SDK retries, and noted among the `problems`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson
import vcr
import vcr.cassette
import vcr.persisters.filesystem
import vcr.record_mode
import vcr.request

from harness.cassettes.format.interaction import Header, Take
from harness.cassettes.format.serializer import read, write
from harness.cassettes.recording.httpx_streams import patches
from harness.cassettes.recording.matching import Asked, Replay, diff
from harness.cassettes.recording.writer import Recorder, load, locked
from harness.cassettes.scrubbing.mask_interactions import scrubbed
from harness.cassettes.scrubbing.mask_text import Unreadable
from harness.core.errors import HarnessError

Mode = Literal["replay", "new", "all"]
"""`replay` asks nobody, `new` records what the cassette does not hold, `all` records everything again."""
_MODES: Mapping[Mode, Any] = {
    "replay": vcr.record_mode.RecordMode.NONE,
    "new": vcr.record_mode.RecordMode.NEW_EPISODES,
    "all": vcr.record_mode.RecordMode.ALL,
}


class Cassettes:
    """What vcrpy calls a serializer and a persister: `vcr.VCR().register_serializer("harness", Cassettes(Header()))`."""

    def __init__(self, header: Header, secrets: Iterable[str] = (), mode: Mode = "new") -> None:
        self._header = header
        self._secrets = tuple(secrets)
        self._mode = mode

    def deserialize(self, text: str) -> dict[str, Any]:
        """The content of a cassette as vcrpy has it."""
        takes = read(text, "the cassette").takes
        return {"interactions": [{"request": asked_of(take), "response": said_of(take)} for take in takes]}

    def serialize(self, content: Mapping[str, Any]) -> str:
        """The text of a cassette, scrubbed."""
        pairs = ((vcr.request.Request(**each["request"]), each["response"]) for each in content["interactions"])
        return write(self._header, scrubbed([take_of(*pair) for pair in pairs], self._secrets))

    def load_cassette(self, path: str, serializer: Any = None) -> tuple[list[Any], list[dict[str, Any]]]:  # noqa: ARG002
        """Requests and responses of a file; when everything is recorded anew, it counts as missing."""
        file = Path(path)
        if self._mode == "all" or (self._mode == "new" and not file.exists()):
            raise vcr.persisters.filesystem.CassetteNotFoundError
        takes = [take for take in load(file).takes if not take.frames]
        return [vcr.request.Request(**asked_of(take)) for take in takes], [said_of(take) for take in takes]

    def save_cassette(self, path: str, content: Mapping[str, Any], serializer: Any = None) -> None:  # noqa: ARG002
        """Write a file behind the gate for secrets, in one step."""
        recorder = Recorder(Path(path), self._header, secrets=self._secrets)
        for pair in zip(content["requests"], content["responses"], strict=True):
            recorder.add(take_of(*pair))
        recorder.save()


class _Later:
    """A persister that writes when vcrpy is done: its patches would stay in place if writing failed before."""

    def __init__(self, kept: Cassettes) -> None:
        self.load_cassette = kept.load_cassette
        self._write = kept.save_cassette
        self._pending: tuple[str, Mapping[str, Any]] | None = None

    def save_cassette(self, path: str, content: Mapping[str, Any], serializer: Any = None) -> None:  # noqa: ARG002
        """Keep what is to be written."""
        self._pending = (path, content)

    def save(self) -> None:
        """Write it, when there is something."""
        if self._pending:
            self._write(*self._pending)


def asked_of(take: Take) -> dict[str, Any]:
    """The request of a take as vcrpy writes it."""
    headers = {name: [value] for name, value in take.headers.items()}
    return {"method": take.method, "uri": take.uri, "body": take.body or None, "headers": headers}


def said_of(take: Take) -> dict[str, Any]:
    """The response of a take as vcrpy has it; `wire` is ours."""
    return {
        "status": {"code": take.status, "message": take.reason},
        "headers": {name: [value] for name, value in take.answer_headers.items()},
        "body": {"string": take.answer},
        "wire": {"chunks": take.chunks, "cut": take.cut},
    }


def take_of(request: Any, response: Mapping[str, Any]) -> Take:
    """The take of vcrpy's request and response."""
    body = (response.get("body") or {}).get("string") or b""
    whole = body.encode() if isinstance(body, str) else body
    wire = response.get("wire") or {}
    return Take(
        request.method,
        request.uri,
        joined(request.headers),
        bytes_of(request.body),
        response["status"]["code"],
        joined(response["headers"]),
        tuple(wire.get("chunks") or (((0.0, whole),) if whole else ())),
        bool(wire.get("cut")),
        reason=response["status"].get("message") or "",
    )


def joined(headers: Mapping[str, Any]) -> dict[str, str]:
    """Headers by names in lower case, with one text each."""
    texts = {name: [value] if isinstance(value, str | bytes) else value for name, value in headers.items()}
    return {str(name).lower(): ", ".join(map(_text, values)) for name, values in texts.items()}


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def bytes_of(body: Any) -> bytes:
    """A request's body as vcrpy keeps it: bytes, a text, a file, pieces, fields that its client turns into JSON, or none."""
    if body is None or isinstance(body, bytes):
        return body or b""
    if isinstance(body, str):
        return body.encode()
    if hasattr(body, "read"):
        return bytes_of(body.read())
    if isinstance(body, Mapping):
        return orjson.dumps(dict(body), default=str)
    return b"".join(map(bytes_of, body)) if isinstance(body, Iterable) else str(body).encode()


class Taped:
    """A cassette in the machine: what it may answer, what it writes down, and the `problems` on the way."""

    def __init__(self, path: Path, mode: Mode, *, secrets: Iterable[str] = (), pace: bool = False) -> None:
        held = mode == "replay" or (mode == "new" and path.exists())
        self.replay = Replay(load(path).takes if held else ())
        self.mode = mode
        self.path = path
        self.pace = pace
        self.problems: list[str] = []
        self.cassette: Any = None
        self._secrets = tuple(secrets)
        self._missed: list[Take] = []
        self._held = 0
        self._silent: dict[tuple[str, str, bytes], str] = {}
        self._known: dict[tuple[str, str, bytes], Asked] = {}

    def fits(self, live: Any, recorded: Any) -> None:
        """The matcher for vcrpy: an AssertionError with the difference when a request is not the recorded one."""
        wanted, known = self._asked(live), self._asked(recorded)
        assert wanted == known, diff(known, wanted)

    def _asked(self, request: Any) -> Asked:
        key = (request.method, request.uri, bytes_of(request.body))
        if key not in self._known:
            self._known[key] = self.replay.asked(Take(key[0], key[1], joined(request.headers), key[2]))
        return self._known[key]

    def answered(self, sent: Take) -> Take | None:
        """The take that answers a request; None when the API is to be asked."""
        request = vcr.request.Request(**asked_of(sent))
        if sent.headers.get("upgrade", "").lower() == "websocket":
            why = f"{sent.uri}: a WebSocket is not recorded in process; `harness record -- COMMAND` can"
            return self.refused(sent, why)
        if self.mode != "all" and self.cassette.can_play_response_for(request):
            return take_of(request, self.cassette.play_response(request))
        if self.mode == "replay":
            played = sum(self._asked(request) == self._asked(each) for each in self.cassette.requests)
            return self.refused(sent, f"not recorded: {self.replay.miss(self._asked(request), played)}")
        if given := self.replay.continued(sent):
            return self.refused(sent, f"the request names {given}, which the cassette gave and the API does not know")
        return None

    def refused(self, sent: Take, why: str) -> Take:
        """The answer to what cannot be answered: 418, with the reason; it is noted."""
        from harness.server.mock_api import teapot_answer

        problem = HarnessError(f"{self.path.as_posix()}: {why}")
        self.problems.append(str(problem))
        answer = teapot_answer(problem)
        headers = {"content-type": "application/json", **answer.headers}
        chunks = ((0.0, orjson.dumps(answer.body)),)
        self._missed.append(replace(sent, status=answer.status, answer_headers=headers, chunks=chunks))
        return self._missed[-1]

    @property
    def faults(self) -> Sequence[str]:
        """The problems, and the requests that were never answered."""
        return [*dict.fromkeys([*self.problems, *self._silent.values()])]

    @property
    def takes(self) -> Sequence[Take]:
        """What was played and recorded, in the order of the cassette, then what it lacks; none that may not be written."""
        told = enumerate(zip(self.cassette.requests, self.cassette.responses, strict=True))
        pairs = (pair for number, pair in told if number >= self._held or self.cassette.play_counts[number])
        takes = [*(take_of(*pair) for pair in pairs), *self._missed]
        if self.mode == "replay":
            return takes
        with suppress(Unreadable):
            return scrubbed(takes, self._secrets)
        return ()

    def opened(self, cassette: Any) -> None:
        """The cassette of vcrpy is loaded."""
        self.cassette, self._held = cassette, len(cassette)

    def unanswered(self, sent: Take, why: str) -> None:
        """Nobody has answered a request; it may be sent again."""
        self._silent[sent.method, sent.uri, sent.body] = why

    def keep(self, take: Take) -> None:
        """Write an exchange down."""
        self._silent.pop((take.method, take.uri, take.body), None)
        self.cassette.append(vcr.request.Request(**asked_of(take)), said_of(take))


@contextmanager
def taping(
    path: Path, mode: Mode = "replay", *, header: Header | None = None, secrets: Iterable[str] = (), pace: bool = False
) -> Iterator[Taped]:
    """Requests of the `with` block answered from a cassette, or recorded into it; with `pace` as slowly as they were.

    What is recorded is written when the block ends without an exception. TapeError for a cassette that cannot be read,
    RecordError for one that cannot be written.
    """
    with ExitStack() as held:
        if mode != "replay":
            held.enter_context(locked(path))
        known = tuple(secrets)
        taped = Taped(path, mode, secrets=known, pace=pace)
        kept = Cassettes(header or Header(), known, mode)
        machine = vcr.VCR(
            record_mode=_MODES[mode],
            match_on=("method", "harness"),
            serializer="harness",
            custom_patches=tuple(patches(taped)),
            record_on_exception=False,
        )
        machine.register_serializer("harness", kept)
        machine.register_matcher("harness", taped.fits)
        machine.register_persister(later := _Later(kept))
        with machine.use_cassette(str(path)) as cassette:
            taped.opened(cassette)
            yield taped
        later.save()

"""Answers from a cassette: those of a server, and those of `mock.route`."""

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from harness.api.http.dialects import root_of
from harness.cassettes.files import files, note_replay, read_cassette
from harness.cassettes.format.interaction import CLIENT, SERVER, Interaction
from harness.cassettes.format.untrusted import NotARecording
from harness.cassettes.recording.matching import (
    ComparableRequest,
    NoMatch,
    Replay,
    api_root,
    describe_request,
    diff_requests,
)
from harness.core.errors import COMMAND, ConfigError, ScriptError
from harness.core.exchange import Answer, Request
from harness.core.headers import encode_headers, normalize_headers
from harness.core.json_values import omit
from harness.explain.turn import changed_lines
from harness.server.answering import non_retryable_answer
from harness.server.transport.asgi_types import Receive, Scope, Send
from harness.server.transport.deliver import disconnect, send_answer
from harness.server.transport.upload_spool import read_body
from harness.server.websocket.connection import CLOSE_NORMAL, refuse_upgrade

API_KEY_HEADERS = ("authorization", "api-key")
"""Headers that may contain a client's key."""
CONNECTION_HEADERS = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "date"}
)
"""Headers of a recorded answer that belong to its connection and are not replayed."""
HOW_TO_RECORD = f"Record it with `{COMMAND} record`, or change the request."


def load_recordings(path: Path) -> tuple[Interaction, ...]:
    """Load the interactions of a cassette, or of all in a folder, sorted by name; ConfigError without recordings."""
    interactions: list[Interaction] = []
    for file in files([path]):
        try:
            interactions += read_cassette(file).interactions
        except NotARecording:
            if file == path:
                raise
            continue
        note_replay(file)
    if not interactions:
        raise ConfigError(f"--replay {path}: it has no recordings. Make some with `{COMMAND} record`.")
    return tuple(interactions)


class ReplayApp:
    """The ASGI app that replays recordings, at their pace if `paced`; `misses` are requests without a match."""

    def __init__(self, interactions: Sequence[Interaction], paced: bool = False) -> None:
        self.misses: list[str] = []
        self._interactions = interactions
        self._paced = paced
        self._replays: dict[str, Replay] = {}
        self._played_websockets: dict[str, set[int]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or one WebSocket."""
        headers = normalize_headers(scope["headers"])
        key = next((headers[name] for name in API_KEY_HEADERS if name in headers), "")
        # Each key replays from the beginning, so that parallel tests do not consume each other's answers.
        if key not in self._replays:
            self._replays[key] = Replay(self._interactions, repeat_last=True)
        query = scope["query_string"].decode("latin-1")
        uri = f"http://replay{scope['raw_path'].decode('latin-1')}{f'?{query}' if query else ''}"
        if scope["type"] == "websocket":
            # ASGI starts a WebSocket with a message of its own, before any from the client.
            await receive()
            await self._play_websocket(key, Interaction("GET", uri, headers), receive, send)
        elif (body := await read_body(receive)) is not None:
            found = self._replays[key].play(Interaction(scope["method"], uri, headers, body))
            if isinstance(found, NoMatch):
                await send_answer(send, self._not_recorded_answer(found))
            else:
                await self._send_answer(found, send)

    def _not_recorded_answer(self, miss: object) -> Answer:
        self.misses.append(str(miss))
        return non_retryable_answer(f"not recorded: {miss}\n{HOW_TO_RECORD}")

    async def _send_answer(self, interaction: Interaction, send: Send) -> None:
        headers = replayed_headers(interaction)
        if not interaction.is_stream:
            # One byte more than is sent if the answer was cut, so that the client notices.
            headers["content-length"] = str(len(interaction.answer) + interaction.cut)
        await send(
            {"type": "http.response.start", "status": interaction.status, "headers": encode_headers(headers.items())}
        )
        before = 0.0
        for seconds, data in interaction.chunks if self._paced else [(0.0, interaction.answer)]:
            await asyncio.sleep(seconds - before)
            await send({"type": "http.response.body", "body": data, "more_body": True})
            before = seconds
        if interaction.cut:
            disconnect(send)
        else:
            await send({"type": "http.response.body", "body": b""})

    async def _play_websocket(self, key: str, opening: Interaction, receive: Receive, send: Send) -> None:
        """Replay the connection that begins with the client's first message; a refused upgrade is refused again."""
        replay = self._replays[key]
        if describe_request(opening) not in map(describe_request, replay.sockets):
            found = replay.play(opening)
            if isinstance(found, NoMatch):
                refused = self._not_recorded_answer(found)
            else:
                refused = Answer(found.status, found.answer, replayed_headers(found))
            await refuse_upgrade(refused, send)
            return
        await send({"type": "websocket.accept"})
        message = await receive()
        if message["type"] == "websocket.receive":
            first, played = _message_text(message), self._played_websockets.setdefault(key, set())
            number = _pick_websocket(replay, opening, first, played)
            await self._play_frames(replay, replay.sockets[number], first, receive, send)

    async def _play_frames(
        self, replay: Replay, interaction: Interaction, first: str, receive: Receive, send: Send
    ) -> None:
        message: str | None = first
        before = 0.0
        for seconds, by, text in interaction.frames:
            if by == SERVER:
                # Even without a pace, other connections get a turn between two messages.
                await asyncio.sleep(seconds - before if self._paced else 0)
                await send({"type": "websocket.send", "text": text})
            elif (message := message or await _next_message(receive)) is None:
                return
            elif (recorded := _comparable_message(replay, interaction, text)) != (
                wanted := _comparable_message(replay, interaction, message)
            ):
                await self._close_with_error(
                    "\n".join(["the message differs from the recording:", *diff_requests(recorded, wanted)]), send
                )
                return
            else:
                message = None
            before = seconds
        # What the client of a cut connection would have sent next is unknown.
        if not interaction.cut and await _next_message(receive) is not None:
            await self._close_with_error("the client sends more than was recorded", send)

    async def _close_with_error(self, miss: str, send: Send) -> None:
        answer = self._not_recorded_answer(miss)
        event = {"type": "error", "status": answer.status, **answer.body}
        await send({"type": "websocket.send", "text": orjson.dumps(event).decode()})
        await send({"type": "websocket.close", "code": CLOSE_NORMAL})


def replayed_headers(interaction: Interaction) -> dict[str, str]:
    """Return the headers of a recorded answer, without those of its connection."""
    return omit(interaction.answer_headers, *CONNECTION_HEADERS)


def _pick_websocket(replay: Replay, opening: Interaction, first: str, played: set[int]) -> int:
    """Return the first connection with this first message that was not replayed, or else the last one."""
    here = [
        number
        for number, interaction in enumerate(replay.sockets)
        if describe_request(interaction) == describe_request(opening)
    ]
    matches = [number for number in here if _begins_with(replay, replay.sockets[number], first)] or here
    number = next((number for number in matches if number not in played), matches[-1])
    played.add(number)
    return number


def _begins_with(replay: Replay, interaction: Interaction, first: str) -> bool:
    text = next((text for _, by, text in interaction.frames if by == CLIENT), "")
    return _comparable_message(replay, interaction, text) == _comparable_message(replay, interaction, first)


def _comparable_message(replay: Replay, interaction: Interaction, text: str) -> ComparableRequest:
    """Convert a message to the form in which recordings are compared."""
    return replay.comparable(Interaction("WS", interaction.uri, body=text.encode()))


async def _next_message(receive: Receive) -> str | None:
    """Receive the client's next message; None if it has disconnected."""
    message = await receive()
    return _message_text(message) if message["type"] == "websocket.receive" else None


def _message_text(message: MutableMapping[str, Any]) -> str:
    text = message.get("text")
    return str(message["bytes"], "utf-8", "replace") if text is None else str(text)


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

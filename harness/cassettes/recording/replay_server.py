"""Recorded answers served to any client: at once or at their own pace; what was not recorded is told with a diff.

Each API key has all recordings for itself, as with the mock it has a World of its own. Of several answers to the same
request each is given once, in order, and the last one from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from harness.cassettes.format.interaction import CLIENT, SERVER, Interaction
from harness.cassettes.format.untrusted_text import NotARecording
from harness.cassettes.listing import files
from harness.cassettes.recording import last_used
from harness.cassettes.recording.in_flight import non_retryable_answer
from harness.cassettes.recording.matching import ComparableRequest, NoMatch, Replay, describe_request, diff_requests
from harness.cassettes.recording.writer import read_cassette
from harness.core.errors import ConfigError
from harness.core.exchange import Answer
from harness.core.headers import encode_headers, normalize_headers
from harness.server.asgi import Receive, Scope, Send, read_body, send_answer
from harness.server.faulty_delivery import disconnect
from harness.server.websocket import CLOSE_NORMAL, refuse_upgrade

API_KEY_HEADERS = ("authorization", "api-key")
"""Headers that hold the key of a client."""
CONNECTION_HEADERS = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "date"}
)
"""Headers of a recorded answer that are those of its connection."""
HOW_TO_RECORD = "Record it with `harness record`, or change the request."


def load_recordings(path: Path) -> tuple[Interaction, ...]:
    """The recordings of a cassette, or of all those in a folder by their names; ConfigError when there are none."""
    takes: list[Interaction] = []
    for file in files([path]):
        try:
            takes += read_cassette(file).interactions
        except NotARecording:
            if file == path:
                raise
            continue
        last_used.note_replay(file)
    if not takes:
        raise ConfigError(f"--replay {path}: it holds no recordings. Make some with `harness record`.")
    return tuple(takes)


class ReplayApp:
    """The ASGI app that plays recordings; with `paced` as slowly as they came. `misses` tell what was not recorded."""

    def __init__(self, takes: Sequence[Interaction], paced: bool = False) -> None:
        self.misses: list[str] = []
        self._interactions = takes
        self._paced = paced
        self._replays: dict[str, Replay] = {}
        self._played_websockets: dict[str, set[int]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or one connection, as it was answered."""
        headers = normalize_headers(scope["headers"])
        key = next((headers[name] for name in API_KEY_HEADERS if name in headers), "")
        if key not in self._replays:
            self._replays[key] = Replay(self._interactions, again=True)
        query = scope["query_string"].decode("latin-1")
        uri = f"http://replay{scope['raw_path'].decode('latin-1')}{f'?{query}' if query else ''}"
        if scope["type"] == "websocket":
            await receive()
            await self._play_websocket(key, Interaction("GET", uri, headers), receive, send)
        elif (body := await read_body(receive)) is not None:
            found = self._replays[key].play(Interaction(scope["method"], uri, headers, body))
            await (
                send_answer(send, self._not_recorded_answer(found))
                if isinstance(found, NoMatch)
                else self._send_answer(found, send)
            )

    def _not_recorded_answer(self, miss: object) -> Answer:
        """What a client is told of a request that was not recorded."""
        self.misses.append(str(miss))
        return non_retryable_answer(f"not recorded: {miss}\n{HOW_TO_RECORD}")

    async def _send_answer(self, take: Interaction, send: Send) -> None:
        headers = _replayed_headers(take)
        if not take.is_stream:
            # One byte is missing at least, so that what was cut is not taken for whole.
            headers["content-length"] = str(len(take.answer) + take.cut)
        await send({"type": "http.response.start", "status": take.status, "headers": encode_headers(headers.items())})
        before = 0.0
        for at, data in take.chunks if self._paced else [(0.0, take.answer)]:
            await asyncio.sleep(at - before)
            await send({"type": "http.response.body", "body": data, "more_body": True})
            before = at
        if take.cut:
            disconnect(send)
        else:
            await send({"type": "http.response.body", "body": b""})

    async def _play_websocket(self, key: str, opening: Interaction, receive: Receive, send: Send) -> None:
        """Play the connection that begins with what the client says; one that was refused is refused again."""
        replay = self._replays[key]
        if describe_request(opening) not in map(describe_request, replay.sockets):
            found = replay.play(opening)
            refused = (
                self._not_recorded_answer(found)
                if isinstance(found, NoMatch)
                else Answer(found.status, found.answer, _replayed_headers(found))
            )
            await refuse_upgrade(refused, send)
            return
        await send({"type": "websocket.accept"})
        message = await receive()
        if message["type"] == "websocket.receive":
            number = _pick_websocket(
                replay, opening, _message_text(message), self._played_websockets.setdefault(key, set())
            )
            await self._play_frames(replay, replay.sockets[number], _message_text(message), receive, send)

    async def _play_frames(self, replay: Replay, take: Interaction, first: str, receive: Receive, send: Send) -> None:
        said: str | None = first
        before = 0.0
        for at, by, text in take.frames:
            if by == SERVER:
                await asyncio.sleep(at - before if self._paced else 0)
                await send({"type": "websocket.send", "text": text})
            elif (said := said or await _next_message(receive)) is None:
                return
            elif (recorded := _comparable_message(replay, take, text)) != (
                wanted := _comparable_message(replay, take, said)
            ):
                await self._close_with_error(
                    f"the message differs from the one recorded:\n{diff_requests(recorded, wanted)}", send
                )
                return
            else:
                said = None
            before = at
        if not take.cut and await _next_message(receive) is not None:
            await self._close_with_error("the client says more than was recorded", send)

    async def _close_with_error(self, miss: str, send: Send) -> None:
        answer = self._not_recorded_answer(miss)
        event = {"type": "error", "status": answer.status, **answer.body}
        await send({"type": "websocket.send", "text": orjson.dumps(event).decode()})
        await send({"type": "websocket.close", "code": CLOSE_NORMAL})


def _replayed_headers(take: Interaction) -> dict[str, str]:
    return {name: value for name, value in take.answer_headers.items() if name not in CONNECTION_HEADERS}


def _pick_websocket(replay: Replay, opening: Interaction, first: str, played: set[int]) -> int:
    """The connection at this address that begins with this message, the first that was not played; else the last."""
    here = [number for number, take in enumerate(replay.sockets) if describe_request(take) == describe_request(opening)]
    fitting = [number for number in here if _begins_with(replay, replay.sockets[number], first)] or here
    number = next((number for number in fitting if number not in played), fitting[-1])
    played.add(number)
    return number


def _begins_with(replay: Replay, take: Interaction, first: str) -> bool:
    text = next((text for _, by, text in take.frames if by == CLIENT), "")
    return _comparable_message(replay, take, text) == _comparable_message(replay, take, first)


def _comparable_message(replay: Replay, take: Interaction, text: str) -> ComparableRequest:
    """What a message says, as the recordings are compared."""
    return replay.comparable(Interaction("WS", take.uri, body=text.encode()))


async def _next_message(receive: Receive) -> str | None:
    """The client's next message; None when it has left."""
    message = await receive()
    return _message_text(message) if message["type"] == "websocket.receive" else None


def _message_text(message: MutableMapping[str, Any]) -> str:
    said = message.get("text")
    return str(message["bytes"], "utf-8", "replace") if said is None else str(said)

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

from harness.cassettes.format.interaction import CLIENT, SERVER, Take
from harness.cassettes.format.untrusted_text import NotATape
from harness.cassettes.listing import files
from harness.cassettes.recording import last_used
from harness.cassettes.recording.in_flight import joined, packed, pairs, told
from harness.cassettes.recording.matching import Asked, Miss, Replay, called, diff
from harness.cassettes.recording.writer import load
from harness.core.errors import ConfigError
from harness.core.exchange import Answer
from harness.server.asgi import Receive, Scope, Send, read_body, send_answer
from harness.server.faulty_delivery import disconnect
from harness.server.websocket import CLOSE_NORMAL, refuse_upgrade

KEYS = ("authorization", "api-key")
"""Headers that hold the key of a client."""
MADE_ANEW = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "date"})
"""Headers of a recorded answer that are those of its connection."""
RECORD = "Record it with `harness record`, or change the request."


def loaded(path: Path) -> tuple[Take, ...]:
    """The recordings of a cassette, or of all those in a folder by their names; ConfigError when there are none."""
    takes: list[Take] = []
    for file in files([path]):
        try:
            takes += load(file).takes
        except NotATape:
            if file == path:
                raise
            continue
        last_used.note(file)
    if not takes:
        raise ConfigError(f"--replay {path}: it holds no recordings. Make some with `harness record`.")
    return tuple(takes)


class Player:
    """The ASGI app that plays recordings; with `paced` as slowly as they came. `misses` tell what was not recorded."""

    def __init__(self, takes: Sequence[Take], paced: bool = False) -> None:
        self.misses: list[str] = []
        self._takes = takes
        self._paced = paced
        self._replays: dict[str, Replay] = {}
        self._connected: dict[str, set[int]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or one connection, as it was answered."""
        headers = joined(pairs(scope["headers"]))
        key = next((headers[name] for name in KEYS if name in headers), "")
        if key not in self._replays:
            self._replays[key] = Replay(self._takes, again=True)
        query = scope["query_string"].decode("latin-1")
        uri = f"http://replay{scope['raw_path'].decode('latin-1')}{f'?{query}' if query else ''}"
        if scope["type"] == "websocket":
            await receive()
            await self._connect(key, Take("GET", uri, headers), receive, send)
        elif (body := await read_body(receive)) is not None:
            found = self._replays[key].play(Take(scope["method"], uri, headers, body))
            await (send_answer(send, self._missed(found)) if isinstance(found, Miss) else self._play(found, send))

    def _missed(self, miss: object) -> Answer:
        """What a client is told of a request that was not recorded."""
        self.misses.append(str(miss))
        return told(f"not recorded: {miss}\n{RECORD}")

    async def _play(self, take: Take, send: Send) -> None:
        headers = _headers(take)
        if not take.streamed:
            # One byte is missing at least, so that what was cut is not taken for whole.
            headers["content-length"] = str(len(take.answer) + take.cut)
        await send({"type": "http.response.start", "status": take.status, "headers": packed([*headers.items()])})
        before = 0.0
        for at, data in take.chunks if self._paced else [(0.0, take.answer)]:
            await asyncio.sleep(at - before)
            await send({"type": "http.response.body", "body": data, "more_body": True})
            before = at
        if take.cut:
            disconnect(send)
        else:
            await send({"type": "http.response.body", "body": b""})

    async def _connect(self, key: str, opening: Take, receive: Receive, send: Send) -> None:
        """Play the connection that begins with what the client says; one that was refused is refused again."""
        replay = self._replays[key]
        if called(opening) not in map(called, replay.sockets):
            found = replay.play(opening)
            refused = (
                self._missed(found) if isinstance(found, Miss) else Answer(found.status, found.answer, _headers(found))
            )
            await refuse_upgrade(refused, send)
            return
        await send({"type": "websocket.accept"})
        message = await receive()
        if message["type"] == "websocket.receive":
            number = _fitting(replay, opening, _text(message), self._connected.setdefault(key, set()))
            await self._talk(replay, replay.sockets[number], _text(message), receive, send)

    async def _talk(self, replay: Replay, take: Take, first: str, receive: Receive, send: Send) -> None:
        said: str | None = first
        before = 0.0
        for at, by, text in take.frames:
            if by == SERVER:
                await asyncio.sleep(at - before if self._paced else 0)
                await send({"type": "websocket.send", "text": text})
            elif (said := said or await _next(receive)) is None:
                return
            elif (recorded := _asked(replay, take, text)) != (wanted := _asked(replay, take, said)):
                await self._hang_up(f"the message differs from the one recorded:\n{diff(recorded, wanted)}", send)
                return
            else:
                said = None
            before = at
        if not take.cut and await _next(receive) is not None:
            await self._hang_up("the client says more than was recorded", send)

    async def _hang_up(self, miss: str, send: Send) -> None:
        answer = self._missed(miss)
        event = {"type": "error", "status": answer.status, **answer.body}
        await send({"type": "websocket.send", "text": orjson.dumps(event).decode()})
        await send({"type": "websocket.close", "code": CLOSE_NORMAL})


def _headers(take: Take) -> dict[str, str]:
    return {name: value for name, value in take.answer_headers.items() if name not in MADE_ANEW}


def _fitting(replay: Replay, opening: Take, first: str, played: set[int]) -> int:
    """The connection at this address that begins with this message, the first that was not played; else the last."""
    here = [number for number, take in enumerate(replay.sockets) if called(take) == called(opening)]
    fitting = [number for number in here if _begins(replay, replay.sockets[number], first)] or here
    number = next((number for number in fitting if number not in played), fitting[-1])
    played.add(number)
    return number


def _begins(replay: Replay, take: Take, first: str) -> bool:
    text = next((text for _, by, text in take.frames if by == CLIENT), "")
    return _asked(replay, take, text) == _asked(replay, take, first)


def _asked(replay: Replay, take: Take, text: str) -> Asked:
    """What a message says, as the recordings are compared."""
    return replay.asked(Take("WS", take.uri, body=text.encode()))


async def _next(receive: Receive) -> str | None:
    """The client's next message; None when it has left."""
    message = await receive()
    return _text(message) if message["type"] == "websocket.receive" else None


def _text(message: MutableMapping[str, Any]) -> str:
    said = message.get("text")
    return str(message["bytes"], "utf-8", "replace") if said is None else str(said)

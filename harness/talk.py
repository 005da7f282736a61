"""A take as the exchanges that the contract judges: one over HTTP, over a WebSocket one for each `response.create`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

from harness.cassette import Entry
from harness.exchange import Json
from harness.recorded import Recorded, recorded
from harness.respell import ENDS
from harness.rules.websocket import CREATED
from harness.session import ENVELOPE
from harness.take import CLIENT, Take
from harness.upstream import Upstream


def exchanges(take: Take, name: str, behind: Upstream) -> Iterator[Recorded]:
    """The exchanges of a take, in order; `name` (`file#1`) says which it is, those of a WebSocket are `file#1.1` …"""
    if not take.frames:
        yield _recorded(_entry(take, behind, take.body, take.status, take.answer), name, take.cut)
        return
    for number, part in enumerate(_parts(take), 1):
        status, said = part.answer
        entry = _entry(take, behind, orjson.dumps(part.asked), status, said)
        yield _recorded(entry._replace(method="POST"), f"{name}.{number}", not part.ended)


def _entry(take: Take, behind: Upstream, asked: bytes, status: int, said: Any) -> Entry:
    parts = urlsplit(take.uri)
    url = parts._replace(path=behind.known(parts.path)).geturl()
    extra = {"provider": behind.dialect}
    return Entry(take.method, url, dict(take.headers), asked, status, dict(take.answer_headers), said, extra=extra)


def _recorded(entry: Entry, name: str, cut: bool) -> Recorded:
    file, _, _ = name.rpartition("#")
    return recorded(entry._replace(extra={**entry.extra, "id": name, "cut": cut}), file, 1)


@dataclass(slots=True)
class _Part:
    """A `response.create` and what was said to it."""

    asked: Json
    events: list[Json] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether all has been said."""
        return bool(self.events) and self.events[-1].get("type") in (*ENDS, "error")

    @property
    def answer(self) -> tuple[int, Any]:
        """The status and the body that HTTP would have given; the events of a stream."""
        first = self.events[0] if self.events else {}
        if first.get("type") == "error" and isinstance(first.get("error"), dict):
            return int(first.get("status") or 400), {"error": first["error"]}
        return (200 if self.events else 0), self.events


def _parts(take: Take) -> list[_Part]:
    """The requests of a connection, in order, each with what its lane said until it ended."""
    parts: list[_Part] = []
    open_in: dict[str | None, _Part] = {}
    for _, side, text in take.frames:
        if not (said := _object(text)):
            continue
        lane = said.get("stream_id")
        if side != CLIENT:
            if (part := open_in.get(lane)) and not part.ended:
                part.events.append({name: value for name, value in said.items() if name != "stream_id"})
        elif said.get("type") != CREATED or said.get("generate") is False:
            open_in.pop(lane, None)
        else:
            asked = {name: value for name, value in said.items() if name not in ENVELOPE}
            open_in[lane] = _Part({**asked, "stream": True})
            parts.append(open_in[lane])
    return parts


def _object(text: str) -> Json:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}

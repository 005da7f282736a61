"""Takes as the text of a cassette, and back: YAML that people read, plain vcrpy replays, and git shows the changes of.

    version: 1
    harness: {format: 1, recorded: '2026-09-21', dialect: openai, sdk: OpenAI/Python, …}
    interactions:
    - origin: where it is known from, in evidence alone
      request: {method: POST, uri: …, headers: …, body: the JSON, indented}
      response: {status: {code: 200, message: OK}, headers: …, body: {string: the JSON indented, or the stream}}
      wire: {request: compact, answer: compact, arrivals: [[seconds, bytes], …], cut: true}
    sockets:
    - {origin: …, uri: …, headers: …, frames: [{at: seconds, from: client, text: …}, …]}

`wire` says how to make the bytes again: the spelling of the JSON, when which part of an answer arrived, whether it broke
off. What cannot be made again from indented JSON stands as it was sent. `schemas/cassette.json` says what may stand where.
Files of other recorders are read as they are by `harness.cassettes.format.other_recorders`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import chain
from typing import Any, NamedTuple

from harness.api.decoding import undo_encodings
from harness.cassettes.format.interaction import FORMAT, Chunk, Header, Take
from harness.cassettes.format.other_recorders import Entry, entries, entry
from harness.cassettes.format.untrusted_text import Malformed, NotATape, TapeError, documents
from harness.cassettes.format.validate import check
from harness.cassettes.format.yaml_layout import Lines, OneLine, written
from harness.core.exchange import EMPTY_MAPPING, Json

_SPELLINGS: dict[str, Mapping[str, Any]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "compact ascii": {"separators": (",", ":")},
    "spaced": {"ensure_ascii": False},
    "spaced ascii": {},
    "indented ascii": {"indent": 2},
}
"""How clients and servers write JSON, by the name that `wire` gives it."""
_PRETTY: Mapping[str, Any] = {"indent": 2, "ensure_ascii": False}
_CODINGS = ("content-encoding", "transfer-encoding", "content-length")


class Tape(NamedTuple):
    """What a cassette holds; the header is None in those of other recorders."""

    header: Header | None
    takes: tuple[Take, ...]


def write(header: Header, takes: Sequence[Take]) -> str:
    """The text of a cassette; the same takes give the same text."""
    content: Json = {
        "version": 1,
        "harness": Lines({name: value for name, value in asdict(header).items() if value != ""}),
        "interactions": [_interaction(take) for take in takes if not take.frames],
    }
    if sockets := [_socket(take) for take in takes if take.frames]:
        content["sockets"] = sockets
    return written(content)


def _interaction(take: Take) -> Json:
    asked, asked_as = _body(take.body)
    said, said_as = _body(take.answer)
    timeless = len(take.chunks) == 1 and not take.chunks[0][0]
    wire = {
        "request": asked_as,
        "answer": said_as,
        "arrivals": [] if timeless else [OneLine((round(at, 6), len(data))) for at, data in take.chunks],
        "cut": take.cut,
    }
    told = {name: value for name, value in wire.items() if value}
    status = {"code": take.status, "message": take.reason}
    return {
        **_origin(take),
        "request": {"method": take.method, "uri": take.uri, "headers": _headers(take.headers), "body": asked or None},
        "response": {"status": status, "headers": _headers(take.answer_headers), "body": {"string": said}},
        **({"wire": told} if told else {}),
    }


def _origin(take: Take) -> Json:
    return {"origin": Lines(take.origin)} if take.origin else {}


def _headers(headers: Mapping[str, str]) -> dict[str, OneLine]:
    return {name: OneLine([headers[name]]) for name in sorted(headers)}


def _socket(take: Take) -> Json:
    frames = [{"at": round(at, 6), "from": by, **_framed(text)} for at, by, text in take.frames]
    cut = {"cut": True} if take.cut else {}
    return {**_origin(take), "uri": take.uri, "headers": _headers(take.headers), "frames": frames, **cut}


def _framed(text: str) -> Json:
    said, spelling = _spelled(text)
    return {"text": said, **({"spelling": spelling} if spelling else {})}


def _body(raw: bytes) -> tuple[str | bytes, str]:
    """A body as it is written, and the spelling that makes its bytes again; bytes when it is no text."""
    try:
        return _spelled(raw.decode())
    except UnicodeDecodeError:
        return raw, ""


def _spelled(text: str) -> tuple[str, str]:
    """JSON indented, with the name of its own spelling; any other text as it is, without one."""
    if text[:1] not in ("{", "["):
        return text, ""
    try:
        value = json.loads(text)
        name = next((name for name, how in _SPELLINGS.items() if json.dumps(value, **how) == text), "")
        pretty = json.dumps(value, **_PRETTY)
        pretty.encode()  # half a pair of surrogates can only be written as JSON's escape
        return (pretty, name) if name else (text, "")
    except (ValueError, RecursionError):
        return text, ""


def read(text: str, name: str) -> Tape:
    """What the text of a cassette holds, ours or another recorder's; `name` is what its errors call it.

    NotATape when it is none, TapeError when it is of a newer format or a place in it cannot be read: of ours, when it is
    not as `schemas/cassette.json` has it.
    """
    try:
        document = next(iter([*documents(text)]), None)
        if (found := entries(document)) is None or not isinstance(document, dict | list):
            raise NotATape(f"{name}: it holds no recorded exchanges. Give a cassette, or record it again.")
        header = _header(document)
        listed = document["interactions"] if header and isinstance(document, dict) else ()
        wires = chain((one.get("wire") for one in listed), _endless())
        takes = [_take(_whole(one), wire) for one, wire in zip(found, wires, strict=False)]
        return Tape(header, (*takes, *sockets(document)))
    except Malformed as problem:
        raise TapeError(f"{name}: {problem}. Record it again, or mend that place.") from problem


def _endless() -> Iterator[None]:
    while True:
        yield None


def _whole(found: Entry | Malformed) -> Entry:
    if isinstance(found, Malformed):
        raise found
    return found


def refuse_newer(document: Any) -> None:
    """Malformed when a cassette is of a format that is newer than this harness."""
    told = document.get("harness") if isinstance(document, dict) else None
    number = told.get("format") if isinstance(told, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise Malformed(f"its format is {number}, and this harness reads up to {FORMAT}; a newer harness reads it")


def _header(document: Any) -> Header | None:
    """What a cassette of ours says of itself, once all of it is known to be as it must be."""
    if not isinstance(document, dict) or "harness" not in document:
        return None
    refuse_newer(document)
    check(document)
    told = document["harness"]
    return Header(**{one.name: told[one.name] for one in fields(Header) if one.name in told})


def _take(found: Entry, wire: Any) -> Take:
    told = wire if isinstance(wire, dict) else {}
    return Take(
        found.method,
        found.url,
        found.headers,
        _bytes(found.asked, found.headers, told.get("request")),
        found.status,
        {name: value for name, value in found.answer_headers.items() if name not in _CODINGS},
        _chunks(_bytes(found.said, found.answer_headers, told.get("answer")), told.get("arrivals")),
        told.get("cut") is True,
        reason=found.reason,
        origin=_known(found.extra.get("origin")),
    )


def _known(origin: Any) -> Mapping[str, Any]:
    return origin if isinstance(origin, dict) else EMPTY_MAPPING


def _bytes(said: Any, headers: Mapping[str, str], spelling: Any) -> bytes:
    """The bytes of a body that a cassette holds in any form."""
    if said is None:
        return b""
    if isinstance(said, str):
        said = _respelled(said, spelling).encode("utf-8", "replace")
    elif isinstance(said, list) and all(isinstance(piece, str | bytes) for piece in said):
        said = b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in said)
    if isinstance(said, bytes):
        plain = undo_encodings(said, headers)
        return said if plain is None else plain
    if isinstance(said, list) and "json" not in headers.get("content-type", ""):
        return "".join(_event(one) for one in said).encode()
    return json.dumps(said, **_SPELLINGS["compact"]).encode()


def _event(event: Any) -> str:
    """One event of a stream that is kept as a list."""
    data = json.dumps(event, **_SPELLINGS["compact"])
    return (
        f"event: {event['type']}\ndata: {data}\n\n"
        if isinstance(event, dict) and "type" in event
        else f"data: {data}\n\n"
    )


def _respelled(text: str, spelling: Any) -> str:
    """A text in the spelling in which it travelled; JSON that was edited since then too."""
    if spelling not in _SPELLINGS:
        return text
    try:
        return json.dumps(json.loads(text), **_SPELLINGS[spelling])
    except (ValueError, RecursionError):
        return text


def _chunks(answer: bytes, arrivals: Any) -> tuple[Chunk, ...]:
    """An answer in the chunks in which it arrived; the last one takes what an edit has added."""
    if not answer:
        return ()
    chunks, at, last = list[Chunk](), 0, 0.0
    for seconds, length in _pairs(arrivals):
        data, last = answer[at : at + length], max(last, seconds)
        at += length
        if data:
            chunks.append((last, data))
    if at < len(answer) and chunks:
        chunks[-1] = (last, chunks[-1][1] + answer[at:])
    return tuple(chunks) or ((last, answer),)


def _pairs(arrivals: Any) -> Iterator[tuple[float, int]]:
    yield from ((float(seconds), length) for seconds, length in arrivals or ())


def sockets(document: Any) -> Iterator[Take]:
    """The WebSockets of a cassette of our own; Malformed says which of them is none."""
    if not isinstance(document, dict) or "sockets" not in document:
        return
    check(document)
    for one in document["sockets"]:
        found = entry({"request": {**one, "method": "GET"}, "response": {"status": 101}})
        frames = tuple(
            (float(each["at"]), each["from"], _respelled(each["text"], each.get("spelling"))) for each in one["frames"]
        )
        origin = _known(one.get("origin"))
        yield Take(
            "GET", found.url, found.headers, status=101, cut=one.get("cut") is True, frames=frames, origin=origin
        )

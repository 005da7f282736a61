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
from dataclasses import asdict, fields, replace
from itertools import chain
from typing import Any, NamedTuple

from harness.api.decoding import undo_encodings
from harness.cassettes.format.interaction import CASSETTE_FORMAT, CassetteHeader, Chunk, Interaction
from harness.cassettes.format.other_recorders import parse_interaction, parse_interactions
from harness.cassettes.format.untrusted_text import Malformed, NotARecording, UnreadableRecording
from harness.cassettes.format.untrusted_yaml import parse_yaml_documents
from harness.cassettes.format.validate import validate_cassette
from harness.cassettes.format.yaml_layout import BlockMapping, OneLineList, dump_yaml
from harness.core.exchange import EMPTY_MAPPING, Json

_SPELLINGS: dict[str, Mapping[str, Any]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "compact ascii": {"separators": (",", ":")},
    "spaced": {"ensure_ascii": False},
    "spaced ascii": {},
    "indented ascii": {"indent": 2},
}
"""How clients and servers write JSON, by the name that `wire` gives it."""
_INDENTED: Mapping[str, Any] = {"indent": 2, "ensure_ascii": False}
_ENCODING_HEADERS = ("content-encoding", "transfer-encoding", "content-length")


class CassetteContent(NamedTuple):
    """What a cassette holds; the header is None in those of other recorders."""

    header: CassetteHeader | None
    interactions: tuple[Interaction, ...]


def dump_cassette(header: CassetteHeader, interactions: Sequence[Interaction]) -> str:
    """The text of a cassette; the same takes give the same text."""
    content: Json = {
        "version": 1,
        "harness": BlockMapping({name: value for name, value in asdict(header).items() if value != ""}),
        "interactions": [_dump_interaction(interaction) for interaction in interactions if not interaction.frames],
    }
    if sockets := [_dump_websocket(interaction) for interaction in interactions if interaction.frames]:
        content["sockets"] = sockets
    return dump_yaml(content)


def _dump_interaction(interaction: Interaction) -> Json:
    asked, asked_as = _dump_body(interaction.body)
    said, said_as = _dump_body(interaction.answer)
    timeless = len(interaction.chunks) == 1 and not interaction.chunks[0][0]
    wire = {
        "request": asked_as,
        "answer": said_as,
        "arrivals": [] if timeless else [OneLineList((round(at, 6), len(data))) for at, data in interaction.chunks],
        "cut": interaction.cut,
    }
    told = {name: value for name, value in wire.items() if value}
    status = {"code": interaction.status, "message": interaction.reason}
    return {
        **_dump_origin(interaction),
        "request": {
            "method": interaction.method,
            "uri": interaction.uri,
            "headers": _dump_headers(interaction.headers),
            "body": asked or None,
        },
        "response": {"status": status, "headers": _dump_headers(interaction.answer_headers), "body": {"string": said}},
        **({"wire": told} if told else {}),
    }


def _dump_origin(interaction: Interaction) -> Json:
    return {"origin": BlockMapping(interaction.origin)} if interaction.origin else {}


def _dump_headers(headers: Mapping[str, str]) -> dict[str, OneLineList]:
    return {name: OneLineList([headers[name]]) for name in sorted(headers)}


def _dump_websocket(interaction: Interaction) -> Json:
    frames = [{"at": round(at, 6), "from": by, **_dump_frame_text(text)} for at, by, text in interaction.frames]
    cut = {"cut": True} if interaction.cut else {}
    return {
        **_dump_origin(interaction),
        "uri": interaction.uri,
        "headers": _dump_headers(interaction.headers),
        "frames": frames,
        **cut,
    }


def _dump_frame_text(text: str) -> Json:
    said, spelling = _indent_json(text)
    return {"text": said, **({"spelling": spelling} if spelling else {})}


def _dump_body(raw: bytes) -> tuple[str | bytes, str]:
    """A body as it is written, and the spelling that makes its bytes again; bytes when it is no text."""
    try:
        return _indent_json(raw.decode())
    except UnicodeDecodeError:
        return raw, ""


def _indent_json(text: str) -> tuple[str, str]:
    """JSON indented, with the name of its own spelling; any other text as it is, without one."""
    if text[:1] not in ("{", "["):
        return text, ""
    try:
        value = json.loads(text)
        name = next((name for name, how in _SPELLINGS.items() if json.dumps(value, **how) == text), "")
        pretty = json.dumps(value, **_INDENTED)
        pretty.encode()  # half a pair of surrogates can only be written as JSON's escape
        return (pretty, name) if name else (text, "")
    except (ValueError, RecursionError):
        return text, ""


def parse_cassette(text: str, name: str) -> CassetteContent:
    """What the text of a cassette holds, ours or another recorder's; `name` is what its errors call it.

    NotATape when it is none, TapeError when it is of a newer format or a place in it cannot be read: of ours, when it is
    not as `schemas/cassette.json` has it.
    """
    try:
        document = next(iter([*parse_yaml_documents(text)]), None)
        if (found := parse_interactions(document)) is None or not isinstance(document, dict | list):
            raise NotARecording(f"{name}: it holds no recorded exchanges. Give a cassette, or record it again.")
        header = _parse_header(document)
        listed = document["interactions"] if header and isinstance(document, dict) else ()
        wires = chain((one.get("wire") for one in listed), _repeat_none())
        interactions = [
            _build_interaction(_raise_if_malformed(one), wire) for one, wire in zip(found, wires, strict=False)
        ]
        return CassetteContent(header, (*interactions, *parse_websockets(document)))
    except Malformed as problem:
        raise UnreadableRecording(f"{name}: {problem}. Record it again, or mend that place.") from problem


def _repeat_none() -> Iterator[None]:
    while True:
        yield None


def _raise_if_malformed(found: Interaction | Malformed) -> Interaction:
    if isinstance(found, Malformed):
        raise found
    return found


def refuse_newer_format(document: Any) -> None:
    """Malformed when a cassette is of a format that is newer than this harness."""
    told = document.get("harness") if isinstance(document, dict) else None
    number = told.get("format") if isinstance(told, dict) else None
    if isinstance(number, int) and number > CASSETTE_FORMAT:
        raise Malformed(
            f"its format is {number}, and this harness reads up to {CASSETTE_FORMAT}; a newer harness reads it"
        )


def _parse_header(document: Any) -> CassetteHeader | None:
    """What a cassette of ours says of itself, once all of it is known to be as it must be."""
    if not isinstance(document, dict) or "harness" not in document:
        return None
    refuse_newer_format(document)
    validate_cassette(document)
    told = document["harness"]
    return CassetteHeader(**{one.name: told[one.name] for one in fields(CassetteHeader) if one.name in told})


def _build_interaction(parsed: Interaction, wire: Any) -> Interaction:
    """An interaction with its bodies decoded, in the spelling and the chunks that `wire` tells of."""
    how = wire if isinstance(wire, dict) else {}
    body = _restore_bytes(parsed.body, parsed.headers, how.get("request"))
    answer = _restore_bytes(parsed.answer, parsed.answer_headers, how.get("answer"))
    headers = {name: value for name, value in parsed.answer_headers.items() if name not in _ENCODING_HEADERS}
    chunks = _split_into_chunks(answer, how.get("arrivals"))
    return replace(parsed, body=body, answer_headers=headers, chunks=chunks)


def _restore_bytes(body: bytes, headers: Mapping[str, str], spelling: Any) -> bytes:
    """The bytes of a body, without its encodings and in the spelling of JSON in which it travelled."""
    if spelling in _SPELLINGS:
        body = _restore_spelling(body.decode("utf-8", "replace"), spelling).encode("utf-8", "replace")
    plain = undo_encodings(body, headers)
    return body if plain is None else plain


def _restore_spelling(text: str, spelling: Any) -> str:
    """A text in the spelling in which it travelled; JSON that was edited since then too."""
    if spelling not in _SPELLINGS:
        return text
    try:
        return json.dumps(json.loads(text), **_SPELLINGS[spelling])
    except (ValueError, RecursionError):
        return text


def _split_into_chunks(answer: bytes, arrivals: Any) -> tuple[Chunk, ...]:
    """An answer in the chunks in which it arrived; the last one takes what an edit has added."""
    if not answer:
        return ()
    chunks, at, last = list[Chunk](), 0, 0.0
    for seconds, length in _parse_arrivals(arrivals):
        data, last = answer[at : at + length], max(last, seconds)
        at += length
        if data:
            chunks.append((last, data))
    if at < len(answer) and chunks:
        chunks[-1] = (last, chunks[-1][1] + answer[at:])
    return tuple(chunks) or ((last, answer),)


def _parse_arrivals(arrivals: Any) -> Iterator[tuple[float, int]]:
    yield from ((float(seconds), length) for seconds, length in arrivals or ())


def parse_websockets(document: Any) -> Iterator[Interaction]:
    """The WebSockets of a cassette of our own; Malformed says which of them is none."""
    if not isinstance(document, dict) or "sockets" not in document:
        return
    validate_cassette(document)
    for one in document["sockets"]:
        found = parse_interaction({"request": {**one, "method": "GET"}, "response": {"status": 101}})
        frames = tuple(
            (float(each["at"]), each["from"], _restore_spelling(each["text"], each.get("spelling")))
            for each in one["frames"]
        )
        yield replace(found, cut=one.get("cut") is True, frames=frames, origin=one.get("origin", EMPTY_MAPPING))

"""Writes interactions as the text of a cassette, and parses it: readable YAML that plain vcrpy replays, with small diffs.

JSON is indented:

    version: 1
    harness: {format: 1, recorded: '2026-09-21', dialect: openai, sdk: OpenAI/Python, …}
    interactions:
    - origin: its source, in evidence only
      request: {method: POST, uri: …, headers: …, body: the JSON, indented}
      response: {status: {code: 200, message: OK}, headers: …, body: {string: the JSON, indented, or the stream}}
      wire: {request: compact, answer: compact, arrivals: [[seconds, bytes], …], cut: true}
    sockets:
    - {origin: …, uri: …, headers: …, frames: [{at: seconds, from: client, text: …}, …]}

`wire` holds what restores the exact bytes and times: the styles of the JSON (`JSON_STYLES`), the time and size of each
chunk, and whether the answer was cut. A body that cannot be restored from indented JSON stands as it was sent. The schema is
`schemas/cassette.json`. Files of other recorders are parsed by `har_and_vcr`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import cache
from itertools import chain, repeat
from typing import Any, NamedTuple

import orjson

from harness.api.http.bodies import undo_encodings
from harness.cassettes.format.har_and_vcr import parse_interaction, parse_interactions
from harness.cassettes.format.interaction import CASSETTE_FORMAT, CassetteHeader, Chunk, Interaction
from harness.cassettes.format.readable_yaml import BlockMapping, OneLineList, dump_yaml
from harness.cassettes.format.untrusted import NotARecording, UnreadableRecording, parse_yaml_documents
from harness.core.bounded_input import max_yaml_nodes
from harness.core.errors import Malformed
from harness.core.exchange import EMPTY_MAPPING, Json
from harness.core.json_values import as_object, omit

JSON_STYLES: dict[str, Mapping[str, Any]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "compact ascii": {"separators": (",", ":")},
    "spaced": {"ensure_ascii": False},
    "spaced ascii": {},
    "indented ascii": {"indent": 2},
}
"""How clients and servers format JSON: options of `json.dumps`, by their names in a cassette."""
_INDENTED: Mapping[str, Any] = {"indent": 2, "ensure_ascii": False}


def indent_json(text: str) -> tuple[str, str]:
    """Indent JSON and return it with its original style; any other text is returned unchanged, without a style."""
    if text[:1] not in ("{", "["):
        return text, ""
    try:
        value = json.loads(text)
        style = next((name for name, options in JSON_STYLES.items() if json.dumps(value, **options) == text), "")
        indented = json.dumps(value, **_INDENTED)
        indented.encode()  # raises for unpaired surrogates, which only an escape in JSON can express
        return (indented, style) if style else (text, "")
    except (ValueError, RecursionError):
        return text, ""


def restore_json(text: str, style: Any) -> str:
    """Format JSON in a style, even if it was edited since; other text, or text of unknown style, is unchanged."""
    if style not in JSON_STYLES:
        return text
    try:
        return json.dumps(json.loads(text), **JSON_STYLES[style])
    except (ValueError, RecursionError):
        return text


def validate_cassette(document: Any) -> None:
    """Raise Malformed, naming the first invalid place and what is expected there, without quoting any value."""
    schema, validator = _schema_and_validator()
    faults = list(validator.iter_errors(_replace_bytes(document)))
    for first in faults[:1]:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in first.instance_path)
        where = "".join(steps).lstrip(".") or "the file"
        odd = "".join(
            _describe_wrong_members(fault.kind) for fault in faults if fault.instance_path == first.instance_path
        )
        raise Malformed(f"{where}: {odd}expected {_describe_expected(schema, first.schema_path)}")


@cache
def _schema_and_validator() -> tuple[Json, Any]:
    """Load the schema and its validator; late, because many recordings come from other recorders."""
    from harness.contract.compile_schema import compile_schema
    from harness.contract.schema import schemas_directory

    schema: Json = orjson.loads((schemas_directory() / "cassette.json").read_bytes())
    return schema, compile_schema(schema)


def _describe_expected(schema: Any, path: Sequence[str | int]) -> str:
    description: str = schema["description"]
    for step in path:
        schema = schema[step]
        description = schema.get("description", description) if isinstance(schema, dict) else description
    return description


def _describe_wrong_members(kind: Any) -> str:
    """Name the members that are missing or unexpected."""
    if kind.name == "required":
        return f"without `{kind.property}`; "
    return f"with `{'`, `'.join(kind.unexpected)}`; " if kind.name == "additionalProperties" else ""


def _replace_bytes(value: Any) -> Any:
    """Replace bytes by empty strings, as JSON has none."""
    if isinstance(value, dict):
        return {name: _replace_bytes(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replace_bytes(inner) for inner in value]
    return "" if isinstance(value, bytes) else value


_OPEN_END = "...\n"
"""What YAML requires after a block with blank lines at its end."""
_ENCODING_HEADERS = ("content-encoding", "transfer-encoding", "content-length")


class CassetteContent(NamedTuple):
    """The content of a cassette; the header is None for other recorders."""

    header: CassetteHeader | None
    interactions: tuple[Interaction, ...]


def dump_cassette(header: CassetteHeader, interactions: Iterable[Interaction]) -> str:
    """Dump a cassette as text; the same interactions produce the same text."""
    return "".join(compose_cassette(header, map(dump_exchange, interactions)))


class DumpedExchange(NamedTuple):
    """The text of an exchange in a cassette, and whether it is one of the `sockets`."""

    text: str
    is_socket: bool


def dump_exchange(interaction: Interaction) -> DumpedExchange:
    """Dump an exchange as it stands in a cassette, whatever surrounds it."""
    is_socket = bool(interaction.frames)
    text = dump_yaml([_dump_websocket(interaction) if is_socket else _dump_interaction(interaction)])
    return DumpedExchange(text.removesuffix(_OPEN_END), is_socket)


def compose_cassette(header: CassetteHeader, exchanges: Iterable[DumpedExchange]) -> Iterator[str]:
    """Yield the text of a cassette in parts, its WebSockets last."""
    members = BlockMapping({name: value for name, value in asdict(header).items() if value != ""})
    last, sockets = "", []
    yield dump_yaml({"version": 1, "harness": members})
    for text, is_socket in exchanges:
        if is_socket:
            sockets.append(text)
        else:
            yield text if last else f"interactions:\n{text}"
            last = text
    if not last:
        yield "interactions: []\n"
    if sockets:
        yield from ("sockets:\n", *sockets)
    if (sockets or [last])[-1].endswith("\n\n"):
        yield _OPEN_END


def _dump_interaction(interaction: Interaction) -> Json:
    body, request_style = _dump_body(interaction.body)
    answer, answer_style = _dump_body(interaction.answer)
    chunks = interaction.chunks
    # An answer that arrived at once needs no list of arrivals.
    is_timeless = len(chunks) == 1 and not chunks[0][0]
    arrivals = [] if is_timeless else [OneLineList((round(seconds, 6), len(data))) for seconds, data in chunks]
    wire = {"request": request_style, "answer": answer_style, "arrivals": arrivals, "cut": interaction.cut}
    needed = {name: value for name, value in wire.items() if value}
    return {
        **_dump_origin(interaction),
        "request": {
            "method": interaction.method,
            "uri": interaction.uri,
            "headers": _dump_headers(interaction.headers),
            "body": body or None,
        },
        "response": {
            "status": {"code": interaction.status, "message": interaction.reason},
            "headers": _dump_headers(interaction.answer_headers),
            "body": {"string": answer},
        },
        **({"wire": needed} if needed else {}),
    }


def _dump_origin(interaction: Interaction) -> Json:
    return {"origin": BlockMapping(interaction.origin)} if interaction.origin else {}


def _dump_headers(headers: Mapping[str, str]) -> dict[str, OneLineList]:
    return {name: OneLineList([headers[name]]) for name in sorted(headers)}


def _dump_websocket(interaction: Interaction) -> Json:
    frames = [
        {"at": round(seconds, 6), "from": side, **_dump_frame_text(text)} for seconds, side, text in interaction.frames
    ]
    cut = {"cut": True} if interaction.cut else {}
    return {
        **_dump_origin(interaction),
        "uri": interaction.uri,
        "headers": _dump_headers(interaction.headers),
        "frames": frames,
        **cut,
    }


def _dump_frame_text(text: str) -> Json:
    indented, style = indent_json(text)
    return {"text": indented, **({"spelling": style} if style else {})}


def _dump_body(raw: bytes) -> tuple[str | bytes, str]:
    """Dump a body in its written form, with the style of its JSON; bytes that are not text stay bytes."""
    try:
        return indent_json(raw.decode())
    except UnicodeDecodeError:
        return raw, ""


def parse_cassette(text: str, name: str) -> CassetteContent:
    """Parse a cassette of this harness or another recorder; `name` is its name in errors.

    NotARecording for another file; UnreadableRecording for a newer format or an invalid part, which cassettes of this
    harness are checked for with `schemas/cassette.json`.
    """
    try:
        document = next(iter([*parse_yaml_documents(text, max_nodes=max_yaml_nodes())]), None)
        if (parsed := parse_interactions(document)) is None or not isinstance(document, dict | list):
            raise NotARecording(f"{name}: it has no recorded exchanges. Pass a cassette, or record it again.")
        header = _parse_header(document)
        entries = document["interactions"] if header and isinstance(document, dict) else ()
        wires = chain((entry.get("wire") for entry in entries), repeat(None))
        interactions = [
            _decode_bodies(_raise_if_malformed(interaction), wire)
            for interaction, wire in zip(parsed, wires, strict=False)
        ]
        return CassetteContent(header, (*interactions, *parse_websockets(document)))
    except Malformed as problem:
        raise UnreadableRecording(f"{name}: {problem}. Record it again, or fix that place.") from problem


def _raise_if_malformed(parsed: Interaction | Malformed) -> Interaction:
    if isinstance(parsed, Malformed):
        raise parsed
    return parsed


def refuse_newer_format(document: Any) -> None:
    """Malformed if a cassette has a newer format than this harness reads."""
    number = as_object(as_object(document).get("harness")).get("format")
    if isinstance(number, int) and number > CASSETTE_FORMAT:
        raise Malformed(
            f"its format is {number}, and this harness reads up to {CASSETTE_FORMAT}; a newer harness reads it"
        )


def _parse_header(document: Any) -> CassetteHeader | None:
    """Parse and validate the header of a cassette of this harness; None for other recorders."""
    if not isinstance(document, dict) or "harness" not in document:
        return None
    refuse_newer_format(document)
    validate_cassette(document)
    header = document["harness"]
    return CassetteHeader(
        **{member.name: header[member.name] for member in fields(CassetteHeader) if member.name in header}
    )


def _decode_bodies(parsed: Interaction, wire: Any) -> Interaction:
    """Decode the bodies of an interaction, with the styles and chunks that `wire` describes."""
    wire = as_object(wire)
    body = _decode_body(parsed.body, parsed.headers, wire.get("request"))
    answer = _decode_body(parsed.answer, parsed.answer_headers, wire.get("answer"))
    headers = omit(parsed.answer_headers, *_ENCODING_HEADERS)
    chunks = _split_into_chunks(answer, wire.get("arrivals") or ())
    return replace(parsed, body=body, answer_headers=headers, chunks=chunks)


def _decode_body(body: bytes, headers: Mapping[str, str], style: Any) -> bytes:
    """Decode a body's content encodings, after restoring the style of its JSON."""
    if style:
        body = restore_json(body.decode("utf-8", "replace"), style).encode("utf-8", "replace")
    plain = undo_encodings(body, headers)
    return body if plain is None else plain


def _split_into_chunks(answer: bytes, arrivals: Iterable[tuple[float, int]]) -> tuple[Chunk, ...]:
    """Split an answer into chunks of these seconds and sizes; bytes added by an edit go into the last one."""
    if not answer:
        return ()
    chunks, start, last = list[Chunk](), 0, 0.0
    for seconds, size in arrivals:
        data, last = answer[start : start + size], max(last, float(seconds))
        start += size
        if data:
            chunks.append((last, data))
    # A body that was edited by hand may be longer than the sizes say; no part of it is dropped.
    if chunks:
        chunks[-1] = (last, chunks[-1][1] + answer[start:])
    return tuple(chunks) or ((last, answer),)


def parse_websockets(document: Any) -> Iterator[Interaction]:
    """Parse the WebSockets of a cassette of this harness; Malformed names the first invalid place."""
    if not isinstance(document, dict) or "sockets" not in document:
        return
    validate_cassette(document)
    for entry in document["sockets"]:
        parsed = parse_interaction({"request": {**entry, "method": "GET"}, "response": {"status": 101}})
        frames = tuple(
            (float(frame["at"]), frame["from"], restore_json(frame["text"], frame.get("spelling")))
            for frame in entry["frames"]
        )
        origin = entry.get("origin", EMPTY_MAPPING)
        yield replace(parsed, cut=entry.get("cut") is True, frames=frames, origin=origin)

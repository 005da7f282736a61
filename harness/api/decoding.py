"""Bodies as they travelled: encodings undone, JSON parsed, server-sent events taken apart.

What a recording says of a body is bytes, a text, a JSON value that its recorder has parsed, or None.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import orjson

from harness.api.body import parse_body
from harness.core.exchange import Json

MAX_DECODED_SIZE = 1 << 28
"""Bytes beyond which a compressed body is not decoded."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK_HEADER = re.compile(rb"([0-9a-fA-F]{1,8})[^\r\n]{0,200}\r\n")
_EVENT_FIELD = re.compile(r"\s*(?:event|data|id|retry)?:")
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_HEX = re.compile(r"(?:[0-9a-f]{2})+")
_DONE = "[DONE]"
_NAMED_EVENT_PREFIXES = ("thread.", "error")
"""How the names of events begin that the Assistants API tells beside their data, not in it."""


class DecodedAnswer(NamedTuple):
    """What an answer's body was: a JSON value, or the data of its events in order, and what is odd about it.

    An event of the Assistants API is `{"event", "data"}`: its data does not say which it is.
    """

    body: Any = None
    events: list[Json] | None = None
    flags: frozenset[str] = frozenset()


NOT_JSON = b"\0"
"""Stands for the body of a request that its recorder has parsed into something JSON cannot say."""
UNREADABLE_ANSWER = DecodedAnswer(flags=frozenset({"unread-answer"}))


def decode_request(recorded: Any, headers: Mapping[str, str]) -> tuple[Any, bytes | None]:
    """The JSON of a request's body (None without one), else its bytes: those the API could not parse either."""
    raw = _body_bytes(recorded)
    if raw is None:
        value = _copy_json(recorded)
        return value, None if value is not None or recorded is None else NOT_JSON
    plain = undo_encodings(raw, headers)
    if plain is not None:
        raw = plain
    value, fault = parse_body(raw) if raw else (None, None)
    return (None, raw) if fault else (value, None)


def decode_answer(recorded: Any, headers: Mapping[str, str]) -> DecodedAnswer:
    """What an answer said; a body that is neither JSON nor a stream of events is flagged `unread-answer`."""
    if isinstance(recorded, list) and recorded and all(map(_is_event, recorded)):
        return decode_event_list(recorded)
    raw = _body_bytes(recorded)
    if raw is None:
        value = _copy_json(recorded)
        return DecodedAnswer(value) if value is not None or recorded is None else UNREADABLE_ANSWER
    plain = undo_encodings(raw, headers)
    if plain is None:
        return UNREADABLE_ANSWER
    return _decode_text(
        plain.decode("utf-8-sig", "replace").strip("\0"), "event-stream" in headers.get("content-type", "")
    )


def _decode_text(text: str, streamed: bool) -> DecodedAnswer:
    if not text.strip():
        return _decode_events([]) if streamed else DecodedAnswer()
    try:
        return DecodedAnswer(orjson.loads(text))
    except orjson.JSONDecodeError:
        return _decode_events(parse_sse(text)) if streamed or _EVENT_FIELD.match(text) else UNREADABLE_ANSWER


def parse_sse(text: str) -> list[tuple[str, str]]:
    """The events of a stream as pairs of name and data, by the rules of server-sent events.

    The last event counts even when the empty line after it is missing: recorders strip it.
    """
    found, name, data = [], "", list[str]()
    for line in [*_LINE_BREAK.split(text.removeprefix("\ufeff")), ""]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif not line:
            if data:
                found.append((name, "\n".join(data)))
            name, data = "", []
    return found


def decode_event_list(events: Sequence[Json]) -> DecodedAnswer:
    """A stream that is kept as a list of its events: their data, or `{"event", "data"}` of each."""
    pairs = [(one["event"] or "", one["data"]) if _has_data_member(one) else ("", one) for one in events]
    return _decode_events(pairs)


def _decode_events(pairs: Sequence[tuple[str, Any]]) -> DecodedAnswer:
    events: list[Json] = []
    flags = set[str]() if pairs else {"cut"}
    for index, (name, text) in enumerate(pairs):
        data = _parse_event_data(text)
        if isinstance(data, dict):
            beside = name.startswith(_NAMED_EVENT_PREFIXES) and name != data.get("type")
            events.append({"event": name, "data": data} if beside else data)
            flags |= {"event-names"} if name and name != data.get("type") and not beside else set()
        elif data == _DONE:
            flags.add("done-marker")
        else:
            flags.add("cut" if data is None and index == len(pairs) - 1 else "unread-answer")
    return DecodedAnswer(None, events, frozenset(flags))


def _parse_event_data(data: Any) -> Any:
    """The JSON of an event's data, None when it is none."""
    if not isinstance(data, str):
        return data
    if data.strip() == _DONE:
        return _DONE
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and (_has_data_member(value) or isinstance(value.get("type"), str))


def _has_data_member(event: Json) -> bool:
    return "data" in event and isinstance(event.get("event", 0), str | None)


def _body_bytes(recorded: Any) -> bytes | None:
    """The bytes of a body; None when there is none, or when it is a JSON value already."""
    if isinstance(recorded, str):
        return recorded.encode("utf-8", "replace")
    if isinstance(recorded, list) and recorded and all(isinstance(piece, str | bytes) for piece in recorded):
        return b"".join(_decode_pieces(recorded))
    return recorded if isinstance(recorded, bytes) else None


def _decode_pieces(recorded: Iterable[str | bytes]) -> list[bytes]:
    """The bytes of a body kept in pieces: lines, or what came over the network in hexadecimal or base64."""
    pieces = [piece.encode("utf-8", "replace") if isinstance(piece, str) else piece for piece in recorded]
    joined = b"".join(pieces)
    if _HEX.fullmatch(joined.decode("latin-1")):
        return [bytes.fromhex(joined.decode())]
    if joined.startswith(b"H4sI"):
        return [decode_base64(piece) for piece in pieces]
    return pieces


def decode_base64(text: str | bytes) -> bytes:
    """The bytes behind a base64 text; a text that is none stands for itself."""
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def _copy_json(value: Any) -> Any:
    """A JSON value of its own: YAML's shared parts are copied; None when it holds what JSON cannot say."""
    try:
        return orjson.loads(orjson.dumps(value))
    except TypeError:
        return None


def undo_encodings(raw: bytes, headers: Mapping[str, str]) -> bytes | None:
    """A body without its content and transfer encodings; None when one of them cannot be undone.

    The content decides, the headers only hint: recorders decode a body and keep the header, or drop the header only.
    """
    if "chunked" in headers.get("transfer-encoding", ""):
        raw = _join_chunks(raw)
    try:
        if raw.startswith(_GZIP):
            return _inflate(raw, 31)
        if raw.startswith(_ZSTD):
            return _decode_with_library("zstandard", raw)
        coding = headers.get("content-encoding", "")
        if "deflate" in coding:
            return _decode_deflate(raw)
        return _decode_with_library("brotli", raw) if "br" in coding and not _is_text(raw) else raw
    except Exception:  # each library has an error of its own for bytes that are damaged
        return None


def _inflate(raw: bytes, bits: int) -> bytes | None:
    """What zlib makes of it, members one after the other; what a damaged end leaves readable is kept."""
    body = b""
    while raw:
        inflate = zlib.decompressobj(bits)
        body += inflate.decompress(raw, MAX_DECODED_SIZE - len(body))
        if inflate.unconsumed_tail or not (body or inflate.eof):
            return None
        raw = inflate.unused_data if inflate.unused_data.startswith(_GZIP) else b""
    return body


def _decode_deflate(raw: bytes) -> bytes | None:
    for bits in (15, -15):
        try:
            return _inflate(raw, bits)
        except zlib.error:
            continue
    return raw


def _decode_with_library(library: str, raw: bytes) -> bytes | None:
    """What an optional library makes of it, when it is installed."""
    if find_spec(library) is None:
        return None
    module: Any = import_module(library)
    if library == "brotli":
        return bytes(module.decompress(raw))
    return bytes(module.ZstdDecompressor().decompressobj().decompress(raw))


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _join_chunks(raw: bytes) -> bytes:
    """A body in chunks as one; a body that is in none stays as it is."""
    parts: list[bytes] = []
    at = 0
    while size := _CHUNK_HEADER.match(raw, at):
        start, length = size.end(), int(size[1], 16)
        if length == 0:
            return b"".join(parts)
        parts.append(raw[start : start + length])
        at = start + length + 2
    return raw

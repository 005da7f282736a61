"""Parses bodies, query strings and server-sent events, also of recordings with content and transfer encodings.

Duplicate names, invalid UTF-8 and invalid JSON (including NaN) are errors of the body as a whole, in the API's words.
"""

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from harness.core.exchange import Finding, Json, JsonFault
from harness.core.text import shorten

MAX_BODY_DEPTH = 200
"""The maximum nesting of a parsed body; the API's own limit is unknown."""

_INTEGER = re.compile(r"-?[0-9]{1,300}")
_BOOLEANS = {"true": True, "false": False}


def parse_body(raw: bytes) -> tuple[Any, JsonFault | None]:
    """Parse the JSON value of a body, or return its fault; an empty body and `null` count as `{}`."""
    if not raw:
        return {}, None
    try:
        value = load_json(raw)
    except ValueError:
        return None, JsonFault("syntax" if _is_utf8(raw) else "unicode")
    if twice := find_duplicate_name(raw, value):
        return None, twice
    return ({} if value is None else value), None


def load_json(text: bytes | str) -> Any:
    """Parse JSON; ValueError if it is invalid, or nests deeper than what validates and renders values can follow."""
    value = orjson.loads(text)
    # Counting brackets first saves the walk: a text with few of them cannot be deep.
    marks = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if marks > MAX_BODY_DEPTH and _measure_depth(value) > MAX_BODY_DEPTH:
        raise ValueError(f"it nests more than {MAX_BODY_DEPTH} levels deep")
    return value


def copy_body(body: Any) -> Any:
    """Return a deep copy of a parsed body."""
    try:
        return orjson.loads(orjson.dumps(body))
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return deepcopy(body)


def _measure_depth(value: Any) -> int:
    level, deepest = [value] if isinstance(value, dict | list) else [], 0
    while any(level):
        deepest += 1
        level = [
            inner
            for holder in level
            for inner in (holder.values() if type(holder) is dict else holder)
            if type(inner) is dict or type(inner) is list
        ]
    return deepest


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def count_members(value: Any) -> int:
    """Count the object members of a parsed value at all depths; iterative, so that no depth overflows the stack."""
    count, values = 0, [value]
    for inner in values:
        if type(inner) is dict:
            count += len(inner)
            values += inner.values()
        elif type(inner) is list:
            values += inner
    return count


def find_duplicate_name(raw: bytes, value: Any) -> JsonFault | None:
    """Return the first duplicate name in a body, by a second, slower parse if counting cannot rule one out."""
    names = raw.count(b'":')
    members = len(value) if type(value) is dict and raw.count(b"{") == 1 else count_members(value)
    if names == raw.count(b":") == members and b"\\" not in raw:
        return None  # most bodies: each colon follows a name, and no name ends in a backslash
    if names - raw.count(b'\\":') == members and not _needs_full_search(raw):
        return None
    return _find_duplicate(json.loads(raw, object_pairs_hook=tuple, parse_int=len), ())


def _needs_full_search(raw: bytes) -> bool:
    """Return whether `":` may not count the names exactly: a backslash ends one, or a space precedes a colon."""
    return b'\\\\":' in raw or b" :" in raw or b"\n:" in raw or b"\t:" in raw or b"\r:" in raw


def _find_duplicate(value: Any, path: tuple[str, ...]) -> JsonFault | None:
    """Return the first duplicate name; objects are tuples of pairs, as a dict would merge names; paths omit indices."""
    if isinstance(value, list):
        return next((found for element in value if (found := _find_duplicate(element, path))), None)
    if not isinstance(value, tuple):
        return None
    seen: set[str] = set()
    for name, inner in value:
        if name in seen:
            return JsonFault("duplicate", name, ".".join((*path, name)))
        seen.add(name)
        if found := _find_duplicate(inner, (*path, name)):
            return found
    return None


def parse_query(query: bytes) -> dict[str, str | list[str]]:
    """Parse a query string: the last value of a repeated name, or a list of all values if the name ends in `[]`."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    lists: dict[str, list[str]] = {name[:-2]: [] for name, _ in pairs if name.endswith("[]")}
    for name, value in pairs:
        lists.get(name.removesuffix("[]"), []).append(value)
    return {**dict(pair for pair in pairs if not pair[0].endswith("[]")), **lists}


def coerce_query(query: Mapping[str, Any], schema: Json) -> Json:
    """Type a query by a schema: strings become integers, booleans and arrays where `schema` says so and they fit."""
    members = schema.get("properties", {})
    return {name: _coerce_value(text, members.get(name, {}).get("type")) for name, text in query.items()}


def _coerce_value(text: Any, type: str | None) -> Any:
    if type == "array":
        return text if isinstance(text, list) else [text]
    if not isinstance(text, str):
        return text
    if type == "boolean":
        return _BOOLEANS.get(text, text)
    return int(text) if type == "integer" and _INTEGER.fullmatch(text) else text


MAX_DECODED_SIZE = 1 << 28
"""The maximum size in bytes of a decompressed body."""
MAX_JUDGED_SIZE = 1 << 26
"""The maximum size in bytes of a decompressed body that is judged."""
MAX_EXPANSION = 200
"""The maximum expansion ratio of a judged body larger than a MiB."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MAX_MEMBERS = 1000
"""The maximum number of gzip members read from a compressed body."""
_BROTLI_INPUT = 64
_CHUNK_HEADER = re.compile(rb"([0-9a-fA-F]{1,8})[^\r\n]{0,200}\r\n")
_EVENT_FIELD = re.compile(r"\s*(?:event|data|id|retry)?:")
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_DONE = "[DONE]"
_NAMED_EVENT_PREFIXES = ("thread.", "error")
"""Prefixes of the event names that the Assistants API sends in the `event` field instead of the data."""
NO_EVENT_LINE = "there is no 'event:' line before its data"
"""The finding for an event without a name, as every event in a recorded stream of a response has its type there."""
_SHOWN = 80
"""The maximum length of a name in findings."""


class DecodedAnswer(NamedTuple):
    """The decoded body of an answer: a JSON value, or the data of its events in order, with flags for anomalies.

    An event of the Assistants API is `{"event", "data"}`, as its data does not contain its type. For other events
    `misframed` says what is wrong with the `event` and `data` lines around them, each problem once.
    """

    body: Any = None
    events: list[Json] | None = None
    flags: frozenset[str] = frozenset()
    misframed: tuple[Finding, ...] = ()


UNREADABLE_ANSWER = DecodedAnswer(flags=frozenset({"unread-answer"}))
_BROKEN_OFF = frozenset({"cut", "broken-off"})
"""Flags of a stream whose last event is incomplete, or that has no event."""
UNDECODED_ANSWER = DecodedAnswer(flags=frozenset({"unread-answer", "encoded-answer"}))


def decode_request(raw: bytes, headers: Mapping[str, str]) -> tuple[Any, bytes | None]:
    """Decode the JSON of a request's body, None if empty.

    Also returns its decoded bytes if the API could not parse them.
    """
    plain = undo_encodings(raw, headers, _judged_size(raw))
    body = raw if plain is None else plain
    value, fault = parse_body(body) if body else (None, None)
    return (None, body) if fault else (value, None)


def decode_answer(raw: bytes | None, headers: Mapping[str, str]) -> DecodedAnswer:
    """Decode the content of an answer; a body that is neither JSON nor a stream of events is flagged `unread-answer`.

    `encoded-answer` means that its encoding could not be undone.
    """
    if raw is None:
        return DecodedAnswer()
    plain = undo_encodings(raw, headers, _judged_size(raw))
    if plain is None:
        return UNDECODED_ANSWER
    text = plain.decode("utf-8-sig", "replace").strip("\0")
    return _decode_text(text, "event-stream" in headers.get("content-type", ""))


def _judged_size(raw: bytes) -> int:
    return max(len(raw), min(MAX_JUDGED_SIZE, max(1 << 20, MAX_EXPANSION * len(raw))))


def _decode_text(text: str, streamed: bool) -> DecodedAnswer:
    if not text.strip():
        return _decode_events([]) if streamed else DecodedAnswer()
    try:
        return DecodedAnswer(load_json(text))
    except ValueError:
        return _decode_events(parse_sse(text)) if streamed or _EVENT_FIELD.match(text) else UNREADABLE_ANSWER


def parse_sse(text: str) -> list[tuple[str, str]]:
    """Parse the events of a stream as pairs of name and data, by the rules of server-sent events.

    The last event counts even without the empty line after it, which recorders strip.
    """
    found, name, data = [], "", list[str]()
    # The standard allows one byte order mark before a stream.
    text = text.removeprefix("\ufeff")
    for line in [*(_LINE_BREAK.split(text) if "\r" in text else text.split("\n")), ""]:
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


def _decode_events(pairs: Sequence[tuple[str, str]]) -> DecodedAnswer:
    events: list[Json] = []
    misframed: dict[str, Finding] = {}
    flags = set[str]() if pairs else {*_BROKEN_OFF}
    for index, (name, text) in enumerate(pairs):
        data, wrong = _parse_event_data(text), ""
        if isinstance(data, dict):
            beside = name.startswith(_NAMED_EVENT_PREFIXES) and not _is_named_within(name, data.get("type"))
            events.append({"event": name, "data": data} if beside else data)
            wrong = "" if beside else _explain_name(name, data.get("type"))
        elif data == _DONE:
            flags.add("done-marker")
        # Only the last event can be incomplete, in a stream that was broken off.
        elif data is None and index == len(pairs) - 1:
            flags |= _BROKEN_OFF
        else:
            flags.add("unread-answer")
            wrong = "its data is not a JSON object"
        if wrong:
            misframed.setdefault(wrong, Finding(f"events[{index}]", wrong))
    return DecodedAnswer(None, events, frozenset(flags), tuple(misframed.values()))


def _is_named_within(name: str, type: Any) -> bool:
    """Return whether an event's data names the type of its `event` line, or the type of an event of a response."""
    return name == type or (isinstance(type, str) and type.startswith("response."))


def _explain_name(name: str, type: Any) -> str:
    """Explain what is wrong with the `event` line before data of this type; `EventSource` clients rely on its name."""
    if not isinstance(type, str) or name == type:
        return ""
    shown = shorten(name, _SHOWN), shorten(type, _SHOWN)
    return "its line is 'event: {}', its data has the type '{}'".format(*shown) if name else NO_EVENT_LINE


def _parse_event_data(data: str) -> Any:
    """Parse the JSON of an event's data, or `[DONE]`; None for anything else."""
    if data.strip() == _DONE:
        return _DONE
    try:
        return load_json(data)
    except ValueError:
        return None


def decode_base64(text: str | bytes) -> bytes:
    """Decode base64; invalid input is returned as its own bytes."""
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def undo_encodings(raw: bytes, headers: Mapping[str, str], limit: int | None = None) -> bytes | None:
    """Undo a body's content and transfer encodings; None if one cannot be undone or yields more than `limit` bytes.

    The content decides and the headers only hint: some recorders decode the body but keep the header, others drop only
    the header.
    """
    if "chunked" in headers.get("transfer-encoding", ""):
        raw = _join_chunks(raw)
    most = MAX_DECODED_SIZE if limit is None else limit
    try:
        if raw.startswith(_GZIP):
            return _inflate(raw, 31, most)
        if raw.startswith(_ZSTD):
            return _decode_with_library("zstandard", raw, most)
        coding = headers.get("content-encoding", "")
        if "deflate" in coding:
            return _decode_deflate(raw, most)
        return _decode_with_library("brotli", raw, most) if "br" in coding and not _is_utf8(raw) else raw
    except Exception:  # each library has its own errors for damaged data
        return None


def _inflate(raw: bytes, bits: int, limit: int) -> bytes | None:
    """Inflate all members of a body with zlib; for damaged data, returns the readable beginning."""
    body = bytearray()
    for _ in range(MAX_MEMBERS):
        inflate = zlib.decompressobj(bits)
        body += inflate.decompress(raw, max(1, limit - len(body)))
        # More than the limit, or nothing readable at all.
        if inflate.unconsumed_tail or not (body or inflate.eof):
            return None
        # A body may be several consecutive gzip members; other bytes after one are padding.
        raw = inflate.unused_data if inflate.unused_data.startswith(_GZIP) else b""
        if not raw:
            return bytes(body)
    return None


def _decode_deflate(raw: bytes, limit: int) -> bytes | None:
    for bits in (15, -15):
        try:
            return _inflate(raw, bits, limit)
        except zlib.error:
            continue
    return raw


def _decode_with_library(library: str, raw: bytes, limit: int) -> bytes | None:
    """Decode a body with an optional library; None if it is not installed."""
    if find_spec(library) is None:
        return None
    module: Any = import_module(library)
    pieces = _brotli_pieces(module, raw) if library == "brotli" else _zstd_pieces(module, raw)
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)


def _brotli_pieces(module: Any, raw: bytes) -> Iterator[bytes]:
    """Yield decompressed data, feeding little input at a time: a few bytes can expand to many MiB."""
    decompressor = module.Decompressor()
    for start in range(0, len(raw), _BROTLI_INPUT):
        yield decompressor.process(raw[start : start + _BROTLI_INPUT])
    if not decompressor.is_finished():
        raise ValueError("the data breaks off")


def _zstd_pieces(module: Any, raw: bytes) -> Iterator[bytes]:
    reader = module.ZstdDecompressor().stream_reader(raw, read_across_frames=False)
    return iter(lambda: reader.read(1 << 16), b"")


def _join_chunks(raw: bytes) -> bytes:
    """Join a body with chunked transfer coding; any other body is returned unchanged."""
    parts: list[bytes] = []
    at = 0
    while size := _CHUNK_HEADER.match(raw, at):
        start, length = size.end(), int(size[1], 16)
        if length == 0:
            return b"".join(parts)
        parts.append(raw[start : start + length])
        at = start + length + 2
    return raw

"""Parses the messages of other recorders: members (names ignore case, `_` and `-`), headers, and wrapped bodies."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import orjson

from harness.api.http.bodies import decode_base64
from harness.cassettes.format.untrusted import parse_json
from harness.core.errors import Malformed
from harness.core.exchange import Json
from harness.core.headers import join_headers
from harness.core.json_values import as_object


def normalize_names(value: Any) -> Any:
    """Convert an object's names to lower case without `_` and `-`; return any other value unchanged."""
    if not isinstance(value, dict):
        return value
    return {_normalize_name(name): member for name, member in value.items()}


@lru_cache(maxsize=1024)  # each exchange of a recording has the same names
def _normalize_name(name: Any) -> str:
    return str(name).lower().replace("_", "").replace("-", "")


def first_present(members: Json, *names: str) -> Any:
    """Return the first of these members that is not null."""
    for name in names:
        if (value := members.get(name)) is not None:
            return value
    return None


def name_value_pairs(value: Any) -> Iterable[tuple[str, Any]]:
    """List the pairs of an object, of a list of `{name, value}` or of pairs, or of a flat list of names and values."""
    if isinstance(value, dict):
        return [(str(name), member) for name, member in value.items()]
    if not isinstance(value, list):
        return []
    # Ruby's recorders write a flat list: name, value, name, value.
    if all(isinstance(element, str) for element in value):
        return list(zip(value[::2], value[1::2], strict=False))
    pairs = [_name_value_pair(pair) for pair in value if isinstance(pair, dict)]
    return pairs + [(str(pair[0]), pair[1]) for pair in value if isinstance(pair, list) and len(pair) == 2]


def _name_value_pair(pair: Json) -> tuple[str, Any]:
    if isinstance(name := pair.get("name"), str) and "value" in pair:  # HAR's, of which a file has a million
        return name, pair["value"]
    named = normalize_names(pair)
    return str(first_present(named, "name", "key")), named.get("value")


def member_text(value: Any) -> str:
    """Convert a header or parameter to a string: several values joined by commas, a matcher's expected value."""
    if isinstance(value, list):
        return ", ".join(map(member_text, value))
    if isinstance(value, dict):
        return member_text(first_present(normalize_names(value), "equalto", "value", "string"))
    return value.decode("latin-1") if isinstance(value, bytes) else "" if value is None else str(value)


def headers_of(value: Any) -> dict[str, str]:
    """Return headers in any form by their lower-case names."""
    return join_headers([(name.lower(), member_text(values)) for name, values in name_value_pairs(value)])


INVALID_BODY = b"\1"
"""Stands for a parsed body that JSON cannot represent: neither JSON nor a stream of events."""

_VCR_MEMBERS = frozenset({"string", "base64string", "parsedbody", "rawgzip"})
_BASE64_MEMBERS = ("base64body", "bodyblob", "base64string")
_JSON_MEMBERS = ("parsedbody", "jsonbody", "bodyjson", "json")
_HAR_MEMBERS = ("content", "postdata")
_HAR_SIZES = frozenset({"size", "compression", "comment"})
"""The members that HAR's `content` still has when the body was not kept."""
_PROXY_BYTES = "b64:"
_PROXY_TEXT = re.compile(r"text/|json|xml|charset=|form")
"""Found in the content types whose bodies Azure's test proxy writes as text."""
_HEX = re.compile(r"(?:[0-9a-f]{2})+")


def unwrap_body(message: Json, own_member: str) -> Any:
    """Unwrap the body of a request or an answer in its recorder's form: bytes, a string, a JSON value, or None."""
    for name in _JSON_MEMBERS:
        if message.get(name) is not None:
            return message[name]
    for name in _BASE64_MEMBERS:
        if isinstance(message.get(name), str):
            return decode_base64(message[name])
    for name in _HAR_MEMBERS:
        if isinstance(content := message.get(name), dict) and ("mimeType" in content or content.keys() <= _HAR_SIZES):
            return _har_body(normalize_names(content))
    body = first_present(message, own_member, "body", "content", "bodypatterns")
    # A stub of WireMock has patterns for the body; one that is a whole body is the body.
    if isinstance(body, list) and body is message.get("bodypatterns"):
        first = normalize_names(body[0]) if body else None
        return first_present(first, "equaltojson", "equalto") if isinstance(first, dict) else None
    return _unwrap_vcr_body(body)


def decode_proxy_body(body: Any, headers: Mapping[str, str]) -> Any:
    """Decode a body of Azure's test proxy: in base64 if it is not text, in the lines of a form with a prefix."""
    kind = headers.get("content-type", "").lower()
    if isinstance(body, list) and kind.startswith("multipart/"):
        return [decode_base64(line[len(_PROXY_BYTES) :]) if _is_proxy_bytes(line) else line for line in body]
    return decode_base64(body) if isinstance(body, str) and kind and not _PROXY_TEXT.search(kind) else body


def _is_proxy_bytes(line: Any) -> bool:
    return isinstance(line, str) and line.startswith(_PROXY_BYTES)


def _har_body(content: Json) -> Any:
    """Parse the body in HAR's `content` or `postData`: a string, bytes in base64, or the fields of a form."""
    text = content.get("text")
    if text is None and content.get("params"):
        return urlencode([(name, member_text(value)) for name, value in name_value_pairs(content["params"])])
    if not isinstance(text, str) or content.get("encoding") != "base64":
        return text
    return b"".join(map(decode_base64, _polly_pieces(text)))


def _polly_pieces(text: str) -> list[str]:
    """Return the pieces of a compressed body, which Polly.JS writes as a list in the text."""
    try:
        pieces = parse_json(text.encode()) if text.startswith("[") else [text]
    except Malformed:
        pieces = [text]
    return [piece for piece in pieces if isinstance(piece, str)]


def _unwrap_vcr_body(body: Any) -> Any:
    """Unwrap `{"string": …}`, `{"base64_string": …}`, `{"raw_gzip": …}` and the like; no other body changes."""
    members = normalize_names(body) if isinstance(body, dict) else {}
    # A body of the API may itself have a member `string`; a wrapper has no other members.
    if not members.keys() & _VCR_MEMBERS or members.keys() - _VCR_MEMBERS - {"encoding"}:
        return body
    if members.get("parsedbody") is not None:
        return members["parsedbody"]
    for name in ("base64string", "rawgzip"):
        if isinstance(members.get(name), str):
            return decode_base64(members[name])
    return members.get("string")


def encode_body(body: Any, headers: Mapping[str, str]) -> bytes:
    """Encode a body as bytes: bytes, a string, a list of either or of events, or another JSON value."""
    if body is None or isinstance(body, bytes):
        return body or b""
    if isinstance(body, str):
        return body.encode("utf-8", "replace")
    if isinstance(body, list) and body:
        if all(isinstance(piece, str | bytes) for piece in body):
            return b"".join(_decode_pieces(body))
        # A list of objects with a `type` may also be the body of an endpoint that answers a list.
        if all(map(_is_event, body)) or ("json" not in headers.get("content-type", "") and any(map(_is_event, body))):
            return b"".join(map(_encode_event, body))
    return _encode_json(body)


def _encode_json(value: Any) -> bytes:
    """Encode JSON, with unpaired surrogates as escapes; INVALID_BODY for a value that JSON cannot represent."""
    with suppress(TypeError):
        return orjson.dumps(value)
    with suppress(TypeError, ValueError, RecursionError):
        return json.dumps(value).encode()
    return INVALID_BODY


def _decode_pieces(pieces: Sequence[str | bytes]) -> list[bytes]:
    """Decode a body in pieces: lines, or network packets in hexadecimal or base64."""
    data = [piece.encode("utf-8", "replace") if isinstance(piece, str) else piece for piece in pieces]
    joined = b"".join(data)
    if _HEX.fullmatch(joined.decode("latin-1")):
        return [bytes.fromhex(joined.decode())]
    return [decode_base64(piece) for piece in data] if joined.startswith(b"H4sI") else data


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and (_has_data(value) or isinstance(value.get("type"), str))


def _has_data(event: Json) -> bool:
    return "data" in event and isinstance(event.get("event", 0), str | None)


def _encode_event(event: Any) -> bytes:
    """Encode one event of a stream that was written as a list: its data, or `{"event", "data"}`."""
    name, data = as_object(event).get("type"), event
    if isinstance(event, dict) and _has_data(event):
        name, data = event["event"], event["data"]
    lines = data.encode("utf-8", "replace").replace(b"\n", b"\ndata: ") if isinstance(data, str) else _encode_json(data)
    return (
        b"event: %s\n" % name.encode("utf-8", "replace") if isinstance(name, str) else b""
    ) + b"data: %s\n\n" % lines

"""HTTP headers: as strings by lower-case name, repeated ones joined by a comma; as bytes for ASGI and sockets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

HeaderPairs = Sequence[tuple[str, str]]
"""Headers in the order sent, with lower-case names; a name may occur several times."""
ENCODING = "latin-1"
REQUEST_ID_HEADERS = ("x-request-id", "apim-request-id")
"""The headers that carry the request's id in an answer, one per provider."""
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))


def header_pairs(headers: Iterable[tuple[str | bytes, Any]]) -> HeaderPairs:
    """Decode headers, with lower-case names; a list of values becomes one comma-separated header."""
    return [(_to_text(name).lower(), _to_text(value)) for name, value in headers]


def normalize_headers(headers: Mapping[Any, Any] | Iterable[tuple[str | bytes, Any]]) -> dict[str, str]:
    """Map lower-case header names to values; repeated headers are joined by a comma."""
    return join_headers(header_pairs(headers.items() if isinstance(headers, Mapping) else headers))


def join_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map header names to values; repeated headers are joined by a comma."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def encode_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Encode headers for ASGI."""
    return [(name.encode(ENCODING), value.encode(ENCODING)) for name, value in headers]


def quote_header(text: str) -> str:
    """Percent-encode line breaks and non-ASCII characters of a client's string for use in a header."""
    return quote(text, safe=_PRINTABLE)


def _to_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_to_text, value))
    return value.decode(ENCODING) if isinstance(value, bytes) else str(value)

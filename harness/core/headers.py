"""HTTP headers: as texts by name in lower case, several of one name joined by a comma; as bytes for ASGI and sockets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

HeaderPairs = Sequence[tuple[str, str]]
"""Headers in the order in which they were sent, their names in lower case; a name may occur several times."""
ENCODING = "latin-1"
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))


def header_pairs(headers: Iterable[tuple[str | bytes, Any]]) -> HeaderPairs:
    """Headers as texts, their names in lower case; a value that is a list is one header of several values."""
    return [(_to_text(name).lower(), _to_text(value)) for name, value in headers]


def normalize_headers(headers: Mapping[Any, Any] | Iterable[tuple[str | bytes, Any]]) -> dict[str, str]:
    """Headers by their names in lower case; several of one name are joined by a comma."""
    return join_headers(header_pairs(headers.items() if isinstance(headers, Mapping) else headers))


def join_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name; several of one name are joined by a comma."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def encode_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI has them."""
    return [(name.encode(ENCODING), value.encode(ENCODING)) for name, value in headers]


def quote_header(text: str) -> str:
    """Encode a text of a client as the value of a header: line breaks and what is not ASCII are percent-encoded."""
    return quote(text, safe=_PRINTABLE)


def _to_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_to_text, value))
    return value.decode(ENCODING) if isinstance(value, bytes) else str(value)

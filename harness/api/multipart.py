"""Multipart forms as JSON: a field is a string; a file has its name, type and data (Latin-1, one character per byte).

So an upload is plain data like any other body: it can be validated, shown and written to the journal.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.core.exchange import Json

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

CONTENT_TYPE = "multipart/form-data"
ENCODING = "latin-1"
logging.getLogger("python_multipart").addHandler(logging.NullHandler())  # the answer reports an invalid body
_BOUNDARY = re.compile(rb"\s*--([^\r\n]{1,200})\r?\n")
_OBJECTS = ("expires_after",)
"""The fields that are objects of texts; brackets in any other name belong to it."""
_NESTED_NAME = re.compile(rf"({'|'.join(_OBJECTS)})\[(\w+)\]")


@dataclass(slots=True)
class _Part:
    headers: dict[str, bytes] = field(default_factory=dict)
    pieces: list[memoryview] = field(default_factory=list)

    def decode(self, encoding: str, errors: str = "strict") -> str:
        """The content as text; of one piece, as a rule, it is the only copy."""
        content = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        return str(content, encoding, errors)


def parse_form(raw: bytes, content_type: str) -> Json:
    """The fields of a multipart body, `{}` if it is invalid. `expires_after[b]` is a member of the object `expires_after`.

    The boundary is that of the header, or else the one with which the body begins. A truncated body has its first parts.
    """
    from python_multipart.exceptions import FormParserError
    from python_multipart.multipart import MultipartParser, parse_options_header

    _, options = parse_options_header(content_type)
    found = _BOUNDARY.match(raw)
    boundary = options.get(b"boundary") or (found[1] if found else b"")
    parts: list[_Part] = []
    try:
        MultipartParser(boundary, _collect_into(parts)).write(raw)
    except FormParserError:
        return {}
    return _fields_of(parts)


def _collect_into(parts: list[_Part]) -> MultipartCallbacks:
    """Callbacks that collect the parts; a header's name and value may arrive in pieces."""
    name, value = bytearray(), bytearray()

    def header() -> None:
        parts[-1].headers[name.decode(ENCODING).lower()] = bytes(value)
        name.clear()
        value.clear()

    return {
        "on_part_begin": lambda: parts.append(_Part()),
        "on_header_field": lambda data, start, end: name.extend(data[start:end]),
        "on_header_value": lambda data, start, end: value.extend(data[start:end]),
        "on_header_end": header,
        "on_part_data": lambda data, start, end: parts[-1].pieces.append(memoryview(data)[start:end]),
    }


def _fields_of(parts: list[_Part]) -> Json:
    from python_multipart.multipart import parse_options_header

    fields: Json = {}
    for part in parts:
        _, options = parse_options_header(part.headers.get("content-disposition", b""))
        name = options.get(b"name", b"").decode("utf-8", "replace")
        nested = None if b"filename" in options else _NESTED_NAME.fullmatch(name)
        holder = fields.setdefault(nested[1], {}) if nested else fields
        if name and isinstance(holder, dict):
            holder[nested[2] if nested else name] = _field_value(part, options)
    return fields


def _field_value(part: _Part, options: dict[bytes, bytes]) -> str | Json:
    if b"filename" not in options:
        return part.decode("utf-8", "replace")
    return {
        "filename": options[b"filename"].decode("utf-8", "replace"),
        "content_type": part.headers.get("content-type", b"application/octet-stream").decode(ENCODING),
        "data": part.decode(ENCODING),
    }

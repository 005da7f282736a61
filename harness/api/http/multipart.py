"""Multipart forms as JSON: a field is a string; a file has its name, type and data (Latin-1, one character per byte).

Uploads are thus plain data like any other body: they can be validated, shown and written to the journal.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from harness.core.exchange import BYTES_AS_TEXT, FileContent, Form, InMemory, Json, OnDisk, Request

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

CONTENT_TYPE = "multipart/form-data"
logging.getLogger("python_multipart").addHandler(logging.NullHandler())  # the answer reports invalid bodies
_BOUNDARY = re.compile(rb"\s*--([^\r\n]{1,200})\r?\n")
_OBJECTS = ("expires_after",)
"""The fields that are objects of strings; in all other names brackets have no meaning."""
_LISTS = ("files",)
"""The fields that are lists of files, for which a form may have several parts."""
_NESTED_NAME = re.compile(rf"({'|'.join(_OBJECTS)})\[(\w+)\]")


MAX_PARTS = 1000
"""The maximum number of parts in a form; one with more is invalid."""
MAX_HEADER = 1 << 16
"""The maximum size of a part's header in bytes."""


class PartContent(Protocol):
    """Collects the content of a part as it arrives."""

    def write(self, data: memoryview) -> None:
        """Append bytes."""

    def decode(self, encoding: str, errors: str = "strict") -> str:
        """Decode the content as text; for one on disk, return its size as text."""

    @property
    def on_disk(self) -> OnDisk | None:
        """The content, if it is not in memory."""


class _MemoryContent:
    """Content in memory; usually a single piece, of which the decoded text is the only copy."""

    on_disk = None

    def __init__(self) -> None:
        self._pieces: list[memoryview] = []

    def write(self, data: memoryview) -> None:
        self._pieces.append(data)

    def decode(self, encoding: str, errors: str = "strict") -> str:
        return str(self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces), encoding, errors)


@dataclass(slots=True)
class _Part:
    content: PartContent
    headers: dict[str, bytes] = field(default_factory=dict)

    def decode(self, encoding: str, errors: str = "strict") -> str:
        return self.content.decode(encoding, errors)


class FormParser:
    """Parses a form in pieces: `write` each, then `read`. `make_content` creates the holder of a part's content.

    The boundary is the one in the header, or else the one with which the first piece of the body begins.
    """

    def __init__(
        self, content_type: str, begin: bytes, make_content: Callable[[], PartContent] = _MemoryContent
    ) -> None:
        from python_multipart.multipart import MultipartParser, parse_options_header

        _, options = parse_options_header(content_type)
        found = _BOUNDARY.match(begin)
        self._has_boundary = bool(options.get(b"boundary"))
        boundary = options.get(b"boundary") or (found[1] if found else b"")
        self._parts: list[_Part] = []
        self._is_valid = True
        self._parser = MultipartParser(boundary, _collect_into(self._parts, make_content))

    def write(self, data: bytes) -> None:
        """Parse the next piece; after an error, ignore it."""
        from python_multipart.exceptions import FormParserError

        try:
            if self._is_valid:
                self._parser.write(data)
        except FormParserError:
            self._is_valid = False
            self._parts.clear()

    @property
    def is_whole(self) -> bool:
        """Whether the header names the boundary and the form ends with it; no server can parse any other form."""
        from python_multipart.multipart import MultipartState

        return self._has_boundary and self._is_valid and self._parser.state == MultipartState.END

    def read(self) -> Form:
        """Return the parsed form: without fields if it is invalid, with its first parts if it is truncated."""
        return _read_parts(self._parts)


def _collect_into(parts: list[_Part], make_content: Callable[[], PartContent]) -> MultipartCallbacks:
    """Return callbacks that collect the parts; a header's name and value may arrive in pieces."""
    from python_multipart.exceptions import FormParserError

    name, value = bytearray(), bytearray()

    def begin() -> None:
        if len(parts) == MAX_PARTS:
            raise FormParserError("too many parts")
        parts.append(_Part(make_content()))

    def extend(held: bytearray, data: bytes) -> None:
        if len(held) + len(data) > MAX_HEADER:
            raise FormParserError("a header is too long")
        held.extend(data)

    def header() -> None:
        parts[-1].headers[name.decode(BYTES_AS_TEXT).lower()] = bytes(value)
        name.clear()
        value.clear()

    return {
        "on_part_begin": begin,
        "on_header_field": lambda data, start, end: extend(name, data[start:end]),
        "on_header_value": lambda data, start, end: extend(value, data[start:end]),
        "on_header_end": header,
        "on_part_data": lambda data, start, end: parts[-1].content.write(memoryview(data)[start:end]),
    }


def parse_form(raw: bytes, content_type: str) -> Json:
    """Parse the fields of a form, `{}` if invalid. `expires_after[b]` is a member of the object `expires_after`."""
    parser = _parse(raw, content_type)
    return parser.read().fields if parser else {}


def parse_whole_form(raw: bytes, content_type: str) -> Form | None:
    """Parse a form; None if no server can parse it."""
    parser = _parse(raw, content_type)
    return parser.read() if parser and parser.is_whole else None


def _parse(raw: bytes, content_type: str) -> FormParser | None:
    """Feed a form to a parser; None if it has no boundary."""
    from python_multipart.exceptions import FormParserError

    try:
        parser = FormParser(content_type, raw)
    except FormParserError:
        return None
    parser.write(raw)
    return parser


def is_form(content_type: str) -> bool:
    """Return whether a body of this content type is a form."""
    return content_type.partition(";")[0].strip().lower() == CONTENT_TYPE


def _read_parts(parts: list[_Part]) -> Form:
    from python_multipart.multipart import parse_options_header

    fields: Json = {}
    on_disk: dict[str, OnDisk] = {}
    for part in parts:
        _, options = parse_options_header(part.headers.get("content-disposition", b""))
        name = options.get(b"name", b"").decode("utf-8", "replace")
        # `metadata[key]` is a member of an object, but a file's field name may contain brackets.
        nested = None if b"filename" in options else _NESTED_NAME.fullmatch(name)
        holder = fields.setdefault(nested[1], {}) if nested else fields
        place = name
        if name in _LISTS:
            place = _place(name, len(fields.setdefault(name, [])))
            fields[name].append(_field_value(part, options))
        elif name and isinstance(holder, dict):
            holder[nested[2] if nested else name] = _field_value(part, options)
        if part.content.on_disk:
            on_disk[place] = part.content.on_disk
    return Form(fields, on_disk)


def _place(field: str, number: int) -> str:
    return f"{field}[{number}]"


def sent_file(request: Request, field: str) -> FileContent:
    """Return the file in a field of a form."""
    return request.on_disk.get(field) or InMemory(request.body[field]["data"])


def sent_files(request: Request, field: str) -> list[FileContent]:
    """Return the files listed in a field of a form."""
    return [
        request.on_disk.get(_place(field, number)) or InMemory(file["data"])
        for number, file in enumerate(request.body[field])
    ]


def _field_value(part: _Part, options: dict[bytes, bytes]) -> str | Json:
    if b"filename" not in options:
        return part.decode("utf-8", "replace")
    return {
        "filename": options[b"filename"].decode("utf-8", "replace"),
        "content_type": part.headers.get("content-type", b"application/octet-stream").decode(BYTES_AS_TEXT),
        "data": part.decode(BYTES_AS_TEXT),
    }

"""Encodes runs and cases as JSON, compressed for a page or a file, and decodes them."""

import types
import typing
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import orjson

from harness.core.bounded_input import RAISE_ADVICE, size_limit
from harness.core.errors import ConfigError
from harness.core.text import shorten

_Made = TypeVar("_Made")
_COMPRESSED = b"\x1f\x8b"
GZIP = 31
"""What zlib calls gzip's format."""
PIECE = 1_000
"""How many elements of a list are encoded at a time."""


def to_bytes(value: Any) -> bytes:
    """Encode a run or a case as compressed JSON; the same value always produces the same bytes."""
    packer = zlib.compressobj(6, wbits=GZIP)
    return b"".join([*map(packer.compress, _pieces(value)), packer.flush()])


def _pieces(value: Any) -> Iterator[bytes]:
    """Yield the JSON of a dataclass, and long lists in it in pieces, so that all of it is never in memory at once."""
    for number, member in enumerate(fields(value)):
        yield b'%b"%b":' % (b"," if number else b"{", member.name.encode())
        content = getattr(value, member.name)
        if isinstance(content, list):
            for start in range(0, len(content) or 1, PIECE):
                yield (b"," if start else b"[") + orjson.dumps(content[start : start + PIECE])[1:-1]
            yield b"]"
        else:
            yield orjson.dumps(content)
    yield b"}"


def to_text(value: Any) -> str:
    """Encode a run or a case for a page: compressed JSON in base64."""
    return b64encode(to_bytes(value)).decode()


def read_bytes(raw: bytes, kind: type[_Made]) -> _Made:
    """Decode a run or a case from its JSON, compressed or not; ConfigError for anything else."""
    try:
        if raw.startswith(_COMPRESSED):
            raw = _decompress(raw)
        return from_json(orjson.loads(raw), kind)
    except (zlib.error, EOFError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise ConfigError(f"this is not a {kind.__name__} of the viewer: {shorten(str(problem))}") from problem


def read_text(text: str, kind: type[_Made]) -> _Made:
    """Decode the output of `to_text`; ConfigError for anything else."""
    try:
        raw = b64decode(text)
    except ValueError as problem:
        raise ConfigError(f"this is not a {kind.__name__} of the viewer: {problem}") from problem
    return read_bytes(raw, kind)


def from_json(value: Any, kind: type[_Made]) -> _Made:
    """Convert JSON to a dataclass; unknown members are ignored."""
    return typing.cast("_Made", _read(value, kind))


def _read(value: Any, hint: Any) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        hints = _hints(hint)
        return hint(**{name: _read(member, hints[name]) for name, member in value.items() if name in hints})
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _read(value, arguments[0])
    if origin is tuple:
        return tuple(_read(member, argument) for member, argument in zip(value, arguments, strict=True))
    if origin is Sequence:
        return [_read(element, arguments[0]) for element in value]
    if origin is Mapping:
        return {name: _read(member, arguments[1]) for name, member in value.items()}
    return value


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _decompress(raw: bytes) -> bytes:
    """Decompress up to the size limit of files; ValueError for more."""
    limit = size_limit()
    reader = zlib.decompressobj(wbits=GZIP)
    text = reader.decompress(raw, limit + 1)
    if len(text) > limit:
        raise ValueError(f"more than {limit} bytes; {RAISE_ADVICE}")
    if not reader.eof:
        raise EOFError("it is cut off")
    return text

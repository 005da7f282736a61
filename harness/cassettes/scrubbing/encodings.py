"""Decodes texts, and encodes them again in the same way: JSON and its escapes, base64 in either alphabet."""

import base64
import binascii
import html
import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")
JsonPath = tuple[str | int, ...]
"""The position of a string in a JSON text: names and indices."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.S)
_COLON = re.compile(r"\s*:")
_LENIENT = json.JSONDecoder(strict=False)
_LONGEST_KEPT, _KEPT = 1024, 4096
"""The size and the number of the texts whose structure is kept: scrubbing reads each event of a stream several times."""


def _keep_for_short(function: Callable[[str], T]) -> Callable[[str], T]:
    """Keep the results of a function for short texts."""
    kept = lru_cache(_KEPT)(function)
    return lambda text: function(text) if len(text) > _LONGEST_KEPT else kept(text)


@_keep_for_short
def find_strings(text: str) -> Sequence[tuple[int, int, JsonPath, bool]]:
    """List the strings of a JSON text: start, end, path, and whether it is the name of a member."""
    found = list[tuple[int, int, JsonPath, bool]]()
    open_containers: list[list[Any]] = []  # [is it an object, the current name or index]
    for token in _TOKEN.finditer(text):
        first, top = token[0][0], open_containers[-1] if open_containers else None
        if first in "{[":
            open_containers.append([first == "{", None if first == "{" else 0])
        elif first in "}]":
            del open_containers[-1:]
        elif first == ",":
            if top:
                top[1] = None if top[0] else top[1] + 1
        elif top and top[0] and _COLON.match(text, token.end()):
            top[1] = decode_string(token[0])
            found.append((*token.span(), tuple(name for _, name in open_containers), True))
        else:
            found.append((*token.span(), tuple(name for _, name in open_containers), False))
    return found


def decode_string(string: str) -> str:
    """Decode a string of a JSON text, given with its quotes."""
    return string[1:-1] if "\\" not in string else str(_LENIENT.decode(string))


def is_json(text: str) -> bool:
    """Return whether a text is a JSON object, array or string."""
    return text.lstrip()[:1] in ("{", "[", '"') and _is_decodable(text)


@_keep_for_short
def _is_decodable(text: str) -> bool:
    try:
        _LENIENT.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


@lru_cache(_KEPT)
def json_escapes(value: str) -> tuple[str, ...]:
    """List the spellings of a value: as it is, as escaped in a JSON string, and in a JSON string inside another."""
    once = [json.dumps(value, ensure_ascii=narrow)[1:-1] for narrow in (False, True)]
    return tuple(dict.fromkeys([value, *once, *(json.dumps(spelling)[1:-1] for spelling in once)]))


def decode_any_base64(text: str) -> bytes | None:
    """Decode a base64 text of either alphabet, padded or not; None if it is invalid."""
    try:
        return base64.b64decode(
            text.rstrip("=").translate(_TO_STANDARD) + "=" * (-len(text.rstrip("=")) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return None


def encode_base64_like(data: bytes, like: str) -> str:
    """Encode bytes in base64, with the alphabet and padding of the text `like`."""
    encoded = base64.b64encode(data).decode()
    encoded = encoded if like.endswith("=") or len(like) % 4 == 0 else encoded.rstrip("=")
    return encoded.translate(_TO_URL_SAFE) if {"-", "_"} & set(like) else encoded


_TO_STANDARD = str.maketrans("-_", "+/")
_TO_URL_SAFE = str.maketrans("+/", "-_")


LINE_BREAK = r"(?:\r?\n[ \t]*|\\r\\n|\\n)"
"""The end of a line within an encoded text, including an escaped one."""
_LINE_BREAK = re.compile(f"({LINE_BREAK})")


def join_lines(text: str) -> str:
    """Join the lines of a text, including those with escaped line breaks."""
    return _LINE_BREAK.sub("", text)


def rewrap_lines(text: str, like: str) -> str:
    """Break a text into lines at the positions where the text `like` is broken."""
    parts, at = list[str](), 0
    for number, piece in enumerate(_LINE_BREAK.split(like)):
        parts.append(piece if number % 2 else text[at : at + len(piece)])
        at += 0 if number % 2 else len(piece)
    return "".join(parts) + text[at:]


def decode_base32(text: str) -> bytes | None:
    """Decode a base32 text, padded or not; None if it is invalid."""
    bare = text.rstrip("=")
    try:
        return base64.b32decode(bare + "=" * (-len(bare) % 8))
    except (binascii.Error, ValueError):
        return None


def encode_base32_like(data: bytes, like: str) -> str:
    """Encode bytes in base32, padded if the text `like` is."""
    encoded = base64.b32encode(data).decode()
    return encoded if like.endswith("=") or len(like) % 8 == 0 else encoded.rstrip("=")


_ENTITY = re.compile(r"(&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});)")


def unescape_entities(text: str) -> tuple[str, list[str]]:
    """Unescape the HTML entities in a text, and return the original spelling of each of its characters."""
    spellings = list[str]()
    for number, piece in enumerate(_ENTITY.split(text)):
        spellings += [piece] if number % 2 and len(html.unescape(piece)) == 1 else piece
    return "".join(html.unescape(spelling) if len(spelling) > 1 else spelling for spelling in spellings), spellings

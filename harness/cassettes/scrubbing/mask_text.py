"""Masks secrets and ids in a text, through all nested encodings, by replacements of the same length.

A text may be JSON, JSON in a string, percent-encoded, base64, hexadecimal, gzip, or the lines of a stream, nested in
any order. Secrets become rows of `x` after their prefix; ids become pseudonyms.
"""

import gzip
import html
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from harness.api.http.bodies import undo_encodings
from harness.cassettes.scrubbing.encodings import (
    LINE_BREAK,
    JsonPath,
    decode_any_base64,
    decode_base32,
    decode_string,
    encode_base32_like,
    encode_base64_like,
    find_strings,
    is_json,
    join_lines,
    rewrap_lines,
    unescape_entities,
)
from harness.cassettes.scrubbing.masks import KnownValues, mask, pseudonym
from harness.cassettes.scrubbing.secret_names import is_secret_member, labels_secret
from harness.cassettes.scrubbing.secrets_without_prefix import mask_forms
from harness.core.errors import HarnessError
from harness.core.exchange import EMPTY_MAPPING

_LABELS = re.compile(r'"kty"|"[Vv]alue"|header|cookie', re.I)
_PRIVATE_MEMBERS = {(name,) for name in ("d", "p", "q", "dp", "dq", "qi", "k", "r", "t")}


def find_labels(text: str, strings: Iterable[tuple[int, int, JsonPath, bool]]) -> dict[JsonPath, str]:
    """Find the names beside values in a JSON text, by the path of their object; a JSON Web Key gets an empty one."""
    labels: dict[JsonPath, str] = {}
    for start, end, path, named in strings if _LABELS.search(text) else ():
        last = path[-1] if path and not named else None
        if last == "kty":
            labels[path[:-1]] = ""
        elif last in ("name", "key", "Name", "Key") or (last == 0 and _is_list_of_pairs(path[:-1])):
            labels[path[:-1]] = decode_string(text[start:end])
    return labels


def find_label(path: JsonPath, labels: dict[JsonPath, str]) -> str:
    """Find the name beside a value, as in `{"name": "DB_PASSWORD", "value": "…"}` or in lists of headers or cookies."""
    *above, last = path or ("",)
    return labels.get(tuple(above), "") if last in ("value", "Value", 1) else ""


def is_private_member(path: JsonPath, labels: dict[JsonPath, str]) -> bool:
    """Return whether this is a private member of a JSON Web Key."""
    return path[-1:] in _PRIVATE_MEMBERS and labels.get(path[:-1]) == ""


def _is_list_of_pairs(path: Sequence[str | int]) -> bool:
    name = str(path[-2]).lower() if len(path) > 1 and isinstance(path[-1], int) else ""
    return "header" in name or "cookie" in name


def split_form(data: bytes) -> list[bytes]:
    """Split a form (`multipart/form-data`) into pieces, with its values separate; empty for other bytes."""
    boundary = data[: data.find(b"\r\n") + 1].rstrip()
    if not boundary.startswith(b"--") or not data.rstrip().endswith(boundary + b"--"):
        return []
    return re.split(rb"(\r\n\r\n|(?:\r\n)?%s(?:--)?(?:\r\n)?)" % re.escape(boundary), data)


_DELTA_KEYS = ("type", "event", "item_id", "output_index", "content_index", "summary_index", "call_id", "id")


def find_deltas(event: str) -> Iterator[tuple[Any, JsonPath, str]]:
    """Yield the deltas of an event: owner, path, and text."""
    if '"delta"' not in event or not is_json(event):
        return
    value = json.loads(event, strict=False)
    objects = [value, value.get("data")] if isinstance(value, dict) else []
    owner = tuple(str(holder.get(name)) for holder in objects if isinstance(holder, dict) for name in _DELTA_KEYS)
    for start, end, path, named in find_strings(event):
        if not named and "delta" in path and path[-1] not in ("type", "id"):
            yield (owner, path), path, decode_string(event[start:end])


def split_by_lengths(text: str, lengths: Sequence[int]) -> Iterator[str]:
    """Split a text into pieces of these lengths; if its length has changed, the first piece holds all of it."""
    fits = len(text) == sum(lengths)
    at = 0
    for number, length in enumerate(lengths):
        yield text[at : at + length] if fits else text if number == 0 else ""
        at += length


MAX_ENCODINGS = 16
"""How many encodings may be nested; a text with more is refused."""
_SHORTEST_MASKED = 6
"""Characters of the shortest e-mail address; no other secret is shorter."""
_LONGEST_CACHED = 80
"""Characters of the longest text whose masked form is cached."""
_ID = re.compile(
    r"(?<![A-Za-z0-9])(?:[a-z]{2,16}[_-][A-Za-z0-9]{12,}|[A-Za-z0-9]{20,}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![A-Za-z0-9])"
)
_COMPRESSIONS: tuple[tuple[bytes, Mapping[str, str], Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", EMPTY_MAPPING, lambda plain: gzip.compress(plain, mtime=0)),
    *((mark, {"content-encoding": "deflate"}, zlib.compress) for mark in (b"x\x01", b"x\x9c", b"x\xda")),
)
"""The first bytes of a compression, the headers to decompress it, and the function to compress again."""
_UTF8_TEXT = re.compile(
    rb"(?:[\t\n\r -~]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}){%d,}"
    % _SHORTEST_MASKED
)
"""Text in UTF-8 within other bytes."""
_UTF16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_CIPHERTEXT = re.compile(r"gAAAA[A-Za-z0-9_\-=]{60,}")
"""Encrypted content of the API, in which the form of a key is a coincidence."""
_PERCENT = re.compile(r"(?<![^\s\"'<>&=/?#;,])[^\s\"'<>&=/?#;,%]*(?:%[0-9A-Fa-f]{2}[^\s\"'<>&=/?#;,%]*)+")
_FORM_VALUE = re.compile(r"((?:^|(?<=[?&]))[\w\[\].\-]{1,60}=)([^\s&+\"'<>%]+(?:\+[^\s&+\"'<>%]*)+)")
_ESCAPED = re.compile(r"(?<![^\s\"\\])[^\s\"\\]*(?:\\+u[0-9A-Fa-f]{4}[^\s\"\\]*)+")
_BASE64 = re.compile(
    rf"(?!(?<=\\)[nrt])(?:(?:[A-Za-z0-9+/_-]{{48,}}{LINE_BREAK})+[A-Za-z0-9+/_-]+|[A-Za-z0-9+/_-]{{12,}})={{0,2}}"
)
_BREAK = re.compile(LINE_BREAK)
_BASE32 = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?:[A-Z2-7]{{48,}}{LINE_BREAK})+[A-Z2-7]+|[A-Z2-7]{{16,}})={{0,6}}(?![A-Za-z0-9])"
)
_UTF16_TEXT = re.compile(rf"(?:[\t\n\r -~]\0){{{_SHORTEST_MASKED},}}|(?:\0[\t\n\r -~]){{{_SHORTEST_MASKED},}}")
_UTF16_BYTES = re.compile(_UTF16_TEXT.pattern.replace("~", "~\\xa0-\\xff").encode())
_HEX = re.compile(
    r"(?<![A-Za-z0-9])(?:[0-9a-f]{2}){8,}(?![A-Za-z0-9])|(?<![A-Za-z0-9])(?:[0-9A-F]{2}){8,}(?![A-Za-z0-9])"
)


class Unsearchable(HarnessError):
    """Raised for a recording that cannot be searched for secrets."""

    section = "recordings"


@dataclass(frozen=True, slots=True)
class Masker:
    """Masks `secrets` by value, `ids` by pseudonyms, and everything that has the form of a secret.

    `pieces` are parts of keys, masked like secrets. `texts` collects what it reads, decoded and without secrets,
    `unchanged` those in which there was nothing to mask, for another masker that knows no more secrets.
    """

    secrets: KnownValues = field(default_factory=KnownValues)
    ids: Collection[str] = ()
    pieces: KnownValues = field(default_factory=KnownValues)
    texts: list[str] = field(default_factory=list, repr=False, compare=False)
    unchanged: set[str] = field(default_factory=set, repr=False, compare=False)
    _cache: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def mask_text(self, text: str, depth: int = 0, *, inner: bool = True) -> str:
        """Mask the secrets in a text; `inner` marks content of a model, tool or user, not objects of the API."""
        if depth > MAX_ENCODINGS:
            raise Unsearchable(f"a text is wrapped in more than {MAX_ENCODINGS} encodings; record without it.")
        if is_json(text):
            return self.mask_json(text, depth=depth, inner=inner)
        lines = text.splitlines(keepends=True)
        if any(line.startswith("data:") for line in lines):
            return "".join(self.mask_stream_lines(lines, depth, inner=inner))
        text = self._mask_plain_text(text, depth)
        # The whole text is masked before its JSON lines, as a key may span two lines.
        if len(lines) > 1 and any(map(is_json, lines)):
            return "".join(self.mask_text(line, depth, inner=inner) for line in text.splitlines(keepends=True))
        return text

    def mask_bytes(self, data: bytes, depth: int = 0, *, inner: bool = True) -> bytes:
        """Mask the secrets in bytes: in text, compressed data, a multipart form, or texts embedded in other bytes."""
        for mark, coding, pack in _COMPRESSIONS:
            if data.startswith(mark) and (plain := undo_encodings(data, coding)) not in (None, data):
                clean = self.mask_bytes(plain or b"", depth + 1, inner=inner)
                # Compressing again changes the bytes, so data without a secret is returned as it was.
                return data if clean == plain else pack(clean)
        try:
            return self.mask_text(data.decode(), depth, inner=inner).encode()
        except UnicodeDecodeError:
            if parts := split_form(data):
                return b"".join(self.mask_bytes(part, depth + 1, inner=inner) for part in parts)
            data = _UTF8_TEXT.sub(lambda found: self._mask_embedded_text(found[0], depth + 1), data)
            return self._mask_utf16(data, depth)

    def _mask_utf16(self, data: bytes, depth: int) -> bytes:
        """Mask UTF-16 in bytes: all of them after a byte order mark, otherwise the Latin-1 in them."""
        if data[:2] in _UTF16_MARKS:
            coding = _UTF16_MARKS[data[:2]]
            with suppress(UnicodeError):
                return data[:2] + self.mask_text(data[2:].decode(coding), depth + 1).encode(coding)
        return _UTF16_BYTES.sub(
            lambda found: self._mask_wide_text(found[0].decode("latin-1"), depth).encode("latin-1"), data
        )

    def _mask_wide_text(self, text: str, depth: int) -> str:
        """Mask UTF-16 that was read as ASCII, so that every second character is zero."""
        start = int(text[0] == "\0")
        clean = self.mask_text(text[start::2], depth + 1)
        return "".join(f"\0{part}" if start else f"{part}\0" for part in clean)

    def _mask_embedded_text(self, text: bytes, depth: int) -> bytes:
        return self.mask_text(text.decode("utf-8", "surrogateescape"), depth).encode("utf-8", "surrogateescape")

    def mask_json(
        self, text: str, replacements: Mapping[JsonPath, str] | None = None, depth: int = 0, *, inner: bool = False
    ) -> str:
        """Mask the secrets in a JSON text, except in `replacements`, masked already; change nothing else."""
        parts, at = list[str](), 0
        strings = find_strings(text)
        labels = find_labels(text, strings)
        for start, end, path, named in strings:
            value = decode_string(text[start:end])
            if named:
                clean = self._mask_plain_text(value, depth)
            elif replacements and path in replacements:
                clean = replacements[path]
            elif labels_secret(find_label(path, labels), value) or is_private_member(path, labels):
                clean = mask(value)
            else:
                clean = self._mask_member(value, path, depth, inner)
            if clean != value:
                parts += [text[at:start], json.dumps(clean, ensure_ascii=text[start:end].isascii())]
                at = end
        return "".join([*parts, text[at:]])

    def mask_stream_lines(self, lines: Sequence[str], depth: int = 0, *, inner: bool = False) -> list[str]:
        """Mask the lines of a stream of events, including line ends; a text spread over deltas is masked as a whole."""
        events = [line[5:].strip() if line.startswith("data:") else "" for line in lines]
        clean = self.mask_events(events, depth, inner=inner)
        return [
            f"data:{line[5:].replace(event, new, 1)}" if event else self._mask_line(line, depth)
            for line, event, new in zip(lines, events, clean, strict=True)
        ]

    def _mask_line(self, line: str, depth: int) -> str:
        return self.mask_text(line, depth) if is_json(line) else self._mask_plain_text(line, depth)

    def mask_events(self, events: Sequence[str], depth: int = 0, *, inner: bool = False) -> list[str]:
        """Mask the JSON texts of consecutive events; a text spread over deltas is masked as a whole."""
        deltas: dict[Any, list[tuple[int, JsonPath, str]]] = {}
        for number, event in enumerate(events):
            for owner, path, delta in find_deltas(event):
                deltas.setdefault(owner, []).append((number, path, delta))
        replacements: list[dict[JsonPath, str]] = [{} for _ in events]
        for pieces in deltas.values():
            clean = self.mask_text("".join(piece for _, _, piece in pieces), depth + 1)
            for (number, path, _), piece in zip(
                pieces, split_by_lengths(clean, [len(piece) for *_, piece in pieces]), strict=True
            ):
                replacements[number][path] = piece
        return [
            self.mask_json(event, replacements[number], depth, inner=inner)
            if is_json(event)
            else self._mask_plain_text(event, depth)
            for number, event in enumerate(events)
        ]

    def _mask_member(self, text: str, path: JsonPath, depth: int, inner: bool) -> str:
        *_, above, name = ("", "", *(step for step in path if isinstance(step, str)))
        if is_secret_member(name, above, text, inner):
            return mask(text)
        return self.mask_text(text, depth + 1)

    def _mask_plain_text(self, text: str, depth: int) -> str:
        """Mask the secrets in a text that is not JSON; in encrypted content only known ones."""
        parts, at = list[str](), 0
        for opaque in _CIPHERTEXT.finditer(text):
            parts += [self._mask_cached(text[at : opaque.start()], depth), self._mask_known_secrets(opaque[0])]
            at = opaque.end()
        return "".join([*parts, self._mask_cached(text[at:], depth)])

    def _mask_cached(self, text: str, depth: int) -> str:
        if len(text) < _SHORTEST_MASKED or text in self.unchanged:  # names occur in every event of a stream
            return text
        clean = self._cache.get(text) or self._mask_uncached(text, depth)
        if clean == text:
            self.unchanged.add(text)
        elif len(text) <= _LONGEST_CACHED:
            self._cache[text] = clean
        return clean

    def _mask_uncached(self, text: str, depth: int) -> str:
        if "\0" in text:
            text = _UTF16_TEXT.sub(lambda found: self._mask_wide_text(found[0], depth), text)
        text = mask_forms(self._mask_known_secrets(text))
        if self.ids:
            text = _ID.sub(lambda found: pseudonym(found[0]) if found[0] in self.ids else found[0], text)
        if "%" in text:
            text = _PERCENT.sub(lambda found: self._mask_percent_encoded(found[0], depth), text)
        if "+" in text:
            text = _FORM_VALUE.sub(lambda found: found[1] + self._mask_form_value(found[2], depth), text)
        if "\\u" in text:
            text = _ESCAPED.sub(lambda found: self._mask_escaped(found[0], depth), text)
        if "&" in text and ";" in text:
            text = self._mask_entities(text, depth)
        text = _HEX.sub(lambda found: self._mask_hex(found[0], depth), text)
        text = _BASE32.sub(lambda found: self._mask_base32(found[0], depth), text)
        return _BASE64.sub(lambda found: self._mask_base64(found[0], depth), text)

    def _mask_known_secrets(self, text: str) -> str:
        for values in (self.secrets, self.pieces):
            for spelling in values.find_spellings(text):
                text = text.replace(spelling, mask(spelling))
        self.texts.append(text)
        return text

    def _mask_percent_encoded(self, text: str, depth: int) -> str:
        readings = ((unquote_plus, quote_plus), (unquote, quote)) if "+" in text else ((unquote, quote),)
        for decode, encode in readings:
            plain = decode(text)
            if (clean := self.mask_text(plain, depth + 1)) != plain:
                text = encode(clean, safe="")
        return text

    def _mask_form_value(self, text: str, depth: int) -> str:
        """Mask a form value in which `+` stands for a space and nothing is percent-encoded."""
        return self.mask_text(text.replace("+", " "), depth + 1).replace(" ", "+")

    def _mask_escaped(self, text: str, depth: int) -> str:
        try:
            plain = str(json.loads(f'"{text}"', strict=False))
        except ValueError:
            return text
        clean = self.mask_text(plain, depth + 1)
        return text if clean == plain else json.dumps(clean)[1:-1]

    def _mask_entities(self, text: str, depth: int) -> str:
        """Mask a text with HTML entities, keeping the spelling of those that are unchanged."""
        plain, spellings = unescape_entities(text)
        clean = text if plain == text else self.mask_text(plain, depth + 1)
        if clean in (plain, text):
            return text
        if len(clean) != len(plain):
            return html.escape(clean)
        changes = zip(plain, clean, spellings, strict=True)
        return "".join(spelling if old == new else new for old, new, spelling in changes)

    def _mask_base32(self, text: str, depth: int) -> str:
        bare = join_lines(text)
        plain = decode_base32(bare)
        clean = plain and self.mask_bytes(plain, depth + 1)
        return text if clean == plain else rewrap_lines(encode_base32_like(clean or b"", bare), text)

    def _mask_hex(self, text: str, depth: int) -> str:
        plain = bytes.fromhex(text)
        clean = self.mask_bytes(plain, depth + 1)
        return text if clean == plain else clean.hex() if text == text.lower() else clean.hex().upper()

    def _mask_base64(self, text: str, depth: int) -> str:
        *_, last = (len(text), *(match.start() for match in _BREAK.finditer(text)))
        for end in dict.fromkeys((len(text), last)):  # the last line may be a short one that is not part of it
            bare = join_lines(text[:end])
            plain = decode_any_base64(bare)
            clean = plain and self.mask_bytes(plain, depth + 1)
            if clean != plain:
                return rewrap_lines(encode_base64_like(clean or b"", bare), text[:end]) + text[end:]
        parts = re.split(r"([/_\r\n\\-]+)", text)
        if len(parts) == 1 or len(text) > 4096:
            return text
        return "".join(
            part if number % 2 or len(part) < 12 else self._mask_base64(part, depth)
            for number, part in enumerate(parts)
        )

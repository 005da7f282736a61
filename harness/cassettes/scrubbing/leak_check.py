"""Searches the text of a cassette for secrets before it is written, by other means than scrubbing.

A cassette with a finding is not written.
"""

import base64
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from harness.cassettes.format.untrusted import parse_yaml_documents
from harness.cassettes.scrubbing.encodings import json_escapes
from harness.cassettes.scrubbing.mask_interactions import SHORTEST_SECRET
from harness.cassettes.scrubbing.mask_text import Masker, Unsearchable
from harness.cassettes.scrubbing.masks import KnownValues
from harness.cassettes.scrubbing.secrets_without_prefix import collect_texts, pieces_in
from harness.core.errors import Malformed
from harness.core.json_values import as_object
from harness.core.secret_prefixes import SECRET_HEADERS, TOKEN_PATTERN

SEEMS_SECRET = "a secret, an address or the id of an account"


def secrets_in(text: str, known: Iterable[str] = (), unchanged: Collection[str] = ()) -> tuple[str, ...]:
    """List the places in the text of a cassette that seem to hold a secret, with its kind but never its value.

    `known` are secret values, searched for in every encoding, `unchanged` texts in which a masker that knows them has
    found nothing: it need not search them again. A text that cannot be searched also counts as a finding.
    """
    values = tuple(sorted({value for value in known if len(value) >= SHORTEST_SECRET}, key=len, reverse=True))
    places = dict.fromkeys(
        (*_find_known_values(text, values), *_find_key_forms(text), *_find_unmasked_places(text, values, unchanged))
    )
    return tuple(places)


def _find_known_values(text: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the lines with a known value, plain or encoded, at any offset of the encoded text."""
    wanted = {spelling for value in known for spelling in _encodings_of(value) if spelling in text}
    for number, line in enumerate(text.splitlines() if wanted else (), 1):
        if any(spelling in line for spelling in wanted):
            yield f"line {number}: the value of a key, a token or an account"


@lru_cache(maxsize=64)  # the keys of a recording are searched for in each of its exchanges
def _encodings_of(value: str) -> Sequence[str]:
    raw = value.encode()
    encodings = [*json_escapes(value), quote(value, safe=""), quote_plus(value), raw.hex(), raw.hex().upper()]
    # Base64 encodes three bytes at a time, so a value looks different at each of the three offsets.
    for lead in range(3):
        encoded = base64.b64encode(b"\0" * lead + raw).decode().rstrip("=")
        core = encoded[(0, 2, 3)[lead] : len(encoded) - (len(encoded) % 4 != 0)]
        encodings += (core, core.replace("+", "-").replace("/", "_"))
    return encodings


def _find_key_forms(text: str) -> Iterator[str]:
    masker = Masker()
    for number, line in enumerate(text.splitlines(), 1):
        if any(masker.mask_text(match[0]) != match[0] for match in TOKEN_PATTERN.finditer(line) if "gAAAA" not in line):
            yield f"line {number}: what has the form of a key or a token"


def _find_unmasked_places(text: str, known: Sequence[str], unchanged: Collection[str]) -> Iterator[str]:
    masker = Masker(KnownValues(known), unchanged={*unchanged})
    try:
        for document in parse_yaml_documents(text):
            yield from _find_split_keys(document)
            yield from _find_leaks(document, "", masker)
    except (Malformed, Unsearchable) as problem:
        yield f"the file: it cannot be looked through ({problem})"


def _find_split_keys(document: Any) -> Iterator[str]:
    """Yield the exchanges with a key that is spread over several texts."""
    exchanges = as_object(document).get("interactions")
    for number, exchange in enumerate(exchanges if isinstance(exchanges, list) else [document], 1):
        sides = exchange.values() if isinstance(exchange, dict) else [exchange]
        if any(pieces_in(collect_texts(side)) for side in sides):
            yield f"exchange {number}: a key that is spread over several texts"


def _find_leaks(value: Any, place: str, masker: Masker, header: str = "") -> Iterator[str]:
    """Yield the places of texts that seem secret; `header` is the name beside the value, in HAR that of a pair."""
    if isinstance(value, dict):
        pair = "cookie" if header == "cookies" else str(value.get("name"))
        for name, member in value.items():
            shown = f"{place}.{name}"
            if not _is_plain_name(name, masker.secrets.shortest):
                yield from _find_leaks(name, f"{place}.(a name)", masker)
                shown = shown if masker.mask_text(name) == name else f"{place}.(…)"
            yield from _find_leaks(member, shown, masker, pair if name == "value" else name)
    elif isinstance(value, list):
        texts = _frame_texts(value) if place.endswith(".frames") else []
        for index, (text, clean) in enumerate(zip(texts, masker.mask_events(texts), strict=True)):
            if text != clean:
                yield f"{place.lstrip('.')}[{index}].text: {SEEMS_SECRET}"
        for index, entry in enumerate(value):
            # The texts of frames are checked together above, as a key may be spread over them.
            rest = {**entry, "text": ""} if texts else entry
            yield from _find_leaks(rest, f"{place}[{index}]", masker, header)
    elif _is_leak(value, header, masker):
        yield f"{place.lstrip('.')}: {SEEMS_SECRET}"


def _is_plain_name(name: Any, shortest: int) -> bool:
    """Return whether a name is too short for any known value, and has no form of a secret."""
    return isinstance(name, str) and len(name) < shortest and _has_no_form(name)


@lru_cache(maxsize=1024)  # each exchange has the same names
def _has_no_form(name: str) -> bool:
    masker = Masker()
    return not _is_leak(name, "", masker) and masker.mask_text(name) == name


def _is_leak(value: Any, header: str, masker: Masker) -> bool:
    """Return whether a value seems secret by its form, or by its header: Azure's keys have no form of their own."""
    if isinstance(value, bytes):
        return masker.mask_bytes(value, inner=False) != value
    if not isinstance(value, str):
        return False
    pair = f'"{header}": "{value}"' if header.lower() in SECRET_HEADERS else ""
    return masker.mask_text(value, inner=False) != value or masker.mask_text(pair) != pair


def _frame_texts(frames: list[Any]) -> list[str]:
    """List the texts of a WebSocket's frames, over which a secret may be spread; empty for anything else."""
    texts = [as_object(frame).get("text") for frame in frames]
    return [text for text in texts if isinstance(text, str)] if all(isinstance(text, str) for text in texts) else []

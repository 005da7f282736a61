"""The gate that every cassette passes before it is written: it looks at the text of the finished file, in ways of its own.

A place that it names is a recording that is not written.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from harness.cassettes.format.untrusted_text import Malformed, documents
from harness.cassettes.scrubbing.encodings import escapes
from harness.cassettes.scrubbing.mask_interactions import SHORTEST
from harness.cassettes.scrubbing.mask_text import Masks, Unreadable
from harness.core.redact import SECRET_PATTERN

SEEMS = "a secret, an address or the id of an account"


def secrets_in(text: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Where the text of a cassette holds what must not be in it: the places, each with what it seems to be, never what.

    `known` are values that are secrets, looked for in every encoding. A text that cannot be looked through is a place too.
    """
    values = tuple(sorted({value for value in known if len(value) >= SHORTEST}, key=len, reverse=True))
    places = dict.fromkeys((*_by_value(text, values), *_by_form(text), *_by_place(text, values)))
    return tuple(places)


def _by_value(text: str, known: Sequence[str]) -> Iterator[str]:
    """Lines that hold a known value, as it is or encoded in some way, wherever in the encoded text it begins."""
    wanted = {spelling for value in known for spelling in _spellings(value)}
    for number, line in enumerate(text.splitlines(), 1):
        if any(each in line for each in wanted):
            yield f"line {number}: the value of a key, a token or an account"


def _spellings(value: str) -> Iterator[str]:
    raw = value.encode()
    yield from (*escapes(value), quote(value, safe=""), quote_plus(value), raw.hex(), raw.hex().upper())
    for lead in range(3):
        whole = base64.b64encode(b"\0" * lead + raw).decode().rstrip("=")
        core = whole[(0, 2, 3)[lead] : len(whole) - (len(whole) % 4 != 0)]
        yield from (core, core.replace("+", "-").replace("/", "_"))


def _by_form(text: str) -> Iterator[str]:
    masks = Masks()
    for number, line in enumerate(text.splitlines(), 1):
        if any(masks.text(found[0]) != found[0] for found in SECRET_PATTERN.finditer(line) if "gAAAA" not in line):
            yield f"line {number}: what has the form of a key or a token"


def _by_place(text: str, known: Sequence[str]) -> Iterator[str]:
    masks = Masks(tuple(known))
    try:
        for document in documents(text):
            yield from _leaks(document, "", masks)
    except (Malformed, Unreadable) as problem:
        yield f"the file: it cannot be looked through ({problem})"


def _leaks(value: Any, place: str, masks: Masks) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _leaks(name, f"{place}.(a name)", masks)
            yield from _leaks(inside, f"{place}.{name}" if masks.text(name) == name else f"{place}.(…)", masks)
    elif isinstance(value, list):
        texts = _frame_texts(value) if place.endswith(".frames") else []
        for index, (text, clean) in enumerate(zip(texts, masks.series(texts), strict=True)):
            if text != clean:
                yield f"{place.lstrip('.')}[{index}].text: {SEEMS}"
        for index, inside in enumerate(value):
            own = {**inside, "text": ""} if texts else inside
            yield from _leaks(own, f"{place}[{index}]", masks)
    elif (isinstance(value, str) and masks.text(value, inner=False) != value) or (
        isinstance(value, bytes) and masks.data(value, inner=False) != value
    ):
        yield f"{place.lstrip('.')}: {SEEMS}"


def _frame_texts(frames: list[Any]) -> list[str]:
    """The texts of the frames of a WebSocket, in which one text may be told piece by piece; none for anything else."""
    texts = [frame.get("text") if isinstance(frame, dict) else None for frame in frames]
    return [text for text in texts if isinstance(text, str)] if all(isinstance(text, str) for text in texts) else []

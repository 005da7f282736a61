"""Citations in the messages of a thread: a marker in the text, `【4:0†guide.txt】`, and an annotation with its range.

The same scripted message answers `POST /responses`, where a citation is an index, and a run, where it is a marker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from harness.core.exchange import Json

_MARKER = re.compile(r"【[^【】]*】$")
_SANDBOX = re.compile(r"sandbox:[^\s()]+$")


class TextPiece(NamedTuple):
    """A piece of text sent in one delta, with its annotation."""

    text: str
    annotation: Json | None = None


def split_at_citations(part: Json, exact: Sequence[str]) -> list[TextPiece]:
    """Split an `output_text` part into the pieces of its text in a thread; `exact` holds the deltas without markers.

    A citation without a marker gets one: since 2025-09 it is recorded with the name of the file.
    """
    pieces, at = list[TextPiece](), 0
    places = sorted(
        (_locate_annotation(note, part["text"], number) for number, note in enumerate(part["annotations"])), key=_start
    )
    for start, end, text, note in places:
        pieces += [TextPiece(plain) for plain in _slice_deltas(exact, at, start)]
        before = sum(len(piece.text) for piece in pieces)
        # Where annotations overlap, the later one must not repeat text that has been sent.
        again = max(0, min(at, end) - start)
        pieces.append(TextPiece(text[again:], _render_annotation(note, text, before - again)))
        at = max(at, end)
    return [*pieces, *(TextPiece(plain) for plain in _slice_deltas(exact, at, len(part["text"])))]


def _start(place: tuple[int, int, str, Json]) -> int:
    return place[0]


def _locate_annotation(note: Json, text: str, number: int) -> tuple[int, int, str, Json]:
    """Return the range of an annotation in the scripted text, and its text in the thread."""
    if "start_index" in note:
        start, end = note["start_index"], note["end_index"]
        return start, end, text[start:end], note
    end = note["index"]
    match = (_MARKER if note["type"] == "file_citation" else _SANDBOX).search(text[:end])
    if match:
        return match.start(), end, match[0], note
    marker = f"【4:{number}†{note['filename']}】" if "filename" in note else f"sandbox:/mnt/data/{note['file_id']}"
    return end, end, marker, note


def _render_annotation(note: Json, text: str, start: int) -> Json:
    place: Json = {"text": text, "start_index": start, "end_index": start + len(text)}
    if note["type"] == "url_citation":
        return {"type": "url_citation", **place, "url_citation": {"url": note["url"], "title": note["title"]}}
    kind = "file_citation" if note["type"] == "file_citation" else "file_path"
    quoted = {"quote": note["quote"]} if "quote" in note else {}
    return {"type": kind, **place, kind: {"file_id": note["file_id"], **quoted}}


def render_delta_annotation(note: Json, index: int) -> Json:
    """Render an annotation with its index for a delta; a file citation without a scripted quote has an empty one."""
    if note["type"] != "file_citation":
        return {"index": index, **note}
    cited = note["file_citation"]
    return {"index": index, **note, "file_citation": {**cited, "quote": cited.get("quote", "")}}


def _slice_deltas(exact: Sequence[str], start: int, end: int) -> Iterator[str]:
    """Yield the deltas of a text from `start` to `end`."""
    for piece, ends in zip(exact, accumulate(map(len, exact)), strict=True):
        begins = ends - len(piece)
        if shown := piece[max(0, start - begins) : max(0, end - begins)]:
            yield shown


def render_text_part(pieces: Sequence[TextPiece]) -> Json:
    """Render a content part of a thread's message."""
    notes: list[Any] = [piece.annotation for piece in pieces if piece.annotation]
    return {"type": "text", "text": {"value": "".join(piece.text for piece in pieces), "annotations": notes}}

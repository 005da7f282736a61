"""Finds keys that are spread over neighbouring texts: parts of a content, items of an input, deltas of a stream."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from harness.cassettes.format.interaction import Interaction
from harness.cassettes.scrubbing.encodings import decode_string, find_strings, is_json
from harness.cassettes.scrubbing.secret_forms import mask_keys

_SHORTEST_PIECE = 6
"""Characters of the shortest piece that is searched for: shorter ones occur in ordinary words."""
_LONGEST_EDGE = 2048
"""Characters at each end of a text that are searched."""
_MASKED = re.compile("x+")
_RANDOM = re.compile(r"[0-9]|[a-z][A-Z]")
_TEXT_MEMBERS = frozenset({"text", "output", "content", "arguments", "input", "delta", "stdout", "result", "value"})


def find_pieces(interaction: Interaction) -> tuple[str, ...]:
    """Find the pieces of keys that are spread over two or more texts of an interaction."""
    events = [text for _, _, text in interaction.frames]
    for data in (interaction.body, interaction.answer):
        text = data.decode("utf-8", "replace")
        lines = text.splitlines()
        streamed = [line[5:].strip() for line in lines if line.startswith("data:")]
        events += streamed or [text]
    return pieces_in(_read_texts(events))


def pieces_in(groups: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Find the pieces of keys that are spread over neighbouring texts of a group."""
    pieces = (piece for texts in groups.values() if len(texts) > 1 for piece in _cross_boundaries(texts))
    return tuple(dict.fromkeys(pieces))


def collect_texts(value: Any, name: str = "", found: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """Collect the texts inside a JSON or YAML value by the name of their member, in order."""
    found = {} if found is None else found
    if isinstance(value, dict):
        for key, member in value.items():
            collect_texts(member, str(key), found)
    elif isinstance(value, list):
        for member in value:
            collect_texts(member, name, found)
    elif isinstance(value, str):
        # A key may be spread over the deltas of a stream, so its events are read one by one.
        lines = [line[5:].strip() for line in value.splitlines() if line.startswith("data:")] or [value]
        nested = _read_texts(line for line in lines if is_json(line))
        for holder, texts in nested.items():
            found.setdefault(holder, []).extend(texts)
        if not nested and name in _TEXT_MEMBERS:
            found.setdefault(name, []).append(value)
    return found


def _read_texts(documents: Iterable[str]) -> dict[str, list[str]]:
    """Collect the strings of JSON documents that hold content, by the name of their member, in order."""
    found: dict[str, list[str]] = {}
    for text in documents:
        if not is_json(text):
            continue
        for start, end, path, named in find_strings(text):
            name = next((step for step in reversed(path) if isinstance(step, str)), "")
            if not named and name in _TEXT_MEMBERS:
                found.setdefault(name, []).append(decode_string(text[start:end]))
    return found


def _cross_boundaries(texts: Sequence[str]) -> Iterator[str]:
    """Yield the secrets in the joined texts that no single text contains."""
    edges = [_keep_edges(text) for text in texts]
    joined = "".join(edges)
    clean = mask_keys(joined)
    if clean == joined or len(clean) != len(joined):
        return
    starts = [0, *accumulate(map(len, edges))]
    alone = [mask_keys(edge) for edge in edges]
    if sum(map(len, alone)) != len(joined) or (apart := "".join(alone)) == clean:
        return
    for row in _MASKED.finditer(clean):
        if clean[slice(*row.span())] != apart[slice(*row.span())]:
            yield from _cut_row(row.span(), joined, starts)


def _cut_row(row: tuple[int, int], joined: str, starts: Sequence[int]) -> Iterator[str]:
    """Cut a secret at the boundaries of the texts.

    Yield nothing if ordinary words follow, which may not be part of it.
    """
    inner = starts[bisect_right(starts, row[0]) : bisect_left(starts, row[1])]
    pieces = [joined[start:end] for start, end in pairwise([row[0], *inner, row[1]])]
    if not all(_is_random(piece) for piece in pieces[1:]):
        return
    for piece in pieces:
        if len(piece) >= _SHORTEST_PIECE and set(piece) != {"x"}:
            yield piece


def _keep_edges(text: str) -> str:
    return text if len(text) <= 2 * _LONGEST_EDGE else f"{text[:_LONGEST_EDGE]}\n{text[-_LONGEST_EDGE:]}"


def _is_random(text: str) -> bool:
    return bool(_RANDOM.search(text)) and not text.isdigit()

"""Searches the files of a vector store without a model: a chunk's score is the share of the query's words in it.

Scores are between 0 and 1; chunks of equal score are in the order of the files. Only UTF-8 text is searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from harness.api.resources.files import File
from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.core.exchange import Json

DEFAULT_MAX_RESULTS = 10
"""The default maximum number of results."""
_WORD = re.compile(r"\w+")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": eq,
    "ne": ne,
    "gt": gt,
    "gte": ge,
    "lt": lt,
    "lte": le,
    "in": lambda own, wanted: own in wanted,
    "nin": lambda own, wanted: own not in wanted,
}
_NEGATIVE_OPERATORS = ("ne", "nin")


def file_text(file: File) -> str:
    """Return the text of a file; empty for a binary file."""
    try:
        return file.content.read().decode()
    except UnicodeDecodeError:
        return ""


def split_chunks(text: str, strategy: Json) -> list[str]:
    """Split a text into chunks of the strategy's maximum size; each begins with the end of the previous one."""
    size = strategy["static"]["max_chunk_size_tokens"] * CHARACTERS_PER_TOKEN
    step = max(1, size - strategy["static"]["chunk_overlap_tokens"] * CHARACTERS_PER_TOKEN)
    starts = range(0, max(1, len(text) - size + step), step)
    return [piece for start in starts if (piece := text[start : start + size]).strip()]


def search_files(body: Json, files: Sequence[tuple[Json, File]]) -> list[Json]:
    """Search files and return the best results first; `files` holds those of the store, each with its upload."""
    wanted = _word_set(" ".join(queries_of(body)))
    least = (body.get("ranking_options") or {}).get("score_threshold", 0)
    filters = body.get("filters")
    fitting = [pair for pair in files if filters is None or matches_filter(pair[0]["attributes"], filters)]
    results = [result for attached, file in fitting for result in _score_chunks(wanted, attached, file)]
    results.sort(key=lambda result: -result["score"])
    return [result for result in results if result["score"] >= least][
        : int(body.get("max_num_results", DEFAULT_MAX_RESULTS))
    ]


def queries_of(body: Json) -> list[str]:
    """Return the queries of a search, as repeated in its answer."""
    query = body["query"]
    return [query] if isinstance(query, str) else list(query)


def _score_chunks(wanted: set[str], attached: Json, file: File) -> Iterator[Json]:
    for chunk in split_chunks(file_text(file), attached["chunking_strategy"]):
        if shared := wanted & _word_set(chunk):
            yield {
                "file_id": attached["id"],
                "filename": file.object["filename"],
                "score": round(len(shared) / len(wanted), 4),
                "attributes": attached["attributes"],
                "content": [{"type": "text", "text": chunk}],
            }


def _word_set(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def matches_filter(attributes: Mapping[str, Any], condition: Json) -> bool:
    """Return whether the attributes of a file match a filter; an absent attribute differs from every value."""
    if "filters" in condition:
        every = all if condition["type"] == "and" else any
        return every(matches_filter(attributes, inner) for inner in condition["filters"])
    if condition["key"] not in attributes:
        return condition["type"] in _NEGATIVE_OPERATORS
    try:
        return _OPERATORS[condition["type"]](attributes[condition["key"]], condition["value"])
    except TypeError:  # a string is neither less nor greater than a number
        return False

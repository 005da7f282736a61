"""The results of Azure's content filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from harness.core.account import FILTER_CATEGORIES
from harness.core.exchange import Json

_PROMPT_CATEGORIES = FILTER_CATEGORIES
_COMPLETION_CATEGORIES = ("protected_material_code", "protected_material_text", *FILTER_CATEGORIES[:4])
_WITHOUT_SEVERITY = frozenset({"jailbreak", "protected_material_code", "protected_material_text"})
"""Categories with `detected`; all others have a severity."""


def filter_result(source: str, found: Sequence[str], length: int) -> Json:
    """Make the filter result of a `prompt` or `completion` of this `length`; `found` holds the blocked categories."""
    return {
        "blocked": bool(found),
        "source_type": source,
        "content_filter_raw": [],
        "content_filter_results": {**category_results(source, tuple(found))},
        "content_filter_offsets": {"start_offset": 0, "end_offset": length, "check_offset": 0},
    }


@lru_cache(maxsize=256)
def category_results(source: str, found: tuple[str, ...]) -> Mapping[str, Json]:
    """Return the result of each category in a prompt or a completion."""
    categories = _PROMPT_CATEGORIES if source == "prompt" else _COMPLETION_CATEGORIES
    return {name: _category_result(name, name in found) for name in categories}


def _category_result(category: str, found: bool) -> Json:
    if category in _WITHOUT_SEVERITY:
        return {"detected": found, "filtered": found}
    return {"filtered": found, "severity": "medium" if found else "safe"}

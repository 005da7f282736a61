"""Reading JSON that may be anything: what is not of the kind that is asked for is left out."""

from __future__ import annotations

from typing import Any

from harness.core.exchange import Json


def as_object(value: Any) -> Json:
    """An object, empty where there is none."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[Json]:
    """The objects of a list, none where there is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def as_string(value: Any) -> str:
    """A text, empty where there is none."""
    return value if isinstance(value, str) else ""

"""Reads JSON of unknown shape: values of the wrong type count as absent."""

from __future__ import annotations

from typing import Any

from harness.core.exchange import Json


def as_object(value: Any) -> Json:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[Json]:
    """Return the objects in a list; empty for any other value."""
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def as_string(value: Any) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""

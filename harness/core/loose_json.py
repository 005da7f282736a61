"""Reading JSON of unknown form: values of the wrong type count as absent."""

from __future__ import annotations

from typing import Any

from harness.core.exchange import Json


def as_object(value: Any) -> Json:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[Json]:
    """The objects in a list; empty for any other value."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def as_string(value: Any) -> str:
    """The value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""

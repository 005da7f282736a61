"""The statuses of a response and its final events: the one definition of when a response has ended."""

from __future__ import annotations

PENDING_STATUSES = ("queued", "in_progress")
"""Statuses of a response that is not complete yet."""
ENDED_STATUSES = ("completed", "incomplete", "failed")
"""Statuses of a response that has ended by itself, each with an event of that name; `cancelled` is not among them."""
END_EVENTS = tuple(f"response.{status}" for status in ENDED_STATUSES)
"""The events that close the stream of a response."""

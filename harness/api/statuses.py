"""The statuses of a response and its final events: the only definition of when a response has ended."""

from __future__ import annotations

PENDING_STATUSES = ("queued", "in_progress")
"""The statuses of a response that is not yet complete."""
ENDED_STATUSES = ("completed", "incomplete", "failed")
"""The statuses of a response that has ended by itself, each with an event of that name; not `cancelled`."""
END_EVENTS = tuple(f"response.{status}" for status in ENDED_STATUSES)
"""The events that close the stream of a response."""

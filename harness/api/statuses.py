"""The statuses of a response: pending, or ended; one definition for all who ask."""

from __future__ import annotations

PENDING_STATUSES = ("queued", "in_progress")
"""A response that the model still works at."""
ENDED_STATUSES = ("completed", "incomplete", "failed")
"""A response that has come to its own end; a cancelled one has not."""
END_EVENTS = tuple(f"response.{status}" for status in ENDED_STATUSES)
"""The events that close the stream of a response."""

"""Finds the day for which a recording is judged: the recorded day, else the day that an answer reveals."""

from __future__ import annotations

from datetime import date, timedelta

from harness.cassettes.format.recorded import Recorded
from harness.core.dates import day_of_recording
from harness.world.world import World

_NOT_THERE = ("Model not found ", "does not exist.")
"""The beginning and the end of the API's messages about a model that no longer exists."""


def enter_day(world: World, recorded: Recorded) -> None:
    """Set the World's day to that of a recorded exchange.

    Without a date, the day of the previous exchange is kept; but if a model answered that no longer existed then, the
    day is the last one of that model.
    """
    if recorded.date:
        world.as_of = day_of_recording(recorded.date)
    elif ended := _end_of_model(world, recorded):
        world.as_of = (date.fromisoformat(ended) - timedelta(days=1)).isoformat()


def _end_of_model(world: World, recorded: Recorded) -> str:
    """Return the day on which a model that still answers had ended, if before the World's day; else empty."""
    name = recorded.request.get("model") if isinstance(recorded.request, dict) else None
    family = world.models.find(name) if isinstance(name, str) else None
    ends = [day for day in family.ends if "" < day <= world.as_of] if family else []
    # The model answered, so an undated recording was made before the end of the model.
    return "" if not ends or _says_it_is_gone(recorded) else min(ends)


def _says_it_is_gone(recorded: Recorded) -> bool:
    error = recorded.answer.get("error") if isinstance(recorded.answer, dict) else None
    message = str(error.get("message")) if isinstance(error, dict) else ""
    return message.startswith(_NOT_THERE[0]) or message.endswith(_NOT_THERE[1])

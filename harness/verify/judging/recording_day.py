"""Finds the day on which a recording is judged: the recorded day, or else the day that an answer shows."""

from __future__ import annotations

from datetime import date, timedelta

from harness.cassettes.format.recorded import Recorded
from harness.core.dates import day_of_recording
from harness.world.world import World

_NOT_THERE = ("Model not found ", "does not exist.")
"""The beginning and the end of what the API says of a model that is no longer there."""


def enter_day(world: World, recorded: Recorded) -> None:
    """Have a World live on the day of a recording.

    One without a date was made on the day of the exchange before it; one that a model answered that is gone by then, on the
    last day of that model.
    """
    if recorded.date:
        world.as_of = day_of_recording(recorded.date)
    elif ended := _end_of_model(world, recorded):
        world.as_of = (date.fromisoformat(ended) - timedelta(days=1)).isoformat()


def _end_of_model(world: World, recorded: Recorded) -> str:
    """Find the day on which the model of a request ended before the World's day, although it still answers; else empty."""
    name = recorded.request.get("model") if isinstance(recorded.request, dict) else None
    family = world.models.find(name) if isinstance(name, str) else None
    ends = [day for day in family.ends if "" < day <= world.as_of] if family else []
    # An undated recording with a model that has ended since was made before that, as it was answered.
    return "" if not ends or _says_it_is_gone(recorded) else min(ends)


def _says_it_is_gone(recorded: Recorded) -> bool:
    error = recorded.answer.get("error") if isinstance(recorded.answer, dict) else None
    message = str(error.get("message")) if isinstance(error, dict) else ""
    return message.startswith(_NOT_THERE[0]) or message.endswith(_NOT_THERE[1])

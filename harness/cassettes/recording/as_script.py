"""A recording as a script: what the model said in it, turn by turn, for a mock that judges every request anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import harness.items  # noqa: F401  (registers every kind)
from harness.api import decoding
from harness.api.statuses import END_EVENTS
from harness.cassettes.format.interaction import Interaction
from harness.core.errors import HarnessError, ScriptError
from harness.core.exchange import Json
from harness.ending import TurnLine, failed, incomplete, line_from_wire
from harness.world.script import Turn


def turns_from_recording(takes: Sequence[Interaction], name: str) -> list[Turn]:
    """The turns of a recording, one for each response that was made; ScriptError when it has none, or one cannot be said.

    What was refused is left out: the contract refuses it again. `name` is what errors call the recording.
    """
    turns: list[Turn] = []
    for number, response in enumerate(filter(None, map(_recorded_response, takes)), 1):
        try:
            turns.append(_turn_from_response(response))
        except HarnessError as problem:
            raise ScriptError(f"{name}: the answer of response {number} cannot be a turn: {problem}") from problem
    if not turns:
        raise ScriptError(f"{name}: it holds no response of a model. Give a recording of `POST /responses`.")
    return turns


def _recorded_response(take: Interaction) -> Json | None:
    """The response that a take made; None for anything else."""
    if take.method != "POST" or take.status != 200 or not urlsplit(take.uri).path.rstrip("/").endswith("/responses"):
        return None
    said = decoding.decode_answer(take.answer, take.answer_headers)
    if said.events is None:
        return said.body if isinstance(said.body, dict) else None
    last = next((event for event in reversed(said.events) if event.get("type") in END_EVENTS), None)
    return None if last is None else {**last["response"], "output": _streamed_output(said.events, last["response"])}


def _streamed_output(events: Sequence[Json], response: Json) -> list[Any]:
    """The output of a stream; some servers tell it in the items' own events only."""
    done = [event["item"] for event in events if event.get("type") == "response.output_item.done"]
    return response.get("output") or done


def _turn_from_response(response: Json) -> list[TurnLine]:
    lines = [line_from_wire(_drop_nulls(item)) for item in response.get("output") or []]
    if response.get("status") == "incomplete":
        return [*lines, incomplete((response.get("incomplete_details") or {}).get("reason", "max_output_tokens"))]
    if response.get("status") == "failed":
        error = response.get("error") or {}
        return [*lines, failed(error.get("code", "server_error"), error.get("message", ""))]
    return lines


def _drop_nulls(item: Json) -> Json:
    """An item without what every response gives anew."""
    return {name: value for name, value in item.items() if value is not None or name in ("call_id",)}

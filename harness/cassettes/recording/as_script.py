"""Converts a recording into a script: its responses as turns of a mock, which checks every request itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import harness.items  # noqa: F401  (registers every kind)
from harness.api.http import decoding
from harness.api.statuses import END_EVENTS
from harness.cassettes.format.interaction import Interaction
from harness.core.errors import HarnessError, ScriptError
from harness.core.exchange import Json
from harness.ending import RECORDED_ENDING, TurnLine, failed, incomplete, line_from_wire
from harness.world.script import Turn


def turns_from_recording(interactions: Sequence[Interaction], name: str) -> list[Turn]:
    """Make the turns of a recording, one per response; ScriptError for no response, or one that no turn can express.

    Refused requests are left out: the contract refuses them again. `name` is the recording's name in errors.
    """
    turns: list[Turn] = []
    for number, response in enumerate(filter(None, map(_recorded_response, interactions)), 1):
        try:
            turns.append(_turn_from_response(response))
        except HarnessError as problem:
            raise ScriptError(f"{name}: the answer of response {number} cannot be a turn: {problem}") from problem
    if not turns:
        raise ScriptError(f"{name}: it holds no response of a model. Give a recording of `POST /responses`.")
    return turns


def _recorded_response(interaction: Interaction) -> Json | None:
    """Find the response that an interaction created; None if it created none."""
    if (
        interaction.method != "POST"
        or interaction.status != 200
        or not urlsplit(interaction.uri).path.rstrip("/").endswith("/responses")
    ):
        return None
    answer = decoding.decode_answer(interaction.answer, interaction.answer_headers)
    if answer.events is None:
        return answer.body if isinstance(answer.body, dict) else None
    last = next((event for event in reversed(answer.events) if event.get("type") in END_EVENTS), None)
    return None if last is None else {**last["response"], "output": _streamed_output(answer.events, last["response"])}


def _streamed_output(events: Sequence[Json], response: Json) -> list[Any]:
    """Collect the output of a streamed response; some servers send it in the events of the items only."""
    done = [event["item"] for event in events if event.get("type") == "response.output_item.done"]
    return response.get("output") or done


def _turn_from_response(response: Json) -> list[TurnLine]:
    lines = [line_from_wire(_drop_nulls(item)) for item in response.get("output") or []]
    if response.get("status") == "incomplete":
        return [*lines, incomplete((response.get("incomplete_details") or {}).get("reason", "max_output_tokens"))]
    if response.get("status") == "failed":
        error = response.get("error") or {}
        return [*lines, failed(error.get("code", "server_error"), error.get("message", ""))]
    return [*lines, RECORDED_ENDING] if lines else []


def _drop_nulls(item: Json) -> Json:
    """Drop the null members of an item, but for `call_id`."""
    return {name: value for name, value in item.items() if value is not None or name in ("call_id",)}

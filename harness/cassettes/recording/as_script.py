"""Converts recorded responses into turns of a script, as plain data that a script file can hold, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import orjson

import harness.items  # noqa: F401  (registers every kind)
from harness.api.http import decoding
from harness.api.statuses import END_EVENTS
from harness.cassettes.format.interaction import Interaction
from harness.core.errors import HarnessError, ScriptError
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.ending import RECORDED_ENDING, Ending, TurnLine
from harness.items.calls import encode_arguments
from harness.items.kind import Item
from harness.world.route import Turn
from harness.world.scripting.lines import NULL_ON_WIRE, parse_lines

_OWN_MEMBERS = ("id", "status", "approval_request_id")
"""Members that the mock itself sets on an item."""


def turns_from_recording(interactions: Sequence[Interaction], name: str) -> list[Turn]:
    """Convert each response of a recording to a turn; ScriptError without responses, or if no turn can express one.

    Refused requests are omitted, as the contract refuses them again. `name` is the recording's name in errors.
    """
    recorded = [
        lines for response in filter(None, map(recorded_response, interactions)) if (lines := lines_of(response))
    ]
    turns: list[Turn] = [parse_recorded_turn(lines, name, number) for number, lines in enumerate(recorded, 1)]
    if not turns:
        raise ScriptError(f"{name}: it has no model response. Pass a recording of `POST /responses`.")
    return turns


def parse_recorded_turn(lines: Sequence[Json | str], name: str, number: int) -> list[TurnLine]:
    """Parse the lines of a recorded turn, which may call undeclared tools; errors name the recording."""
    try:
        parsed = [line for part in lines for line in parse_lines(part)]
    except HarnessError as problem:
        raise ScriptError(f"{name}: the answer of response {number} cannot be a turn: {problem}") from problem
    items = [line for line in parsed if isinstance(line, Item)]
    # The recorded model did call tools that the request does not declare, so a recorded turn may, too.
    if items and not any(isinstance(line, Ending) for line in parsed):
        parsed.insert(len(items), RECORDED_ENDING)
    return parsed


def is_model_request(interaction: Interaction) -> bool:
    """Return whether an interaction asked for a response."""
    return interaction.method == "POST" and urlsplit(interaction.uri).path.rstrip("/").endswith("/responses")


def recorded_response(interaction: Interaction) -> Json | None:
    """Return the response that an interaction created, from its last event if it is a stream, or None."""
    if not is_model_request(interaction) or interaction.status != 200:
        return None
    answer = decoding.decode_answer(interaction.answer, interaction.answer_headers)
    if answer.events is None:
        return answer.body if isinstance(answer.body, dict) else None
    last = next((event for event in reversed(answer.events) if event.get("type") in END_EVENTS), None)
    if last is None:
        return None
    output = _streamed_output(answer.events, last["response"])
    # No turn answers the warm-up of a WebSocket, which is not kept as a request.
    is_warm_up = not output and interaction.notes.get("socket") and interaction.notes.get("no_request")
    return None if is_warm_up else {**last["response"], "output": output}


def lines_of(response: Json) -> list[Json | str]:
    """Return the lines of a turn: the output of a response, and how it ended."""
    lines = [line_of(item) for item in response.get("output") or []]
    if response.get("status") == "incomplete":
        reason = as_object(response.get("incomplete_details")).get("reason", "max_output_tokens")
        return [*lines, {"incomplete": reason}]
    if response.get("status") == "failed":
        error = as_object(response.get("error"))
        return [*lines, {"failed": {"code": error.get("code", "server_error"), "message": error.get("message", "")}}]
    return lines or ([{"empty": {}}] if response.get("status") == "completed" else [])


def lines_of_broken_stream(interaction: Interaction) -> list[Json | str] | None:
    """Return the lines of a stream without an end: its output so far, and how it broke off; None for anything else.

    An unfinished text keeps its exact deltas, so that the mock's stream breaks off at the same place.
    """
    events = decoding.decode_answer(interaction.answer, interaction.answer_headers).events
    if interaction.status != 200 or not events:
        return None
    error = next((event for event in events if event.get("type") == "error"), None)
    sent = events[: events.index(error)] if error else events
    items: list[Json | str] = []
    deltas: list[str] = []
    for event in sent:
        match event.get("type"):
            case "response.output_item.done":
                items.append(line_of(event["item"]))
                deltas = []
            case "response.output_text.delta":
                deltas.append(str(event.get("delta")))
    # Even a stream without output needs an item in which it can break off.
    lines = [*items, *([{"message": deltas}] if deltas or not items else [])]
    if not error:
        return [*lines, {"cut" if interaction.cut else "end_stream": {"after": len(sent)}}]
    told = as_object(error.get("error")) or error
    known = {name: told[name] for name in ("code", "message") if isinstance(told.get(name), str)}
    flat = {} if "error" in error else {"flat": True}
    return [*lines, {"stream_error": {"after": len(sent), **known, **flat}}]


def line_of(item: Any) -> Json | str:
    """Convert an item to a line: the name and arguments of its builder if they suffice, else its wire form."""
    wire = _drop_nulls(item)
    match wire:
        case {"type": "message", "content": [{"type": "output_text", "text": str(text), **rest}], **others} if not any(
            rest.values()
        ) and not others.keys() - {"role"}:
            return {"message": text}
        case {"type": "function_call", "name": str(name), "arguments": str(arguments), **others} if (
            not others.keys() - {"call_id"}
        ):
            return {"function_call": {"name": name, "arguments": shortest_arguments(arguments), **others}}
        case {"type": "reasoning", "summary": [{"type": "summary_text", "text": str(text)}], **others} if not any(
            others.values()
        ):
            return {"reasoning": text}
    return wire


def _streamed_output(events: Sequence[Json], response: Json) -> list[Any]:
    """Collect the output of a streamed response, which some servers send only in the events of its items."""
    done = [event["item"] for event in events if event.get("type") == "response.output_item.done"]
    return response.get("output") or done


def _drop_nulls(item: Any) -> Json:
    """Drop members that the mock itself sets, and null members except those that the API sends."""
    if not isinstance(item, dict):
        raise ScriptError(f"{item!r} is not an item.")
    kept = ("call_id", *NULL_ON_WIRE)
    return {
        name: value
        for name, value in item.items()
        if (value is not None or name in kept) and (name not in _OWN_MEMBERS or (name, value) == ("status", "failed"))
    }


def shortest_arguments(text: str) -> Any:
    """Parse arguments if the mock encodes them in exactly the same way; otherwise return the string."""
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return parsed if isinstance(parsed, dict) and encode_arguments(parsed) == text else text

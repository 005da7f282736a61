"""Converts recorded responses into turns of a script, as plain data that a script file can hold, too."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import harness.items  # noqa: F401  (registers every kind)
from harness.api.http import bodies
from harness.api.responses import END_EVENTS
from harness.cassettes.format.interaction import Interaction
from harness.core.errors import HarnessError, ScriptError
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.ending import RECORDED_ENDING, Ending, TurnLine
from harness.items.kind import Item
from harness.world.route import Turn
from harness.world.scripting.lines import line_of, lines_of, parse_lines


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
    answer = bodies.decode_answer(interaction.answer, interaction.answer_headers)
    if answer.events is None:
        return answer.body if isinstance(answer.body, dict) else None
    last = next((event for event in reversed(answer.events) if event.get("type") in END_EVENTS), None)
    if last is None:
        return None
    output = _streamed_output(answer.events, last["response"])
    # No turn answers the warm-up of a WebSocket, which is not kept as a request.
    is_warm_up = not output and interaction.notes.get("socket") and interaction.notes.get("no_request")
    return None if is_warm_up else {**last["response"], "output": output}


def lines_of_broken_stream(interaction: Interaction) -> list[Json | str] | None:
    """Return the lines of a stream without an end: its output so far, and how it broke off; None for anything else.

    An unfinished text keeps its exact deltas, so that the mock's stream breaks off at the same place.
    """
    events = bodies.decode_answer(interaction.answer, interaction.answer_headers).events
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
    reported = as_object(error.get("error")) or error
    known = {name: reported[name] for name in ("code", "message") if isinstance(reported.get(name), str)}
    flat = {} if "error" in error else {"flat": True}
    return [*lines, {"stream_error": {"after": len(sent), **known, **flat}}]


def _streamed_output(events: Sequence[Json], response: Json) -> list[Any]:
    """Collect the output of a streamed response, which some servers send only in the events of its items."""
    done = [event["item"] for event in events if event.get("type") == "response.output_item.done"]
    return response.get("output") or done

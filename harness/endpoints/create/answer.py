"""The answer with a response: stored, as one JSON object or as a stream of events, with the faults of its turn."""

from __future__ import annotations

from collections.abc import Sequence

from harness.answers.parameters import items_of_day
from harness.answers.prompt import Prompt
from harness.answers.response import billing_of
from harness.answers.writer import render_events
from harness.core.exchange import Answer, Json
from harness.ending import TurnLine, to_api_error
from harness.endpoints.create.turn import Turn
from harness.faults import ends_early
from harness.faults.broken_off import apply_faults
from harness.items.kind import Item
from harness.world.store import PendingResponse
from harness.world.world import World


def build_answer(run: PendingResponse, prompt: Prompt, turn: Turn, world: World) -> Answer:
    """Answer with a response, which is stored unless the request forbids it.

    In the background it is queued; a stream is rendered to its end at once, background or not.
    """
    lines = turn.taken.lines
    if not turn.taken.has_faults:
        return _build_whole(run, prompt, turn.items, world)
    return apply_faults(_build_whole(_discard_if_cut(run, lines), prompt, turn.items, world), lines, world.gate)


def _build_whole(run: PendingResponse, prompt: Prompt, items: Sequence[Item], world: World) -> Answer:
    ending, streams, background = run.ending, prompt.body.get("stream"), prompt.body.get("background")
    if ending.status == "failed" and not streams and not background:
        error = to_api_error(ending.members["error"])
        return Answer(error.status, error.body())
    if background and not streams:
        return Answer(200, world.enqueue(run))
    response = world.finish(run)
    if streams:
        return _stream(response, prompt.body, items, world)
    response |= billing_of(response, world.as_of)
    return Answer(200, response)


def _stream(response: Json, body: Json, items: Sequence[Item], world: World) -> Answer:
    padded = (body.get("stream_options") or {}).get("include_obfuscation", True)
    background = bool(response.get("background"))
    events: Sequence[Json] = render_events(response, items=items, obfuscate=padded, background=background)
    events = items_of_day(events, world.as_of)
    if background:
        world.store.put_events(response["id"], events)
    return Answer(200, response, events=events)


def _discard_if_cut(run: PendingResponse, lines: Sequence[TurnLine]) -> PendingResponse:
    """Discard a run whose answer may be cut: it ends when the client hangs up, unless in the background (assumed)."""
    goes_on = not ends_early(lines) or run.initial_response.get("background")
    return run if goes_on else run._replace(is_stored=False, conversation=None)

"""What the model says to a prompt: the next turn of the script, with what scripted MCP servers make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.analysis.approval_ledger import concerns_approvals
from harness.answers.prompt import Prompt, find_loaded, read_prompt, read_settings
from harness.contract.check import drop_nulls
from harness.contract.rules.request.limits import exceeds_window
from harness.ending import Ending, failed, split_ending
from harness.items.kind import Item
from harness.world.api_call import ApiCall
from harness.world.script import Taken
from harness.world.store import PendingResponse
from harness.world.world import World

OVERFLOW = Taken([failed("context_length_exceeded")])
"""How a stream answers what cannot fit into the context window of its model."""


class Turn(NamedTuple):
    """The items of a turn, how the response with them ends, and the lines that wait until the calls in it are approved.

    It `is_text` if it says texts and nothing else.
    """

    taken: Taken
    items: Sequence[Item]
    ending: Ending
    held: Taken | None
    is_text: bool


def find_prompt(call: ApiCall) -> Prompt:
    """Find what a request asks of a model of its World, of which nothing is changed."""
    world, body = call.world, drop_nulls(call.request.body)
    transcript = call.transcript or world.store.transcript(body)
    return read_prompt(body, transcript, read_settings(body, find_loaded(transcript), world.models, world.as_of))


def take_turn(prompt: Prompt, call: ApiCall) -> Turn:
    """Take the turn that answers a prompt; NoTurn without one, ScriptError if no model could say it."""
    taken, held = _take_lines(prompt, call)
    items, ending = split_ending(taken.lines)
    taken.check(prompt.body, items, ending, lambda: prompt.transcript.items)
    return Turn(taken, items, ending, held, all(item.is_text for item in items))


def _take_lines(prompt: Prompt, call: ApiCall) -> tuple[Taken, Taken | None]:
    world = call.world
    if prompt.body.get("stream") and exceeds_window(call.request, world):
        return OVERFLOW, None
    if not world.mcp_servers:
        return world.script.next(call), None
    taken, held = world.mcp_servers.plan_turn(prompt.body, prompt.transcript.items, lambda: world.script.next(call))
    world.script.note_taken(taken)
    return taken, held


def note_approvals(prompt: Prompt, turn: Turn, run: PendingResponse, world: World) -> None:
    """Note the approvals in a request and in its response, and the lines that wait for them."""
    if turn.held:
        world.mcp_servers.hold_for_approval(run.output, turn.held)
    if turn.taken is not OVERFLOW and concerns_approvals([*prompt.own_input, *run.output]):
        number = world.exchange_count + 1
        world.approval_ledger.add_exchange(number, run.previous, run.own_input, run.output)

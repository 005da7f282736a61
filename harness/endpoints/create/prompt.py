"""What a request asks of the model: the transcript it reads, and the response as it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.analysis.approval_ledger import concerns_approvals
from harness.answers.parameters import apply_day
from harness.answers.response import PROMPT_TEMPLATE_MODEL, build_initial_response, render_input_items
from harness.answers.writer import BegunResponse
from harness.api.models import Model, Models
from harness.api.tokens import TOKENS_PER_TOOL, estimate_tokens
from harness.core.exchange import Json
from harness.ending import Ending
from harness.items.history.transcript import Transcript, conversation_id
from harness.items.kind import Item
from harness.world.world import World


class Draft(NamedTuple):
    """What a turn of texts becomes: its items with empty ids, how the response with them ends, and what it uses."""

    items: Sequence[Json]
    ending: Ending
    usage: Json


class Said(NamedTuple):
    """A turn as the answer to a prompt: its items, how it ends, its draft if it consists of texts."""

    items: Sequence[Item]
    ending: Ending
    draft: Draft | None
    has_faults: bool


class Prompt(NamedTuple):
    """What a body without null members asks; of one that is kept nothing but `said` and `begun` is changed later.

    `initial_response` is the response as it begins, with an empty id and at time 0; `own_input` are the items of the
    request as they are stored, but for the ids that they get. `tokens` are those of all that the model reads, `loaded` the
    items of which the first loads tools. `answers_approvals` says whether the request has items about approvals. `said` are
    turns of one item that it got before, by the identity of the item, `begun` is the response at its start as bytes; a
    prompt that is not kept has neither. All of it holds for a World of these `models` on this day.
    """

    body: Json
    transcript: Transcript
    conversation: str | None
    loaded: Sequence[Json]
    family: Model
    initial_response: Json
    own_input: Sequence[Json]
    tokens: int
    answers_approvals: bool
    said: dict[int, Said] | None
    begun: BegunResponse | None
    models: Models
    as_of: str


def read_prompt(body: Json, world: World, *, is_kept: bool = False) -> Prompt:
    """What a body asks of a model of this World, of which nothing is changed; if it is kept, so is what it gets."""
    transcript = world.store.transcript(body)
    conversation = conversation_id(body)
    loaded = transcript.items_from_first("tool_search_output")
    initial = build_initial_response(body, "", 0, conversation=conversation, items=loaded, models=world.models)
    family = world.models.defaults(body.get("model") or PROMPT_TEMPLATE_MODEL)
    apply_day(initial, body, family, world.as_of)
    own_input = render_input_items({"input": transcript.added})
    tokens = estimate_input_tokens(body, transcript)
    return Prompt(
        body,
        transcript,
        conversation,
        loaded,
        family,
        initial,
        own_input,
        tokens,
        concerns_approvals(own_input),
        {} if is_kept else None,
        BegunResponse() if is_kept else None,
        world.models,
        world.as_of,
    )


def estimate_input_tokens(body: Json, transcript: Transcript) -> int:
    """The estimated tokens of all that the model reads: instructions, tools, the transcript."""
    instructions, tools = body.get("instructions"), body.get("tools") or ()
    own = estimate_tokens([{"text": instructions}]) if instructions else 0
    return own + transcript.tokens + TOKENS_PER_TOOL * len(tools)

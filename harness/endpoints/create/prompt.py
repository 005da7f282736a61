"""What a request asks of the model: the transcript it reads, and the response as it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from harness.analysis.approval_ledger import concerns_approvals
from harness.answers.parameters import apply_day
from harness.answers.response import PROMPT_TEMPLATE_MODEL, build_initial_response, render_input_items
from harness.api.models import Model, Models
from harness.api.tokens import TOKENS_PER_TOOL, estimate_tokens
from harness.core.exchange import Json
from harness.ending import Ending
from harness.items.history.transcript import Transcript, conversation_id
from harness.items.kind import Item
from harness.world.world import World

TOOL_BRINGERS = frozenset({"additional_tools", "tool_search_output"})
"""The items with which a transcript adds to the tools of a response."""
MAX_KEY = 16 * 1024
"""Bytes of the longest settings that are kept."""


class Draft(NamedTuple):
    """What a turn of texts becomes: its items with empty ids, how the response with them ends, and their tokens."""

    items: Sequence[Json]
    ending: Ending
    tokens: int


class Said(NamedTuple):
    """A turn as the answer to a prompt: its items, how it ends, its draft if it consists of texts."""

    items: Sequence[Item]
    ending: Ending
    draft: Draft | None
    has_faults: bool


class Settings(NamedTuple):
    """What all members of a body but `input` ask, of which nothing but `said` is changed later.

    `initial_response` is the response as it begins, with an empty id and at time 0. `said` are turns of one item that
    answered such a body before, by the identity of the item. All of it holds for a World of these `models` on this day.
    """

    family: Model
    initial_response: Json
    said: dict[int, Said]
    models: Models
    as_of: str

    def hold_in(self, world: World) -> bool:
        """Whether this World would read the same."""
        return self.models is world.models and self.as_of == world.as_of


class Prompt(NamedTuple):
    """What a body without null members asks.

    `own_input` are the items of the request as they are stored, but for the ids that they get. `tokens` are those of all
    that the model reads, `loaded` the items of which the first loads tools. `answers_approvals` says whether the request
    has items about approvals.
    """

    body: Json
    settings: Settings
    transcript: Transcript
    conversation: str | None
    loaded: Sequence[Json]
    own_input: Sequence[Json]
    tokens: int
    answers_approvals: bool


def read_prompt(body: Json, world: World) -> Prompt:
    """What a body asks of a model of this World, of which nothing is changed."""
    transcript = world.store.transcript(body)
    own_input = render_input_items({"input": transcript.added})
    return Prompt(
        body,
        _read_settings(body, transcript, world),
        transcript,
        conversation_id(body),
        transcript.items_from_first("tool_search_output"),
        own_input,
        estimate_input_tokens(body, transcript),
        concerns_approvals(own_input),
    )


def _read_settings(body: Json, transcript: Transcript, world: World) -> Settings:
    """The settings of a body, kept by a World that has a cache of them, unless items of the transcript bring tools."""
    kept = world.kept_settings
    if kept is None or not transcript.types.isdisjoint(TOOL_BRINGERS):
        return _make_settings(body, transcript, world)
    key = orjson.dumps({name: value for name, value in body.items() if name != "input"})
    found: Settings | None = kept.get(key)
    if found is not None and found.hold_in(world):
        return found
    made = _make_settings(body, transcript, world)
    if len(key) <= MAX_KEY and kept.has_seen(key):
        kept.put(key, made, len(key))
    return made


def _make_settings(body: Json, transcript: Transcript, world: World) -> Settings:
    family = world.models.defaults(body.get("model") or PROMPT_TEMPLATE_MODEL)
    items = transcript.items_from_first("tool_search_output")
    initial = build_initial_response(body, "", 0, conversation=conversation_id(body), items=items, models=world.models)
    apply_day(initial, body, family, world.as_of)
    return Settings(family, initial, {}, world.models, world.as_of)


def estimate_input_tokens(body: Json, transcript: Transcript) -> int:
    """The estimated tokens of all that the model reads: instructions, tools, the transcript."""
    instructions, tools = body.get("instructions"), body.get("tools") or ()
    own = estimate_tokens([{"text": instructions}]) if instructions else 0
    return own + transcript.tokens + TOKENS_PER_TOOL * len(tools)

"""What a request asks of the model: the transcript it reads, and the response as it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.analysis.approval_ledger import concerns_approvals
from harness.answers.parameters import apply_day
from harness.answers.response import PROMPT_TEMPLATE_MODEL, build_initial_response, render_input_items
from harness.api.models import Model
from harness.api.tokens import TOKENS_PER_TOOL, estimate_tokens
from harness.contract.check import drop_nulls
from harness.core.exchange import Json
from harness.items.history.transcript import Transcript, conversation_id
from harness.world.api_call import ApiCall
from harness.world.world import World


class Settings(NamedTuple):
    """What all members of a body but `input` ask: a family of models, and a response that begins without id and time."""

    family: Model
    initial_response: Json


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


def read_prompt(call: ApiCall) -> Prompt:
    """Read what a request asks of a model of its World, of which nothing is changed."""
    body = drop_nulls(call.request.body)
    transcript = call.transcript or call.world.store.transcript(body)
    own_input = render_input_items({"input": transcript.added})
    conversation, loaded = conversation_id(body), transcript.items_from_first("tool_search_output")
    return Prompt(
        body,
        _read_settings(body, loaded, conversation, call.world),
        transcript,
        conversation,
        loaded,
        own_input,
        estimate_input_tokens(body, transcript),
        concerns_approvals(own_input),
    )


def _read_settings(body: Json, loaded: Sequence[Json], conversation: str | None, world: World) -> Settings:
    family = world.models.defaults(body.get("model") or PROMPT_TEMPLATE_MODEL)
    initial = build_initial_response(body, "", 0, conversation=conversation, items=loaded, models=world.models)
    apply_day(initial, body, family, world.as_of)
    return Settings(family, initial)


def estimate_input_tokens(body: Json, transcript: Transcript) -> int:
    """The estimated tokens of all that the model reads: instructions, tools, the transcript."""
    instructions, tools = body.get("instructions"), body.get("tools") or ()
    own = estimate_tokens([{"text": instructions}]) if instructions else 0
    return own + transcript.tokens + TOKENS_PER_TOOL * len(tools)

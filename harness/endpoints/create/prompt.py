"""What a request asks of the model: the transcript it reads, and the response as it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.analysis.approval_ledger import concerns_approvals
from harness.answers.response import render_input_items
from harness.answers.settings import TOOL_BRINGERS, Settings, read_settings
from harness.contract.check import drop_nulls
from harness.core.exchange import Json
from harness.items.history.transcript import Transcript, conversation_id
from harness.world.api_call import ApiCall


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
    transcript, settings = call.transcript or call.world.store.transcript(body), call.settings
    conversation, loaded = conversation_id(body), transcript.items_from_first("tool_search_output")
    if settings is None or not transcript.types.isdisjoint(TOOL_BRINGERS):
        settings = read_settings(body, conversation, loaded, call.world.models, call.world.as_of)
    own_input = render_input_items({"input": transcript.added})
    tokens = settings.tokens + transcript.tokens
    approvals = concerns_approvals(own_input)
    return Prompt(body, settings, transcript, conversation, loaded, own_input, tokens, approvals)

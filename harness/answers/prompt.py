"""The prompt of a request: the transcript that the model reads, and the initial response."""

from collections.abc import Sequence
from typing import NamedTuple

from harness.answers.parameters import apply_day
from harness.answers.response import PROMPT_TEMPLATE_MODEL, build_initial_response, render_input_items
from harness.api.models import Model, Models
from harness.api.responses import enables_agents
from harness.api.tokens import estimate_settings_tokens
from harness.core.exchange import Json
from harness.items.transcript import Transcript

TOOL_BRINGERS = ("additional_tools", "tool_search_output")
"""The items by which a transcript adds tools to a response."""


class Settings(NamedTuple):
    """Everything that a request asks of the model except its `input`.

    It determines the family of the model, the initial response without id and time, the tokens of instructions and
    tools, and whether the model `has_agents`.
    """

    family: Model
    initial_response: Json
    tokens: int
    has_agents: bool


class Prompt(NamedTuple):
    """What a body without null members asks of the model.

    `own_input` holds the items of the request as stored, before they get ids. `tokens` counts everything that the model
    reads.
    """

    body: Json
    settings: Settings
    transcript: Transcript
    conversation: str | None
    own_input: Sequence[Json]
    tokens: int


def read_settings(body: Json, transcript: Transcript, conversation: str | None, models: Models, as_of: str) -> Settings:
    """Read the settings of a body without null members; the transcript may add tools."""
    family = models.defaults(body.get("model") or PROMPT_TEMPLATE_MODEL)
    items = transcript.that_may_load_tools
    initial = build_initial_response(body, conversation=conversation, items=items, models=models)
    apply_day(initial, body, family, as_of)
    return Settings(family, initial, estimate_settings_tokens(body), enables_agents(body))


def brings_tools(transcript: Transcript) -> bool:
    """Return whether items add tools to the response, in which case its settings depend on the input."""
    return not transcript.types.isdisjoint(TOOL_BRINGERS)


def read_prompt(body: Json, transcript: Transcript, conversation: str | None, settings: Settings) -> Prompt:
    """Read what a body without null members asks of the model."""
    own_input = render_input_items(transcript.added)
    tokens = settings.tokens + transcript.tokens
    return Prompt(body, settings, transcript, conversation, own_input, tokens)

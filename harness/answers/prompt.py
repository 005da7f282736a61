"""What a request asks of the model: the transcript it reads, and the response as it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.answers.response import render_input_items
from harness.answers.settings import Settings
from harness.core.exchange import Json
from harness.items.history.transcript import Transcript, conversation_id


class Prompt(NamedTuple):
    """What a body without null members asks.

    `own_input` are the items of the request as they are stored, but for the ids that they get. `tokens` are those of all
    that the model reads, `loaded` the items of which the first loads tools.
    """

    body: Json
    settings: Settings
    transcript: Transcript
    conversation: str | None
    loaded: Sequence[Json]
    own_input: Sequence[Json]
    tokens: int


def read_prompt(body: Json, transcript: Transcript, settings: Settings) -> Prompt:
    """Read what a body without null members asks of the model."""
    own_input = render_input_items(transcript.added)
    tokens = settings.tokens + transcript.tokens
    return Prompt(body, settings, transcript, conversation_id(body), find_loaded(transcript), own_input, tokens)


def find_loaded(transcript: Transcript) -> Sequence[Json]:
    """Find the items of which the first loads tools, as far as there is one."""
    return transcript.items_from_first("tool_search_output")

"""Generates the turn of a model without a script: what the request demands, else always the same text.

`docs/server.md` lists what it does, under "Without a script".
"""

from __future__ import annotations

import re
from string import ascii_lowercase

from harness.answers.item_writer import split_into_tokens
from harness.api.include import LOGPROBS
from harness.api.multi_agent import enables_agents
from harness.api.tokens import estimate_tokens
from harness.core.exchange import Json
from harness.core.json_values import write_json
from harness.ending import TurnLine, completed
from harness.items import compaction, message
from harness.items.kind import Item
from harness.items.transcript import Transcript
from harness.unscripted.instance import make_instance
from harness.unscripted.tool_calls import call_approved, call_required
from harness.world.api_call import ApiCall
from harness.world.mcp_approvals import needs_client

SMALL_TALK = "Hello. Nothing is scripted, so this is small talk."
UPDATE = "configuration_update"
PHASED_MODEL = re.compile(r"gpt-(5\.3-codex|5\.[4-9]|[6-9])")
"""Matches the models whose last message has `phase: final_answer`; recorded 2026-02 to 2026-10, without exception."""
_SMALL_TALK = {phase: message(SMALL_TALK, phase=phase) for phase in (None, "final_answer")}
"""The most common message by its phase, the same item for each request, as its encoding is cached."""
COMPACTION = compaction()
"""A compaction, whose encrypted content the World creates."""
MAX_LOGPROBS = 2_000
"""The maximum number of entries for a text; longer texts get longer tokens."""


def small_talk(call: ApiCall) -> list[TurnLine]:
    """Generate the answer to a request without a scripted turn. ScriptError if no instance of a schema is found."""
    body = call.members
    transcript = call.transcript
    last = transcript.added[-1] if transcript.added else {}
    if last.get("type") == "compaction_trigger":
        return [COMPACTION]
    is_approval = last.get("type") == "mcp_approval_response"
    turn = call_approved(last, transcript, call.world) if is_approval else call_required(body, transcript, call.world)
    # A message after a call that the client must answer would end the agent's turn.
    if turn and needs_client(turn[-1]):
        return [*turn, completed(awaits_outputs=True)] if enables_agents(body) else [*turn]
    return [*turn, _say(body, transcript), *([COMPACTION] if _is_compaction_due(body, transcript) else ())]


def _say(body: Json, transcript: Transcript) -> Item:
    """Build a message: JSON if the request wants JSON, else small talk."""
    phase = "final_answer" if PHASED_MODEL.match(str(body.get("model"))) else None
    # The last `configuration_update` with a format counts, else that of the body.
    updates = [item for item in transcript.items_from_first(UPDATE) if item.get("type") == UPDATE]
    texts = [body.get("text"), *(item.get("text") for item in updates)]
    format: Json = next((text["format"] for text in reversed(texts) if text and text.get("format")), {})
    if format.get("type") == "json_schema":
        text = write_json("text.format", make_instance(format.get("schema") or {}, "text.format"))
    else:
        text = "{}" if format.get("type") == "json_object" else SMALL_TALK
    if LOGPROBS in (body.get("include") or ()):
        return message(text, logprobs=_make_logprobs(text, int(body.get("top_logprobs") or 0)), phase=phase)
    return _SMALL_TALK[phase] if text is SMALL_TALK else message(text, phase=phase)


def _make_logprobs(text: str, number: int) -> list[Json]:
    """Build an entry for each token of a text, almost certain, with the `number` most likely tokens."""

    def entry(token: str, place: int) -> Json:
        return {"bytes": list(token.encode("utf-8", "surrogatepass")), "logprob": -0.01 - 4.0 * place, "token": token}

    tokens, entries = split_into_tokens(text), []
    # A long text gets fewer, longer tokens, so that the answer stays bounded.
    size = -(-len(tokens) // MAX_LOGPROBS) or 1
    for token in ("".join(tokens[start : start + size]) for start in range(0, len(tokens), size)):
        likely = [token, *(letter for letter in ascii_lowercase if letter != token)][:number]
        top = [entry(choice, place) for place, choice in enumerate(likely)]
        entries.append({**entry(token, 0), "top_logprobs": top})
    return entries


def _is_compaction_due(body: Json, transcript: Transcript) -> bool:
    """Return whether the tokens since the last compaction reach the threshold of the request."""
    managed = (entry for entry in body.get("context_management") or () if entry.get("type") == "compaction")
    threshold = next((entry.get("compact_threshold") for entry in managed), None)
    if threshold is None or transcript.tokens < int(threshold):
        return False
    # What an earlier compaction replaced is still in the transcript, but no longer in the context.
    items = transcript.items
    since = max((number for number, item in enumerate(items, 1) if item.get("type") == "compaction"), default=0)
    return estimate_tokens(items[since:]) >= int(threshold)

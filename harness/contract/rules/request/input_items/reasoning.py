"""Reasoning in the input: it needs what followed it, and an id or encrypted content."""

from collections.abc import Iterator, Sequence

from harness.api.http.dialects import AZURE, OPENAI
from harness.contract.phrasing import invalid_type
from harness.contract.rule import (
    TRANSCRIPT_MEMBERS,
    Case,
    WorldView,
    after,
    assumed,
    recorded,
    reported,
    rule,
)
from harness.contract.rules.example_requests import ASK, CALL, CREATE_CONVERSATION, HI, OUTPUT
from harness.contract.rules.request.input_items.references import REPLAYED, THOUGHT, reasoned
from harness.contract.rules.request.shape import PROBED
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_string, objects_in
from harness.ending import completed, incomplete
from harness.items import function_call, reasoning
from harness.items.transcript import Transcript

_REASONED_CALL_TURN = ([reasoning("**Planning**"), function_call("f", call_id="call_1")],)
_ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
_KEEP = Case({"items": [REPLAYED, _ANSWER]}, on="POST /conversations")
_GO_ON, _AGAIN = {"role": "user", "content": "go on"}, {"role": "user", "content": "again"}
_ENCRYPTED = {"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}
_SAID = {"type": "item_reference", "id": "{0.output.1.id}"}


@rule(
    invalid_type("{path}", "one of 'minimal', 'low', 'medium', or 'high'", "an integer"),
    PROBED,
    rejects={"reasoning.effort": {"reasoning": {"effort": 5}}},
    accepts=[{"model": "gpt-5", "reasoning": {"effort": "low"}}],
    fix="Use one of the listed values.",
)
def effort_number() -> None:
    """`reasoning.effort` is a word; a number is refused with the list of the first models."""


def _after_reasoning_only(request: Json) -> Iterator[Case]:
    """Yield a request after a response whose whole output was reasoning: incomplete, then completed."""
    for ending in (incomplete(), completed()):
        yield after(ASK, request, turns=([reasoning("**Cut**"), ending],))


@rule(
    bad_request("Item '{id}' of type 'reasoning' was provided without its required following item.", "input"),
    recorded("pydantic/pydantic-ai: refused by gpt-5", "2025-09-12"),
    recorded(
        "pydantic/pydantic-ai: taken by o3-mini, before a user's message and before its answer without id",
        "2025-09-05",
    ),
    reported(
        "https://github.com/openai/openai-agents-python/issues/1611: of a chain whose last response is not shown",
        "2025-08-29",
    ),
    reported("https://github.com/continuedev/continue/issues/10428", "2026-02-11"),
    reported("https://github.com/vercel/ai/pull/15795: calls are sent without their id", "2026-06-03"),
    reported(
        "https://github.com/openai/openai-agents-python/pull/3352: both of a conversation, the message without its id",
        "2026-05-11",
    ),
    reported(
        "https://github.com/openai/openai-node/issues/1791: o4-mini takes all items back, also when its output was "
        "reasoning only",
        "2026-03-24",
    ),
    reported(
        "https://github.com/experientiallabs/experiential/pull/763: responses that end incomplete can be continued",
        "2026-09-03",
    ),
    reported(
        "a public probe of gpt-5-nano and gpt-5.4-mini: `store: false`, reasoning by its ciphertext is taken before the "
        "next user's message, and last",
        "2026-09-10",
    ),
    when=TRANSCRIPT_MEMBERS,
    rejects={"{0.output.0.id}": reasoned([THOUGHT, _AGAIN])},
    accepts=[
        *_after_reasoning_only({"previous_response_id": "{0.id}", "input": "go on"}),
        *_after_reasoning_only({"input": [THOUGHT, _GO_ON]}),
        *_after_reasoning_only({"input": [_GO_ON, THOUGHT]}),
        reasoned(
            {**_ENCRYPTED, "input": [{**REPLAYED, "encrypted_content": "{0.output.0.encrypted_content}"}, _GO_ON]},
            first={**_ENCRYPTED, "input": "hi"},
        ),
        [{"type": "reasoning", "summary": []}, HI],
        reasoned([THOUGHT, _SAID, _AGAIN]),
        after(ASK, [THOUGHT, CALL, OUTPUT], turns=_REASONED_CALL_TURN),
        reasoned(_KEEP, {"conversation": "{1.id}", "input": "again"}),
        reasoned(_KEEP, [REPLAYED, _ANSWER, _AGAIN]),
        reasoned({"model": "o3-mini", "input": [THOUGHT, _AGAIN]}, first={"model": "o3-mini", "input": "hi"}),
    ],
    fix="Send the reasoning item with the very item that followed it, or leave both ids out.",
)
def reasoning_without_follower(request: Request, world: WorldView, transcript: Transcript) -> Iterator[Json]:
    """A stored reasoning item must be followed directly by the item that followed it: its `id`, or a call's `call_id`.

    Once both were added to a conversation, that may be the item that was added after it, or a message with its text.
    Reasoning that ended its response had no follower and needs none; reasoning without id, or with an id that this key
    never stored, is not checked. o3-mini needs no follower.
    """
    # Most keys have stored no reasoning: skip walking their items.
    if not world.store.follower_of or str(request.body.get("model")).startswith("o3-mini"):
        return
    for item, next_item in zip(transcript.items, [*transcript.items[1:], {}], strict=False):
        followers = world.store.follower_of.get(item["id"], ()) if item.get("id") else ()
        stored = [world.store.items.get(id, {}) for id in followers]
        if stored and not (_is_same_item(next_item, stored[0]) or _is_any_replay(next_item, stored[1:])):
            yield {"id": item["id"]}


def _is_same_item(item: Json, stored: Json) -> bool:
    if not stored or item.get("id") == stored["id"]:
        return bool(stored)
    called = (item.get("type"), item.get("call_id"))
    return bool(item.get("call_id")) and called == (stored["type"], stored.get("call_id"))


def _is_any_replay(item: Json, stored: Sequence[Json]) -> bool:
    """Return whether a sent item is one of these from conversations; for a message, its text suffices."""
    return any(
        _is_same_item(item, added) or (not item.get("id") and _read_message(item) == _read_message(added) != ("", []))
        for added in stored
    )


def _read_message(item: Json) -> tuple[str, list[str]]:
    content = item.get("content")
    texts = [content] if isinstance(content, str) else [as_string(part.get("text")) for part in objects_in(content)]
    return as_string(item.get("role")), texts


@rule(
    bad_request(
        "Item '{id}' of type '{type}' was provided without its required 'reasoning' item: '{reasoning}'.", "input"
    ),
    reported("https://github.com/VRSEN/agency-swarm/issues/367", "2025-09-24"),
    reported("public reports of three more origins", "2026-09"),
    when=TRANSCRIPT_MEMBERS,
    rejects={("{0.output.1.id}", "message", "{0.output.0.id}"): reasoned([_SAID, _AGAIN])},
    accepts=[[{"role": "assistant", "id": "msg_never", "content": "x"}, HI]],
    fix="Send the reasoning item before it, or the item without its id.",
)
def item_without_reasoning(world: WorldView, transcript: Transcript) -> Iterator[Json]:
    """An item that followed a stored reasoning item needs it, directly before it.

    The link is the item's id: without one, or with an id that this key never stored, nothing is required.
    """
    if not world.store.reasoning_of:
        return
    for before, item in zip([{}, *transcript.items[:-1]], transcript.items, strict=False):
        needed = world.store.reasoning_of.get(item["id"]) if item.get("id") else None
        if needed and before.get("id") != needed:
            yield {"id": item["id"], "type": item["type"], "reasoning": needed}


@rule(
    bad_request("Invalid item", "item", "invalid_item"),
    reported("https://github.com/openai/openai-agents-python/issues/1709", "2026-05-06"),
    reported("https://github.com/openai/openai-agents-python/pull/3352: accepted with an id", "2026-05-11"),
    assumed("that a conversation created with items gets the same error"),
    on=("POST /conversations", "POST /conversations/{conversation_id}/items"),
    dialects=(OPENAI, AZURE),
    rejects=[
        after(
            CREATE_CONVERSATION,
            Case({"items": [{"type": "reasoning", "summary": []}, _ANSWER]}, on="POST /conversations/{0.id}/items"),
        )
    ],
    accepts=[Case({"items": [{"type": "reasoning", "id": "rs_1", "summary": []}, _ANSWER]}, on="POST /conversations")],
    fix="Add the reasoning item with its id or its encrypted content, or leave it out.",
)
def reasoning_unidentified(request: Request) -> bool:
    """Conversations refuse a reasoning item with neither `id` nor `encrypted_content`."""
    return any(
        item.get("type") == "reasoning" and not (item.get("id") or item.get("encrypted_content"))
        for item in objects_in(request.body.get("input"))  # where rules read the `items` of a conversation
    )

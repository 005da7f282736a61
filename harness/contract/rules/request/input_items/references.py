"""Ids of items: a referenced item must be stored, an id must be unique, and encrypted content belongs to its item."""

from collections.abc import Iterator

from harness.api.encrypted_content import (
    OTHER_ITEM,
    OTHER_ORGANIZATION,
    UNREADABLE,
    ContentOwner,
    make_encrypted_content,
    rejection_reason,
)
from harness.api.models import Model
from harness.contract.rule import TRANSCRIPT_MEMBERS, Case, RuleScope, WorldView, after, recorded, reported, rule
from harness.contract.rules.example_requests import CALL, HI, OUTPUT
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request
from harness.items import message, reasoning
from harness.items.transcript import Transcript

SCOPE = RuleScope(when=TRANSCRIPT_MEMBERS)

_STORE_HINT = (
    " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from "
    "your input."
)
_REASONED_MESSAGE_TURN = ([reasoning("**Planning**"), message("Hi.")],)


def _missing_item(id: str, request: Request) -> Json:
    return {"id": id, "hint": _STORE_HINT if request.body.get("store") is False else ""}


def _reasoning_body(id: str | None, ciphertext: str) -> Json:
    item = {"type": "reasoning", "summary": [], "encrypted_content": ciphertext}
    return {"store": False, "input": [{**item, "id": id} if id else item, HI]}


@rule(
    ApiError(404, "Item with id '{id}' not found.{hint}", "input"),
    reported("https://github.com/Wei-Shaw/claude-relay-service/issues/323", "2025-09-03"),
    reported("public probe, status 404", "2026-08"),
    rejects={
        ("msg_x", ""): [{"type": "item_reference", "id": "msg_x"}],
        ("rs_x", _STORE_HINT): {"store": False, "input": [{"type": "item_reference", "id": "rs_x"}, HI]},
    },
    accepts=[after({"input": "hi"}, [{"type": "item_reference", "id": "{0.output.0.id}"}])],
    fix="Refer only to items of stored responses; with `store: false` send the items themselves.",
)
def item_not_found(request: Request, transcript: Transcript) -> Iterator[Json]:
    """An `item_reference` must name an item that this key has stored."""
    yield from (_missing_item(id, request) for id in transcript.missing_references)


@rule(
    bad_request("Duplicate item found with id {id}. Remove duplicate items from your input and try again.", "input"),
    recorded("vercel/ai: an approval request in the chain; posit-dev/chatlas: messages that are taken", "2026-08-07"),
    reported("https://github.com/vercel/ai/issues/18605", "2026-08-07"),
    reported("https://github.com/github/copilot-cli/issues/3560", "2026-06"),
    rejects={
        "fc_1": [{**CALL, "id": "fc_1"}, OUTPUT, {**CALL, "id": "fc_1"}, OUTPUT],
        "rs_1": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "reasoning", "id": "rs_1", "summary": []},
        ],
        "{0.output.0.id}": after(
            {"input": "hi"},
            {"previous_response_id": "{0.id}", "input": [{"type": "item_reference", "id": "{0.output.0.id}"}, HI]},
        ),
    },
    accepts=[
        [CALL, OUTPUT, {**CALL}, {**OUTPUT}],
        {"input": [{"role": "assistant", "id": "msg_made_up", "content": text} for text in "ab"]},
        [HI, HI, {"role": "assistant", "content": "x"}, {"role": "assistant", "content": "x"}],
    ],
    fix="With `previous_response_id` or `conversation`, send only what is new.",
)
def duplicate_item(world: WorldView, transcript: Transcript) -> Iterator[Json]:
    """An item id may occur once in the transcript, whether inlined, referenced, or part of what is continued.

    Items without id are never duplicates, nor are messages with an id that this key never stored (recorded: the API
    accepted two with the same made-up id); a duplicate `call_id` is accepted.
    """
    if not [True for item in transcript.added if item.get("id")]:
        return
    seen = {item.get("id") for item in transcript.stored}
    for item in transcript.added:
        if not (id := item.get("id")):
            continue
        if (
            id in seen
            and item.get("type") != "function_call_output"
            and ("role" not in item or id in world.store.items)
        ):
            yield {"id": id}
        seen.add(id)


@rule(
    ApiError(404, "Item with id '{id}' not found.{hint}", "input"),
    reported("https://github.com/can1357/oh-my-pi/issues/41", "2026-02-12"),
    reported("public probe, status 404", "2026-08"),
    items="reasoning",
    rejects={
        ("rs_x", ""): [{"type": "reasoning", "id": "rs_x", "summary": []}, HI],
        ("{0.output.0.id}", _STORE_HINT): after(
            {"input": "hi", "store": False},
            {
                "store": False,
                "input": [
                    {"type": "reasoning", "id": "{0.output.0.id}", "summary": []},
                    {"role": "assistant", "id": "{0.output.1.id}", "content": "Hi."},
                    HI,
                ],
            },
            turns=_REASONED_MESSAGE_TURN,
        ),
    },
    accepts=[
        [{"type": "reasoning", "summary": []}, HI],
        [{"role": "assistant", "id": "msg_never", "content": "x"}, HI],
        [{**CALL, "id": "fc_never"}, OUTPUT],
    ],
    fix="Without `store`, ask for `include: ['reasoning.encrypted_content']` and send the ciphertext back.",
)
def reasoning_not_found(request: Request, world: WorldView, transcript: Transcript) -> Iterator[Json]:
    """A reasoning item must refer to an item that this key has stored, unless it has a ciphertext or no id.

    Messages and calls are not looked up, as they contain everything themselves.
    """
    for item in transcript.added_by_type.get("reasoning", ()):
        if (id := item.get("id")) and not item.get("encrypted_content") and id not in world.store.items:
            yield _missing_item(id, request)


_CIPHERTEXT = make_encrypted_content(ContentOwner("org-harness", "rs_1"), 0)


@rule(
    bad_request(
        "The encrypted content {which} could not be verified. Reason: {reason}", code="invalid_encrypted_content"
    ),
    reported("https://github.com/smallmain/vscode-unify-chat-provider/issues/178", "2026-05-08"),
    reported("https://github.com/openai/codex/issues/35334: a compaction", "2026-07-25"),
    reported("https://github.com/edison7009/EchoBird/issues/255: an item without id", "2026-06-03"),
    reported("https://docs.litellm.ai: two organizations", "2026-02-24"),
    reported("https://github.com/maximhq/bifrost/issues/7729: another item's", "2026"),
    when="input[]",
    rejects={
        ("for item rs_1", UNREADABLE): _reasoning_body("rs_1", "garbage"),
        ("for item cmp_1", UNREADABLE): [
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "what came before"},
            HI,
        ],
        ("Work...out.", UNREADABLE): _reasoning_body(None, "Work it out."),
        ("for item rs_2", OTHER_ITEM): _reasoning_body("rs_2", _CIPHERTEXT),
        ("for item rs_1", OTHER_ORGANIZATION): _reasoning_body(
            "rs_1", make_encrypted_content(ContentOwner("org-other", "rs_1"), 0)
        ),
    },
    accepts=[
        _reasoning_body("rs_1", _CIPHERTEXT),
        _reasoning_body(None, _CIPHERTEXT),
        _reasoning_body("rs_1", "gAAAAABpZm9yZWlnbg=="),
        _reasoning_body("rs_1", "encrypted_content_REDACTED_1"),
        after(
            {"input": "hi", "store": False},
            _reasoning_body("{0.output.0.id}", "my cipher"),
            turns=([reasoning(encrypted_content="my cipher"), message("Hi.")],),
        ),
        after(
            Case({"model": "gpt-5", "input": "hi", "store": False, "include": ["reasoning.encrypted_content"]}),
            _reasoning_body("{0.output.0.id}", "{0.output.0.encrypted_content}"),
            turns=_REASONED_MESSAGE_TURN,
        ),
        {
            **_reasoning_body("rs_1", make_encrypted_content(ContentOwner("org-other", "rs_1"), 0)),
            "model": "gpt-6.2-sol",
        },
    ],
    fix="Send the ciphertext back unchanged, with the item it came with, to the organization that gave it.",
)
def encrypted_content_invalid(world: WorldView, transcript: Transcript, family: Model | None) -> Iterator[Json]:
    """A ciphertext must be the API's, of this organization and this item; an item without id is not compared.

    Strings without the form of a ciphertext are refused; a foreign one with that form is accepted, and so is one from a
    script. Models that withhold reasoning from an edited history withhold that of another organization, too.
    """
    withholds = family is not None and "" < family.withholds <= world.as_of
    for item in [item for item in transcript.added if item.get("encrypted_content")]:
        text, id = item["encrypted_content"], item.get("id")
        if (
            isinstance(text, str)  # not every kind of item has it in its schema
            and text not in world.store.encrypted_contents
            and (reason := rejection_reason(text, id, world.account.name))
            and not (withholds and reason == OTHER_ORGANIZATION and item["type"] == "reasoning")
        ):
            yield {"which": f"for item {id}" if id else f"{text[:4]}...{text[-4:]}", "reason": reason}

"""Items that refer to stored items: references, ids, encrypted content.

A referenced item must be stored, an id unique; the API stores the pairs of reasoning and what followed it by item id.
"""

import re
from collections.abc import Iterator

from harness.api.encrypted_content import (
    OTHER_ITEM,
    OTHER_ORGANIZATION,
    UNREADABLE,
    ContentOwner,
    make_encrypted_content,
    rejection_reason,
)
from harness.api.http.dialects import OPENAI
from harness.api.models import Model
from harness.contract.rule import (
    TRANSCRIPT_MEMBERS,
    Case,
    Example,
    RuleScope,
    WorldView,
    after,
    assumed,
    recorded,
    reported,
    rule,
)
from harness.contract.rules.example_requests import ASK, CALL, HI, OUTPUT
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_string
from harness.items import message, reasoning
from harness.items.transcript import Transcript

SCOPE = RuleScope(when=TRANSCRIPT_MEMBERS)
_MADE_BY_THE_API = re.compile(r"msg_[0-9a-f]{32,}")
_MADE_UP: list[Json] = [{"role": "assistant", "id": "msg_made_up", "content": text} for text in "ab"]

_STORE_HINT = (
    " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from "
    "your input."
)
_REASONED_MESSAGE_TURN = ([reasoning("**Planning**"), message("Hi.")],)
REPLAYED = {"type": "reasoning", "id": "{0.output.0.id}", "summary": []}
THOUGHT = {"type": "item_reference", "id": "{0.output.0.id}"}


def reasoned(*steps: Example, first: Json | None = None) -> Case:
    """Make a case after a response that thought and answered."""
    return after(first or ASK, *steps, turns=_REASONED_MESSAGE_TURN)


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
    accepts=[after(ASK, [THOUGHT])],
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
        "rs_1": [{"type": "reasoning", "id": "rs_1", "summary": []}] * 2,
        "{0.output.0.id}": after(ASK, {"previous_response_id": "{0.id}", "input": [THOUGHT, HI]}),
    },
    accepts=[
        [CALL, OUTPUT, {**CALL}, {**OUTPUT}],
        Case({"input": _MADE_UP}, as_of="2026-05-06"),
        [HI, HI, {"role": "assistant", "content": "x"}, {"role": "assistant", "content": "x"}],
    ],
    fix="With `previous_response_id` or `conversation`, send only what is new.",
)
def duplicate_item(world: WorldView, transcript: Transcript) -> Iterator[Json]:
    """An item id may occur once in the transcript, whether inlined, referenced, or part of what is continued.

    Items without id are never duplicates; for messages with an id that this key never stored there is a rule of its own.
    A duplicate `call_id` is accepted.
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
    bad_request("Duplicate item found with id {id}. Remove duplicate items from your input and try again.", "input"),
    reported("https://github.com/earendil-works/pi/issues/5165: gpt-5.5, ids made of numbers", "2026-05-29"),
    reported("https://github.com/microsoft/vscode/issues/318818: one id for all messages", "2026-05-28"),
    reported("https://github.com/microsoft/vscode/issues/321977", "2026-06-18"),
    dialects=OPENAI,
    since="2026-05-28",
    rejects={"msg_made_up": _MADE_UP},
    accepts=[
        [{**item, "id": f"msg_{index}"} for index, item in enumerate(_MADE_UP)],
        [{**HI, "id": "msg_made_up"}, {**HI, "id": "msg_made_up"}],
        [{**item, "id": f"msg_{0:048x}"} for item in _MADE_UP],
    ],
    fix="Send messages that the API did not make without an `id`.",
)
def duplicate_made_up_id(world: WorldView, transcript: Transcript) -> Iterator[Json]:
    """Messages of the assistant may not share an id that the client made up, such as `msg_123`.

    Until May 2026 they could: posit-dev/chatlas, recorded from 2025-12-30 to 2026-05-06. Of answers that were not stored,
    whose ids have the API's form, no refusal is known.
    """
    seen: set[str] = set()
    for item in transcript.added:
        id = as_string(item.get("id")) if item.get("role") == "assistant" else ""
        if id and id not in world.store.items and not _MADE_BY_THE_API.fullmatch(id):
            if id in seen:
                yield {"id": id}
            seen.add(id)


@rule(
    ApiError(404, "Item with id '{id}' not found.{hint}", "input"),
    reported("https://github.com/can1357/oh-my-pi/issues/41", "2026-02-12"),
    reported("public probe, status 404", "2026-08"),
    items="reasoning",
    rejects={
        ("rs_x", ""): [{"type": "reasoning", "id": "rs_x", "summary": []}, HI],
        ("{0.output.0.id}", _STORE_HINT): reasoned(
            {
                "store": False,
                "input": [REPLAYED, {"role": "assistant", "id": "{0.output.1.id}", "content": "Hi."}, HI],
            },
            first={"input": "hi", "store": False},
        ),
    },
    accepts=[
        [{"type": "reasoning", "summary": []}, HI],
        [{"role": "assistant", "id": "msg_never", "content": "x"}, HI],
        [{**CALL, "id": "fc_never"}, OUTPUT],
    ],
    fix=(
        "Without `store`, send the item back with the `encrypted_content` that it had in the answer; the answer has it if "
        "the request says `include: ['reasoning.encrypted_content']`."
    ),
)
def reasoning_not_found(request: Request, world: WorldView, transcript: Transcript) -> Iterator[Json]:
    """A reasoning item must refer to an item that this key has stored, unless it has a ciphertext or no id.

    Messages and calls are not looked up, as they contain everything themselves.
    """
    for item in transcript.added_by_type.get("reasoning", ()):
        if (id := item.get("id")) and not item.get("encrypted_content") and id not in world.store.items:
            yield _missing_item(id, request)


_PICTURE: Json = {"type": "image_generation_call", "id": "ig_x"}


@rule(
    ApiError(404, f"Item with id '{{id}}' not found.{_STORE_HINT}", "input"),
    reported("https://github.com/can1357/oh-my-pi/pull/3226: the request, a picture that failed", "2026-06-22"),
    reported("public notes of three more origins, two with the words, one of a picture without its data", "2026"),
    assumed("that with `store` the API looks for it as well: not refused here, as another may have made it"),
    items="image_generation_call",
    rejects={"ig_x": {"store": False, "input": [HI, {**_PICTURE, "status": "failed", "result": None}, HI]}},
    accepts=[
        {"store": False, "input": [HI, {**_PICTURE, "status": "completed", "result": "iVBORw0KGgo="}, HI]},
        {"input": [HI, {**_PICTURE, "id": "ig_of_another"}, HI]},
    ],
    fix="Without `store`, send a picture back with the `result` that it had in the answer, and leave out one that failed.",
)
def picture_not_found(request: Request, world: WorldView, transcript: Transcript) -> Iterator[Json]:
    """A picture without its data must be stored, which nothing is if `store` is false."""
    if request.body.get("store") is False:
        for item in transcript.added_by_type.get("image_generation_call", ()):
            if (id := item.get("id")) and not item.get("result") and id not in world.store.items:
                yield {"id": id}


_CIPHERTEXT, _FOREIGN_CIPHERTEXT = (
    make_encrypted_content(ContentOwner(organization, "rs_1"), 0) for organization in ("org-harness", "org-other")
)


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
        ("for item rs_1", OTHER_ORGANIZATION): _reasoning_body("rs_1", _FOREIGN_CIPHERTEXT),
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
        reasoned(
            _reasoning_body("{0.output.0.id}", "{0.output.0.encrypted_content}"),
            first={"model": "gpt-5", "input": "hi", "store": False, "include": ["reasoning.encrypted_content"]},
        ),
        {**_reasoning_body("rs_1", _FOREIGN_CIPHERTEXT), "model": "gpt-6.2-sol"},
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

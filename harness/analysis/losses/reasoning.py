"""What the model thought before a call, and needs to go on from it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history import History, HistoryRequest, OutputItem, client_call_id, describe_item, item_type
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import ASK, DEPLOY, SAY, TEXT, THEN, THINK, assistant, call, output
from harness.contract.rule import after
from harness.core.exchange import Json
from harness.core.loose_json import as_string

ENCRYPTED_CONTENT = "reasoning.encrypted_content"
_ENCRYPTED_REQUEST: Json = {"model": "gpt-5", "store": False, "include": [ENCRYPTED_CONTENT]}
_ENCRYPTED_REASONING: Json = {"type": "reasoning", "summary": [], "encrypted_content": "{0.output.0.encrypted_content}"}
_STORED_CALL: Json = {**call(), "id": "{0.output.1.id}"}


@loss(
    message="{what}, said in exchange {said} before {call}, is not in this request: the client dropped it",
    fix="Send the reasoning back with the call that followed it, until the user speaks again.",
    loses=[
        after(
            {"input": [ASK], **_ENCRYPTED_REQUEST},
            {"input": [ASK, call(), output()], **_ENCRYPTED_REQUEST},
            turns=[[THINK, DEPLOY]],
        ),
        after({"input": [ASK]}, {"input": [ASK, _STORED_CALL, output()]}, turns=[[THINK, DEPLOY]]),
    ],
    keeps=[
        after(
            {"input": [ASK], **_ENCRYPTED_REQUEST},
            {"input": [ASK, _ENCRYPTED_REASONING, call(), output()], **_ENCRYPTED_REQUEST},
            turns=[[THINK, DEPLOY]],
        ),
        after({"input": [ASK]}, {"input": [ASK, call(), output()]}, turns=[[THINK, DEPLOY]]),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [output()]}, turns=[[THINK, DEPLOY]]),
        after(
            {"input": [ASK], **_ENCRYPTED_REQUEST},
            {"input": [ASK, _ENCRYPTED_REASONING, call(), output()], **_ENCRYPTED_REQUEST},
            {"input": [ASK, call(), output(), assistant(TEXT), THEN], **_ENCRYPTED_REQUEST},
            turns=[[THINK, DEPLOY], SAY],
        ),
        after(
            {"input": [ASK], **_ENCRYPTED_REQUEST},
            {"input": [ASK, call(), output()], "model": "gpt-4.1"},
            turns=[[THINK, DEPLOY]],
        ),
    ],
)
def reasoning_dropped(asked: HistoryRequest, past: History) -> Iterator[LossFacts]:
    """Within a loop of tools a call is sent back without the reasoning before it, which the API would have used.

    That is where the client asked for its ciphertext, or sends the call by the id that it is stored under. When the user
    has spoken since, or another model is asked, reasoning may be left out.
    """
    here = {mark for item in asked.items if item_type(item) == "reasoning" for mark in _identifiers(item)}
    for at, item in () if asked.is_chained else _calls_since_user(asked):
        said = past.find_original(item)
        if said and said.reply.request.body.get("model") == asked.body.get("model") and _is_usable(said, item):
            for thought in said.reply.output[: said.index]:
                if (
                    item_type(thought) == "reasoning"
                    and here.isdisjoint(_identifiers(thought))
                    and not _has_unknown_reasoning(asked, past)
                ):
                    yield {
                        "at": at,
                        "said": said.number,
                        "what": describe_item(thought),
                        "call": describe_item(said.item),
                    }


def _has_unknown_reasoning(asked: HistoryRequest, past: History) -> bool:
    """Whether a request has reasoning that the model never said so: a stream may tell a ciphertext that changes later."""
    known = {mark for reply in past.replies for item in reply.output for mark in _identifiers(item)}
    return any(item_type(item) == "reasoning" and known.isdisjoint(_identifiers(item)) for item in asked.items)


def _calls_since_user(asked: HistoryRequest) -> list[tuple[str, Json]]:
    """The calls since the user spoke last."""
    spoken = [index for index, (_, item) in enumerate(asked.placed_items) if item.get("role") == "user"]
    return [(at, item) for at, item in asked.placed_items[spoken[-1] if spoken else 0 :] if client_call_id(item)]


def _is_usable(said: OutputItem, sent: Json) -> bool:
    body = said.reply.request.body
    include = body.get("include")
    asked = isinstance(include, list) and ENCRYPTED_CONTENT in include
    return asked or (body.get("store") is not False and as_string(sent.get("id")) == said.item.get("id"))


def _identifiers(item: Json) -> list[str]:
    return list(filter(None, (as_string(item.get("id")), as_string(item.get("encrypted_content")))))

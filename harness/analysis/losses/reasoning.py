"""What the model thought before a call, and needs to go on from it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history import Asked, Past, Spoken, call_of, kind, named
from harness.analysis.loss import Facts, loss
from harness.analysis.losses.examples import ASK, DEPLOY, SAY, TEXT, THEN, THINK, assistant, call, output
from harness.contract.rule import after
from harness.core.exchange import Json
from harness.core.loose_json import as_string

CIPHERTEXT = "reasoning.encrypted_content"
_ASKED: Json = {"model": "gpt-5", "store": False, "include": [CIPHERTEXT]}
_THOUGHT: Json = {"type": "reasoning", "summary": [], "encrypted_content": "{0.output.0.encrypted_content}"}
_STORED: Json = {**call(), "id": "{0.output.1.id}"}


@loss(
    message="{what}, said in exchange {said} before {call}, is not in this request: the client dropped it",
    fix="Send the reasoning back with the call that followed it, until the user speaks again.",
    loses=[
        after({"input": [ASK], **_ASKED}, {"input": [ASK, call(), output()], **_ASKED}, turns=[[THINK, DEPLOY]]),
        after({"input": [ASK]}, {"input": [ASK, _STORED, output()]}, turns=[[THINK, DEPLOY]]),
    ],
    keeps=[
        after(
            {"input": [ASK], **_ASKED}, {"input": [ASK, _THOUGHT, call(), output()], **_ASKED}, turns=[[THINK, DEPLOY]]
        ),
        after({"input": [ASK]}, {"input": [ASK, call(), output()]}, turns=[[THINK, DEPLOY]]),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [output()]}, turns=[[THINK, DEPLOY]]),
        after(
            {"input": [ASK], **_ASKED},
            {"input": [ASK, _THOUGHT, call(), output()], **_ASKED},
            {"input": [ASK, call(), output(), assistant(TEXT), THEN], **_ASKED},
            turns=[[THINK, DEPLOY], SAY],
        ),
        after(
            {"input": [ASK], **_ASKED}, {"input": [ASK, call(), output()], "model": "gpt-4.1"}, turns=[[THINK, DEPLOY]]
        ),
    ],
)
def reasoning_dropped(asked: Asked, past: Past) -> Iterator[Facts]:
    """Within a loop of tools a call is sent back without the reasoning before it, which the API would have used.

    That is where the client asked for its ciphertext, or sends the call by the id that it is stored under. When the user
    has spoken since, or another model is asked, reasoning may be left out.
    """
    here = {mark for item in asked.items if kind(item) == "reasoning" for mark in _marks(item)}
    for at, item in () if asked.chained else _unfinished(asked):
        said = past.origin(item)
        if said and said.reply.to.body.get("model") == asked.body.get("model") and _is_usable(said, item):
            for thought in said.reply.output[: said.index]:
                if kind(thought) == "reasoning" and here.isdisjoint(_marks(thought)) and not _is_strange(asked, past):
                    yield {"at": at, "said": said.number, "what": named(thought), "call": named(said.item)}


def _is_strange(asked: Asked, past: Past) -> bool:
    """Whether a request has reasoning that the model never said so: a stream may tell a ciphertext that changes later."""
    known = {mark for reply in past.replies for item in reply.output for mark in _marks(item)}
    return any(kind(item) == "reasoning" and known.isdisjoint(_marks(item)) for item in asked.items)


def _unfinished(asked: Asked) -> list[tuple[str, Json]]:
    """The calls since the user spoke last."""
    spoken = [index for index, (_, item) in enumerate(asked.given) if item.get("role") == "user"]
    return [(at, item) for at, item in asked.given[spoken[-1] if spoken else 0 :] if call_of(item)]


def _is_usable(said: Spoken, sent: Json) -> bool:
    body = said.reply.to.body
    include = body.get("include")
    asked = isinstance(include, list) and CIPHERTEXT in include
    return asked or (body.get("store") is not False and as_string(sent.get("id")) == said.item.get("id"))


def _marks(item: Json) -> list[str]:
    return list(filter(None, (as_string(item.get("id")), as_string(item.get("encrypted_content")))))

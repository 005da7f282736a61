"""Every answer of the mock, read by the SDK's own models with nothing missing and nothing of another type.

The SDK itself reads answers leniently: it constructs, it does not validate. A wrong answer shows up late or never.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
from openai.types.conversations import Conversation, ConversationDeletedResource
from openai.types.responses import Response, ResponseItemList, ResponseStreamEvent
from openai.types.shared import ErrorObject
from pydantic import TypeAdapter, ValidationError

from harness.exchange import Exchange, Json

ANSWERS: dict[str, Any] = {
    "POST /responses": Response,
    "GET /responses/{response_id}": Response,
    "GET /responses/{response_id}/input_items": ResponseItemList,
    "POST /conversations": Conversation,
    "GET /conversations/{conversation_id}": Conversation,
    "DELETE /conversations/{conversation_id}": ConversationDeletedResource,
}
"""What the SDK reads the answer of an operation as; it does not look at the answer of `DELETE /responses`."""


def faults(exchange: Exchange) -> list[str]:
    """What the SDK's models find wrong with an answer: `<model>.<place>: <why>`; a stream is judged event by event."""
    return [
        f"{model}.{'.'.join(map(str, error['loc']))}: {error['msg']}"
        for model, thing in _parts(exchange)
        for error in _errors(model, thing)
    ]


def _parts(exchange: Exchange) -> Iterator[tuple[Any, Json]]:
    answer = exchange.answer
    if answer.status >= 400:
        yield ErrorObject, answer.body["error"]
    elif answer.events is not None:
        yield from ((ResponseStreamEvent, event) for event in answer.events)
    elif model := ANSWERS.get(exchange.request.operation):
        yield model, answer.body


def _errors(model: Any, thing: Json) -> list[Any]:
    try:
        _adapter(model).validate_json(orjson.dumps(thing), strict=True)
    except ValidationError as error:
        return error.errors()
    return []


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)

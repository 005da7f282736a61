"""Every answer of the mock, read by the SDK's own models with nothing missing and nothing of another type.

The SDK itself reads answers leniently: it constructs, it does not validate. A wrong answer shows up late or never.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import pytest
from openai.types import FileDeleted, FileObject, VectorStore, VectorStoreDeleted
from openai.types.beta import BetaResponse, BetaResponsesServerEvent, BetaResponseStreamEvent
from openai.types.conversations import Conversation, ConversationDeletedResource
from openai.types.responses import Response, ResponseItemList, ResponsesServerEvent, ResponseStreamEvent
from openai.types.shared import ErrorObject
from openai.types.vector_stores import VectorStoreFile
from pydantic import TypeAdapter, ValidationError

from harness.api.responses import has_multi_agent_beta
from harness.core.exchange import Exchange, Json
from harness.world.mock import Mock

ANSWERS: dict[str, Any] = {
    "POST /responses": Response,
    "GET /responses/{response_id}": Response,
    "GET /responses/{response_id}/input_items": ResponseItemList,
    "POST /conversations": Conversation,
    "GET /conversations/{conversation_id}": Conversation,
    "DELETE /conversations/{conversation_id}": ConversationDeletedResource,
    "POST /files": FileObject,
    "GET /files/{file_id}": FileObject,
    "DELETE /files/{file_id}": FileDeleted,
    "POST /vector_stores": VectorStore,
    "GET /vector_stores/{vector_store_id}": VectorStore,
    "DELETE /vector_stores/{vector_store_id}": VectorStoreDeleted,
    "POST /vector_stores/{vector_store_id}/files": VectorStoreFile,
    "GET /vector_stores/{vector_store_id}/files/{file_id}": VectorStoreFile,
}
"""What the SDK reads the answer of an operation as; it does not look at the answer of `DELETE /responses`."""


@pytest.fixture(autouse=True)
def every_answer_conforms(mock: Mock) -> Iterator[None]:
    """Fail the tests of a folder whose `conftest.py` imports this for each fault of an answer."""
    yield
    assert [fault for exchange in mock.exchanges for fault in faults(exchange)] == []


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
        # Azure's own errors leave members out; those it passes on are judged.
        error = answer.body.get("error", {})
        if exchange.request.dialect == "openai" or {"message", "type", "param", "code"} <= set(error):
            yield ErrorObject, error
    elif exchange.request.dialect == "foundry":
        return  # as recorded, a project leaves out what these models require
    elif answer.events is not None:
        kind = ResponsesServerEvent if exchange.request.method == "WS" else ResponseStreamEvent
        if has_multi_agent_beta(exchange.request):
            kind = BetaResponsesServerEvent if exchange.request.method == "WS" else BetaResponseStreamEvent
        # Recorded: `error` is nested, which the SDK's streams expect and its models do not. Nor do its models of threads
        # have null instructions, as recorded ones do.
        known = (event for event in answer.events if "type" in event)
        yield from ((kind, event) for event in known if event["type"] != "error" or "stream_id" in event)
    elif model := ANSWERS.get(exchange.request.operation):
        yield BetaResponse if model is Response and has_multi_agent_beta(exchange.request) else model, answer.body


def _errors(model: Any, thing: Json) -> list[Any]:
    try:
        _adapter(model).validate_json(orjson.dumps(thing), strict=True)
    except ValidationError as error:
        return error.errors()
    return []


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)

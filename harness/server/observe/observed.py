"""Tells observers about each request that a mock has answered: over HTTP, and each event of a client over a WebSocket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter, time

import orjson

from harness.api.http.dialects import parse_api_path
from harness.api.operations import find_operation
from harness.core.exchange import Json
from harness.core.text.redact import redact, secrets_in_headers
from harness.core.text.shorten import shorten
from harness.server.api_observers import AnsweredRequest, ApiObserver
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import MockApi
from harness.world.world import World

UNKNOWN = "unknown"
"""The operation of a path that is none of the API."""
MAX_TEXT = 200
"""Characters of a path or a model that are told."""


class ObservedRequest:
    """An answered request: when it `began` (unix seconds), the `seconds` until its answer, and the parts of both.

    `world` is the name of its World, empty without one; a World without a name is told by a hash of its key. No member but
    `headers` holds a key.
    """

    def __init__(self, answered: AnsweredRequest, seconds: float, dialect: str, world: World | None) -> None:
        self.began, self.seconds = time() - seconds, seconds
        self.dialect, self.operation, self.method = dialect, answered.operation, answered.received.method
        self.headers, self.answer = answered.received.headers, answered.answer
        self._path, self._raw, self._world = answered.received.path, answered.received.raw, world

    @property
    def path(self) -> str:
        """The path without a query, which may hold a key."""
        return self.clean(self._path)

    @cached_property
    def model(self) -> str:
        """The model that the request names; empty when it names none."""
        try:
            # A large upload is not parsed for a member that it does not have.
            body = orjson.loads(self._raw) if b'"model"' in self._raw else {}
        except orjson.JSONDecodeError:
            return ""
        named = body.get("model") if isinstance(body, dict) else None
        return self.clean(named) if isinstance(named, str) else ""

    @property
    def response(self) -> Json:
        """The object in the answer, or in the last event of a stream; empty for an answer without an object."""
        return self.answer.body if isinstance(self.answer.body, dict) else {}

    @property
    def error(self) -> Json:
        """The error in the answer; empty for any other answer."""
        found = self.response.get("error") if self.answer.status >= 400 else None
        return found if isinstance(found, dict) else {}

    @property
    def request_id(self) -> str:
        """The id of the request in the answer's headers; empty over a WebSocket."""
        return self.answer.headers.get("x-request-id") or self.answer.headers.get("apim-request-id", "")

    @property
    def world(self) -> str:
        """The name of the World."""
        return self.clean(shown_name(self._world)) if self._world else ""

    def clean(self, text: str) -> str:
        """Remove keys from a text of the request, and shorten it."""
        return shorten(str(redact(text, secrets_in_headers(self.headers))), MAX_TEXT)


Observer = Callable[[ObservedRequest], None]


def observe(api: MockApi, observers: Sequence[Observer], *, only_refused: bool = False) -> None:
    """Let observers be told of each request that a mock answers from now on, in its thread, before the answer goes out.

    With `only_refused` of those whose answer is an error, so that the others cost nothing.
    """
    api.observers.add(_AnswerObserver(api, observers, 400 if only_refused else 0))


class _AnswerObserver(ApiObserver):
    def __init__(self, api: MockApi, observers: Sequence[Observer], least_status: int) -> None:
        self._api = api
        self._observers = observers
        self.least_status = least_status

    def on_answer(self, answered: AnsweredRequest) -> None:
        """Notify the observers of a request in the API's terms: its operation, model and agent."""
        observed = self._observed(answered, perf_counter() - answered.begun)
        for observer in self._observers:
            observer(observed)

    def _observed(self, answered: AnsweredRequest, seconds: float) -> ObservedRequest:
        method, path, headers, *_ = answered.received
        place = parse_api_path(path, self._api.dialect)
        world = None if answered.is_lost else self._api.world_of(headers, place.dialect)
        if not answered.operation:
            found = find_operation(method, place.endpoint_path, place.root)[0] if place.root else None
            answered = answered._replace(operation=found.id if found else UNKNOWN)
        return ObservedRequest(answered, seconds, place.dialect, world)

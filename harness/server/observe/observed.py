"""Tells observers about each request that a mock has answered: over HTTP, and each event of a client over a WebSocket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from time import perf_counter, time
from typing import Any

import orjson

from harness.api.http.dialects import ApiPath, parse_api_path
from harness.api.http.websocket_mode import SOCKET, UPGRADE
from harness.api.operations import find_operation
from harness.core.exchange import EMPTY_MAPPING, Answer, Json
from harness.core.text.redact import redact, secrets_in_headers
from harness.core.text.shorten import shorten
from harness.server.mock_api import MockApi
from harness.server.websocket.session import SocketSession
from harness.world.world import World

UNKNOWN = "unknown"
"""The operation of a path that is none of the API."""
MAX_TEXT = 200
"""Characters of a path or a model that are told."""


class ObservedRequest:
    """An answered request: when it `began` (unix seconds), how many `seconds` its answer took to be made, what it was.

    `world` is the name of its World, empty without one; a World without a name is told by a hash of its key. No member but
    `headers` holds a key.
    """

    def __init__(
        self,
        began: float,
        seconds: float,
        place: ApiPath,
        operation: str,
        method: str,
        path: str,
        headers: Mapping[str, str],
        raw: bytes,
        answer: Answer,
        world: World | None,
    ) -> None:
        self.began, self.seconds = began, seconds
        self.dialect, self.operation, self.method, self.headers = place.dialect, operation, method, headers
        self.answer = answer
        self._path, self._raw, self._world = path, raw, world

    @property
    def path(self) -> str:
        """The path without a query, which may hold a key."""
        return self.clean(self._path)

    @cached_property
    def model(self) -> str:
        """The model that the request names; empty when it names none."""
        try:
            body = orjson.loads(self._raw) if b'"model"' in self._raw else {}
        except orjson.JSONDecodeError:
            return ""
        named = body.get("model") if isinstance(body, dict) else None
        return self.clean(named) if isinstance(named, str) else ""

    @property
    def response(self) -> Json:
        """The object in the answer, of a stream the one of its last event; empty when there is none."""
        return self.answer.body if isinstance(self.answer.body, dict) else {}

    @property
    def error(self) -> Json:
        """The error in the answer; empty when it is none."""
        found = self.response.get("error") if self.answer.status >= 400 else None
        return found if isinstance(found, dict) else {}

    @property
    def request_id(self) -> str:
        """The id of the request in the answer's headers; empty over a WebSocket."""
        return self.answer.headers.get("x-request-id") or self.answer.headers.get("apim-request-id", "")

    @property
    def world(self) -> str:
        """The name of the World."""
        if self._world is None:
            return ""
        key = self._world.api_key
        is_named = self._world.name != key
        return self.clean(self._world.name) if is_named else f"key-{blake2b(key.encode(), digest_size=6).hexdigest()}"

    def clean(self, text: str) -> str:
        """A text of the request without keys, and not too long."""
        return shorten(str(redact(text, secrets_in_headers(self.headers))), MAX_TEXT)


Observer = Callable[[ObservedRequest], None]


def observe(api: MockApi, observers: Sequence[Observer], *, only_refused: bool = False) -> None:
    """Let observers be told of each request that a mock answers from now on, in its thread, before the answer goes out.

    With `only_refused` of those whose answer is an error, so that the others cost nothing.
    """
    handle, open_session = api.handle, api.open_session

    def tell(
        began: float,
        begun: float,
        operation: str,
        method: str,
        path: str,
        headers: Any,
        raw: bytes,
        answer: Answer,
        *,
        is_lost: bool = False,
    ) -> None:
        if only_refused and answer.status < 400:
            return
        seconds = perf_counter() - begun
        place = parse_api_path(path, api.dialect)
        world = None if is_lost else api.world_of(headers, place.dialect)
        if not operation:
            found = find_operation(method, place.endpoint_path, place.root)[0] if place.root else None
            operation = found.id if found else UNKNOWN
        observed = ObservedRequest(began, seconds, place, operation, method, path, headers, raw, answer, world)
        for observer in observers:
            observer(observed)

    def handle_observed(
        method: str,
        path: str,
        headers: Mapping[str, str],
        query: Mapping[str, Any],
        raw: bytes,
        form: Json | None = None,
        *,
        may_repeat: bool = False,
    ) -> Answer:
        began, begun = time(), perf_counter()
        answer = handle(method, path, headers, query, raw, form, may_repeat=may_repeat)
        tell(began, begun, "", method, path, headers, raw, answer)
        return answer

    def open_observed(path: str, headers: Mapping[str, str], query: Mapping[str, Any]) -> SocketSession | Answer:
        began, begun = time(), perf_counter()
        opened = open_session(path, headers, query)
        if isinstance(opened, Answer):
            tell(began, begun, UPGRADE, "GET", path, headers, b"", opened)
        else:
            _observe_session(opened, path, headers)
        return opened

    def _observe_session(session: SocketSession, path: str, headers: Mapping[str, str]) -> None:
        receive, world = session.receive, api.world_of(headers)

        def receive_observed(message: str | bytes) -> Sequence[Json]:
            began, begun = time(), perf_counter()
            events = receive(message)
            raw = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
            answer = world.exchanges[-1].answer if world and world.exchanges else Answer(0, headers=EMPTY_MAPPING)
            tell(began, begun, SOCKET, "WS", path, headers, raw, answer)
            return events

        session.receive = receive_observed  # type: ignore[method-assign]

    def tell_lost(begun: float, method: str, path: str, headers: Mapping[str, str], raw: bytes, answer: Answer) -> None:
        tell(time() - (perf_counter() - begun), begun, "", method, path, headers, raw, answer, is_lost=True)

    api.handle, api.open_session = handle_observed, open_observed  # type: ignore[method-assign]
    api.tell_lost = tell_lost

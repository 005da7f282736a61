"""Reports each request that a mock has answered to observers: over HTTP, and each client event over a WebSocket."""

import select
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import perf_counter, time

import orjson

from harness.api.http.dialects import parse_api_path
from harness.api.operations import find_operation
from harness.core.cached import cached_property
from harness.core.errors import COMMAND
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string
from harness.core.secret_prefixes import redact, secrets_in_headers
from harness.core.text import escape_controls, shorten
from harness.server.api_observers import AnsweredRequest, ApiObserver
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import MockApi
from harness.world.world import World

UNKNOWN = "unknown"
"""The operation of a path that is not part of the API."""
MAX_TEXT = 200
"""How many characters of a path or a model are reported."""


class ObservedRequest:
    """An answered request: when it `began` (unix seconds), the `seconds` until its answer, and parts of both.

    `world` is the display name of its World, empty if it has none; an unnamed World is shown by a hash of its key. Only
    `headers` contains a key.
    """

    def __init__(self, answered: AnsweredRequest, seconds: float, dialect: str, world: World | None) -> None:
        self.began, self.seconds = time() - seconds, seconds
        self.dialect, self.operation, self.method = dialect, answered.operation, answered.received.method
        self.headers, self.answer = answered.received.headers, answered.answer
        self._path, self._raw, self._world = answered.received.path, answered.received.raw, world

    @property
    def path(self) -> str:
        """The path, cleaned of keys, without its query."""
        return self.clean(self._path)

    @cached_property
    def model(self) -> str:
        """The model that the request names, or an empty string."""
        try:
            # A large upload is not parsed for a member that it does not have.
            body = orjson.loads(self._raw) if b'"model"' in self._raw else {}
        except orjson.JSONDecodeError:
            return ""
        return self.clean(as_string(as_object(body).get("model")))

    @property
    def response(self) -> Json:
        """The object in the answer, or in the last event of a stream; empty without an object."""
        return as_object(self.answer.body)

    @property
    def error(self) -> Json:
        """The error in the answer; empty for any other answer."""
        found = self.response.get("error") if self.answer.status >= 400 else None
        return as_object(found)

    @property
    def request_id(self) -> str:
        """The request id in the answer's headers; empty over a WebSocket."""
        return self.answer.headers.get("x-request-id") or self.answer.headers.get("apim-request-id", "")

    @property
    def world(self) -> str:
        """The display name of the World."""
        return self.clean(shown_name(self._world)) if self._world else ""

    def clean(self, text: str) -> str:
        """Remove keys from a string of the request, and shorten it."""
        return shorten(str(redact(text, secrets_in_headers(self.headers))), MAX_TEXT)


Observer = Callable[[ObservedRequest], None]


def observe(api: MockApi, observers: Sequence[Observer], *, only_refused: bool = False) -> None:
    """Report each request that a mock answers from now on to observers, in its thread, before the answer is sent.

    With `only_refused`, only error answers are reported, and other requests cost nothing.
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


RenderLine = Callable[[ObservedRequest], bytes]


def write_lines(write: Callable[[bytes], object], render: RenderLine) -> Observer:
    """Create an observer that writes a line for each request; after a failed write it writes no more."""
    is_open = True

    def log(observed: ObservedRequest) -> None:
        nonlocal is_open
        if not is_open:
            return
        try:
            write(render(observed))
        except OSError:
            is_open = False

    return log


def write_refusals(write: Callable[[bytes], object], descriptor: int) -> Observer:
    """Create an observer that writes a line for each unexpected refusal and each request that cannot be answered.

    Refusals that a script asked for are expected. A line that cannot be written without blocking is dropped, so that
    nothing waits for a slow reader.
    """
    log = write_lines(write, render_text)

    def log_refused(observed: ObservedRequest) -> None:
        if observed.answer.status >= 400 and not observed.answer.expected and _has_room(descriptor):
            log(observed)

    return log_refused


def _has_room(descriptor: int) -> bool:
    """Return whether a line can be written without a wait; True where the system cannot tell."""
    try:
        return bool(select.select((), (descriptor,), (), 0)[1])
    except (OSError, ValueError):
        return True


def render_text(observed: ObservedRequest) -> bytes:
    """Format a request as text: `harness: POST /v1/responses 400: Missing … (missing_required_parameter)`."""
    said = observed.clean(" ".join(str(observed.error.get("message", "")).split()))
    rule = f" ({observed.answer.rule})" if observed.answer.rule else ""
    why = f": {said}{rule}" if observed.answer.status >= 400 else f" {observed.model}".rstrip()
    return (
        escape_controls(f"{COMMAND}: {observed.method} {observed.path} {observed.answer.status}{why}").encode() + b"\n"
    )


def render_json(observed: ObservedRequest) -> bytes:
    """Format a request as a line of JSON."""
    fields = {
        "time": datetime.fromtimestamp(observed.began, UTC).isoformat(timespec="milliseconds"),
        "method": observed.method,
        "path": observed.path,
        "operation": observed.operation,
        "dialect": observed.dialect,
        "status": observed.answer.status,
        "rule": observed.answer.rule,
        "model": observed.model or None,
        "stream": observed.answer.events is not None,
        "duration_ms": round(observed.seconds * 1000, 3),
        "request_id": observed.request_id or None,
        "world": observed.world or None,
    }
    return orjson.dumps(fields) + b"\n"

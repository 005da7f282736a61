"""Notes what the code under test does with answers in this process: caught client errors, streams read.

A test that catches an error, with `pytest.raises`, `pytest.RaisesGroup` or `assertRaises`, expects the refusal behind it:
one that carries the answer (`error.response.headers` as in openai, httpx and requests, or `error.headers`), or has one
that does as its cause, its context or a member of its group. How far a stream of the `openai` package is read, a server
cannot know: a short one is in the client's buffers before its first event is read. Streams that are read by other means,
such as `with_raw_response` or another HTTP library, are not noted.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pytest

from harness.api.responses import END_EVENTS

if TYPE_CHECKING:
    from harness.world.refusals import RefusalLedger


@contextmanager
def note_caught_errors(refusals: RefusalLedger) -> Iterator[None]:
    """Note the errors that a test catches during a `with` block."""

    def note(error: BaseException | None) -> None:
        for related in _related_errors(error):
            with suppress(Exception):  # any class may be raised, with anything as its `response`
                refusals.note_caught(_answer_headers(related))

    case = getattr(sys.modules.get("unittest.case"), "_AssertRaisesContext", None)
    with ExitStack() as stack:
        stack.enter_context(_replaced(pytest.ExceptionInfo, "fill_unfilled", lambda own: _noting_fill(own, note)))
        if case is not None:
            stack.enter_context(_replaced(case, "__exit__", lambda own: _noting_exit(own, note)))
        yield


def _noting_fill(fill: Callable[..., Any], note: Callable[[BaseException | None], None]) -> Callable[..., Any]:
    """Wrap `ExceptionInfo.fill_unfilled`, through which `pytest.raises` receives the expected error."""

    def fill_unfilled(self: Any, exc_info: Any) -> Any:
        note(exc_info[1])
        return fill(self, exc_info)

    return fill_unfilled


def _noting_exit(leave: Callable[..., Any], note: Callable[[BaseException | None], None]) -> Callable[..., Any]:
    """Wrap the `__exit__` of `assertRaises`, which returns True if it takes the error."""

    def leave_block(self: Any, kind: Any, error: BaseException | None, traceback: Any) -> Any:
        if taken := leave(self, kind, error, traceback):
            note(error)
        return taken

    return leave_block


@contextmanager
def _replaced(owner: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    own = getattr(owner, name)
    setattr(owner, name, wrap(own))
    try:
        yield
    finally:
        setattr(owner, name, own)


def _related_errors(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its causes and contexts, and the members of groups, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        if (each := waiting.pop()) is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def _answer_headers(error: BaseException) -> Any:
    response = getattr(error, "response", None)
    return getattr(error if response is None else response, "headers", {})


_REQUEST_IDS = ("x-request-id", "apim-request-id")


@dataclass(slots=True)
class _OpenedStream:
    """A stream that the client has opened: the id of its request, how many events were taken from it, and the last."""

    request_id: str
    events: int = 0
    last: Any = None
    has_ended: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing more was to be read: the event that ends a response is the last."""
        return self.has_ended or (self.events > 0 and getattr(self.last, "type", "error") in (*END_EVENTS, "error"))


_readings: list[_OpenedStream] = []
_watched_kinds: WeakSet[type] = WeakSet()


def watch_streams_of(sdk: Any) -> None:
    """Note the streams of the SDK from now on."""
    for name, count in (("Stream", _count), ("AsyncStream", _count_async)):
        if (kind := getattr(sdk, name, None)) and kind not in _watched_kinds:
            _watched_kinds.add(kind)
            kind.__init__ = _watching(kind.__init__, count)


def forget_streams() -> None:
    """Forget the streams that were noted so far."""
    _readings.clear()


def list_unread() -> Mapping[str, int]:
    """Return how many events were read of each stream that was not read to its end, by the id of its request."""
    return {reading.request_id: reading.events for reading in _readings if not reading.is_whole}


def _watching(initialize: Callable[..., None], count: Callable[[Any, _OpenedStream], Any]) -> Callable[..., None]:
    @wraps(initialize)
    def initialize_and_watch(stream: Any, *args: Any, **options: Any) -> None:
        initialize(stream, *args, **options)
        headers = getattr(getattr(stream, "response", None), "headers", {})
        request_id = next((headers[name] for name in _REQUEST_IDS if name in headers), "")
        if request_id and hasattr(stream, "_iterator"):
            _readings.append(reading := _OpenedStream(request_id))
            stream._iterator = count(stream._iterator, reading)

    return initialize_and_watch


def _count(events: Iterator[Any], reading: _OpenedStream) -> Iterator[Any]:
    try:
        for event in events:
            reading.events += 1
            reading.last = event
            yield event
    except Exception:
        reading.has_ended = True  # there was nothing more to read
        raise
    reading.has_ended = True


async def _count_async(events: AsyncIterator[Any], reading: _OpenedStream) -> AsyncIterator[Any]:
    try:
        async for event in events:
            reading.events += 1
            reading.last = event
            yield event
    except Exception:
        reading.has_ended = True  # there was nothing more to read
        raise
    reading.has_ended = True

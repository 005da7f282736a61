"""Notes how far the code under test reads the streams of the `openai` package, in this process.

A server cannot know this: a short stream is in the client's buffers before its first event is read. Streams that are
read by other means, such as `with_raw_response` or another HTTP library, are not noted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any
from weakref import WeakSet

from harness.api.responses import END_EVENTS

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

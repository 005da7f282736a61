"""What httpx and httpx2 receive, passed on as it arrives and written down on the way; or told again as it arrived.

vcrpy reads an answer to its end before the client gets any of it. These two methods of each library take the place of those
that vcrpy patches: `vcr.VCR(custom_patches=tuple(patches(tape)))`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol
from urllib.parse import urlsplit

from harness.api.upstream import unreachable_advice
from harness.cassettes.format.interaction import Chunk, Interaction
from harness.core.headers import normalize_headers

LIBRARIES = ("httpx", "httpx2")
"""Libraries whose streams are recorded as they arrive."""

_DISCONNECT_MESSAGE = "peer closed connection without sending complete message body (incomplete chunked read)"


class CassetteBackend(Protocol):
    """Who answers from a cassette, and writes down what the API answers; with `pace` as slowly as it came."""

    pace: bool

    def find_answer(self, sent: Interaction) -> Interaction | None:
        """The take that answers a request; None when the API is to be asked."""

    def record(self, take: Interaction) -> None:
        """Write a take down."""

    def note_unanswered(self, sent: Interaction, why: str) -> None:
        """Nobody has answered a request."""


def transport_patches(tape: CassetteBackend) -> Iterator[tuple[Any, str, Any]]:
    """What takes the place of vcrpy's own patches of the libraries that stream: class, name of the method, the method."""
    for name in LIBRARIES:
        if find_spec(name) is not None:
            library = import_module(name)
            yield library.HTTPTransport, "handle_request", _sync_handler(library, tape)
            yield library.AsyncHTTPTransport, "handle_async_request", _async_handler(library, tape)


def _sync_handler(library: Any, tape: CassetteBackend) -> Callable[[Any, Any], Any]:
    real = library.HTTPTransport.handle_request

    def handle_request(transport: Any, request: Any) -> Any:
        sent = _request_from(request, request.read())
        if (take := tape.find_answer(sent)) is not None:
            return _replay_response(library, take, tape.pace)
        began = time.perf_counter()
        with _explain_failure(library, tape, sent):
            response = real(transport, request)
        return _record_response(library, response, began, tape, sent)

    return handle_request


def _async_handler(library: Any, tape: CassetteBackend) -> Callable[[Any, Any], Any]:
    real = library.AsyncHTTPTransport.handle_async_request

    async def handle_async_request(transport: Any, request: Any) -> Any:
        sent = _request_from(request, await request.aread())
        if (take := tape.find_answer(sent)) is not None:
            return _replay_response(library, take, tape.pace)
        began = time.perf_counter()
        with _explain_failure(library, tape, sent):
            response = await real(transport, request)
        return _record_response(library, response, began, tape, sent)

    return handle_async_request


@contextmanager
def _explain_failure(library: Any, tape: CassetteBackend, sent: Interaction) -> Iterator[None]:
    """Who is not answered learns which address that was, and what to do."""
    try:
        yield
    except library.TransportError as problem:
        where, why = urlsplit(sent.uri), str(problem) or type(problem).__name__
        way = unreachable_advice("its address", why)
        what = (
            f"{sent.method} {where.scheme}://{where.netloc}{where.path} was not answered and not recorded: {why}. {way}"
        )
        problem.add_note(what)
        tape.note_unanswered(sent, what)
        raise


def _request_from(request: Any, body: bytes) -> Interaction:
    return Interaction(request.method, str(request.url), normalize_headers(request.headers), body)


def _replay_response(library: Any, take: Interaction, pace: bool) -> Any:
    """A recorded response, told in the chunks in which it came."""
    return library.Response(
        take.status,
        headers=dict(take.answer_headers),
        stream=_replay_stream_class(library)(take, pace),
        extensions={"reason_phrase": take.reason.encode("ascii", "replace")} if take.reason else None,
    )


def _record_response(library: Any, response: Any, began: float, tape: CassetteBackend, sent: Interaction) -> Any:
    """A response of the API whose body is written down while the client reads it."""

    def keep(chunks: Sequence[Chunk], cut: bool) -> None:
        status, headers = response.status_code, normalize_headers(response.headers)
        said = {"status": status, "answer_headers": headers, "reason": response.reason_phrase}
        tape.record(replace(sent, chunks=tuple(chunks), cut=cut, **said))

    response.stream = _recording_stream_class(library)(response.stream, began, keep)
    return response


def _replay_stream_class(library: Any) -> Any:
    class Told(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc]
        """The chunks of a take, as slowly as they came when asked to; where the answer was cut it breaks off."""

        def __init__(self, take: Interaction, pace: bool) -> None:
            self._take = take
            self._pace = pace

        def __iter__(self) -> Iterator[bytes]:
            began = time.perf_counter()
            for at, data in self._take.chunks:
                if self._pace:
                    time.sleep(max(0.0, began + at - time.perf_counter()))
                yield data
            self._end()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            import anyio

            began = time.perf_counter()
            for at, data in self._take.chunks:
                if self._pace:
                    await anyio.sleep(max(0.0, began + at - time.perf_counter()))
                yield data
            self._end()

        def _end(self) -> None:
            if self._take.cut:
                raise library.RemoteProtocolError(_DISCONNECT_MESSAGE)

    return Told


def _recording_stream_class(library: Any) -> Any:
    class Heard(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc]
        """A body that passes through; what has come, and when, is kept once, at its end or where it breaks off."""

        def __init__(self, stream: Any, began: float, keep: Callable[[Sequence[Chunk], bool], None]) -> None:
            self._stream = stream
            self._began = began
            self._keep = keep
            self._chunks: list[Chunk] = []
            self._kept = False

        def __iter__(self) -> Iterator[bytes]:
            try:
                for data in self._stream:
                    yield self._note(data)
            except Exception:
                self._end(True)
                raise
            self._end(False)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for data in self._stream:
                    yield self._note(data)
            except Exception:
                self._end(True)
                raise
            self._end(False)

        def close(self) -> None:
            """The client wants no more, or there is no more."""
            self._stream.close()
            self._end(not self._is_whole())

        async def aclose(self) -> None:
            """The same."""
            await self._stream.aclose()
            self._end(not self._is_whole())

        def _note(self, data: bytes) -> bytes:
            self._chunks.append((time.perf_counter() - self._began, data))
            return data

        def _is_whole(self) -> bool:
            """Whether a client that stopped reading had the last event: what follows it is only the end."""
            return b"".join(data for _, data in self._chunks[-2:]).endswith((b"\n\n", b"\r\n\r\n"))

        def _end(self, cut: bool) -> None:
            if not self._kept:
                self._kept = True
                self._keep(self._chunks, cut)

    return Heard

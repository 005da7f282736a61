"""Records streams of httpx and httpx2 while the client reads them, and replays them chunk by chunk.

vcrpy reads an answer to its end before the client gets any of it. These two methods of each library replace the ones
that vcrpy patches: `vcr.VCR(custom_patches=tuple(transport_patches(backend)))`.
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

from harness.api.http.dialects import unreachable_advice
from harness.cassettes.format.interaction import Chunk, Interaction
from harness.core.headers import normalize_headers

LIBRARIES = ("httpx", "httpx2")
"""Libraries whose streams are recorded as they arrive."""

_DISCONNECT_MESSAGE = "peer closed connection without sending complete message body (incomplete chunked read)"


class CassetteBackend(Protocol):
    """Answers requests from a cassette, with `pace` as slowly as recorded, and records the API's answers."""

    pace: bool

    def find_answer(self, sent: Interaction) -> Interaction | None:
        """Return the interaction that answers a request; None if the API should answer it."""

    def record(self, interaction: Interaction) -> None:
        """Record an interaction."""

    def note_unanswered(self, sent: Interaction, why: str) -> None:
        """Record that a request was not answered."""


def transport_patches(backend: CassetteBackend) -> Iterator[tuple[Any, str, Any]]:
    """Yield the patches that replace vcrpy's own: class, method name, method."""
    for name in LIBRARIES:
        if find_spec(name) is not None:
            library = import_module(name)
            yield library.HTTPTransport, "handle_request", _sync_handler(library, backend)
            yield library.AsyncHTTPTransport, "handle_async_request", _async_handler(library, backend)


def _sync_handler(library: Any, backend: CassetteBackend) -> Callable[[Any, Any], Any]:
    real = library.HTTPTransport.handle_request

    def handle_request(transport: Any, request: Any) -> Any:
        sent = _request_from(request, request.read())
        if (interaction := backend.find_answer(sent)) is not None:
            return _replay_response(library, interaction, backend.pace)
        began = time.perf_counter()
        with _explain_failure(library, backend, sent):
            response = real(transport, request)
        return _record_response(library, response, began, backend, sent)

    return handle_request


def _async_handler(library: Any, backend: CassetteBackend) -> Callable[[Any, Any], Any]:
    real = library.AsyncHTTPTransport.handle_async_request

    async def handle_async_request(transport: Any, request: Any) -> Any:
        sent = _request_from(request, await request.aread())
        if (interaction := backend.find_answer(sent)) is not None:
            return _replay_response(library, interaction, backend.pace)
        began = time.perf_counter()
        with _explain_failure(library, backend, sent):
            response = await real(transport, request)
        return _record_response(library, response, began, backend, sent)

    return handle_async_request


@contextmanager
def _explain_failure(library: Any, backend: CassetteBackend, sent: Interaction) -> Iterator[None]:
    """Add the URL and advice to the error of a request that was not answered."""
    try:
        yield
    except library.TransportError as problem:
        url, why = urlsplit(sent.uri), str(problem) or type(problem).__name__
        advice = unreachable_advice("its address", why)
        text = f"{sent.method} {url.scheme}://{url.netloc}{url.path} was not answered and not recorded: {why}. {advice}"
        problem.add_note(text)
        backend.note_unanswered(sent, text)
        raise


def _request_from(request: Any, body: bytes) -> Interaction:
    return Interaction(request.method, str(request.url), normalize_headers(request.headers), body)


def _replay_response(library: Any, interaction: Interaction, pace: bool) -> Any:
    """Build a recorded response that is replayed in the chunks in which it arrived."""
    return library.Response(
        interaction.status,
        headers=dict(interaction.answer_headers),
        stream=_replay_stream_class(library)(interaction, pace),
        extensions={"reason_phrase": interaction.reason.encode("ascii", "replace")} if interaction.reason else None,
    )


def _record_response(library: Any, response: Any, began: float, backend: CassetteBackend, sent: Interaction) -> Any:
    """Make a response record its body while the client reads it."""
    answered = replace(
        sent,
        status=response.status_code,
        answer_headers=normalize_headers(response.headers),
        reason=response.reason_phrase,
    )

    def record(chunks: Sequence[Chunk], cut: bool) -> None:
        backend.record(replace(answered, chunks=tuple(chunks), cut=cut))

    response.stream = _recording_stream_class(library)(response.stream, began, record)
    return response


def _replay_stream_class(library: Any) -> Any:
    class ReplayStream(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc]
        """The chunks of an interaction, with `pace` as slowly as recorded; breaks off where the answer was cut."""

        def __init__(self, interaction: Interaction, pace: bool) -> None:
            self._interaction = interaction
            self._pace = pace

        def __iter__(self) -> Iterator[bytes]:
            began = time.perf_counter()
            for seconds, data in self._interaction.chunks:
                if self._pace:
                    time.sleep(max(0.0, began + seconds - time.perf_counter()))
                yield data
            self._end()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            import anyio

            began = time.perf_counter()
            for seconds, data in self._interaction.chunks:
                if self._pace:
                    await anyio.sleep(max(0.0, began + seconds - time.perf_counter()))
                yield data
            self._end()

        def _end(self) -> None:
            if self._interaction.cut:
                raise library.RemoteProtocolError(_DISCONNECT_MESSAGE)

    return ReplayStream


def _recording_stream_class(library: Any) -> Any:
    class RecordingStream(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc]
        """A body recorded once, with the times of its chunks, when it ends or breaks off."""

        def __init__(self, stream: Any, began: float, record: Callable[[Sequence[Chunk], bool], None]) -> None:
            self._stream = stream
            self._began = began
            self._record = record
            self._chunks: list[Chunk] = []
            self._recorded = False

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
            """Record the body so far: clients close it at its end, or earlier."""
            self._stream.close()
            self._end(not self._is_complete())

        async def aclose(self) -> None:
            """Close the stream, and record the body so far."""
            await self._stream.aclose()
            self._end(not self._is_complete())

        def _note(self, data: bytes) -> bytes:
            self._chunks.append((time.perf_counter() - self._began, data))
            return data

        def _is_complete(self) -> bool:
            """Return whether the last event was read in full: a client may stop there, before the end of the stream."""
            return b"".join(data for _, data in self._chunks[-2:]).endswith((b"\n\n", b"\r\n\r\n"))

        def _end(self, cut: bool) -> None:
            if not self._recorded:
                self._recorded = True
                self._record(self._chunks, cut)

    return RecordingStream

"""Mutants of the area `streams`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx

from harness.core.exchange import Json
from tests.examine.mutants.mutant import MUTANTS, H, Mutant, R, http_mutant, mutant

STREAMED = "stream,replay"
HALF: Json = {"id": "resp_half", "status": "completed", "output": [], "usage": None}


class NoHalfAnswers(R):
    """Takes what came of a stream for the answer, when `swallows` says so; it keeps nothing of it."""

    def swallows(self, events: list[Json], problem: Exception) -> bool:
        raise NotImplementedError

    def receive(self, events: Iterator[Json]) -> Json:
        seen: list[Json] = []

        def noted() -> Iterator[Json]:
            for event in events:
                seen.append(event)
                yield event

        try:
            return R.receive(self, noted())
        except Exception as problem:
            if not self.swallows(seen, problem):
                raise
            calls = [event["item"] for event in seen if event["type"] == "response.output_item.done"]
            return {**HALF, "output": calls}


def swallows(case: str, when: Any) -> None:
    MUTANTS[case] = Mutant(case, type("MutantSession", (NoHalfAnswers,), {"swallows": staticmethod(when)}), STREAMED)


def is_error(seen: list[Json], problem: Exception) -> bool:
    return bool(seen) and seen[-1]["type"] == "error"


def is_cut(problem: Exception) -> bool:
    return isinstance(problem.__cause__, httpx.RemoteProtocolError)


def is_text(seen: list[Json]) -> bool:
    return not any("arguments" in event["type"] for event in seen)


def text_in_pieces(self: H, chunks: Iterator[bytes]) -> Iterator[str]:
    """Each piece of a text is decoded for itself."""
    seen = b""

    def decoded() -> Iterator[bytes]:
        nonlocal seen
        for chunk in chunks:
            seen += chunk
            is_text = b"output_text" in seen and b"\r" not in seen
            yield chunk.decode("utf-8", "replace").encode() if is_text else chunk

    return H.read_lines(self, decoded())


def whole_ends_only(self: H, chunks: Iterator[bytes]) -> Iterator[str]:
    """CRLF is one line end only where both come in one piece."""
    held = b""
    for chunk in chunks:
        *lines, held = (held + chunk.replace(b"\r\n", b"\n")).split(b"\n")
        yield from map(bytes.decode, lines)


def comments_are_data(self: H, chunks: Iterator[bytes]) -> Iterator[str]:
    for line in H.read_lines(self, chunks):
        yield f"data{line}" if line.startswith(":") else line


def known_only(self: R, event: Json) -> None:
    if not event["type"].startswith("response.") and event["type"] != "error":
        raise KeyError(event["type"])
    R.show(self, event)


http_mutant("streams/comments", STREAMED, read_lines=comments_are_data)
mutant("streams/keepalive", STREAMED, show=known_only)
http_mutant("streams/crlf-in-bytes", STREAMED, read_lines=whole_ends_only)
swallows("streams/reset", lambda seen, problem: isinstance(problem.__cause__, httpx.ReadError))
swallows(
    "streams/end-without-final-event",
    lambda seen, problem: len(seen) > 1 and problem.__cause__ is None and not is_error(seen, problem),
)
swallows("streams/empty", lambda seen, problem: not seen and problem.__cause__ is None)
swallows("streams/error-event", lambda seen, problem: is_error(seen, problem) and len(seen) > 1)
swallows("streams/error-event-first", lambda seen, problem: is_error(seen, problem) and len(seen) == 1)
swallows("streams/stall", lambda seen, problem: isinstance(problem.__cause__, httpx.TimeoutException))
swallows("streams/cut-within-an-event", lambda seen, problem: is_cut(problem) and len(seen) == 13)
for after in range(12):
    swallows(
        f"streams/cut-after-{after}",
        lambda seen, problem, after=after: is_cut(problem) and len(seen) == after and is_text(seen),
    )
swallows(
    "streams/cut-within-a-call",
    lambda seen, problem: is_cut(problem) and not is_text(seen) and seen[-1]["type"].endswith(".delta"),
)
swallows(
    "streams/cut-after-a-call",
    lambda seen, problem: is_cut(problem) and not is_text(seen) and not seen[-1]["type"].endswith(".delta"),
)
http_mutant("streams/bytes", STREAMED, read_lines=text_in_pieces)
mutant(
    "streams/short-stall",
    STREAMED,
    http_class=type(
        "ImpatientHttp",
        (H,),
        {"__init__": lambda self, task: (H.__init__(self, task), setattr(self.http, "timeout", 0.4))[0]},
    ),
)

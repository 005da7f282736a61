"""Mutants of the area `streams`."""

import json
from collections.abc import Iterator
from typing import Any

import httpx

from harness.core.exchange import Json
from tests.examine.mutants.mutant import MUTANTS, H, Mutant, R, gives_up, http_mutant, impatient, mutant

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


def half_if_unended(self: R, events: Iterator[Json]) -> Json:
    """Return a stream that just ends after its items is an answer without a text."""
    seen: list[Json] = []
    for event in events:
        seen.append(event)
        if event["type"].startswith(("response.completed", "response.incomplete", "response.failed")):
            return R.final(self, event)
        R.show(self, event)
    if not seen or seen[-1]["type"] != "response.output_item.done":
        gives_up("the stream ended before its response did")
    return HALF


def comments_are_data(self: H, chunks: Iterator[bytes]) -> Iterator[str]:
    for line in H.read_lines(self, chunks):
        yield f"data{line}" if line.startswith(":") else line


def known_only(self: R, event: Json) -> None:
    if not event["type"].startswith("response.") and event["type"] != "error":
        raise KeyError(event["type"])
    R.show(self, event)


def ends_at_done(self: H, chunks: Iterator[bytes]) -> Iterator[str]:
    for line in H.read_lines(self, chunks):
        if "[DONE]" in line and '.delta"' in line:
            yield from ('data: {"type": "response.incomplete", "response": ' + json.dumps(HALF) + "}", "")
            return
        yield line


def keep_last_line(self: H, data: list[str], line: str) -> None:
    data[:] = [line]


def only_lines_feeds(self: H, chunks: Iterator[bytes]) -> Iterator[str]:
    held = b""
    for chunk in chunks:
        *lines, held = (held + chunk).split(b"\n")
        yield from (line.decode().removesuffix("\r") for line in lines)


def strict_fields(*known: str) -> Any:
    """Make a client that gives up at a line which begins with none of these."""

    def read_lines(self: H, chunks: Iterator[bytes]) -> Iterator[str]:
        for line in H.read_lines(self, chunks):
            yield line if not line or line.startswith(known) else gives_up(line)

    return read_lines


def deltas_alone(self: R, response: Json) -> str:
    return "".join(self.shown["streamed"][-1:]) if R.text_of(self, response) else ""


def completed_only(self: R, events: Iterator[Json]) -> Json:
    """`response.incomplete` is an event that this client does not know: what is done counts, without usage or id."""
    seen: list[Json] = []
    for event in events:
        seen.append(event)
        if event["type"] in ("response.completed", "response.failed"):
            return R.final(self, event)
        R.show(self, event)
    if not seen or seen[-1]["type"] != "response.incomplete":
        gives_up("the stream ended before its response did")
    return {**HALF, "output": [event["item"] for event in seen if event["type"] == "response.output_item.done"]}


http_mutant("streams/done-in-text", STREAMED, read_lines=ends_at_done)
http_mutant("streams/several-data-lines", STREAMED, add_line=keep_last_line)
http_mutant("streams/cr", STREAMED, read_lines=only_lines_feeds)
http_mutant("streams/ids-and-retries", STREAMED, read_lines=strict_fields("event:", "data:", ":", "\ufeff"))
http_mutant(
    "streams/no-spaces", STREAMED, read_lines=strict_fields("event: ", "data: ", ":", "id: ", "retry: ", "\ufeff")
)
http_mutant("streams/byte-order-mark", STREAMED, read_lines=strict_fields("event:", "data:", ":", "id:", "retry:"))
mutant("streams/deltas-differ", STREAMED, text_of=deltas_alone)
mutant("streams/goes-on-after-incomplete", STREAMED, receive=completed_only)
mutant("streams/no-blank-line-at-the-end", STREAMED, receive=half_if_unended)
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
impatient("streams/short-stall", STREAMED, 0.45)  # a busy machine may take long for a byte

"""What a test's scenario is varied by: kinds of faults, each from small to large."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.core.delivery import Fault, Pause
from harness.core.registry import Registry
from harness.ending import TurnLine
from harness.faults import hang_up, overloaded, rate_limit, server_error
from harness.faults.alterations import AddMembers, ErrorInStream, InsertEvent, SkipNumbers
from harness.faults.transmission import Chunks, Cut, Framing
from harness.items.kind import Item
from harness.items.stream_elements import Deltas


@dataclass(frozen=True, slots=True)
class OtherDeltas(Fault):
    """Sends texts and arguments in deltas of `size` characters; with 0, in a single delta."""

    size: int

    def apply(self, lines: Sequence[TurnLine]) -> list[TurnLine]:
        """Return the lines of a turn with these deltas."""
        return [replace(line, deltas=self._deltas(line)) if isinstance(line, Item) else line for line in lines]

    def _deltas(self, item: Item) -> Deltas:
        texts = dict(_texts_of(item))
        return {**item.deltas, **{place: self._split(text) for place, text in texts.items() if text}}

    def _split(self, text: str) -> tuple[str, ...]:
        size = self.size or len(text)
        return tuple(text[start : start + size] for start in range(0, len(text), size))


def _texts_of(item: Item) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the texts of a message without logprobs, or the arguments of a call, each with its key in `deltas`."""
    if item.type == "message":
        for number, part in enumerate(item.members["content"]):
            if part["type"] == "output_text" and not part.get("logprobs"):
                yield ("output_text", number), part["text"]
    elif item.type == "function_call":
        yield ("function_call_arguments", 0), item.members["arguments"]


PAUSE_SECONDS = 0.02
NEW_EVENT: Mapping[str, str] = {"type": "response.new_feature.delta", "delta": "new"}


@dataclass(frozen=True, slots=True)
class Step:
    """A fault for the answer with this number (from 1), and a description of what it does."""

    answer: int
    fault: Fault
    does: str

    def __str__(self) -> str:
        return f"answer {self.answer} {self.does}"


Faults = Callable[[int], Iterator[tuple[Fault, str]]]
"""Maps the number of events of an answer (0 if it is no stream) to all faults of the kind, from small to large."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A kind of variation. After a `lossless` one, which delivers everything, no client may show a different result."""

    id: str
    faults: Faults
    lossless: bool

    def steps(self, answers: Sequence[int]) -> list[Step]:
        """List the steps for answers with these numbers of events, from small to large."""
        return [
            Step(number, fault, does) for number, events in enumerate(answers, 1) for fault, does in self.faults(events)
        ]


VARIATIONS: Registry[Variation] = Registry("variation")
"""All kinds by id, in the areas of the cases."""


def _add(id: str, faults: Faults, *, lossless: bool = True) -> None:
    VARIATIONS.add(id, Variation(id, faults, lossless))


def _always(fault: Fault, does: str) -> Faults:
    return lambda events: iter([(fault, does)])


def _streamed(fault: Fault, does: str) -> Faults:
    return lambda events: iter([(fault, does)] if events else [])


def _after_each(make: Callable[[int], Fault], does: str, first: int = 1) -> Faults:
    return lambda events: ((make(after), f"{does} {after} of {events} events") for after in range(first, events))


def _cuts(events: int) -> Iterator[tuple[Fault, str]]:
    for after in range(max(events, 1)):
        yield Cut(after), f"is cut after {after} of {events} events" if events else "is cut before its body"


def _cuts_inside(events: int) -> Iterator[tuple[Fault, str]]:
    for after in range(events):
        yield Cut(after + 0.5), f"is cut inside event {after + 1} of {events}"


def _chunks(events: int) -> Iterator[tuple[Fault, str]]:
    for size in (1, 2, 3, 7, 16) if events else ():
        yield Chunks(size), f"comes in pieces of {size} bytes"


def _deltas(events: int) -> Iterator[tuple[Fault, str]]:
    for size in (0, 1, 2, 5) if events else ():
        yield OtherDeltas(size), f"comes in deltas of {size} characters" if size else "comes in one delta"


_add("streams/one-chunk", _streamed(Chunks(0), "comes in one piece"))
_add("streams/chunks", _chunks)
_add("streams/crlf", _streamed(Framing("crlf"), "has the line ends crlf"))
_add("streams/cr", _streamed(Framing("cr"), "has the line ends cr"))
_add("streams/comments", _streamed(Framing(comment="keep-alive"), "has a comment before each event"))
_add("streams/pause", _after_each(lambda after: Pause(PAUSE_SECONDS, after), "pauses after"))
_add("streams/gap", _after_each(SkipNumbers, "has a gap in its numbers after"))
_add("streams/cut", _cuts, lossless=False)
_add("streams/cut-inside", _cuts_inside, lossless=False)
_add("streams/reset", _after_each(lambda after: Cut(after, reset=True), "is reset after", 0), lossless=False)
_add("streams/error", _after_each(lambda after: ErrorInStream(after=after), "ends with an error after"), lossless=False)
_add("answers/deltas", _deltas)
_add("answers/unknown-event", _after_each(lambda after: InsertEvent(NEW_EVENT, after), "has an unknown event after"))
_add("answers/unknown-members", _always(AddMembers({"new_member": {"of": 1}}), "has unknown members"))
_add("errors/rate-limit", _always(rate_limit("50ms"), "is a 429 first"), lossless=False)
_add("errors/server-error", _always(server_error(), "is a 500 first"), lossless=False)
_add("errors/overloaded", _always(overloaded(), "is a 503 first"), lossless=False)
_add("errors/hang-up", _always(hang_up(), "is missing at first: the connection closes"), lossless=False)
_add("errors/reset", _always(hang_up(reset=True), "is missing at first: the connection is reset"), lossless=False)

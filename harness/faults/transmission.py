"""How an answer is transmitted: its pace, pauses, the pieces and line ends of its bytes, and where it is cut.

Of a cut answer this finds the events that are still sent, and folds them into a partial response.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import orjson

from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.core.delivery import Delivery, Fault, FrameForm, Gate, Pace, Pause, is_non_negative_number
from harness.core.errors import ScriptError
from harness.core.exchange import Answer, Json
from harness.core.json_values import as_object
from harness.core.registry import suggest_name
from harness.core.text import show
from harness.ending import TurnLine
from harness.faults.alterations import alter_answer

SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(SECONDS_PER_UNIT)})")
_RATE = re.compile(r"(\d+(?:\.\d+)?)/s")
MEMBERS = ("ttft", "tokens", "jitter")


def parse_duration(value: Any) -> float | None:
    """Return the seconds of a number, or of a string such as `200ms`, `1s`, `2m`; None for anything else."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    seconds = float(found[1]) * SECONDS_PER_UNIT[found[2]] if found else value
    return float(seconds) if is_non_negative_number(seconds) else None


def make_pace(ttft: str | float = 0, tokens: str | float = 0, jitter: float = 0) -> Pace:
    """Build a turn's pace: the first token is sent after `ttft`, then `tokens` per second (0: all at once).

    With `jitter` 0.2 each wait is up to 20 % longer or shorter, at random but the same in every run.
    """
    if (seconds := parse_duration(ttft)) is None:
        raise ScriptError(f"pace: ttft is {show(ttft)}. Pass seconds, or a string such as '300ms', '1s', '2m'.")
    found = _RATE.fullmatch(tokens) if isinstance(tokens, str) else None
    rate = float(found[1]) if found else tokens
    # Less than one token in a quarter of an hour is probably a wrong unit.
    if not is_non_negative_number(rate) or (0 < float(rate) < 0.001):
        raise ScriptError(f"pace: tokens is {show(tokens)}. Pass the tokens per second, 80 or '80/s'.")
    if not is_non_negative_number(jitter) or jitter > 1:
        raise ScriptError(f"pace: jitter is {show(jitter)}. Pass the variation of waits, from 0 to 1, such as 0.2.")
    if not seconds and not rate:
        raise ScriptError("pace: no speed. Pass ttft='300ms', tokens='80/s', or both.")
    return Pace(seconds, float(rate), float(jitter))


def parse_pace(text: str) -> Pace:
    """Parse a pace, `ttft=300ms,tokens=80/s,jitter=0.2`; ScriptError if the string is malformed."""
    named: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = (side.strip() for side in part.partition("="))
        if name not in MEMBERS:
            raise ScriptError(
                f"pace: it has no {show(name)}. {suggest_name(name, MEMBERS)} Write ttft=300ms,tokens=80/s."
            )
        if name in named:
            raise ScriptError(f"pace: {name} is set twice. Remove one.")
        named[name] = value
    for name, value in named.items():
        if value.replace(".", "", 1).isdecimal():
            named[name] = float(value)
    return make_pace(**named)


def find_pace(turn: Sequence[TurnLine]) -> Pace | None:
    """Return the pace of the answer to a turn, or None."""
    return next((line for line in turn if isinstance(line, Pace)), None)


def schedule_answer(answer: Answer, pace: Pace) -> Sequence[float]:
    """Return the seconds from the start at which each event of a stream is sent, or the body of any other answer."""
    body = as_object(answer.body)
    seed = str(body.get("id"))
    if answer.events is None:
        usage = body.get("usage")  # a queued response has none
        return [_wait(pace, pace.ttft, usage["output_tokens"], seed)] if usage else []
    times: list[float] = []
    now, first_wait = 0.0, pace.ttft
    for event in answer.events:
        if tokens := _count_delta_tokens(event):
            now += _wait(pace, first_wait, 0 if first_wait else tokens, f"{seed}:{len(times)}")
            first_wait = 0
        times.append(now)
    return times


def _wait(pace: Pace, seconds: float, tokens: float, seed: str) -> float:
    mean = seconds + (tokens / pace.tokens if pace.tokens else 0)
    share = int.from_bytes(blake2b(seed.encode(), digest_size=8).digest()) / 2**63 - 1 if pace.jitter else 0
    return mean * (1 + pace.jitter * share)


def _count_delta_tokens(event: Any) -> int:
    """Count the tokens in an event's delta; 0 without a delta."""
    delta = event.get("data", event).get("delta")
    if isinstance(delta, dict):  # of a thread's message
        delta = "".join(part.get("text", {}).get("value", "") for part in delta.get("content") or ())
    return -(-len(delta) // CHARACTERS_PER_TOKEN) if isinstance(delta, str) else 0


LINE_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
"""The line ends of server-sent events, by name; the standard allows all three."""


@dataclass(frozen=True, slots=True)
class Chunks(Fault):
    """Sends the body in pieces of `size` bytes, with 0 in a single one; without this fault each event is a piece."""

    size: int

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or not is_non_negative_number(self.size):
            raise ScriptError(f"chunks: size is {show(self.size)}. Pass a number of bytes, or 0 for a single chunk.")


@dataclass(frozen=True, slots=True)
class Framing(Fault):
    """Varies a stream as the standard allows: line ends `lf`, `crlf` or `cr`, and the rest of a `FrameForm`."""

    line_end: str = "lf"
    comment: str = ""
    fields: Sequence[str] = ()
    space: bool = True
    data_lines: int = 1
    bom: bool = False
    unended: bool = False

    def __post_init__(self) -> None:
        if self.line_end not in [*LINE_ENDS]:
            raise ScriptError(f"framing: line_end is {show(self.line_end)}. Use one of: {', '.join(LINE_ENDS)}.")
        if not _is_line(self.comment):
            raise ScriptError(f"framing: comment is {show(self.comment)}. Pass a single line.")
        if not isinstance(self.fields, list | tuple) or not all(map(_is_line, self.fields)):
            raise ScriptError(f'framing: fields is {show(self.fields)}. Pass lines: ["id: 1", "retry: 3000"].')
        if self.data_lines not in (1, 2):
            raise ScriptError(
                f"framing: data_lines is {show(self.data_lines)}. Use 1 or 2: the data are split at the first brace."
            )
        for name in ("space", "bom", "unended"):
            if not isinstance(getattr(self, name), bool):
                raise ScriptError(f"framing: {name} is {show(getattr(self, name))}. Use True or False.")

    @property
    def form(self) -> FrameForm:
        """How the events are framed."""
        own = (self.comment, tuple(self.fields), self.space, self.data_lines, self.bom, self.unended)
        return FrameForm(LINE_ENDS[self.line_end], *own)


def _is_line(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[^\r\n\ud800-\udfff]*", text) is not None


@dataclass(frozen=True, slots=True)
class Delay(Fault):
    """Sends nothing for `seconds` seconds, not even the headers."""

    seconds: float


def with_transport(delivery: Delivery, turn: Sequence[TurnLine]) -> Delivery:
    """Apply a turn's transport faults to a delivery; of several faults of a kind the last one counts."""
    for line in turn:
        if isinstance(line, Chunks):
            delivery = delivery._replace(chunk_size=line.size)
        elif isinstance(line, Framing):
            delivery = delivery._replace(frames=line.form)
        elif isinstance(line, Delay):
            delivery = delivery._replace(delay=line.seconds)
    return delivery


@dataclass(frozen=True, slots=True)
class Cut(Fault):
    """Closes the connection after `after` events; 4.5 cuts it in the middle of the fifth.

    A stream is always cut before its last event is complete. An answer that is not a stream is cut in the middle, with
    0 before its body. With `reset` the connection is reset instead of closed.
    """

    after: float
    reset: bool = False

    def __post_init__(self) -> None:
        if not is_non_negative_number(self.after):
            raise ScriptError(
                f"cut: after is {show(self.after)}. Pass a non-negative number of events; 4.5 cuts the fifth."
            )


_TRANSMITTED = (Chunks, Cut, Delay, Framing, Pace, Pause)
PARTS_BY_INDEX = {"content_index": "content", "summary_index": "summary"}
"""The member of an item that holds its parts, by the event member that is their index."""


def apply_faults(answer: Answer, turn: Sequence[TurnLine], gate: Callable[[str], Gate]) -> Answer:
    """Apply the faults of a turn to its answer; `events` and `body` of the result are what is still sent."""
    answer = alter_answer(answer, turn)
    return _break_off(answer, turn, gate) if any(isinstance(line, _TRANSMITTED) for line in turn) else answer


def _break_off(answer: Answer, turn: Sequence[TurnLine], gate: Callable[[str], Gate]) -> Answer:
    pauses = [
        replace(line, until=gate(line.until)) if isinstance(line.until, str) else line
        for line in turn
        if isinstance(line, Pause)
    ]
    cut = min((line for line in turn if isinstance(line, Cut)), key=lambda line: line.after, default=None)
    pace = find_pace(turn)
    times = schedule_answer(answer, pace) if pace else ()
    delivery = with_transport(Delivery(pauses, times=times), turn)
    if cut is None:
        return answer._replace(delivery=delivery)
    delivery, after = delivery._replace(disconnects=True, resets=cut.reset), cut.after
    if answer.events is None:
        body = orjson.dumps(answer.body)
        # Half of a JSON body is as good as any other part: none of them can be parsed.
        return answer._replace(body=body[: len(body) // 2 if after else 0], delivery=delivery)
    events = list(answer.events)
    # At least the last event is missing: a cut after all of them would be no cut.
    complete = min(int(after), len(events) - 1)
    share = after - complete if complete == int(after) else 0
    sent = delivery._replace(partial_event=events[complete] if share else None, partial_share=share)
    return answer._replace(body=fold_partial(events[:complete]), events=events[:complete], delivery=sent)


def fold_partial(events: Sequence[Json]) -> Json | None:
    """Fold the first events of a stream into the partial response or run; None if they contain no such object."""
    partial: Json | None = None
    items: dict[int, Json] = {}
    for event in events:
        if "event" in event:
            partial = event["data"] if event["data"].get("object") == "thread.run" else partial
        elif "response" in event:
            partial = event["response"]
        elif "item" in event:
            items[event["output_index"]] = event["item"]
        elif event.get("output_index") in items:
            items[event["output_index"]] = _apply_event(items[event["output_index"]], event)
    return {**partial, "output": [items[index] for index in sorted(items)]} if partial and items else partial


def _apply_event(item: Json, event: Json) -> Json:
    """Apply an event's part, text or annotation to an item; other events leave the item unchanged."""
    place = next((name for name in PARTS_BY_INDEX if name in event), None)
    if place is None:
        return _append_delta(item, event)
    parts = list(item.get(PARTS_BY_INDEX[place]) or ())
    if "part" in event:
        parts[event[place] :] = [event["part"]]
    elif event[place] < len(parts):
        parts[event[place]] = _append_delta(parts[event[place]], event)
    return {**item, PARTS_BY_INDEX[place]: parts}


def _append_delta(item: Json, event: Json) -> Json:
    """Append a delta or an annotation to an item or part; `response.output_text.delta`, for example, extends `text`."""
    _, stem, kind = event["type"].rsplit(".", 2)
    if "annotation" in event:
        return {**item, "annotations": [*item["annotations"], event["annotation"]]}
    known: Any = item.get(name := stem.rpartition("_")[2])
    return {**item, name: known + event["delta"]} if kind == "delta" and isinstance(known, str) else item

"""The pace of an answer: the time to its first token, and the tokens per second after it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.core.delivery import Pace, is_non_negative_number
from harness.core.errors import ScriptError
from harness.core.exchange import Answer
from harness.core.registry import suggest_name
from harness.core.text import show
from harness.ending import TurnLine

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
    body = answer.body if isinstance(answer.body, dict) else {}
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

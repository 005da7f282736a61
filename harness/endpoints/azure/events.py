"""The events of a stream as an agent tells them that writes its stream itself."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.exchange import Json
from harness.endpoints.azure.members import OWN_EVENT_ORDER

DELTA = ".delta"


def tell_whole(events: Sequence[Json]) -> list[Json]:
    """Rewrite the events with each text in a single delta, numbered from 0."""
    told: list[Json] = []
    for event in events:
        before = told[-1] if told else {}
        if event["type"].endswith(DELTA) and _place_of(event) == _place_of(before):
            told[-1] = {**before, "delta": before["delta"] + event["delta"]}
        else:
            told.append(event)
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def _place_of(event: Json) -> tuple[object, ...]:
    return tuple(event.get(name) for name in ("type", "output_index", "content_index", "summary_index"))


def order_own(event: Json) -> Json:
    """Order the members of an event as such a stream has them, without padding."""
    shown = {name: event[name] for name in OWN_EVENT_ORDER if name in event}
    shown |= {name: value for name, value in event.items() if name not in (*OWN_EVENT_ORDER, "logprobs", "obfuscation")}
    return shown | ({"logprobs": event["logprobs"]} if "logprobs" in event else {})

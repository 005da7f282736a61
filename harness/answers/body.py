"""The body of an answer as bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from harness.core.exchange import Answer, Json


def encode_body(answer: Answer, encode_events: Callable[[Sequence[Json]], bytes]) -> bytes:
    """Encode a body as it goes out: the events of a stream, else JSON, unless it is the bytes of a file."""
    if answer.events is not None:
        return encode_events(answer.events)
    body: Any = answer.body
    return body if isinstance(body, bytes) else orjson.dumps(body)

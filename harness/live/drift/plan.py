"""Plans which recorded requests can be sent to the live API again, by conversation, and the maximum cost.

The events of a WebSocket are sent one after the other, so overlapping and steering events are left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import orjson

from harness.api.http.dialects import path_below_root
from harness.api.operations import find_operation
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.listing import files
from harness.cassettes.recording.writer import read_cassette
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.live.client.budget import Budget, estimate_request, sum_budgets
from harness.live.drift.compare import find_transient
from harness.verify.judging.judge import answer_object, explain_skip
from harness.verify.judging.websockets.exchanges import split_by_client_event, to_http_interactions, to_http_request
from harness.verify.judging.websockets.pairs import SocketExchange
from harness.verify.read_files import NotARecording, read_recording

SOCKET_OVERLAPS = "it was said over a WebSocket on which requests overlap"
SOCKET_STEERED = "it was said over a WebSocket on which responses are steered"
SOCKET_WITHOUT_RESPONSE = "it was said over a WebSocket and began no response"
SOCKET_BREAKS_OFF = "what was said to it over a WebSocket breaks off in the recording"
UNSENDABLE_FLAGS = ("no_request", "cut", "sanitized")
"""Flags of recordings that lack the request as it was sent."""


class SocketEvent(NamedTuple):
    """A client event of a WebSocket, and its recorded exchange."""

    sent: Json
    recorded: Recorded


class RecordedConversation(NamedTuple):
    """One conversation with the API: the HTTP requests, then the events of each WebSocket, all in order."""

    requests: list[Recorded]
    sockets: list[list[SocketEvent]]


class ResendPlan(NamedTuple):
    """The conversations to send again, the reasons why exchanges are left out, and the maximum cost."""

    conversations: list[RecordedConversation]
    left_out: Counter[str]
    cost: Budget


def plan_resending(paths: Sequence[Path], dialect: str) -> ResendPlan:
    """Plan to send these recordings to an API of this dialect. UnreadableRecording for a missing path."""
    conversations = defaultdict[str, RecordedConversation](lambda: RecordedConversation([], []))
    left_out = Counter[str]()
    for file in files(paths):
        try:
            _sort_exchanges(file, dialect, conversations, left_out)
        except NotARecording:
            continue
        except HarnessError as problem:
            left_out[f"unreadable: {problem}"] += 1
    planned = list(conversations.values())
    requests = chain.from_iterable(conversation.requests for conversation in planned)
    events = (event.recorded for conversation in planned for event in chain(*conversation.sockets))
    return ResendPlan(planned, left_out, sum_budgets(map(estimate_resending, chain(requests, events))))


def estimate_resending(recorded: Recorded) -> Budget:
    """Estimate the cost of a recorded request: at least the recorded usage, which includes its history."""
    body = request_body(recorded) or b""
    cost = estimate_request(recorded.method, recorded.path, body, recorded.status < 400)
    answer = answer_object(recorded)
    usage = answer.get("usage") if isinstance(answer, dict) else None
    return cost.at_least(usage) if cost.output_tokens and isinstance(usage, dict) else cost


def request_body(recorded: Recorded) -> bytes | None:
    """Return the body of a recorded request as bytes; None if it has none."""
    if recorded.raw is not None:
        return recorded.raw
    return None if recorded.request is None else orjson.dumps(recorded.request)


def _sort_exchanges(
    file: Path, dialect: str, conversations: defaultdict[str, RecordedConversation], left_out: Counter[str]
) -> None:
    """Add the exchanges of a file to the conversations, or to those left out."""
    over_sockets: list[Recorded] = []
    for recorded in read_recording(file):
        if "socket" in recorded.flags:
            over_sockets.append(recorded)
        elif why := _explain_left_out(recorded, dialect):
            left_out[why] += 1
        else:
            conversations[recorded.file].requests.append(recorded)
    # Client events are only in the cassette itself; its exchanges come in the same order.
    remaining = iter(over_sockets)
    for interaction in read_cassette(file).interactions if over_sockets else ():
        if interaction.frames:
            own = list(islice(remaining, len(list(to_http_interactions(interaction)))))
            if events := list(_sendable_events(interaction, own, dialect, left_out)):
                conversations[own[0].file].sockets.append(events)


def _sendable_events(
    interaction: Interaction, exchanges: Sequence[Recorded], dialect: str, left_out: Counter[str]
) -> Iterator[SocketEvent]:
    """Yield the events of a WebSocket that can be sent again; `exchanges` are those of events that began a response."""
    events, remaining = split_by_client_event(interaction), iter(exchanges)
    if why := _explain_entangled([event for event, _ in events]):
        left_out[why] += len(events)
        return
    for event, began in events:
        own = [next(remaining) for _ in began]
        recorded = _with_request(own[0], event) if own else None
        if why := _explain_left_out(recorded, dialect) if recorded else SOCKET_WITHOUT_RESPONSE:
            left_out[why] += 1
        elif recorded:
            yield SocketEvent(event.event, recorded)


def _explain_entangled(events: Sequence[SocketExchange]) -> str:
    """Explain why the events of a WebSocket cannot be sent one after the other; empty if they can."""
    if any(event.is_steering for event in events):
        return SOCKET_STEERED
    return "" if all(event.is_settled for event in events[:-1]) else SOCKET_OVERLAPS


def _with_request(recorded: Recorded, event: SocketExchange) -> Recorded:
    """Add its request to the exchange of a warm-up; the judge reads it as a request with an empty input."""
    if event.is_request:
        return recorded
    request = {"input": [], **to_http_request(event.event)}
    return recorded._replace(request=request, flags=recorded.flags - {"no_request"})


def _explain_left_out(recorded: Recorded, dialect: str) -> str:
    """Explain why an exchange cannot be sent again; empty if it can."""
    path = path_below_root(recorded.path) if recorded.provider else None
    operation = find_operation(recorded.method, path)[0] if path else None
    if operation is None:
        return explain_skip(recorded)
    if recorded.provider != dialect:
        return f"it is {recorded.provider}'s"
    if cause := find_transient(recorded):
        return f"what was answered was about the account or the hour: {cause}"
    if {"socket", "cut"} <= recorded.flags:
        return SOCKET_BREAKS_OFF
    is_lost = not recorded.flags.isdisjoint(UNSENDABLE_FLAGS) or (operation.is_form and not recorded.raw)
    return "its request is not in the recording as it was sent" if is_lost else ""

"""Plans which recorded conversations can be sent to the live API again, sends them, and compares its answers.

Recorded ids are replaced with those that the API assigns now. A request that refers to output which the model did not
produce this time cannot be sent. A new WebSocket is opened, and its requests are sent one after the other.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import orjson

from harness.api.http.dialects import API_ROOTS, OPENAI, path_below_root, root_of
from harness.api.operations import find_operation
from harness.cassettes.files import files, read_cassette
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.format.untrusted import NotARecording
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.items.transcript import conversation_id
from harness.live.drift import (
    DriftDifference,
    Verdicts,
    compare_answers,
    find_transient,
    ids_in,
    pair_ids,
    render_by_mock,
    translate_ids,
)
from harness.live.http import select_headers
from harness.live.paced import Budget, Sender, estimate_request, sum_budgets
from harness.live.websocket import WebSocketClient, handshake_problem
from harness.verify.judging.judge import answer_object, explain_skip, judge
from harness.verify.judging.unverifiable import (
    AGENT_HIDES_MODEL,
    BEGAN_BEFORE,
    DEPENDS_ON_ACCOUNT,
    DEPLOYMENT_HIDES_MODEL,
    ENDED_UNSEEN,
)
from harness.verify.judging.verdict import UNVERIFIABLE, VerdictKind
from harness.verify.judging.websockets import (
    SocketExchange,
    split_by_client_event,
    to_http_interactions,
    to_http_request,
    to_recorded,
)
from harness.verify.read_files import read_recording
from harness.world.world import World

SOCKET_OVERLAPS = "it was sent over a WebSocket on which requests overlap"
SOCKET_STEERED = "it was sent over a WebSocket on which open responses are steered or get outputs"
SOCKET_WITHOUT_RESPONSE = "it was sent over a WebSocket and started no response"
SOCKET_BREAKS_OFF = "its answer over a WebSocket is cut off in the recording"
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
    usage = as_object(as_object(answer_object(recorded)).get("usage"))
    return cost.at_least(usage) if cost.output_tokens else cost


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
    if any(event.is_intervention for event in events):
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
        return f"the answer was about the account or the time: {cause}"
    if {"socket", "cut"} <= recorded.flags:
        return SOCKET_BREAKS_OFF
    is_lost = not recorded.flags.isdisjoint(UNSENDABLE_FLAGS) or (operation.is_form and not recorded.raw)
    return "its request is not in the recording as it was sent" if is_lost else ""


CONTINUES_LOST_ANSWER = "it continues output that the model did not give this time"
FOLLOWS_DIFFERENCE = "an earlier request was answered differently"
EXTERNAL_REASONS = (DEPENDS_ON_ACCOUNT, BEGAN_BEFORE, ENDED_UNSEEN, AGENT_HIDES_MODEL, DEPLOYMENT_HIDES_MODEL)
"""The reasons why an answer depends on more than the request."""

SendRequest = Callable[[Recorded], tuple[Recorded, str]]
"""Sends a request; returns it with the live answer, and the reason why that cannot be compared (empty if it can)."""


class ResentExchange(NamedTuple):
    """An exchange that was sent again: `why` it was not compared, or the differences `found`; neither if equal."""

    id: str
    why: str = ""
    found: Sequence[DriftDifference] = ()


def resend(conversation: RecordedConversation, sender: Sender) -> Iterator[ResentExchange]:
    """Send the exchanges of one conversation again, in order. UpstreamError if the API can no longer be reached."""
    resender = _Resender(sender)
    yield from map(resender.send_request, conversation.requests)
    for events in conversation.sockets:
        yield from resender.send_socket(events)


class _Resender:
    """Sends one conversation again; tracks live ids, objects that differ, and a World for each side."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._live_ids: dict[str, str] = {}
        self._recorded_ids: set[str] = set()
        self._changed: set[str] = set()
        self._then, self._now = World("then"), World("now")

    def send_request(self, recorded: Recorded) -> ResentExchange:
        return self._resend_exchange(recorded, self._send_over_http)

    def send_socket(self, events: Sequence[SocketEvent]) -> Iterator[ResentExchange]:
        """Send the events of a WebSocket again over a new one, as long as that is open."""
        first = events[0].recorded
        client, opened = self._sender.open_socket(_target_path(first), select_headers(first.headers))
        closed = "" if client.is_open else f"no WebSocket could be opened: {handshake_problem(opened)}"
        try:
            for event, recorded in events:
                yield self._resend_exchange(recorded, partial(self._send_over_socket, client, closed, event))
        finally:
            client.close()

    def _resend_exchange(self, recorded: Recorded, send: SendRequest) -> ResentExchange:
        request, then = self._translate_request(recorded), _collect_verdicts(recorded, self._then)
        answer = answer_object(recorded)
        is_lost = _has_lost_id(request, self._recorded_ids - self._live_ids.keys())
        self._recorded_ids |= ids_in(answer)
        if is_lost:
            return ResentExchange(recorded.id, CONTINUES_LOST_ANSWER)
        affected = _affected_ids(request) & set(self._live_ids.values())
        live, why = send(request)
        self._live_ids.update(pair_ids(answer, answer_object(live)))
        outcome = ResentExchange(recorded.id, why)
        if not why:
            translated = recorded._replace(answer=translate_ids(recorded.answer, self._live_ids))
            outcome = _compare_exchange(translated, live, then, self._now)
        # A difference in an object that an earlier request left in another state is no drift of its own.
        if affected & self._changed and outcome.found:
            outcome = ResentExchange(recorded.id, FOLLOWS_DIFFERENCE)
        if recorded.method != "GET" and (why or (live.status < 300) is not (recorded.status < 300)):
            self._changed |= affected
        return outcome

    def _translate_request(self, recorded: Recorded) -> Recorded:
        path, query, request = translate_ids([recorded.path, dict(recorded.query), recorded.request], self._live_ids)
        return recorded._replace(path=path, query=query, request=request)

    def _send_over_http(self, request: Recorded) -> tuple[Recorded, str]:
        headers = select_headers(request.headers)
        reply = self._sender.send(request.method, _target_path(request), headers, request_body(request))
        return self._live_answer(request, reply.recorded, reply.fault)

    def _send_over_socket(
        self, client: WebSocketClient, closed: str, event: Json, request: Recorded
    ) -> tuple[Recorded, str]:
        """Send an event; `closed` is the reason why there is no connection, empty if there is one."""
        if why := closed or client.fault:
            return request._replace(status=0, answer=None, events=None), why
        known, text = len(client.frames), orjson.dumps(translate_ids(event, self._live_ids)).decode()
        exchange = self._sender.send_event(client, text, lambda exchange: exchange.is_settled)
        interaction = Interaction("GET", client.url, frames=tuple(client.frames[known:]))
        refused = request._replace(status=exchange.answer.status, answer=exchange.answer.body, events=None)
        live = next(to_recorded(interaction, request.id, self._sender.live.upstream), refused)
        return self._live_answer(request, live._replace(flags=live.flags - {"no_request"}), client.fault)

    def _live_answer(self, request: Recorded, live: Recorded, fault: str) -> tuple[Recorded, str]:
        cause = find_transient(live)
        why = f"it was answered {cause}, which is about the account or the time" if cause else ""
        answer = {name: getattr(live, name) for name in ("status", "answer", "events", "answer_headers", "flags")}
        return request._replace(date=self._sender.day, **answer), fault or why


def _affected_ids(request: Recorded) -> set[str]:
    """Collect the ids of objects that a request may change: the ids in its path, and its conversation."""
    return {*request.path.split("/"), conversation_id(as_object(request.request)) or ""}


def _compare_exchange(recorded: Recorded, live: Recorded, then: Verdicts, world: World) -> ResentExchange:
    mock = render_by_mock(live, world) if live.status < 300 else None
    now = _collect_verdicts(live, world)
    if "transcribed" in recorded.flags and recorded.status < 300:
        return ResentExchange(recorded.id)  # people wrote this answer, so a difference is no drift
    found = compare_answers(recorded, live, (then, now), mock)
    if not found or found[0].at == "model":
        return ResentExchange(recorded.id, "", found)
    is_refused = VerdictKind.REFUSAL_SAME in then and live.status >= 400
    why = _external_reason(then, is_refused) or _external_reason(now, is_refused)
    return ResentExchange(recorded.id, why, [] if why else found)


def _external_reason(verdicts: Verdicts, is_refused: bool) -> str:
    """Explain why an answer may differ although the API and the mock are right; empty if there is no reason."""
    # An unknown id that was refused then is still unknown today.
    entries = [entry for kind in UNVERIFIABLE for entry in verdicts.get(kind, ()) if entry]
    reasons = [entry["why"] for entry in entries if not (is_refused and entry["why"] == BEGAN_BEFORE)]
    return next((why for why in reasons if why in EXTERNAL_REASONS), "")


def _collect_verdicts(recorded: Recorded, world: World) -> Verdicts:
    verdicts = defaultdict[VerdictKind, list[Json | None]](list)
    for verdict in judge(recorded, world):
        verdicts[verdict.kind].append(verdict.entry)
    return dict(verdicts)


def _has_lost_id(request: Recorded, lost: set[str]) -> bool:
    sent = orjson.dumps([request.path, request.query, request.request]).decode() if lost else ""
    return any(f'"{id}"' in sent or f"/{id}" in sent for id in lost)


def _target_path(request: Recorded) -> str:
    root = root_of(request.path) or ""
    path = f"{API_ROOTS[OPENAI]}{request.path[len(root) :]}" if request.provider == OPENAI else request.path
    return f"{path}?{urlencode(request.query, doseq=True)}" if request.query else path

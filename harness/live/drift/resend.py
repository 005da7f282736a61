"""Recorded requests sent again, each file as one conversation: what the API answers now, beside then and the mock.

An id that the recording got is replaced by the one that the API gives now. A request that goes on with something which
the model did not say this time cannot be sent. A WebSocket is opened anew, and its requests are sent one after the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import orjson

from harness.api.dialects import API_ROOTS, OPENAI
from harness.api.providers import path_below_root, root_of
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.listing import files
from harness.cassettes.recording.writer import read_cassette
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.endpoints.operation import find_operation
from harness.items.transcript import conversation_id
from harness.live.client import budget
from harness.live.client.paced import Sender
from harness.live.client.websocket import WebSocketClient, handshake_problem
from harness.live.drift.compare import (
    DriftDifference,
    Verdicts,
    compare_answers,
    find_transient,
    ids_in,
    pair_ids,
    render_by_mock,
    translate_ids,
)
from harness.live.rule_evidence.probes import select_headers
from harness.verify.judging.judge import answer_object, explain_skip, judge
from harness.verify.judging.unverifiable import (
    AGENT_HIDES_MODEL,
    BEGAN_BEFORE,
    DEPENDS_ON_ACCOUNT,
    DEPLOYMENT_HIDES_MODEL,
    ENDED_UNSEEN,
)
from harness.verify.judging.websocket_exchanges import (
    split_by_client_event,
    to_http_interactions,
    to_http_request,
    to_recorded,
)
from harness.verify.judging.websocket_pairs import SocketExchange
from harness.verify.read_files import NotARecording, read_recording
from harness.world.world import World

CONTINUES_LOST_ANSWER = "it goes on with what the model did not say this time"
FOLLOWS_DIFFERENCE = "something before it was answered otherwise"
SOCKET_OVERLAPS = "it was said over a WebSocket on which requests overlap"
SOCKET_STEERED = "it was said over a WebSocket on which responses are steered"
SOCKET_WITHOUT_RESPONSE = "it was said over a WebSocket and began no response"
SOCKET_BREAKS_OFF = "what was said to it over a WebSocket breaks off in the recording"
EXTERNAL_REASONS = (DEPENDS_ON_ACCOUNT, BEGAN_BEFORE, ENDED_UNSEEN, AGENT_HIDES_MODEL, DEPLOYMENT_HIDES_MODEL)
"""Why an answer depends on more than the request."""
UNSENDABLE_FLAGS = ("no_request", "cut", "sanitized")
"""Flags of recordings whose request is not known as it was sent."""


class ResentExchange(NamedTuple):
    """One exchange asked again: `why` it was not, or what differs; nothing where all three agree."""

    id: str
    why: str = ""
    found: Sequence[DriftDifference] = ()


class SocketEvent(NamedTuple):
    """What a client sent over a WebSocket, and the exchange that came of it."""

    sent: Json
    recorded: Recorded


class RecordedConversation(NamedTuple):
    """One conversation with the API: what went over HTTP, then each WebSocket, all in order."""

    requests: list[Recorded]
    sockets: list[list[SocketEvent]]


class ResendPlan(NamedTuple):
    """The conversations to have again, why some exchanges are left out, and what it costs at most."""

    conversations: list[RecordedConversation]
    left_out: Counter[str]
    cost: budget.Budget


def plan_resending(paths: Sequence[Path], dialect: str) -> ResendPlan:
    """What of these recordings can be asked again of an API of this dialect; TapeError when a path does not exist."""
    talks = defaultdict[str, RecordedConversation](lambda: RecordedConversation([], []))
    left_out = Counter[str]()
    for file in files(paths):
        try:
            _sort_exchanges(file, dialect, talks, left_out)
        except NotARecording:
            continue
        except HarnessError as problem:
            left_out[f"unreadable: {problem}"] += 1
    events = (event.recorded for talk in talks.values() for event in chain(*talk.sockets))
    asked = chain((one for talk in talks.values() for one in talk.requests), events)
    return ResendPlan(list(talks.values()), left_out, budget.sum_budgets(map(estimate_resending, asked)))


def _sort_exchanges(
    file: Path, dialect: str, talks: defaultdict[str, RecordedConversation], left_out: Counter[str]
) -> None:
    """Add the exchanges of a file to the conversations to have again, or to what is left out."""
    over_sockets: list[Recorded] = []
    for one in read_recording(file):
        if "socket" in one.flags:
            over_sockets.append(one)
        elif why := _explain_left_out(one, dialect):
            left_out[why] += 1
        else:
            talks[one.file].requests.append(one)
    held = iter(over_sockets)
    for take in read_cassette(file).interactions if over_sockets else ():
        if take.frames:
            mine = list(islice(held, len(list(to_http_interactions(take)))))
            if events := list(_sendable_events(take, mine, dialect, left_out)):
                talks[mine[0].file].sockets.append(events)


def _sendable_events(
    take: Interaction, mine: Sequence[Recorded], dialect: str, left_out: Counter[str]
) -> Iterator[SocketEvent]:
    """What of a WebSocket can be sent again; `mine` are its exchanges."""
    alone, told = split_by_client_event(take), iter(mine)
    if why := _explain_entangled([part for part, _ in alone]):
        left_out[why] += len(alone)
        return
    for part, began in alone:
        ones = [next(told) for _ in began]
        one = _with_request(ones[0], part) if ones else None
        if why := _explain_left_out(one, dialect) if one else SOCKET_WITHOUT_RESPONSE:
            left_out[why] += 1
        elif one:
            yield SocketEvent(part.event, one)


def _explain_entangled(parts: Sequence[SocketExchange]) -> str:
    """Why the events of a WebSocket cannot be sent one after the other; empty when they can."""
    if any(part.is_steering for part in parts):
        return SOCKET_STEERED
    return "" if all(part.is_settled for part in parts[:-1]) else SOCKET_OVERLAPS


def _with_request(one: Recorded, part: SocketExchange) -> Recorded:
    """The exchange of a warm-up with its request: to the judge one without any input."""
    if part.is_request:
        return one
    return one._replace(request={"input": [], **to_http_request(part.event)}, flags=one.flags - {"no_request"})


def estimate_resending(one: Recorded) -> budget.Budget:
    """What it costs to send a recorded request again: at least what it cost then, with all that it goes on from."""
    cost = budget.estimate_request(one.method, one.path, _request_body(one) or b"", one.status < 400)
    answer = answer_object(one)
    used = answer.get("usage") if isinstance(answer, dict) else None
    return cost.at_least(used) if cost.output_tokens and isinstance(used, dict) else cost


def _explain_left_out(one: Recorded, dialect: str) -> str:
    """Why an exchange cannot be asked again; empty when it can."""
    below = path_below_root(one.path) if one.provider else None
    operation = find_operation(one.method, below)[0] if below else None
    if operation is None or below is None:
        return explain_skip(one)
    if one.provider != dialect:
        return f"it is {one.provider}'s"
    if what := find_transient(one):
        return f"what was answered was about the account or the hour: {what}"
    if {"socket", "cut"} <= one.flags:
        return SOCKET_BREAKS_OFF
    lost = not one.flags.isdisjoint(UNSENDABLE_FLAGS) or (operation.is_form and not one.raw)
    return "its request is not in the recording as it was sent" if lost else ""


def resend(talk: RecordedConversation, sender: Sender) -> Iterator[ResentExchange]:
    """Each exchange of one conversation, asked again in order; UpstreamError when it is no use to go on."""
    again = _Resender(sender)
    yield from map(again.send_request, talk.requests)
    for events in talk.sockets:
        yield from again.send_socket(events)


class _Resender:
    """A conversation that is had again: which id stands for which, what may have changed, what is there then and now."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._names: dict[str, str] = {}
        self._given: set[str] = set()
        self._changed: set[str] = set()
        self._then, self._now = World("then"), World("now")

    def send_request(self, one: Recorded) -> ResentExchange:
        """A request asked again over HTTP."""
        return self._resend_exchange(one, self._send_over_http)

    def send_socket(self, events: Sequence[SocketEvent]) -> Iterator[ResentExchange]:
        """The events of a WebSocket sent again over another one, as long as it holds."""
        first = events[0].recorded
        line, opened = self._sender.open_socket(_target_path(first), select_headers(first.headers))
        closed = "" if line.is_open else f"no WebSocket could be opened: {handshake_problem(opened)}"
        try:
            for event, one in events:
                yield self._resend_exchange(one, partial(self._send_over_socket, line, closed, event))
        finally:
            line.close()

    def _resend_exchange(self, one: Recorded, ask: Callable[[Recorded], tuple[Recorded, str]]) -> ResentExchange:
        """An exchange that `ask` has again: the live answer, and why it cannot be compared; empty when it can."""
        asked, then, answer = self._translate_request(one), _collect_verdicts(one, self._then), answer_object(one)
        lost = _has_lost_id(asked, self._given - self._names.keys())
        self._given |= ids_in(answer)
        if lost:
            return ResentExchange(one.id, CONTINUES_LOST_ANSWER)
        about = _affected_ids(asked) & set(self._names.values())
        live, why = ask(asked)
        self._names.update(pair_ids(answer, answer_object(live)))
        outcome = ResentExchange(one.id, why)
        if not why:
            outcome = _compare_exchange(
                one._replace(answer=translate_ids(one.answer, self._names)), live, then, self._now
            )
        if about & self._changed and outcome.found:
            outcome = ResentExchange(one.id, FOLLOWS_DIFFERENCE)
        if one.method != "GET" and (why or (live.status < 300) is not (one.status < 300)):
            self._changed |= about
        return outcome

    def _translate_request(self, one: Recorded) -> Recorded:
        path, query, request = translate_ids([one.path, dict(one.query), one.request], self._names)
        return one._replace(path=path, query=query, request=request)

    def _send_over_http(self, asked: Recorded) -> tuple[Recorded, str]:
        reply = self._sender.send(
            asked.method, _target_path(asked), select_headers(asked.headers), _request_body(asked)
        )
        return self._live_answer(asked, reply.recorded, reply.fault)

    def _send_over_socket(
        self, line: WebSocketClient, closed: str, event: Json, asked: Recorded
    ) -> tuple[Recorded, str]:
        """What is said to an event, read as the recording is; `closed` says why nothing can be."""
        if why := closed or line.fault:
            return asked._replace(status=0, answer=None, events=None), why
        known, text = len(line.frames), orjson.dumps(translate_ids(event, self._names)).decode()
        part = self._sender.send_event(line, text, lambda part: part.is_settled)
        frames = tuple(line.frames[known:])
        refused = asked._replace(status=part.answer.status, answer=part.answer.body, events=None)
        told = next(
            to_recorded(Interaction("GET", line.url, frames=frames), asked.id, self._sender.live.upstream), refused
        )
        return self._live_answer(asked, told._replace(flags=told.flags - {"no_request"}), line.fault)

    def _live_answer(self, asked: Recorded, told: Recorded, fault: str) -> tuple[Recorded, str]:
        """The live answer to a request, and why it cannot be compared."""
        what = find_transient(told)
        why = f"it was answered {what}, which is about the account or the hour" if what else ""
        shown = {name: getattr(told, name) for name in ("status", "answer", "events", "answer_headers", "flags")}
        return asked._replace(date=self._sender.day, **shown), fault or why


def _affected_ids(asked: Recorded) -> set[str]:
    """What a request may change: what its path names, and its conversation."""
    body = asked.request if isinstance(asked.request, dict) else {}
    return {*asked.path.split("/"), conversation_id(body) or ""}


def _compare_exchange(one: Recorded, live: Recorded, then: Verdicts, world: World) -> ResentExchange:
    mock = render_by_mock(live, world) if live.status < 300 else None
    now = _collect_verdicts(live, world)
    if "transcribed" in one.flags and one.status < 300:
        return ResentExchange(one.id)  # it was never answered so
    found = compare_answers(one, live, (then, now), mock)
    refused = "refusals.same" in then and live.status >= 400
    why = _external_reason(then, refused) or _external_reason(now, refused) if found and found[0].at != "model" else ""
    return ResentExchange(one.id, why, [] if why else found)


def _external_reason(verdicts: Verdicts, refused: bool) -> str:
    """What makes it nobody's fault that an answer is another one; what was `refused` as unknown is not there now either."""
    told = [entry["why"] for at in verdicts if at.endswith(".unverifiable") for entry in verdicts[at] if entry]
    return next((why for why in told if why in EXTERNAL_REASONS and not (refused and why == BEGAN_BEFORE)), "")


def _collect_verdicts(one: Recorded, world: World) -> Verdicts:
    found = defaultdict[str, list[Json | None]](list)
    for verdict in judge(one, world):
        found[verdict.at].append(verdict.entry)
    return dict(found)


def _has_lost_id(asked: Recorded, lost: set[str]) -> bool:
    """Whether a request repeats an id that was given out then and not now."""
    sent = orjson.dumps([asked.path, asked.query, asked.request]).decode() if lost else ""
    return any(f'"{id}"' in sent or f"/{id}" in sent for id in lost)


def _target_path(asked: Recorded) -> str:
    root = root_of(asked.path) or ""
    path = f"{API_ROOTS[OPENAI]}{asked.path[len(root) :]}" if asked.provider == OPENAI else asked.path
    return f"{path}?{urlencode(asked.query, doseq=True)}" if asked.query else path


def _request_body(asked: Recorded) -> bytes | None:
    if asked.raw is not None:
        return asked.raw
    return None if asked.request is None else orjson.dumps(asked.request)

"""The session of a WebSocket connection to `/v1/responses`, without the network: client events in, server events out.

A `response.create` is checked and answered like `POST /responses`, with the connection's own state. Every client event
is answered completely before the next, so responses of different lanes never interleave. Source: OpenAI's guides to
WebSocket mode and to steering, read in 2026-09.
"""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter, time

from harness.api.http.bodies import parse_body
from harness.api.http.dialects import API_ROOTS, AZURE, OPENAI, ApiPath
from harness.api.operations import OPERATIONS, Handler
from harness.api.responses import (
    INJECT,
    INJECT_EVENT,
    SOCKET,
    STEER,
    STEER_EVENT,
    WARM_UP,
    enables_agents,
    requested_lane,
)
from harness.contract.rule import CREATE_RESPONSE, RULES
from harness.core.delivery import Delivery, SendRecord
from harness.core.exchange import Answer, Json, ReceivedRequest, Request
from harness.core.json_values import omit
from harness.endpoints.websocket_events import (
    ENVELOPE_MEMBERS,
    accepted_event,
    as_noted,
    continue_events,
    error_event,
    failed_event,
    injected_event,
    is_invalid_stream,
    merge_responses,
    not_injected_event,
    owed_outputs,
    pending_event,
    unanswered,
)
from harness.items.transcript import conversation_id, input_items
from harness.server.answering import call_handler
from harness.server.api_observers import AnsweredRequest, ApiObserver
from harness.world.api_call import ApiCall
from harness.world.websocket_state import ConnectionWorld, LaneResponse, OpenResponse

CheckAndAnswer = Callable[[Request, ConnectionWorld, Handler], Answer]
"""Answers a request to a World: with the contract's refusal or the handler's answer; an exception becomes an answer."""

SOCKET_PATHS = tuple(ApiPath(dialect, API_ROOTS[dialect], "/responses") for dialect in (OPENAI, AZURE))
"""The paths at which a WebSocket is opened. Of a project of Foundry nothing is known: there an upgrade is ignored.

Azure's: https://learn.microsoft.com/en-us/azure/foundry/openai/how-to/websockets, and recorded 2026-04-30.
"""
CLOSING_RULES = ("connection_limit_reached", "inject_malformed")
"""Rules whose refusal closes the connection."""


class SocketSession:
    """One connection: `receive` takes a client event and returns the server's events, in order.

    A lane has a last response (held), which may wait for outputs (open), or none (empty):

        empty, held -- response.create --> held, or open if the script awaits outputs
        held -- a refused response.create that continues its response --> empty
        held -- response.steer --> held: the input waits for the client's outputs, else its successor is made at once
        open -- response.inject, some outputs missing --> open
        open -- response.inject, all outputs there --> held, or open again: the response continues, if it can
        open -- response.create --> its held-back last event is sent, then as from held

    A refusal by one of CLOSING_RULES closes the connection, and all lanes are gone.

    If `closed` is set, the server closes the connection after these events; `delivery` says how they are sent, if not
    at once. `upgrade` is the GET that opened the connection, with its headers and its dialect. Each exchange is
    recorded in the journal, as `WS /responses` with the event as it was received and the answer that HTTP would give,
    and reported to the observer.
    """

    def __init__(
        self, connection: ConnectionWorld, upgrade: Request, judge: CheckAndAnswer, observer: ApiObserver
    ) -> None:
        self.closed = False
        self.delivery: Delivery | None = None
        self._connection = connection
        self._upgrade = upgrade
        self._judge = judge
        self._observer = observer

    def receive(
        self, message: str | bytes, *, answers_client: bool = True, edge: SendRecord | None = None
    ) -> Sequence[Json]:
        """Answer one message of the client with the server's events; a binary message is read as text. Never raises.

        With `answers_client` False, the message was answered by another process and no observer hears of it; see
        `MockApi.handle`, also for `edge`.
        """
        begun, arrived = perf_counter(), time()
        # A lone surrogate is a fault of the JSON, which `parse_body` reports; it must not raise here.
        raw = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
        body, fault = parse_body(raw)
        sent = self._upgrade._replace(body=body, raw=raw, operation=SOCKET, fault=fault)
        answer = self._judge(sent, self._connection, self._handle_event)
        world, seen = self._connection.world, edge or ((arrived, time(), answer.events) if answers_client else None)
        world.add_exchange(as_noted(sent, answer), answer, seen)
        if answers_client:
            received = ReceivedRequest("WS", f"{sent.root}{sent.path}", sent.headers, raw=raw)
            self._observer.on_answer(AnsweredRequest(begun, received, answer, SOCKET, world=world))
        self.closed, self.delivery = answer.rule in CLOSING_RULES, answer.delivery
        if answer.events is None and answer.delivery:
            return ()
        return [error_event(answer, requested_lane(body))] if answer.events is None else answer.events

    def _handle_event(self, call: ApiCall) -> Answer:
        handlers = {STEER_EVENT: self._handle_steer, INJECT_EVENT: self._handle_inject}
        return handlers.get(call.request.body["type"], self._handle_create)(call.request)

    def _handle_create(self, request: Request) -> Answer:
        connection, body, lane = self._connection, request.body, requested_lane(request.body)
        if lane:
            connection.lanes.add(lane)
        connection.generate = body.get("generate") is not False
        # A warm-up may leave `input` out, which no other request may.
        made: Json = {} if connection.generate else {"input": []}
        made |= omit(body, *ENVELOPE_MEMBERS)
        ended = self._end_open_response(lane)
        answer = self._create_response(
            request, made if is_invalid_stream(made.get("stream")) else {**made, "stream": True}, lane
        )
        if answer.rule:
            # After a refusal the lane has lost what it held, so that a client must send its history again.
            connection.forget_last_response(lane, body.get("previous_response_id"))
        if not ended or (answer.events is None and answer.delivery):
            return answer
        return answer._replace(events=[*ended, *(answer.events or [error_event(answer, lane)])])

    def _end_open_response(self, lane: str | None) -> list[Json]:
        """End the response waiting in this lane, as the client moves on without it; return the last event."""
        opened = next(
            (waiting for waiting in self._connection.open_responses.values() if waiting.lane_response.lane == lane),
            None,
        )
        if opened is None:
            return []
        self._connection.end_open(opened)
        return [{**opened.last_event, "sequence_number": opened.lane_response.event_count}]

    def _create_response(self, request: Request, body: Json, lane: str | None) -> Answer:
        """Answer a request in a lane, marking its events with the lane, which remembers the response."""
        # Steers that were accepted after the model had ended are read by its next turn, before the new input.
        if steers := self._connection.pending_steers(lane, body.get("previous_response_id")):
            body = {**body, "input": [*steers, *input_items(body)]}
        create = OPERATIONS[CREATE_RESPONSE]
        operation = CREATE_RESPONSE if self._connection.generate else WARM_UP
        carried = request._replace(method="POST", body=body, operation=operation, schema=create.body_schema)
        answer = self._judge(carried, self._connection, partial(call_handler, handler=create.handler))
        if answer.events is None:
            return answer
        held = self._connection.set_last_response(lane, body, len(answer.events))
        events = [{**event, "stream_id": lane} for event in answer.events] if lane else answer.events
        return answer._replace(events=self._hold_open(OpenResponse(held, {}), events))

    def _hold_open(self, opened: OpenResponse, events: Sequence[Json]) -> Sequence[Json]:
        """Hold back the last event if the script wants the response to wait for outputs; return the events to send."""
        waits = self._connection.awaits_outputs and enables_agents(opened.lane_response.body) and unanswered(opened)
        if not waits:
            self._connection.open_responses.pop(opened.response["id"], None)
            return events
        *sent, opened.last_event = events
        opened.lane_response.event_count -= 1  # the last event is numbered when it is sent
        self._connection.hold_open(opened)
        return sent

    def _handle_inject(self, request: Request) -> Answer:
        answer = self._judge(request._replace(operation=INJECT), self._connection, self._accept_inject)
        if answer.events is not None or answer.rule is None or answer.rule == "inject_malformed":
            return answer
        held = self._connection.held(request.body["response_id"])
        return answer._replace(events=[not_injected_event(held, request.body, answer.body["error"])])

    def _accept_inject(self, call: ApiCall) -> Answer:
        """Add outputs to the response, which continues once none is missing."""
        request, connection = call.request, self._connection
        opened = connection.open_responses[request.body["response_id"]]
        opened.outputs += request.body["input"]
        created = injected_event(opened)
        if unanswered(opened):
            return Answer(200, {**opened.response, "output": []}, events=[created])
        answer = self._continue_response(request, opened)
        if answer.events is None and answer.delivery:
            return answer
        if answer.events is None:
            ended = self._end_open_response(opened.lane_response.lane)
            return answer._replace(events=[created, error_event(answer, opened.lane_response.lane), *ended])
        merged = merge_responses(opened.response, answer.body)
        events = list(continue_events(opened, answer.events, merged))
        connection.extend_response(opened, merged)
        return answer._replace(
            body={**merged, "output": answer.body["output"]}, events=[created, *self._hold_open(opened, events)]
        )

    def _continue_response(self, request: Request, opened: OpenResponse) -> Answer:
        """Answer the outputs as if they were the input of a response that continues the open one."""
        body = {**opened.lane_response.body, "input": opened.outputs}
        if conversation_id(body) is None:
            body["previous_response_id"] = opened.response["id"]
        create = OPERATIONS[CREATE_RESPONSE]
        carried = request._replace(method="POST", body=body, operation=CREATE_RESPONSE, schema=create.body_schema)
        self._connection.generate = True
        return self._judge(carried, self._connection, partial(call_handler, handler=create.handler))

    def _handle_steer(self, request: Request) -> Answer:
        answer = self._judge(request._replace(operation=STEER), self._connection, self._accept_steer)
        if answer.events is not None or answer.rule is None:
            return answer
        held = self._connection.held(request.body.get("previous_response_id"))
        return answer._replace(events=[failed_event(held, request.body, answer.body["error"])])

    def _accept_steer(self, call: ApiCall) -> Answer:
        """Queue the input; the successor is created at once, unless the client still owes outputs."""
        request, connection = call.request, self._connection
        held = connection.held(request.body["previous_response_id"])
        assert held is not None  # the contract refuses a steer without a target
        id = connection.ids.hex("steer_", 32)
        held.steers += input_items(request.body)
        accepted = accepted_event(held, id)
        if owed := owed_outputs(held.response["output"]):
            return Answer(200, accepted, events=[accepted, pending_event(held, id, owed)])
        return self._create_successor(request, held, accepted)

    def _create_successor(self, request: Request, held: LaneResponse, accepted: Json) -> Answer:
        """Create the response that follows a steered one: with its settings, and the steering as input."""
        self._connection.generate = True
        body = {**held.body, "previous_response_id": held.response["id"], "input": []}
        answer = self._create_response(request, body, held.lane)
        if answer.events is not None or answer.delivery:
            return answer._replace(events=[accepted, *(answer.events or ())])
        held.steers.clear()
        if answer.rule is None:
            return answer._replace(events=[accepted, error_event(answer, held.lane)])
        rule = RULES["successor_creation_failed"]
        refused = rule.error.body()
        failed = failed_event(held, request.body, refused["error"], accepted["steer"]["id"])
        return Answer(rule.error.status, refused, rule=rule.id, events=[accepted, failed], expected=answer.expected)

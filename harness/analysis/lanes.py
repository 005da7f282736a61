"""Which agent sent each request: lanes, recognised from the journal alone, whatever the framework.

A request says who sends it by the name of an agent (`agent_reference`, `metadata.agent`, the assistant of a run), else by
its instructions, tools and model. One that repeats no instructions continues the lane of what it continues. What is sent
to other endpoints is the lane `client`, unless it asks for what an agent's request has made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import NamedTuple

from harness.analysis.agent_names import find_agent_name, heading_as_name, is_nearly_equal, mask_dates_and_ids
from harness.core.exchange import Exchange, Json, Request
from harness.core.loose_json import as_object, as_string, objects_in
from harness.core.shorten import item_text
from harness.items.transcript import conversation_id, input_items

CLIENT_LANE = "client"
PROBE_RULES = ("outside_the_api", "unknown_url")
"""The rules that refuse paths which the API does not have: a client that looks around asks for many."""
INSTRUCTION_ROLES = ("system", "developer")
"""The roles of messages that are instructions when they come first."""
_HAND_OFF_PREFIXES = ("transfer_to_", "handoff_to_", "hand_off_to_")
"""How the tools of a hand-off begin; an agent's name follows."""

ReferenceKey = tuple[str, str]
"""What a request may name of what was said before: an id, the id of a call, the words of the assistant."""


class HandOff(NamedTuple):
    """The output of a call that led to another lane: in exchange `number` the lane `to` answers a call of the lane `by`."""

    number: int
    by: str
    to: str
    name: str
    call_id: str


class LaneExchange(NamedTuple):
    """An exchange and the lane that sent it, with the hand-off that led there if one did."""

    exchange: Exchange
    lane: str
    hand_off: HandOff | None = None


class _AgentProfile(NamedTuple):
    """How an agent looks: its model, its instructions without what changes by the day, the names of its tools."""

    model: str
    instructions: str
    tools: frozenset[str]


@dataclass(slots=True)
class _Lane:
    """One agent: the name it gave itself, how it looks, its instructions, the call that first led to it, its name here."""

    declared_name: str
    profile: _AgentProfile
    instructions: str
    hand_off_tool: str = ""
    name: str = ""


class _Predecessor(NamedTuple):
    """What a request continues: the lane that said it, and the call when the request answers one."""

    lane: _Lane
    call: Json | None = None


@dataclass(slots=True)
class _LaneTracker:
    """What is known of the lanes after some exchanges."""

    lanes: list[_Lane] = field(default_factory=list)
    predecessors: dict[ReferenceKey, _Predecessor] = field(default_factory=dict)
    assistant_names: dict[str, str] = field(default_factory=dict)

    def assign_lane(self, exchange: Exchange) -> tuple[_Lane | None, _Predecessor | None]:
        """The lane of the next exchange (None: the client), and what it continues."""
        body, origin = as_object(exchange.request.body), self._find_predecessor(exchange.request)
        lane = self._find_lane(exchange, body, origin)
        if lane:
            self._index_answer(exchange, lane)
        return lane, origin

    def _find_lane(self, exchange: Exchange, body: Json, origin: _Predecessor | None) -> _Lane | None:
        request, answer = exchange.request, as_object(exchange.answer.body)
        if answer.get("object") == "assistant":
            self.assistant_names[as_string(answer.get("id"))] = as_string(answer.get("name"))
        if asks_model(request) and body.get("type") != "response.steer":
            return self._find_or_add_lane(_declared_agent(body), body, origin)
        if request.method == "POST" and (
            id := as_string(answer.get("assistant_id")) or as_string(body.get("assistant_id"))
        ):
            return self._find_or_add_lane(self.assistant_names.get(id) or id, body | answer, origin)
        return origin and origin.lane

    def _find_predecessor(self, request: Request) -> _Predecessor | None:
        """What a request continues: the newest of its items that was said here, else its chain."""
        body, params = as_object(request.body), request.params
        for item in reversed(_input_items(body)):
            if origin := next(
                (self.predecessors[key] for key in _reference_keys(item) if key in self.predecessors), None
            ):
                return origin if str(item.get("type")).endswith("_output") else _Predecessor(origin.lane)
        chain = [
            body.get("previous_response_id"),
            conversation_id(body),
            params.get("response_id"),
            params.get("run_id"),
        ]
        return next(
            (self.predecessors["id", id] for id in chain if isinstance(id, str) and ("id", id) in self.predecessors),
            None,
        )

    def _find_or_add_lane(self, own: str, body: Json, origin: _Predecessor | None) -> _Lane:
        text, face = _read_profile(body)
        lane = (
            self._lane_by_name(own)
            if own
            else self._continued_lane(body, text, face, origin) or self._similar_lane(face, origin)
        )
        if lane is None:
            led = as_string(origin.call.get("name")) if origin and origin.call else ""
            self.lanes.append(lane := _Lane(own, face, text, led))
        known = lane.profile
        lane.profile = _AgentProfile(
            face.model or known.model, face.instructions or known.instructions, known.tools | face.tools
        )
        return lane

    def _lane_by_name(self, name: str) -> _Lane | None:
        return next((lane for lane in self.lanes if lane.declared_name == name), None)

    @staticmethod
    def _continued_lane(body: Json, text: str, face: _AgentProfile, origin: _Predecessor | None) -> _Lane | None:
        """The lane of a chain whose request repeats no instructions; other tools are another agent's."""
        chained = bool(body.get("previous_response_id") or conversation_id(body))
        if origin and chained and not text and _is_nested(face.tools, origin.lane.profile.tools):
            return origin.lane
        return None

    def _similar_lane(self, face: _AgentProfile, origin: _Predecessor | None) -> _Lane | None:
        """The lane that looks like this: best with the same tools, then the one that is continued, then the oldest."""
        before = origin and origin.lane
        found = [lane for lane in self.lanes if _is_same_agent(lane, face, continued=lane is before)]
        return min(found, key=lambda lane: (lane.profile.tools != face.tools, lane is not before), default=None)

    def _index_answer(self, exchange: Exchange, lane: _Lane) -> None:
        body = as_object(exchange.answer.body)
        ids = [body.get("id"), conversation_id(as_object(exchange.request.body)), conversation_id(body)]
        self.predecessors.update((("id", id), _Predecessor(lane)) for id in ids if isinstance(id, str))
        for item in objects_in(body.get("output")):
            call = item if isinstance(item.get("call_id"), str) else None
            self.predecessors.update((key, _Predecessor(lane, call)) for key in _reference_keys(item))


def assign_lanes(exchanges: Sequence[Exchange], hints: Sequence[str] = ()) -> list[LaneExchange]:
    """Every exchange with its lane; `hints` are texts that name an agent whose instructions hold one, routes' say."""
    journal = _LaneTracker()
    read = [(exchange, *journal.assign_lane(exchange)) for exchange in exchanges]
    _name_lanes(journal.lanes, hints)
    return [
        LaneExchange(exchange, lane.name if lane else CLIENT_LANE, _detect_hand_off(exchange, lane, origin))
        for exchange, lane, origin in read
    ]


def group_by_lane(exchanges: Sequence[Exchange], hints: Sequence[str] = ()) -> dict[str, list[Exchange]]:
    """The exchanges of each lane, by its name, in the order of their first requests."""
    found: dict[str, list[Exchange]] = {}
    for one in assign_lanes(exchanges, hints):
        found.setdefault(one.lane, []).append(one.exchange)
    return found


def without_probes(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    """The exchanges about paths that the API has; all of them where there is no such."""
    return [exchange for exchange in exchanges if not is_probe(exchange)] or exchanges


def is_probe(exchange: Exchange) -> bool:
    """Whether a client looked for a path that the API does not have."""
    return exchange.answer.rule in PROBE_RULES


def asks_model(request: Request) -> bool:
    """Whether a request is one for a response, over HTTP or a WebSocket."""
    return request.path == "/responses" and request.method in ("POST", "WS")


def _detect_hand_off(exchange: Exchange, lane: _Lane | None, origin: _Predecessor | None) -> HandOff | None:
    if lane is None or origin is None or origin.call is None or origin.lane is lane:
        return None
    call = origin.call
    return HandOff(exchange.number, origin.lane.name, lane.name, as_string(call.get("name")), call["call_id"])


def _name_lanes(found: Sequence[_Lane], hints: Sequence[str]) -> None:
    """Name each lane; a name that is taken gets a number."""
    taken, unnamed = Counter([CLIENT_LANE]), count(1)
    for lane in found:
        name = _choose_name(lane, hints) or f"agent {next(unnamed)}"
        taken[name] += 1
        lane.name = name if taken[name] == 1 else f"{name} {taken[name]}"


def _choose_name(lane: _Lane, hints: Sequence[str]) -> str:
    led = next(
        (
            lane.hand_off_tool.removeprefix(start)
            for start in _HAND_OFF_PREFIXES
            if lane.hand_off_tool.startswith(start)
        ),
        "",
    )
    hinted = next((hint for hint in hints if hint.casefold() in lane.instructions.casefold()), "")
    own = "" if lane.declared_name.startswith("asst_") else lane.declared_name
    return own or find_agent_name(lane.instructions) or hinted or led or heading_as_name(lane.instructions)


def _is_same_agent(lane: _Lane, face: _AgentProfile, *, continued: bool) -> bool:
    known = lane.profile
    if (lane.declared_name and not face.instructions) or (known.model and face.model and known.model != face.model):
        return False
    if known.instructions == face.instructions:
        return _is_nested(known.tools, face.tools)
    return continued and known.tools == face.tools and is_nearly_equal(known.instructions, face.instructions)


def _is_nested(one: frozenset[str], other: frozenset[str]) -> bool:
    return one <= other or other <= one


def _read_profile(body: Json) -> tuple[str, _AgentProfile]:
    leading = takewhile(lambda item: item.get("role") in INSTRUCTION_ROLES, _input_items(body))
    prompt = as_object(body.get("prompt")).get("id")
    text = "\n".join(filter(None, [as_string(prompt), as_string(body.get("instructions")), *map(item_text, leading)]))
    named = (as_object(tool.get("function")) | tool for tool in objects_in(body.get("tools")))
    tools = frozenset(str(tool.get("name") or tool.get("server_label") or tool.get("type")) for tool in named)
    return text, _AgentProfile(as_string(body.get("model")), mask_dates_and_ids(text), tools)


def _declared_agent(body: Json) -> str:
    agent = as_object(body.get("agent_reference")) or as_object(body.get("agent"))
    return as_string(agent.get("name")) or as_string(as_object(body.get("metadata")).get("agent"))


def _reference_keys(item: Json) -> Iterator[ReferenceKey]:
    """What an item may be found by among what was said."""
    for kind, member in (("id", "call_id"), ("id", "approval_request_id"), ("id", "id")):
        if isinstance(item.get(member), str):
            yield kind, item[member]
    if item.get("role") == "assistant" and item.get("type", "message") == "message" and (text := item_text(item)):
        yield "text", text


def _input_items(body: Json) -> list[Json]:
    return objects_in(input_items(body))

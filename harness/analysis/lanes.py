"""Assigns each exchange to a lane, the agent that sent it, from the journal alone and for any framework.

An agent is recognised by its name (`agent_reference`, `metadata.agent`, the assistant of a run), else by its instructions,
tools and model. A request without instructions belongs to the lane of the response that it continues. Requests to other
endpoints belong to the lane `client`, unless they concern an object that an agent's request has created.
"""

import re
from bisect import insort
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, takewhile
from typing import NamedTuple

from harness.core.exchange import Exchange, Json, Request
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.text import item_text, share_of_ends
from harness.items.transcript import conversation_id, input_items

_READ_LIMIT = 2000
"""How many characters of the instructions are searched for a name."""
_MAX_WORDS = 4
"""The maximum number of words in a name; a longer one keeps its last words, which say what the agent is."""

_NAME_PATTERN = re.compile(r"\byour name is\s+(?P<article>)(?P<name>(?:[^\n.,;:!?()]|\.(?=\w))+)", re.I)
_ROLE_PATTERN = re.compile(
    r"\b(?:you(?:['’]re| are| act as| play)|act as|your role is)\s+(?:now\s+|called\s+|named\s+)*"
    r"(?P<article>(?:the|an?|our|my|one of the|one of our)\s+)?(?P<name>(?:[^\n.,;:!?()]|\.(?=\w))+)",
    re.I,
)
_CONDITION_BEFORE = re.compile(
    r"\b(?:if|when|whenever|once|unless|until|while|what|who|where|that|as|since|after|before)\s+$", re.I
)
"""Matches a conjunction before `you are`, which then introduces no name."""
_NOT_A_NAME = re.compile(
    r"(?:\w+(?:ing|ed)|part|able|given|going|not|about|only|here|to|in|on|at|free|also|built|responsible|an?|the)\b",
    re.I,
)
"""Matches what follows `you are` without an article and is not a name: `part of a system`, `allowed to search`."""
_CALLED_PATTERN = re.compile(r"\b(?:named|called)\s+(.+)", re.I)
_AFTER_NAME = re.compile(
    r"\s+(?:who|whose|that|which|and|for|in|on|with|at|from|to|as|by|within|inside|here|responsible|working|"
    r"helping|speciali[sz]\w+|designed|tasked|built|trained|[-–—])(?:\s.*|$)",
    re.I,
)
"""Matches the rest of the sentence after a name."""
_GENERIC_HEADINGS = {
    *("system context", "system prompt", "system", "context", "instructions", "role", "task", "identity", "goal")
}
"""Headings that do not describe the agent."""
_PUNCTUATION = " \t\"'*`_#>“”«»-"

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DATE_TIME_OR_ID = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:\s?[AP]M\b)?"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:,?\s+\d{{4}})?\b"
    rf"|\b{_MONTH}\s+\d{{1,4}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b|\b\d{5,}(?:\.\d+)?\b",
    re.I,
)
"""Dates, times, unix times and generated ids."""
_WEEKDAY = re.compile(r"\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?\s+(?=~)", re.I)


def find_agent_name(instructions: str) -> str:
    """Find the name in instructions: `planner` for `You are the planner.`; empty without one."""
    text = instructions[:_READ_LIMIT]
    return next(filter(None, _find_names(text)), "")


def heading_as_name(instructions: str) -> str:
    """Read the first clause of instructions as a name: `# Triage`, `Write haiku.`; empty if it is too long."""
    clause = re.split(r"[\n.,;:!?]", instructions[:_READ_LIMIT].strip(_PUNCTUATION + "\n"), maxsplit=1)[0].strip(
        _PUNCTUATION
    )
    fits = len(clause) <= 40 and len(clause.split()) <= _MAX_WORDS and clause.casefold() not in _GENERIC_HEADINGS
    return clause if fits else ""


@lru_cache(maxsize=128)  # an agent sends the same instructions again and again
def mask_dates_and_ids(instructions: str) -> str:
    """Mask every date, time and generated id, so that the same instructions compare equal from day to day."""
    masked = _DATE_TIME_OR_ID.sub("~", instructions)
    return _WEEKDAY.sub("", masked) if "~" in masked else masked


def is_nearly_equal(one: str, other: str) -> bool:
    """Return whether two instructions differ in one place only, by at most a tenth of their words."""
    return share_of_ends(one.split(), other.split()) >= 0.9


def _find_names(text: str) -> Iterator[str]:
    for pattern in (_NAME_PATTERN, _ROLE_PATTERN):
        for match in pattern.finditer(text):
            name = match["name"].strip(_PUNCTUATION)
            if not (
                _CONDITION_BEFORE.search(text[: match.start()]) or (not match["article"] and _NOT_A_NAME.match(name))
            ):
                yield _trim_name(name)


def _trim_name(name: str) -> str:
    if own := _CALLED_PATTERN.search(name):
        name = own[1]
    words = _AFTER_NAME.sub("", name).strip(_PUNCTUATION).split()
    return " ".join(words if len(words) <= _MAX_WORDS else words[-_MAX_WORDS + 1 :])[:40]


CLIENT_LANE = "client"
PROBE_RULES = ("outside_the_api", "unknown_url")
"""The rules that refuse unknown paths, many of which some clients probe."""
INSTRUCTION_ROLES = ("system", "developer")
"""The roles of messages that are instructions when they stand first."""
_HAND_OFF_PREFIXES = ("transfer_to_", "handoff_to_", "hand_off_to_")
"""Prefixes of hand-off tools; the name of an agent follows."""

ReferenceKey = tuple[str, str]
"""What a request may refer to in earlier answers: `id` with an object's or call's id, `text` with the assistant's text."""


class HandOff(NamedTuple):
    """A call output that led to another lane: in exchange `number` the lane `to` answers a call of the lane `by`."""

    number: int
    by: str
    to: str
    name: str
    call_id: str


class LaneExchange(NamedTuple):
    """An exchange and its lane, with the hand-off that led there, if any."""

    exchange: Exchange
    lane: str
    hand_off: HandOff | None = None


class _AgentProfile(NamedTuple):
    """Characterizes an agent: its model, its instructions without dates and ids, the names of its tools."""

    model: str
    instructions: str
    tools: frozenset[str]


@dataclass(slots=True)
class _Lane:
    """An agent: number, declared name, profile, instructions, the tool that first led to it, the name of the lane."""

    number: int
    declared_name: str
    profile: _AgentProfile
    instructions: str
    hand_off_tool: str = ""
    name: str = ""


class _Predecessor(NamedTuple):
    """What a request continues: the lane of the earlier answer, and the call when the request answers one."""

    lane: _Lane
    call: Json | None = None


@dataclass(slots=True)
class _LaneTracker:
    """Tracks the lanes so far, and what later requests can refer to."""

    lanes: list[_Lane] = field(default_factory=list)
    declared: dict[str, _Lane] = field(default_factory=dict)
    by_instructions: dict[str, list[_Lane]] = field(default_factory=dict)
    predecessors: dict[ReferenceKey, _Predecessor] = field(default_factory=dict)
    assistant_names: dict[str, str] = field(default_factory=dict)

    def assign_lane(self, exchange: Exchange) -> tuple[_Lane | None, _Predecessor | None]:
        """Assign the next exchange to a lane (None for the client), and find what it continues."""
        body, origin = as_object(exchange.request.body), self._find_predecessor(exchange.request)
        lane = self._find_lane(exchange, body, origin)
        if lane:
            self._index_answer(exchange, lane)
        return lane, origin

    def _find_lane(self, exchange: Exchange, body: Json, origin: _Predecessor | None) -> _Lane | None:
        request, answer = exchange.request, as_object(exchange.answer.body)
        if answer.get("object") == "assistant":
            self.assistant_names[as_string(answer.get("id"))] = as_string(answer.get("name"))
        # A steer belongs to the agent whose response it steers.
        if asks_model(request) and body.get("type") != "response.steer":
            return self._find_or_add_lane(_declared_agent(body), body, origin)
        if request.method == "POST" and (
            id := as_string(answer.get("assistant_id")) or as_string(body.get("assistant_id"))
        ):
            return self._find_or_add_lane(self.assistant_names.get(id) or id, body | answer, origin)
        return origin and origin.lane

    def _find_predecessor(self, request: Request) -> _Predecessor | None:
        """Find what a request continues: the newest item from an earlier answer, else its chain."""
        body, params = as_object(request.body), request.params
        for item in reversed(objects_in(input_items(body))):
            known = (self.predecessors.get(key) for key in reference_keys(item))
            if origin := next(filter(None, known), None):
                # Only the output of a call can be a hand-off; other items merely repeat what the lane has shown.
                return origin if str(item.get("type")).endswith("_output") else _Predecessor(origin.lane)
        chain = (
            body.get("previous_response_id"),
            conversation_id(body),
            params.get("response_id"),
            params.get("run_id"),
        )
        continued = (self.predecessors.get(("id", id)) for id in chain if isinstance(id, str))
        return next(filter(None, continued), None)

    def _find_or_add_lane(self, declared_name: str, body: Json, origin: _Predecessor | None) -> _Lane:
        text, profile = _read_profile(body)
        if declared_name:
            lane = self.declared.get(declared_name)
        else:
            lane = self._continued_lane(body, text, profile, origin) or self._similar_lane(profile, origin)
        if lane is None:
            hand_off_tool = as_string(origin.call.get("name")) if origin and origin.call else ""
            lane = _Lane(len(self.lanes), declared_name, profile, text, hand_off_tool)
            self.lanes.append(lane)
            self.declared.setdefault(declared_name, lane)
            self.by_instructions.setdefault(profile.instructions, []).append(lane)
        # A request may omit what an earlier one of the same agent named.
        known = lane.profile
        lane.profile = _AgentProfile(
            profile.model or known.model, profile.instructions or known.instructions, known.tools | profile.tools
        )
        if lane.profile.instructions != known.instructions:
            self.by_instructions[known.instructions].remove(lane)
            insort(self.by_instructions.setdefault(lane.profile.instructions, []), lane, key=lambda other: other.number)
        return lane

    @staticmethod
    def _continued_lane(body: Json, text: str, profile: _AgentProfile, origin: _Predecessor | None) -> _Lane | None:
        """Find the lane that a chained request without instructions continues."""
        # A chain may change agents: other tools mean another agent.
        chained = bool(body.get("previous_response_id") or conversation_id(body))
        if origin and chained and not text and _is_nested(profile.tools, origin.lane.profile.tools):
            return origin.lane
        return None

    def _similar_lane(self, profile: _AgentProfile, origin: _Predecessor | None) -> _Lane | None:
        """Find the lane of the same agent: preferably with the same tools, then the continued one, then the oldest."""
        before = origin and origin.lane
        candidates = [*self.by_instructions.get(profile.instructions, ()), *([before] if before else ())]
        found = [lane for lane in candidates if _is_same_agent(lane, profile, continued=lane is before)]
        return min(found, key=lambda lane: (lane.profile.tools != profile.tools, lane is not before), default=None)

    def _index_answer(self, exchange: Exchange, lane: _Lane) -> None:
        body = as_object(exchange.answer.body)
        ids = [body.get("id"), conversation_id(as_object(exchange.request.body)), conversation_id(body)]
        self.predecessors.update((("id", id), _Predecessor(lane)) for id in ids if isinstance(id, str))
        for item in objects_in(body.get("output")):
            call = item if isinstance(item.get("call_id"), str) else None
            self.predecessors.update((key, _Predecessor(lane, call)) for key in reference_keys(item))


def assign_lanes(exchanges: Sequence[Exchange], hints: Sequence[str]) -> list[LaneExchange]:
    """Assign each exchange to a lane; `hints` are names of agents, as routes look for them in instructions."""
    tracker = _LaneTracker()
    assigned = [(exchange, *tracker.assign_lane(exchange)) for exchange in exchanges]
    _name_lanes(tracker.lanes, hints)
    return [
        LaneExchange(exchange, lane.name if lane else CLIENT_LANE, _detect_hand_off(exchange, lane, origin))
        for exchange, lane, origin in assigned
    ]


def group_by_lane(exchanges: Sequence[Exchange], hints: Sequence[str] = ()) -> dict[str, list[Exchange]]:
    """Group exchanges by lane, in the order of the lanes' first requests."""
    found: dict[str, list[Exchange]] = {}
    for placed in assign_lanes(exchanges, hints):
        found.setdefault(placed.lane, []).append(placed.exchange)
    return found


def without_probes(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    """Drop the exchanges with paths that the API does not have, unless there are no others."""
    return [exchange for exchange in exchanges if not is_probe(exchange)] or exchanges


def is_probe(exchange: Exchange) -> bool:
    """Return whether an exchange requested a path that the API does not have."""
    return exchange.answer.rule in PROBE_RULES


def asks_model(request: Request) -> bool:
    """Return whether a request creates a response, over HTTP or a WebSocket."""
    return request.path == "/responses" and request.method in ("POST", "WS")


def _detect_hand_off(exchange: Exchange, lane: _Lane | None, origin: _Predecessor | None) -> HandOff | None:
    if lane is None or origin is None or origin.call is None or origin.lane is lane:
        return None
    call = origin.call
    return HandOff(exchange.number, origin.lane.name, lane.name, as_string(call.get("name")), call["call_id"])


def _name_lanes(lanes: Sequence[_Lane], hints: Sequence[str]) -> None:
    """Name each lane; a repeated name gets a number."""
    used, unnamed = Counter([CLIENT_LANE]), count(1)
    for lane in lanes:
        name = _choose_name(lane, hints) or f"agent {next(unnamed)}"
        used[name] += 1
        lane.name = name if used[name] == 1 else f"{name} {used[name]}"


def _choose_name(lane: _Lane, hints: Sequence[str]) -> str:
    tool = lane.hand_off_tool
    hand_off_target = next((tool.removeprefix(start) for start in _HAND_OFF_PREFIXES if tool.startswith(start)), "")
    hinted = next((hint for hint in hints if hint.casefold() in lane.instructions.casefold()), "")
    # An assistant without a name is declared by its id, which is no name for a lane.
    declared = "" if lane.declared_name.startswith("asst_") else lane.declared_name
    return (
        declared
        or find_agent_name(lane.instructions)
        or hinted
        or hand_off_target
        or heading_as_name(lane.instructions)
    )


def _is_same_agent(lane: _Lane, profile: _AgentProfile, *, continued: bool) -> bool:
    known = lane.profile
    if lane.declared_name and not profile.instructions:
        return False
    # A client without instructions and tools is one client, whichever models it asks.
    is_plain = not (known.instructions or known.tools or profile.instructions or profile.tools)
    if not is_plain and known.model and profile.model and known.model != profile.model:
        return False
    if known.instructions == profile.instructions:
        return _is_nested(known.tools, profile.tools)
    # Nearly equal instructions may also belong to a similar agent, so they count only within one conversation.
    return continued and known.tools == profile.tools and is_nearly_equal(known.instructions, profile.instructions)


def _is_nested(one: frozenset[str], other: frozenset[str]) -> bool:
    return one <= other or other <= one


def _read_profile(body: Json) -> tuple[str, _AgentProfile]:
    leading = takewhile(lambda item: item.get("role") in INSTRUCTION_ROLES, objects_in(input_items(body)))
    prompt = as_object(body.get("prompt")).get("id")
    text = "\n".join(filter(None, [as_string(prompt), as_string(body.get("instructions")), *map(item_text, leading)]))
    named = (as_object(tool.get("function")) | tool for tool in objects_in(body.get("tools")))
    tools = frozenset(str(tool.get("name") or tool.get("server_label") or tool.get("type")) for tool in named)
    return text, _AgentProfile(as_string(body.get("model")), mask_dates_and_ids(text), tools)


def _declared_agent(body: Json) -> str:
    agent = as_object(body.get("agent_reference")) or as_object(body.get("agent"))
    return as_string(agent.get("name")) or as_string(as_object(body.get("metadata")).get("agent"))


def reference_keys(item: Json) -> Iterator[ReferenceKey]:
    """Yield the keys by which an item can be found among earlier answers."""
    for kind, member in (("id", "call_id"), ("id", "approval_request_id"), ("id", "id")):
        if isinstance(item.get(member), str):
            yield kind, item[member]
    if item.get("role") == "assistant" and item.get("type", "message") == "message" and (text := item_text(item)):
        yield "text", text

"""Renders the mock's own answer to a recorded request: its model returns the recorded items, the mock adds the rest.

No schema describes what a Foundry project stores, so there the mock's answer is the reference: its status, its members
and the types of their values. What depends on the project's past (versions, times, ids, contents of lists) is not
compared.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from harness.answers.recorded_stream import count_held
from harness.api.http.bodies import decode_answer
from harness.api.http.dialects import FOUNDRY, path_below_root
from harness.api.operations import Operation
from harness.api.responses import PENDING_STATUSES, infer_include
from harness.cassettes.format.recorded import Recorded
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.contract.rule import CREATE_RESPONSE
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object
from harness.ending import RECORDED_ENDING, Ending, TurnLine
from harness.foundry.agent_versions import AGENTS
from harness.items import message
from harness.items.kind import ITEMS, item_from_wire
from harness.items.transcript import conversation_id
from harness.server.answering import call_handler
from harness.verify.compare import (
    ABSENT,
    Difference,
    Profile,
    compare,
    describe_kind,
)
from harness.verify.judging.circumstances import rebuild_request
from harness.verify.judging.judge import compare_refusals, presume_agent
from harness.world.api_call import ApiCall
from harness.world.store import Conversation
from harness.world.world import World, WorldOptions

RESPONSES_PATH = "/responses"
PLACEHOLDER_MESSAGE = message("…")
"""The model's output for a response that was recorded before it had any."""
TEXT_INDEX_MEMBERS = ("content_index", "summary_index", "command_index")
"""Members of an event that assign a delta to one of the texts of an item."""


def is_response_request(recorded: Recorded) -> bool:
    """Return whether the request is `POST /responses`."""
    return recorded.method == "POST" and path_below_root(recorded.path) == RESPONSES_PATH


def renderable_response(answer: Any) -> Json | None:
    """Return the answer if it is a response that the mock can render: its items are of known types; else None."""
    if not isinstance(answer, dict) or answer.get("object") != "response" or not isinstance(answer.get("id"), str):
        return None
    output, status = answer.get("output"), answer.get("status")
    items = output if isinstance(output, list) else [None]
    if not all(str(as_object(item).get("type")) in ITEMS for item in items):
        return None
    # A completed response without output has no turn that could be scripted.
    ended = status == "incomplete" or (status == "completed" and output)
    return answer if ended or status in PENDING_STATUSES else None


def render_mock_answer(recorded: Recorded, final: Json, world: World) -> Answer:
    """Render the mock's answer to `recorded.request`, as JSON or as a stream; `final` is the recorded response.

    `world` remembers the earlier exchanges and is not changed. An unknown request is derived from the response.
    HarnessError if the request does not allow the recorded output.
    """
    _, request = rebuild_request(recorded)
    request = request._replace(body=_request_body(recorded, final), operation=CREATE_RESPONSE)
    # Except for Foundry, the comparison itself knows the day of each member.
    day = world.as_of if request.dialect == FOUNDRY else CONTRACT_DATE
    copy = _copy_world(world, recorded.request, day)
    presume_agent(copy, final)
    copy.script.add([build_turn(recorded.events or (), final)])
    return call_handler(ApiCall(request, copy))


def build_turn(events: Sequence[Json], final: Json) -> list[TurnLine]:
    """Build the turn for a recorded response: its items, with the exact deltas of a stream, and its ending."""
    deltas_of: list[dict[tuple[str, int], list[str]]] = [defaultdict(list) for _ in final["output"]]
    for event in events:
        stem = event["type"].removeprefix("response.")
        delta = event.get("delta", event.get("partial_image_b64"))
        if isinstance(delta, str):
            index: int = next((event[name] for name in TEXT_INDEX_MEMBERS if name in event), 0)
            deltas_of[event["output_index"]][stem.removesuffix(".delta"), index].append(delta)
    held = count_held(events)
    items = [
        replace(item_from_wire(wire), deltas=dict(deltas_of[index]), holds=held.get(index, 0))
        for index, wire in enumerate(final["output"])
    ]
    # The items were still to come: any message can replace them.
    if final["status"] in PENDING_STATUSES:
        return [PLACEHOLDER_MESSAGE, RECORDED_ENDING]
    if final["status"] == "completed":
        return [*items, RECORDED_ENDING]
    member = "error" if final["status"] == "failed" else "incomplete_details"
    return [*items, Ending(final["status"], {member: final.get(member)}, off_schema=True)]


def _copy_world(world: World, body: Any, day: str) -> World:
    """Copy the agents, stored responses, items and the conversation to a new World that may be changed."""
    copy = World(world.name, options=WorldOptions(world.account, as_of=day))
    copy.store.table(AGENTS).update(world.store.table(AGENTS))
    copy.store.responses.update(world.store.responses)
    copy.store.items.update(world.store.items)
    id = conversation_id(body) if isinstance(body, dict) else None
    if known := world.store.conversations.get(id or ""):
        copy.store.conversations[id or ""] = Conversation(known.object, known.chain)
    return copy


def _request_body(recorded: Recorded, final: Json) -> Mapping[str, Any]:
    """Return the body of the recorded request, or derive one from the response if it is unknown."""
    if isinstance(recorded.request, dict) and "no_request" not in recorded.flags:
        return recorded.request if recorded.events is None else {**recorded.request, "stream": True}
    known = {name: final[name] for name in ("model", "background", "conversation") if final.get(name)}
    body = {**known, "input": "", "include": infer_include(final["output"])}
    return body if recorded.events is None else {**body, "stream": True}


SAID_MEMBERS = frozenset({"object", "type", "kind", "name", "deleted", "protocol"})
"""Members whose values are compared, not only their types."""
LIST_MEMBERS = ("data", "value")
"""The members that contain the objects of a list; only the first object is compared."""
FREE_MEMBERS = frozenset(
    {"metadata", "tags", "properties", "environment_variables", "schema", "parameters", "spec", "credentials"}
)
"""Members whose names the user chose, or whose content only the service knows."""


def find_refusal_differences(recorded: Recorded, request: Request, world: World) -> list[Difference] | None:
    """Find the differences in the form of an error; None if the mock's error is another, which the judge reports."""
    violation = check(WorldCall(request, world)).violation
    if violation is None or not isinstance(recorded.answer, dict):
        return None
    if compare_refusals(recorded, violation):
        return None
    return list(compare(recorded.answer, violation.error.body(), Profile(view=_view)))


def find_project_differences(
    recorded: Recorded, operation: Operation, request: Request, world: World
) -> list[Difference] | None:
    """Find the differences between the answers; None if the mock refuses the request, which the judge reports."""
    copy = _copy_whole_world(world)
    checked = check(ApiCall(request, copy))
    if checked.violation is not None:
        return None
    mock = call_handler(checked.call)
    return list(_compare_answers(recorded, mock))


def _copy_whole_world(world: World) -> World:
    """Copy a World with all that it stores, on the same day; the copy may be changed."""
    copy = World(world.name, options=WorldOptions(world.account, as_of=world.as_of))
    for name, table in world.store.tables.items():
        copy.store.tables[name].update(deepcopy(dict(table)))
    return copy


def _compare_answers(recorded: Recorded, mock: Answer) -> Iterator[Difference]:
    if recorded.status != mock.status:
        yield Difference("status", str(recorded.status), str(mock.status))
    elif isinstance(recorded.answer, dict) and isinstance(mock.body, dict):
        sides = (recorded.answer, mock.body)
        left_out = [name for name in LIST_MEMBERS if not all(_is_filled(side.get(name)) for side in sides)]
        one, other = _without_later_members(*sides)
        yield from compare(one, other, Profile(view=lambda answer: _view_answer(answer, left_out)))
    elif recorded.events is not None and isinstance(mock.body, bytes):
        known = [_view(event) for event in decode_answer(mock.body, mock.headers).events or ()]
        # The mock may have fewer deltas; an event of a kind that it never sends is a difference.
        news = (shown for event in recorded.events if (shown := _view(event)) not in known)
        yield from (Difference("events", str(shown), ABSENT) for shown in news)
    elif not isinstance(mock.body, bytes) and (recorded.answer is None) != (mock.body is None):
        yield Difference("answer", describe_kind(recorded.answer), describe_kind(mock.body))


def _is_filled(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _without_later_members(recorded: Json, mock: Json) -> tuple[Json, Json]:
    """Return both answers; if their statuses differ, without the members that only one has."""
    states = [answer.get("status") for answer in (recorded, mock)]
    # An index that is still being built has no counts yet, which is a matter of time and not of form.
    if states[0] == states[1] or not all(isinstance(state, str) for state in states):
        return recorded, mock
    return {name: recorded[name] for name in recorded if name in mock}, {
        name: mock[name] for name in mock if name in recorded
    }


def _view_answer(answer: Json, left_out: Collection[str]) -> Any:
    """Reduce an answer for comparison: a list to its first object, or to its presence if only one side has objects."""
    lists = {name: answer[name] for name in LIST_MEMBERS if isinstance(answer.get(name), list)}
    for name, listed in lists.items():
        # Any object may come first, so its name is hidden.
        first = [{**element, "name": "…"} if "name" in as_object(element) else element for element in listed[:1]]
        lists[name] = "a list" if name in left_out else first
    return _view(answer | lists)


def _view(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        if name in FREE_MEMBERS:
            return "an object"
        return {member: _view(inner, member) for member, inner in value.items()}
    if isinstance(value, list):
        return [_view(inner, name) for inner in value]
    # Ids, times and the model's texts differ in each run; their types do not.
    return value if name in SAID_MEMBERS else describe_kind(value)

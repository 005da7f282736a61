"""Compares a recorded answer of a Foundry project with the mock's answer to the same request.

No schema describes what a project stores, so the mock's own answer is the reference: its status, its members and the
types of their values. What depends on the project's past (versions, times, ids, contents of lists) is not compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import Any

from harness.api.http.bodies import decode_answer
from harness.api.operations import Operation
from harness.cassettes.format.recorded import Recorded
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.core.exchange import Answer, Json, Request
from harness.server.answering import call_handler
from harness.verify.compare import (
    ABSENT,
    Difference,
    Profile,
    compare,
    describe_kind,
    differing_error_members,
    select_error_members,
)
from harness.world.api_call import ApiCall
from harness.world.world import World, WorldOptions

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
    said = {"status": recorded.status, **select_error_members(recorded.answer.get("error"))}
    if differing_error_members(said, {"status": violation.error.status, **violation.error.members()}):
        return None
    return list(compare(recorded.answer, violation.error.body(), Profile(view=_view)))


def find_project_differences(
    recorded: Recorded, operation: Operation, request: Request, world: World
) -> list[Difference] | None:
    """Find the differences between the answers; None if the mock refuses the request, which the judge reports."""
    copy = _copy_world(world)
    checked = check(ApiCall(request, copy))
    if checked.violation is not None:
        return None
    mock = call_handler(checked.call)
    return list(_compare_answers(recorded, mock))


def _copy_world(world: World) -> World:
    """Copy a World with all that it stores, on the same day; the copy may be changed."""
    copy = World(world.name, options=WorldOptions(world.account, as_of=world.as_of))
    for name, table in world.store.tables.items():
        copy.store.tables[name].update(deepcopy(dict(table)))
    return copy


def _compare_answers(recorded: Recorded, mock: Answer) -> Iterator[Difference]:
    if recorded.status != mock.status:
        yield Difference("status", str(recorded.status), str(mock.status))
    elif isinstance(recorded.answer, dict) and isinstance(mock.body, dict):
        left_out = [name for name in LIST_MEMBERS if not (_lists(recorded.answer, name) and _lists(mock.body, name))]
        one, other = _without_moved_on(recorded.answer, mock.body)
        yield from compare(one, other, Profile(view=lambda answer: _view_answer(answer, left_out)))
    elif recorded.events is not None and isinstance(mock.body, bytes):
        known = [_view(event) for event in decode_answer(mock.body, mock.headers).events or ()]
        # The mock may have fewer deltas; an event of a kind that it never sends is a difference.
        news = (shown for event in recorded.events if (shown := _view(event)) not in known)
        yield from (Difference("events", str(shown), ABSENT) for shown in news)
    elif not isinstance(mock.body, bytes) and (recorded.answer is None) != (mock.body is None):
        yield Difference("answer", describe_kind(recorded.answer), describe_kind(mock.body))


def _without_moved_on(recorded: Json, mock: Json) -> tuple[Json, Json]:
    """Return both answers; if their statuses differ, without the members that only one has."""
    states = [answer.get("status") for answer in (recorded, mock)]
    # An index that is still being built has no counts yet, which is a matter of time and not of form.
    if states[0] == states[1] or not all(isinstance(state, str) for state in states):
        return recorded, mock
    return {name: recorded[name] for name in recorded if name in mock}, {
        name: mock[name] for name in mock if name in recorded
    }


def _lists(answer: Json, name: str) -> bool:
    return isinstance(answer.get(name), list) and bool(answer[name])


def _view_answer(answer: Json, left_out: Collection[str]) -> Any:
    """Reduce an answer for comparison: a list to its first object, or to its presence if only one side has objects."""
    lists = {name: answer[name] for name in LIST_MEMBERS if isinstance(answer.get(name), list)}
    firsts = {
        name: "a list" if name in left_out else [_unnamed(listed) for listed in several[:1]]
        for name, several in lists.items()
    }
    return _view(answer | firsts)


def _unnamed(one: Any) -> Any:
    """Hide the name of an object in a list, since any object may come first."""
    return {**one, "name": "…"} if isinstance(one, dict) and "name" in one else one


def _view(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        if name in FREE_MEMBERS:
            return "an object"
        return {member: _view(inner, member) for member, inner in value.items()}
    if isinstance(value, list):
        return [_view(inner, name) for inner in value]
    # Ids, times and the model's texts differ in each run; their types do not.
    return value if name in SAID_MEMBERS else describe_kind(value)

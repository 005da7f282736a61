"""Whatever the API was recorded to say to a request, a script may say to it: no recorded turn is a mistake of a script."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from harness.answers.turn_problem import find_turn_problem
from harness.api.http.dialects import apply_agent
from harness.cassettes.format.recorded import Recorded
from harness.contract.call import drop_nulls
from harness.core.exchange import Json
from harness.ending import DEFAULT_ENDING
from harness.items.kind import ITEMS, Item, item_from_wire
from harness.verify.judging.circumstances import rebuild_request
from harness.verify.judging.judge import answer_object, judge
from harness.verify.judging.mock_answer import is_response_request, renderable_response
from harness.world.world import World
from tests.support.shared import READS_RECORDINGS, recordings

pytestmark = READS_RECORDINGS


class RecordedTurn(NamedTuple):
    """A completed answer: its request, what the model said, and the transcript that it read."""

    id: str
    body: Json
    items: list[Item]
    read: list[Json]

    def problem(self, items: list[Item] | None = None) -> str:
        """Why no model could say this turn, or these items in its place."""
        return find_turn_problem(self.body, self.items if items is None else items, DEFAULT_ENDING, lambda: self.read)


def recorded_turns() -> Iterator[RecordedTurn]:
    worlds: dict[str, World] = {}
    for recorded in recordings():
        world = worlds.setdefault(recorded.file, World(recorded.file))
        if (made := as_turn(recorded, world)) is not None:
            yield made
        for _ in judge(recorded, world):
            pass  # the World learns what a later request continues


def as_turn(recorded: Recorded, world: World) -> RecordedTurn | None:
    if not is_response_request(recorded) or recorded.status != 200 or "no_request" in recorded.flags:
        return None
    final = answer_object(recorded)
    if renderable_response(final) is None or final["status"] != "completed":
        return None
    body = drop_nulls(apply_agent(rebuild_request(recorded)[1]).body)
    items = [item_from_wire(item) for item in final["output"]]
    return RecordedTurn(recorded.id, body, items, list(world.store.transcript(body).items))


@pytest.fixture(scope="module")
def turns() -> list[RecordedTurn]:
    return list(recorded_turns())


def calls_of(turn: RecordedTurn) -> list[Item]:
    return [item for item in turn.items if ITEMS[item.type].tool_types]


def _kind(choice: str | Json) -> str:
    return str(choice["type"] if isinstance(choice, dict) else choice)


def test_no_recorded_turn_is_a_mistake(turns: list[RecordedTurn], capsys: pytest.CaptureFixture[str]) -> None:
    choices = Counter(_kind(turn.body["tool_choice"]) for turn in turns if turn.body.get("tool_choice"))
    calls = Counter(call.type for turn in turns for call in calls_of(turn))
    with capsys.disabled():
        print(f"\nrecorded turns: {len(turns)}, calls: {dict(calls)}, tool_choice: {dict(choices)}")
    assert len(turns) > 3900
    assert calls["function_call"] > 1200
    assert choices.total() - choices["auto"] > 500
    assert {turn.id: problem for turn in turns if (problem := turn.problem())} == {}


def test_the_same_turns_with_another_name_would_be(turns: list[RecordedTurn]) -> None:
    changed = 0
    for turn in (turn for turn in turns if calls_of(turn)[:1] and calls_of(turn)[0].type == "function_call"):
        call = calls_of(turn)[0]
        other = replace(call, members={**call.members, "name": f"{call.members['name']}_"})
        assert turn.problem([other]), turn.id
        changed += 1
    assert changed > 900

"""The turns of a script that wait for a request, as what somebody who watches can read, change and remove.

A waiting turn is named by the place of its route among all and its own there, `0.2`. Places move when a request takes a
turn, so that who changes one also says what it `was`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text.raised import Place
from harness.core.text.shorten import item_text
from harness.items.kind import Item
from harness.world.route import Repeated, Route, Turn
from harness.world.script import Script


@dataclass(frozen=True, slots=True)
class QueuedTurn:
    """A turn that no request has taken, or only in part: `id`, route, content.

    `yaml` is how it stands in a script; empty for code, for turns that repeat, and for what a script says otherwise than
    by items.
    """

    id: str
    route: str
    turn: Turn
    yaml: str
    place: Place


def list_waiting(script: Script) -> list[QueuedTurn]:
    """List the turns that wait, those of the route that is tried first at the beginning."""
    return [
        QueuedTurn(f"{number}.{index}", str(route), turn, write_turn(turn), places[0])
        for number, route in enumerate(script.all_routes)
        for index, (turn, places) in enumerate(zip(route.turns, route.places, strict=True))
    ]


def replace_waiting(script: Script, id: str, was: str, turn: Turn, place: Place) -> None:
    """Put a turn where another one waits; a ScriptError when that is gone."""
    route, index = _find(script, id, was)
    made = Route(route.conditions, vocabulary=route.vocabulary).add_turns([turn], [[place]])
    route.turns[index], route.places[index] = made.turns[0], made.places[0]
    _begin_again(route, index)


def remove_waiting(script: Script, id: str, was: str) -> None:
    """Remove a turn that waits; a ScriptError when it is gone."""
    route, index = _find(script, id, was)
    del route.turns[index], route.places[index]
    _begin_again(route, index)


def _begin_again(route: Route, index: int) -> None:
    """Note that no repeated turn has been played when the first turn is another now."""
    if index == 0:
        route.replayed = 0


def _find(script: Script, id: str, was: str) -> tuple[Route, int]:
    known = next((waiting for waiting in list_waiting(script) if waiting.id == id), None)
    if known is None or known.yaml != was:
        raise ScriptError(
            f"turn {id!r} is not what it was: a request took a turn, or somebody changed it. List them again."
        )
    number, index = map(int, id.split("."))
    return script.all_routes[number], index


def write_turn(turn: Turn) -> str:
    """Write a turn of items as it stands in a script in YAML, of which JSON is a part; empty for any other turn."""
    lines = turn if isinstance(turn, list | tuple) else [turn]
    if isinstance(turn, Repeated) or not all(isinstance(line, Item) for line in lines):
        return ""
    written = [_write_item(line) for line in lines if isinstance(line, Item)]
    return f"- {written[0]}" if len(written) == 1 else "\n".join(_nest(written))


def _nest(lines: Sequence[str]) -> list[str]:
    return [f"{'  ' if index else '- '}- {line}" for index, line in enumerate(lines)]


def _write_item(item: Item) -> str:
    if item.is_text and len(item.members["content"]) == 1 and not item.deltas:
        return f"message: {_write(item_text(item.members))}"
    wire: Json = {"type": item.type, **item.members}
    return _write({**wire, "off_schema": True} if item.off_schema else wire)


def _write(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

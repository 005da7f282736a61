"""The waiting turns of a script, for a viewer that lists, changes and removes them.

A waiting turn is identified by the index of its route and its own index there, `0.2`. Indexes shift when a request
takes a turn, so a change also states what the turn `was`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.errors import Place, ScriptError
from harness.core.exchange import Json
from harness.core.text import item_text, show
from harness.items.kind import Item
from harness.world.route import Repeated, Route, Turn
from harness.world.script import Script


@dataclass(frozen=True, slots=True)
class QueuedTurn:
    """A turn that no request has taken, or only in part: `id`, route, content.

    `yaml` is the turn as YAML of a script; empty for code, for repeated turns, and for turns with anything but items.
    """

    id: str
    route: str
    turn: Turn
    yaml: str
    place: Place


def list_waiting(script: Script) -> list[QueuedTurn]:
    """List the waiting turns, in the order in which their routes are tried."""
    return [
        QueuedTurn(f"{number}.{index}", str(route), turn, write_turn(turn), places[0])
        for number, route in enumerate(script.all_routes)
        for index, (turn, places) in enumerate(zip(route.turns, route.places, strict=True))
    ]


def replace_waiting(script: Script, id: str, was: str, turn: Turn, place: Place) -> None:
    """Replace a waiting turn; ScriptError if it is gone."""
    route, index = _find(script, id, was)
    made = Route(route.conditions, vocabulary=route.vocabulary).add_turns([turn], [[place]])
    route.turns[index], route.places[index] = made.turns[0], made.places[0]
    _begin_again(route, index)


def remove_waiting(script: Script, id: str, was: str) -> None:
    """Remove a waiting turn; ScriptError if it is gone."""
    route, index = _find(script, id, was)
    del route.turns[index], route.places[index]
    _begin_again(route, index)


def _begin_again(route: Route, index: int) -> None:
    """Reset the count of repeated turns if the first turn of the route has changed."""
    if index == 0:
        route.replayed = 0


def _find(script: Script, id: str, was: str) -> tuple[Route, int]:
    known = next((waiting for waiting in list_waiting(script) if waiting.id == id), None)
    if known is None or known.yaml != was:
        raise ScriptError(
            f"turn {show(id)} has changed: a request took a turn, or another client edited it. List the turns again."
        )
    number, index = map(int, id.split("."))
    return script.all_routes[number], index


def write_turn(turn: Turn) -> str:
    """Format a turn of items as YAML for a script (its lines are JSON); empty for any other turn."""
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

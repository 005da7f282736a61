"""The script of a World: the routes that choose a turn, the error for a request without one, and the waiting turns.

Routes are tried in the order in which they were added, the unconditional script last; a route without turns left is
skipped.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.answers.turn_problem import ReadItems, find_turn_problem
from harness.contract.call import WorldCall
from harness.core.advice_wording import PYTHON, Vocabulary
from harness.core.delivery import Fault, Pace, Pause
from harness.core.errors import NOWHERE, NoTurn, Place, Problem, ScriptError, find_calling_place
from harness.core.exchange import Json, Request
from harness.core.registry import suggest_name
from harness.core.text import item_text, pluralize, shorten, show
from harness.ending import Ending, TurnLine
from harness.faults.transmission import find_pace
from harness.items.kind import Item
from harness.items.transcript import Transcript
from harness.world.route import CONDITIONS, Matcher, Repeated, Route, Turn, is_matcher


@dataclass(frozen=True, slots=True)
class TurnOrigin:
    """The turn that answered: its number in the `route`, and the file and line of the script.

    For a script sent over HTTP, `file` names the request and `line` is 0.
    """

    route: str
    turn: int
    file: str
    line: int

    def __str__(self) -> str:
        place = Place(self.file, self.line)
        return f"{self.route}, turn {self.turn}{f' ({place})' if self.file else ''}"


TurnSource = tuple[object, int, Sequence[Place], int]
"""A taken turn: its route, its number, the places where it was scripted, an index into these modulo their count."""


class TurnLog(Mapping[int, TurnOrigin]):
    """The turns that answered, by the number of the exchange; the first one if several made an answer."""

    __slots__ = ("sources",)

    def __init__(self) -> None:
        self.sources: dict[int, TurnSource] = {}

    def __getitem__(self, number: int) -> TurnOrigin:
        route, turn, places, place = self.sources[number]
        return TurnOrigin(str(route), turn, *places[place % len(places)])

    def __iter__(self) -> Iterator[int]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)


Fallback = Callable[[Any], Sequence[TurnLine]]
"""Answers a call (`harness.world.api_call`) when nothing was scripted."""


class PlayedTurn(NamedTuple):
    """The lines that answer a request, with the turn's route and its number there; no route if unscripted.

    `places` holds where the turn was scripted.
    """

    lines: Sequence[TurnLine]
    route: Route | None = None
    number: int = 0
    places: Sequence[Place] = (NOWHERE,)

    @property
    def place(self) -> str:
        """The place in the script, such as `script, turn 2`; empty if unscripted."""
        return f"{self.route}, turn {self.number}" if self.route else ""

    @property
    def has_faults(self) -> bool:
        """Whether the answer has faults."""
        return bool(self.lines) and isinstance(self.lines[-1], Fault)

    def check(self, body: Json, items: Sequence[Item], ending: Ending, read: ReadItems) -> None:
        """Raise a ScriptError with the place in the script if no model could answer such a request with these items."""
        if self.route and (problem := find_turn_problem(body, items, ending, read, self.route.vocabulary)):
            raise ScriptError(f"{self.place}: {problem}")


@dataclass(slots=True)
class Script:
    """The routes of one World; `fallback` answers if nothing was scripted at all, `pace` is for turns without one.

    With a `step` every answer pauses like that before each of its events. `current_turn` is the first turn that the
    request being answered has taken.
    """

    fallback: Fallback | None = None
    routes: list[Route] = field(default_factory=list)
    default: Route | None = None
    vocabulary: Vocabulary = PYTHON
    pace: Pace | None = None
    step: Pause | None = None
    current_turn: TurnSource | None = None

    def when(self, conditions: dict[str, Matcher]) -> Route:
        """Add a route for requests that meet all conditions."""
        for name, wanted in conditions.items():
            if name not in CONDITIONS:
                raise ScriptError(f"when({name}=…): no condition {show(name)}. {suggest_name(name, CONDITIONS)}")
            if not is_matcher(name, wanted):
                form = "a text or a list of names" if name == "tools" else "a text"
                raise ScriptError(f"when({name}={show(wanted)}): pass {form}, a compiled pattern, or a function.")
        self.routes.append(Route(conditions, vocabulary=self.vocabulary, made_at=find_calling_place()))
        return self.routes[-1]

    def add(self, turns: Sequence[Turn], repeat: bool = False) -> Route:
        """Add turns for requests that no other route answers, with `repeat` in a loop."""
        self.default = (self.default or Route({}, vocabulary=self.vocabulary)).script(*turns, repeat=repeat)
        return self.default

    @property
    def all_routes(self) -> list[Route]:
        """The routes in the order in which they are tried."""
        return [*self.routes, self.default] if self.default else self.routes

    @property
    def unused(self) -> list[tuple[Route, Turn]]:
        """The turns that no request has taken, with their routes."""
        return [(route, turn) for route in self.all_routes for turn in route.turns if not route.has_begun(turn)]

    @property
    def agent_hints(self) -> list[str]:
        """The strings that routes look for in instructions, which usually name an agent."""
        return [wanted for route in self.routes if isinstance(wanted := route.conditions.get("instructions"), str)]

    def next(self, call: WorldCall) -> PlayedTurn:
        """Take the turn that answers a call; NoTurn, with a diff to the closest route, if nothing answers it."""
        routes, request = self.all_routes, call.request
        transcript = call.transcript
        for route in routes:
            while route.turns and not (route.conditions and route.unmet_conditions(request, transcript)):
                before, places, replayed = self.current_turn, route.places[0], route.replayed
                # Recorded before the turn is played: an error raised by its function is reported with its place.
                self.current_turn = before or (route, route.taken + 1, places, replayed)
                if lines := route.next(request):
                    return PlayedTurn(
                        self._at_pace(lines) if self.pace or self.step else lines, route, route.taken, places
                    )
                self.current_turn = before  # a generator without a turn left, which only calling it could show
        if self.fallback and not routes:
            return PlayedTurn(self._at_pace(list(self.fallback(call))))
        raise NoTurn(*self.explain_no_turn(request, transcript))

    def note_taken(self, taken: PlayedTurn) -> None:
        """Record a turn that answers a request although it was taken earlier, unless another one answers as well."""
        if self.current_turn is None and taken.route is not None:
            self.current_turn = taken.route, taken.number, taken.places, 0

    def _at_pace(self, lines: list[TurnLine]) -> list[TurnLine]:
        """Add the script's step to a turn, and its pace if the turn has none."""
        stepped = [*lines, self.step] if self.step else lines
        return [*stepped, self.pace] if self.pace and not find_pace(lines) else stepped

    def explain_no_turn(self, request: Request, transcript: Transcript) -> Problem:
        """Explain why no turn answers this request: the closest route, wanted and sent values, the fix."""
        words = self.vocabulary
        waiting = [route for route in self.all_routes if route.turns]
        if not waiting:
            spent = ", ".join(f"{route} ({route.taken} taken)" for route in self.all_routes) or "nothing was scripted"
            return Problem(f"No turn is left for this request: {spent}.", fix=words.add_turn)
        unmet = [(route, route.unmet_conditions(request, transcript)) for route in waiting]
        closest, differing = min(unmet, key=lambda one: len(one[1]))
        left = pluralize(len(closest.turns), "turn")
        lines: list[str] = []
        for name, wanted, actual in differing:
            shown = shorten(words.render_value(actual), 200, mark="...")
            lines += [f"  - {name} wanted: {words.render_value(wanted)}", f"  + {name} was:    {shown}"]
        what = f"No turn answers this request. The closest is {closest}, {left} left:"
        return Problem(what, lines, words.add_open_turn)


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
    nested = [f"{'  ' if index else '- '}- {line}" for index, line in enumerate(written)]
    return f"- {written[0]}" if len(written) == 1 else "\n".join(nested)


def _write_item(item: Item) -> str:
    if item.is_text and len(item.members["content"]) == 1 and not item.deltas:
        return f"message: {_write(item_text(item.members))}"
    wire: Json = {"type": item.type, **item.members}
    return _write({**wire, "off_schema": True} if item.off_schema else wire)


def _write(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

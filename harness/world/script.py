"""The script of a World: the routes that choose among the turns of the model, and the error for a request without a turn.

Routes are tried in the order they were added, the unconditional script last; a spent route steps aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.answers.turn_problem import ReadItems, find_turn_problem
from harness.core.delivery import Fault, Pace, Pause
from harness.core.errors import NoTurn, Problem, ScriptError
from harness.core.exchange import Json, Request
from harness.core.registry import suggest_name
from harness.core.text.raised import NOWHERE, Place, find_calling_place
from harness.core.text.shorten import pluralize, shorten
from harness.core.text.vocabulary import PYTHON, Vocabulary
from harness.ending import Ending, TurnLine
from harness.faults.pace import find_pace
from harness.items.kind import Item
from harness.world.conditions import CONDITIONS, Matcher, is_matcher
from harness.world.route import Route, Turn


@dataclass(frozen=True, slots=True)
class TurnOrigin:
    """The turn that answered: its number in the `route`, the file and line of the script.

    What came over HTTP has the request as its `file`, and 0 as its line.
    """

    route: str
    turn: int
    file: str
    line: int

    def __str__(self) -> str:
        place = Place(self.file, self.line)
        return f"{self.route}, turn {self.turn}{f' ({place})' if self.file else ''}"


TakenTurn = tuple[object, int, Sequence[Place], int]
"""The route and the number of a turn that was taken, where it was scripted, and which of these places, counted round."""


class TurnLog(Mapping[int, TurnOrigin]):
    """The turns that answered, by the number of the exchange; the first turn where several made an answer."""

    __slots__ = ("taken",)

    def __init__(self) -> None:
        self.taken: dict[int, TakenTurn] = {}

    def __getitem__(self, number: int) -> TurnOrigin:
        route, turn, places, place = self.taken[number]
        return TurnOrigin(str(route), turn, *places[place % len(places)])

    def __iter__(self) -> Iterator[int]:
        return iter(self.taken)

    def __len__(self) -> int:
        return len(self.taken)


Fallback = Callable[[Any], Sequence[TurnLine]]
"""Answers a call (`harness.world.api_call`) when nothing was scripted."""


class Taken(NamedTuple):
    """The answer to a request: the lines of a turn, its route and its number there; no route if unscripted.

    `places` are those of the turn in the route.
    """

    lines: Sequence[TurnLine]
    route: Route | None = None
    number: int = 0
    places: Sequence[Place] = (NOWHERE,)

    @property
    def is_scripted(self) -> bool:
        """Whether a script says it, not a model without one."""
        return self.route is not None

    @property
    def place(self) -> str:
        """Where it stands in the script, say `script, turn 2`; empty if it is of none."""
        return f"{self.route}, turn {self.number}" if self.route else ""

    @property
    def has_faults(self) -> bool:
        """Whether something goes wrong with the answer."""
        return bool(self.lines) and isinstance(self.lines[-1], Fault)

    def check(self, body: Json, items: Sequence[Item], ending: Ending, read: ReadItems) -> None:
        """Raise a ScriptError with the place in the script if no model could say these items to such a request."""
        if self.route and (problem := find_turn_problem(body, items, ending, read, self.route.vocabulary)):
            raise ScriptError(f"{self.place}: {problem}")


@dataclass(slots=True)
class Script:
    """The routes of one World; `fallback` answers when nothing was scripted at all, `pace` is that of turns without one.

    With a `step` every answer pauses so, before each of its events.

    `taken_now` is the first turn that the request took which is being answered.
    """

    fallback: Fallback | None = None
    routes: list[Route] = field(default_factory=list)
    default: Route | None = None
    vocabulary: Vocabulary = PYTHON
    pace: Pace | None = None
    step: Pause | None = None
    taken_now: TakenTurn | None = None

    def when(self, conditions: dict[str, Matcher]) -> Route:
        """Add a route for requests that meet all conditions."""
        for name, wanted in conditions.items():
            if name not in CONDITIONS:
                raise ScriptError(f"when({name}=…): no condition {name!r}. {suggest_name(name, CONDITIONS)}")
            if not is_matcher(name, wanted):
                form = "a text or a list of names" if name == "tools" else "a text"
                raise ScriptError(f"when({name}={wanted!r}): give {form}, a compiled pattern, or a function.")
        self.routes.append(Route(conditions, vocabulary=self.vocabulary, made_at=find_calling_place()))
        return self.routes[-1]

    def add(self, turns: Sequence[Turn], repeat: bool = False) -> Route:
        """More turns for requests that no other route answers, with `repeat` again and again."""
        self.default = (self.default or Route({}, vocabulary=self.vocabulary)).script(*turns, repeat=repeat)
        return self.default

    @property
    def all_routes(self) -> list[Route]:
        """The routes in the order they are tried."""
        return [*self.routes, *([self.default] if self.default else [])]

    @property
    def unused(self) -> list[tuple[Route, Turn]]:
        """Turns that no request has taken, with their routes."""
        return [(route, turn) for route in self.all_routes for turn in route.turns if not route.has_begun(turn)]

    @property
    def is_plain(self) -> bool:
        """Whether all turns that wait are items and endings, whose answers are made and sent at once."""
        if self.fallback or self.pace or self.step:
            return False
        return all(
            not any(callable(wanted) for wanted in route.conditions.values()) and all(map(_is_plain_turn, route.turns))
            for route in self.all_routes
        )

    @property
    def agent_hints(self) -> list[str]:
        """The texts that routes look for in instructions: as a rule they name an agent."""
        return [wanted for route in self.routes if isinstance(wanted := route.conditions.get("instructions"), str)]

    def next(self, call: Any) -> Taken:
        """Take the turn that answers a call; NoTurn says why none does, with the closest route and a field diff."""
        routes, request = self.all_routes, call.request
        for route in routes:
            while route.turns and not (route.conditions and route.unmet_conditions(request)):
                before, places, replayed = self.taken_now, route.places[0], route.replayed
                # Noted before the turn is played, since what its function raises is told with its place.
                self.taken_now = before or (route, route.taken + 1, places, replayed)
                if lines := route.next(request):
                    return Taken(self._at_pace(lines) if self.pace or self.step else lines, route, route.taken, places)
                self.taken_now = before  # a generator that had no turn left, as only its call could show
        if self.fallback and not routes:
            return Taken(self._at_pace(list(self.fallback(call))))
        raise NoTurn(*self.explain_no_turn(request))

    def note_taken(self, taken: Taken) -> None:
        """Note a turn that answers a request although it was taken before, unless another one answers, too."""
        if self.taken_now is None and taken.route is not None:
            self.taken_now = taken.route, taken.number, taken.places, 0

    def _at_pace(self, lines: list[TurnLine]) -> list[TurnLine]:
        """Add the script's step, and its pace to a turn that has no pace."""
        stepped = [*lines, self.step] if self.step else lines
        return [*stepped, self.pace] if self.pace and not find_pace(lines) else stepped

    def explain_no_turn(self, request: Request) -> Problem:
        """Explain why no turn answers this request: the closest route, wanted and sent values, the fix."""
        words = self.vocabulary
        waiting = [route for route in self.all_routes if route.turns]
        if not waiting:
            spent = ", ".join(f"{route} ({route.taken} taken)" for route in self.all_routes) or "nothing was scripted"
            return Problem(f"No turn is left for this request: {spent}.", fix=words.add_turn)
        closest = min(waiting, key=lambda route: len(route.unmet_conditions(request)))
        left = pluralize(len(closest.turns), "turn")
        lines: list[str] = []
        for name, wanted, actual in closest.unmet_conditions(request):
            shown = shorten(words.render_value(actual), 200, mark="...")
            lines += [f"  - {name} wanted: {words.render_value(wanted)}", f"  + {name} was:    {shown}"]
        what = f"No turn answers this request. The closest is {closest}, {left} left:"
        return Problem(what, lines, words.add_open_turn)


def _is_plain_turn(turn: Any) -> bool:
    lines = turn if isinstance(turn, list | tuple) else [turn]
    return all(isinstance(line, Item | Ending | str) for line in lines)

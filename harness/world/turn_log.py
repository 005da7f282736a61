"""Which turn or route answered each exchange of a World, and where it was scripted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.core.text.raised import Place


@dataclass(frozen=True, slots=True)
class TurnOrigin:
    """The turn that answered: its number in its `route`, and the file and line where it was scripted.

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

"""Sequences that share their beginning: a longer one costs only the new part."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
MAX_LINKS = 64
"""How often a sequence may link to a shorter one before its values are copied: a look at one value follows all links."""
MIN_LINKED = 32
"""The fewest values that are linked to, and not copied."""


class _Held(Generic[T]):
    """The values of the longest of some sequences, after those of `base` if they branch off from it.

    `start` is the length of `base`, `links` how many bases follow one another; `places` are those of the first `indexed`
    values, ascending.
    """

    __slots__ = ("base", "indexed", "links", "places", "start", "values")

    def __init__(self, values: list[T], base: GrowingSequence[T] | None = None) -> None:
        self.values = values
        self.base = base
        self.start = len(base) if base else 0
        self.links: int = base._held.links + 1 if base else 0
        self.places: dict[Hashable, list[int]] = {}
        self.indexed = 0

    def find_places(self, value: Hashable) -> Sequence[int]:
        """Find the places of a value among `values`."""
        for place, held in enumerate(islice(self.values, self.indexed, None), self.indexed):
            self.places.setdefault(held, []).append(place)
        self.indexed = len(self.values)
        return self.places.get(value, ())


class GrowingSequence(Sequence[T]):
    """A sequence that never changes. `extend` costs what is added: what is made of it holds its values or links to them."""

    __slots__ = ("_held", "_length")

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._held: _Held[T] = _Held([*values])
        self._length = len(self._held.values)

    def extend(self, added: Iterable[T]) -> GrowingSequence[T]:
        """Return the sequence with more values at its end."""
        held = self._held
        if not self._length or held.start + len(held.values) > self._length:
            held = self._branch_off()
        held.values += added
        longer: GrowingSequence[T] = GrowingSequence.__new__(GrowingSequence)
        longer._held, longer._length = held, held.start + len(held.values)
        return longer

    def _branch_off(self) -> _Held[T]:
        """Branch off: return the holder of this sequence's values and of others, when it was extended before."""
        if self._length < MIN_LINKED or self._held.links >= MAX_LINKS:
            return _Held([*self])
        return _Held([], self)

    def _segments(self) -> list[tuple[int, int, _Held[T]]]:
        """List for each `_Held`, in order, the place of the first value and after the last one."""
        found, view, stop = [], self, self._length
        while True:
            held = view._held
            found.append((held.start, stop, held))
            if held.base is None:
                return found[::-1]
            view, stop = held.base, held.start

    def count(self, value: Any) -> int:
        """How often a value occurs; the values must be hashable."""
        return sum(bisect_left(held.find_places(value), stop - start) for start, stop, held in self._segments())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(islice(held.values, stop - start) for start, stop, held in self._segments())

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> list[T]: ...

    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return self._slice(*place.indices(self._length))
        if not -self._length <= place < self._length:
            raise IndexError(place)
        return self._at(place if place >= 0 else place + self._length)

    def _at(self, place: int) -> T:
        held = self._held
        while held.base is not None and place < held.start:
            held = held.base._held
        return held.values[place - held.start]

    def _slice(self, start: int, stop: int, step: int) -> list[T]:
        if step != 1:
            return [self._at(place) for place in range(start, stop, step)]
        found: list[T] = []
        for begin, end, held in self._segments():
            found += held.values[max(start - begin, 0) : max(min(stop, end) - begin, 0)]
        return found

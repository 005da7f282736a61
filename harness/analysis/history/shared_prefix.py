"""Sequences with shared beginnings, so that an extension costs only the new part."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
MAX_LINKS = 64
"""The maximum number of links to shorter sequences, since a lookup follows them all; beyond it values are copied."""
MIN_LINKED = 32
"""The minimum length of a sequence that is linked to rather than copied."""


class _Held(Generic[T]):
    """Holds the values that several sequences share, up to the longest; they follow those of `base`, if any.

    `start` is the length of `base`, `links` the number of bases in a row; `places` maps each of the first `indexed`
    values to its indexes, ascending.
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
        for place, held in enumerate(islice(self.values, self.indexed, None), self.indexed):
            self.places.setdefault(held, []).append(place)
        self.indexed = len(self.values)
        return self.places.get(value, ())


class GrowingSequence(Sequence[T]):
    """An immutable sequence; `extend` costs only the added part, as the longer sequence shares or links the values."""

    __slots__ = ("_held", "_length")

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._held: _Held[T] = _Held([*values])
        self._length = len(self._held.values)

    def extend(self, added: Iterable[T]) -> GrowingSequence[T]:
        """Return a sequence with more values at its end."""
        held = self._held
        # The holder can grow in place only for the longest of its sequences.
        if not self._length or held.start + len(held.values) > self._length:
            held = self._branch_off()
        held.values += added
        longer: GrowingSequence[T] = GrowingSequence.__new__(GrowingSequence)
        longer._held, longer._length = held, held.start + len(held.values)
        return longer

    def _branch_off(self) -> _Held[T]:
        """Return a new holder that begins with this sequence's values, for use after another extension of it."""
        if self._length < MIN_LINKED or self._held.links >= MAX_LINKS:
            return _Held([*self])
        return _Held([], self)

    def _segments(self) -> list[tuple[int, int, _Held[T]]]:
        """List each `_Held` in order, with the index of its first value and the index after its last."""
        found, view, stop = [], self, self._length
        while True:
            held = view._held
            found.append((held.start, stop, held))
            if held.base is None:
                return found[::-1]
            view, stop = held.base, held.start

    def count(self, value: Any) -> int:
        """Count the occurrences of a value; all values must be hashable."""
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

"""Sequences that share their beginning, so that a long one made of a shorter one costs what is new in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class _Held(Generic[T]):
    """What sequences share: the values of the longest, and the places of the first `indexed` of them, ascending."""

    __slots__ = ("indexed", "places", "values")

    def __init__(self, values: list[T]) -> None:
        self.values = values
        self.places: dict[Hashable, list[int]] = {}
        self.indexed = 0

    def find_places(self, value: Hashable) -> Sequence[int]:
        """The places of a value."""
        for place, each in enumerate(islice(self.values, self.indexed, None), self.indexed):
            self.places.setdefault(each, []).append(place)
        self.indexed = len(self.values)
        return self.places.get(value, ())


class GrowingSequence(Sequence[T]):
    """A sequence that never changes. `extend` costs what is added, unless this one was extended before: then a copy."""

    __slots__ = ("_held", "_length")

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._held = _Held([*values])
        self._length = len(self._held.values)

    def extend(self, added: Iterable[T]) -> GrowingSequence[T]:
        """The sequence with more values at its end."""
        values = self._held.values
        if not self._length or len(values) > self._length:
            return GrowingSequence([*islice(values, self._length), *added])
        values += added
        longer: GrowingSequence[T] = GrowingSequence.__new__(GrowingSequence)
        longer._held, longer._length = self._held, len(values)
        return longer

    def count(self, value: Any) -> int:
        """How often a value occurs; the values must be hashable."""
        return bisect_left(self._held.find_places(value), self._length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._held.values, self._length)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> list[T]: ...

    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            start, stop, step = place.indices(self._length)
            values = self._held.values
            return values[start:stop] if step == 1 else [values[at] for at in range(start, stop, step)]
        if not -self._length <= place < self._length:
            raise IndexError(place)
        return self._held.values[place if place >= 0 else place + self._length]

"""The same texts in other deltas: a model may cut what it says anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.core.delivery import Fault
from harness.ending import TurnLine
from harness.items.kind import Item
from harness.items.stream_grammar import Deltas


@dataclass(frozen=True, slots=True)
class OtherDeltas(Fault):
    """Texts and arguments come in deltas of `size` characters, with 0 in a single one."""

    size: int

    def apply(self, lines: Sequence[TurnLine]) -> list[TurnLine]:
        """Give the lines of a turn these deltas."""
        return [replace(line, deltas=self._deltas(line)) if isinstance(line, Item) else line for line in lines]

    def _deltas(self, item: Item) -> Deltas:
        texts = dict(_texts_of(item))
        return {**item.deltas, **{place: self._split(text) for place, text in texts.items() if text}}

    def _split(self, text: str) -> tuple[str, ...]:
        size = self.size or len(text)
        return tuple(text[start : start + size] for start in range(0, len(text), size))


def _texts_of(item: Item) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the texts of a message without logprobs, and the arguments of a call, each with its place among the deltas."""
    if item.type == "message":
        for number, part in enumerate(item.members["content"]):
            if part["type"] == "output_text" and not part.get("logprobs"):
                yield ("output_text", number), part["text"]
    elif item.type == "function_call":
        yield ("function_call_arguments", 0), item.members["arguments"]

"""The fenced blocks of a page of the manual, and what a shown output must agree with."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block: its file, the line where it begins, its language, its text."""

    file: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.stem}_{self.line}"

    @property
    def name(self) -> str:
        """The file that the block shows, from a comment in its first line; empty when it names none."""
        found = re.match(r"(?:#|//) (\S+\.(?:py|yaml|[cm]?[jt]s|go|java))\n", self.text)
        return found.group(1) if found else ""

    @property
    def is_excerpt(self) -> bool:
        """Whether the block shows a part of a file of the project."""
        return "/" in self.name


def fenced(file: Path) -> Iterator[Block]:
    """Yield the blocks of a page, in their order."""
    page = file.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", page, re.S | re.M):
        yield Block(file, page.count("\n", 0, match.start()) + 1, *match.groups())


def in_order(shown: Iterable[str], output: str) -> None:
    """Check that an output has these lines, one after the other."""
    for line in shown:
        _, found, output = output.partition(line)
        assert found, f"{line!r} is not printed, or not in this order"

"""On which line of its file each recorded exchange begins, where that is cheap to tell: in lines of JSON, and in YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_LISTS = re.compile(r"(?:http_)?interactions:|sockets:")
"""How a list of records begins in the cassettes of vcrpy, of those like it, and of our own."""
_ITEM = re.compile(r"( *)- ")


def lines_of(file: Path) -> list[int]:
    """The line of each record of a file, from 1, in order; none for other forms, and for files that cannot be read."""
    try:
        with file.open(encoding="utf-8") as text:
            lines = (line.rstrip("\n") for line in text)
            return list(_READERS[file.suffix](lines)) if file.suffix in _READERS else []
    except (OSError, UnicodeDecodeError):
        return []


def _records(lines: Iterator[str]) -> Iterator[int]:
    """The items of the lists of records: those that are indented like the first one below the list's name."""
    indent: str | None = None
    inside = False
    for number, line in enumerate(lines, 1):
        if _LISTS.match(line):
            indent, inside = None, True
        elif inside and (item := _ITEM.match(line)):
            indent = item[1] if indent is None else indent
            if item[1] == indent:
                yield number
        elif line[:1] not in ("", " ", "-", "#"):
            inside = False


def _filled(lines: Iterator[str]) -> Iterator[int]:
    return (number for number, line in enumerate(lines, 1) if line.strip())


_READERS: Mapping[str, Callable[[Iterator[str]], Iterator[int]]] = {
    **dict.fromkeys((".yaml", ".yml"), _records),
    **dict.fromkeys((".jsonl", ".ndjson"), _filled),
}

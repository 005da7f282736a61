"""The line of its file on which each recorded exchange begins, in JSON lines and YAML; other forms are not supported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_LIST_START = re.compile(r"(?:http_)?interactions:|sockets:")
"""The first line of a list of records in cassettes of vcrpy, of similar recorders, and of this project."""
_LIST_ITEM = re.compile(r"( *)- ")


def find_record_lines(file: Path) -> list[int]:
    """Find the line of each record of a file, from 1, in order; empty for other forms and unreadable files."""
    try:
        with file.open(encoding="utf-8") as text:
            lines = (line.rstrip("\n") for line in text)
            return list(_LINE_FINDERS[file.suffix](lines)) if file.suffix in _LINE_FINDERS else []
    except (OSError, UnicodeDecodeError):
        return []


def _yaml_record_lines(lines: Iterator[str]) -> Iterator[int]:
    """Yield the lines of the records: of list items with the indentation of the first one in their list."""
    indent: str | None = None
    inside = False
    for number, line in enumerate(lines, 1):
        if _LIST_START.match(line):
            indent, inside = None, True
        elif inside and (item := _LIST_ITEM.match(line)):
            indent = item[1] if indent is None else indent
            if item[1] == indent:
                yield number
        elif line[:1] not in ("", " ", "-", "#"):
            inside = False


def _non_empty_lines(lines: Iterator[str]) -> Iterator[int]:
    return (number for number, line in enumerate(lines, 1) if line.strip())


_LINE_FINDERS: Mapping[str, Callable[[Iterator[str]], Iterator[int]]] = {
    **dict.fromkeys((".yaml", ".yml"), _yaml_record_lines),
    **dict.fromkeys((".jsonl", ".ndjson"), _non_empty_lines),
}

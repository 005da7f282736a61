"""The text of a cassette changed entry by entry, so that what people have written in it stays as they wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

_SECTION = re.compile(r"(?m)^(interactions|sockets):.*\n?")
_HEADER = re.compile(r"(?m)^harness:.*\n(?:[ \t]+.*\n)*")


class _CassetteText(NamedTuple):
    """A cassette in pieces: what stands before its lists, and the text of each of their entries."""

    head: str
    interactions: list[str]
    sockets: list[str]


def splice(text: str, old: Collection[int], whole: str) -> str:
    """A cassette without its entries `old` (counted over both lists), and with what `whole` has more: its header, too.

    `whole` was written by `serializer` and holds what stays before what is new. Where the layout is too strange
    the result is not what `whole` says: compare them.
    """
    mine, theirs = _split_sections(text), _split_sections(whole)
    count = len(mine.interactions)
    stays = [one for at, one in enumerate(mine.interactions) if at not in old]
    sockets = [one for at, one in enumerate(mine.sockets, count) if at not in old]
    more, over = theirs.interactions[len(stays) :], theirs.sockets[len(sockets) :]
    own = _HEADER.search(theirs.head)
    head = _HEADER.sub(lambda _: own[0] if own else "", mine.head, count=1)
    return (
        head
        + _join_list("interactions", stays, more)
        + (_join_list("sockets", sockets, over) if sockets or over else "")
    )


def _split_sections(text: str) -> _CassetteText:
    head, *rest = _SECTION.split(text if text.endswith("\n") else f"{text}\n")
    lists = dict(zip(rest[::2], map(_split_entries, rest[1::2]), strict=True))
    return _CassetteText(head, lists.get("interactions", []), lists.get("sockets", []))


def _split_entries(text: str) -> list[str]:
    """The entries of a list, each from its dash to the next one."""
    indent = re.match(r" *", text)
    return re.split(rf"(?m)^(?={indent[0] if indent else ''}- )", text)[1:]


def _join_list(name: str, stays: Sequence[str], more: Sequence[str]) -> str:
    indent = re.match(r" *", stays[0])[0] if stays else ""  # type: ignore[index]
    moved = ("".join(_indent_line(line, indent) for line in one.splitlines(keepends=True)) for one in more)
    entries = "".join((*stays, *moved))
    return f"{name}:\n{entries}" if entries else f"{name}: []\n"


def _indent_line(line: str, indent: str) -> str:
    return f"{indent}{line}" if line.strip() else line

"""Changes the text of a cassette entry by entry, so that comments and other edits are kept."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

_SECTION = re.compile(r"(?m)^(interactions|sockets):.*\n?")
_HEADER = re.compile(r"(?m)^harness:.*\n(?:[ \t]+.*\n)*")


class _CassetteText(NamedTuple):
    """The text of a cassette in pieces: the head before its lists, and the entries of each list."""

    head: str
    interactions: list[str]
    sockets: list[str]


def splice(text: str, removed: Collection[int], target: str) -> str:
    """Splice a cassette: drop the entries `removed` (numbered across both lists), add those that only `target` has.

    `target` is the wanted cassette as written by `serializer`: its header, the entries that stay, then the new ones.
    With an unusual layout the result may differ from it, so callers must compare them.
    """
    old, new = _split_sections(text), _split_sections(target)
    count = len(old.interactions)
    stays = [entry for number, entry in enumerate(old.interactions) if number not in removed]
    sockets = [entry for number, entry in enumerate(old.sockets, count) if number not in removed]
    added, added_sockets = new.interactions[len(stays) :], new.sockets[len(sockets) :]
    header = _HEADER.search(new.head)
    head = _HEADER.sub(lambda _: header[0] if header else "", old.head, count=1)
    return (
        head
        + _join_list("interactions", stays, added)
        + (_join_list("sockets", sockets, added_sockets) if sockets or added_sockets else "")
    )


def _split_sections(text: str) -> _CassetteText:
    head, *rest = _SECTION.split(text if text.endswith("\n") else f"{text}\n")
    lists = dict(zip(rest[::2], map(_split_entries, rest[1::2]), strict=True))
    return _CassetteText(head, lists.get("interactions", []), lists.get("sockets", []))


def _split_entries(text: str) -> list[str]:
    """Split the text of a list into entries, each with its dash."""
    return re.split(rf"(?m)^(?={_indent_of(text)}- )", text)[1:]


def _indent_of(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" "))]


def _join_list(name: str, stays: Sequence[str], added: Sequence[str]) -> str:
    indent = _indent_of(stays[0]) if stays else ""
    moved = ("".join(_indent_line(line, indent) for line in entry.splitlines(keepends=True)) for entry in added)
    entries = "".join((*stays, *moved))
    return f"{name}:\n{entries}" if entries else f"{name}: []\n"


def _indent_line(line: str, indent: str) -> str:
    return f"{indent}{line}" if line.strip() else line

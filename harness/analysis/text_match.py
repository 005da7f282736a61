"""Whether a text is made of messages that were said, and how it differs from them when it is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.core.exchange import Json
from harness.core.replies import ModelReply, text_parts
from harness.core.shorten import quote

MAX_STEPS = 10_000
"""How many beginnings of a text are tried."""


class ReplyMessage(NamedTuple):
    """A message that was said: by what, and whether it was the last of it."""

    reply: ModelReply
    message: Json
    is_last: bool


def reply_message_text(told: ReplyMessage) -> str:
    """What a message says."""
    return "".join(text for text, _ in text_parts(told.message))


def find_messages_in(
    text: str, told: Sequence[ReplyMessage], whole: Callable[[Sequence[ReplyMessage]], bool]
) -> list[ReplyMessage] | None:
    """The messages, each at most once, that a text is made of; of several ways the one with the first of them."""
    waiting, steps = [(text.strip(), tuple[int, ...]())], 0
    while waiting and steps < MAX_STEPS:
        rest, used = waiting.pop()
        if not rest and whole([told[place] for place in used]):
            return [told[place] for place in used]
        steps += 1
        taken = frozenset(used)
        after = [
            (place, _strip_message(rest, text_parts(each.message)))
            for place, each in enumerate(told)
            if place not in taken
        ]
        waiting += [(left, (*used, place)) for place, left in reversed(after) if left is not None]
    return None


def _strip_message(text: str, told: Sequence[tuple[str, bool]]) -> str | None:
    """What follows a message at the beginning of a text; None when it does not begin with it."""
    rest = text
    for part, optional in told:
        if rest.startswith(part.strip()):
            rest = rest[len(part.strip()) :].lstrip()
        elif not optional:
            return None
    return rest if rest != text else None


def is_similar(said: str, shown: str) -> bool:
    """Whether one text may have become the other."""
    said, shown = _remove_spaces(said), _remove_spaces(shown)
    return said in shown or shown in said or said[:8] == shown[:8]


def _remove_spaces(text: str) -> str:
    return "".join(text.split())


def describe_text_change(what: str, shown: str, said: str) -> str:
    """How a text differs from what was said."""
    dense, wanted = _remove_spaces(shown), _remove_spaces(said)
    if not dense:
        return f"{what} lost: {quote(said)} is not in the result"
    if (times := dense.count(wanted)) > 1:
        return f"{what} doubled: {quote(said)} is {times} times in the result: {quote(shown, 200)}"
    end = "first" if wanted.startswith(dense) else "last" if wanted.endswith(dense) else ""
    if end and wanted != dense:
        return f"{what} truncated: the result has the {end} {len(shown)} of {len(said)} characters of {quote(said)}"
    if times and wanted != dense:
        return f"{what} changed: the result has more than {quote(said)}: {quote(shown, 200)}"
    if not is_similar(said, shown):
        return f"{what} lost: {quote(said)} is not in the result, which is {quote(shown)}"
    at = next((place for place, (one, other) in enumerate(zip(said, shown, strict=False)) if one != other), len(said))
    return f"{what} changed at character {at}: said was {quote(said[at:])}, the result has {quote(shown[at:])}"

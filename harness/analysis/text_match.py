"""Matches a string against the messages of replies: finds the messages in it, or how it differs from one."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.core.exchange import Json
from harness.core.replies import ModelReply, text_parts
from harness.core.text import quote

MAX_STEPS = 10_000
"""The maximum number of partial combinations of messages that are tried for one text."""


class ReplyMessage(NamedTuple):
    """A message with its reply, and whether it is the last message of that reply."""

    reply: ModelReply
    message: Json
    is_last: bool

    @property
    def text(self) -> str:
        """The text of the message, joined."""
        return "".join(text for text, _ in text_parts(self.message))


def find_messages_in(
    text: str, messages: Sequence[ReplyMessage], is_complete: Callable[[Sequence[ReplyMessage]], bool]
) -> list[ReplyMessage] | None:
    """Find the messages, each used at most once, that a text consists of; None if `is_complete` accepts no combination.

    Of several solutions the one with the earliest messages is returned.
    """
    waiting, steps = [(text.strip(), tuple[int, ...]())], 0
    # If messages begin alike, the number of ways to split a text is exponential.
    while waiting and steps < MAX_STEPS:
        rest, used = waiting.pop()
        if not rest and is_complete([messages[place] for place in used]):
            return [messages[place] for place in used]
        steps += 1
        excluded = frozenset(used)
        after = [
            (place, _strip_message(rest, text_parts(message.message)))
            for place, message in enumerate(messages)
            if place not in excluded
        ]
        # A stack: in reversed order, so that the earliest message is tried first.
        waiting += [(left, (*used, place)) for place, left in reversed(after) if left is not None]
    return None


def _strip_message(text: str, parts: Sequence[tuple[str, bool]]) -> str | None:
    """Strip the parts of a message from the beginning of a text; None if the text does not begin with them."""
    rest = text
    for part, optional in parts:
        if rest.startswith(part.strip()):
            rest = rest[len(part.strip()) :].lstrip()
        elif not optional:
            return None
    return rest if rest != text else None


def is_similar(original: str, shown: str) -> bool:
    """Return whether `shown` may be a damaged form of `original`."""
    original, shown = _remove_spaces(original), _remove_spaces(shown)
    return original in shown or shown in original or original[:8] == shown[:8]


def _remove_spaces(text: str) -> str:
    return "".join(text.split())


def describe_text_change(what: str, shown: str, original: str) -> str:
    """Describe how the text `shown` differs from the original; `what` names the part of the result."""
    dense, wanted = _remove_spaces(shown), _remove_spaces(original)
    if not dense:
        return f"{what} lost: {quote(original)} is not in the result"
    if (times := dense.count(wanted)) > 1:
        return f"{what} doubled: {quote(original)} is {times} times in the result: {quote(shown, 200)}"
    end = "first" if wanted.startswith(dense) else "last" if wanted.endswith(dense) else ""
    if end and wanted != dense:
        return f"{what} truncated: the result has the {end} {len(shown)} of {len(original)} characters of {quote(original)}"
    if times and wanted != dense:
        return f"{what} changed: the result has more than {quote(original)}: {quote(shown, 200)}"
    if not is_similar(original, shown):
        return f"{what} lost: {quote(original)} is not in the result, which is {quote(shown)}"
    at = next(
        (place for place, (before, after) in enumerate(zip(original, shown, strict=False)) if before != after),
        len(original),
    )
    return (
        f"{what} changed at character {at}: the model said {quote(original[at:])}, the result has {quote(shown[at:])}"
    )

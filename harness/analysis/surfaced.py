"""`surfaced`: asserts that a client shows exactly what the model returned.

A result is a final answer. Its text must consist of complete messages, among them the last message of a response whose
calls the client did not answer (or of the response that the result names). Its annotations must be those of these
messages; its calls and reasoning those of that response, and of all since the first that it shows any of; its usage that
of the response or the sum of several. White space between messages is ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from harness.analysis.call_ledger import call_arguments
from harness.analysis.surfaces import read
from harness.analysis.surfaces.base import PARTS, Surface
from harness.analysis.text_match import (
    ReplyMessage,
    describe_text_change,
    find_messages_in,
    is_similar,
    reply_message_text,
)
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.loose_json import as_string
from harness.core.replies import ModelReplies, ModelReply, annotations_of, sum_token_counts, text_parts, token_counts
from harness.core.text.shorten import quote, shorten

POSITIONS = ("start_index", "end_index")
QUOTING_TYPES = ("file_citation",)
"""The types of annotation that have a quote in the API's form: that of a message of a thread."""


def surfaced(result: Any, said: Any, *, only: Iterable[str] = ()) -> None:
    """AssertionError when a client lost, doubled, cut or changed what the mock said: `surfaced(result, mock.said)`.

    `result` is a text, a result of a framework, the API's own JSON, a list of the pieces of a stream, a mapping
    `{"text": …, "annotations": …, "calls": …, "reasoning": …, "usage": …}` or an object with a `__surfaced__()` that
    returns one; parts that it cannot express are not compared. `said` is `mock.said` or some of its replies. `only` names
    the parts to compare, which the result must then be able to express.
    """
    __tracebackhide__ = True
    if problem := describe_difference(result, said, only):
        raise AssertionError(problem)


def describe_difference(result: Any, said: Any, only: Iterable[str] = ()) -> str | None:
    """The message of `surfaced`, a line for each difference; None when there is none."""
    parts = _parts_to_compare(only)
    replies = ModelReplies([said] if isinstance(said, ModelReply) else said)
    if not replies or not all(isinstance(each, ModelReply) for each in replies):
        raise ConfigError("surfaced(): nothing was said. Give `mock.said` or some of it, after the client has run.")
    shown = read(result)
    compared = _SurfaceComparison(shown, replies)
    missing = [name for name in parts if getattr(shown, name) is None]
    lines = [f"{name} not in the result: a {type(result).__qualname__} cannot express it" for name in missing]
    lines += [problem for name in parts or PARTS if name not in missing for problem in getattr(compared, name)()]
    return "\n".join(lines) or None


def _parts_to_compare(only: Iterable[str]) -> list[str]:
    named = [only] if isinstance(only, str) else only
    if not isinstance(named, Collection) or not all(name in PARTS for name in named):
        raise ConfigError(f"surfaced(only={only!r}): give some of {', '.join(PARTS)}.")
    return [name for name in PARTS if name in named]


class _SurfaceComparison:
    """A result beside the replies; the method named after a part returns the differences in it, a line each."""

    def __init__(self, shown: Surface, replies: ModelReplies) -> None:
        self._shown = shown
        self._replies = replies
        self._messages = [
            ReplyMessage(each, message, message is each.messages[-1]) for each in replies for message in each.messages
        ]
        self._named_messages = [each for each in self._messages if {each.reply.id, each.message.get("id")} & shown.ids]
        continued = {each.follows for each in replies}
        self._final_replies = [each for each in replies if each.id not in continued]
        self._last_reply = self._find_last_reply()
        self._used_messages = self._find_used_messages()

    def _find_last_reply(self) -> ModelReply:
        """The response that a result shows, unless its text belongs to another one."""
        named = [each for each in self._replies if each.id in self._shown.ids] or [
            each.reply for each in self._named_messages
        ]
        return (named or self._final_replies)[-1]

    def _find_used_messages(self) -> list[ReplyMessage] | None:
        """The messages that the text consists of; None when there are none."""
        if self._shown.text is None:
            return [each for each in self._messages if each.reply is self._last_reply]
        newest = [
            *self._named_messages[::-1],
            *(each for each in reversed(self._messages) if each not in self._named_messages),
        ]
        used = find_messages_in(self._shown.text, newest, self._is_complete)
        if used and not self._named_messages:
            self._last_reply = max((each.reply for each in used), key=self._replies.index)
        return used

    def _is_complete(self, used: Sequence[ReplyMessage]) -> bool:
        """Whether these messages include all that a result has to show."""
        if self._named_messages:
            return all(each in used for each in self._named_messages)
        if not self._last_reply.messages or self._last_reply.id in self._shown.ids:
            return True
        return any(each.is_last and each.reply in self._final_replies for each in used)

    def text(self) -> list[str]:
        """Differences in the text."""
        if self._shown.text is None or self._used_messages is not None:
            return []
        named = [each.message for each in self._named_messages] or [self._nearest_message().message]
        return [
            describe_text_change(
                "text", self._shown.text, "".join(text for one in named for text, _ in text_parts(one))
            )
        ]

    def _nearest_message(self) -> ReplyMessage:
        """The message that a text probably shows: a final one that begins or ends alike, else the last."""
        shown = (self._shown.text or "").strip()
        finals = [each for each in reversed(self._messages) if each.is_last and each.reply in self._final_replies]
        return next(
            (each for each in finals if shown and is_similar(reply_message_text(each), shown)),
            (finals or self._messages)[0],
        )

    def annotations(self) -> list[str]:
        """Differences in the annotations."""
        if self._shown.annotations is None:
            return []
        left, lines, altered = list(self._shown.annotations), list[str](), list[Json]()
        used = (
            self._used_messages
            or self._named_messages
            or [each for each in self._messages if each.reply is self._last_reply]
        )
        for each in used:
            expected = [
                note for note in annotations_of(each.message) if note["type"] in (self._shown.kinds or {note["type"]})
            ]
            lost = _remove_matching(expected, left, self._shown.text, reply_message_text(each))
            lines += _describe_lost_annotations(lost, expected, reply_message_text(each), self._shown.annotations)
            altered += lost
        _remove_matching(
            [note for each in self._messages if each not in used for note in annotations_of(each.message)],
            left,
            None,
            "",
        )
        for note in altered:
            if (near := next((one for one in left if _has_same_source(one, note)), None)) is not None:
                left.remove(near)
        every_annotation = [note for each in self._messages for note in annotations_of(each.message)]
        doubled = [
            found
            for note in left
            if (found := next((one for one in every_annotation if _has_same_source(note, one)), None))
        ]
        return lines + [
            f"annotations doubled: {_describe_annotation(note)} is in the result once too often" for note in doubled
        ]

    def calls(self) -> list[str]:
        """Differences in the calls."""
        if self._shown.calls is None:
            return []
        shown = Counter(_call_key(call) for call in self._shown.calls)
        expected = Counter(
            _call_key(call) for each in self._replies_to_show(shown) for call in each.calls if call.get("name")
        )
        all_calls = Counter(_call_key(call) for call in self._replies.calls)
        lost, unmatched = expected - shown, shown - expected
        lines = [
            f"call {_describe_call(call)} not in the result{_describe_similar_call(call, unmatched)}"
            for call in lost.elements()
        ]
        doubled = [call for call in shown - all_calls if call in all_calls]
        return lines + [f"call {_describe_call(call)} doubled: in the result {shown[call]} times" for call in doubled]

    def _replies_to_show(self, shown: Mapping[Any, int]) -> list[ModelReply]:
        """The responses whose calls a result has to show: the last, and all since the first it shows any of."""
        run = list(self._reply_chain(self._last_reply))
        carried = [place for place, each in enumerate(run) if any(_call_key(call) in shown for call in each.calls)]
        return run[: max(carried, default=0) + 1]

    def _reply_chain(self, last: ModelReply | None) -> Iterator[ModelReply]:
        """A response and those before it whose calls led to it, newest first."""
        while last is not None:
            yield last
            last = next((each for each in self._replies if each.id == last.follows), None) if last.follows else None

    def reasoning(self) -> list[str]:
        """Differences in the reasoning."""
        own = "".join(text for item in self._last_reply.reasoning for text, _ in text_parts(item))
        if self._shown.reasoning is None or not own:
            return []
        newest = [
            ReplyMessage(each, item, True) for each in reversed(self._replies) for item in reversed(each.reasoning)
        ]
        due = [each for each in newest if each.reply is self._last_reply]
        if find_messages_in(self._shown.reasoning, newest, lambda used: all(each in used for each in due)) is not None:
            return []
        return [describe_text_change("reasoning", self._shown.reasoning, own)]

    def usage(self) -> list[str]:
        """Differences in the usage."""
        shown, own = token_counts(self._shown.usage or {}), token_counts(self._last_reply.usage)
        if self._shown.usage is None or not own:
            return []
        if shown and any(shown == {name: one[name] for name in shown} for one in self._possible_usages()):
            return []
        what = "changed" if any(shown.values()) else "lost"
        return [f"usage {what}: the result has {shown or 'none'}, the response {own}"]

    def _possible_usages(self) -> Iterator[dict[str, int]]:
        """The usages that a result may show: of its last response, of this and some before, of those it names, of all."""
        newest = self._replies[self._replies.index(self._last_reply) :: -1]
        for some in (list(self._reply_chain(self._last_reply)), newest):
            yield from (sum_token_counts(each.usage for each in some[:number]) for number in range(1, len(some) + 1))
        if named := [each.usage for each in self._replies if each.id in self._shown.ids]:
            yield sum_token_counts(named)
        yield sum_token_counts(each.usage for each in self._replies)


def _remove_matching(
    expected: Sequence[Json], unmatched: list[Json], text: str | None, original_text: str
) -> list[Json]:
    """The expected annotations that are not among the `unmatched` ones; those that are found are removed from it."""
    lost = []
    for note in expected:
        found = next(
            (
                one
                for one in unmatched
                if _has_same_source(one, note)
                and _has_same_position(one, note, text, original_text)
                and _has_same_quote(one, note)
            ),
            None,
        )
        lost += [note] if found is None else []
        if found is not None:
            unmatched.remove(found)
    return lost


def _has_same_source(shown: Json, original: Json) -> bool:
    """Whether an annotation of a result cites the same source as an original, whatever its members are called."""
    strings, own = set(_string_values(shown)), dict(_leaf_members(original))
    if "url" in own:
        return own["url"] in strings
    return own.get("file_id") in strings or (
        "file_id" not in dict(_leaf_members(shown)) and own.get("filename") in strings
    )


def _has_same_position(shown: Json, note: Json, text: str | None, original_text: str) -> bool:
    """Whether two annotations mark the same text; True unless both have a position."""
    place, own = dict(_leaf_members(shown)), dict(_leaf_members(note))
    if text is None or not all(isinstance(each.get(name), int) for each in (place, own) for name in POSITIONS):
        return True
    (start, end), (first, last) = ([each[name] for name in POSITIONS] for each in (place, own))
    return (start, end) == (first, last) or text[start:end] == original_text[first:last]


def _has_same_quote(shown: Json, note: Json) -> bool:
    """Whether an annotation has the quote that was said; one in a form that is not the API's may leave it out."""
    said, own = _quote_of(note), _quote_of(shown)
    return own == said or not said or (not own and shown.get("type") not in QUOTING_TYPES)


def _quote_of(note: Json) -> str:
    return " ".join(as_string(dict(_leaf_members(note)).get("quote")).split())


def _leaf_members(thing: Any) -> Iterator[tuple[str, Any]]:
    """The members at any depth whose values are neither objects nor lists."""
    inside = thing if isinstance(thing, list) else thing.values() if isinstance(thing, dict) else ()
    if isinstance(thing, dict):
        yield from ((name, value) for name, value in thing.items() if not isinstance(value, dict | list))
    for value in inside:
        yield from _leaf_members(value)


def _string_values(thing: Json) -> Iterator[str]:
    return (value for _, value in _leaf_members(thing) if isinstance(value, str))


def _describe_lost_annotations(
    lost: Sequence[Json], due: Sequence[Json], text: str, shown: Sequence[Json]
) -> list[str]:
    if not lost:
        return []
    kinds = {note["type"] for note in due}
    what = f"{len(lost)} of {len(due)} {kinds.pop() if len(kinds) == 1 else 'annotations'}"
    named = ", ".join(_source_name(note) if not kinds else _describe_annotation(note) for note in lost)
    quotes = "".join(_describe_quote(note, shown) for note in lost)
    return [f"annotations lost: {what} ({named}) of the message {quote(text, 40)} are not in the result{quotes}"]


def _describe_quote(note: Json, shown: Sequence[Json]) -> str:
    """What became of the quote of a lost annotation whose source is in the result."""
    found = [one for one in shown if _has_same_source(one, note)]
    if not found or any(_has_same_quote(one, note) for one in found):
        return ""
    own = _quote_of(found[0])
    became = f"is {quote(own)}" if own else "is gone"
    return f"; of {_source_name(note)} the quote {quote(_quote_of(note))} {became}"


def _describe_annotation(note: Json) -> str:
    return f"{note['type']} {_source_name(note)}"


def _source_name(note: Json) -> str:
    own = dict(_leaf_members(note))
    return str(own.get("filename") or own.get("url") or own.get("file_id"))


def _call_key(call: Mapping[str, Any]) -> tuple[str, bytes | str]:
    """The identity of a call without its id: its name and its arguments, as canonical JSON where they are JSON."""
    arguments = call_arguments(call)
    try:
        canonical: bytes | str = orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        canonical = arguments
    return str(call.get("name") or call.get("type") or ""), canonical


def _describe_call(call: tuple[str, bytes | str]) -> str:
    name, arguments = call
    return f"{name}({shorten(arguments.decode() if isinstance(arguments, bytes) else arguments)})"


def _describe_similar_call(call: tuple[str, Any], left: Iterable[tuple[str, Any]]) -> str:
    found = next((other for other in left if other[0] == call[0]), None)
    return f"; it has {_describe_call(found)}" if found else ""

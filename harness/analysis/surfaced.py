"""`surfaced`: asserts that a client shows exactly what the model returned.

A result is a final answer. Its text must consist of complete messages, among them the last message of a response whose
calls the client did not answer (or of the response that the result names). Its annotations must be those of these
messages, its calls and reasoning those of that response; if it also shows calls of earlier responses, it must show all
since the earliest of these. Its usage must be that of the response or a sum over several. White space between messages
is ignored.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

import harness.analysis.framework_results  # noqa: F401  (registers every reader)
from harness.analysis.call_ledger import call_arguments
from harness.analysis.result_readers import PARTS, Surface, read
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.core.replies import ModelReplies, ModelReply, annotations_of, sum_token_counts, text_parts, token_counts
from harness.core.text import count_shared, quote, shorten, show

POSITIONS = ("start_index", "end_index")
QUOTING_TYPES = ("file_citation",)
"""The annotation types that have a quote in the API's own form, that of a thread message."""
MAX_STEPS = 10_000
"""The maximum number of partial combinations of messages that are tried for one text."""


def surfaced(result: Any, said: Any, *, only: Iterable[str] = ()) -> None:
    """Raise AssertionError if a client lost or changed what the mock said: `surfaced(result, mock.replies)`.

    `result` is a string, a result of a framework, the API's own JSON, a list of the pieces of a stream, a mapping
    `{"text": …, "annotations": …, "calls": …, "reasoning": …, "usage": …}` or an object whose `__surfaced__()` returns
    such a mapping; parts that it cannot express are not compared. `said` is `mock.replies` or some of its replies. `only`
    names the parts to compare, which the result must then be able to express.
    """
    __tracebackhide__ = True
    if problem := describe_difference(result, said, only):
        raise AssertionError(problem)


def describe_difference(result: Any, said: Any, only: Iterable[str] = ()) -> str | None:
    """Describe how the result differs from what was said, one line per difference; None if it does not."""
    parts = _parts_to_compare(only)
    replies = ModelReplies([said] if isinstance(said, ModelReply) else said)
    if not replies or not all(isinstance(reply, ModelReply) for reply in replies):
        raise ConfigError("surfaced(): no replies. Pass `mock.replies` or part of it, after the client has run.")
    shown = read(result)
    compared = _SurfaceComparison(shown, replies)
    missing = [name for name in parts if getattr(shown, name) is None]
    lines = [f"{name} not in the result: a {type(result).__qualname__} cannot express it" for name in missing]
    lines += [problem for name in parts or PARTS if name not in missing for problem in getattr(compared, name)()]
    return "\n".join(lines) or None


def _parts_to_compare(only: Iterable[str]) -> list[str]:
    named = [only] if isinstance(only, str) else only
    if not isinstance(named, Collection) or not all(name in PARTS for name in named):
        raise ConfigError(f"surfaced(only={show(only)}): use some of {', '.join(PARTS)}.")
    return [name for name in PARTS if name in named]


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
    at = count_shared(original, shown)
    return (
        f"{what} changed at character {at}: the model said {quote(original[at:])}, the result has {quote(shown[at:])}"
    )


class _SurfaceComparison:
    """Compares a result with the replies; the method named after a part returns its differences, one line each."""

    def __init__(self, shown: Surface, replies: ModelReplies) -> None:
        self._shown = shown
        self._replies = replies
        self._messages = [
            ReplyMessage(reply, message, message is reply.messages[-1])
            for reply in replies
            for message in reply.messages
        ]
        self._named_messages = [
            entry for entry in self._messages if {entry.reply.id, entry.message.get("id")} & shown.ids
        ]
        continued = {reply.follows for reply in replies}
        self._final_replies = [reply for reply in replies if reply.id not in continued]
        self._last_reply = self._find_last_reply()
        self._used_messages = self._find_used_messages()

    def _find_last_reply(self) -> ModelReply:
        """Find the response that a result shows, unless its text turns out to belong to another."""
        named = [reply for reply in self._replies if reply.id in self._shown.ids] or [
            message.reply for message in self._named_messages
        ]
        return (named or self._final_replies)[-1]

    def _find_used_messages(self) -> list[ReplyMessage] | None:
        """Find the messages that the text consists of; None if no combination fits."""
        if self._shown.text is None:
            return self._messages_of_last_reply
        others = [message for message in self._messages if message not in self._named_messages]
        newest = [*reversed(self._named_messages), *reversed(others)]
        used = find_messages_in(self._shown.text, newest, self._is_complete)
        # The text shows which response the result belongs to, unless it names one.
        if used and not self._named_messages:
            self._last_reply = max((message.reply for message in used), key=self._replies.index)
        return used

    @property
    def _messages_of_last_reply(self) -> list[ReplyMessage]:
        return [message for message in self._messages if message.reply is self._last_reply]

    def _is_complete(self, used: Sequence[ReplyMessage]) -> bool:
        """Return whether these messages include all that the result must show."""
        if self._named_messages:
            return all(message in used for message in self._named_messages)
        if not self._last_reply.messages or self._last_reply.id in self._shown.ids:
            return True
        return any(message.is_last and message.reply in self._final_replies for message in used)

    def text(self) -> list[str]:
        if self._shown.text is None or self._used_messages is not None:
            return []
        named = [message.message for message in self._named_messages] or [self._nearest_message().message]
        said = "".join(text for message in named for text, _ in text_parts(message))
        return [describe_text_change("text", self._shown.text, said)]

    def _nearest_message(self) -> ReplyMessage:
        """Find the message that the text was probably meant to show: a similar final message, else the last one."""
        shown = (self._shown.text or "").strip()
        newest = reversed(self._messages)
        finals = [message for message in newest if message.is_last and message.reply in self._final_replies]
        similar = (final for final in finals if shown and is_similar(final.text, shown))
        return next(similar, (finals or self._messages)[0])

    def annotations(self) -> list[str]:
        if self._shown.annotations is None:
            return []
        left, lines, altered = list(self._shown.annotations), list[str](), list[Json]()
        used = self._used_messages or self._named_messages or self._messages_of_last_reply
        for message in used:
            text, notes = message.text, annotations_of(message.message)
            expected = [note for note in notes if note["type"] in (self._shown.kinds or {note["type"]})]
            lost = _remove_matching(expected, left, self._shown.text, text)
            lines += _describe_lost_annotations(lost, expected, text, self._shown.annotations)
            altered += lost
        others = [note for message in self._messages if message not in used for note in annotations_of(message.message)]
        # A framework may keep the annotations of earlier answers: these are neither lost nor doubled.
        _remove_matching(others, left, None, "")
        # The new form of an annotation that was reported as lost must not be reported as doubled, too.
        for note in altered:
            if near := next((shown for shown in left if _has_same_source(shown, note)), None):
                left.remove(near)
        said = [note for message in self._messages for note in annotations_of(message.message)]
        doubled = (next((note for note in said if _has_same_source(shown, note)), None) for shown in left)
        return lines + [
            f"annotations doubled: {_describe_annotation(note)} has an extra copy in the result"
            for note in doubled
            if note
        ]

    def calls(self) -> list[str]:
        if self._shown.calls is None:
            return []
        shown = Counter(_call_key(call) for call in self._shown.calls)
        expected = Counter(
            _call_key(call) for reply in self._replies_to_show(shown) for call in reply.calls if call.get("name")
        )
        all_calls = Counter(_call_key(call) for call in self._replies.calls)
        lost, unmatched = expected - shown, shown - expected
        lines = []
        for call in lost.elements():
            similar = next((candidate for candidate in unmatched if candidate[0] == call[0]), None)
            instead = f"; it has {_describe_call(similar)}" if similar else ""
            lines.append(f"call {_describe_call(call)} not in the result{instead}")
        # A call that no response made was already reported with the call that it replaces.
        doubled = [call for call in shown - all_calls if call in all_calls]
        return lines + [
            f"call {_describe_call(call)} doubled: it is in the result {shown[call]} times" for call in doubled
        ]

    def _replies_to_show(self, shown: Mapping[Any, int]) -> list[ModelReply]:
        """List the responses whose calls the result must show: the last, and all since the first whose calls it has."""
        run = list(self._reply_chain(self._last_reply))
        carried = [place for place, reply in enumerate(run) if any(_call_key(call) in shown for call in reply.calls)]
        return run[: max(carried, default=0) + 1]

    def _reply_chain(self, last: ModelReply | None) -> Iterator[ModelReply]:
        """Yield a response and the earlier ones whose calls led to it, newest first."""
        while last is not None:
            yield last
            last = next((reply for reply in self._replies if reply.id == last.follows), None) if last.follows else None

    def reasoning(self) -> list[str]:
        own = "".join(text for item in self._last_reply.reasoning for text, _ in text_parts(item))
        if self._shown.reasoning is None or not own:
            return []
        newest = [
            ReplyMessage(reply, item, True) for reply in reversed(self._replies) for item in reversed(reply.reasoning)
        ]
        due = [message for message in newest if message.reply is self._last_reply]
        used = find_messages_in(self._shown.reasoning, newest, lambda found: all(message in found for message in due))
        return [describe_text_change("reasoning", self._shown.reasoning, own)] if used is None else []

    def usage(self) -> list[str]:
        shown, own = token_counts(self._shown.usage or {}), token_counts(self._last_reply.usage)
        if self._shown.usage is None or not own:
            return []
        # A result may count the last response or several, and may have only some of the counts.
        if shown and any(shown == {name: usage[name] for name in shown} for usage in self._possible_usages()):
            return []
        what = "changed" if any(shown.values()) else "lost"
        return [f"usage {what}: the result has {shown or 'none'}, the response {own}"]

    def _possible_usages(self) -> Iterator[dict[str, int]]:
        """Yield the usages that a result may show: of the last response, with earlier ones, of named ones, of all."""
        newest = self._replies[self._replies.index(self._last_reply) :: -1]
        for some in (list(self._reply_chain(self._last_reply)), newest):
            yield from (sum_token_counts(newer.usage for newer in some[:number]) for number in range(1, len(some) + 1))
        if named := [reply.usage for reply in self._replies if reply.id in self._shown.ids]:
            yield sum_token_counts(named)
        yield sum_token_counts(reply.usage for reply in self._replies)


def _remove_matching(
    expected: Sequence[Json], unmatched: list[Json], text: str | None, original_text: str
) -> list[Json]:
    """Match the expected annotations with `unmatched`, remove the matches from it, and return the rest."""
    lost = []
    for note in expected:
        for candidate in unmatched:
            is_same_place = _has_same_source(candidate, note) and _has_same_position(
                candidate, note, text, original_text
            )
            if is_same_place and _has_same_quote(candidate, note):
                unmatched.remove(candidate)
                break
        else:
            lost.append(note)
    return lost


def _has_same_source(shown: Json, original: Json) -> bool:
    """Return whether an annotation of a result cites the original's source, whatever its members are called."""
    members, own = list(_leaf_members(shown)), dict(_leaf_members(original))
    strings = {value for _, value in members if isinstance(value, str)}
    if "url" in own:
        return own["url"] in strings
    return own.get("file_id") in strings or ("file_id" not in dict(members) and own.get("filename") in strings)


def _has_same_position(shown: Json, note: Json, text: str | None, original_text: str) -> bool:
    """Return whether two annotations mark the same text; True unless both have a position."""
    place, own = dict(_leaf_members(shown)), dict(_leaf_members(note))
    if text is None or not all(isinstance(position.get(name), int) for position in (place, own) for name in POSITIONS):
        return True
    (start, end), (first, last) = ([position[name] for name in POSITIONS] for position in (place, own))
    # Joining messages shifts the positions; the marked words stay the same.
    return (start, end) == (first, last) or text[start:end] == original_text[first:last]


def _has_same_quote(shown: Json, note: Json) -> bool:
    """Return whether an annotation has the original's quote; a form other than the API's may leave it out."""
    said, own = _quote_of(note), _quote_of(shown)
    return own == said or not said or (not own and shown.get("type") not in QUOTING_TYPES)


def _quote_of(note: Json) -> str:
    return " ".join(as_string(dict(_leaf_members(note)).get("quote")).split())


def _leaf_members(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members at any depth whose values are neither objects nor lists."""
    inside = thing if isinstance(thing, list) else thing.values() if isinstance(thing, dict) else ()
    if isinstance(thing, dict):
        yield from ((name, value) for name, value in thing.items() if not isinstance(value, dict | list))
    for value in inside:
        yield from _leaf_members(value)


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
    """Describe what became of the quote of a lost annotation whose source is in the result."""
    found = [citation for citation in shown if _has_same_source(citation, note)]
    if not found or any(_has_same_quote(citation, note) for citation in found):
        return ""
    own = _quote_of(found[0])
    became = f"is {quote(own)}" if own else "is gone"
    return f"; the quote {quote(_quote_of(note))} of {_source_name(note)} {became}"


def _describe_annotation(note: Json) -> str:
    return f"{note['type']} {_source_name(note)}"


def _source_name(note: Json) -> str:
    own = dict(_leaf_members(note))
    return str(own.get("filename") or own.get("url") or own.get("file_id"))


def _call_key(call: Mapping[str, Any]) -> tuple[str, bytes | str]:
    """Return a key for a call that ignores its id: name and arguments, as canonical JSON if they are JSON."""
    arguments = call_arguments(call)
    try:
        canonical: bytes | str = orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        canonical = arguments
    return str(call.get("name") or call.get("type") or ""), canonical


def _describe_call(call: tuple[str, bytes | str]) -> str:
    name, arguments = call
    return f"{name}({shorten(arguments.decode() if isinstance(arguments, bytes) else arguments)})"

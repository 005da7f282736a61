"""`surfaced`: whether a client shows what the model said, no more and no less.

A result is a final answer: its text must be made of whole messages that were said, the last one of a response that no call
of the client continued among them (of the response it names, where it names one). Then its annotations must be those of
these messages; its calls and reasoning those of that last response, and of all since the first it shows any of; its usage
that response's or the sum of several. White space between messages is the client's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from harness.analysis.call_ledger import arguments
from harness.analysis.surfaces import read
from harness.analysis.surfaces.base import PARTS, Surface
from harness.analysis.text_match import Told, akin, assemble, differs, text_of
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.replies import ModelReplies, ModelReply, annotations_of, sum_token_counts, text_parts, token_counts
from harness.core.shorten import quote, shorten

PLACES = ("start_index", "end_index")


def surfaced(result: Any, said: Any, *, only: Iterable[str] = ()) -> None:
    """AssertionError when a client lost, doubled, cut or changed what the mock said: `surfaced(result, mock.said)`.

    `result` is a text, a result of a framework, the API's own JSON, a list of the pieces of a stream, a mapping
    `{"text": …, "annotations": …, "calls": …, "reasoning": …, "usage": …}` or an object with a `__surfaced__()` that
    returns one; what it cannot express is not compared. `said` is `mock.said`, or some of it. `only` names the parts to
    compare, which the result must then be able to express.
    """
    if problem := difference(result, said, only):
        raise AssertionError(problem)


def difference(result: Any, said: Any, only: Iterable[str] = ()) -> str | None:
    """What `surfaced` would say, a line for each fault; None when there is none."""
    wanted = _wanted(only)
    sayings = ModelReplies([said] if isinstance(said, ModelReply) else said)
    if not sayings or not all(isinstance(each, ModelReply) for each in sayings):
        raise ConfigError("surfaced(): nothing was said. Give `mock.said` or some of it, after the client has run.")
    shown = read(result)
    compared = _Comparison(shown, sayings)
    missing = [name for name in wanted if getattr(shown, name) is None]
    faults = [f"{name} not in the result: a {type(result).__qualname__} cannot express it" for name in missing]
    faults += [line for name in wanted or PARTS if name not in missing for line in getattr(compared, name)()]
    return "\n".join(faults) or None


def _wanted(only: Iterable[str]) -> list[str]:
    named = [only] if isinstance(only, str) else only
    if not isinstance(named, Collection) or not set(PARTS).issuperset(named):
        raise ConfigError(f"surfaced(only={only!r}): give some of {', '.join(PARTS)}.")
    return [name for name in PARTS if name in named]


class _Comparison:
    """A result beside what was said; each part is a list of what is wrong with it."""

    def __init__(self, shown: Surface, said: ModelReplies) -> None:
        self._shown = shown
        self._said = said
        self._told = [Told(each, message, message is each.messages[-1]) for each in said for message in each.messages]
        self._named = [each for each in self._told if {each.said.id, each.message.get("id")} & shown.ids]
        continued = {each.follows for each in said}
        self._finals = [each for each in said if each.id not in continued]
        self._end = self._last()
        self._used = self._assembled()

    def _last(self) -> ModelReply:
        """The response that a result is taken for unless its text says otherwise."""
        named = [each for each in self._said if each.id in self._shown.ids] or [each.said for each in self._named]
        return (named or self._finals)[-1]

    def _assembled(self) -> list[Told] | None:
        """The messages that the text is made of; None when it is not."""
        if self._shown.text is None:
            return [each for each in self._told if each.said is self._end]
        newest = [*self._named[::-1], *(each for each in reversed(self._told) if each not in self._named)]
        used = assemble(self._shown.text, newest, self._is_whole)
        if used and not self._named:
            self._end = max((each.said for each in used), key=self._said.index)
        return used

    def _is_whole(self, used: Sequence[Told]) -> bool:
        """Whether these messages are all that a result has to show."""
        if self._named:
            return all(each in used for each in self._named)
        if not self._end.messages or self._end.id in self._shown.ids:
            return True
        return any(each.last and each.said in self._finals for each in used)

    def text(self) -> list[str]:
        """What is wrong with the text."""
        if self._shown.text is None or self._used is not None:
            return []
        named = [each.message for each in self._named] or [self._nearest().message]
        return [differs("text", self._shown.text, "".join(text for one in named for text, _ in text_parts(one)))]

    def _nearest(self) -> Told:
        """The message that a text was to be: a final one that begins or ends so, else the last."""
        shown = (self._shown.text or "").strip()
        finals = [each for each in reversed(self._told) if each.last and each.said in self._finals]
        return next((each for each in finals if shown and akin(text_of(each), shown)), (finals or self._told)[0])

    def annotations(self) -> list[str]:
        """What is wrong with the annotations."""
        if self._shown.annotations is None:
            return []
        left, lines = list(self._shown.annotations), list[str]()
        used = self._used or self._named or [each for each in self._told if each.said is self._end]
        for each in used:
            due = [
                note for note in annotations_of(each.message) if note["type"] in (self._shown.kinds or {note["type"]})
            ]
            lost = _unmatched(due, left, self._shown.text, text_of(each))
            lines += _lost_notes(lost, due, text_of(each))
        _unmatched(
            [note for each in self._told if each not in used for note in annotations_of(each.message)], left, None, ""
        )
        said = [note for each in self._told for note in annotations_of(each.message)]
        doubled = [found for note in left if (found := next((one for one in said if _cites(note, one)), None))]
        return lines + [f"annotations doubled: {_of_kind(note)} is in the result once too often" for note in doubled]

    def calls(self) -> list[str]:
        """What is wrong with the calls."""
        if self._shown.calls is None:
            return []
        shown = Counter(_call(call) for call in self._shown.calls)
        due = Counter(_call(call) for each in self._shown_of(shown) for call in each.calls if call.get("name"))
        said = Counter(_call(call) for call in self._said.calls)
        lost, left = due - shown, shown - due
        lines = [f"call {_named(call)} not in the result{_instead(call, left)}" for call in lost.elements()]
        doubled = [call for call in shown - said if call in said]
        return lines + [f"call {_named(call)} doubled: in the result {shown[call]} times" for call in doubled]

    def _shown_of(self, shown: Mapping[Any, int]) -> list[ModelReply]:
        """The responses of a run whose calls a result has to show: the last, and all since the first it shows any of."""
        run = list(self._run(self._end))
        carried = [place for place, each in enumerate(run) if any(_call(call) in shown for call in each.calls)]
        return run[: max(carried, default=0) + 1]

    def _run(self, last: ModelReply | None) -> Iterator[ModelReply]:
        """A response and those before it whose calls the client answered, newest first."""
        while last is not None:
            yield last
            last = next((each for each in self._said if each.id == last.follows), None) if last.follows else None

    def reasoning(self) -> list[str]:
        """What is wrong with the reasoning."""
        own = "".join(text for item in self._end.reasoning for text, _ in text_parts(item))
        if self._shown.reasoning is None or not own:
            return []
        newest = [Told(each, item, True) for each in reversed(self._said) for item in reversed(each.reasoning)]
        due = [each for each in newest if each.said is self._end]
        if assemble(self._shown.reasoning, newest, lambda used: all(each in used for each in due)) is not None:
            return []
        return [differs("reasoning", self._shown.reasoning, own)]

    def usage(self) -> list[str]:
        """What is wrong with the usage."""
        shown, own = token_counts(self._shown.usage or {}), token_counts(self._end.usage)
        if self._shown.usage is None or not own:
            return []
        if shown and any(shown == {name: one[name] for name in shown} for one in self._sums()):
            return []
        what = "changed" if any(shown.values()) else "lost"
        return [f"usage {what}: the result has {shown or 'none'}, the response {own}"]

    def _sums(self) -> Iterator[dict[str, int]]:
        """What a result may have used: its last response, it and some before, those it names, all of them."""
        newest = self._said[self._said.index(self._end) :: -1]
        for some in (list(self._run(self._end)), newest):
            yield from (sum_token_counts(each.usage for each in some[:number]) for number in range(1, len(some) + 1))
        if named := [each.usage for each in self._said if each.id in self._shown.ids]:
            yield sum_token_counts(named)
        yield sum_token_counts(each.usage for each in self._said)


def _unmatched(due: Sequence[Json], left: list[Json], text: str | None, said: str) -> list[Json]:
    """The annotations that are not among those `left`; each that is found is taken out of it."""
    lost = []
    for note in due:
        found = next((one for one in left if _cites(one, note) and _same_place(one, note, text, said)), None)
        lost += [note] if found is None else []
        if found is not None:
            left.remove(found)
    return lost


def _cites(shown: Json, said: Json) -> bool:
    """Whether an annotation of a result cites what one that was said cites, whatever its members are called."""
    strings, own = set(_strings(shown)), dict(_members(said))
    if "url" in own:
        return own["url"] in strings
    return own.get("file_id") in strings or ("file_id" not in dict(_members(shown)) and own.get("filename") in strings)


def _same_place(shown: Json, note: Json, text: str | None, said: str) -> bool:
    """Whether two annotations mark the same words, as far as both say where."""
    place, own = dict(_members(shown)), dict(_members(note))
    if text is None or not all(isinstance(each.get(name), int) for each in (place, own) for name in PLACES):
        return True
    (start, end), (first, last) = ([each[name] for name in PLACES] for each in (place, own))
    return (start, end) == (first, last) or text[start:end] == said[first:last]


def _members(thing: Any) -> Iterator[tuple[str, Any]]:
    """All members of an object that are no objects themselves, at any depth."""
    inside = thing if isinstance(thing, list) else thing.values() if isinstance(thing, dict) else ()
    if isinstance(thing, dict):
        yield from ((name, value) for name, value in thing.items() if not isinstance(value, dict | list))
    for value in inside:
        yield from _members(value)


def _strings(thing: Json) -> Iterator[str]:
    return (value for _, value in _members(thing) if isinstance(value, str))


def _lost_notes(lost: Sequence[Json], due: Sequence[Json], text: str) -> list[str]:
    if not lost:
        return []
    kinds = {note["type"] for note in due}
    what = f"{len(lost)} of {len(due)} {kinds.pop() if len(kinds) == 1 else 'annotations'}"
    named = ", ".join(_name(note) if not kinds else _of_kind(note) for note in lost)
    return [f"annotations lost: {what} ({named}) of the message {quote(text, 40)} are not in the result"]


def _of_kind(note: Json) -> str:
    return f"{note['type']} {_name(note)}"


def _name(note: Json) -> str:
    own = dict(_members(note))
    return str(own.get("filename") or own.get("url") or own.get("file_id"))


def _call(call: Mapping[str, Any]) -> tuple[str, bytes | str]:
    """What identifies a call, whatever id a client gave it: its name and what it is made with."""
    told = arguments(call)
    try:
        made: bytes | str = orjson.dumps(orjson.loads(told), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        made = told
    return str(call.get("name") or call.get("type") or ""), made


def _named(call: tuple[str, bytes | str]) -> str:
    name, made = call
    return f"{name}({shorten(made.decode() if isinstance(made, bytes) else made)})"


def _instead(call: tuple[str, Any], left: Iterable[tuple[str, Any]]) -> str:
    found = next((other for other in left if other[0] == call[0]), None)
    return f"; it has {_named(found)}" if found else ""

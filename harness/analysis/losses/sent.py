"""Finds what a chat UI sent to a server under test, but the server's client did not forward to the model."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, client_call_id, item_type, message_text
from harness.analysis.history.request import HistoryRequest, facts_about
from harness.analysis.history.text_index import letters_of
from harness.analysis.history.tool_results import output_text
from harness.analysis.loss import NEXT, PROMPT, TEXT, TOOLS, LossFacts, ask, assistant, call, loss, output, user
from harness.analysis.losses.calls import CONTENT_MEMBERS, changed_member, content_of
from harness.core.exchange import Json, SentTurn
from harness.core.json_values import as_string
from harness.core.text import quote, shorten_json

SHORTEST_TEXT = 4
"""The fewest letters and digits by which an item is recognized within a message."""
_MessageKey = tuple[str, str]
"""The role of a message, and its letters and digits."""
_NO_KEY: _MessageKey = ("", "")
_SPEAKERS = ("user", "assistant")
_SENT_CALL = (PROMPT, call("call_9"), output("call_9"), NEXT)
_SENT = (PROMPT, call("call_9"), output("call_9"), assistant(TEXT), NEXT)
_OFFERED: Json = {"tools": TOOLS}
_GONE = "is not in this request, which has the items before and after it"


@loss(
    message="{what}, in the conversation that the chat UI continues in turn {turn}, {how}",
    fix="Forward each item unchanged; replace what is left out on purpose with a summary.",
    loses=[
        ask("P > A", "P A N", sent=_SENT, **_OFFERED),
        ask(
            "P > A",
            ["P", call(arguments='{"ref":"v1"}', call_id="call_9"), output("call_9"), "N"],
            sent=_SENT_CALL,
            **_OFFERED,
        ),
        ask("P > A", ["P", call("call_9"), output("call_9", "[]"), "N"], sent=_SENT_CALL, **_OFFERED),
        ask(
            [user("Hello."), "> A"],
            ["P", assistant("It is."), "N"],
            sent=(PROMPT, user("Is it live?"), assistant("It is."), NEXT),
        ),
    ],
    keeps=[
        ask("P > A", [*_SENT], sent=_SENT, **_OFFERED),
        ask("P > A", "N", sent=_SENT, **_OFFERED),
        ask([user("Is v2 live by now, or does it wait?"), "> A"], "P A N"),
    ],
)
def sent_changed(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Messages that the test's chat UI (`harness.drive.Chat`) sent are missing upstream, changed, or there more than once.

    A message or typed item is missing if its neighbours have arrived. It is no loss if a message contains it, if the
    history is shorter, if calls have other ids, or if the request does not offer the tool of a call. Of several chats
    with the same last message, the one whose items arrived most completely counts.
    """
    if not history.turns or not request.is_history_known or request.is_compacted:
        return
    arrived = _Arrived(request)
    found = [list(_find_changes(turn, arrived)) for turn in history.turns if arrived.is_asked(turn)]
    # Of several chats with the same last message, the one that fits best is meant.
    for change in min(found, key=len, default=()):
        original = history.by_call.get(client_call_id(change.item) or answered_id(change.item))
        yield facts_about(
            change.at,
            original[-1].number if original else None,
            change.item,
            turn=next(turn.number for turn in history.turns if change.item in turn.items),
            how=change.how,
        )


class _Change(NamedTuple):
    """A change to a sent item: its place in the request, and what happened to it."""

    at: str
    item: Json
    how: str


class _Arrived:
    """Indexes the parts of a conversation that a request sends to its model."""

    def __init__(self, request: HistoryRequest) -> None:
        self.request = request
        items = request.transcript.items
        self._places = {id(item): place for place, item in request.placed_items}
        self._message_places: dict[_MessageKey, str] = {}
        self._indices: defaultdict[_MessageKey, list[int]] = defaultdict(list)
        self._keys: list[_MessageKey] = []
        for item in items:
            if item_type(item) == "message":
                key = _key_of(item)
                self._indices[key].append(len(self._keys))
                self._keys.append(key)
                if place := self._places.get(id(item)):
                    self._message_places.setdefault(key, place)
        self._texts = [letters for _, letters in self._keys] + [letters_of(as_string(request.body.get("instructions")))]
        self._asked = next((letters for role, letters in reversed(self._keys) if role == "user"), "")
        self.calls = {call_id: item for item in items if (call_id := client_call_id(item))}
        self.outputs = {call_id: item for item in items if (call_id := answered_id(item))}
        self._contents = {content_of(item) for item in self.calls.values()}
        self._output_letters = {letters_of(output_text(item)) for item in self.outputs.values()}

    def is_asked(self, turn: SentTurn) -> bool:
        """Return whether the request's last user message contains the message of this turn."""
        asked = letters_of(message_text(turn.items[-1])) if turn.items else ""
        return bool(asked) and asked in self._asked

    def tells(self, text: str) -> bool:
        """Return whether a message or the instructions contain a text."""
        letters = letters_of(text)
        return len(letters) >= SHORTEST_TEXT and any(letters in text for text in self._texts)

    def count(self, key: _MessageKey) -> int:
        return len(self._indices.get(key, ()))

    def find_gap(self, before: _MessageKey, behind: _MessageKey, known: Set[_MessageKey]) -> str:
        """Find the place of `behind` if it arrived after `before`, with only `known` messages in between; else empty.

        A message that is not known may be a summary of what was sent.
        """
        if _NO_KEY in (before, behind) or before not in self._indices or behind not in self._indices:
            return ""
        start = self._indices[before][0] + 1
        later = self._indices[behind]
        if (nearest := bisect_left(later, start)) == len(later):
            return ""
        between = (self._keys[index] for index in range(start, later[nearest]))
        return self.place_of(behind) if all(key in known or not key[1] for key in between) else ""

    def has_call(self, item: Json) -> bool:
        """Return whether a call or an output has arrived under another id."""
        if answered_id(item):
            return letters_of(output_text(item)) in self._output_letters
        return content_of(item) in self._contents

    def place_of(self, key: _MessageKey) -> str:
        """Return the place of a message in the request; `input` if it belongs to what the request continues."""
        return self._message_places.get(key, "input")

    def place_of_item(self, item: Json) -> str:
        """Return the place of an item in the request; `input` if it belongs to what the request continues."""
        return self._places.get(id(item), "input")


def _key_of(item: Json) -> _MessageKey:
    text = message_text(item)
    return as_string(item.get("role")), letters_of(text) or text.strip()


def _spoken_key(item: Json) -> _MessageKey:
    """Return the key of a user or assistant message; `_NO_KEY` for an empty one and for any other item."""
    is_spoken = item_type(item) == "message" and item.get("role") in _SPEAKERS
    return key if is_spoken and (key := _key_of(item))[1] else _NO_KEY


def _find_changes(turn: SentTurn, arrived: _Arrived) -> Iterator[_Change]:
    """Find the items of a turn's history that did not arrive unchanged."""
    history = turn.items[:-1]
    names = {client_call_id(item): as_string(item.get("name")) for item in history if client_call_id(item)}
    keys = [_spoken_key(item) for item in turn.items]
    # A user who says the same twice expects to be heard twice.
    sent = Counter(key for key in keys if key != _NO_KEY)
    neighbours = zip(_latest_before(keys), _latest_before(keys[::-1])[::-1], strict=True)
    for item, key, (before, behind) in zip(history, keys, neighbours, strict=False):
        place = arrived.find_gap(before, behind, sent.keys())
        if key != _NO_KEY:
            yield from _find_changed_message(item, key, arrived, sent[key], place)
        elif names.get(client_call_id(item) or answered_id(item)) in arrived.request.tool_names:
            yield from _find_changed_call(item, arrived, place)


def _latest_before(keys: Sequence[_MessageKey]) -> list[_MessageKey]:
    """Return, for each position, the key of the last message before it."""
    return [*accumulate(keys[:-1], lambda latest, key: latest if key == _NO_KEY else key, initial=_NO_KEY)]


def _find_changed_message(item: Json, key: _MessageKey, arrived: _Arrived, sent: int, place: str) -> Iterator[_Change]:
    """Find a user message that arrived more often than `sent` times, or a message missing from its `place`."""
    role, letters = key
    if (times := arrived.count(key)) > sent and len(letters) >= 2 * SHORTEST_TEXT and role == "user":
        often = "once" if sent == 1 else f"{sent} times"
        yield _Change(arrived.place_of(key), item, f"arrived {times} times, but was sent {often}")
    elif place and not times and not arrived.tells(message_text(item)):
        yield _Change(place, item, _GONE)


def _find_changed_call(item: Json, arrived: _Arrived, place: str) -> Iterator[_Change]:
    """Find a call or an output that changed or is missing; `place` is where it should be, if known."""
    if now := arrived.outputs.get(answered_id(item)):
        was, text = output_text(item), output_text(now)
        if letters_of(was) != letters_of(text):
            how = f"arrived changed: {quote(was)} is now {quote(text)}"
            yield _Change(f"{arrived.place_of_item(now)}.output", item, how)
    elif now := arrived.calls.get(client_call_id(item)):
        if member := changed_member(item, now):
            was, is_now = shorten_json(item.get(member)), shorten_json(now.get(member))
            how = f"arrived changed: {member} was {was} and is now {is_now}"
            yield _Change(f"{arrived.place_of_item(now)}.{member}", item, how)
    elif place and not arrived.has_call(item) and not _is_told(item, arrived):
        yield _Change(place, item, _GONE)


def _is_told(item: Json, arrived: _Arrived) -> bool:
    if answered_id(item):
        return arrived.tells(output_text(item))
    return any(arrived.tells(as_string(item.get(name))) for name in CONTENT_MEMBERS[1:])

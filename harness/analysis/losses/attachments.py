"""Images and files in user messages: a history keeps them with the text."""

import re
from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.request import HistoryRequest, PlacedItem, facts_about
from harness.analysis.loss import LossFacts, ask, loss, output, user
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote

_PICTURE: Json = {"type": "input_image", "image_url": "https://example.org/a.png"}
_OTHER: Json = {"type": "input_image", "image_url": "https://example.org/b.png"}
_SIGNED: Json = {"type": "input_image", "image_url": "https://example.org/a.png?signature=2"}
_EMBEDDED: Json = {"type": "input_image", "file_id": "file-1"}
_WORDS: Json = {"type": "input_text", "text": "What is it?"}
_SHOWN, _BARE = user([_WORDS, _PICTURE]), user("What is it?")
_GONE = "{lost} of {had} images and files of the user's {what} from exchange {said} are missing"
_FIX = "Send back every part of a user message, not only its text."


@loss(
    message=_GONE + " while the model works on it",
    fix=_FIX,
    loses=[ask([_SHOWN, "> C"], [_BARE, "C O"]), ask([user([_WORDS, _PICTURE, _PICTURE]), "> C"], [_SHOWN, "C O"])],
    keeps=[
        ask([_SHOWN, "> C"], [_SHOWN, "C O"]),
        ask([_SHOWN, "> A"], [_SHOWN, "A N"]),
        ask([_SHOWN, "> A"], [_BARE, "A N"]),
        ask([_SHOWN, "> C"], [_BARE, "C", output(value=[_PICTURE])]),
    ],
)
def attachment_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Within a tool loop a user message comes back without its images or files."""
    yield from (facts for is_at_work, facts in _find_dropped(request, history) if is_at_work)


@loss(
    message=_GONE + " in a later turn",
    fix=_FIX,
    strict=True,
    loses=[ask([_SHOWN, "> A"], [_BARE, "A N"])],
    keeps=[ask([_SHOWN, "> A"], [_SHOWN, "A N"])],
)
def attachment_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """In a later turn a user message comes back without its images or files, maybe on purpose, as they cost tokens."""
    yield from (facts for is_at_work, facts in _find_dropped(request, history) if not is_at_work)


_REFERENCES = ("file_id", "image_url", "file_url", "file_data")
"""The members of a part that hold an image or a file, or its address."""
_QUERY = re.compile(r"^(https?:[^?#]*)[?#].*")


@loss(
    message="{what} from exchange {said} comes back with other images or files: {was} is now {now}",
    fix="Send back every part of a message as it was sent, in its order.",
    loses=[
        ask([_SHOWN, "> C"], [user([_WORDS, _OTHER]), "C O"]),
        ask([_SHOWN, "> A"], [user([_WORDS, _OTHER]), "A N"]),
        ask([user([_WORDS, _PICTURE, _OTHER]), "> A"], [user([_WORDS, _OTHER, _PICTURE]), "A N"]),
        ask([_SHOWN, "> A"], [user([_WORDS, _PICTURE, _PICTURE]), "A N"]),
    ],
    keeps=[
        ask([_SHOWN, "> A"], [_SHOWN, "A N"]),
        ask([_SHOWN, "> A"], [user([_WORDS, _SIGNED]), "A N"]),
        ask([_SHOWN, "> A"], [user([_WORDS, _EMBEDDED]), "A N"]),
    ],
)
def attachment_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Images and files come back as others, in another order, or twice.

    An address may be signed anew, and a file may be sent in another way, such as by its id.
    """
    for before, was, place, now in _find_sent_again(request, history):
        old, new = _references(was), _references(now)
        is_other = len(old) == len(new) and any(
            before_member == member and before_value != value
            for (before_member, before_value), (member, value) in zip(old, new, strict=True)
        )
        if is_other or (len(old) < len(new) and {*old} == {*new}):
            shown = [", ".join(quote(value) for _, value in references) for references in (old, new)]
            yield facts_about(place, before.number, was, was=shown[0], now=shown[1])


def _references(item: Json) -> list[tuple[str, str]]:
    """List the images and files of a message or an output: how each is sent, and its value."""
    parts = [part for name in ("content", "output") for part in objects_in(item.get(name))]
    found = [(name, value) for part in parts for name in _REFERENCES if (value := as_string(part.get(name)))]
    return [(f"{name} {value[:5] == 'data:'}", _QUERY.sub(r"\1", value)) for name, value in found]


def _find_sent_again(request: HistoryRequest, history: History) -> Iterator[tuple[HistoryRequest, Json, str, Json]]:
    """Find the items of the request that a history continues: the request, the item, and its place and form here."""
    replies, _ = history.find_continued(request)
    if not request.is_chained and replies and not replies[-1].request.is_chained:
        before = replies[-1].request
        for (_, was), (place, now) in zip(_keyed_items(before), _keyed_items(request), strict=False):
            yield before, was, place, now


def _find_dropped(request: HistoryRequest, history: History) -> Iterator[tuple[bool, LossFacts]]:
    """Find the user messages with fewer images and files than in the previous request.

    Each comes with a flag that is True if the user has not spoken since.
    """
    _, length = history.find_continued(request)
    is_at_work = all(item.get("role") != "user" for _, item in request.items_after(length))
    for before, was, place, now in _find_sent_again(request, history):
        # If the total is the same, attachments have only moved to another item.
        if sum(map(_count_attachments, _contents(before))) <= sum(map(_count_attachments, _contents(request))):
            return
        had = _count_attachments(was.get("content"))
        if was.get("role") == "user" and (lost := had - _count_attachments(now.get("content"))) > 0:
            yield is_at_work, facts_about(place, before.number, was, had=had, lost=lost)


def _keyed_items(request: HistoryRequest) -> list[PlacedItem]:
    return [placed for placed, key in zip(request.placed_items, request.placed_keys, strict=True) if key]


def _contents(request: HistoryRequest) -> Iterator[object]:
    for _, item in request.placed_items:
        yield item.get("content")
        yield item.get("output")


def _count_attachments(content: object) -> int:
    return sum("text" not in part and "refusal" not in part for part in objects_in(content))

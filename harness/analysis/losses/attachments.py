"""Images and files in user messages: a history keeps them with the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.items import describe_item
from harness.analysis.history.request import HistoryRequest, PlacedItem
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, REPLY, ask, output, user
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
    loses=[
        ask([_SHOWN], [_BARE, "C O"], turns=[DEPLOY]),
        ask([user([_WORDS, _PICTURE, _PICTURE])], [_SHOWN, "C O"], turns=[DEPLOY]),
    ],
    keeps=[
        ask([_SHOWN], [_SHOWN, "C O"], turns=[DEPLOY]),
        ask([_SHOWN], [_SHOWN, "A N"], turns=[REPLY]),
        ask([_SHOWN], [_BARE, "A N"], turns=[REPLY]),
        ask([_SHOWN], [_BARE, "C", output(value=[_PICTURE])], turns=[DEPLOY]),
    ],
)
def attachment_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Within a tool loop a user message comes back without its images or files."""
    for is_at_work, facts in _find_dropped(request, history):
        if is_at_work:
            yield facts


@loss(
    message=_GONE + " in a later turn",
    fix=_FIX,
    strict=True,
    loses=[ask([_SHOWN], [_BARE, "A N"], turns=[REPLY])],
    keeps=[ask([_SHOWN], [_SHOWN, "A N"], turns=[REPLY])],
)
def attachment_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """In a later turn a user message comes back without its images or files, maybe on purpose, as they cost tokens."""
    for is_at_work, facts in _find_dropped(request, history):
        if not is_at_work:
            yield facts


_REFERENCES = ("file_id", "image_url", "file_url", "file_data")
"""The members of a part that hold an image or a file, or its address."""
_QUERY = re.compile(r"^(https?:[^?#]*)[?#].*")


@loss(
    message="{what} from exchange {said} comes back with other images or files: {was} is now {now}",
    fix="Send back every part of a message as it was sent, in its order.",
    loses=[
        ask([_SHOWN], [user([_WORDS, _OTHER]), "C O"], turns=[DEPLOY]),
        ask([_SHOWN], [user([_WORDS, _OTHER]), "A N"], turns=[REPLY]),
        ask([user([_WORDS, _PICTURE, _OTHER])], [user([_WORDS, _OTHER, _PICTURE]), "A N"], turns=[REPLY]),
        ask([_SHOWN], [user([_WORDS, _PICTURE, _PICTURE]), "A N"], turns=[REPLY]),
    ],
    keeps=[
        ask([_SHOWN], [_SHOWN, "A N"], turns=[REPLY]),
        ask([_SHOWN], [user([_WORDS, _SIGNED]), "A N"], turns=[REPLY]),
        ask([_SHOWN], [user([_WORDS, _EMBEDDED]), "A N"], turns=[REPLY]),
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
            shown = {
                name: ", ".join(quote(value) for _, value in references)
                for name, references in (("was", old), ("now", new))
            }
            yield {"at": place, "said": before.number, "what": describe_item(was), **shown}


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
            facts = {"what": describe_item(was), "had": had, "lost": lost}
            yield is_at_work, {"at": place, "said": before.number, **facts}


def _keyed_items(request: HistoryRequest) -> list[PlacedItem]:
    return [placed for placed, key in zip(request.placed_items, request.placed_keys, strict=True) if key]


def _contents(request: HistoryRequest) -> Iterator[object]:
    for _, item in request.placed_items:
        yield item.get("content")
        yield item.get("output")


def _count_attachments(content: object) -> int:
    return sum("text" not in part and "refusal" not in part for part in objects_in(content))

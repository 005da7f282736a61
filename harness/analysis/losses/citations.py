"""Annotations of what the assistant said."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history import History, HistoryRequest, OutputItem, describe_item, message_text
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import ASK, THEN, assistant, user
from harness.contract.rule import after
from harness.core.exchange import Json
from harness.core.loose_json import objects_in
from harness.items import message, url_citation

ANNOTATION = url_citation("https://example.org/v2", "Notes of v2")
CITED_MESSAGE = message("v2 is out since May.", annotations=[ANNOTATION])
_WIRE_ANNOTATION: Json = {
    "type": "url_citation",
    "url": "https://example.org/v2",
    "title": "Notes of v2",
    "start_index": 0,
    "end_index": 20,
}
MESSAGE = "{lost} of {had} annotations of the {what}, said in exchange {said}, are gone: the client dropped them"
FIX = "Send `annotations` of each `output_text` back as they were said."
_FLATTENED = after(
    {"input": [ASK]},
    {"input": [ASK, {"role": "assistant", "content": "v2 is out since May."}, THEN]},
    turns=[CITED_MESSAGE],
)


def _message_annotated(*notes: Json) -> Json:
    return assistant("", content=[{"type": "output_text", "text": "v2 is out since May.", "annotations": list(notes)}])


@loss(
    message=MESSAGE,
    fix=FIX,
    loses=[
        after({"input": [ASK]}, {"input": [ASK, _message_annotated(), THEN]}, turns=[CITED_MESSAGE]),
        after(
            {"input": [ASK]},
            {"input": [ASK, {**_message_annotated(), "id": "{0.output.0.id}"}, THEN]},
            turns=[CITED_MESSAGE],
        ),
        after(
            {"input": [ASK]},
            {"input": [_message_annotated(_WIRE_ANNOTATION)]},
            turns=[message("v2 is out since May.", annotations=[ANNOTATION, ANNOTATION])],
        ),
    ],
    keeps=[
        after({"input": [ASK]}, {"input": [ASK, _message_annotated(_WIRE_ANNOTATION), THEN]}, turns=[CITED_MESSAGE]),
        after(
            {"input": [ASK]},
            {"input": [{"type": "item_reference", "id": "{0.output.0.id}"}, THEN]},
            turns=[CITED_MESSAGE],
        ),
        after({"input": [ASK]}, {"input": [ASK, assistant("v2 came out this May."), THEN]}, turns=[CITED_MESSAGE]),
        after({"input": [ASK]}, {"input": [user("The researcher said: v2 is out since May.")]}, turns=[CITED_MESSAGE]),
        after(
            {"input": [ASK]},
            {"input": [ASK]},
            {"input": [_message_annotated()]},
            turns=[CITED_MESSAGE, message("v2 is out since May.")],
        ),
        _FLATTENED,
    ],
)
def citation_dropped(asked: HistoryRequest, past: History) -> Iterator[LossFacts]:
    """An assistant message comes back in parts, with fewer annotations than it was said with.

    Only a message in the words that were said; one edited or retold has no annotations to keep.
    """
    for at, item in asked.assistant_messages:
        if isinstance(item.get("content"), list):
            yield from _dropped_annotations(f"{at}.content[0]", item, past)


@loss(
    message=MESSAGE,
    fix=FIX,
    strict=True,
    loses=[_FLATTENED],
    keeps=[after({}, {"input": [ASK, _message_annotated(_WIRE_ANNOTATION)]}, turns=[CITED_MESSAGE])],
)
def citation_flattened(asked: HistoryRequest, past: History) -> Iterator[LossFacts]:
    """An assistant message that was said with annotations comes back as a plain string, which cannot carry them."""
    for at, item in asked.assistant_messages:
        if isinstance(item.get("content"), str):
            yield from _dropped_annotations(f"{at}.content", item, past)


def _dropped_annotations(at: str, item: Json, past: History) -> Iterator[LossFacts]:
    same = [one for one in past.find_originals(item) if message_text(one.item).strip() == message_text(item).strip()]
    sent = _count_annotations(item)
    if same and (said := min(same, key=_original_count)) and sent < (had := _original_count(said)):
        yield {"at": at, "said": said.number, "what": describe_item(said.item), "had": had, "lost": had - sent}


def _original_count(said: OutputItem) -> int:
    return _count_annotations(said.item)


def _count_annotations(item: Json) -> int:
    return sum(len(list(objects_in(part.get("annotations")))) for part in objects_in(item.get("content")))

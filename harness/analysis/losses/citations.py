"""Annotations of the assistant's messages: none may be dropped."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history import History, HistoryRequest, OutputItem, describe_item, message_text
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import NEXT, PROMPT, assistant, user
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
    {"input": [PROMPT]},
    {"input": [PROMPT, {"role": "assistant", "content": "v2 is out since May."}, NEXT]},
    turns=[CITED_MESSAGE],
)


def _message_annotated(*notes: Json) -> Json:
    return assistant("", content=[{"type": "output_text", "text": "v2 is out since May.", "annotations": list(notes)}])


@loss(
    message=MESSAGE,
    fix=FIX,
    loses=[
        after({"input": [PROMPT]}, {"input": [PROMPT, _message_annotated(), NEXT]}, turns=[CITED_MESSAGE]),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, {**_message_annotated(), "id": "{0.output.0.id}"}, NEXT]},
            turns=[CITED_MESSAGE],
        ),
        after(
            {"input": [PROMPT]},
            {"input": [_message_annotated(_WIRE_ANNOTATION)]},
            turns=[message("v2 is out since May.", annotations=[ANNOTATION, ANNOTATION])],
        ),
    ],
    keeps=[
        after(
            {"input": [PROMPT]}, {"input": [PROMPT, _message_annotated(_WIRE_ANNOTATION), NEXT]}, turns=[CITED_MESSAGE]
        ),
        after(
            {"input": [PROMPT]},
            {"input": [{"type": "item_reference", "id": "{0.output.0.id}"}, NEXT]},
            turns=[CITED_MESSAGE],
        ),
        after(
            {"input": [PROMPT]}, {"input": [PROMPT, assistant("v2 came out this May."), NEXT]}, turns=[CITED_MESSAGE]
        ),
        after(
            {"input": [PROMPT]}, {"input": [user("The researcher said: v2 is out since May.")]}, turns=[CITED_MESSAGE]
        ),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT]},
            {"input": [_message_annotated()]},
            turns=[CITED_MESSAGE, message("v2 is out since May.")],
        ),
        _FLATTENED,
    ],
)
def citation_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """An assistant message comes back in parts, with fewer annotations than it was said with.

    Only a message in the words that were said; one edited or retold has no annotations to keep.
    """
    for at, item in request.assistant_messages:
        if isinstance(item.get("content"), list):
            yield from _dropped_annotations(f"{at}.content[0]", item, history)


@loss(
    message=MESSAGE,
    fix=FIX,
    strict=True,
    loses=[_FLATTENED],
    keeps=[after({}, {"input": [PROMPT, _message_annotated(_WIRE_ANNOTATION)]}, turns=[CITED_MESSAGE])],
)
def citation_flattened(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """An assistant message that was said with annotations comes back as a plain string, which cannot carry them."""
    for at, item in request.assistant_messages:
        if isinstance(item.get("content"), str):
            yield from _dropped_annotations(f"{at}.content", item, history)


def _dropped_annotations(at: str, item: Json, history: History) -> Iterator[LossFacts]:
    same = [one for one in history.find_originals(item) if message_text(one.item).strip() == message_text(item).strip()]
    sent = _count_annotations(item)
    if same and (original := min(same, key=_original_count)) and sent < (had := _original_count(original)):
        yield {"at": at, "said": original.number, "what": describe_item(original.item), "had": had, "lost": had - sent}


def _original_count(original: OutputItem) -> int:
    return _count_annotations(original.item)


def _count_annotations(item: Json) -> int:
    return sum(len(list(objects_in(part.get("annotations")))) for part in objects_in(item.get("content")))

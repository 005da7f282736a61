"""Annotations of what the assistant said."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history import Asked, Past, Spoken, named, text_of
from harness.analysis.loss import Facts, loss
from harness.analysis.losses.examples import ASK, THEN, assistant, user
from harness.contract.rule import after
from harness.core.exchange import Json
from harness.core.loose_json import objects_in
from harness.items import message, url_citation

NOTE = url_citation("https://example.org/v2", "Notes of v2")
CITED = message("v2 is out since May.", annotations=[NOTE])
_WIRE: Json = {
    "type": "url_citation",
    "url": "https://example.org/v2",
    "title": "Notes of v2",
    "start_index": 0,
    "end_index": 20,
}
MESSAGE = "{lost} of {had} annotations of the {what}, said in exchange {said}, are gone: the client dropped them"
FIX = "Send `annotations` of each `output_text` back as they were said."
_PLAIN = after(
    {"input": [ASK]}, {"input": [ASK, {"role": "assistant", "content": "v2 is out since May."}, THEN]}, turns=[CITED]
)


def _parts(*notes: Json) -> Json:
    return assistant("", content=[{"type": "output_text", "text": "v2 is out since May.", "annotations": list(notes)}])


@loss(
    message=MESSAGE,
    fix=FIX,
    loses=[
        after({"input": [ASK]}, {"input": [ASK, _parts(), THEN]}, turns=[CITED]),
        after({"input": [ASK]}, {"input": [ASK, {**_parts(), "id": "{0.output.0.id}"}, THEN]}, turns=[CITED]),
        after(
            {"input": [ASK]},
            {"input": [_parts(_WIRE)]},
            turns=[message("v2 is out since May.", annotations=[NOTE, NOTE])],
        ),
    ],
    keeps=[
        after({"input": [ASK]}, {"input": [ASK, _parts(_WIRE), THEN]}, turns=[CITED]),
        after({"input": [ASK]}, {"input": [{"type": "item_reference", "id": "{0.output.0.id}"}, THEN]}, turns=[CITED]),
        after({"input": [ASK]}, {"input": [ASK, assistant("v2 came out this May."), THEN]}, turns=[CITED]),
        after({"input": [ASK]}, {"input": [user("The researcher said: v2 is out since May.")]}, turns=[CITED]),
        after(
            {"input": [ASK]}, {"input": [ASK]}, {"input": [_parts()]}, turns=[CITED, message("v2 is out since May.")]
        ),
        _PLAIN,
    ],
)
def citation_dropped(asked: Asked, past: Past) -> Iterator[Facts]:
    """An assistant message comes back in parts, with fewer annotations than it was said with.

    Only a message in the words that were said; one edited or retold has no annotations to keep.
    """
    for at, item in asked.messages:
        if isinstance(item.get("content"), list):
            yield from _dropped(f"{at}.content[0]", item, past)


@loss(
    message=MESSAGE,
    fix=FIX,
    strict=True,
    loses=[_PLAIN],
    keeps=[after({}, {"input": [ASK, _parts(_WIRE)]}, turns=[CITED])],
)
def citation_flattened(asked: Asked, past: Past) -> Iterator[Facts]:
    """An assistant message that was said with annotations comes back as a plain string, which cannot carry them."""
    for at, item in asked.messages:
        if isinstance(item.get("content"), str):
            yield from _dropped(f"{at}.content", item, past)


def _dropped(at: str, item: Json, past: Past) -> Iterator[Facts]:
    same = [one for one in past.origins(item) if text_of(one.item).strip() == text_of(item).strip()]
    sent = _notes(item)
    if same and (said := min(same, key=_noted)) and sent < (had := _noted(said)):
        yield {"at": at, "said": said.number, "what": named(said.item), "had": had, "lost": had - sent}


def _noted(said: Spoken) -> int:
    return _notes(said.item)


def _notes(item: Json) -> int:
    return sum(len(list(objects_in(part.get("annotations")))) for part in objects_in(item.get("content")))

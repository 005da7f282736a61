"""Annotations of assistant messages: each must mark the same words as before."""

from collections.abc import Iterator, Sequence
from typing import Any

from harness.analysis.history.history import History
from harness.analysis.history.items import message_text, notes_of
from harness.analysis.history.request import HistoryRequest, OutputItem
from harness.analysis.loss import LossFacts, facts_about, loss
from harness.analysis.losses.citations import ANNOTATION, CITED_MESSAGE, CITED_TEXT, sources_of
from harness.analysis.losses.examples import ask, assistant
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote
from harness.items import message

POSITIONS = ("index", "start_index", "end_index")
"""The members of an annotation that locate it in the text."""
_NOTE: Json = {**ANNOTATION, "start_index": 0, "end_index": len(CITED_TEXT)}
_NOTE.pop("cite", None)


def _sent_back(*notes: Json, text: str = CITED_TEXT, turn: Any = CITED_MESSAGE) -> Case:
    part = {"type": "output_text", "text": text, "annotations": list(notes)}
    return ask(["P >", turn], ["P", assistant("", content=[part]), "N"])


def _sent_in_parts(*parts: tuple[str, Json | None]) -> Case:
    """Build an example in which the message comes back as these texts, each with an annotation or none."""
    made = [{"type": "output_text", "text": text, "annotations": [note] if note else []} for text, note in parts]
    return ask(["P >", CITED_MESSAGE], ["P", assistant("", content=made), "N"])


@loss(
    message="an annotation of the {what} from exchange {said} comes back where it marks {now} instead of {was}: {source}",
    fix="Send each annotation back in the part whose text it marks; its positions count from the beginning of that part.",
    loses=[
        _sent_in_parts((CITED_TEXT, None), ("", _NOTE)),
        _sent_in_parts((CITED_TEXT[:9], None), (CITED_TEXT[9:], _NOTE)),
    ],
    keeps=[_sent_in_parts((CITED_TEXT, _NOTE)), _sent_in_parts((CITED_TEXT, _NOTE), ("", None))],
)
def citation_misplaced(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Annotations come back in another part, where their positions mark other words or point beyond the text."""
    known = {
        (tuple(sources_of(note)), _position(note)): (original, _marked(note, part))
        for _, item in request.assistant_messages
        if (said := history.find_said(item))
        for original in said.originals
        for part in objects_in(original.item.get("content"))
        for note in objects_in(part.get("annotations"))
    }
    for place, item in request.assistant_messages if known else ():
        text = message_text(item).strip()
        for index, part in enumerate(objects_in(item.get("content"))):
            for note in objects_in(part.get("annotations")):
                original, was = known.get((tuple(sources_of(note)), _position(note)), (None, ""))
                # In an edited text the same positions mark other words; that is `text-edited`.
                is_same = original and text == message_text(original.item).strip()
                if original and is_same and (now := _marked(note, part)) != was:
                    words = {"was": quote(was), "now": quote(now), "source": sources_of(note)[0]}
                    yield facts_about(f"{place}.content[{index}]", original.number, original.item, **words)


@loss(
    message="an annotation of the {what} from exchange {said} comes back at {now} instead of {was}: {source}",
    fix="Send the positions of an annotation back unchanged, as long as its text is the same.",
    loses=[_sent_back({**_NOTE, "end_index": 0}), _sent_back({**_NOTE, "start_index": 3, "end_index": 5})],
    keeps=[
        _sent_back(_NOTE),
        _sent_in_parts((CITED_TEXT, _NOTE)),
        _sent_back({**_NOTE, "start_index": 2, "end_index": 22}, text=f"- {CITED_TEXT}"),
        _sent_back({**_NOTE, "url": "https://example.org/v3", "end_index": 5}, turn=message(CITED_TEXT)),
    ],
)
def citation_moved(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Annotations come back at other positions of the same text: the positions were lost or recomputed."""
    for place, item, originals in _find_cited(request, history):
        # Positions in an edited text cannot match; that is `text-edited`.
        if any(message_text(original.item) != message_text(item) for original in originals):
            continue
        sent = notes_of(item)
        kept = {(tuple(sources_of(note)), _position(note)) for note in sent}
        gone = [
            (original, note)
            for original in originals
            for note in notes_of(original.item)
            if (tuple(sources_of(note)), _position(note)) not in kept
        ]
        known = {_position(note) for original in originals for note in notes_of(original.item)}
        for note in sent:
            moved = [(original, was) for original, was in gone if sources_of(was) == sources_of(note)]
            # Two annotations of the same source may swap places.
            if moved and _position(note) not in known:
                original, was = moved[-1]
                words = {"was": _describe_position(was), "now": _describe_position(note), "source": sources_of(note)[0]}
                yield facts_about(place, original.number, original.item, **words)


def _find_cited(request: HistoryRequest, history: History) -> Iterator[tuple[str, Json, Sequence[OutputItem]]]:
    """Find the messages that come back with other annotations, each with the output messages that have its text."""
    for place, item in request.assistant_messages:
        notes = notes_of(item)
        said = history.find_said(item) if notes else None
        if said and notes_of(said.originals[-1].item) != notes:
            yield f"{place}.content[0]", item, said.originals


def _position(note: Json) -> tuple[object, ...]:
    return tuple(note.get(name) for name in POSITIONS)


def _marked(note: Json, part: Json) -> str:
    """Return the words of a part that an annotation marks, or the character before which it stands."""
    text = as_string(part.get("text"))
    start, end, index = (note.get(name) for name in ("start_index", "end_index", "index"))
    if isinstance(start, int) and isinstance(end, int):
        return text[max(0, start) : max(0, end)]
    return text[max(0, index - 1) : max(0, index)] if isinstance(index, int) else ""


def _describe_position(note: Json) -> str:
    if "start_index" in note or "end_index" in note:
        return f"characters {note.get('start_index')} to {note.get('end_index')}"
    return f"character {note.get('index')}"

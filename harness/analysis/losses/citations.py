"""Annotations of assistant messages: none may be dropped or duplicated, and each must mark the same words as before."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Any

from harness.analysis.history.history import History
from harness.analysis.history.items import message_text, notes_of
from harness.analysis.history.request import HistoryRequest, OutputItem
from harness.analysis.history.text_damage import describe_damage, without_citations
from harness.analysis.history.text_index import describe_edit, is_similar_text, letters_of
from harness.analysis.loss import LossFacts, ask, assistant, loss, user
from harness.analysis.losses.text import find_message_in_place
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote
from harness.items import file_citation, message, url_citation

ANNOTATION = url_citation("https://example.org/v2", "Notes of v2")
CITED_TEXT = "v2 is out since May."
CITED_MESSAGE = message(CITED_TEXT, annotations=[ANNOTATION])
_NOTE: Json = {"type": "url_citation", "url": "https://example.org/v2", "title": "Notes of v2"}
_NOTE |= {"start_index": 0, "end_index": len(CITED_TEXT)}
POSITIONS = ("index", "start_index", "end_index")
"""The members of an annotation that locate it in the text."""
_ANNOTATIONS_GONE = "{lost} of {had} annotations of the {what} from exchange {said} are missing{edited}"
_JOINED = ", and other text was joined to it"
_FIX = "Send the `annotations` of each `output_text` back unchanged."
_HOST_AND_PATH = re.compile(r"https?://(?:www\.)?([^?#]*).*", re.S | re.I)
_LINKED_TEXT = "v2 is out ([Notes](https://example.org/v2))."
_LINKED_MESSAGE = message(_LINKED_TEXT, annotations=[ANNOTATION])


def _message_annotated(*notes: Json, text: str = CITED_TEXT) -> Json:
    return assistant("", content=[{"type": "output_text", "text": text, "annotations": list(notes)}])


def _sent_of_file(id: str, index: int = 20) -> Case:
    """Build an example in which a message that cites a file comes back with an id of the file and a position."""
    note = {"type": "file_citation", "file_id": id, "filename": "v2.md", "index": index}
    return _sent_with(note, said=message(CITED_TEXT, annotations=[file_citation("file-1", "v2.md", index=20)]))


def _sent_with(*notes: Json, said: Any = CITED_MESSAGE, text: str = CITED_TEXT) -> Case:
    return ask(["P >", said], ["P", _message_annotated(*notes, text=text), "N"])


def _sent_in_parts(*parts: tuple[str, Json | None]) -> Case:
    """Build an example in which the message comes back as these texts, each with an annotation or none."""
    made = [{"type": "output_text", "text": text, "annotations": [note] if note else []} for text, note in parts]
    return ask(["P >", CITED_MESSAGE], ["P", assistant("", content=made), "N"])


@loss(
    message=_ANNOTATIONS_GONE + ": the client dropped them",
    fix=_FIX,
    loses=[
        _sent_with(),
        ask(["P >", CITED_MESSAGE], ["P", {**_message_annotated(), "id": "{0.output.0.id}"}, "N"]),
        ask(["P >", message(CITED_TEXT, annotations=[ANNOTATION, ANNOTATION])], [_message_annotated(_NOTE)]),
        _sent_with({**_NOTE, "url": "https://example.org/v3"}),
        _sent_of_file("file-2"),
    ],
    keeps=[
        _sent_of_file("file-1"),
        _sent_with(_NOTE),
        _sent_with({**_NOTE, "url": "https://EXAMPLE.org/v2/?utm_source=openai#:~:text=v2"}),
        ask(["P >", CITED_MESSAGE], [{"type": "item_reference", "id": "{0.output.0.id}"}, "N"]),
        ask(["P >", CITED_MESSAGE], ["P", assistant("v2 came out this May."), "N"]),
        ask(["P >", CITED_MESSAGE], [user("The researcher said: v2 is out since May.")]),
        ask(["P >", CITED_MESSAGE], ["P >", message(CITED_TEXT)], [_message_annotated()]),
        ask(["P >", CITED_MESSAGE], ["P", assistant("No citation."), "N"]),
    ],
)
def citation_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Assistant messages come back in parts, but with fewer annotations than the model gave them, or other sources.

    Only host and path of a URL are compared, because clients remove tracking parameters from its query. The message may
    have been edited slightly, cut off or joined with further text; one that was reworded, or whose citation marks were
    removed from the text, need not keep its annotations.
    """
    placed = dict(find_message_in_place(request, history))
    for place, item in request.assistant_messages:
        if isinstance(item.get("content"), list):
            yield from _dropped_annotations(f"{place}.content[0]", item, history, placed.get(place))


@loss(
    message=_ANNOTATIONS_GONE + ": it came back as plain text, which cannot carry them",
    fix="Send the message back in parts, as received: `output_text` with its `annotations`.",
    loses=[ask(["P >", CITED_MESSAGE], ["P", {"role": "assistant", "content": CITED_TEXT}, "N"])],
    keeps=[
        ask({}, ["P", _message_annotated(_NOTE)], turns=[CITED_MESSAGE]),
        ask({}, ["P", {"role": "assistant", "content": _LINKED_TEXT}], turns=[_LINKED_MESSAGE]),
    ],
)
def citation_flattened(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Assistant messages with annotations come back as a plain string, which cannot carry them.

    A string that names its sources itself, for example in links, keeps them.
    """
    placed = dict(find_message_in_place(request, history))
    for place, item in request.assistant_messages:
        if isinstance(text := item.get("content"), str):
            for facts in _dropped_annotations(f"{place}.content", item, history, placed.get(place)):
                if not _names_its_sources(text, facts["original"]):
                    yield facts


@loss(
    message="{again} of {had} annotations of the {what} from exchange {said} come back with extra copies",
    fix="Collect each annotation of a stream once: from its `annotation.added` event or from the completed item.",
    loses=[ask(["P >", CITED_MESSAGE], ["P", _message_annotated(_NOTE, _NOTE), "N"])],
    keeps=[
        _sent_with(_NOTE),
        ask(
            ["P >", message(CITED_TEXT, annotations=[ANNOTATION, ANNOTATION])],
            ["P", _message_annotated(_NOTE, _NOTE), "N"],
        ),
        _sent_with(_NOTE, {**_NOTE, "end_index": 2}),
    ],
)
def citation_doubled(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Assistant messages come back with more copies of an annotation than the model gave them."""
    for place, item in request.assistant_messages:
        notes = notes_of(item)
        original = history.find_original(item) if notes else None
        if original and notes_of(original.item) != notes:
            counts, sent = Counter(map(_note_key, notes_of(original.item))), Counter(map(_note_key, notes))
            if again := sum(sent[key] > count for key, count in counts.items()):
                at, had = f"{place}.content[0]", counts.total()
                yield original.lost(at, had=had, again=again)


def _note_key(note: Json) -> tuple[object, ...]:
    """Return a key for an annotation: its sources and its position."""
    return (tuple(sources_of(note)), _position(note))


def _names_its_sources(text: str, original: OutputItem) -> bool:
    return all(any(source in text for source in sources_of(note)) for note in notes_of(original.item))


def _find_cited(text: str, item: Json, history: History) -> OutputItem | None:
    """Find the message with this text, or a similar one, that has the fewest annotations."""
    said = history.find_said(item)
    return said.least_cited if said else history.cited.find(text) if text else None


def sources_of(note: Json) -> list[str]:
    """List the names of what an annotation cites."""
    return list(filter(None, (as_string(note.get(name)) for name in ("url", "filename", "file_id"))))


def _dropped_annotations(place: str, item: Json, history: History, placed: OutputItem | None) -> Iterator[LossFacts]:
    """Yield the annotations that a message lost, compared with the least annotated original of its text.

    `placed` is the output message that it stands in for, if known.
    """
    for original, edited in _find_annotated(item, history, placed):
        had = original.annotation_count
        if lost := had - _count_kept(original.item, item):
            counts = {"had": had, "lost": lost, "edited": edited}
            yield original.lost(place, original=original, **counts)


def _count_kept(original: Json, item: Json) -> int:
    """Count the annotations of the original whose sources the other message cites as well."""
    left = notes_of(item)
    for note in notes_of(original):
        if (
            kept := next((index for index, cited in enumerate(left) if _is_same_source(note, cited)), None)
        ) is not None:
            del left[kept]
    return len(notes_of(item)) - len(left)


def _is_same_source(note: Json, cited: Json) -> bool:
    """Return whether two annotations name the same page or file; an annotation that names none agrees with any."""
    was, now = note.get("file_id"), cited.get("file_id")
    if was and now and was != now:
        return False
    pages = _pages(note)
    return not pages or not pages.isdisjoint(_pages(cited))


def _pages(note: Json) -> Set[str]:
    """Return the sources of an annotation, URLs reduced to host and path."""
    return {_HOST_AND_PATH.sub(r"\1", source).rstrip("/").casefold() for source in sources_of(note)}


def _find_annotated(item: Json, history: History, placed: OutputItem | None) -> Iterator[tuple[OutputItem, str]]:
    """Find the messages that a text consists of or was made from, each with a description of the edit, if any."""
    text = message_text(item).strip()
    original = _find_cited(text, item, history)
    # An unchanged text needs no search for an edit.
    if original and (text == message_text(original.item).strip() or not original.annotation_count):
        yield original, ""
        return
    candidates = [candidate for candidate in (original, placed) if candidate and candidate.annotation_count]
    for candidate in candidates:
        was = message_text(candidate.item).strip()
        if damage := describe_damage(was, text):
            yield candidate, f", and its text came back {damage}"
            return
        if is_edited(was, text):
            yield candidate, ", and its text was edited from {} to {}".format(*map(quote, describe_edit(was, text)))
            joined = (longer for longer in _find_joined(text, (), history) if longer.item is not candidate.item)
            yield from ((longer, _JOINED) for longer in joined)
            return
    yield from ((candidate, _JOINED) for candidate in _find_joined(text, candidates, history))


def _find_joined(text: str, candidates: Sequence[OutputItem], history: History) -> Iterator[OutputItem]:
    """Find the messages that a longer text contains, unless it also has the user's question or names their sources."""
    letters = letters_of(text)
    found = [candidate for candidate in candidates if "" != letters_of(message_text(candidate.item)) in letters]
    texts = history.joined.find(letters) if text not in history.by_text else ()
    found += [cited for was in texts if (cited := history.by_text[was].least_cited) and cited.annotation_count]
    for cited in {id(original.item): original for original in found}.values():
        asked = next((item for _, item in reversed(cited.reply.request.placed_items) if item.get("role") == "user"), {})
        # A text with both question and answer is a transcript told to another agent, not an answer.
        question = letters_of(message_text(asked))
        if not (question and question in letters) and not _names_its_sources(text, cited):
            yield cited


def is_edited(was: str, now: str) -> bool:
    """Return whether a text was changed in a few places other than by removing its citations."""
    letters, bare = letters_of(was), letters_of(without_citations(was))
    return bare in (letters, "") or bare != letters_of(now) if is_similar_text(was, now) else False


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
        _note_key(note): (original, _marked(note, part))
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
                original, was = known.get(_note_key(note), (None, ""))
                # In an edited text the same positions mark other words; that is `text-edited`.
                is_same = original and text == message_text(original.item).strip()
                if original and is_same and (now := _marked(note, part)) != was:
                    words = {"was": quote(was), "now": quote(now), "source": sources_of(note)[0]}
                    yield original.lost(f"{place}.content[{index}]", **words)


@loss(
    message="an annotation of the {what} from exchange {said} comes back at {now} instead of {was}: {source}",
    fix="Send the positions of an annotation back unchanged, as long as its text is the same.",
    loses=[
        _sent_with({**_NOTE, "end_index": 0}),
        _sent_with({**_NOTE, "start_index": 3, "end_index": 5}),
        _sent_of_file("file-1", index=3),
    ],
    keeps=[
        _sent_with(_NOTE),
        _sent_in_parts((CITED_TEXT, _NOTE)),
        _sent_with({**_NOTE, "start_index": 2, "end_index": 22}, text=f"- {CITED_TEXT}"),
        _sent_with({**_NOTE, "url": "https://example.org/v3", "end_index": 5}, said=message(CITED_TEXT)),
    ],
)
def citation_moved(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Annotations come back at other positions of the same text: the positions were lost or recomputed."""
    for place, item, originals in _find_changed_notes(request, history):
        # Positions in an edited text cannot match; that is `text-edited`.
        if any(message_text(original.item) != message_text(item) for original in originals):
            continue
        sent = notes_of(item)
        kept = {_note_key(note) for note in sent}
        gone = [
            (original, note)
            for original in originals
            for note in notes_of(original.item)
            if _note_key(note) not in kept
        ]
        known = {_position(note) for original in originals for note in notes_of(original.item)}
        for note in sent:
            moved = [(original, was) for original, was in gone if sources_of(was) == sources_of(note)]
            # Two annotations of the same source may swap places.
            if moved and _position(note) not in known:
                original, was = moved[-1]
                words = {"was": _describe_position(was), "now": _describe_position(note), "source": sources_of(note)[0]}
                yield original.lost(place, **words)


def _find_changed_notes(request: HistoryRequest, history: History) -> Iterator[tuple[str, Json, Sequence[OutputItem]]]:
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

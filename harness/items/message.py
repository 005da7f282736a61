"""Messages of the assistant: text with annotations, or a refusal."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import Dumpable, is_model, write_json
from harness.core.registry import named_arguments
from harness.core.text import show
from harness.items.examples import FIRST_MESSAGE, PDF, PNG, Examples, between_messages, typed
from harness.items.kind import input_item, item, require_text
from harness.items.stream_elements import AnnotatedText, Parts, StreamedText, TextOrDeltas

CONTENT = Parts(
    "content",
    "content_part",
    "content_index",
    {"output_text": AnnotatedText("text", "output_text"), "refusal": StreamedText("refusal", "refusal")},
)

PHASES = ("commentary", "final_answer")
RANGE_CITATIONS = ("url_citation", "container_file_citation")
INDEX_CITATIONS = ("file_citation", "file_path")


PART_DEFAULTS: Mapping[str, Json] = {
    "output_text": {"annotations": [], "logprobs": []},
    "input_file": {"file_id": None},
    "input_image": {"detail": "auto", "file_id": None, "image_url": None},
}
"""The members of a content part that a list of items shows even if the client has omitted them."""


def _examples() -> Examples:
    def assistant(*parts: Json) -> Json:
        return typed("message", role="assistant", content=list(parts))

    def user(*parts: Json) -> Json:
        return typed("message", role="user", content=[typed("input_text", text="What is it?"), *parts])

    citation = typed("url_citation", url="https://example.org", title="A guide", start_index=0, end_index=2)
    return {
        "message of the user": [FIRST_MESSAGE],
        "message of the system": [{"role": "system", "content": "Be brief."}, FIRST_MESSAGE],
        "message of the developer": [{"role": "developer", "content": "Be brief."}, FIRST_MESSAGE],
        "message of the assistant": between_messages({"role": "assistant", "content": "Which?"}),
        "message of the assistant in parts": between_messages(
            assistant(typed("output_text", text="Which?", annotations=[]))
        ),
        "refusal": between_messages(assistant(typed("refusal", refusal="No."))),
        "annotations": between_messages(assistant(typed("output_text", text="Here.", annotations=[citation]))),
        "input_image": [user(typed("input_image", image_url=PNG, detail="low"))],
        "input_file": [user(typed("input_file", filename="a.pdf", file_data=PDF))],
    }


@item(
    "msg",
    CONTENT,
    listed_status=False,  # a list shows messages in a form of their own
    defaults={"content": [], "role": "assistant"},
    examples=_examples(),
)
def message(
    text: TextOrDeltas | Json | Dumpable = "",
    *more: TextOrDeltas | Json | Dumpable,
    annotations: Sequence[Json] = (),
    logprobs: Sequence[Json] = (),
    phase: str | None = None,
) -> Json:
    """Send a message of the assistant.

    Each positional argument is a content part: a str, a list of str (the exact deltas to stream), `refusal("…")` or
    `output_text("…")`; any other dict or pydantic object stands for its JSON, as in structured output. `annotations`
    and `logprobs` belong to the first part, which must then be plain text.
    """
    if _is_part(text):
        if annotations or logprobs:
            raise ScriptError(
                "annotations and logprobs belong to a text. Pass them to output_text('…', annotations=…)."
            )
        first = text
    else:
        first = output_text(_as_text(text), annotations=annotations, logprobs=logprobs)
    content = [first, *(part if _is_part(part) else output_text(_as_text(part)) for part in more)]
    if phase is None:
        return {"content": content, "role": "assistant"}
    if phase not in PHASES:
        raise ScriptError(f"phase is {show(phase)}. Use one of: {', '.join(PHASES)}.")
    return {"content": content, "phase": phase, "role": "assistant"}


_PARTS = (*CONTENT.elements, "text", "input_text", "reasoning_text", "summary_text")
"""The API's part types, of messages or others; an object of such a type is taken as a part."""


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in _PARTS


def _as_text(value: Any) -> Any:
    """Encode an object as JSON, as a model writes structured output; any other value is returned unchanged."""
    return write_json("text", value) if isinstance(value, dict) or is_model(value) else value


@named_arguments
def output_text(text: TextOrDeltas, *, annotations: Sequence[Json] = (), logprobs: Sequence[Json] = ()) -> Json:
    """Build a content part of text, with annotations and one logprobs entry per token."""
    joined = text if isinstance(text, str) else _join_deltas(text)
    fitted = [_place_annotation(f"annotations[{index}]", note, joined) for index, note in enumerate(annotations)]
    return {"type": "output_text", "annotations": fitted, "logprobs": list(logprobs), "text": text}


@named_arguments
def refusal(text: TextOrDeltas) -> Json:
    """Build a content part in which the model declines in these words; the response is still `completed`."""
    return {"type": "refusal", "refusal": text}


@named_arguments
def url_citation(
    url: str, title: str, start_index: int | None = None, end_index: int | None = None, *, cite: str | None = None
) -> Json:
    """Cite a web page for `text[start_index:end_index]`, for the words `cite`, or for the whole text."""
    own = {"title": title, "url": url}
    return {"type": "url_citation", "end_index": end_index, "start_index": start_index, **own, "cite": cite}


@named_arguments
def container_file_citation(
    container_id: str,
    file_id: str,
    filename: str,
    start_index: int | None = None,
    end_index: int | None = None,
    *,
    cite: str | None = None,
) -> Json:
    """Cite a file that code wrote, for a range, for the words `cite`, or for the whole text."""
    own = {"container_id": container_id, "end_index": end_index, "file_id": file_id, "filename": filename}
    return {"type": "container_file_citation", **own, "start_index": start_index, "cite": cite}


@named_arguments
def file_citation(
    file_id: str, filename: str, index: int | None = None, *, cite: str | None = None, quote: str | None = None
) -> Json:
    """Cite a file at `index` of the text, after the words `cite`, or at the end.

    `quote` is the passage of the file, shown only in messages of a thread.
    """
    cited = {"type": "file_citation", "file_id": file_id, "filename": filename, "index": index, "cite": cite}
    return cited if quote is None else {**cited, "quote": require_text("quote", quote)}


@named_arguments
def file_path(file_id: str, index: int | None = None, *, cite: str | None = None) -> Json:
    """Name a file that the model made, at `index` of the text, after the words `cite`, or at the end."""
    return {"type": "file_path", "file_id": file_id, "index": index, "cite": cite}


def _join_deltas(text: Any) -> str:
    if not isinstance(text, list | tuple) or not all(isinstance(delta, str) for delta in text):
        raise ScriptError(f"text is {show(text)}. Pass a str, or a list of str: the exact deltas to stream.")
    return "".join(text)


def _place_annotation(at: str, note: Json, text: str) -> Json:
    """Return the annotation with its indexes filled in; ScriptError if it is no object or they are outside the text."""
    if not isinstance(note, Mapping):
        raise ScriptError(f"{at} is {show(note)}. Pass an object with the type of the annotation.")
    note = dict(note)
    start, end = _find_cited_range(at, note.pop("cite", None), text)
    known = note.get("type")
    if known in RANGE_CITATIONS:
        note |= {name: value for name, value in (("end_index", end), ("start_index", start)) if note.get(name) is None}
        _check_indexes(at, text, start_index=note["start_index"], end_index=note["end_index"])
    elif known in INDEX_CITATIONS:
        note |= {"index": end} if note.get("index") is None else {}
        _check_indexes(at, text, index=note["index"])
    else:
        raise ScriptError(
            f"{at}.type is {show(known)}. Use one of: {', '.join(sorted((*RANGE_CITATIONS, *INDEX_CITATIONS)))}."
        )
    return note


def _find_cited_range(at: str, words: str | None, text: str) -> tuple[int, int]:
    if words is None:
        return 0, len(text)
    if (start := text.find(words)) < 0:
        raise ScriptError(f"{at} cites {show(words)}, but the text is {show(text)}. Cite words of the text.")
    return start, start + len(words)


def _check_indexes(at: str, text: str, **places: int) -> None:
    least = 0
    for name, place in places.items():
        if not isinstance(place, int) or not least <= place <= len(text):
            raise ScriptError(
                f"{at}.{name} is {show(place)}. This text allows {least} to {len(text)}; or pass cite='words'."
            )
        least = place


input_item("item_reference", "A stored item, by its id.")

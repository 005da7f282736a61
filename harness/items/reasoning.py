"""Reasoning of the model (summaries, raw text, encrypted content), and the compaction of earlier items."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.exchange import Json
from harness.items.kind import item, require_text
from harness.items.stream_grammar import Parts, Phase, StreamedText, TextOrDeltas

SUMMARY = Parts(
    "summary",
    "reasoning_summary_part",
    "summary_index",
    {"summary_text": StreamedText("text", "reasoning_summary_text")},
)
RAW_TEXT = Parts("content", "content_part", "content_index", {"reasoning_text": StreamedText("text", "reasoning_text")})


@item("rs", SUMMARY, RAW_TEXT, status=False, defaults={"summary": []})
def reasoning(
    summary: str | Sequence[TextOrDeltas] = (),
    *,
    encrypted_content: str | None = None,
    content: str | Sequence[TextOrDeltas] | None = None,
) -> Json:
    """The model reasons; by default none of it is shown.

    `summary` and `content` (raw reasoning, of open-weight models only) are each a string or a list of strings, one per
    part; each may also be a list of str, its exact deltas. Newer models add `content=[]` and `encrypted_content` if the
    request includes encrypted reasoning.
    """
    members: Json = {"summary": [{"type": "summary_text", "text": text} for text in _list_texts(summary)]}
    if content is not None:
        members["content"] = [{"type": "reasoning_text", "text": text} for text in _list_texts(content)]
    if encrypted_content is not None:
        members["encrypted_content"] = encrypted_content
    return members


def _list_texts(texts: str | Sequence[TextOrDeltas]) -> Sequence[TextOrDeltas]:
    return [texts] if isinstance(texts, str) else texts


# The SDK's types have an event that no recorded stream has.
@item("cmp", Phase("compacting", is_written=False), status=False)
def compaction(encrypted_content: str) -> Json:
    """The API replaces all earlier items with their encrypted compaction."""
    return {"encrypted_content": require_text("encrypted_content", encrypted_content)}

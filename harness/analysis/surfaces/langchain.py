"""Reads results of LangChain: model messages, whole or in chunks; the state of a graph is a mapping with messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

from harness.analysis.approval_ledger import APPROVAL_REQUEST
from harness.analysis.surfaces.base import Surface, get_member, register_joiner, register_reader
from harness.core.exchange import Json


@register_joiner("langchain_core.AIMessageChunk")
def join_chunks(chunks: Sequence[Any]) -> Any:
    """Join chunks into a message."""
    return reduce(add, chunks)


@register_reader("langchain_core.AIMessage")
def read_message(one: Any) -> Surface:
    """Read the surface of a model message, in any output version."""
    content = [one.content] if isinstance(one.content, str) else one.content
    # The content is a string, or a list of strings or blocks, depending on the output version.
    blocks: list[Json] = [{"text": block} if isinstance(block, str) else _unwrap_block(block) for block in content]
    if refused := get_member(one.additional_kwargs, "refusal"):
        blocks.append({"type": "refusal", "refusal": refused})
    text_blocks = [block for block in blocks if "text" in block or block.get("type") == "refusal"]
    return Surface(
        text="".join(block.get("text") or block.get("refusal") or "" for block in text_blocks),
        annotations=[note for block in text_blocks for note in block.get("annotations") or ()],
        calls=[
            *({"name": call["name"], "arguments": call["args"]} for call in one.tool_calls),
            *(block for block in blocks if block.get("type") == APPROVAL_REQUEST),
        ],
        reasoning="".join(_reasoning_texts([*blocks, get_member(one.additional_kwargs, "reasoning", {})])),
        usage=one.usage_metadata,
        ids=frozenset(filter(None, [one.id, one.response_metadata.get("id")])),
    )


@register_reader("langchain_core.BaseMessage")
def read_other_message(one: Any) -> Surface:
    """Return an empty surface for a message that is not the model's."""
    return Surface(text="")


def _unwrap_block(block: Json) -> Json:
    """Unwrap the API's own block from a `non_standard` one; other blocks are unchanged."""
    return block["value"] if block.get("type") == "non_standard" else block


def _reasoning_texts(blocks: Iterable[Json]) -> list[str]:
    thoughts = [block for block in blocks if block.get("type") == "reasoning"]
    return [
        text
        for block in thoughts
        for text in [block.get("reasoning") or "", *(part.get("text", "") for part in block.get("summary") or ())]
    ]

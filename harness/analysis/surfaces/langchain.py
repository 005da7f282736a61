"""Results of LangChain: messages of a model, whole or in chunks; the state of a graph is a mapping of such messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

from harness.analysis.approval_ledger import APPROVAL_REQUEST
from harness.analysis.surfaces.base import Surface, get_member, register_joiner, register_reader
from harness.core.exchange import Json


@register_joiner("langchain_core.AIMessageChunk")
def join_chunks(told: Sequence[Any]) -> Any:
    """The message that chunks add up to."""
    return reduce(add, told)


@register_reader("langchain_core.AIMessage")
def read_message(one: Any) -> Surface:
    """A message of the model, in any of its output versions."""
    content = [one.content] if isinstance(one.content, str) else one.content
    texts: list[Json] = [{"text": block} if isinstance(block, str) else _unwrap_block(block) for block in content]
    if refused := get_member(one.additional_kwargs, "refusal"):
        texts.append({"type": "refusal", "refusal": refused})
    spoken = [block for block in texts if "text" in block or block.get("type") == "refusal"]
    return Surface(
        text="".join(block.get("text") or block.get("refusal") or "" for block in spoken),
        annotations=[note for block in spoken for note in block.get("annotations") or ()],
        calls=[
            *({"name": call["name"], "arguments": call["args"]} for call in one.tool_calls),
            *_approval_requests(texts),
        ],
        reasoning="".join(_reasoning_texts([*texts, get_member(one.additional_kwargs, "reasoning", {})])),
        usage=one.usage_metadata,
        ids=frozenset(filter(None, [one.id, one.response_metadata.get("id")])),
    )


@register_reader("langchain_core.BaseMessage")
def read_other_message(one: Any) -> Surface:
    """A message of anybody else shows nothing."""
    return Surface(text="")


def _unwrap_block(block: Json) -> Json:
    """A block of the API's own that the standard has no name for, else the block as it is."""
    return block["value"] if block.get("type") == "non_standard" else block


def _approval_requests(blocks: Iterable[Json]) -> list[Json]:
    """The requests for leave, which stand in no list of tool calls."""
    return [block for block in blocks if block.get("type") == APPROVAL_REQUEST]


def _reasoning_texts(blocks: Iterable[Json]) -> list[str]:
    thoughts = [block for block in blocks if block.get("type") == "reasoning"]
    return [
        text
        for block in thoughts
        for text in [block.get("reasoning") or "", *(part.get("text", "") for part in block.get("summary") or ())]
    ]

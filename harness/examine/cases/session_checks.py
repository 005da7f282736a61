"""Checks of what a correct client sends of its session, read from the requests that the mock saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.analysis.lanes import asks_model
from harness.core.exchange import Exchange, Json
from harness.core.text.shorten import pluralize, quote
from harness.examine.case import Check, ObservedRun
from harness.items.transcript import input_items


def repeats_nothing() -> Check:
    """Each request holds each prompt so far once, or with a state at the API only what is new; so with its answers."""

    def check(seen: ObservedRun) -> Iterator[str]:
        replays = seen.task.state in ("replay", "stateless")
        for exchange in _accepted(seen):
            texts = [_text_of(item) for item in _items(exchange) if item.get("role") == "user"]
            last = max((seen.task.prompts.index(text) for text in texts if text in seen.task.prompts), default=None)
            # A request of a tool loop may hold no prompt at all, as with `previous_response_id`.
            if last is None:
                continue
            for prompt in seen.task.prompts[: last + 1]:
                due = 1 if replays or prompt == seen.task.prompts[last] else 0
                if (count := texts.count(prompt)) != due:
                    yield f"request {exchange.number} holds the prompt {quote(prompt)} {pluralize(count, 'time')}, not {due}"

    return check


def continues() -> Check:
    """Each request names the response before it, or all of them the same conversation."""

    def check(seen: ObservedRun) -> Iterator[str]:
        accepted = _accepted(seen)
        named = [_session_of(exchange.request.body) for exchange in accepted]
        if seen.task.state == "chain":
            wanted: list[Any] = [None, *(exchange.answer.body["id"] for exchange in accepted[:-1])]
        else:
            wanted = named[:1] * len(named) if named and named[0] else ["a conversation"]
        if named != wanted and seen.task.state in ("chain", "conversation"):
            yield f"the requests name {named}, due were {wanted}"

    return check


def stores_nothing() -> Check:
    """Each request says `store: false` and names no response."""

    def check(seen: ObservedRun) -> Iterator[str]:
        for exchange in _accepted(seen):
            if exchange.request.body.get("store") is not False or _session_of(exchange.request.body):
                yield f"request {exchange.number} has the response stored, or continues a stored one"

    return check


def keeps_instructions() -> Check:
    """Each request has the instructions of the task."""

    def check(seen: ObservedRun) -> Iterator[str]:
        for exchange in _accepted(seen):
            if seen.task.instructions not in _instructions_of(exchange):
                yield f"request {exchange.number} lacks the instructions {quote(seen.task.instructions)}"

    return check


def compacts(*gone: str) -> Check:
    """The last request holds a compaction item, and none of these texts of the assistant."""

    def check(seen: ObservedRun) -> Iterator[str]:
        items = [item for exchange in _accepted(seen)[-1:] for item in _items(exchange)]
        if not any(item.get("type") == "compaction" for item in items):
            yield "the last request has no compaction item"
        texts = [_text_of(item) for item in items if item.get("role") == "assistant"]
        yield from (f"the last request still holds {quote(text)}" for text in gone if text in texts)

    return check


def kept_apart(instructions: str, *texts: str) -> Check:
    """The agent with these instructions has sent a request, and none holds any of these texts."""

    def check(seen: ObservedRun) -> Iterator[str]:
        own = [accepted for accepted in _accepted(seen) if instructions in _instructions_of(accepted)]
        if not own:
            yield f"no request came with the instructions {quote(instructions)}"
        for exchange in own:
            sent = str(exchange.request.body.get("input"))
            yield from (
                f"request {exchange.number} of that agent holds {quote(text)}" for text in texts if text in sent
            )

    return check


def _instructions_of(exchange: Exchange) -> str:
    leading = [_text_of(item) for item in _items(exchange) if item.get("role") in ("system", "developer")]
    return "\n".join([exchange.request.body.get("instructions") or "", *leading])


def _accepted(seen: ObservedRun) -> Sequence[Exchange]:
    return [exchange for exchange in seen.exchanges if asks_model(exchange.request) and exchange.status == 200]


def _items(exchange: Exchange) -> Sequence[Json]:
    return input_items(exchange.request.body)


def _session_of(body: Json) -> Any:
    conversation = body.get("conversation")
    return body.get("previous_response_id") or (
        conversation.get("id") if isinstance(conversation, dict) else conversation
    )


def _text_of(item: Json) -> str:
    content = item.get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)

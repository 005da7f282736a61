"""Checks of how a correct client sends its session, read from the requests that the mock received."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.analysis.lanes import asks_model
from harness.core.exchange import Exchange, Json
from harness.core.text import pluralize, quote
from harness.examine.case import Check, ObservedRun
from harness.items.transcript import input_items


def repeats_nothing() -> Check:
    """Check that each request has each prompt so far once, or only the new one if the API keeps the state."""

    def check(seen: ObservedRun) -> Iterator[str]:
        replays = seen.task.state in ("replay", "stateless")
        for exchange in _accepted(seen):
            texts = [_text_of(item) for item in _items(exchange) if item.get("role") == "user"]
            last = max((seen.task.prompts.index(text) for text in texts if text in seen.task.prompts), default=None)
            # A request within a tool loop may have no prompt at all, for example with `previous_response_id`.
            if last is None:
                continue
            for prompt in seen.task.prompts[: last + 1]:
                due = 1 if replays or prompt == seen.task.prompts[last] else 0
                if (count := texts.count(prompt)) != due:
                    yield f"request {exchange.number} holds the prompt {quote(prompt)} {pluralize(count, 'time')}, not {due}"

    return check


def continues() -> Check:
    """Check that each request names the previous response, or that all name the same conversation."""

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
    """Check that each request has `store: false` and names no response or conversation."""

    def check(seen: ObservedRun) -> Iterator[str]:
        for exchange in _accepted(seen):
            if exchange.request.body.get("store") is not False or _session_of(exchange.request.body):
                yield f"request {exchange.number} has the response stored, or continues a stored one"

    return check


def keeps_instructions() -> Check:
    """Check that each request has the instructions of the task."""

    def check(seen: ObservedRun) -> Iterator[str]:
        for exchange in _accepted(seen):
            if seen.task.instructions not in _instructions_of(exchange):
                yield f"request {exchange.number} lacks the instructions {quote(seen.task.instructions)}"

    return check


def compacts(*gone: str) -> Check:
    """Check that the last request has a compaction item, and none of these assistant texts."""

    def check(seen: ObservedRun) -> Iterator[str]:
        items = [item for exchange in _accepted(seen)[-1:] for item in _items(exchange)]
        if not any(item.get("type") == "compaction" for item in items):
            yield "the last request has no compaction item"
        texts = [_text_of(item) for item in items if item.get("role") == "assistant"]
        yield from (f"the last request still holds {quote(text)}" for text in gone if text in texts)

    return check


def kept_apart(instructions: str, *texts: str) -> Check:
    """Check that the agent with these instructions has sent requests, all without these texts."""

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

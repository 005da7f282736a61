"""Memory stores: what updates make of messages, and what a search finds, without a model.

A message of a user becomes a memory of the kind `user_profile`, a conversation with an assistant one of `chat_summary`,
each in its own words. A search finds the memories that share a word with what was asked, those that share most first.
Recorded 2026-02: stores, updates and their states, searches, deletions; typed (azure-ai-projects 2.10): memory items.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.core.exchange import Json
from harness.core.limits import oldest_beyond

USER_PROFILE, CHAT_SUMMARY = "user_profile", "chat_summary"
DEFAULT_DELAY = 300
"""Seconds that an update waits for more unless it says otherwise (documented)."""
MOST_FOUND = 20
"""How many memories a search finds unless asked otherwise (assumed)."""
MOST_KEPT = 1000
"""The searches and the updates of a store that can be gone on with, the newest ones."""
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    re.findall(r"\w+", "a an and are at be do for how i in is it me my of on or that the to what when where who you")
)
"""Words by which a search finds nothing."""


@dataclass(slots=True)
class MemoryUpdate:
    """An update: scope and messages, how often it was polled, and its result."""

    scope: str
    messages: list[Json]
    delay: int
    polls: int = 0
    superseded_by: str = ""
    result: Json | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it has neither been carried out nor superseded."""
        return self.result is None and not self.superseded_by


@dataclass(slots=True)
class Memories:
    """A memory store: the object, and by id the memories, updates and questions of searches."""

    object: Json
    items: dict[str, Json] = field(default_factory=dict)
    updates: dict[str, MemoryUpdate] = field(default_factory=dict)
    searches: dict[str, str] = field(default_factory=dict)

    def add(self, id: str, now: int, scope: str, content: str, kind: str = USER_PROFILE) -> Json:
        """Put a memory in."""
        made = {"memory_id": id, "updated_at": now, "scope": scope, "content": content, "kind": kind}
        self.items[id] = made
        return made

    def queue(self, id: str, body: Json) -> MemoryUpdate:
        """Begin an update; it supersedes a waiting one of the same scope and takes over the messages."""
        messages = messages_of(body.get("items"))
        delay = body.get("update_delay")
        made = MemoryUpdate(body["scope"], messages, delay if isinstance(delay, int) else DEFAULT_DELAY)
        for earlier, update in self.updates.items():
            if update.is_waiting and (
                earlier == body.get("previous_update_id") or (update.delay and update.scope == made.scope)
            ):
                update.superseded_by = id
                made.messages = [*update.messages, *made.messages]
        self.updates[id] = made
        for oldest in oldest_beyond(self.updates, MOST_KEPT):
            del self.updates[oldest]
        return made

    def carry_out(self, update: MemoryUpdate, now: int, new_id: Callable[[], str]) -> None:
        """Make the memories of an update, unless they are there."""
        operations: list[Json] = []
        known = {(item["scope"], item["kind"], item["content"]) for item in self.items.values()}
        for kind, content in _extract(update.messages, self.object["definition"]["options"]):
            if (update.scope, kind, content) not in known:
                known.add((update.scope, kind, content))
                item = self.add(new_id(), now, update.scope, content, kind)
                operations.append({"kind": "create", "memory_item": item})
        written = sum(len(operation["memory_item"]["content"]) for operation in operations)
        update.result = {"memory_operations": operations, "usage": usage(embedding=_tokens(written))}

    def search(self, id: str, body: Json) -> Json:
        """Search the memories; without a question find the profile of the scope."""
        asked = " ".join(text_of(message) for message in messages_of(body.get("items")))
        wanted = word_set(f"{self.searches.get(str(body.get('previous_search_id')), '')} {asked}")
        self.searches[id] = " ".join(sorted(wanted))
        for oldest in oldest_beyond(self.searches, MOST_KEPT):
            del self.searches[oldest]
        scores = {
            memory: len(wanted & word_set(item["content"])) if asked else item["kind"] == USER_PROFILE
            for memory, item in self.items.items()
            if item["scope"] == body["scope"]
        }
        most = object_member(body, "options").get("max_memories")
        most = most if isinstance(most, int) and most > 0 else MOST_FOUND
        found = [memory for memory in sorted(scores, key=lambda memory: -scores[memory]) if scores[memory]][:most]
        return {
            "search_id": id,
            "memories": [{"memory_item": self.items[memory]} for memory in found],
            "usage": usage(embedding=_tokens(len(asked))),
            "error": None,
        }

    def delete_scope(self, scope: str) -> bool:
        """Forget the memories of a scope; whether there were any."""
        of_scope = [id for id, item in self.items.items() if item["scope"] == scope]
        for id in of_scope:
            del self.items[id]
        return bool(of_scope)


def new_memory_store(id: str, now: int, body: Json) -> Json:
    """Make the object of a memory store; recorded: defaults of the options that a definition leaves out are filled in."""
    definition = body["definition"]
    filled = {"user_profile_enabled": True, "chat_summary_enabled": True, **object_member(definition, "options")}
    order = ("user_profile_enabled", "user_profile_details", "chat_summary_enabled")
    return {
        "object": "memory_store",
        "id": id,
        "created_at": now,
        "updated_at": now,
        "name": body["name"],
        "description": body.get("description") or "",
        "metadata": body.get("metadata") or {},
        "definition": {
            "kind": definition.get("kind", "default"),
            **{name: value for name, value in definition.items() if name not in ("kind", "options")},
            "options": {name: filled[name] for name in (*order, *filled) if name in filled},
        },
    }


def object_member(body: Json, name: str) -> Json:
    """Find a member that is an object; empty when it is absent or something else."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def render_update(id: str, update: MemoryUpdate) -> Json:
    """Render an update as it is now."""
    if update.superseded_by:
        return {"update_id": id, "status": "superseded", "superseded_by": update.superseded_by}
    if update.result is None:
        return {"update_id": id, "status": "queued"}
    return {"update_id": id, "status": "completed", "result": update.result}


def messages_of(items: Any) -> list[Json]:
    """Find the messages among the items of a request, which may be a text; documented: others are passed over."""
    if isinstance(items, str):
        return [{"type": "message", "role": "user", "content": items}]
    listed = items if isinstance(items, list) else []
    return [item for item in listed if isinstance(item, dict) and item.get("type") == "message" and text_of(item)]


def text_of(message: Json) -> str:
    """Return the text of a message."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return " ".join(text for text in texts if isinstance(text, str)).strip()


def usage(embedding: int = 0) -> Json:
    """Return the tokens of an operation, which only embeds texts."""
    return {
        "embedding_tokens": embedding,
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": embedding,
    }


def _extract(messages: Iterable[Json], options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Extract the kinds and texts of the memories that messages give."""
    spoken = [(message.get("role"), text_of(message)) for message in messages]
    if options.get("user_profile_enabled", True):
        yield from ((USER_PROFILE, text) for role, text in spoken if role == "user")
    if options.get("chat_summary_enabled", True) and any(role == "assistant" for role, _ in spoken):
        yield CHAT_SUMMARY, "\n".join(f"{role}: {text}" for role, text in spoken)


def word_set(text: str) -> set[str]:
    """Find the words of a text by which something can be found."""
    return set(_WORD.findall(text.casefold())) - _COMMON


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)

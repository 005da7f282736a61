"""Memory stores: what updates extract from messages, and what a search finds, without a model.

A user message becomes a memory of the kind `user_profile`, a conversation with an assistant one of `chat_summary`, each
verbatim. A search finds the memories that share a word with the query, those that share most first. Recorded 2026-02:
stores, updates and their states, searches, deletions; typed (azure-ai-projects 2.10): memory items.
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
"""Default seconds that an update waits for more messages (documented)."""
MOST_FOUND = 20
"""Default maximum number of memories found by a search (assumed)."""
MOST_KEPT = 1000
"""The number of searches and updates of a store that can be continued; the newest are kept."""
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    re.findall(r"\w+", "a an and are at be do for how i in is it me my of on or that the to what when where who you")
)
"""Words that a search ignores."""


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
        """Whether it has been neither applied nor superseded."""
        return self.result is None and not self.superseded_by


@dataclass(slots=True)
class Memories:
    """A memory store: the object, and by id the memories, updates and search queries."""

    object: Json
    items: dict[str, Json] = field(default_factory=dict)
    updates: dict[str, MemoryUpdate] = field(default_factory=dict)
    searches: dict[str, str] = field(default_factory=dict)

    def add(self, id: str, now: int, scope: str, content: str, kind: str = USER_PROFILE) -> Json:
        """Add a memory."""
        made = {"memory_id": id, "updated_at": now, "scope": scope, "content": content, "kind": kind}
        self.items[id] = made
        return made

    def queue(self, id: str, body: Json) -> MemoryUpdate:
        """Queue an update; it supersedes a waiting one of the same scope and takes over its messages."""
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
        """Add the memories of an update that are not yet there."""
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
        """Search the memories; without a query, return the profile of the scope."""
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
        """Delete the memories of a scope; returns whether there were any."""
        of_scope = [id for id, item in self.items.items() if item["scope"] == scope]
        for id in of_scope:
            del self.items[id]
        return bool(of_scope)


def new_memory_store(id: str, now: int, body: Json) -> Json:
    """Make the object of a memory store; recorded: options that the definition leaves out get their defaults."""
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
    """Return a member that is an object; empty if it is absent or anything else."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def render_update(id: str, update: MemoryUpdate) -> Json:
    """Render the current state of an update."""
    if update.superseded_by:
        return {"update_id": id, "status": "superseded", "superseded_by": update.superseded_by}
    if update.result is None:
        return {"update_id": id, "status": "queued"}
    return {"update_id": id, "status": "completed", "result": update.result}


def messages_of(items: Any) -> list[Json]:
    """Return the messages among a request's items, which may be a string; documented: others are ignored."""
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
    """Return the usage of an operation that only embeds text."""
    return {
        "embedding_tokens": embedding,
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": embedding,
    }


def _extract(messages: Iterable[Json], options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the kinds and texts of the memories in messages."""
    spoken = [(message.get("role"), text_of(message)) for message in messages]
    if options.get("user_profile_enabled", True):
        yield from ((USER_PROFILE, text) for role, text in spoken if role == "user")
    if options.get("chat_summary_enabled", True) and any(role == "assistant" for role, _ in spoken):
        yield CHAT_SUMMARY, "\n".join(f"{role}: {text}" for role, text in spoken)


def word_set(text: str) -> set[str]:
    """Return the words of a text that a search can find."""
    return set(_WORD.findall(text.casefold())) - _COMMON


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)

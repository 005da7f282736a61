"""Reads the items of a journal: their type, loose identity and text, and the call that they make or answer.

Requests may be malformed: members of the wrong type count as absent.
"""

from collections.abc import Hashable

from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES, ITEMS
from harness.items.transcript import APPROVAL_REQUEST, APPROVAL_RESPONSE, answered_call_id

MESSAGE = "message"
ItemKey = tuple[str, str]
"""A loose identity of an item: its role and text, or `call` or `output` and the `call_id`."""


def extend_hash(digest: int, key: Hashable) -> int:
    """Extend the hash of a sequence, `hash(())` if it is empty, by one more key."""
    return hash((digest, key))


def item_key(item: Json) -> ItemKey | None:
    """Return the key of an item; None for instructions, reasoning and calls that the API executes."""
    if item_type(item) == MESSAGE:
        role = as_string(item.get("role"))
        return None if role in INSTRUCTION_ROLES else (role, message_text(item).strip())
    if call_id := client_call_id(item):
        return "call", call_id
    return ("output", call_id) if (call_id := answered_id(item)) else None


def item_ids(item: Json) -> list[str]:
    """List the ids of an item: its own, that of its call, and `output of` the call that it answers."""
    answered = answered_id(item)
    return list(filter(None, (as_string(item.get("id")), client_call_id(item), answered and f"output of {answered}")))


def item_type(item: Json) -> str:
    """Return the type of an item; a message may omit it."""
    kind = item.get("type")
    return kind if kind and isinstance(kind, str) else MESSAGE if "role" in item else ""


def is_assistant(item: Json) -> bool:
    """Return whether an item is a message of the assistant."""
    return item.get("role") == "assistant" and item_type(item) == MESSAGE


def is_typed(item: Json) -> bool:
    """Return whether a model emits items of this type, other than messages."""
    return item_type(item) in ITEMS and item_type(item) != MESSAGE


def is_hosted(item: Json) -> bool:
    """Return whether an item shows what the API itself has executed: a call, its result or a list of tools."""
    kind = item_type(item)
    if kind in (MESSAGE, "reasoning", "compaction") or kind not in ITEMS:
        return False
    return not (client_call_id(item) or answered_id(item))


def client_call_id(item: Json) -> str:
    """Return the `call_id` of a call that the client executes, or the id of an approval request; else empty."""
    kind = item_type(item)
    if kind == APPROVAL_REQUEST:
        return as_string(item.get("id"))
    is_client_call = kind in CLIENT_CALL_NAMES and item.get("execution") != "server"
    return as_string(item.get("call_id")) if is_client_call else ""


def answered_id(item: Json) -> str:
    """Return the id of the call or approval request that an item answers; empty for other items."""
    kind = item_type(item)
    if kind == APPROVAL_RESPONSE:
        return as_string(item.get("approval_request_id"))
    return answered_call_id(item) or "" if kind in CALL_OF_OUTPUT else ""


def message_text(item: Json) -> str:
    """Join the text of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(as_string(part.get("text")) or as_string(part.get("refusal")) for part in objects_in(content))


def describe_item(item: Json) -> str:
    """Describe an item in a few words: its type, its name and call, or the beginning of its text."""
    label = " ".join(filter(None, (item_type(item), as_string(item.get("name")))))
    if id := client_call_id(item) or answered_id(item):
        return f"{label} ({id})"
    text = message_text(item) if item_type(item) == MESSAGE else ""
    if text:
        return f"message {quote(' '.join(text.split()))}"
    return f"{label} ({as_string(item.get('id'))})" if as_string(item.get("id")) else label


def notes_of(item: Json) -> list[Json]:
    """List the annotations of all parts of a message."""
    return [note for part in objects_in(item.get("content")) for note in objects_in(part.get("annotations"))]

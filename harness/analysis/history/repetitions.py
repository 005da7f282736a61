"""Finds what a transcript contains once more: output of the model, and user messages."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from harness.analysis.history.history import History
from harness.analysis.history.items import (
    MESSAGE,
    ItemKey,
    is_assistant,
    item_key,
    item_type,
    message_text,
)
from harness.analysis.history.request import HistoryRequest, OutputItem
from harness.analysis.history.text_damage import is_doubled
from harness.core.exchange import Json
from harness.core.json_values import as_string

UNMISTAKABLE_LENGTH = 24
"""The length in characters from which a text is not repeated by chance."""
SHORTEST_USER_TEXT, RECENT_REQUESTS = 8, 8
"""The length in characters from which a user text is not doubled by chance; how many earlier requests are searched."""


def find_repetitions(request: HistoryRequest, history: History) -> Iterator[tuple[str, OutputItem]]:
    """Yield the input items that repeat output of the model which is in the transcript, each with its original."""
    yield from _find_more_often(request, history)
    yield from _find_repeated_reasoning(request, history)
    yield from _find_compacted(request, history)
    yield from _find_retold(request, history)


def _find_more_often(request: HistoryRequest, history: History) -> list[tuple[str, OutputItem]]:
    """Find the input items that occur more often than the model produced them, each with its original."""
    placed = zip(request.placed_items, request.placed_keys, strict=True)
    keys = [history.original_key(item, sent_key) for (_, item), sent_key in placed]
    if not any(key and history.allowed_counts[key] for key in keys):
        return []
    # The items of the continued response count, too: sending them again duplicates them.
    before = ((item, item_key(item)) for item in request.previous.items)
    seen = Counter(key for item, sent_key in before if (key := history.original_key(item, sent_key)))
    pairs = _most_frequent_pairs(request)
    found, last = [], None
    for (place, item), key in zip(request.placed_items, keys, strict=True):
        if key:
            seen[key] += 1
            right = history.allowed_counts[key]
            # A model may well say `OK` twice; it does not say a sentence twice in a row.
            is_again = right and key == last and len(key[1]) >= SHORTEST_USER_TEXT
            if seen[key] > right and (is_again or _is_repetition(item, key, right, pairs, history)):
                found.append((place, history.find_originals(item)[0]))
            last = key
    return found


def _find_repeated_reasoning(request: HistoryRequest, history: History) -> Iterator[tuple[str, OutputItem]]:
    """Yield reasoning without an id that stood in the input before; with its id the API refuses it."""
    seen: set[str] = set()
    for place, item in request.placed_items:
        ciphertext = as_string(item.get("encrypted_content")) if item_type(item) == "reasoning" else ""
        if ciphertext in seen and (original := history.by_ciphertext.get(ciphertext)):
            yield place, original
        seen.add(ciphertext)


def _find_compacted(request: HistoryRequest, history: History) -> Iterator[tuple[str, OutputItem]]:
    """Yield the calls and long messages of the model that follow the compaction which replaced them."""
    made: OutputItem | None = None
    for place, item in request.placed_items if request.is_compacted else ():
        if item_type(item) == "compaction":
            made = history.by_ciphertext.get(as_string(item.get("encrypted_content")))
        elif made and (key := item_key(item)) and made.reply.request.item_keys.count(key):
            is_evident = key[0] == "call" or (is_assistant(item) and len(key[1]) >= UNMISTAKABLE_LENGTH)
            originals = history.find_originals(item) or [OutputItem(item, made.reply, 0)]
            # The model may say or call the same again.
            if is_evident and all(original.number <= made.number for original in originals):
                yield place, originals[-1]


def _find_retold(request: HistoryRequest, history: History) -> Iterator[tuple[str, OutputItem]]:
    """Yield the answered calls whose items a message retells with their `call_id`, as a summary for another agent."""
    texts = [message_text(item) for _, item in request.placed_items if item_type(item) == MESSAGE]
    told = [text for text in texts if "function_call_output" in text and text.strip() not in history.by_text]
    for place, id, _ in request.calls if told else ():
        original = history.find_call(id)
        if original and request.item_keys.count(("output", id)) and any(text.count(id) > 1 for text in told):
            yield place, original


def _is_repetition(item: Json, key: ItemKey, right: int, pairs: Mapping[ItemKey, int], history: History) -> bool:
    """Return whether output that occurs more often than the `right` number of times cannot be a coincidence."""
    if not right or not key[1]:
        return False
    evident = not is_assistant(item) or len(key[1]) >= UNMISTAKABLE_LENGTH or as_string(item.get("id")) in history.by_id
    return evident or pairs.get(key, 0) > right


def find_doubled_texts(request: HistoryRequest, history: History) -> Iterator[tuple[str, int, Json]]:
    """Find the user messages that double their text, where an earlier request had it once in the same place."""
    for index, (place, item) in enumerate(() if request.previous.items else request.placed_items):
        words = message_text(item) if item.get("role") == "user" else ""
        for reply in history.replies[-RECENT_REQUESTS:] if len(words) >= 2 * SHORTEST_USER_TEXT else ():
            was = next((there for _, there in reply.request.placed_items[index : index + 1]), {})
            text = message_text(was)
            is_half = SHORTEST_USER_TEXT <= len(text) <= len(words) // 2
            if was != item and item_type(was) == MESSAGE and is_half and is_doubled(text, words):
                yield place, reply.request.number, was
                break


def find_prompts_again(request: HistoryRequest, history: History) -> Iterator[tuple[str, int, Json]]:
    """Find the user messages after the last answer that repeat all user messages before it.

    Without a chain there have to be several, as a user may ask once more.
    """
    sent = [(place, item) for place, item in request.placed_items if item.get("role") == "user"]
    before = [key for key in request.previous.keys if key[0] == "user"]
    if not request.is_chained:
        count = len(request.last_prompts)
        before = [key for key in request.item_keys[: len(request.item_keys) - count] if key[0] == "user"]
        sent = sent[len(sent) - count :] if len(before) > 1 else []
    if not sent:
        return
    # The last message may be repeated on purpose, as the user asks again, but not before the output of a call.
    is_answer = bool(request.outputs) and request.placed_items[-1][1] is not sent[-1][1]
    again = sent[: len(before)] if before and len(before) < len(sent) + is_answer else []
    if sum(len(text) for _, text in before) >= SHORTEST_USER_TEXT and [item_key(item) for _, item in again] == before:
        number = next((reply.number for reply in history.replies if before[0] in reply.request.item_keys), 0)
        yield from ((place, number, item) for place, item in again)


def _most_frequent_pairs(request: HistoryRequest) -> Mapping[ItemKey, int]:
    """Count how often each key follows its most frequent predecessor, with or without calls and outputs in between."""
    most: dict[ItemKey, int] = {}
    words = [key for key in request.item_keys if key[0] not in ("call", "output")]
    for keys in (request.item_keys, words):
        for (_, second), count in Counter(pairwise(keys)).items():
            most[second] = max(count, most.get(second, 0))
    return most

"""The transcript as a whole: no item may be repeated or change its type."""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from harness.analysis.history.history import History
from harness.analysis.history.items import (
    MESSAGE,
    answered_id,
    client_call_id,
    is_assistant,
    is_typed,
    item_ids,
    item_key,
    item_type,
    message_text,
)
from harness.analysis.history.repetitions import (
    find_doubled_texts,
    find_prompts_again,
    find_repetitions,
)
from harness.analysis.history.request import HistoryRequest, OutputItem, facts_about
from harness.analysis.history.text_damage import PRINTED_NOTHING
from harness.analysis.history.text_index import LONGEST_PARSED_TEXT, parse_literal
from harness.analysis.loss import (
    PROMPT,
    STATELESS,
    TEXT,
    LossFacts,
    ask,
    assistant,
    call,
    chained,
    loss,
    output,
    sketch,
    user,
)
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in, omit
from harness.core.text import pluralize, quote
from harness.items import function_call, message, web_search_call
from harness.items.kind import CALL_OF_OUTPUT

RECENT_REPLIES = 50
"""How many earlier replies are searched for a missing item."""
_MAY_BE_PRINTED = re.compile(r"[\[{]|[A-Z]\w*\(")
"""Matches the beginning of an item's JSON or `repr`."""
_PRINTED_OBJECT = re.compile(r"(?P<list>\[)?[A-Z]\w*\(.*?\b(?:call_id|id)='(?P<id>[^']+)'.*\)(?(list)\])", re.S)
"""Matches the `repr` of a Python object with an id, or of a list of such objects."""
_SEARCHING: Json = {"tools": [{"type": "web_search"}]}
_SEARCH_AS_JSON = '{"type": "web_search_call", "id": "{0.output.0.id}"}'
_COMPACT = "POST /responses/compact"
_COMPACTION: Json = {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}
_RETOLD = f"The conversation so far:\n1. {orjson.dumps(call()).decode()}\n2. {orjson.dumps(output()).decode()}"
_REPEATED = "this transcript repeats {count} that it already contains; the first is {what} from exchange {said}"
_SEND_ONCE = "Send the whole transcript, or name what it continues and send only the new items; store each turn once."


def _compacted(*then: str | Json) -> Case:
    """Build an example in which a conversation is compacted and continued."""
    return ask("P > C", Case({"model": "gpt-4.1", "input": sketch("P C O A")}, on=_COMPACT), [*then])


@loss(
    message=_REPEATED,
    fix=_SEND_ONCE,
    loses=[
        ask("P > A", chained("P A N")),
        ask("P > A2", chained("P A2 N")),
        ask("P > C", chained("C O")),
        ask("P > C", chained("P O")),
        ask(Case({}, on="POST /conversations"), "P > A", "P A N", conversation="{0.id}"),
        ask("P > A", "P A P A N"),
        ask("P > A2", "P A2 P A2 N"),
        ask(["P >", message("It is live.")], ["P", *[assistant("It is live.")] * 2, "N"]),
        ask("P > C", "P C O C O N"),
        ask("P > C", "P C O > A2", "P C O A2 P A2 N"),
        ask("P > A2", [user(f"{PROMPT['content']}\n\n{PROMPT['content']}"), "A2 N"]),
        ask("P > T C C2", "P T C T C2 O O2", **STATELESS),
        _compacted(_COMPACTION, "C O N"),
        _compacted("P", _COMPACTION, "A N"),
        ask("P > C", [user(_RETOLD), "C O"]),
    ],
    keeps=[
        ask("P > A2", [user("Again: Ship v2, please."), "A2 N"]),
        ask([user("no"), "> A2"], [user("no no")]),
        ask("P > A", chained("P")),
        ask("P > A", "P A N"),
        ask("P > A", "P > A", "P A P A"),
        ask("P > A2", "P A2 N A2 N3"),
        ask("P A P > A", "P A P A N"),
        ask("P > A", ["N", user(TEXT), "A"]),
        ask("P > C", "P C O > C", "P C O C O N"),
        _compacted("P C O A", _COMPACTION, "N"),
        ask("P > A", Case({"model": "gpt-4.1", "input": [PROMPT]}, on=_COMPACT), [_COMPACTION, "A N"]),
        ask("P > C", [user(_RETOLD), "N"]),
    ],
)
def history_replayed(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests repeat output of the model that their transcript already contains.

    With `previous_response_id` or `conversation` the transcript is the items of these, then the input. Calls and items
    with ids are recognized by their ids; a message counts if it is long, follows the same message again, or follows
    itself. So do calls and long messages after the compaction that replaced them, and calls that a message retells.
    Output that the model produced just as often, text that was there before the model said it, and users who repeat
    themselves do not count.
    """
    found = [(place, original.number, original.item) for place, original in find_repetitions(request, history)]
    found = found or list(find_doubled_texts(request, history))
    # Some workflows send all user messages with the next one on purpose, but not with the output of a call.
    is_answer = request.is_chained and request.outputs
    yield from _describe_first(found or (list(find_prompts_again(request, history)) if is_answer else []))


def _describe_first(found: list[tuple[str, int, Json]]) -> Iterator[LossFacts]:
    for place, number, item in found[:1]:
        yield facts_about(place, number, item, count=pluralize(len(found), "item"))


@loss(
    message=_REPEATED,
    fix=_SEND_ONCE,
    strict=True,
    loses=[ask("P > A", chained("P N")), ask("P > A", "P A N > A2", "P A N A2 P N N2")],
    keeps=[
        ask("P > A", chained("P")),
        ask("P > C", chained("O")),
        ask("P > A", chained("N")),
        ask([user("Go on."), "> A"], chained(user("Go on."), "N")),
        ask("P > A", "P A P N"),
    ],
)
def prompts_replayed(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """After the last answer all earlier user messages come again, which some workflows do on purpose.

    With output that comes again, or the output of a call, it is `history-replayed`.
    """
    if not any(history_replayed(request, history)):
        yield from _describe_first(list(find_prompts_again(request, history)))


@loss(
    message="{what} from exchange {said} {became}",
    fix="Keep the items of a transcript unchanged, each with its `type` and all its members.",
    loses=[
        ask("P > C", "P C O > A", ["P", user(""), user(""), "A N"]),
        ask("P > T A", ["P", user(""), "A N"]),
        ask("P > C", "P C O > A", ["P", user(str(call())), "A N"]),
        ask("P > C", "P C O > A", ["P", user(orjson.dumps(output()).decode()), "A N"]),
        ask("P > A", ["P", assistant(str([{"type": "output_text", "text": TEXT}])), "N"]),
        *(
            ask("P > A", ["P", assistant(printed), "N"])
            for printed in (
                str(assistant(TEXT)),
                orjson.dumps(assistant(TEXT)).decode(),
                f"ResponseOutputMessage(id='{{0.output.0.id}}', content=[ResponseOutputText(text='{TEXT}')])",
                f"[ResponseOutputMessage(id='{{0.output.0.id}}', content=[ResponseOutputText(text='{TEXT}')])]",
            )
        ),
        ask("P > C", "P C O", ["P", assistant(str([call(), output()])), "N"]),
        ask(["P >", web_search_call("v2"), "A"], ["P", user(""), "A N"], **_SEARCHING),
        ask(["P > A", web_search_call("v2")], ["P A", user("None"), "N"], **_SEARCHING),
        ask(["P >", web_search_call("v2"), "A"], ["P", user(_SEARCH_AS_JSON), "A N"], **_SEARCHING),
        ask(
            ["P >", web_search_call("v2"), "A"],
            ["P A", user([{"type": "input_text", "text": text} for text in (_SEARCH_AS_JSON, "So?")])],
            **_SEARCHING,
        ),
    ],
    keeps=[
        ask(["P >", web_search_call("v2"), "A"], ["P A", user(""), "N"], **_SEARCHING),
        ask(["P", user(""), ">", web_search_call("v2"), "A"], ["P", user(""), "A"], **_SEARCHING),
        ask("P > A", ["P", user(f"[{{'type': 'output_text', 'text': {TEXT!r}}}, 7]")]),
        ask("P > A", ["P A", user("")]),
        ask(["P >", web_search_call("v2"), "A"], ["P A", user('{"type": "web_search_call"}')], **_SEARCHING),
        ask("P > T C", ["P C", user(""), "O"]),
        ask(
            "P > C",
            "P C O > A",
            ["P", user(f"The conversation so far:\n1. user: Ship v2.\n2. {call()}\n3. {output()}")],
        ),
        ask("P > C", "P C O > A", [user(orjson.dumps([PROMPT, call(), output()]).decode())]),
        ask(["P >", function_call("f", "{}")], [user('{"type": "report", "ref": "v2"}')]),
        ask("P > A", [user(str(assistant(TEXT)))]),
        ask("P > A", ["P A", assistant(str(assistant(TEXT))), "N"]),
    ],
)
def item_coerced(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Items of any kind became a message: an empty one, or one with the JSON or `repr` of the item or its parts.

    A transcript retold within a text does not count, nor does an answer that the user quotes, or an empty assistant
    message beside a call.
    """
    for index, (place, item) in enumerate(request.placed_items):
        if item_type(item) != MESSAGE:
            continue
        words = message_text(item).strip()
        if says_nothing(item):
            # A call of the client may be missing anywhere; other items may be omitted, but not leave a gap.
            lost = _find_in_gap(request, index, history) or (None if words else _find_missing_call(request, history))
            if lost:
                instead = f"a message {quote(words)} instead" if words else "an empty message"
                yield facts_about(place, *lost, became=f"is missing, and this request has {instead}")
        else:
            texts = {
                words: None,
                **dict.fromkeys(as_string(part.get("text")) for part in objects_in(item.get("content"))),
            }
            is_said = is_assistant(item)
            found = (_find_printed_item(text.strip(), history, is_said=is_said) for text in texts)
            for number, printed in filter(None, found):
                if request.ids.isdisjoint(item_ids(printed)) and item_key(printed) not in request.item_keys:
                    yield facts_about(place, number, printed, became="became a message with its JSON as text")


def says_nothing(item: Json) -> bool:
    """Return whether a message is empty, or only has what a program prints for a value other than a string."""
    # An assistant message without text is common beside calls.
    if item_type(item) != MESSAGE or item.get("role") == "assistant":
        return False
    content = item.get("content")
    parts = content if isinstance(content, list) else [None]
    bare = not content or all(isinstance(part, dict) and part.get("text") == "" for part in parts)
    return bare or message_text(item).strip() in PRINTED_NOTHING


def _find_missing_call(request: HistoryRequest, history: History) -> tuple[int, Json] | None:
    """Find the newest call of the client in the same conversation that is missing from the transcript."""
    for reply in history.replies[: -RECENT_REPLIES - 1 : -1]:
        # Conversations are told apart by how they begin.
        if reply.request.item_keys[:1] == request.item_keys[:1]:
            for item in reversed(reply.output):
                if client_call_id(item) and request.ids.isdisjoint(item_ids(item)):
                    return reply.number, item
    return None


def _find_in_gap(request: HistoryRequest, index: int, history: History) -> tuple[int, Json] | None:
    """Find the typed item that a message without content has replaced: other items of its response stand beside it."""
    items = [item for _, item in request.placed_items]
    start = next((place + 1 for place in range(index, -1, -1) if not says_nothing(items[place])), 0)
    stop = next((place for place in range(index, len(items)) if not says_nothing(items[place])), len(items))
    before = len(request.previous.keys) + sum(key is not None for key in request.placed_keys[:start])
    ahead = history.find_output(items[start - 1]) if start else None
    behind = history.find_output(items[stop]) if stop < len(items) else None
    gaps = [(ahead.reply, ahead.index + 1)] if ahead else []
    gaps += [(reply, 0) for reply in history.by_input.get(request.digests[before], ())]
    gaps += [(behind.reply, 0)] if behind and not (ahead and ahead.reply is behind.reply) else []
    for reply, first in gaps:
        # The message may have been there before the model answered.
        if not reply.request.item_keys.count(item_key(items[index])):
            last = behind.index if behind and behind.reply is reply else len(reply.output)
            for item in reversed(reply.output[first:last]):
                if is_typed(item) and request.ids.isdisjoint(item_ids(item)):
                    return reply.number, item
    return None


def _find_printed_item(words: str, history: History, *, is_said: bool) -> tuple[int, Json] | None:
    """Find the item that a text is the JSON or `repr` of, with the number of its exchange.

    A text that the assistant is said to have written (`is_said`) may also be a message or a list of items; a user may
    quote these on purpose.
    """
    if not _MAY_BE_PRINTED.match(words):
        return None
    if printed := _PRINTED_OBJECT.fullmatch(words):
        original = history.by_id.get(printed["id"]) or next(iter(history.by_call.get(printed["id"], ())), None)
        return (original.number, original.item) if original and (is_said or is_typed(original.item)) else None
    if original := _find_printed_message(words, history, is_said):
        return original.number, original.item
    item = _parse_object(words, is_said)
    if item_type(item) in CALL_OF_OUTPUT:
        return next(iter(history.call_outputs.get(answered_id(item), {}).values()), None)
    original = (history.find_original(item) or _find_without_id(item, history)) if is_typed(item) else None
    return (original.number, original.item) if original else None


def _find_without_id(item: Json, history: History) -> OutputItem | None:
    """Find the output item with all members of an item that has no id."""
    members = omit(item, "status")
    if not members.keys() - {"type"}:
        return None
    return next((output for output in history.by_id.values() if members.items() <= output.item.items()), None)


def _find_printed_message(words: str, history: History, is_said: bool) -> OutputItem | None:
    """Find the message of which a text contains the parts, or with `is_said` the whole, as JSON or `repr`."""
    parts = _parse_objects(words)
    if is_said and len(parts) == 1 and isinstance(parts[0], dict) and is_assistant(parts[0]):
        said = history.find_said(parts[0])
        return said.originals[0] if said else None
    if not parts or any(not isinstance(part, dict) or item_type(part) not in ("output_text", "text") for part in parts):
        return None
    said = history.by_text.get(message_text({"content": parts}).strip())
    return said.originals[0] if said else None


def _parse_object(words: str, is_said: bool) -> Json:
    """Parse the single object in a text, or the first with `is_said`; empty for other texts."""
    found = list(objects_in(_parse_objects(words)))
    return found[0] if len(found) == 1 or (found and is_said) else {}


def _parse_objects(words: str) -> list[Any]:
    """Parse the objects in a text that is the JSON or `repr` of a list or of one object; empty for other texts."""
    if words[:1] not in ("{", "[") or not ("type" in words or "role" in words) or len(words) > LONGEST_PARSED_TEXT:
        return []
    value = parse_literal(words)
    return value if isinstance(value, list) else [value]

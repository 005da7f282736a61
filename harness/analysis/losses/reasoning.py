"""Reasoning, which the model needs to continue after a call, and the item that followed it."""

from collections.abc import Iterator
from itertools import islice

from harness.analysis.history.history import History
from harness.analysis.history.items import client_call_id, describe_item, is_assistant, item_type, message_text
from harness.analysis.history.request import HistoryRequest, OutputItem, facts_about
from harness.analysis.history.text_damage import ELLIPSIS, PRINTED_NOTHING
from harness.analysis.history.text_index import letters_of
from harness.analysis.loss import (
    ENCRYPTED_THOUGHT,
    STATELESS,
    TEXT,
    LossFacts,
    ask,
    asks,
    assistant,
    body,
    call,
    chained,
    loss,
    user,
)
from harness.analysis.losses.history import RECENT_REPLIES
from harness.api.encrypted_content import make_announced_content, owner_of_content
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote
from harness.items import message, reasoning

ENCRYPTED_CONTENT = "reasoning.encrypted_content"
_SUMMARY: Json = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "**Planning**"}]}
_STORED_THOUGHT: Json = {"type": "reasoning", "id": "{0.output.0.id}", "summary": []}
_STORED_CALL: Json = {**call(), "id": "{0.output.1.id}"}
_GONE = "{what} from exchange {said}, which preceded {call}, is {gone}: the client dropped it"


@loss(
    message=_GONE,
    fix="Send the reasoning back with the call that followed it, until the next user message.",
    loses=[
        ask("P > T C", "P C O", **STATELESS),
        ask("P > T C", ["P", _STORED_CALL, "O"]),
        ask("P > T C", ["P", _SUMMARY, "C O"], **STATELESS),
        ask(
            "P > T C",
            ["P", _STORED_THOUGHT, "C O >", reasoning(), "C2"],
            ["P", _STORED_THOUGHT, "C O C2 O2"],
            model="gpt-5",
        ),
    ],
    keeps=[
        *asks("P > T C | P T C O; P > T C | P T C O > A | P C O A N", **STATELESS),
        ask("P > T C", "P C O"),
        ask("P > T C", chained("O")),
        ask(body("P", **STATELESS), body("P C O", model="gpt-4.1"), turns=["T C"]),
    ],
)
def reasoning_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Within a tool loop a call is sent back without the reasoning before it, which the API would have used.

    The API uses it if the client requested the encrypted content, or sends the call with the id under which it is
    stored; a client that sends back other reasoning of the same turn means to. Reasoning may be omitted once the user
    has spoken again, or if another model is asked.
    """
    yield from (facts for is_usable, facts in _find_dropped(request, history) if is_usable)


@loss(
    message=_GONE,
    fix=(
        "Until the next user message, send the reasoning back with the call that followed it (with `store: false` its "
        "`encrypted_content`, which the client has to `include`), or chain the requests."
    ),
    strict=True,
    loses=[ask("P > T C", "P C O"), ask("P > T C", "P C O", store=False)],
    keeps=[ask("P > T C", chained("O")), ask("P > T C", "P C O A N")],
)
def reasoning_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Within a tool loop a call is sent back without its id and without the reasoning before it.

    Clients that keep only calls and outputs do so on purpose; the model reasons anew after each output. Reasoning that
    comes back as words is another loss.
    """
    if history.by_summary.keys().isdisjoint(request.message_letters):
        yield from (facts for is_usable, facts in _find_dropped(request, history) if not is_usable)


def _find_dropped(request: HistoryRequest, history: History) -> Iterator[tuple[bool, LossFacts]]:
    """Find the reasoning missing before a call within a tool loop, and whether the API would have used it."""
    if request.is_chained:
        return
    here = {mark for item in request.other_items if item_type(item) == "reasoning" for mark in _identifiers(item)}
    is_kept = False
    for place, item in request.turn:
        is_kept = is_kept or (item_type(item) == "reasoning" and history.find_output(item) is not None)
        original = history.find_original(item) if client_call_id(item) else None
        if original is None or original.reply.request.body.get("model") != request.body.get("model"):
            continue
        for thought in original.reply.output[: original.index]:
            is_missing = item_type(thought) == "reasoning" and here.isdisjoint(_identifiers(thought))
            if is_missing and not _has_unknown_reasoning(request, history):
                gone = "not in this request"
                if any(_is_emptied(item, thought) for item in request.other_items):
                    gone = "in this request without its `encrypted_content`"
                call = describe_item(original.item)
                yield (
                    is_kept or _is_usable(original, item),
                    facts_about(place, original.number, thought, call=call, gone=gone),
                )


@loss(
    message="{what} from exchange {said} is in this request without {then}, which followed it",
    fix="Send the reasoning back with the item that followed it, or omit both.",
    loses=[*asks("P > T C | P T C O > A | P T A N; P > T A | P T A N > A2 | P T N A2 N3", **STATELESS)],
    keeps=[
        *asks("P > T C | P T C O; P > T | P T", **STATELESS),
        ask("P > T A", ["P T", assistant("In other words."), "N"], **STATELESS),
        ask("P > T C", ["P T", {**call(), "id": "{0.output.1.id}"}, "O A N"], **STATELESS),
    ],
)
def reasoning_orphaned(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Reasoning comes back without the call or message that followed it; the API refuses this if both are stored.

    The message may come back reworded and without its id.
    """
    if request.is_chained or request.is_compacted:
        return
    items = [item for _, item in request.placed_items]
    calls = {client_call_id(item) for item in items}
    for (place, item), behind in zip(request.placed_items, [*items[1:], {}], strict=False):
        if item_type(item) == "reasoning" and (original := history.find_output(item)):
            for then in original.reply.output[original.index + 1 : original.index + 2]:
                id = client_call_id(then)
                is_gone = (
                    is_assistant(then)
                    and behind.get("role") == "user"
                    and letters_of(message_text(then)) not in request.message_letters
                )
                if is_gone or (id and id not in calls):
                    yield original.lost(place, then=describe_item(then))


def _summary(*texts: str) -> Json:
    return {"summary": [{"type": "summary_text", "text": text} for text in texts]}


_FOREIGN = "gAAAAABsb25nIHRob3VnaHQ"
_SCRIPTED = reasoning("**Planning**", encrypted_content=_FOREIGN)
_ANNOUNCED: Json = {**ENCRYPTED_THOUGHT, "encrypted_content": make_announced_content(_FOREIGN)}
_UNKNOWN: Json = {**ENCRYPTED_THOUGHT, "encrypted_content": _FOREIGN}
_RENAMED: Json = {**ENCRYPTED_THOUGHT, "id": "{0.output.0.id}", "encrypted_content": _FOREIGN}


@loss(
    message="{what} from exchange {said} comes back with another {which}",
    fix="Send reasoning back as it is in `response.output_item.done` or in the response, each item by itself.",
    loses=[
        ask(["P >", _SCRIPTED, "C"], ["P", _ANNOUNCED, "C O"], **STATELESS),
        ask("P > T C", ["P", _RENAMED, "C O"], **STATELESS),
        ask("P > T C", ["P", {**ENCRYPTED_THOUGHT, **_summary("**Planning****Planning**")}, "C O"], **STATELESS),
        ask("P > T C", ["P", {**_STORED_THOUGHT, **_summary("[object Object]")}, _STORED_CALL, "O"], model="gpt-5"),
    ],
    keeps=[
        ask(["P >", _SCRIPTED, "C"], "P T C O", **STATELESS),
        ask("P > A", ["P", _UNKNOWN, "A N"], **STATELESS),
        ask("P > T C", ["P", {**ENCRYPTED_THOUGHT, **_summary("**Plan", "ning**")}, "C O"], **STATELESS),
        ask("P > T C", ["P", {**ENCRYPTED_THOUGHT, **_summary("")}, "C O"], **STATELESS),
        ask("P > T C", ["P", {**ENCRYPTED_THOUGHT, **_summary("[left out]")}, "C O"], **STATELESS),
    ],
)
def reasoning_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Reasoning or a compaction comes back with the ciphertext with which a stream added it, or with any other.

    Nor may its summary have other words; it may lack some, and be divided otherwise.
    """
    for place, item in request.placed_items:
        text = as_string(item.get("encrypted_content"))
        original = history.find_original(item)
        if text and (announced := history.announced.get(text)):
            which = "`encrypted_content`, that of `response.output_item.added`"
            yield announced.lost(place, which=which)
        elif text and original and _is_other_content(as_string(original.item.get("encrypted_content")), text):
            yield original.lost(place, which="`encrypted_content`")
        elif item_type(item) == "reasoning" and (thought := history.find_output(item)):
            was, now = _summary_text(thought.item), _summary_text(item)
            is_shortened = now not in PRINTED_NOTHING and ELLIPSIS.search(now)
            if letters_of(was) and letters_of(now) not in letters_of(was) and not is_shortened:
                yield thought.lost(f"{place}.summary", which=f"`summary`: {quote(now, 80)}")


def _summary_text(reasoning: Json) -> str:
    return "".join(as_string(part.get("text")) for part in objects_in(reasoning.get("summary")))


def _is_other_content(was: str, now: str) -> bool:
    # Recorded ciphertexts differ between the events of one stream; those of a World do not.
    return was != now and (bool(owner_of_content(was)) or not (was or owner_of_content(now)))


SHORTEST_SUMMARY = 20
"""The number of letters from which a text does not equal a summary by chance."""
_PLAN = "**Planning the deployment of v2**"
_PLANNED = reasoning(_PLAN)


@loss(
    message="the summary of {what} from exchange {said} comes back in an assistant message",
    fix="Send reasoning back as a `reasoning` item, or leave it out: only messages are the model's answer.",
    loses=[
        ask(["P >", _PLANNED, "A"], ["P", assistant(_PLAN), "A N"], model="gpt-5"),
        ask(["P >", _PLANNED, "C"], ["P", assistant(_PLAN), "C O"], model="gpt-5"),
        ask(["P >", _PLANNED, "A"], ["P", assistant(f"<think>{_PLAN}</think>{TEXT}"), "N"], model="gpt-5"),
    ],
    keeps=[
        ask(["P >", _PLANNED, "A"], "P A N", model="gpt-5"),
        ask("P > T A", ["P", assistant("**Planning**"), "N"], model="gpt-5"),
        ask(["P >", _PLANNED, message(_PLAN)], ["P", assistant(_PLAN), "N"], model="gpt-5"),
        ask(["P >", _PLANNED, "A"], ["P A", user(_PLAN)], model="gpt-5"),
    ],
)
def reasoning_spoken(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Summaries of reasoning come back as words of the assistant, which then reads its thoughts as an answer."""
    for place, item in request.assistant_messages:
        letters = letters_of(message_text(item))
        if len(letters) >= SHORTEST_SUMMARY and message_text(item).strip() not in history.by_text:
            thought = history.by_summary.get(letters) or _find_before_answer(letters, history)
            yield from [thought.lost(place)] if thought else ()


def _find_before_answer(letters: str, history: History) -> OutputItem | None:
    """Find the reasoning whose summary a text contains before an answer, even within tags such as `<think>`."""
    for summary, thought in islice(reversed(history.by_summary.items()), RECENT_REPLIES):
        rest = letters.partition(summary)[2] if len(summary) >= SHORTEST_SUMMARY else ""
        if rest and any(spoken and rest.endswith(spoken) for spoken in map(letters_of, history.by_text)):
            return thought
    return None


def _is_emptied(item: Json, thought: Json) -> bool:
    return item_type(item) == "reasoning" and not _identifiers(item) and item.get("summary") == thought.get("summary")


def _has_unknown_reasoning(request: HistoryRequest, history: History) -> bool:
    # In a stream, the encrypted content of reasoning may change after the client has read it.
    sent = [_identifiers(item) for item in request.other_items if item_type(item) == "reasoning"]
    return any(
        marks and not any(mark in history.by_id or mark in history.by_ciphertext for mark in marks) for marks in sent
    )


def _is_usable(original: OutputItem, sent: Json) -> bool:
    """Return whether the API would have used the reasoning before a call that is `sent` back."""
    body = original.reply.request.body
    include = body.get("include")
    is_asked_for = isinstance(include, list) and ENCRYPTED_CONTENT in include
    return is_asked_for or (body.get("store") is not False and as_string(sent.get("id")) == original.item.get("id"))


def _identifiers(item: Json) -> list[str]:
    return list(filter(None, (as_string(item.get("id")), as_string(item.get("encrypted_content")))))

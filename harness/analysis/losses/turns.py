"""The turns of a transcript that a client sends again: no answer may be missing or change its role."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from harness.analysis.history.history import History
from harness.analysis.history.items import (
    client_call_id,
    describe_item,
    extend_hash,
    is_assistant,
    item_type,
    message_text,
)
from harness.analysis.history.request import HistoryReply, HistoryRequest
from harness.analysis.history.text_index import letters_of
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import (
    DEPLOY,
    NOTIFY,
    PROMPT,
    REPLY,
    STATELESS,
    TEXT,
    THOUGHT,
    TOOLS,
    ask,
    assistant,
    body,
    call,
    chained,
    output,
    user,
)
from harness.analysis.losses.repeated_prompts import SHORTEST_REPEATED, is_prompt
from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.ending import incomplete
from harness.items import message, refusal

_DONE, _DONE_ANSWER = assistant("Done."), message("Done.")
_LAST = user("Thanks.")
_THIRD = user("Who knows of it?")
_OTHER_SPEAKERS = {"user": "user message", "developer": "developer message", "system": "system message"}
_FIX = "Append the model's answer to the history before the next user message."
_DATA_PROMPT = user("Plan v2, as JSON.")
_ONLY_PROMPTS = ask("P", "P N", turns=[REPLY])


@loss(
    message="{what} from exchange {said} is {gone}: the client dropped it",
    fix=_FIX,
    loses=[
        _ONLY_PROMPTS,
        ask("P", "P A N", ["P A N", _LAST], turns=[REPLY, _DONE_ANSWER]),
        after(
            body("P", instructions="You plan."),
            body("P", instructions="You route."),
            body("P A N", instructions="You plan."),
            body("P A N", _LAST, instructions="You plan."),
            turns=[REPLY, message("planner"), _DONE_ANSWER],
        ),
        ask(
            "P",
            "P A N",
            ["P A N", _DONE, _THIRD],
            ["P A N", _THIRD, assistant("All."), _LAST],
            turns=[REPLY, _DONE_ANSWER, message("All.")],
        ),
        ask("P", "P N", ["P A N", _LAST], turns=[REPLY, _DONE_ANSWER]),
        ask("P", "P C O", "P C O A N", ["P C O N", _DONE, _LAST], turns=[DEPLOY, REPLY, _DONE_ANSWER]),
        ask("P", "P A N", turns=[[REPLY, _DONE_ANSWER]]),
        ask("P", "P C O", turns=[[REPLY, DEPLOY]]),
        ask("P", "P N", turns=[message(refusal("I will not ship it."))]),
        after(
            body("P", instructions="You route."),
            body("P C O", instructions="You plan."),
            body("P C O N", instructions="You plan."),
            turns=[DEPLOY, REPLY],
        ),
    ],
    keeps=[
        ask("P", "P A N", turns=[REPLY]),
        ask("P", ["P A", _DONE, "N"], turns=[[REPLY, _DONE_ANSWER]]),
        ask("P", ["P", assistant(f"{TEXT}\nDone."), "N"], turns=[[REPLY, _DONE_ANSWER]]),
        ask("P", ["P", _DONE, "N"], turns=[[REPLY, _DONE_ANSWER]]),
        ask("P", "N", "P", turns=[REPLY]),
        ask("P", "P A C O", turns=[[REPLY, DEPLOY]]),
        ask("P", ["P", assistant("The deployment begins."), "C O"], turns=[[REPLY, DEPLOY]]),
        ask("P", "P A C O", "P C O N", turns=[[REPLY, DEPLOY], _DONE_ANSWER]),
        ask(
            "P",
            "P A C O",
            ["P C O", call("call_2", "notify", '{"who":"ops"}'), output("call_2")],
            turns=[[REPLY, DEPLOY], NOTIFY],
        ),
        ask("P", chained("O"), turns=[[REPLY, DEPLOY]]),
        ask("P", chained("N"), turns=[REPLY]),
        ask("P", ["P", user(f"The planner said: {TEXT}"), "N"], turns=[REPLY]),
        ask("P", "P N", turns=[[REPLY, incomplete()]]),
        ask("P", ["P", user("Give it a title.")], "P A N", turns=[REPLY, message("A title")]),
        after(
            body("P", instructions="You route."),
            body("P", instructions="You plan."),
            body("P N", instructions="You route."),
            turns=[message("planner"), REPLY],
        ),
        after(
            body("P"),
            Case({"model": "gpt-4.1", "input": [PROMPT, assistant(TEXT)]}, on="POST /responses/compact"),
            body("P", {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}, "N"),
            body("P A N", _DONE, _LAST),
            turns=[REPLY, _DONE_ANSWER],
        ),
        ask("P", "P A N", ["P N", _DONE, _LAST], turns=[REPLY, _DONE_ANSWER]),
        ask("P N", "P", "P A N", turns=[_DONE_ANSWER, REPLY]),
        ask(
            [_DATA_PROMPT],
            [_DATA_PROMPT, "N"],
            turns=[message('{"json": true}')],
            text={"format": {"type": "json_object"}},
        ),
    ],
)
def answer_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Answers of the assistant are missing from a history that contains what led to it and the user's next message.

    It counts if no request ever sends it back, and the same agent keeps other answers or is the only agent; if it was
    sent back once, and answers or outputs before it and answers after it still are; or if it comes late, after the
    answer to that next message. A shortened history loses its beginning; another message may contain the answer;
    another agent may need only the user messages; and JSON data is often not meant for the history. What the model said
    beside a call counts as long as it works on the same user message.
    """
    if not request.is_chained and not request.is_compacted:
        kept: Sequence[int] | None = None
        for length, reply in _find_unfollowed(request, history):
            place = request.items_after(length)[0][0]
            (said,) = _answers(reply)
            kept = _find_kept(request, history) if kept is None else kept
            if _is_surely_lost(said, reply, length, request, history, kept):
                gone = "missing from the history, which continues after it"
                yield {"at": place, "said": reply.number, "what": describe_item(said), "gone": gone}
        yield from _find_late_answers(request, history)
        yield from _find_last_parts(request, history)
        yield from _find_words_beside_calls(request, history)


def _find_late_answers(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the answer before the last but one user message, if an earlier request sent that message without it."""
    keys = request.item_keys
    for place in [place for place, key in enumerate(keys) if place and key[0] == "user"][-2:-1]:
        before, text = request.digests[place - 1], keys[place - 1][1]
        late = [
            reply.request
            for reply in history.by_input.get(extend_hash(before, keys[place]), ())
            if history.is_same_agent(reply.request, request) and not reply.request.is_compacted
        ]
        for reply in history.by_input.get(before, ()) if late else ():
            said = [answer for answer in _answers(reply) if text == message_text(answer).strip()]
            if said and reply.is_completed and reply.number < late[0].number:
                gone = f"not in request {late[0].number}, and reappears only here"
                at = request.items_after(place - 1)[0][0]
                yield {"at": at, "said": reply.number, "what": describe_item(said[0]), "gone": gone}
                return


def _find_last_parts(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the last of an answer's several messages, if an earlier one is kept and directly followed by the user."""
    items = request.placed_items
    for (place, item), (_, behind) in pairwise(items):
        original = history.find_original(item) if is_assistant(item) and is_prompt(behind) else None
        answers = _answers(original.reply) if original else ()
        if original and len(answers) > 1 and original.item is not answers[-1] and original.reply.is_completed:
            last = letters_of(message_text(answers[-1]))
            is_told = history.told.appears_in(last, request.message_letters)
            if not is_told and history.is_same_agent(original.reply.request, request):
                gone = "missing from the history, which has the message before it in the same answer"
                yield {"at": place, "said": original.number, "what": describe_item(answers[-1]), "gone": gone}


def _find_words_beside_calls(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the messages that came with a call of this turn and are never sent back, unlike the call."""
    start = max((n for n, (_, item) in enumerate(request.placed_items) if item.get("role") == "user"), default=-1) + 1
    turn, told = request.placed_items[start:], set[int]()
    # A message with other words may be what a client made of it.
    if any(is_assistant(item) and not history.find_said(item) for _, item in turn):
        return
    for place, item in turn:
        original = history.find_original(item) if client_call_id(item) else None
        if original and original.reply.is_completed and history.is_same_agent(original.reply.request, request):
            for message in filter(is_assistant, original.reply.output):
                # A shortened history may begin with the call, after requests that had the message.
                if message_text(message).strip() in history.sent.texts:
                    continue
                text = letters_of(message_text(message))
                if text and id(message) not in told and not history.told.appears_in(text, request.message_letters):
                    told.add(id(message))
                    gone = "missing from the history, which has the call that came with it"
                    yield {"at": place, "said": original.number, "what": describe_item(message), "gone": gone}


def _find_unfollowed(request: HistoryRequest, history: History) -> Iterator[tuple[int, HistoryReply]]:
    """Find the only reply to the same agent after a prefix of the transcript that another user message follows."""
    for length, key in enumerate(request.item_keys):
        if key[0] != "user" or not length or key == request.item_keys[length - 1]:
            continue
        replies = [
            reply
            for reply in history.by_input.get(request.digests[length], ())
            if history.is_same_agent(reply.request, request)
        ]
        if len(replies) == 1 and replies[0].is_completed and len(_answers(replies[0])) == 1:
            yield length, replies[0]


def _answers(reply: HistoryReply) -> Sequence[Json]:
    """List the messages with text or a refusal in a reply; empty if it has calls."""
    if any(client_call_id(item) for item in reply.output):
        return ()
    return [item for item in reply.output if is_assistant(item) and message_text(item).strip()]


def _is_surely_lost(
    said: Json, reply: HistoryReply, length: int, request: HistoryRequest, history: History, kept: Sequence[int]
) -> bool:
    text = message_text(said).strip()
    if history.told.appears_in(letters_of(text), request.message_letters):
        # Another message contains it, whatever its role.
        return False
    before = bisect_left(kept, len(request.placed_items) - len(request.items_after(length)))
    if text in history.sent.texts or as_string(said.get("id")) in history.sent.message_ids:
        # A request that lost the neighbours of this answer as well was shortened on purpose.
        is_known = before > 0 or request.item_keys[length - 1][0] == "output"
        return is_known and before < len(kept)
    # Who sends outputs sends the whole transcript; another agent may need only the user messages.
    is_whole = history.is_only_agent(request) or any(kind == "output" for kind, _ in request.item_keys[:length])
    return bool(kept) or (not reply.request.asks_for_json and is_whole)


def _find_kept(request: HistoryRequest, history: History) -> Sequence[int]:
    """Find the indexes of the input items that are answers to the same agent."""
    return [
        index
        for index, (_, item) in enumerate(request.placed_items)
        if is_assistant(item)
        and (said := history.find_said(item))
        and any(history.is_same_agent(original.reply.request, request) for original in said.originals[-1:])
    ]


@loss(
    message="{what} from exchange {said} comes back as a {role}",
    fix="Send the model's messages back with `role: assistant`.",
    loses=[
        ask("P", ["P", {"role": "developer", "content": TEXT}, "N"], turns=[REPLY]),
        ask("P", ["P", {"role": "system", "content": TEXT}, "N"], turns=[REPLY], instructions="You plan."),
        ask("P", ["P", user(TEXT), "N"], turns=[REPLY]),
        after(body("P", tools=TOOLS[:1]), body("P", user(TEXT), "N", tools=TOOLS[1:]), turns=[REPLY]),
        after(
            body("P", instructions="You plan.", tools=TOOLS),
            body("P", user(TEXT), "N", instructions="You plan."),
            turns=[REPLY],
        ),
        ask("P", "P C O", ["P C O", user(TEXT), "N"], turns=[DEPLOY, REPLY]),
        ask("P", ["P T", user(TEXT), "N"], turns=[[THOUGHT, REPLY]], **STATELESS),
    ],
    keeps=[
        ask("P", ["P", user(f"You said: {TEXT}"), "N"], turns=[REPLY]),
        ask("P", ["P A", user(TEXT)], turns=[REPLY]),
        ask("P", [user(TEXT)], turns=[REPLY]),
        ask("P", ["P", user("Yes.")], turns=[message("Yes.")]),
        ask("P", ["P A", {"role": "developer", "content": TEXT}, "N"], turns=[REPLY]),
        after(
            body("P", instructions="You route."),
            body("P", instructions="You plan."),
            body("P", user(TEXT), instructions="You plan."),
            turns=[message("planner"), REPLY],
        ),
    ],
)
def role_changed(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Messages of the model come back in their place, but with the role of the user or of instructions.

    Among several agents, what one says may be passed to another, or to itself, as a user message.
    """
    if request.is_chained:
        return
    replies, length = history.find_continued(request)
    messages = (placed for placed in request.items_after(length) if item_type(placed[1]) != "reasoning")
    for place, item in islice(messages, 1) if replies else ():
        text = message_text(item).strip()
        if (role := _OTHER_SPEAKERS.get(as_string(item.get("role")), "")) and len(text) >= SHORTEST_REPEATED:
            said = [reply for reply in replies if text in [message_text(answer).strip() for answer in _answers(reply)]]
            if said and history.is_only_agent(_without(item, request)):
                yield {"at": place, "said": said[0].number, "what": describe_item(item), "role": role}


def _without(instruction: Json, request: HistoryRequest) -> HistoryRequest:
    """Return a request without an instruction message, which would make it look like another agent's."""
    if is_prompt(instruction):
        return request
    return replace(request, placed_items=[placed for placed in request.placed_items if placed[1] is not instruction])

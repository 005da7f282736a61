"""The turns of a transcript that a client sends again or continues: none may be missing, nor change its role or status."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from harness.analysis.history.history import History
from harness.analysis.history.items import client_call_id, extend_hash, is_assistant, item_key, item_type, message_text
from harness.analysis.history.repetitions import RECENT_REQUESTS, UNMISTAKABLE_LENGTH
from harness.analysis.history.request import HistoryReply, HistoryRequest, facts_about
from harness.analysis.history.text_index import letters_of
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import STATELESS, TEXT, TOOLS, LossFacts, ask, asks, assistant, body, chained, loss, user
from harness.analysis.losses.user_messages import SHORTEST_REPEATED, is_prompt
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.ending import incomplete
from harness.items import message, refusal

_RULES: Json = {"role": "developer", "content": "You run operations."}
_OTHER_SPEAKERS = {"user": "user message", "developer": "developer message", "system": "system message"}
_FIX = "Append the model's answer to the history before the next user message."
_DATA_PROMPT = user("Plan v2, as JSON.")


@loss(
    message="{what} from exchange {said} is {gone}: the client dropped it",
    fix=_FIX,
    loses=[
        *asks("P > A | P N; P > A | P A N > A2 | P A N N3; P > A | P N > A2 | P A N N3"),
        *asks("P > C | P C O > A | P C O A N > A2 | P C O N A2 N3; P > A A2 | P A N; P > A C | P C O"),
        *asks("P > A | N > A3 | P A3 N"),
        ask("P > A", ["P >", message("planner")], "P A N > A2", "P A N N3", by=("plan", "route", "plan", "plan")),
        ask("P > A", "P A N > A2", ["P A N A2 N2 >", message("All.")], ["P A N N2", assistant("All."), "N3"]),
        ask(["P >", message(refusal("I will not ship it."))], "P N"),
        ask("P > C", "P C O > A", "P C O N", by=("route", "plan", "plan")),
    ],
    keeps=[
        *asks("P > A | P A N; P > A A2 | P A A2 N; P > A A2 | P A2 N; P > A | N | P; P > A | P > A3 | P A3 N"),
        *asks("P > A C | P A C O; P > A C | P A C O > A2 | P C O N; P > A C | P A C O > C2 | P C O C2 O2"),
        *asks("P > A | P A N > A2 | P N A2 N3; P N > A2 | P > A | P A N"),
        ask("P > A A2", ["P", assistant(f"{TEXT}\nDone."), "N"]),
        ask("P > A", ["P A", user("Sum up."), "> A3"], "P A3 N"),
        ask("P > A", "N > A3", "P A3 N", by=("plan", "review", "plan")),
        ask("P > A C", ["P", assistant("The deployment begins."), "C O"]),
        ask("P > A C", chained("O")),
        ask("P > A", chained("N")),
        ask("P > A", ["P", user(f"The planner said: {TEXT}"), "N"]),
        ask(["P > A", incomplete()], "P N"),
        ask("P > A", ["P", user("Give it a title."), ">", message("A title")], "P A N"),
        ask(["P >", message("planner")], "P > A", "P N", by=("route", "plan", "route")),
        ask(
            body("P"),
            Case(body("P A", model="gpt-4.1"), on="POST /responses/compact"),
            body("P", {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}, "N"),
            body("P A N A2 N3"),
            turns=["A", "A2"],
        ),
        ask(
            [_DATA_PROMPT, ">", message('{"json": true}')],
            [_DATA_PROMPT, "N"],
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
                yield facts_about(place, reply.number, said, gone=gone)
        yield from _find_late_answers(request, history)
        yield from _find_last_parts(request, history)
        yield from _find_foreign_answers(request, history)
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
                yield facts_about(at, reply.number, said[0], gone=gone)
                return


def _find_foreign_answers(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the answers of the only agent that have been replaced by its answer to something else."""
    for length, (kind, text) in enumerate(request.item_keys):
        said = history.by_text.get(text) if kind == "assistant" and len(text) >= UNMISTAKABLE_LENGTH else None
        digest = request.digests[length]
        replies = history.by_input.get(digest, ()) if said and length else ()
        if (
            said
            and replies
            and digest not in said.asked
            and not _is_summarized(request, length, said.originals[-1].reply.request)
        ):
            answers = [(reply, answer) for reply in replies for answer in _answers(reply) if reply.is_completed]
            was_there = any(reply.request.item_keys.count((kind, text)) for reply in replies)
            if len(answers) == len(replies) == 1 and not was_there and history.is_only_agent(request):
                reply, answer = answers[0]
                if not history.messages.appears_in(letters_of(message_text(answer)), request.message_letters):
                    gone = f"replaced by the answer to exchange {said.originals[-1].number}"
                    place = next(place for place, item in request.items_after(length) if item_key(item))
                    yield facts_about(place, reply.number, answer, gone=gone)


def _is_summarized(request: HistoryRequest, length: int, asked: HistoryRequest) -> bool:
    """Return whether an answer stands for what it was asked about: all that follows the first `length` keys."""
    is_about = len(asked.item_keys) > length and asked.digests[length] == request.digests[length]
    return is_about and not any(request.item_keys.count(key) for key in asked.last_prompts)


def _find_last_parts(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the last of an answer's several messages, if an earlier one is kept and directly followed by the user."""
    items = request.placed_items
    for (place, item), (_, behind) in pairwise(items):
        original = history.find_original(item) if is_assistant(item) and is_prompt(behind) else None
        answers = _answers(original.reply) if original else ()
        if original and len(answers) > 1 and original.item is not answers[-1] and original.reply.is_completed:
            last = letters_of(message_text(answers[-1]))
            is_kept = history.messages.appears_in(last, request.message_letters)
            if not is_kept and history.is_same_agent(original.reply.request, request):
                gone = "missing from the history, which has the message before it in the same answer"
                yield facts_about(place, original.number, answers[-1], gone=gone)


def _find_words_beside_calls(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the messages that came with a call of this turn and are never sent back, unlike the call."""
    reported = set[int]()
    # A message with other words may be what a client made of it.
    if any(is_assistant(item) and not history.find_said(item) for _, item in request.turn):
        return
    for place, item in request.turn:
        original = history.find_original(item) if client_call_id(item) else None
        if original and original.reply.is_completed and history.is_same_agent(original.reply.request, request):
            for message in filter(is_assistant, original.reply.output):
                # A shortened history may begin with the call, after requests that had the message.
                if message_text(message).strip() in history.sent.texts:
                    continue
                text = letters_of(message_text(message))
                if (
                    text
                    and id(message) not in reported
                    and not history.messages.appears_in(text, request.message_letters)
                ):
                    reported.add(id(message))
                    gone = "missing from the history, which has the call that came with it"
                    yield facts_about(place, original.number, message, gone=gone)


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
    if history.messages.appears_in(letters_of(text), request.message_letters):
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
    fix="Send each message back with its role: the model's, and only those, with `assistant`.",
    loses=[
        ask("P > A", ["P", {"role": "developer", "content": TEXT}, "N"]),
        ask("P > A", ["P", {"role": "system", "content": TEXT}, "N"], instructions="You plan."),
        ask("P > A", ["P", user(TEXT), "N"]),
        ask(body("P", tools=TOOLS[:1]), body("P", user(TEXT), "N", tools=TOOLS[1:]), turns=["A"]),
        ask(
            body("P", instructions="You plan.", tools=TOOLS),
            body("P", user(TEXT), "N", instructions="You plan."),
            turns=["A"],
        ),
        ask("P > C", "P C O > A", ["P C O", user(TEXT), "N"]),
        ask("P > T A", ["P T", user(TEXT), "N"], **STATELESS),
        ask([_RULES, "P > A"], [assistant("You run operations."), "P A N"]),
    ],
    keeps=[
        ask("P > A", ["P", user(f"You said: {TEXT}"), "N"]),
        ask("P > A", ["P A", user(TEXT)]),
        ask("P > A", [user(TEXT)]),
        ask(["P >", message("Yes.")], ["P", user("Yes.")]),
        ask("P > A", ["P A", {"role": "developer", "content": TEXT}, "N"]),
        ask(["P >", message("planner")], "P > A", ["P", user(TEXT)], by=("route", "plan", "plan")),
    ],
)
def role_changed(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Messages of the model come back as the user's or as instructions, or instructions as the model's.

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
                yield facts_about(place, said[0].number, item, role=role)
    yield from _find_spoken_instructions(request, history)


def _find_spoken_instructions(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the instructions that come back in their place as a message of the assistant."""
    for index, (place, item) in enumerate(request.placed_items):
        text = message_text(item).strip() if is_assistant(item) else ""
        if len(text) >= SHORTEST_REPEATED and text not in history.by_text:
            for reply in history.replies[-RECENT_REQUESTS:]:
                was = next((there for _, there in reply.request.placed_items[index : index + 1]), {})
                if was.get("role") in INSTRUCTION_ROLES and message_text(was).strip() == text:
                    yield facts_about(place, reply.request.number, was, role="message of the assistant")
                    break


def _without(instruction: Json, request: HistoryRequest) -> HistoryRequest:
    """Return a request without an instruction message, which would make it look like another agent's."""
    if is_prompt(instruction):
        return request
    return replace(request, placed_items=[placed for placed in request.placed_items if placed[1] is not instruction])


def find_other_roles(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the messages of the user, or instructions, that have the other's role before an answer that is sent back."""
    sent = (original for _, item in reversed(request.placed_items) for original in history.find_originals(item)[-1:])
    for original in [] if request.is_chained else islice(sent, 1):
        before = original.reply.request
        for (_, was), (place, item) in zip(before.placed_items, request.placed_items, strict=False):
            text, roles = message_text(was).strip(), [as_string(message.get("role")) for message in (was, item)]
            if not text or text != message_text(item).strip() or "assistant" in roles:
                if item_key(was) != item_key(item):
                    break
            elif len({is_prompt(was), is_prompt(item)}) > 1 and before.tool_names == request.tool_names:
                facts = {"role": roles[0], "how": f"as a {roles[1]} message"}
                yield facts_about(place, before.number, was, **facts)


def _continued(previous: int, new: str) -> Case:
    return ask("P", chained("N"), chained(new, to=previous), turns=["A", "A2"])


@loss(
    message="{what} from exchange {said} is not in this request, which again continues the response before it",
    fix="After each answer, keep the id of the newest response as `previous_response_id`.",
    strict=True,
    loses=[_continued(0, "N2")],
    keeps=[_continued(1, "N2"), _continued(0, "N"), ask("P > C", chained("O"), chained("O"))],
)
def chain_forked(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests continue a response that another has continued with a different user message, maybe on purpose."""
    id, keys = as_string(request.body.get("previous_response_id")), [key for key in request.placed_keys if key]
    if not id or not keys or keys[0][0] != "user":
        return
    for reply in reversed(history.by_previous.get(id, ())):
        if history.is_same_agent(reply.request, request) and reply.is_completed:
            said = [item for item in reply.output if is_assistant(item)]
            # An equal user message is a retry; without a message of the model nothing is lost.
            if said and [key for key in reply.request.placed_keys if key] != keys:
                yield facts_about(request.placed_items[0][0], reply.number, said[0])
            return

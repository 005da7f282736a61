"""User messages in a transcript that a client sends again: each once, with its images and files, and a new one last."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile

from harness.analysis.history.history import History
from harness.analysis.history.items import (
    MESSAGE,
    answered_id,
    client_call_id,
    is_assistant,
    item_key,
    item_type,
    message_text,
)
from harness.analysis.history.repetitions import RECENT_REQUESTS
from harness.analysis.history.request import HistoryRequest, PlacedItem, facts_about
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import PROMPT, TEXT, TOOLS, LossFacts, ask, assistant, body, chained, loss, output, user
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote
from harness.ending import incomplete

SHORTEST_REPEATED = 8
"""The length in characters from which a user message is not repeated by chance."""
_WRITTEN = Case({"items": [PROMPT]}, on="POST /conversations/{0.id}/items")
_RULES: Json = {"role": "developer", "content": "You run operations."}
_PICTURE: Json = {"type": "input_image", "image_url": "https://example.org/a.png"}
_OTHER: Json = {"type": "input_image", "image_url": "https://example.org/b.png"}
_SIGNED: Json = {"type": "input_image", "image_url": "https://example.org/a.png?signature=2"}
_EMBEDDED: Json = {"type": "input_image", "file_id": "file-1"}
_WORDS: Json = {"type": "input_text", "text": "What is it?"}
_SHOWN, _BARE = user([_WORDS, _PICTURE]), user("What is it?")


@loss(
    message="the {role}'s {what} appears {here} in request {number}, but {there} in exchange {said}",
    fix="Append a message only once: not to both the history and the new input.",
    loses=[
        ask("P > A", "P P A N"),
        ask("P > C", "P C O > A", "P P C O A N"),
        ask("P > A", "P P"),
        ask("P > A", ["P", {"role": "system", "content": "Be brief."}, "P A N"]),
        ask("P P > A", "P A N"),
        ask([_RULES, "P > C"], [_RULES, _RULES, "P C O"]),
        ask(Case({}, on="POST /conversations"), _WRITTEN, "P", conversation="{0.id}"),
        ask(
            body("P", instructions="You run operations."),
            body(_RULES, "P A", instructions="You run operations."),
            turns=["A"],
        ),
    ],
    keeps=[
        ask(Case({}, on="POST /conversations"), _WRITTEN, "N", conversation="{0.id}"),
        ask([_RULES, "P > A"], [_RULES, "P A", _RULES, "N"]),
        ask([_RULES, _RULES, "P > A"], [_RULES, _RULES, "P A N"]),
        ask([_RULES, "P > A"], [_RULES, _RULES, "N"]),
        ask("P > A", "P A P"),
        ask(["P > A", incomplete()], "P P"),
        ask([user("no"), user("no"), "> A"], [user("no"), user("no"), "A"]),
        ask([_SHOWN, "> A"], [_SHOWN, user([_WORDS, _OTHER])]),
    ],
)
def prompt_doubled(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages or instructions appear twice in a row where another request of the conversation has them once.

    So do user messages that a client writes into a conversation and also sends as `input`.
    """
    yield from _find_written_and_sent(request)
    if request.is_chained:
        return
    yield from _find_doubled_instructions(request, history)
    for length, place, item in _find_repeated_prompts(request):
        replies = history.by_input.get(request.digests[length], ())
        if number := next((reply.number for reply in replies if reply.is_completed), 0):
            where = {"role": "user", "number": request.number, "here": "twice in a row", "there": "once"}
            yield facts_about(place, number, item, **where)
    yield from _find_prompts_made_single(request, history)


def _find_written_and_sent(request: HistoryRequest) -> Iterator[LossFacts]:
    """Find the user message that was written into the conversation right before `input` repeats it."""
    for (before, was), (place, item) in pairwise(request.placed_items):
        writer = before.rpartition("/")[0]
        is_sent_again = writer and "/" not in place and is_prompt(item) and is_same_prompt(was, item)
        if is_sent_again and len(message_text(item).strip()) >= SHORTEST_REPEATED:
            where = {"number": request.number, "here": "again", "there": "already written"}
            yield facts_about(place, int(writer), item, role="user", **where)


def _find_doubled_instructions(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the instructions that precede the first message twice, but once where the conversation began."""
    leading = _leading_instructions(request)
    texts = [text for text, _ in leading]
    for index, (text, (place, item)) in enumerate(leading):
        if text in texts[:index] and len(text) >= SHORTEST_REPEATED:
            for reply in history.replies[-RECENT_REQUESTS:]:
                before = [text for text, _ in _leading_instructions(reply.request)]
                if before.count(text) == 1 and reply.request.item_keys[:1] == request.item_keys[:1]:
                    role, where = as_string(item.get("role")), {"here": "twice", "there": "once"}
                    yield facts_about(place, reply.request.number, item, role=role, number=request.number, **where)
                    break


def _leading_instructions(request: HistoryRequest) -> Sequence[tuple[str, PlacedItem]]:
    """List the texts of the parameter and of the messages that instruct the model before the first other message."""
    leading = takewhile(lambda placed: placed[1].get("role") in INSTRUCTION_ROLES, request.placed_items)
    instructing = [("instructions", {"content": request.body.get("instructions")}), *leading]
    return [(message_text(item).strip(), (place, item)) for place, item in instructing]


def _find_repeated_prompts(request: HistoryRequest) -> Iterator[tuple[int, str, Json]]:
    """Find the user messages that repeat the previous one: the number of keys before it, place, item.

    Instructions may stand between the two.
    """
    length, last = len(request.previous.keys), Json()
    for (place, item), key in zip(request.placed_items, request.placed_keys, strict=True):
        if is_prompt(item) and is_same_prompt(last, item):
            yield length, place, item
        if item.get("role") not in INSTRUCTION_ROLES:
            last = item
        length += key is not None


def is_prompt(item: Json) -> bool:
    """Return whether an item is a user message."""
    return item_type(item) == MESSAGE and item.get("role") == "user"


def is_same_prompt(one: Json, other: Json) -> bool:
    """Return whether two user messages have the same text and the same images and files."""
    return is_prompt(one) and bool(message_text(one).strip()) and _prompt_content(one) == _prompt_content(other)


def _prompt_content(item: Json) -> tuple[str, Sequence[Json]]:
    parts = [part for part in objects_in(item.get("content")) if "text" not in part]
    return message_text(item).strip(), parts


def _find_prompts_made_single(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the user messages that appear once before a reply, where the original request had them twice."""
    for length, key in enumerate(request.item_keys):
        reply = history.doubled_prompts.get(request.digests[length])
        if reply and reply.is_completed and key in map(item_key, reply.output):
            items = [item for _, item in reply.request.placed_items][-2:]
            if len(items) == 2 and is_same_prompt(*items) and (new := request.items_after(length - 1)):
                where = {"role": "user", "number": request.number, "here": "once", "there": "twice in a row"}
                yield facts_about(new[0][0], reply.request.number, new[0][1], **where)


@loss(
    message="the {role}'s {what} appears twice in a row after exchange {said}",
    fix="Append a message to the history only once, unless the user sent it twice, and instructions in one place.",
    strict=True,
    unless=["prompt-doubled"],
    loses=[
        ask("P > A", "P A N N"),
        ask([_RULES, _RULES, "P > A"], [_RULES, _RULES, "P A N"]),
        ask([_RULES, "P > A"], [_RULES, "P A N"], instructions="You run operations."),
    ],
    keeps=[
        ask("P > A", ["P A", user("no"), user("no")]),
        ask("P > A", "P A P"),
        ask([_RULES, "P > A"], [_RULES, "P A", _RULES, "N"], instructions="You plan."),
    ],
)
def prompt_repeated(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages or instructions appear twice in a row, and no other request shows whether that is meant."""
    for length, place, item in _find_repeated_prompts(request):
        known = history.by_input.get(request.digests[length])
        if history.replies and not known and len(message_text(item).strip()) >= SHORTEST_REPEATED:
            yield facts_about(place, history.replies[-1].number, item, role="user")
    leading = _leading_instructions(request) if history.replies else ()
    for (text, _), (again, (place, item)) in pairwise(leading):
        if text == again and len(text) >= SHORTEST_REPEATED:
            yield facts_about(place, history.replies[-1].number, item, role=as_string(item.get("role")))


@loss(
    message="the user's {what} appears again after the outputs of the calls that it led to in exchange {said}",
    fix="Send only the outputs, after the calls: the user message already comes before them.",
    strict=True,
    loses=[ask("P > C", "P C O P"), ask("P > C", chained("O P"))],
    keeps=[
        ask("P > C", "P C O N"),
        ask("P > C", "P C O"),
        ask("P > C", "P C O A P"),
        ask([user("no"), "> C"], [user("no"), "C O", user("no")]),
    ],
)
def prompt_after_outputs(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests answer calls and repeat the user message that led to them; the user may have sent it again."""
    items = request.transcript.items
    if not request.placed_items or len(items) < 2:
        return
    place, last = request.placed_items[-1]
    # A short `yes` or `go on` is said again and again.
    if not is_prompt(last) or len(message_text(last).strip()) < SHORTEST_REPEATED:
        return
    answered = ""
    for item in islice(reversed(items), 1, None):
        if item_type(item) == MESSAGE:
            original = history.find_call(answered)
            if original and is_same_prompt(item, last):
                yield facts_about(place, original.number, last)
            return
        answered = answered or answered_id(item)


@loss(
    message="nothing new follows {what} from exchange {said}: no user message and no output",
    fix="Append the next user message or the outputs of the calls to the history before you send it.",
    strict=True,
    loses=[ask("P > A", "P A")],
    keeps=[
        ask("P > A", "P A N"),
        ask("P > A", "P"),
        ask(["P > A", incomplete()], ["P", assistant(TEXT, status="incomplete")]),
        ask("P > A", "P A", by=("plan", "review")),
    ],
)
def nothing_new(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Histories end with the model's reply, and add nothing to answer; an agent may be meant to continue on its own."""
    if request.is_chained or not request.is_asked or not request.assistant_messages:
        return
    replies, length = history.find_continued(request)
    for reply in replies[-1:]:
        said = [item for item in reply.output if item_key(item)]
        keys = list(map(item_key, said))
        is_whole = bool(keys) and list(request.item_keys[length:]) == keys and is_assistant(said[-1])
        if is_whole and reply.is_completed and history.is_same_agent(reply.request, request):
            place = request.assistant_messages[-1][0]
            yield facts_about(place, reply.number, said[-1])


@loss(
    message="{what} from exchange {said} was answered in no request, and this request asks the same again",
    fix="Execute the call and send it with its output; if each run ends with a call, that is intended.",
    strict=True,
    loses=[ask("P > C", "P > A"), ask("P", chained("N"), chained("N"), turns=["A", "C"])],
    keeps=[
        ask("P > A", "P"),
        ask("P > C", "N"),
        ask("P > C", "P > C", "P C O > A"),
        ask(["P > C", incomplete()], "P"),
        ask(body("P", tools=TOOLS), body("P", tools=TOOLS[1:]), turns=["C"]),
    ],
)
def call_ignored(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A client that got a call asks the same again; a program whose runs each end with a call does so on purpose."""
    replies = history.by_input.get(request.digests[-1], ()) if request.is_asked and request.placed_items else ()
    for reply in replies[-1:]:
        for item in reply.output if history.is_same_agent(reply.request, request) else ():
            original = history.open_calls.get(client_call_id(item))
            if original and original.item is item:
                yield facts_about(request.placed_items[-1][0], reply.number, item)


_GONE = "{lost} of {had} images and files of the user's {what} from exchange {said} are missing"
_FIX = "Send back every part of a user message, not only its text."


@loss(
    message=_GONE + " while the model works on it",
    fix=_FIX,
    loses=[ask([_SHOWN, "> C"], [_BARE, "C O"]), ask([user([_WORDS, _PICTURE, _PICTURE]), "> C"], [_SHOWN, "C O"])],
    keeps=[
        ask([_SHOWN, "> C"], [_SHOWN, "C O"]),
        ask([_SHOWN, "> A"], [_SHOWN, "A N"]),
        ask([_SHOWN, "> A"], [_BARE, "A N"]),
        ask([_SHOWN, "> C"], [_BARE, "C", output(value=[_PICTURE])]),
    ],
)
def attachment_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Within a tool loop a user message comes back without its images or files."""
    yield from (facts for is_at_work, facts in _find_dropped(request, history) if is_at_work)


@loss(
    message=_GONE + " in a later turn",
    fix=_FIX,
    strict=True,
    loses=[ask([_SHOWN, "> A"], [_BARE, "A N"])],
    keeps=[ask([_SHOWN, "> A"], [_SHOWN, "A N"])],
)
def attachment_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """In a later turn a user message comes back without its images or files, maybe on purpose, as they cost tokens."""
    yield from (facts for is_at_work, facts in _find_dropped(request, history) if not is_at_work)


_REFERENCES = ("file_id", "image_url", "file_url", "file_data")
"""The members of a part that hold an image or a file, or its address."""
_QUERY = re.compile(r"^(https?:[^?#]*)[?#].*")


@loss(
    message="{what} from exchange {said} comes back with other images or files: {was} is now {now}",
    fix="Send back every part of a message as it was sent, in its order.",
    loses=[
        ask([_SHOWN, "> C"], [user([_WORDS, _OTHER]), "C O"]),
        ask([_SHOWN, "> A"], [user([_WORDS, _OTHER]), "A N"]),
        ask([user([_WORDS, _PICTURE, _OTHER]), "> A"], [user([_WORDS, _OTHER, _PICTURE]), "A N"]),
        ask([_SHOWN, "> A"], [user([_WORDS, _PICTURE, _PICTURE]), "A N"]),
    ],
    keeps=[
        ask([_SHOWN, "> A"], [_SHOWN, "A N"]),
        ask([_SHOWN, "> A"], [user([_WORDS, _SIGNED]), "A N"]),
        ask([_SHOWN, "> A"], [user([_WORDS, _EMBEDDED]), "A N"]),
    ],
)
def attachment_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Images and files come back as others, in another order, or twice.

    An address may be signed anew, and a file may be sent in another way, such as by its id.
    """
    for before, was, place, now in _find_sent_again(request, history):
        old, new = _references(was), _references(now)
        is_other = len(old) == len(new) and any(
            before_member == member and before_value != value
            for (before_member, before_value), (member, value) in zip(old, new, strict=True)
        )
        if is_other or (len(old) < len(new) and {*old} == {*new}):
            shown = [", ".join(quote(value) for _, value in references) for references in (old, new)]
            yield facts_about(place, before.number, was, was=shown[0], now=shown[1])


def _references(item: Json) -> list[tuple[str, str]]:
    """List the images and files of a message or an output: how each is sent, and its value."""
    parts = [part for name in ("content", "output") for part in objects_in(item.get(name))]
    found = [(name, value) for part in parts for name in _REFERENCES if (value := as_string(part.get(name)))]
    return [(f"{name} {value[:5] == 'data:'}", _QUERY.sub(r"\1", value)) for name, value in found]


def _find_sent_again(request: HistoryRequest, history: History) -> Iterator[tuple[HistoryRequest, Json, str, Json]]:
    """Find the items of the request that a history continues: the request, the item, and its place and form here."""
    replies, _ = history.find_continued(request)
    if not request.is_chained and replies and not replies[-1].request.is_chained:
        before = replies[-1].request
        for (_, was), (place, now) in zip(_keyed_items(before), _keyed_items(request), strict=False):
            yield before, was, place, now


def _find_dropped(request: HistoryRequest, history: History) -> Iterator[tuple[bool, LossFacts]]:
    """Find the user messages with fewer images and files than in the previous request.

    Each comes with a flag that is True if the user has not spoken since.
    """
    _, length = history.find_continued(request)
    is_at_work = all(item.get("role") != "user" for _, item in request.items_after(length))
    for before, was, place, now in _find_sent_again(request, history):
        # If the total is the same, attachments have only moved to another item.
        if sum(map(_count_attachments, _contents(before))) <= sum(map(_count_attachments, _contents(request))):
            return
        had = _count_attachments(was.get("content"))
        if was.get("role") == "user" and (lost := had - _count_attachments(now.get("content"))) > 0:
            yield is_at_work, facts_about(place, before.number, was, had=had, lost=lost)


def _keyed_items(request: HistoryRequest) -> list[PlacedItem]:
    return [placed for placed, key in zip(request.placed_items, request.placed_keys, strict=True) if key]


def _contents(request: HistoryRequest) -> Iterator[object]:
    for _, item in request.placed_items:
        yield item.get("content")
        yield item.get("output")


def _count_attachments(content: object) -> int:
    return sum("text" not in part and "refusal" not in part for part in objects_in(content))

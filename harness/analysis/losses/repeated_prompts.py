"""User messages in a transcript that a client sends again: each may appear only once, and a new one comes last."""

from collections.abc import Iterator, Sequence
from itertools import islice

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
from harness.analysis.history.request import HistoryRequest, facts_about
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import TEXT, TOOLS, LossFacts, ask, assistant, body, chained, loss, user
from harness.core.exchange import Json
from harness.core.json_values import objects_in
from harness.ending import incomplete

SHORTEST_REPEATED = 8
"""The length in characters from which a user message is not repeated by chance."""
_PICTURES: list[Json] = [
    user(
        [
            {"type": "input_text", "text": "What is it?"},
            {"type": "input_image", "image_url": f"https://example.org/{n}.png"},
        ]
    )
    for n in ("a", "b")
]


@loss(
    message="the user's {what} appears {here} in request {number}, but {there} in exchange {said}",
    fix="Append a user message only once: not to both the history and the new input.",
    loses=[
        ask("P > A", "P P A N"),
        ask("P > C", "P C O > A", "P P C O A N"),
        ask("P > A", "P P"),
        ask("P > A", ["P", {"role": "system", "content": "Be brief."}, "P A N"]),
        ask("P P > A", "P A N"),
    ],
    keeps=[
        ask("P > A", "P A P"),
        ask(["P > A", incomplete()], "P P"),
        ask([user("no"), user("no"), "> A"], [user("no"), user("no"), "A"]),
        ask([_PICTURES[0], "> A"], _PICTURES),
    ],
)
def prompt_doubled(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages appear twice in a row where another request of the same conversation has them once."""
    if request.is_chained:
        return
    for length, place, item in _find_repeated_prompts(request):
        replies = history.by_input.get(request.digests[length], ())
        if number := next((reply.number for reply in replies if reply.is_completed), 0):
            yield facts_about(place, number, item, number=request.number, here="twice in a row", there="once")
    yield from _find_prompts_made_single(request, history)


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
                where = {"number": request.number, "here": "once", "there": "twice in a row"}
                yield facts_about(new[0][0], reply.request.number, new[0][1], **where)


@loss(
    message="the user's {what} appears twice in a row after exchange {said}",
    fix="Append a user message to the history only once, unless the user sent it twice.",
    strict=True,
    loses=[ask("P > A", "P A N N")],
    keeps=[ask("P > A", ["P A", user("no"), user("no")]), ask("P > A", "P A P")],
)
def prompt_repeated(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages appear twice in a row, and no other request shows whether the user sent it twice."""
    for length, place, item in _find_repeated_prompts(request):
        known = history.by_input.get(request.digests[length])
        if history.replies and not known and len(message_text(item).strip()) >= SHORTEST_REPEATED:
            yield facts_about(place, history.replies[-1].number, item)


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

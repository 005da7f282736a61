"""User messages in a transcript that a client sends again: each may appear only once, and a new one comes last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from harness.analysis.history.history import History
from harness.analysis.history.items import (
    MESSAGE,
    answered_id,
    client_call_id,
    describe_item,
    is_assistant,
    item_key,
    item_type,
    message_text,
)
from harness.analysis.history.request import HistoryRequest
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, REPLY, TEXT, TOOLS, ask, assistant, body, chained, user
from harness.contract.rule import after
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
        ask("P", "P P A N", turns=[REPLY]),
        ask("P", "P C O", "P P C O A N", turns=[DEPLOY, REPLY]),
        ask("P", "P P", turns=[REPLY]),
        ask("P", ["P", {"role": "system", "content": "Be brief."}, "P A N"], turns=[REPLY]),
        ask("P P", "P A N", turns=[REPLY]),
    ],
    keeps=[
        ask("P", "P A P", turns=[REPLY]),
        ask("P", "P P", turns=[[REPLY, incomplete()]]),
        ask([user("no"), user("no")], [user("no"), user("no"), "A"], turns=[REPLY]),
        ask([_PICTURES[0]], _PICTURES, turns=[REPLY]),
    ],
)
def prompt_doubled(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages appear twice in a row where another request of the same conversation has them once."""
    if request.is_chained:
        return
    for length, place, item in _find_repeated_prompts(request):
        replies = history.by_input.get(request.digests[length], ())
        if number := next((reply.number for reply in replies if reply.is_completed), 0):
            yield _doubling_facts(place, item, number, request.number, "twice in a row", "once")
    yield from _find_prompts_made_single(request, history)


def _find_repeated_prompts(request: HistoryRequest) -> Iterator[tuple[int, str, Json]]:
    """Find the user messages that repeat the previous one: the number of keys before it, place, item.

    Instructions may stand between the two.
    """
    length, last = request.previous_key_count, Json()
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
                yield _doubling_facts(*new[0], reply.request.number, request.number, "once", "twice in a row")


def _doubling_facts(place: str, item: Json, said: int, number: int, here: str, there: str) -> LossFacts:
    return {"at": place, "said": said, "what": describe_item(item), "number": number, "here": here, "there": there}


@loss(
    message="the user's {what} appears twice in a row after exchange {said}",
    fix="Append a user message to the history only once, unless the user sent it twice.",
    strict=True,
    loses=[ask("P", "P A N N", turns=[REPLY])],
    keeps=[ask("P", ["P A", user("no"), user("no")], turns=[REPLY]), ask("P", "P A P", turns=[REPLY])],
)
def prompt_repeated(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages appear twice in a row, and no other request shows whether the user sent it twice."""
    for length, place, item in _find_repeated_prompts(request):
        known = history.by_input.get(request.digests[length])
        if history.replies and not known and len(message_text(item).strip()) >= SHORTEST_REPEATED:
            yield {"at": place, "said": history.replies[-1].number, "what": describe_item(item)}


@loss(
    message="the user's {what} appears again after the outputs of the calls that it led to in exchange {said}",
    fix="Send only the outputs, after the calls: the user message already comes before them.",
    strict=True,
    loses=[ask("P", "P C O P", turns=[DEPLOY]), ask("P", chained("O P"), turns=[DEPLOY])],
    keeps=[
        ask("P", "P C O N", turns=[DEPLOY]),
        ask("P", "P C O", turns=[DEPLOY]),
        ask("P", "P C O A P", turns=[DEPLOY]),
        ask([user("no")], [user("no"), "C O", user("no")], turns=[DEPLOY]),
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
                yield {"at": place, "said": original.number, "what": describe_item(last)}
            return
        answered = answered or answered_id(item)


@loss(
    message="nothing new follows {what} from exchange {said}: no user message and no output",
    fix="Append the next user message or the outputs of the calls to the history before you send it.",
    strict=True,
    loses=[ask("P", "P A", turns=[REPLY])],
    keeps=[
        ask("P", "P A N", turns=[REPLY]),
        ask("P", "P", turns=[REPLY]),
        ask("P", ["P", assistant(TEXT, status="incomplete")], turns=[[REPLY, incomplete()]]),
        after(body("P", instructions="You plan."), body("P A", instructions="You review."), turns=[REPLY]),
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
            yield {"at": place, "said": reply.number, "what": describe_item(said[-1])}


@loss(
    message="{what} from exchange {said} was answered in no request, and this request asks the same again",
    fix="Execute the call and send it with its output; if each run ends with a call, that is intended.",
    strict=True,
    loses=[
        ask("P", "P", turns=[DEPLOY, REPLY]),
        ask("P", chained("N"), chained("N"), turns=[REPLY, DEPLOY]),
    ],
    keeps=[
        ask("P", "P", turns=[REPLY]),
        ask("P", "N", turns=[DEPLOY]),
        ask("P", "P", "P C O", turns=[DEPLOY, DEPLOY, REPLY]),
        ask("P", "P", turns=[[DEPLOY, incomplete()]]),
        after(body("P", tools=TOOLS), body("P", tools=TOOLS[1:]), turns=[DEPLOY]),
    ],
)
def call_ignored(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A client that got a call asks the same again; a program whose runs each end with a call does so on purpose."""
    replies = history.by_input.get(request.digests[-1], ()) if request.is_asked and request.placed_items else ()
    for reply in replies[-1:]:
        for item in reply.output if history.is_same_agent(reply.request, request) else ():
            original = history.open_calls.get(client_call_id(item))
            if original and original.item is item:
                yield {"at": request.placed_items[-1][0], "said": reply.number, "what": describe_item(item)}

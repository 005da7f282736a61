"""The messages of the user in a transcript that a client sends again: each stands there once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.analysis.history.history import History
from harness.analysis.history.items import MESSAGE, describe_item, item_key, item_type, message_text
from harness.analysis.history.request import HistoryRequest
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, NEXT, PROMPT, REPLY, TEXT, ask, assistant, call, output, user
from harness.core.exchange import Json
from harness.core.loose_json import objects_in
from harness.ending import incomplete

SHORTEST_REPEATED = 8
"""Characters of a user's message that is not said twice by chance."""
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
    message="the user's {what} stands {here} in request {number}, and {there} in exchange {said}",
    fix="Append a message of the user to the history once: not there and to the new input as well.",
    loses=[
        ask([PROMPT], [PROMPT, PROMPT, assistant(TEXT), NEXT], turns=[REPLY]),
        ask(
            [PROMPT],
            [PROMPT, call(), output()],
            [PROMPT, PROMPT, call(), output(), assistant(TEXT), NEXT],
            turns=[DEPLOY, REPLY],
        ),
        ask([PROMPT], [PROMPT, PROMPT], turns=[REPLY]),
        ask([PROMPT, PROMPT], [PROMPT, assistant(TEXT), NEXT], turns=[REPLY]),
    ],
    keeps=[
        ask([PROMPT], [PROMPT, assistant(TEXT), PROMPT], turns=[REPLY]),
        ask([PROMPT], [PROMPT, PROMPT], turns=[[REPLY, incomplete()]]),
        ask([user("no"), user("no")], [user("no"), user("no"), assistant(TEXT)], turns=[REPLY]),
        ask([_PICTURES[0]], _PICTURES, turns=[REPLY]),
    ],
)
def prompt_doubled(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A message of the user stands twice in a row where another request of the same conversation has it once."""
    if request.is_chained:
        return
    for length, place, item in _find_repeated_prompts(request):
        replies = history.by_input.get(request.digests[length], ())
        if number := next((reply.number for reply in replies if reply.is_completed), 0):
            yield _doubling_facts(place, item, number, request.number, "twice in a row", "once")
    yield from _find_prompts_made_single(request, history)


def _find_repeated_prompts(request: HistoryRequest) -> Iterator[tuple[int, str, Json]]:
    """Find the user messages that repeat the one before: the number of keys before, place, item."""
    length, last = request.previous_key_count, Json()
    for (place, item), key in zip(request.placed_items, request.placed_keys, strict=True):
        if is_prompt(item) and is_same_prompt(last, item):
            yield length, place, item
        last = item
        length += key is not None


def is_prompt(item: Json) -> bool:
    """Tell whether an item is a message of the user."""
    return item_type(item) == MESSAGE and item.get("role") == "user"


def is_same_prompt(one: Json, other: Json) -> bool:
    """Tell whether two messages of the user say the same, with the same pictures and files."""
    return is_prompt(one) and bool(message_text(one).strip()) and _prompt_content(one) == _prompt_content(other)


def _prompt_content(item: Json) -> tuple[str, Sequence[Json]]:
    parts = [part for part in objects_in(item.get("content")) if "text" not in part]
    return message_text(item).strip(), parts


def _find_prompts_made_single(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the user messages that stand once before an answer to both of two."""
    for length, key in enumerate(request.item_keys):
        reply = history.doubled_prompts.get(request.digests[length])
        if reply and reply.is_completed and key in map(item_key, reply.output):
            items = [item for _, item in reply.request.placed_items][-2:]
            if len(items) == 2 and is_same_prompt(*items) and (new := request.items_after(length - 1)):
                yield _doubling_facts(*new[0], reply.request.number, request.number, "once", "twice in a row")


def _doubling_facts(place: str, item: Json, said: int, number: int, here: str, there: str) -> LossFacts:
    return {"at": place, "said": said, "what": describe_item(item), "number": number, "here": here, "there": there}


@loss(
    message="the user's {what} stands twice in a row, after what was said in exchange {said}",
    fix="Append a message of the user to the history once, unless it was said twice.",
    strict=True,
    loses=[ask([PROMPT], [PROMPT, assistant(TEXT), NEXT, NEXT], turns=[REPLY])],
    keeps=[
        ask([PROMPT], [PROMPT, assistant(TEXT), user("no"), user("no")], turns=[REPLY]),
        ask([PROMPT], [PROMPT, assistant(TEXT), PROMPT], turns=[REPLY]),
    ],
)
def prompt_repeated(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A message of the user stands twice in a row, and no other request tells whether it was said twice."""
    for length, place, item in _find_repeated_prompts(request):
        known = history.by_input.get(request.digests[length])
        if history.replies and not known and len(message_text(item).strip()) >= SHORTEST_REPEATED:
            yield {"at": place, "said": history.replies[-1].number, "what": describe_item(item)}

"""User messages in a transcript that a client sends again: each must keep its place and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.analysis.history.history import History
from harness.analysis.history.items import MESSAGE, ItemKey, describe_item, item_key, item_type, message_text
from harness.analysis.history.request import HistoryReply, HistoryRequest
from harness.analysis.history.similar_text import letters_of
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, NEXT, PROMPT, REPLY, TEXT, ask, assistant, call, output, user
from harness.analysis.losses.history import UNMISTAKABLE_LENGTH
from harness.analysis.losses.text import PRINTED_NOTHING
from harness.contract.rule import after
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.core.text import quote
from harness.items import message

MOST_ORIGINALS = 8
"""The maximum number of replies with the same text, the latest ones, that are compared."""
_PRINTED_PARTS = re.compile(r"""\[?\{\s*['"]""")
_PRINTED_PICTURE = re.compile(r"""\{\s*['"]type['"]\s*:\s*['"]input_(?:image|file|audio)['"]""")
_TEXT_PART: Json = {"type": "input_text", "text": "What is it?"}
_PICTURE: Json = {"type": "input_image", "image_url": "https://example.org/a.png"}
_TOLD = "The operators know of it, all of them."
_TOLD_REPLY, _LAST = message(_TOLD), user("Thanks.")
_TURNS = [REPLY, _TOLD_REPLY]
_FIX = "Append each user message to the history as it was sent, before its answer."


def _third_request(*prompt: Json) -> list[Json]:
    """Build a third request, with `prompt` in place of the second user message."""
    return [PROMPT, assistant(TEXT), *prompt, assistant(_TOLD), _LAST]


def _talk(*prompt: Json) -> tuple[list[Json], ...]:
    return [PROMPT], [PROMPT, assistant(TEXT), NEXT], _third_request(*prompt)


class _Turn(NamedTuple):
    """A reply to the user in a transcript; `was` are the keys of the user messages before it in the original request.

    `start` and `end` delimit the keys of the user messages before it in this request.
    """

    reply: HistoryReply
    start: int
    end: int
    was: Sequence[ItemKey]


@loss(
    message="the user's {what} from exchange {said} is {gone} a history that has {rest}",
    fix=_FIX,
    loses=[
        ask(*_talk(), turns=_TURNS),
        ask(*_talk(user("")), turns=_TURNS),
        ask([PROMPT], [user([{"type": "input_text", "text": ""}]), assistant(TEXT), NEXT], turns=[REPLY]),
        ask([PROMPT], [user([]), assistant(TEXT), NEXT], turns=[REPLY]),
        ask([user([_TEXT_PART, _PICTURE])], [user([_PICTURE]), assistant(TEXT), NEXT], turns=[REPLY]),
        ask([PROMPT], [user(" "), call(), output()], turns=[DEPLOY]),
        ask([PROMPT], [call(), output()], turns=[DEPLOY]),
    ],
    keeps=[
        ask(*_talk(NEXT), turns=_TURNS),
        ask(*_talk(user("In other words.")), turns=_TURNS),
        ask(*_talk()[:2], [assistant(TEXT), NEXT, assistant(_TOLD), _LAST], turns=_TURNS),
        ask(
            *_talk()[:2], [user(f"I asked: {NEXT['content']}"), assistant(TEXT), assistant(_TOLD), _LAST], turns=_TURNS
        ),
        ask([PROMPT], [assistant(TEXT), NEXT], turns=[REPLY]),
        ask([PROMPT, user("It is noon.")], [PROMPT, assistant(TEXT), NEXT], turns=[REPLY]),
        ask(
            [PROMPT],
            [PROMPT, call(), output(), user("Answer now.")],
            [PROMPT, call(), output(), assistant(TEXT), NEXT],
            turns=[DEPLOY, REPLY],
        ),
        ask(
            [PROMPT],
            [PROMPT, assistant(TEXT), NEXT, user("It is noon.")],
            _third_request(NEXT),
            turns=_TURNS,
        ),
        after(
            {"input": [PROMPT], "instructions": "You plan."},
            {"input": [call(), output()], "instructions": "You run operations."},
            turns=[DEPLOY],
        ),
        ask([PROMPT], [call(), output()], turns=[DEPLOY], instructions=f"The user said: {PROMPT['content']}"),
    ],
)
def prompt_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A user message is missing or empty between two replies or before a tool loop.

    It counts for the same agent, if no user message is left between these replies and no other message contains its
    text. A history may lose its beginning, and a client may remove a message that it added to those of the user.
    """
    for turn in _find_turns(request, history):
        # Another agent may be told a part of the conversation, or a summary of it.
        if not turn.reply.request.is_same_agent(request):
            continue
        for place, now, back in _find_changed_prompts(turn, request):
            if not now:
                yield {"at": place, "gone": "empty in", "rest": "its answer", **_facts(turn, -back)}
        rest = _describe_rest(turn, request)
        if rest and not any(_is_told(text, request, history) for _, text in turn.was):
            yield {"at": _place(turn, request), "gone": "missing from", "rest": rest, **_facts(turn, -1)}


def _describe_rest(turn: _Turn, request: HistoryRequest) -> str:
    """Describe what is left around the lost user message; empty if the history may have lost its beginning."""
    if turn.start < turn.end:
        return ""
    if turn.start:
        is_answered = request.item_keys[turn.start - 1][0] == "assistant" and _goes_on(turn, request)
        return "the answers before and after it" if is_answered else ""
    kinds = [key[0] for key in request.item_keys]
    return "the call that followed it, and no user message" if kinds[0] == "call" and "user" not in kinds else ""


@loss(
    message="the user's {what} from exchange {said} {how}",
    fix=_FIX,
    loses=[
        ask(*_talk(user("[object Object]")), turns=_TURNS),
        ask([PROMPT], [user(f"{PROMPT['content']} {_PICTURE}"), assistant(TEXT), NEXT], turns=[REPLY]),
        ask(*_talk(user(str([{"type": "input_text", "text": NEXT["content"]}]))), turns=_TURNS),
        ask(*_talk(assistant(NEXT["content"])), turns=_TURNS),
        ask(*_talk({**NEXT, "role": "developer"}), turns=_TURNS),
        ask(*_talk()[:2], [PROMPT, assistant(TEXT), assistant(_TOLD), NEXT, _LAST], turns=_TURNS),
    ],
    keeps=[
        ask(*_talk(NEXT), turns=_TURNS),
        ask(*_talk(user("[left out]")), turns=_TURNS),
        ask([user("None")], [user("None"), assistant(TEXT), NEXT], turns=[REPLY]),
        ask([PROMPT], [assistant(TEXT), PROMPT], turns=[REPLY]),
    ],
)
def prompt_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A user message comes back as a printed value, with another role, or after the reply to it."""
    for turn in _find_turns(request, history):
        if turn.reply.request.is_same_agent(request):
            for place, now, back in _find_changed_prompts(turn, request):
                if _is_printed(turn.was[-back][1], now):
                    yield {"at": place, "how": f"is now a printed value: {quote(now, 80)}", **_facts(turn, -back)}
        if turn.start == turn.end and (how := _describe_other_place(turn, request)):
            yield {"at": _place(turn, request), "how": how, **_facts(turn, -1)}


@loss(
    message="the user's {what} from exchange {said} comes back reworded: {now}",
    fix=_FIX,
    strict=True,
    loses=[ask(*_talk(user("In other words.")), turns=_TURNS), ask(*_talk(user("And")), turns=_TURNS)],
    keeps=[ask(*_talk(NEXT), turns=_TURNS), ask([PROMPT], [NEXT, assistant(TEXT), _LAST], turns=[REPLY])],
)
def prompt_edited(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A user message comes back with another text; a client may have added something to it for one request."""
    for turn in _find_turns(request, history):
        if turn.start and turn.reply.request.is_same_agent(request):
            for place, now, back in _find_changed_prompts(turn, request):
                if now and not _is_printed(turn.was[-back][1], now):
                    yield {"at": place, "now": quote(now, 80), **_facts(turn, -back)}


def _find_turns(request: HistoryRequest, history: History) -> Iterator[_Turn]:
    """Find the replies in a transcript whose preceding user messages differ from those of the original request."""
    if request.is_chained or request.is_compacted or not history.replies:
        return
    keys = request.item_keys
    _, index = history.find_continued(request)  # all before it equals the earlier request
    start = index - next((back for back in range(index) if keys[index - 1 - back][0] != "user"), index)
    for _, item in request.items_after(index):
        if (key := item_key(item)) is None:
            continue
        if key[0] in ("assistant", "call"):
            for original in reversed(history.find_originals(item)[-MOST_ORIGINALS:]):
                was = original.reply.request.last_prompts
                if was and next(filter(None, map(item_key, original.reply.output)), None) == key:
                    if was != keys[start:index]:
                        yield _Turn(original.reply, start, index, was)
                    break
        index += 1
        if keys[index - 1][0] != "user":
            start = index


def _goes_on(turn: _Turn, request: HistoryRequest) -> bool:
    """Return whether the user messages follow the same transcript as in the original request."""
    before = turn.reply.request
    length = len(before.item_keys) - len(turn.was)
    if before.digests[length] == request.digests[turn.start]:
        return True
    # A history that lost its beginning is still the same if a long message precedes the user's.
    last = request.item_keys[turn.start - 1 : turn.start]
    return bool(length and last) and last[0] == before.item_keys[length - 1] and len(last[0][1]) >= UNMISTAKABLE_LENGTH


def _find_changed_prompts(turn: _Turn, request: HistoryRequest) -> Iterator[tuple[str, str, int]]:
    """Find the user messages before a reply whose text changed: place, text, and position counted back from the reply.

    Yields nothing if their number changed, or if they follow another transcript.
    """
    count = turn.end - turn.start
    # With another number of messages it is not known which became which.
    if count != len(turn.was) or not _goes_on(turn, request):
        return
    new = [placed for placed in request.items_after(turn.start) if item_key(placed[1])][:count]
    for back, ((place, item), was) in enumerate(zip(new[::-1], turn.was[::-1], strict=True), 1):
        now = message_text(item).strip()
        if was[1] and now != was[1]:
            yield place, now, back


def _place(turn: _Turn, request: HistoryRequest) -> str:
    return request.items_after(turn.end)[0][0]


def _facts(turn: _Turn, index: int) -> Json:
    prompts = [item for item in turn.reply.request.transcript.items if (key := item_key(item)) and key[0] == "user"]
    return {"said": turn.reply.request.number, "what": describe_item(prompts[index])}


def _is_told(text: str, request: HistoryRequest, history: History) -> bool:
    letters = letters_of(text)
    in_instructions = letters in letters_of(as_string(request.body.get("instructions")))
    return in_instructions or history.told.is_held(letters, request.message_letters)


def _is_printed(was: str, now: str) -> bool:
    """Return whether a text is what a program prints for a missing value, or for the parts of a message."""
    if was in PRINTED_NOTHING or _PRINTED_PARTS.match(was):
        return False
    is_list = bool(_PRINTED_PARTS.match(now)) and was in now and now[-1] in "}]"
    return now in PRINTED_NOTHING or is_list or bool(_PRINTED_PICTURE.search(now) and not _PRINTED_PICTURE.search(was))


def _describe_other_place(turn: _Turn, request: HistoryRequest) -> str:
    """Describe where the only user message before a reply went; empty if it is nowhere."""
    before = turn.reply.request
    # One of several messages, or a message to another agent, may be elsewhere on purpose.
    if len(turn.was) != 1 or before.tool_names != request.tool_names:
        return ""
    text, keys, length = turn.was[0][1], request.item_keys, len(before.item_keys) - 1
    if not text:
        return ""
    if (
        turn.end
        and keys[turn.end - 1] == ("assistant", text)
        and before.digests[length] == request.digests[turn.end - 1]
    ):
        return "comes back as an assistant message"
    if before.digests[length] != request.digests[turn.end]:
        return ""
    said = [key for item in turn.reply.output if (key := item_key(item))]
    if length and list(keys[turn.end : turn.end + len(said) + 1]) == [*said, turn.was[0]]:
        return "comes after its answer"
    for _, item in reversed(request.placed_items[: len(request.placed_items) - len(request.items_after(turn.end)) + 2]):
        role = as_string(item.get("role"))
        if item_type(item) == MESSAGE and role in INSTRUCTION_ROLES and message_text(item).strip() == text:
            return f"comes back as a {role} message"
    return ""

"""User messages in a transcript that a client sends again: each must keep its place and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from harness.analysis.history.history import History
from harness.analysis.history.items import MESSAGE, ItemKey, describe_item, item_key, item_type, message_text
from harness.analysis.history.request import HistoryReply, HistoryRequest
from harness.analysis.history.text_index import letters_of
from harness.analysis.lanes import INSTRUCTION_ROLES, mask_dates_and_ids
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, NEXT, PROMPT, REPLY, TEXT, ask, assistant, call, output, user
from harness.analysis.losses.history import UNMISTAKABLE_LENGTH
from harness.analysis.losses.text import ELLIPSIS, PRINTED_NOTHING
from harness.contract.rule import after
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.core.text import quote
from harness.items import message

MOST_ORIGINALS = 8
"""The maximum number of replies with the same text, the latest ones, that are compared."""
MOST_WORDS, LEAST_KEPT_WORDS, LEAST_KEPT_LETTERS = 2000, 0.5, 0.8
"""The maximum number of words compared; the least share of words, or of a single word's letters, kept by an edit."""
_WORD = re.compile(r"\w+")
_MASK = re.compile(r"\[[^\]]*\]|<[^>]*>|[*█]+|_{3,}|x{3,}", re.I)
"""Matches what stands for words that were left out on purpose."""
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
    """User messages are missing or empty between two replies or before a tool loop.

    It counts for the same agent, if no user message is left between these replies and no other message contains its
    text. A history may lose its beginning, and a client may remove a message that it added to those of the user.
    """
    for turn in _find_turns(request, history):
        # Another agent may be told a part of the conversation, or a summary of it.
        if not history.is_same_agent(turn.reply.request, request):
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
        ask([PROMPT], [user("Ship v3, please."), assistant(TEXT), NEXT], turns=[REPLY]),
        ask(*_talk(PROMPT), turns=_TURNS),
    ],
    keeps=[
        ask(*_talk(NEXT), turns=_TURNS),
        ask(*_talk(user("[left out]")), turns=_TURNS),
        ask([PROMPT], [user("Ship *, please."), assistant(TEXT), NEXT], turns=[REPLY]),
        ask([PROMPT], [user("Ship v2, please. It is noon."), assistant(TEXT), NEXT], turns=[REPLY]),
        ask([PROMPT, user("It is 10:05.")], [PROMPT, user("It is 10:06."), assistant(TEXT), NEXT], turns=[REPLY]),
        ask([user("None")], [user("None"), assistant(TEXT), NEXT], turns=[REPLY]),
        ask([PROMPT], [assistant(TEXT), PROMPT], turns=[REPLY]),
    ],
)
def prompt_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages come back with other words, as a printed value, with another role, or after the reply to it.

    Words that were added or removed at an end, masked or cut off with an ellipsis may be meant, and so may other dates
    and ids; then it is `prompt-edited`.
    """
    for turn in _find_turns(request, history):
        if history.is_same_agent(turn.reply.request, request):
            for place, now, back in _find_changed_prompts(turn, request):
                if how := _describe_change(turn.was[-back][1], now, turn.reply.request):
                    yield {"at": place, "how": how, **_facts(turn, -back)}
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
    """User messages come back with another text; a client may have added something to it for one request."""
    for turn in _find_turns(request, history):
        if history.is_same_agent(turn.reply.request, request):
            for place, now, back in _find_changed_prompts(turn, request):
                was = turn.was[-back][1]
                # The first message may begin another conversation, in which the model gave the same answer.
                is_first = not turn.start and not (was in now or now in was)
                if now and not is_first and not _describe_change(was, now, turn.reply.request):
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
    return in_instructions or history.told.appears_in(letters, request.message_letters)


def _describe_change(was: str, now: str, before: HistoryRequest) -> str:
    """Describe how the words of a user message were changed; empty if the client may have meant it."""
    if _is_printed(was, now):
        return f"is now a printed value: {quote(now, 80)}"
    if ("user", now) in before.item_keys and was != now:
        return f"is now another message of the user: {quote(now, 80)}"
    return f"has other words: {quote(now, 80)}" if _is_reworded(was, now) else ""


def _is_reworded(was: str, now: str) -> bool:
    """Return whether words within a text were replaced, removed or added, while most of the others are the same."""
    old, new = (_WORD.findall(mask_dates_and_ids(text.casefold())) for text in (was, now))
    if len(old) > MOST_WORDS or ELLIPSIS.search(now) or {*_MASK.findall(now)} - {*_MASK.findall(was)}:
        return False
    if len(old) == len(new) == 1:
        return old != new and SequenceMatcher(None, *old, *new).ratio() >= LEAST_KEPT_LETTERS
    words = SequenceMatcher(None, old, new, autojunk=False)
    # Text around the user's words, such as documents, may come and go.
    return words.ratio() >= LEAST_KEPT_WORDS and any(
        kind == "replace" or (kind != "equal" and start > 0 and end < len(old))
        for kind, start, end, _, _ in words.get_opcodes()
    )


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

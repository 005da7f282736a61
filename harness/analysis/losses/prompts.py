"""User messages in a transcript that a client sends again: each must keep its place and its text."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple
from unicodedata import normalize

from harness.analysis.history.history import History
from harness.analysis.history.items import MESSAGE, ItemKey, describe_item, item_key, item_type, message_text
from harness.analysis.history.repetitions import UNMISTAKABLE_LENGTH
from harness.analysis.history.request import HistoryReply, HistoryRequest
from harness.analysis.history.text_damage import ELLIPSIS, describe_encoding, is_printed
from harness.analysis.history.text_index import letters_of
from harness.analysis.lanes import INSTRUCTION_ROLES, mask_dates_and_ids
from harness.analysis.loss import NEXT, PROMPT, TEXT, LossFacts, ask, asks, assistant, loss, user
from harness.analysis.losses.instructions import instructions_dropped
from harness.analysis.losses.turns import find_other_roles
from harness.analysis.losses.user_messages import is_prompt
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote
from harness.items import message

MOST_ORIGINALS = 8
"""The maximum number of replies with the same text, the latest ones, that are compared."""
MOST_WORDS, LEAST_KEPT_WORDS, LEAST_KEPT_LETTERS = 2000, 0.5, 0.8
"""The maximum number of words compared; the least share of words, or of a single word's letters, kept by an edit."""
MOST_SHORT_WORDS, MOST_SHORT_LETTERS = 3, 20
"""The size of a message that is too short to be summarized or completed: other words in its place are a mistake."""
MOST_PREFIX_WORDS = 3
"""The most words that are added or removed before a message as if they were part of it; more are a template."""
_WORD = re.compile(r"\w+")
_MASK = re.compile(r"\[[^\]]*\]|\([^)]*\)|<[^>]*>|[*█]+|_{3,}|x{3,}|\b(?:redacted|omitted|removed|hidden)\b", re.I)
"""Matches what stands for words that were left out on purpose."""
_AMOUNT = re.compile(r"(?<![\d.:/-])\d{5,8}(?![\d:/-])")
"""Matches a number that is too short for a time or a generated id."""
_ENDS = re.compile(r"""[.:?!…>)\]}|"'`。？！：]\s*$|\n\s*$|^[@/#]\S+\s*$""")
_STARTS = re.compile(r"""^\s*\n|^\s*[<>()\[\]{}|"'`@#—–]|^[.:?!…](?:\s|$)|^[。？！：]""")
_PUNCTUATION = ".:?!…。？！： "
"""What ends or starts a part of a text, such as a sentence, a paragraph, a tag or a name before a colon."""
_RULES: Json = {"role": "developer", "content": "You run operations."}
_TEXT_PART: Json = {"type": "input_text", "text": "What is it?"}
_PICTURE: Json = {"type": "input_image", "image_url": "https://example.org/a.png"}

_FIX = "Append each user message to the history as it was sent, before its answer."


def _talk(*prompt: Json) -> Case:
    """Build an example of three requests, the last with `prompt` in place of the second user message."""
    return ask("P > A", "P A N > A3", ["P A", *prompt, "A3 N3"])


class _Turn(NamedTuple):
    """A reply to the user in a transcript; `was` are the keys of the user messages before it in the original request.

    `start` and `end` delimit the keys of the user messages before it in this request. `is_certain` says that the reply
    is not another with the same text.
    """

    reply: HistoryReply
    start: int
    end: int
    was: Sequence[ItemKey]
    is_certain: bool

    @property
    def prompts(self) -> Sequence[Json]:
        """The user messages before the reply in the original request."""
        said = (item for item in reversed(self.reply.request.transcript.items) if is_prompt(item))
        return list(islice(said, len(self.was)))[::-1]


@loss(
    message="the user's {what} from exchange {said} is {gone} a history that has {rest}",
    fix=_FIX,
    loses=[
        _talk(),
        _talk(user("")),
        ask("P > A", [user([{"type": "input_text", "text": ""}]), "A N"]),
        ask("P > A", [user([]), "A N"]),
        ask([user([_TEXT_PART, _PICTURE]), "> A"], [user([_PICTURE]), "A N"]),
        ask("P > C", [user(" "), "C O"]),
        ask("P > C", "C O"),
    ],
    keeps=[
        _talk(NEXT),
        _talk(user("In other words: is it live?")),
        *asks("P > A | P A N > A3 | A N A3 N3; P > A | A N"),
        ask("P > A", "P A N > A3", [user(f"I asked: {NEXT['content']}"), "A A3 N3"]),
        ask(["P", user("It is noon."), "> A"], "P A N"),
        ask("P > C", ["P C O", user("Answer now."), "> A"], "P C O A N"),
        ask("P > A", ["P A N", user("It is noon."), "> A3"], "P A N A3 N3"),
        ask("P > C", "C O", by=("plan", "run operations")),
        ask("P > C", "C O", instructions=f"The user said: {PROMPT['content']}"),
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
        for place, item, original in _find_changed_prompts(turn, request):
            if not message_text(item).strip():
                yield {"at": place, "gone": "empty in", "rest": "its answer", **_facts(turn, original)}
        rest = _describe_rest(turn, request)
        if rest and not any(_is_told(text, request, history) for _, text in turn.was):
            yield {"at": _place(turn, request), "gone": "missing from", "rest": rest, **_facts(turn, turn.prompts[-1])}


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
        _talk(user("[object Object]")),
        _talk(user('"And now?"')),
        ask("P > A", [user(f"{PROMPT['content']} {_PICTURE}"), "A N"]),
        _talk(user(str([{"type": "input_text", "text": NEXT["content"]}]))),
        _talk(assistant(NEXT["content"])),
        _talk({**NEXT, "role": "developer"}),
        *asks("P > A | P A N > A3 | P A A3 N N3; P > A | A P N"),
        ask("P > A", [user("Ship v3, please."), "A N"]),
        ask("P > A", [user("Ship v2, please, and v3"), "A N"]),
        ask([user("Ship v2 to test"), "> C"], [user("Ship v2"), "C O"]),
        ask([user("Do not ship it"), "> A"], [user("ship it"), "A N"]),
        ask([user("Yes."), "> A"], [user("No."), assistant(TEXT, id="{0.output.0.id}"), "N"]),
        ask([user("Pay 10000."), "> A"], [user("Pay 90000."), "A N"]),
        _talk(user("And")),
        _talk(PROMPT),
        ask("P > C", [user("Ship v3, please."), "C O"], by=("route", "plan")),
    ],
    keeps=[
        _talk(NEXT),
        _talk(user("[left out]")),
        ask("P > A", [user("Ship *, please."), "A N"]),
        ask("P > A", [user("Ann: Ship v2, please."), "A N"]),
        ask([user("Use the notes: it is live.\n\nIs it?"), "> A"], [user("Is it?"), "A N"]),
        ask([user("Yes."), ">", message("Ok.")], [user("No."), assistant("Ok."), "N"]),
        ask("P > A", [user("Ship v2, please. It is noon."), "A N"]),
        ask(["P", user("It is 10:05."), "> A"], ["P", user("It is 10:06."), "A N"]),
        ask([user("None"), "> A"], [user("None"), "A N"]),
        ask("P > A", "A P"),
    ],
)
def prompt_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages come back with other words, as a printed value, with another role, or after the reply to them.

    Sentences, paragraphs or names that were added or removed at an end, words that are masked or cut off with an
    ellipsis, and other dates and ids may be meant, and so may other words for a long message; then it is
    `prompt-edited`.
    """
    for turn in _find_turns(request, history):
        # An agent to which another hands over is sent the same messages.
        if turn.is_certain or history.is_same_agent(turn.reply.request, request):
            for place, item, original in _find_changed_prompts(turn, request):
                if how := _describe_change(turn, original, item):
                    yield {"at": place, "how": how, **_facts(turn, original)}
        if turn.start == turn.end and (how := _describe_other_place(turn, request)):
            yield {"at": _place(turn, request), "how": how, **_facts(turn, turn.prompts[-1])}


@loss(
    message="the {role}'s {what} from exchange {said} comes back {how}",
    fix="Append each message to the history as it was sent, with its role, before its answer.",
    strict=True,
    unless=["prompt-altered", "history-replayed"],
    loses=[
        _talk(user("In other words: is it live?")),
        ask("P > A", [user("Ship v2, please. It is noon."), "A N"]),
        ask([_RULES, "P > A"], [user(_RULES["content"]), "P A N"]),
        ask(["P", _RULES, "> A"], ["P", user(_RULES["content"]), "A N"], instructions="You plan."),
        ask("N P > A", [{**NEXT, "role": "developer"}, "P A N3"]),
    ],
    keeps=[
        _talk(NEXT),
        ask(["P >", message("Ok.")], ["N", assistant("Ok."), "N3"]),
        ask([_RULES, "P > A"], [{**_RULES, "role": "system"}, "P A N"]),
        ask([_RULES, "P > A"], [user(_RULES["content"])]),
    ],
)
def prompt_edited(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """User messages come back with another text, or as instructions, or instructions as user messages.

    A client may have added something to a message for one request, or changed its role on purpose.
    """
    for turn in _find_turns(request, history):
        if history.is_same_agent(turn.reply.request, request):
            for place, item, original in _find_changed_prompts(turn, request):
                was, now = (message_text(message).strip() for message in (original, item))
                is_certain = turn.is_certain or was in now or now in was
                if now and is_certain:
                    yield {"at": place, "role": "user", "how": f"reworded: {quote(now, 80)}", **_facts(turn, original)}
    # Instructions that became a user message are missing as such.
    if not any(instructions_dropped(request, history)):
        yield from find_other_roles(request, history)


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
        if key[0] in ("assistant", "call") and (turn := _find_turn(item, key, start, index, request, history)):
            yield turn
        index += 1
        if keys[index - 1][0] != "user":
            start = index


def _find_turn(
    item: Json, key: ItemKey, start: int, end: int, request: HistoryRequest, history: History
) -> _Turn | None:
    """Find the reply that an item repeats, if other user messages preceded it; of equal replies, its transcript's."""
    originals = history.find_originals(item)[-MOST_ORIGINALS:]
    is_certain = start > 0 or as_string(item.get("id")) in history.by_id
    if start == 0 and history.by_input.get(request.digests[end]):
        return None  # the user messages are those of a request, so what differs is its answer
    if not is_certain and len(originals) == 1:
        # A first message may begin another conversation, in which the model gave an answer with the same text.
        is_latest = originals[0].reply is history.replies[-1] and len(key[1]) >= UNMISTAKABLE_LENGTH
        is_certain = key[0] == "call" or is_latest
    turns = [
        _Turn(original.reply, start, end, was, is_certain)
        for original in reversed(originals)
        if (was := original.reply.request.last_prompts)
        and next(filter(None, map(item_key, original.reply.output)), None) == key
    ]
    here = [turn for turn in turns if _goes_on(turn, request)]
    if any(turn.was == request.item_keys[start:end] for turn in here or turns[:1]):
        return None
    return next(iter(here or turns), None)


def _goes_on(turn: _Turn, request: HistoryRequest) -> bool:
    """Return whether the user messages follow the same transcript as in the original request."""
    before = turn.reply.request
    length = len(before.item_keys) - len(turn.was)
    if before.digests[length] == request.digests[turn.start]:
        return True
    # A history that lost its beginning is still the same if a long message precedes the user's.
    last = request.item_keys[turn.start - 1 : turn.start]
    return bool(length and last) and last[0] == before.item_keys[length - 1] and len(last[0][1]) >= UNMISTAKABLE_LENGTH


def _find_changed_prompts(turn: _Turn, request: HistoryRequest) -> Iterator[tuple[str, Json, Json]]:
    """Find the user messages before a reply whose text changed: place, message, and the original.

    Yields nothing if their number changed, or if they follow another transcript.
    """
    count = turn.end - turn.start
    # With another number of messages it is not known which became which.
    if count != len(turn.was) or not _goes_on(turn, request):
        return
    new = list(islice((placed for placed in request.items_after(turn.start) if item_key(placed[1])), count))
    for (place, item), original in zip(new[::-1], turn.prompts[::-1], strict=True):
        if (was := message_text(original).strip()) and message_text(item).strip() != was:
            yield place, item, original


def _place(turn: _Turn, request: HistoryRequest) -> str:
    return request.items_after(turn.end)[0][0]


def _facts(turn: _Turn, original: Json) -> Json:
    return {"said": turn.reply.request.number, "what": describe_item(original)}


def _is_told(text: str, request: HistoryRequest, history: History) -> bool:
    letters = letters_of(text)
    in_instructions = letters in letters_of(as_string(request.body.get("instructions")))
    return in_instructions or history.messages.appears_in(letters, request.message_letters)


def _describe_change(turn: _Turn, original: Json, item: Json) -> str:
    """Describe how the words of a user message were changed; empty without words, or if it may be meant."""
    was, now = (message_text(message).strip() for message in (original, item))
    if not now:
        return ""
    if is_printed(was, now):
        return f"is now a printed value: {quote(now, 80)}"
    if ("user", now) in turn.reply.request.item_keys and was != now:
        return f"is now another message of the user: {quote(now, 80)}"
    if how := describe_encoding(was, now):
        return f"comes back {how}: {quote(now, 80)}"
    is_changed = _is_reworded(was, now) or (
        # A part beside that of the user is a document or another context.
        not _has_part(item, was)
        and not _has_part(original, now)
        and (_is_extended(was, now) or (turn.is_certain and _is_exchanged(was, now)))
    )
    return f"has other words: {quote(now, 80)}" if is_changed else ""


def _has_part(item: Json, text: str) -> bool:
    return any(as_string(part.get("text")).strip() == text for part in objects_in(item.get("content")))


def _is_reworded(was: str, now: str) -> bool:
    """Return whether words within a text were replaced, removed or added, while most of the others are the same."""
    texts = [normalize("NFC", text.casefold()) for text in (was, now)]
    old, new = (_WORD.findall(mask_dates_and_ids(text)) for text in texts)
    if len(old) > MOST_WORDS or _is_masked(was, now):
        return False
    if old == new:
        return _AMOUNT.findall(was) != _AMOUNT.findall(now)
    if len(old) == len(new) == 1:
        return SequenceMatcher(None, *old, *new).ratio() >= LEAST_KEPT_LETTERS
    words = SequenceMatcher(None, old, new, autojunk=False)
    # Text around the user's words, such as documents, may come and go.
    return words.ratio() >= LEAST_KEPT_WORDS and any(
        kind == "replace" or (kind != "equal" and start > 0 and end < len(old))
        for kind, start, end, _, _ in words.get_opcodes()
    )


def _is_extended(was: str, now: str) -> bool:
    """Return whether words of a sentence were added or removed at an end of a text."""
    whole, part = (now, was.rstrip(_PUNCTUATION)) if len(was) < len(now) else (was, now.rstrip(_PUNCTUATION))
    before, found, after = whole.partition(part) if part else (whole, "", "")
    if not found or _is_masked(was, now) or (before and after.strip(_PUNCTUATION)):
        return False
    if before:
        is_short = len(before.split()) <= MOST_PREFIX_WORDS
        return is_short and bool(letters_of(before)) and not _ENDS.search(before)
    # A sentence that was cut by mistake has no end.
    return bool(letters_of(after)) and not _STARTS.search(after) and not (whole is was and _ENDS.search(now))


def _is_exchanged(was: str, now: str) -> bool:
    """Return whether a text that is too short for a summary became another such text."""
    if any(len(text) > MOST_SHORT_LETTERS or len(text.split()) > MOST_SHORT_WORDS for text in (was, now)):
        return False
    old, new = (letters_of(mask_dates_and_ids(normalize("NFC", text))) for text in (was, now))
    is_kept = old in new or new in old if old and new else was in now or now in was
    return not is_kept and not _is_masked(was, now)


def _is_masked(was: str, now: str) -> bool:
    """Return whether a text has a mark in place of words that were left out on purpose."""
    return bool(ELLIPSIS.search(now) or {*_MASK.findall(now)} - {*_MASK.findall(was)})


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
    behind = turn.end + len(said) + 1
    # A single message after the only answer may be a new one with the same words.
    if (length or len(keys) > behind) and list(keys[turn.end : behind]) == [*said, turn.was[0]]:
        return "comes after its answer"
    for _, item in reversed(request.placed_items[: len(request.placed_items) - len(request.items_after(turn.end)) + 2]):
        role = as_string(item.get("role"))
        if item_type(item) == MESSAGE and role in INSTRUCTION_ROLES and message_text(item).strip() == text:
            return f"comes back as a {role} message"
    return ""

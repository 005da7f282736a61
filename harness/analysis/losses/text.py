"""Texts of the assistant: neither doubled nor cut off, with their `phase`, and a refusal as such."""

import html
import json
from collections.abc import Iterator, Sequence
from itertools import takewhile

from harness.analysis.history.history import History
from harness.analysis.history.items import is_assistant, message_text
from harness.analysis.history.request import LEFT, HistoryRequest, OutputItem, PlacedItem, SaidText
from harness.analysis.history.text_damage import CUT_OFF, describe_damage
from harness.analysis.history.text_index import letters_of
from harness.analysis.loss import TEXT, LossFacts, ask, assistant, body, chained, loss, user
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote
from harness.faults import cut
from harness.items import message, refusal


def _sent_back_case(sent: str, **members: str) -> Case:
    return ask("P > A", ["P", assistant(sent, **members), "N"])


def _sent_back_by_id(sent: str) -> Case:
    return _sent_back_case(sent, id="{0.output.0.id}")


_FOREIGN = "The café is <open> from nine to five."
_PARTS = ("I deploy v2.", "The operators know about it.")
_TWO_PARTS = message(*_PARTS)
_BROKEN = cut(message([TEXT[:6], TEXT[6:]]), after=5)
_MESSAGE_WITH_PHASE = message(TEXT, phase="commentary")
_LAST = message("Done.", phase="final_answer")


@loss(
    message="{what} from exchange {said} comes back {how}: {now}",
    fix="Collect a text to its end, and only once: from its deltas with their white space, or from the event that "
    "closes it, not from both.",
    loses=[
        *map(_sent_back_by_id, (f"{TEXT}\n{TEXT}", TEXT[:20], TEXT[20:], "")),
        *map(_sent_back_case, (TEXT + TEXT, TEXT[:20], "", "[object Object]", "[blank text]", f"{TEXT[:6]}{TEXT}")),
        *map(_sent_back_case, (json.dumps(TEXT), str([TEXT]), str({"text": TEXT}), str(TEXT.encode()))),
        *map(_sent_back_case, (TEXT.replace("deploy v2 and ", ""), TEXT.replace(" ", ""), f"{TEXT[20:]} {TEXT[:20]}")),
        *map(_sent_back_case, ("#<Content::Raw:0x00007f2b92e95588>", "".join(2 * letter for letter in TEXT))),
        _sent_back_by_id("".join(f"{word} {word} " for word in TEXT.split())),
        ask(["P >", *map(message, _PARTS)], ["P", assistant(_PARTS[0]), assistant("".join(_PARTS)), "N"]),
        ask(*2 * [body("P", stream=True)], ["P", assistant(f"{TEXT[:6]}{TEXT}"), "N"], turns=[_BROKEN, "A"]),
        ask(["P >", message(refusal(TEXT))], ["P", assistant("(empty)"), "N"]),
        *(
            ask(["P >", message(_FOREIGN)], ["P", assistant(text), "N"])
            for text in (
                *(html.escape(_FOREIGN), _FOREIGN.encode().decode("cp1252"), _FOREIGN.replace("é", "")),
                *(_FOREIGN.replace("é", mark) for mark in ("?", "\ufffd\ufffd")),
            )
        ),
        *(ask(["P >", _TWO_PARTS], ["P", assistant(part), "N"]) for part in _PARTS),
        ask(["P >", message(_PARTS[0], refusal(_PARTS[1]))], ["P", assistant(_PARTS[0]), "N"]),
        ask("P > A", ["P", assistant(TEXT[:7]), assistant(TEXT[7:]), "N"]),
        ask(["P >", *map(message, _PARTS)], ["P", assistant(f"I deploy the {_PARTS[1][4:]} v2."), "N"]),
        *(
            ask(["P >", *map(message, _PARTS)], ["P", assistant(text), "N"])
            for text in (f"{_PARTS[0]}\n{_PARTS[0]}\n{_PARTS[1]}", f"{''.join(_PARTS)}{_PARTS[1]}", 2 * "".join(_PARTS))
        ),
    ],
    keeps=[
        *map(_sent_back_case, (TEXT, "[left out]", f"{TEXT[:20]}…")),
        *map(_sent_back_by_id, (f"{TEXT}\n", "Never mind.", f"{TEXT} It!", TEXT.replace("tell", "tellll"))),
        ask(["P >", *map(message, _PARTS)], ["P", assistant(" ".join(_PARTS)), "N"]),
        ask(["P >", *map(message, _PARTS)], ["P", assistant(_PARTS[1]), "N"]),
        ask(["P >", *map(message, _PARTS)], ["P", assistant(f"{_PARTS[0]} Yes, v2. {_PARTS[1]}"), "N"]),
        ask(["P >", message('{"v2": true}')], ["P", assistant('{"v2":true}'), "N"]),
        ask(["P >", message("Yes.\n\n- It is live")], ["P", assistant("Yes.- It is live"), "N"]),
        ask(["P >", message("I see. <aside>Or no?</aside>Yes.")], ["P", assistant("I see. Yes."), "N"]),
        ask(["P >", message(_FOREIGN)], ["P", assistant(_FOREIGN.replace("é", "e")), "N"]),
        ask(["P >", message("カフェは九時に開く。")], ["P", assistant("九時だ。"), "N"]),
        ask(["P >", message("I will.【1†v2】")], ["P", assistant("I will."), "P"]),
        ask(["P >", message("<thought>Or no?</thought>Yes.")], ["P", assistant("Yes."), "N"]),
        ask(["P >", message("Once.", "Twice.")], ["P", assistant("Once."), assistant("Twice.")]),
        ask(["P >", _TWO_PARTS], ["P", *map(assistant, _PARTS), "N"]),
        ask(["P >", _TWO_PARTS], ["P", assistant(" ".join(_PARTS)), "N"]),
        ask(["P >", _TWO_PARTS], ["P", assistant(_PARTS[0]), assistant("The operators know."), "N"]),
        ask("P > A", ["P", user(TEXT + TEXT)]),
    ],
)
def text_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Text of the assistant comes back doubled, cut, printed, encoded, as a placeholder, or with its words mixed up.

    A message is recognized by its id, or by its place after the same transcript. A client may remove citations, thoughts
    and whole paragraphs from a text, and shorten it with an ellipsis.
    """
    for place, item, original in _find_edited_messages(request, history):
        how = describe_damage(message_text(original.item), message_text(item))
        # A user may stop an answer, and keep what was shown of it.
        if how and not (how == CUT_OFF and original.reply.status == LEFT):
            yield _change_facts(place, item, original, how)
    yield from _find_regrouped(request, history)


def _find_regrouped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the one text that a client made of an answer's messages, repeated or mixed, or its message in pieces."""
    sent, originals = _find_turn_in_place(request, history)
    if len(sent) == len(originals) > 1:
        yield from _find_accumulated(sent, originals)
    elif len(sent) == 1 and len(originals) > 1:
        place, item = sent[0]
        texts, now = [letters_of(message_text(original.item)) for original in originals], letters_of(message_text(item))
        rest, joined = now, "".join(texts)
        for text in sorted(filter(None, texts), key=len, reverse=True):
            rest = rest.replace(text, "")
        if not rest and len(now) > len(joined):
            surplus = [now.count(text) - joined.count(text) if text else 0 for text in texts]
            yield _change_facts(place, item, originals[surplus.index(max(surplus))], "doubled")
        elif now != joined and sorted(now) == sorted(joined):
            yield _change_facts(place, item, originals[0], "mixed with the next")
    for original in originals if len(originals) == 1 < len(sent) else ():
        if _is_cut_up(message_text(original.item), [message_text(item).strip() for _, item in sent]):
            yield _change_facts(*sent[0], original, f"in {len(sent)} messages")


def _find_accumulated(sent: Sequence[PlacedItem], originals: Sequence[OutputItem]) -> Iterator[LossFacts]:
    """Find the messages of an answer that begin with the texts of those before them."""
    texts = [letters_of(message_text(original.item)) for original in originals]
    for index, ((place, item), original) in enumerate(zip(sent, originals, strict=True)):
        now, joined = letters_of(message_text(item)), ("".join(texts[first : index + 1]) for first in range(index))
        if now != texts[index] and now in joined:
            yield _change_facts(place, item, original, "after the text of another message")


def _is_cut_up(text: str, pieces: Sequence[str]) -> bool:
    """Return whether pieces are a whole text, cut elsewhere than after a sentence or a line, as on purpose."""
    is_cut, last = False, ""
    for piece in pieces:
        gap, found, text = text.partition(piece or " ")
        if letters_of(gap) or not found:
            return False
        is_cut, last = is_cut or (last[-1:].isalnum() and "\n" not in gap), piece
    return is_cut and not letters_of(text)


@loss(
    message="{what} from exchange {said} comes back {how}: {now}",
    fix="Send the assistant's text back unchanged.",
    strict=True,
    unless=["text-altered", "item-coerced", "reasoning-spoken"],
    loses=[_sent_back_by_id("Never mind."), _sent_back_case("I would rather not.")],
    keeps=[_sent_back_case(TEXT), _sent_back_by_id(f"{TEXT}\n")],
)
def text_edited(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Text of the assistant comes back reworded; a user may have edited it."""
    for place, item, original in _find_edited_messages(request, history):
        yield _change_facts(place, item, original, "reworded")


def _change_facts(place: str, item: Json, original: OutputItem, how: str) -> LossFacts:
    return original.lost(place, how=how, now=quote(message_text(item), 80))


def _find_edited_messages(request: HistoryRequest, history: History) -> Iterator[tuple[str, Json, OutputItem]]:
    """Find the messages that came back with another text, each with its original."""
    placed = dict(find_message_in_place(request, history))
    # Next to a text that is not known, a part that seems to be missing may only be reworded.
    are_known = all(message_text(item).strip() in history.by_text for _, item in request.assistant_messages)
    for place, item in request.assistant_messages:
        if (words := message_text(item).strip()) not in history.by_text:
            original = history.find_original(item) or placed.get(place)
        else:
            original = _find_left_alone(history.by_text[words], request) if are_known else None
        if original and words != message_text(original.item).strip():
            yield place, item, original


def _find_left_alone(said: SaidText, request: HistoryRequest) -> OutputItem | None:
    """Return the whole message if a text is one of its parts, and no message of the request has another part."""
    if len(said.originals) != 1:
        return None
    original = said.originals[0]
    whole = original.reply.output[original.index]
    texts = [text for part in objects_in(whole.get("content")) if (text := message_text({"content": [part]}).strip())]
    sent = [text for text in texts if letters_of(text) in request.message_letters] if len(texts) > 1 else ()
    return OutputItem(whole, original.reply, original.index) if len(sent) == 1 else None


def find_message_in_place(request: HistoryRequest, history: History) -> Iterator[tuple[str, OutputItem]]:
    """Find the place of the only message that follows the same transcript as the model's only message did."""
    sent, originals = _find_turn_in_place(request, history)
    if len(sent) == len(originals) == 1:
        yield sent[0][0], originals[0]


def _find_turn_in_place(
    request: HistoryRequest, history: History
) -> tuple[Sequence[tuple[str, Json]], Sequence[OutputItem]]:
    """Return the messages that follow the same transcript as those of the only answer to it did, and the latter."""
    replies, length = history.find_continued(request)
    # A client may try again until a response completes.
    replies = [reply for reply in replies if reply.is_completed] or replies
    turn = takewhile(lambda one: one[1].get("role") != "user", request.items_after(length))
    placed = [(place, item) for place, item in turn if is_assistant(item)]
    sent = [(place, item) for place, item in placed if message_text(item).strip()] or placed
    if len(replies) != 1:
        return sent, ()
    output = enumerate(replies[0].output)
    return sent, [OutputItem(item, replies[0], index) for index, item in output if is_assistant(item)]


@loss(
    message="phase {was} of the {what} from exchange {said} {became}",
    fix="Send the `phase` of each assistant message back unchanged.",
    loses=[
        ask(["P >", _MESSAGE_WITH_PHASE], "P A N"),
        ask(["P >", _MESSAGE_WITH_PHASE], ["P", assistant(TEXT, id="{0.output.0.id}"), "N"]),
        ask(["P >", _MESSAGE_WITH_PHASE], ["P", assistant(TEXT, phase="final_answer"), "N"]),
        ask(["P >", _MESSAGE_WITH_PHASE, _LAST], ["P", assistant(f"{TEXT}Done."), "N"]),
    ],
    keeps=[
        ask(["P >", _MESSAGE_WITH_PHASE], ["P", assistant(TEXT, phase="commentary"), "N"]),
        ask(["P >", _MESSAGE_WITH_PHASE], chained("N")),
        ask(["P >", _MESSAGE_WITH_PHASE], "P > A", "P A"),
        ask(["P >", _MESSAGE_WITH_PHASE, _LAST], ["P", assistant("Done.", phase="final_answer"), "N"]),
        _sent_back_case(TEXT),
    ],
)
def phase_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Assistant messages with a `phase` come back without it, or with another; several in one message have none."""
    for place, item in request.assistant_messages:
        said = history.find_said(item)
        phases = said.phases if said else {}
        joined = history.by_joined.get(letters_of(message_text(item))) if said is None else None
        if joined and not item.get("phase"):
            became = "is missing: it is in one message with the next"
            yield joined.lost(place, was=joined.item["phase"], became=became)
        if phases and "" not in phases and as_string(item.get("phase")) not in phases:
            became = f"is now {item['phase']}" if item.get("phase") else "is missing"
            was, original = next(reversed(phases.items()))
            yield original.lost(place, was=was, became=became)


_REFUSAL = "I will not ship it without a review."
_REFUSED = message(refusal(_REFUSAL))
_REFUSED_PART: Json = {"type": "refusal", "refusal": _REFUSAL}


@loss(
    message="{what} from exchange {said}, {was}, comes back as {now}",
    fix="Send each part of an assistant message back with its `type`: `output_text` or `refusal`.",
    loses=[
        ask(["P >", _REFUSED], ["P", assistant(_REFUSAL), "N"]),
        ask(["P >", _REFUSED], ["P", {"role": "assistant", "content": _REFUSAL}, "N"]),
        ask("P > A", ["P", assistant("", content=[{"type": "refusal", "refusal": TEXT}]), "N"]),
    ],
    keeps=[
        ask(["P >", _REFUSED], ["P", assistant("", content=[_REFUSED_PART]), "N"]),
        ask(["P >", message("I am sorry.", refusal("No."))], ["P", assistant("I am sorry.No."), "N"]),
        ask(["P >", _REFUSED], ["P >", message(_REFUSAL)], ["P", assistant(_REFUSAL), "N"]),
        _sent_back_case(TEXT),
    ],
)
def refusal_spoken(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Refusals of the model come back as its text, or text as its refusal."""
    for place, item in request.assistant_messages:
        said = history.find_said(item)
        now = _is_refusal(item)
        if (
            said
            and message_text(item).strip()
            and all(_is_refusal(original.item) != now for original in said.originals)
        ):
            words = {"was": "a text", "now": "a refusal"} if now else {"was": "a refusal", "now": "text"}
            yield said.originals[-1].lost(place, **words)


def _is_refusal(item: Json) -> bool:
    """Return whether a message has no text, but a refusal."""
    parts = objects_in(item.get("content"))
    return any(part.get("refusal") for part in parts) and not any(part.get("text") for part in parts)

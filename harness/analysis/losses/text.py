"""The words of the assistant: neither doubled nor cut off, and with the phase they were said in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from harness.analysis.history import Asked, Past, Spoken, is_assistant, named, text_of
from harness.analysis.loss import Facts, loss
from harness.analysis.losses.examples import ASK, SAY, TEXT, THEN, assistant, user
from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.core.loose_json import as_string
from harness.core.shorten import quote
from harness.items import message

_LEFT_OUT = re.compile(r"(…|\.\.\.|\[[^\]]*\]|\([^)]*(?:truncated|omitted)[^)]*\))\s*$", re.I)
"""How a text ends that was shortened on purpose."""
_MARKERS = re.compile(r"\s*(【[^】]*】|\(?\[[^\]]*\]\([^)]*\)\)?|\[\d+\]|\ue200[^\ue201]*\ue201|\s)+")
"""Citations in a text, which may be taken out of it."""


def _back(sent: str, **members: str) -> Case:
    return after({"input": [ASK]}, {"input": [ASK, assistant(sent, **members), THEN]}, turns=[SAY])


_PHASED = message(TEXT, phase="commentary")
_ID = {"id": "{0.output.0.id}"}


@loss(
    message="{what}, said in exchange {said}, comes back {how}: {now}",
    fix="Collect a text once: from its deltas, or from the event that closes it, not from both; and to its end.",
    loses=[
        _back(TEXT + TEXT),
        _back(f"{TEXT}\n{TEXT}", **_ID),
        _back(TEXT[:20]),
        _back(TEXT[:20], **_ID),
        _back(TEXT[20:], **_ID),
        _back("", **_ID),
    ],
    keeps=[
        _back(TEXT),
        _back(f"{TEXT}\n", **_ID),
        _back(f"{TEXT[:20]}…"),
        _back("Never mind.", **_ID),
        after({"input": [ASK]}, {"input": [ASK, assistant("I will."), ASK]}, turns=[message("I will.【1†v2】")]),
        after(
            {"input": [ASK]},
            {"input": [ASK, assistant("Yes."), THEN]},
            turns=[message("<thought>Or no?</thought>Yes.")],
        ),
        after(
            {"input": [ASK]},
            {"input": [ASK, assistant("Once."), assistant("Twice.")]},
            turns=[message("Once.", "Twice.")],
        ),
        after({"input": [ASK]}, {"input": [ASK, user(TEXT + TEXT)]}, turns=[SAY]),
    ],
)
def text_altered(asked: Asked, past: Past) -> Iterator[Facts]:
    """The assistant's words come back doubled or cut off.

    A message is known by its id, or by its place after all that led to it. Citations and thoughts may be taken out of a
    text, and it may be shortened with an ellipsis.
    """
    for at, item, said in _edited(asked, past):
        if how := _spoiled(text_of(said.item), text_of(item)):
            yield _facts(at, item, said, how)


@loss(
    message="{what}, said in exchange {said}, comes back {how}: {now}",
    fix="Send the assistant's words back as they were said.",
    strict=True,
    loses=[_back("Never mind.", **_ID), _back("I would rather not.")],
    keeps=[_back(TEXT), _back(f"{TEXT}\n", **_ID)],
)
def text_edited(asked: Asked, past: Past) -> Iterator[Facts]:
    """The assistant's words come back in other words; a user may have edited them."""
    for at, item, said in _edited(asked, past):
        if not _spoiled(text_of(said.item), text_of(item)):
            yield _facts(at, item, said, "in other words")


def _facts(at: str, item: Json, said: Spoken, how: str) -> Facts:
    return {"at": at, "said": said.number, "what": named(said.item), "how": how, "now": quote(text_of(item), 80)}


def _edited(asked: Asked, past: Past) -> Iterator[tuple[str, Json, Spoken]]:
    """The messages that came back in other words, with what was said in their place."""
    placed = dict(_placed(asked, past))
    for at, item in asked.messages:
        said = next(iter(past.origins(item)), placed.get(at))
        words = text_of(item).strip()
        if said and words != text_of(said.item).strip() and words not in past.by_text:
            yield at, item, said


def _placed(asked: Asked, past: Past) -> Iterator[tuple[str, Spoken]]:
    """The place of the one message that stands where the model said one, after all that led to it."""
    replies, length = past.continued(asked)
    turn = takewhile(lambda one: one[1].get("role") != "user", asked.beyond(length))
    sent = [at for at, item in turn if is_assistant(item) and text_of(item).strip()]
    said = [(index, item) for reply in replies for index, item in enumerate(reply.output) if is_assistant(item)]
    if len(sent) == len(said) == len(replies) == 1:
        yield sent[0], Spoken(said[0][1], replies[0], said[0][0])


def _spoiled(was: str, now: str) -> str:
    was, now = was.strip(), now.strip()
    if doubled(was, now):
        return "doubled"
    if was == now or not was or (now and _LEFT_OUT.search(now)):
        return ""
    if was.startswith(now) and not _MARKERS.fullmatch(was[len(now) :]):
        return "cut off"
    cut = was.removesuffix(now)
    return "without its beginning" if cut != was and not cut.rstrip().endswith(">") else ""


def doubled(was: str, now: str) -> bool:
    """Whether a text is another one several times, with at most spaces between."""
    return bool(was) and now.count(was) > 1 and not now.replace(was, "").strip()


@loss(
    message="phase {was} of the {what}, said in exchange {said}, {became}",
    fix="Send `phase` of each assistant message back as it was said.",
    loses=[
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[_PHASED]),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT, **_ID), THEN]}, turns=[_PHASED]),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT, phase="final_answer"), THEN]}, turns=[_PHASED]),
    ],
    keeps=[
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT, phase="commentary"), THEN]}, turns=[_PHASED]),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [THEN]}, turns=[_PHASED]),
        after({"input": [ASK]}, {"input": [ASK]}, {"input": [ASK, assistant(TEXT)]}, turns=[_PHASED, SAY]),
        _back(TEXT),
    ],
)
def phase_dropped(asked: Asked, past: Past) -> Iterator[Facts]:
    """An assistant message that was said with a `phase` comes back without it, or with another."""
    for at, item in asked.messages:
        said = past.origins(item)
        phases = [as_string(one.item.get("phase")) for one in said]
        if said and all(phases) and as_string(item.get("phase")) not in phases:
            became = f"is {item['phase']} now" if item.get("phase") else "is gone"
            yield {"at": at, "said": said[-1].number, "was": phases[-1], "what": named(said[-1].item), "became": became}

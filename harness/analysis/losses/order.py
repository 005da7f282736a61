"""The order of what the model said in one response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from harness.analysis.history import Asked, Past, Spoken, call_of, kind, named, output_of
from harness.analysis.loss import Facts, loss
from harness.analysis.losses.calls import undone
from harness.analysis.losses.examples import ASK, DEPLOY, NOTIFY, SAY, TEXT, THEN, THINK, assistant, call, output
from harness.contract.rule import after
from harness.core.exchange import Json

MESSAGE = "{what} stands after {other}, but was said before it in exchange {said}"
FIX = "Send the items of a response back in the order of its `output`; only outputs may stand between them."
_OTHER = call("call_2", "notify", '{"who":"ops"}')
_REASONER: Json = {"model": "gpt-5"}
_CALLS = after({"input": [ASK]}, {"input": [ASK, _OTHER, output("call_2"), call(), output()]}, turns=[[DEPLOY, NOTIFY]])
_BESIDE = after({"input": [ASK]}, {"input": [ASK, call(), assistant(TEXT), output()]}, turns=[[SAY, DEPLOY]])
_KEPT = after(
    {"input": [ASK]},
    {"input": [ASK, call(), output(), _OTHER, output("call_2"), assistant(TEXT), THEN]},
    turns=[[DEPLOY, NOTIFY, SAY]],
)


@loss(
    message=MESSAGE,
    fix=FIX,
    loses=[
        after({"input": [ASK]}, {"input": [ASK, call(), output(), assistant(TEXT)]}, turns=[[SAY, DEPLOY]]),
        after(
            {"input": [ASK], **_REASONER},
            {
                "input": [ASK, call(), {"type": "reasoning", "id": "{0.output.0.id}", "summary": []}, output()],
                **_REASONER,
            },
            turns=[[THINK, DEPLOY]],
        ),
    ],
    keeps=[
        _KEPT,
        _CALLS,
        _BESIDE,
        after({"input": [ASK]}, {"input": [ASK, call(), output(), assistant(TEXT), THEN]}, turns=[[DEPLOY, SAY]]),
        after({"input": [ASK]}, {"input": [THEN]}, {"input": [assistant("Later."), assistant(TEXT)]}, turns=[SAY]),
    ],
)
def order_changed(asked: Asked, past: Past) -> Iterator[Facts]:
    """What was said in one response comes back in another order: reasoning after what followed it, or words after an output.

    Words beside calls, before any output, and parallel calls among themselves have no order that matters: many clients
    keep words and calls apart.
    """
    yield from (facts for matters, facts in _swaps(asked, past) if matters)


@loss(message=MESSAGE, fix=FIX, strict=True, loses=[_CALLS, _BESIDE], keeps=[_KEPT])
def items_reordered(asked: Asked, past: Past) -> Iterator[Facts]:
    """Words and calls of one response, or its parallel calls, come back in another order."""
    yield from (facts for matters, facts in _swaps(asked, past) if not matters)


def _swaps(asked: Asked, past: Past) -> Iterator[tuple[bool, Facts]]:
    """Neighbours that have changed places, and whether that matters; each item counts where it stands first."""
    found: dict[int, dict[int, tuple[int, Spoken]]] = {}
    for index, (_, item) in enumerate(asked.given):
        if said := past.origin(item):
            found.setdefault(id(said.reply), {}).setdefault(said.index, (index, said))
    for places in found.values():
        for (start, first), (end, then) in pairwise(places.values()):
            if then.index < first.index:
                between = [item for _, item in asked.given[start:end]]
                facts = {"at": asked.given[end][0], "said": then.number}
                yield (
                    _matters(first.item, then.item, between),
                    {**facts, "what": named(then.item), "other": named(first.item)},
                )


def _matters(first: Json, then: Json, between: Sequence[Json]) -> bool:
    if kind(first) == "reasoning" or kind(then) == "reasoning":
        return True
    return any(output_of(item) and not undone(item) for item in between) and not (call_of(first) and call_of(then))

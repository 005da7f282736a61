"""Outputs that no tool returned: a text that stands for the execution of a call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.items import client_call_id, describe_item, is_assistant
from harness.analysis.history.request import HistoryRequest, OutputItem, PlacedItem
from harness.analysis.history.tool_results import describe_result, output_text
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, NEXT, PROMPT, REPLY, TEXT, assistant, call, output
from harness.contract.rule import after
from harness.core.exchange import Json
from harness.core.loose_json import as_string
from harness.core.text.shorten import quote

_NOT_EXECUTED = re.compile(
    r"\b(?:skipped|interrupted|not (?:been )?(?:executed|run)|never (?:executed|ran)|cancell?ed|aborted)\b", re.I
)
_REASON_GIVEN = re.compile(
    r"\b(?:not allowed|final result|(?:un|dis)?approv|den(?:y|ied)|reject|declin|refus|permission|error|invalid)", re.I
)
"""Words of an output that tells why a call was not executed: the user refused it, or its arguments were wrong."""
LONGEST_PLACEHOLDER = 200
"""Characters of a text that stands for an execution; a longer one, or JSON, tells more."""
_SKIPPED = output(value="Tool skipped: the assistant went on.")
_ANSWERED_AHEAD = after(
    {"input": [PROMPT]}, {"input": [PROMPT, call(), _SKIPPED, assistant(TEXT)]}, turns=[[REPLY, DEPLOY]]
)
_SAID_ON_PURPOSE = after({"input": [PROMPT]}, {"input": [PROMPT, call(), _SKIPPED, NEXT]}, turns=[DEPLOY])
MESSAGE = "{what}, said in exchange {said}, was answered with a text that no tool returned: {now}{instead}"
FIX = "Send what the tool returned as the output of its call; of a call that was refused or given up, say why."


@loss(
    message=MESSAGE,
    fix=FIX,
    loses=[_ANSWERED_AHEAD],
    keeps=[
        after({"input": [PROMPT]}, {"input": [PROMPT, assistant(TEXT), call(), _SKIPPED]}, turns=[[REPLY, DEPLOY]]),
        after({"input": [PROMPT]}, {"input": [PROMPT, call(), _SKIPPED, assistant(TEXT)]}, turns=[[DEPLOY, REPLY]]),
        _SAID_ON_PURPOSE,
    ],
)
def output_invented(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A call was answered, though not with what its tool returned.

    Of a tool that the test wraps in `counted` it is known what it returned: the output must show it, or a part of it. A
    tool that was not executed may be answered with the reason, say that the user refused it. Without `counted`, an output
    that says that the call was not executed counts only when it stands ahead of what was said before the call: the client
    took the words beside a call for their continuation.
    """
    ahead = dict(_find_answered_ahead(request, history))
    for at, id, item in request.outputs:
        if not (originals := history.by_call.get(id)):
            continue
        original, text = originals[-1], output_text(item)
        run = history.tool_results.find_replaced(id, text)
        if run or id in ahead or (id in history.tool_results.unexecuted and is_placeholder(text)):
            instead = f", where {run.name} returned {describe_result(run.returned)}" if run else ""
            where = "" if run or id not in ahead else ", ahead of what was said before it"
            yield _facts(f"{at}.output", original, text, instead or where)


@loss(
    message=MESSAGE,
    fix=FIX,
    strict=True,
    loses=[_SAID_ON_PURPOSE],
    keeps=[
        after({"input": [PROMPT]}, {"input": [PROMPT, call(), output(), NEXT]}, turns=[DEPLOY]),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, call(), output(value="Not executed: the user denied it."), NEXT]},
            turns=[DEPLOY],
        ),
    ],
)
def output_placeholder(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """An output says that its call was not executed, and not why; a client may have given up the call on purpose."""
    invented = {facts["at"] for facts in output_invented(request, history)}
    for at, id, item in request.outputs:
        text, place = output_text(item), f"{at}.output"
        if (originals := history.by_call.get(id)) and is_placeholder(text) and place not in invented:
            yield _facts(place, originals[-1], text, "")


def _facts(at: str, original: OutputItem, text: str, instead: str) -> LossFacts:
    return {
        "at": at,
        "said": original.number,
        "what": describe_item(original.item),
        "now": quote(" ".join(text.split())),
        "instead": instead,
    }


def _find_answered_ahead(request: HistoryRequest, history: History) -> Iterator[PlacedItem]:
    """The calls answered ahead of what was said before them, and by nothing but that they were not executed."""
    outputs: dict[str, PlacedItem] = {}
    executed = {id for _, id, item in request.outputs if not is_not_executed(item)}
    answered = {at: id for at, id, _ in request.outputs}
    if len(executed) == len(set(answered.values())):
        return
    for at, item in request.placed_items:
        if id := answered.get(at):
            outputs[id] = (at, item)
        elif outputs and is_assistant(item) and (words := history.find_original(item)):
            for other in words.reply.output[words.index + 1 :]:
                id = client_call_id(other)
                if outputs.pop(id, None) and id not in executed:
                    yield id, other


def is_placeholder(text: str) -> bool:
    """Whether an output states in a few words that its call was not executed, and gives no reason."""
    if len(text) > LONGEST_PLACEHOLDER or text.lstrip()[:1] in ("{", "["):
        return False
    return bool(_NOT_EXECUTED.search(text)) and not _REASON_GIVEN.search(text)


def is_not_executed(item: Json) -> bool:
    """Whether an output states that its call was not executed."""
    return bool(_NOT_EXECUTED.search(as_string(item.get("output"))))

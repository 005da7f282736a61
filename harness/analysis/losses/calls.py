"""Calls that the client executes: none may be lost before it is answered, none may change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from harness.analysis.agent_names import mask_dates_and_ids
from harness.analysis.history import (
    History,
    HistoryReply,
    HistoryRequest,
    OutputItem,
    answered_id,
    client_call_id,
    describe_item,
    is_assistant,
    item_type,
    message_text,
)
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, NEXT, NOTIFY, PROMPT, REPLY, TEXT, TOOLS, assistant, call, output
from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.core.loose_json import as_string, objects_in
from harness.core.shorten import quote, shorten_json
from harness.items import function_call, mcp_approval_request, message

CONTENT_MEMBERS = ("name", "arguments", "input", "action", "actions", "operation")
"""The members of a call that define what is executed."""
_OPS_AGENT: Json = {"instructions": "You run operations.", "tools": TOOLS}
_ANSWERED_CALL = (call("{0.output.0.id}"), output("{0.output.0.id}"))
_NOT_EXECUTED = re.compile(
    r"\b(?:skipped|not (?:been )?(?:executed|run)|never (?:executed|ran)|cancell?ed|aborted)\b", re.I
)
_SKIPPED_OUTPUT = "Tool skipped: the assistant went on."
_APPROVAL_REQUEST = mcp_approval_request("prod", "deploy", {"ref": "v2"})


@loss(
    message="{what}, said in exchange {said}, {where}: the client dropped it",
    fix="Send the call back with its output; of a call that was refused or given up, say so in an output.",
    loses=[
        after(
            {"input": [PROMPT], **_OPS_AGENT},
            {
                "input": [PROMPT, assistant(TEXT), call("call_2", "notify", '{"who":"ops"}'), output("call_2")],
                **_OPS_AGENT,
            },
            turns=[[REPLY, NOTIFY, DEPLOY]],
        ),
        after(
            {"input": [PROMPT], **_OPS_AGENT},
            {"input": [PROMPT, assistant(TEXT), NEXT], **_OPS_AGENT},
            turns=[[REPLY, DEPLOY]],
        ),
        after({"input": [PROMPT], **_OPS_AGENT}, {"input": [PROMPT, NEXT], **_OPS_AGENT}, turns=[DEPLOY]),
        after({"input": [PROMPT]}, {"input": [PROMPT, output(), NEXT]}, turns=[DEPLOY]),
        after({"input": [PROMPT]}, {"input": [PROMPT, assistant(TEXT), NEXT]}, turns=[[REPLY, _APPROVAL_REQUEST]]),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, call(), output(value=_SKIPPED_OUTPUT), assistant(TEXT)]},
            turns=[[REPLY, DEPLOY]],
        ),
    ],
    keeps=[
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, assistant(TEXT), call(), output(value=_SKIPPED_OUTPUT)]},
            turns=[[REPLY, DEPLOY]],
        ),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, call(), output(value=_SKIPPED_OUTPUT), assistant(TEXT)]},
            turns=[[DEPLOY, REPLY]],
        ),
        after({"input": [PROMPT]}, {"input": [PROMPT, call(), output(value=_SKIPPED_OUTPUT), NEXT]}, turns=[DEPLOY]),
        after({"input": [PROMPT]}, {"input": [PROMPT, call(), output(), NEXT]}, turns=[DEPLOY]),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, call(), output()]},
            {"input": [PROMPT, assistant(TEXT), NEXT]},
            turns=[DEPLOY, REPLY],
        ),
        after({"input": [PROMPT]}, {"previous_response_id": "{0.id}", "input": [output()]}, turns=[DEPLOY]),
        after(
            {"input": [PROMPT], **_OPS_AGENT},
            {"input": [PROMPT], **_OPS_AGENT},
            {"input": [PROMPT, assistant(TEXT), NEXT], **_OPS_AGENT},
            turns=[DEPLOY, REPLY],
        ),
        after(
            {"input": [PROMPT], **_OPS_AGENT},
            {"input": [PROMPT, assistant(TEXT)], "instructions": "You are the accountant."},
            turns=[[REPLY, DEPLOY]],
        ),
        after({"input": [PROMPT], "tools": TOOLS}, {"input": [PROMPT, NEXT], "tools": TOOLS[1:]}, turns=[DEPLOY]),
        after({"input": [PROMPT]}, {"input": [PROMPT, call()]}, {"input": [NEXT]}, turns=[DEPLOY]),
        after({"input": [PROMPT]}, {"input": [PROMPT, *_ANSWERED_CALL, NEXT]}, turns=[DEPLOY]),
        after({"input": [PROMPT]}, {"input": [PROMPT, call("call_own"), output("call_own"), NEXT]}, turns=[DEPLOY]),
        after(
            {"input": [PROMPT], **_OPS_AGENT},
            Case({"model": "gpt-4.1", "input": [PROMPT]}, on="POST /responses/compact"),
            {
                "input": [PROMPT, {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}, NEXT],
                **_OPS_AGENT,
            },
            turns=[DEPLOY],
        ),
    ],
)
def call_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A call that was never answered is missing from a request that carries on from it.

    It carries on when it holds what was said beside the call, or when it goes on after the words of the user that led
    to the call; and only as the same agent: a hand-off may leave out the calls of another. A call that was answered
    once may be left out later, together with its output; an output without its call may not stand alone. An output that
    says the call was not executed is no answer when it stands ahead of what was said before the call: the client took
    the words beside a call for their continuation.
    """
    if not request.is_history_known or any(item_type(item) == "compaction" for item in request.items):
        return
    calls = [item for item in request.items if client_call_id(item)]
    here = set(map(client_call_id, calls))
    for at, item in request.placed_items:
        if (id := answered_id(item)) and id not in here and id in history.by_call:
            yield _missing_call_facts(at, history.by_call[id][-1], "is not in this request, though its output is")
    yield from _find_given_up_calls(request, history)
    strangers = [item for item in calls if client_call_id(item) not in history.by_call]
    for original in _unanswered_calls(history):
        renamed = any(not _changed_member(original.item, item) for item in strangers)
        if (
            here.isdisjoint(_answerable_ids(original))
            and not renamed
            and (at := _find_continuation(request, original, history))
        ):
            yield _missing_call_facts(at, original, "is neither in this request nor answered in any")


def _missing_call_facts(at: str, original: OutputItem, where: str) -> LossFacts:
    return {"at": at, "said": original.number, "what": describe_item(original.item), "where": where}


def _find_given_up_calls(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    outputs: dict[str, list[tuple[str, Json]]] = {}
    for at, item in request.placed_items:
        if id := answered_id(item):
            outputs.setdefault(id, []).append((at, item))
        elif is_assistant(item) and (words := history.find_original(item)):
            for original in _answered_calls_after(words, history, outputs):
                tries = outputs.pop(client_call_id(original.item))
                if not any(
                    answered_id(one) == client_call_id(original.item) and not is_not_executed(one)
                    for _, one in request.placed_items
                ):
                    how = (
                        f"is answered by {quote(as_string(tries[0][1].get('output')))} ahead of what was said before it"
                    )
                    yield _missing_call_facts(tries[0][0], original, how)


def _answered_calls_after(words: OutputItem, history: History, outputs: Json) -> Iterator[OutputItem]:
    """The calls that follow a message in the output of its response and are answered already."""
    for id in list(outputs):
        for original in history.by_call.get(id, ()):
            if original.reply is words.reply and words.index < original.index and id == client_call_id(original.item):
                yield original


def is_not_executed(item: Json) -> bool:
    """Whether an output states that its call was not executed."""
    return bool(_NOT_EXECUTED.search(as_string(item.get("output"))))


def _unanswered_calls(history: History) -> Iterator[OutputItem]:
    """The calls of completed responses that no request answers."""
    for id, (*_, original) in history.by_call.items():
        due = original.reply.is_completed and not original.item.get("async")
        if due and id == client_call_id(original.item) and history.answered_ids.isdisjoint(_answerable_ids(original)):
            yield original


def _answerable_ids(original: OutputItem) -> set[str]:
    """The ids by which a call may be answered: its `call_id`, or its `id`, which some clients send instead."""
    return {client_call_id(original.item), as_string(original.item.get("id"))}


def _find_continuation(request: HistoryRequest, original: OutputItem, history: History) -> str:
    """The place at which a request continues the response with a call; empty when it does not."""
    if not _is_same_agent(request.body, original):
        return ""
    for at, item in request.placed_items:
        one = history.find_original(item)
        if one and one.reply is original.reply and one.item is not original.item:
            return at
    return _find_place_after(request, original.reply, history)


def _find_place_after(request: HistoryRequest, reply: HistoryReply, history: History) -> str:
    """The place at which a request continues the input of a reply; empty when it does not, or continues another reply."""
    replies, length = history.find_continued(request)
    new = request.items_after(length)
    others = [id(one) for one in replies if one is not reply]
    if len(others) == len(replies) or not new:
        return ""
    retried = any(id(original.reply) in others for _, item in new for original in history.find_originals(item))
    return "" if retried else new[0][0]


def _is_same_agent(body: Json, original: OutputItem) -> bool:
    name, before, now = (
        as_string(original.item.get("name")),
        _tool_names(original.reply.request.body),
        _tool_names(body),
    )
    if name in before:
        return name in now
    return before == now and _masked_instructions(original.reply.request.body) == _masked_instructions(body)


def _tool_names(body: Json) -> set[str]:
    return {
        as_string(tool.get("name")) or as_string(tool.get("server_label")) or as_string(tool.get("type"))
        for tool in objects_in(body.get("tools"))
    }


def _masked_instructions(body: Json) -> str:
    leading = (message_text(item) for item in objects_in(body.get("input")) if item.get("role") in INSTRUCTION_ROLES)
    return mask_dates_and_ids("\n".join([as_string(body.get("instructions")), *leading]))


@loss(
    message="{what}, said in exchange {said}, comes back changed: {member} was {was}, is {now}",
    fix="Send a call back as it was said; what was changed by leave of the user goes into the output.",
    loses=[
        after({"input": [PROMPT]}, {"input": [PROMPT, call(arguments='{"ref":"v3"}'), output()]}, turns=[DEPLOY]),
        after({"input": [PROMPT]}, {"input": [PROMPT, call(name="destroy"), output()]}, turns=[DEPLOY]),
        after({"input": [PROMPT]}, {"input": [PROMPT, call(arguments="{}"), output()]}, turns=[DEPLOY]),
    ],
    keeps=[
        after({"input": [PROMPT]}, {"input": [PROMPT, call(arguments='{ "ref" : "v2" }'), output()]}, turns=[DEPLOY]),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, call(arguments='{"a": 1, "b": 2}'), output()]},
            turns=[function_call("deploy", '{"b":2,"a":1}', call_id="call_1")],
        ),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, call(arguments="{}"), output()]},
            turns=[function_call("deploy", "", call_id="call_1")],
        ),
        after(
            {"input": [PROMPT]},
            {"input": [NEXT]},
            {"input": [PROMPT, call(arguments="{}"), output()]},
            turns=[DEPLOY, function_call("deploy", "{}", call_id="call_1")],
        ),
        after({"input": [PROMPT]}, {"input": [PROMPT, call("call_9"), output("call_9")]}, turns=[message("ok")]),
    ],
)
def call_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A call comes back with its `call_id`, but with another name or other arguments.

    Arguments are compared as JSON: spaces and the order of members are no difference.
    """
    for at, item in request.placed_items:
        if (id := client_call_id(item)) and (originals := history.by_call.get(id)):
            differences = [_changed_member(one.item, item) for one in originals]
            if all(differences):
                member, last = differences[-1], originals[-1].item
                changed = {
                    "member": member,
                    "was": shorten_json(last.get(member)),
                    "now": shorten_json(item.get(member)),
                }
                yield {"at": f"{at}.{member}", "said": originals[-1].number, "what": describe_item(last), **changed}


def _changed_member(original: Json, sent: Json) -> str:
    """The first member in which two calls differ; empty for none."""
    members = ("type", *CONTENT_MEMBERS)
    return next(
        (
            name
            for name in members
            if original.get(name) is not None and _normalize(original[name]) != _normalize(sent.get(name))
        ),
        "",
    )


def _normalize(value: Any) -> Any:
    """A value for comparison: JSON texts parsed, empty members left out, no arguments equal to empty ones."""
    if isinstance(value, str):
        try:
            read = orjson.loads(value or "{}")
        except orjson.JSONDecodeError:
            return value
        return _normalize(read) if isinstance(read, dict | list) else value
    if isinstance(value, dict):
        return {name: plain for name, own in value.items() if (plain := _normalize(own)) not in (None, [], {})}
    return [_normalize(one) for one in value] if isinstance(value, list) else value

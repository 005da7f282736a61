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
from harness.analysis.losses.examples import ASK, DEPLOY, NOTIFY, SAY, TEXT, THEN, TOOLS, assistant, call, output
from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.core.loose_json import as_string, objects_in
from harness.core.shorten import quote, shorten_json
from harness.items import function_call, mcp_approval_request, message

CONTENT_MEMBERS = ("name", "arguments", "input", "action", "actions", "operation")
"""The members of a call that say what it does."""
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
            {"input": [ASK], **_OPS_AGENT},
            {
                "input": [ASK, assistant(TEXT), call("call_2", "notify", '{"who":"ops"}'), output("call_2")],
                **_OPS_AGENT,
            },
            turns=[[SAY, NOTIFY, DEPLOY]],
        ),
        after(
            {"input": [ASK], **_OPS_AGENT}, {"input": [ASK, assistant(TEXT), THEN], **_OPS_AGENT}, turns=[[SAY, DEPLOY]]
        ),
        after({"input": [ASK], **_OPS_AGENT}, {"input": [ASK, THEN], **_OPS_AGENT}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, output(), THEN]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[[SAY, _APPROVAL_REQUEST]]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output(said=_SKIPPED_OUTPUT), assistant(TEXT)]},
            turns=[[SAY, DEPLOY]],
        ),
    ],
    keeps=[
        after(
            {"input": [ASK]},
            {"input": [ASK, assistant(TEXT), call(), output(said=_SKIPPED_OUTPUT)]},
            turns=[[SAY, DEPLOY]],
        ),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output(said=_SKIPPED_OUTPUT), assistant(TEXT)]},
            turns=[[DEPLOY, SAY]],
        ),
        after({"input": [ASK]}, {"input": [ASK, call(), output(said=_SKIPPED_OUTPUT), THEN]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, call(), output(), THEN]}, turns=[DEPLOY]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, assistant(TEXT), THEN]},
            turns=[DEPLOY, SAY],
        ),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [output()]}, turns=[DEPLOY]),
        after(
            {"input": [ASK], **_OPS_AGENT},
            {"input": [ASK], **_OPS_AGENT},
            {"input": [ASK, assistant(TEXT), THEN], **_OPS_AGENT},
            turns=[DEPLOY, SAY],
        ),
        after(
            {"input": [ASK], **_OPS_AGENT},
            {"input": [ASK, assistant(TEXT)], "instructions": "You are the accountant."},
            turns=[[SAY, DEPLOY]],
        ),
        after({"input": [ASK], "tools": TOOLS}, {"input": [ASK, THEN], "tools": TOOLS[1:]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, call()]}, {"input": [THEN]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, *_ANSWERED_CALL, THEN]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, call("call_own"), output("call_own"), THEN]}, turns=[DEPLOY]),
        after(
            {"input": [ASK], **_OPS_AGENT},
            Case({"model": "gpt-4.1", "input": [ASK]}, on="POST /responses/compact"),
            {
                "input": [ASK, {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}, THEN],
                **_OPS_AGENT,
            },
            turns=[DEPLOY],
        ),
    ],
)
def call_dropped(asked: HistoryRequest, past: History) -> Iterator[LossFacts]:
    """A call that was never answered is missing from a request that carries on from it.

    It carries on when it holds what was said beside the call, or when it goes on after the words of the user that led
    to the call; and only as the same agent: a hand-off may leave out the calls of another. A call that was answered
    once may be left out later, together with its output; an output without its call may not stand alone. An output that
    says the call was not executed is no answer when it stands ahead of what was said before the call: the client took
    the words beside a call for their continuation.
    """
    if not asked.is_history_known or any(item_type(item) == "compaction" for item in asked.items):
        return
    calls = [item for item in asked.items if client_call_id(item)]
    here = set(map(client_call_id, calls))
    for at, item in asked.placed_items:
        if (id := answered_id(item)) and id not in here and id in past.by_call:
            yield _missing_call_facts(at, past.by_call[id][-1], "is not in this request, though its output is")
    yield from _find_given_up_calls(asked, past)
    strangers = [item for item in calls if client_call_id(item) not in past.by_call]
    for said in _unanswered_calls(past):
        renamed = any(not _changed_member(said.item, item) for item in strangers)
        if here.isdisjoint(_answerable_ids(said)) and not renamed and (at := _find_continuation(asked, said, past)):
            yield _missing_call_facts(at, said, "is neither in this request nor answered in any")


def _missing_call_facts(at: str, said: OutputItem, where: str) -> LossFacts:
    return {"at": at, "said": said.number, "what": describe_item(said.item), "where": where}


def _find_given_up_calls(asked: HistoryRequest, past: History) -> Iterator[LossFacts]:
    outputs: dict[str, list[tuple[str, Json]]] = {}
    for at, item in asked.placed_items:
        if id := answered_id(item):
            outputs.setdefault(id, []).append((at, item))
        elif is_assistant(item) and (words := past.find_original(item)):
            for said in _answered_calls_after(words, past, outputs):
                tries = outputs.pop(client_call_id(said.item))
                if not any(
                    answered_id(one) == client_call_id(said.item) and not is_not_executed(one)
                    for _, one in asked.placed_items
                ):
                    how = (
                        f"is answered by {quote(as_string(tries[0][1].get('output')))} ahead of what was said before it"
                    )
                    yield _missing_call_facts(tries[0][0], said, how)


def _answered_calls_after(words: OutputItem, past: History, outputs: Json) -> Iterator[OutputItem]:
    """The calls of a response that were said after some of its words and are answered already."""
    for id in list(outputs):
        for said in past.by_call.get(id, ()):
            if said.reply is words.reply and words.index < said.index and id == client_call_id(said.item):
                yield said


def is_not_executed(item: Json) -> bool:
    """Whether an output says that its call was not executed."""
    return bool(_NOT_EXECUTED.search(as_string(item.get("output"))))


def _unanswered_calls(past: History) -> Iterator[OutputItem]:
    """The calls of whole responses that no request answers."""
    for id, (*_, said) in past.by_call.items():
        due = said.reply.is_completed and not said.item.get("async")
        if due and id == client_call_id(said.item) and past.answered_ids.isdisjoint(_answerable_ids(said)):
            yield said


def _answerable_ids(said: OutputItem) -> set[str]:
    """What a call may be answered by: its `call_id`, or its `id`, which some clients take for it."""
    return {client_call_id(said.item), as_string(said.item.get("id"))}


def _find_continuation(asked: HistoryRequest, said: OutputItem, past: History) -> str:
    """Where a request goes on from the response that said a call; empty when it does not."""
    if not _is_same_agent(asked.body, said):
        return ""
    for at, item in asked.placed_items:
        one = past.find_original(item)
        if one and one.reply is said.reply and one.item is not said.item:
            return at
    return _find_place_after(asked, said.reply, past)


def _find_place_after(asked: HistoryRequest, reply: HistoryReply, past: History) -> str:
    """Where a request goes on after all that led to a reply; empty when it does not, or goes on from another."""
    replies, length = past.find_continued(asked)
    new = asked.items_after(length)
    others = [id(one) for one in replies if one is not reply]
    if len(others) == len(replies) or not new:
        return ""
    retried = any(id(said.reply) in others for _, item in new for said in past.find_originals(item))
    return "" if retried else new[0][0]


def _is_same_agent(body: Json, said: OutputItem) -> bool:
    name, before, now = as_string(said.item.get("name")), _tool_names(said.reply.request.body), _tool_names(body)
    if name in before:
        return name in now
    return before == now and _masked_instructions(said.reply.request.body) == _masked_instructions(body)


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
        after({"input": [ASK]}, {"input": [ASK, call(arguments='{"ref":"v3"}'), output()]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, call(name="destroy"), output()]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, call(arguments="{}"), output()]}, turns=[DEPLOY]),
    ],
    keeps=[
        after({"input": [ASK]}, {"input": [ASK, call(arguments='{ "ref" : "v2" }'), output()]}, turns=[DEPLOY]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(arguments='{"a": 1, "b": 2}'), output()]},
            turns=[function_call("deploy", '{"b":2,"a":1}', call_id="call_1")],
        ),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(arguments="{}"), output()]},
            turns=[function_call("deploy", "", call_id="call_1")],
        ),
        after(
            {"input": [ASK]},
            {"input": [THEN]},
            {"input": [ASK, call(arguments="{}"), output()]},
            turns=[DEPLOY, function_call("deploy", "{}", call_id="call_1")],
        ),
        after({"input": [ASK]}, {"input": [ASK, call("call_9"), output("call_9")]}, turns=[message("ok")]),
    ],
)
def call_altered(asked: HistoryRequest, past: History) -> Iterator[LossFacts]:
    """A call comes back with its `call_id`, but with another name or other arguments.

    Arguments are compared as JSON: spaces and the order of members are no difference.
    """
    for at, item in asked.placed_items:
        if (id := client_call_id(item)) and (said := past.by_call.get(id)):
            differences = [_changed_member(one.item, item) for one in said]
            if all(differences):
                member, original = differences[-1], said[-1].item
                changed = {
                    "member": member,
                    "was": shorten_json(original.get(member)),
                    "now": shorten_json(item.get(member)),
                }
                yield {"at": f"{at}.{member}", "said": said[-1].number, "what": describe_item(original), **changed}


def _changed_member(said: Json, sent: Json) -> str:
    """The member in which two calls differ; empty for none."""
    members = ("type", *CONTENT_MEMBERS)
    return next(
        (
            name
            for name in members
            if said.get(name) is not None and _normalize(said[name]) != _normalize(sent.get(name))
        ),
        "",
    )


def _normalize(value: Any) -> Any:
    """A value as it is compared: JSON texts read, members without value left out, no arguments as empty ones."""
    if isinstance(value, str):
        try:
            read = orjson.loads(value or "{}")
        except orjson.JSONDecodeError:
            return value
        return _normalize(read) if isinstance(read, dict | list) else value
    if isinstance(value, dict):
        return {name: plain for name, own in value.items() if (plain := _normalize(own)) not in (None, [], {})}
    return [_normalize(one) for one in value] if isinstance(value, list) else value

"""Calls that the client executes: none may be lost before it is answered, none may change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from harness.analysis.agent_names import steady
from harness.analysis.history import (
    SPEAKERS,
    Asked,
    Past,
    Reply,
    Spoken,
    call_of,
    is_assistant,
    kind,
    named,
    output_of,
    text_of,
)
from harness.analysis.loss import Facts, loss
from harness.analysis.losses.examples import ASK, DEPLOY, NOTIFY, SAY, TEXT, THEN, TOOLS, assistant, call, output
from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.core.loose_json import as_string, objects_in
from harness.core.shorten import quote, shorten_json
from harness.items import function_call, mcp_approval_request, message

DOES = ("name", "arguments", "input", "action", "actions", "operation")
"""The members of a call that say what it does."""
_OPS: Json = {"instructions": "You run operations.", "tools": TOOLS}
_ANSWERED = (call("{0.output.0.id}"), output("{0.output.0.id}"))
_UNDONE = re.compile(r"\b(?:skipped|not (?:been )?(?:executed|run)|never (?:executed|ran)|cancell?ed|aborted)\b", re.I)
_SKIPPED = "Tool skipped: the assistant went on."
_LEAVE = mcp_approval_request("prod", "deploy", {"ref": "v2"})


@loss(
    message="{what}, said in exchange {said}, {where}: the client dropped it",
    fix="Send the call back with its output; of a call that was refused or given up, say so in an output.",
    loses=[
        after(
            {"input": [ASK], **_OPS},
            {"input": [ASK, assistant(TEXT), call("call_2", "notify", '{"who":"ops"}'), output("call_2")], **_OPS},
            turns=[[SAY, NOTIFY, DEPLOY]],
        ),
        after({"input": [ASK], **_OPS}, {"input": [ASK, assistant(TEXT), THEN], **_OPS}, turns=[[SAY, DEPLOY]]),
        after({"input": [ASK], **_OPS}, {"input": [ASK, THEN], **_OPS}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, output(), THEN]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[[SAY, _LEAVE]]),
        after(
            {"input": [ASK]}, {"input": [ASK, call(), output(said=_SKIPPED), assistant(TEXT)]}, turns=[[SAY, DEPLOY]]
        ),
    ],
    keeps=[
        after(
            {"input": [ASK]}, {"input": [ASK, assistant(TEXT), call(), output(said=_SKIPPED)]}, turns=[[SAY, DEPLOY]]
        ),
        after(
            {"input": [ASK]}, {"input": [ASK, call(), output(said=_SKIPPED), assistant(TEXT)]}, turns=[[DEPLOY, SAY]]
        ),
        after({"input": [ASK]}, {"input": [ASK, call(), output(said=_SKIPPED), THEN]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, call(), output(), THEN]}, turns=[DEPLOY]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, assistant(TEXT), THEN]},
            turns=[DEPLOY, SAY],
        ),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [output()]}, turns=[DEPLOY]),
        after(
            {"input": [ASK], **_OPS},
            {"input": [ASK], **_OPS},
            {"input": [ASK, assistant(TEXT), THEN], **_OPS},
            turns=[DEPLOY, SAY],
        ),
        after(
            {"input": [ASK], **_OPS},
            {"input": [ASK, assistant(TEXT)], "instructions": "You are the accountant."},
            turns=[[SAY, DEPLOY]],
        ),
        after({"input": [ASK], "tools": TOOLS}, {"input": [ASK, THEN], "tools": TOOLS[1:]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, call()]}, {"input": [THEN]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, *_ANSWERED, THEN]}, turns=[DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, call("call_own"), output("call_own"), THEN]}, turns=[DEPLOY]),
        after(
            {"input": [ASK], **_OPS},
            Case({"model": "gpt-4.1", "input": [ASK]}, on="POST /responses/compact"),
            {
                "input": [ASK, {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}, THEN],
                **_OPS,
            },
            turns=[DEPLOY],
        ),
    ],
)
def call_dropped(asked: Asked, past: Past) -> Iterator[Facts]:
    """A call that was never answered is missing from a request that carries on from it.

    It carries on when it holds what was said beside the call, or when it goes on after the words of the user that led
    to the call; and only as the same agent: a hand-off may leave out the calls of another. A call that was answered
    once may be left out later, together with its output; an output without its call may not stand alone. An output that
    says the call was not executed is no answer when it stands ahead of what was said before the call: the client took
    the words beside a call for their continuation.
    """
    if not asked.known or any(kind(item) == "compaction" for item in asked.items):
        return
    calls = [item for item in asked.items if call_of(item)]
    here = set(map(call_of, calls))
    for at, item in asked.given:
        if (id := output_of(item)) and id not in here and id in past.by_call:
            yield _missing(at, past.by_call[id][-1], "is not in this request, though its output is")
    yield from _given_up(asked, past)
    strangers = [item for item in calls if call_of(item) not in past.by_call]
    for said in _open(past):
        renamed = any(not _difference(said.item, item) for item in strangers)
        if here.isdisjoint(_names(said)) and not renamed and (at := _carries_on(asked, said, past)):
            yield _missing(at, said, "is neither in this request nor answered in any")


def _missing(at: str, said: Spoken, where: str) -> Facts:
    return {"at": at, "said": said.number, "what": named(said.item), "where": where}


def _given_up(asked: Asked, past: Past) -> Iterator[Facts]:
    outputs: dict[str, list[tuple[str, Json]]] = {}
    for at, item in asked.given:
        if id := output_of(item):
            outputs.setdefault(id, []).append((at, item))
        elif is_assistant(item) and (words := past.origin(item)):
            for said in _after(words, past, outputs):
                tries = outputs.pop(call_of(said.item))
                if not any(output_of(one) == call_of(said.item) and not undone(one) for _, one in asked.given):
                    how = (
                        f"is answered by {quote(as_string(tries[0][1].get('output')))} ahead of what was said before it"
                    )
                    yield _missing(tries[0][0], said, how)


def _after(words: Spoken, past: Past, outputs: Json) -> Iterator[Spoken]:
    """The calls of a response that were said after some of its words and are answered already."""
    for id in list(outputs):
        for said in past.by_call.get(id, ()):
            if said.reply is words.reply and words.index < said.index and id == call_of(said.item):
                yield said


def undone(item: Json) -> bool:
    """Whether an output says that its call was not executed."""
    return bool(_UNDONE.search(as_string(item.get("output"))))


def _open(past: Past) -> Iterator[Spoken]:
    """The calls of whole responses that no request answers."""
    for id, (*_, said) in past.by_call.items():
        due = said.reply.finished and not said.item.get("async")
        if due and id == call_of(said.item) and past.answers.isdisjoint(_names(said)):
            yield said


def _names(said: Spoken) -> set[str]:
    """What a call may be answered by: its `call_id`, or its `id`, which some clients take for it."""
    return {call_of(said.item), as_string(said.item.get("id"))}


def _carries_on(asked: Asked, said: Spoken, past: Past) -> str:
    """Where a request goes on from the response that said a call; empty when it does not."""
    if not _same_agent(asked.body, said):
        return ""
    for at, item in asked.given:
        one = past.origin(item)
        if one and one.reply is said.reply and one.item is not said.item:
            return at
    return _goes_on(asked, said.reply, past)


def _goes_on(asked: Asked, reply: Reply, past: Past) -> str:
    """Where a request goes on after all that led to a reply; empty when it does not, or goes on from another."""
    replies, length = past.continued(asked)
    new = asked.beyond(length)
    others = [id(one) for one in replies if one is not reply]
    if len(others) == len(replies) or not new:
        return ""
    retried = any(id(said.reply) in others for _, item in new for said in past.origins(item))
    return "" if retried else new[0][0]


def _same_agent(body: Json, said: Spoken) -> bool:
    name, before, now = as_string(said.item.get("name")), _tools(said.reply.to.body), _tools(body)
    if name in before:
        return name in now
    return before == now and _instructions(said.reply.to.body) == _instructions(body)


def _tools(body: Json) -> set[str]:
    return {
        as_string(tool.get("name")) or as_string(tool.get("server_label")) or as_string(tool.get("type"))
        for tool in objects_in(body.get("tools"))
    }


def _instructions(body: Json) -> str:
    leading = (text_of(item) for item in objects_in(body.get("input")) if item.get("role") in SPEAKERS)
    return steady("\n".join([as_string(body.get("instructions")), *leading]))


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
def call_altered(asked: Asked, past: Past) -> Iterator[Facts]:
    """A call comes back with its `call_id`, but with another name or other arguments.

    Arguments are compared as JSON: spaces and the order of members are no difference.
    """
    for at, item in asked.given:
        if (id := call_of(item)) and (said := past.by_call.get(id)):
            differences = [_difference(one.item, item) for one in said]
            if all(differences):
                member, original = differences[-1], said[-1].item
                changed = {
                    "member": member,
                    "was": shorten_json(original.get(member)),
                    "now": shorten_json(item.get(member)),
                }
                yield {"at": f"{at}.{member}", "said": said[-1].number, "what": named(original), **changed}


def _difference(said: Json, sent: Json) -> str:
    """The member in which two calls differ; empty for none."""
    members = ("type", *DOES)
    return next(
        (name for name in members if said.get(name) is not None and _plain(said[name]) != _plain(sent.get(name))), ""
    )


def _plain(value: Any) -> Any:
    """A value as it is compared: JSON texts read, members without value left out, no arguments as empty ones."""
    if isinstance(value, str):
        try:
            read = orjson.loads(value or "{}")
        except orjson.JSONDecodeError:
            return value
        return _plain(read) if isinstance(read, dict | list) else value
    if isinstance(value, dict):
        return {name: plain for name, own in value.items() if (plain := _plain(own)) not in (None, [], {})}
    return [_plain(one) for one in value] if isinstance(value, list) else value

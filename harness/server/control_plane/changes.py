"""The control plane's endpoints that change a World: its script, time, expectations, end.

And what a person watching it does by hand: list waiting turns and requests, change, answer or release them.
"""

from typing import Any

import orjson
from fastapi import Request

from harness.analysis.surfaced import describe_difference
from harness.core.advice_wording import VOCABULARIES
from harness.core.delivery import Pause, StepGate
from harness.core.errors import HarnessError, Place, ScriptError
from harness.core.exchange import Exchange, Json, ReceivedRequest, SentTurn
from harness.core.json_values import as_object, objects_in, omit
from harness.core.text import show
from harness.explain.turn import summarize_turn
from harness.server.control_plane.requests import api_of, mock_of, read_members, read_object, snapshot_of, worker_of
from harness.server.mock_api import CONTROL_ROOT
from harness.world.mock import Mock
from harness.world.route import Turn
from harness.world.script import QueuedTurn, Script, list_waiting, remove_waiting, replace_waiting
from harness.world.scripting.document import parse_sent_script, parse_yaml_turns
from harness.world.scripting.settings import ALLOW, refusal_texts
from harness.world.scripting.validation import BOOLEAN, TEXT, WHOLE_NUMBER, ValueForm

_CONVERSATION = ValueForm(
    "a list of items, of which the last is a user message",
    lambda value: (
        isinstance(value, list)
        and all(isinstance(item, str | dict) for item in value)
        and (isinstance(value[-1], str) or value[-1].get("role") == "user" if value else False)
    ),
)
_SENT_SCRIPT, _SENT_TURN = (Place(f"POST {CONTROL_ROOT}/{path}") for path in ("script", "turns"))
"""The places reported for turns that were sent over HTTP."""


async def script(request: Request) -> Json:
    """Add a route, `{"when": {"instructions": "planner"}, "turns": [[{"message": "Ask ops."}], …], "repeat": true}`.

    Or send anything that a script file in YAML may contain: `{"script": […], "when": […], "organization": {…}, "mcp":
    {…}, …}`. An item may also be a string, or in its wire form, `{"type": "message", …}`. Returns how many turns are
    waiting, and the ids of files.
    """
    mock, sent = mock_of(request), await read_object(request)
    return parse_sent_script(sent).apply(mock, lambda _: _SENT_SCRIPT)


async def advance(request: Request) -> list[Json]:
    """Advance a background response or a run by one step, `{"id": "resp_…"}`, or all of them with `{}`."""
    mock, sent = mock_of(request), await read_members(request)
    return mock.advance(TEXT.check("id", sent["id"]) if "id" in sent else None)


async def skip(request: Request) -> Json:
    """Move the World's time forward, `{"seconds": 3600}`; returns the new time in unix seconds."""
    mock, sent = mock_of(request), await read_members(request)
    return {"now": mock.skip(WHOLE_NUMBER.check("seconds", sent.get("seconds")))}


async def expect(request: Request) -> Json:
    """Expect refusals from now on: `{"refusals": "call_needs_output"}`, or a list; each is a rule, an area or a string.

    At least one refusal must occur for each. `"allow"` permits all refusals, `[]` stops expecting any. Returns the
    expectations that have `ended`, each with the numbers of its exchanges.
    """
    mock, sent = mock_of(request), await read_members(request)
    texts, allowed = refusal_texts(sent.get("refusals")), sent.get("refusals") == ALLOW
    ended = mock.world.refusals.end_expected()
    for text in texts:
        mock.world.refusals.expect(text, required=not allowed)
    return {
        "expected": len(texts),
        "ended": [
            {"refusals": expected.text or ALLOW, "exchanges": [exchange.number for exchange in expected.exchanges]}
            for expected in ended
        ],
    }


async def hear(request: Request) -> Json:
    """Record what a chat UI sends to the server under test, before it does: `{"items": ["Who?", {"type": "message", …}]}`.

    These are all items of the conversation so far, in order, the new user message last; a string is a user message.
    What reaches the model of this World is compared with it: the loss `sent-changed`. Returns the number of the turn.
    """
    mock, sent = mock_of(request), await read_members(request)
    items = _CONVERSATION.check("items", sent.get("items"))
    turns = mock.world.tool_runs.turns
    messages = [{"role": "user", "content": item} if isinstance(item, str) else item for item in items]
    turns.append(SentTurn(len(turns) + 1, messages))
    return {"turn": len(turns)}


async def compare(request: Request) -> Json:
    """Compare what a client shows with what was said: `{"result": {"text": "…", "annotations": […]}, "only": []}`.

    `message` describes what the client lost, duplicated, cut or changed; it is null if nothing. The report's `verdict`
    includes the message from then on, unless the body has `"losses": "allow"`.
    """
    mock, sent = mock_of(request), await read_members(request)
    allowed = "losses" in sent and _ALLOWED.check("losses", sent["losses"]) == ALLOW
    seen = await snapshot_of(request)
    message = await worker_of(request).run(
        lambda: describe_difference(sent.get("result"), seen.replies, sent.get("only", ()))
    )
    if message and not allowed:
        mock.world.add_shown_otherwise(message)
    return {"message": message}


async def open_gate(request: Request) -> Json:
    """Open a gate that a turn waits for: `{"gate": "shown"}`."""
    name = (await read_members(request)).get("gate")
    if not isinstance(name, str):
        raise HarnessError('`gate` must be the name of a gate: {"gate": "shown"}.')
    mock_of(request).gate(name).open()
    return {"open": name}


async def forget(request: Request) -> Json:
    """Forget everything about a key."""
    world = mock_of(request).world
    api_of(request).held.end(world)
    api_of(request).close(world.api_key)
    return {"deleted": True}


async def begin(request: Request) -> Json:
    """Forget everything about a key and start over, `{"name": "weather.test.ts > asks"}`.

    Ids are derived from the name.

    `"language": "javascript"` words the advice in reports for tests in vitest and jest.
    """
    world, sent = mock_of(request).world, await read_members(request)
    name, language = TEXT.check("name", sent.get("name")), _LANGUAGE.check("language", sent.get("language", "json"))
    api_of(request).held.end(world)
    api_of(request).close(world.api_key)
    return {"name": api_of(request).open(world.api_key, name, vocabulary=VOCABULARIES[language]).world.name}


_ALLOWED = ValueForm(f'"{ALLOW}"', lambda value: value == ALLOW)
_LANGUAGE = ValueForm(f"one of {', '.join(VOCABULARIES)}", lambda value: value in list(VOCABULARIES))


async def waiting(request: Request) -> Json:
    """List what is waiting in a World: `turns`, held `requests`, closed `gates`, `background` responses and runs.

    A turn has its `yaml`, which is empty for a turn written in code. `holds` says whether requests are held, `stepped`
    how many answers wait for the next step (null without steps).
    """
    mock, held = mock_of(request), api_of(request).held
    world = mock.world
    threads = world.store.threads.values()
    gate = step_gate(world.script)
    return {
        "turns": [_describe_turn(turn) for turn in list_waiting(world.script)],
        "holds": world.api_key in held.keys,
        "requests": [
            {"request": kept.number, "path": kept.received.path, "body": kept.received.raw.decode(errors="replace")}
            for kept in held.of(world)
        ],
        "stepped": gate.waiting if gate else None,
        "gates": [name for name, gate in world.gates.items() if not gate.is_open],
        "background": [*world.store.pending, *(run for stored in threads for run in stored.pending_events)],
    }


async def turns(request: Request) -> Json:
    """Add turns to the script, as YAML that could stand below `script:`; returns how many turns are waiting.

    `{"yaml": "- message: Sunny."}`. With the id of a waiting `turn` and the YAML that it `was`, that turn is replaced,
    or removed if there is no `yaml`.
    """
    mock = mock_of(request)
    sent = await read_members(request)
    script = mock.world.script
    if "turn" not in sent:
        added = parse_yaml_turns(TEXT.check("yaml", sent.get("yaml")))
        mock.script().add_turns(added, [[_SENT_TURN]] * len(added))
    elif "yaml" in sent:
        turn = _parse_one(TEXT.check("yaml", sent["yaml"]))
        replace_waiting(script, *_named(sent), turn, _SENT_TURN)
    else:
        remove_waiting(script, *_named(sent))
    return {"turns": len(list_waiting(script))}


async def hold(request: Request) -> Json:
    """Hold requests that ask a model, `{"on": true}`, until `answer` says what it answers.

    `false` releases them all.
    """
    mock, held = mock_of(request), api_of(request).held
    if BOOLEAN.check("on", (await read_members(request)).get("on")):
        if not api_of(request).can_hold:
            raise HarnessError(
                "hold: servers that share a store cannot hold requests. Start the server without `--store`."
            )
        held.keys.add(mock.api_key)
    else:
        held.end(mock.world)
    return {"holds": mock.api_key in held.keys}


async def answer(request: Request) -> Json:
    """Answer a held request, `{"request": 1, "yaml": "- message: Sunny."}`, or without `yaml` as the script says."""
    mock = mock_of(request)
    sent = await read_members(request)
    turn = _parse_one(TEXT.check("yaml", sent["yaml"])) if "yaml" in sent else None
    number = WHOLE_NUMBER.check("request", sent.get("request"))
    api_of(request).held.answer(mock.world, number, turn)
    return {"answered": number}


async def step(request: Request) -> Json:
    """Send answers event by event: `{"on": true}` to begin, `{}` for each next event, `{"on": false}` for all the rest.

    An answer that is not streamed waits as a whole. Returns how many answers moved on.
    """
    script = mock_of(request).world.script
    sent = await read_members(request)
    gate = step_gate(script)
    if "on" not in sent:
        if gate is None:
            raise HarnessError('step: answers are not held; send {"on": true} before the request.')
        return {"stepped": gate.step()}
    if BOOLEAN.check("on", sent["on"]):
        script.step = script.step or Pause(until=StepGate())
        return {"stepped": 0}
    script.step, stepped = None, gate.waiting if gate else 0
    if gate:
        gate.open()
    return {"stepped": stepped}


def step_gate(script: Script) -> StepGate | None:
    """Return the gate at which the answers of a script wait for the next step; None if they do not."""
    gate = script.step.until if script.step else None
    return gate if isinstance(gate, StepGate) else None


def _named(sent: Json) -> tuple[str, str]:
    return TEXT.check("turn", sent.get("turn")), str(sent.get("was", ""))


def _parse_one(yaml: str) -> Turn:
    made = parse_yaml_turns(yaml)
    if len(made) != 1:
        raise ScriptError(f"turns: {len(made)} turns in place of one. Put the items of a turn into a nested list.")
    return made[0]


def _describe_turn(waits: QueuedTurn) -> dict[str, Any]:
    return {
        "turn": waits.id,
        "route": waits.route,
        "text": summarize_turn(waits.turn),
        "yaml": waits.yaml,
        "file": waits.place.file,
        "line": waits.place.line,
    }


USER_AGENT = "responses-harness"
"""The user agent of such requests, so that the journal shows who sent them."""
_NOT_SENT_AGAIN = frozenset({"input", "stream", "stream_options", "background"})


async def decide(request: Request) -> Json:
    """Approve or deny a call in the client's place: `{"approval": "mcpr_1", "approve": true}`.

    A denial, `false`, may have a `reason`. Sends the World what the client would send next, and its script answers.
    Returns the `exchange` and its `status`.
    """
    api, mock = api_of(request), mock_of(request)
    sent = await read_members(request)
    decision: Json = {
        "type": "mcp_approval_response",
        "approval_request_id": TEXT.check("approval", sent.get("approval")),
        "approve": BOOLEAN.check("approve", sent.get("approve")),
    }
    if "reason" in sent:
        decision["reason"] = TEXT.check("reason", sent["reason"])
    if not api.can_hold:
        raise HarnessError(
            "decide: servers that share a store cannot send requests. Start the server without `--store`."
        )
    asking = _find_asking(mock, decision["approval_request_id"])
    headers = {
        **omit(asking.request.headers, "content-length"),
        "user-agent": USER_AGENT,
    }
    body = orjson.dumps(_next_body(asking, decision))
    path = asking.request.root + asking.request.path
    answer = api.handle(ReceivedRequest("POST", path, headers, dict(asking.request.query), body))
    return {"exchange": mock.world.exchange_count, "status": answer.status}


def _find_asking(mock: Mock, id: str) -> Exchange:
    """Find the exchange in which the model asked for a pending approval; HarnessError if not found."""
    known = {approval.id: approval for approval in mock.approvals}
    if id not in known:
        waiting = ", ".join(approval.id for approval in known.values() if approval.approve is None) or "none"
        raise HarnessError(f"decide: no approval {show(id)} was requested. Pending: {waiting}.")
    if known[id].answers:
        raise HarnessError(f"decide: {id} was answered in request {known[id].answers[0]}.")
    asked = next((exchange for exchange in mock.exchanges if exchange.number == known[id].asked), None)
    if asked is None or asked.request.method != "POST":
        raise HarnessError(
            f"decide: the request in which {id} was requested is not in the journal, or came over a WebSocket."
        )
    return asked


def _next_body(asking: Exchange, decision: Json) -> Json:
    """Build the body of the next request: with the id of a stored response, or else with the whole transcript."""
    before, answered = as_object(asking.request.body), as_object(asking.answer.body)
    body: dict[str, Any] = omit(before, *_NOT_SENT_AGAIN)
    if before.get("conversation") is not None:
        return body | {"input": [decision]}
    # A response that was not stored cannot be continued by its id: its transcript is sent.
    if before.get("store") is not False:
        return body | {"input": [decision], "previous_response_id": answered.get("id")}
    given = before.get("input")
    asked = [{"role": "user", "content": given}] if isinstance(given, str) else objects_in(given)
    # Reasoning that was not stored can only be sent back encrypted.
    output = [
        item
        for item in objects_in(answered.get("output"))
        if item.get("type") != "reasoning" or item.get("encrypted_content")
    ]
    return body | {"input": [*asked, *output, decision]}

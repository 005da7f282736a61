"""The control plane's endpoints that change a World: script, time, expectations, end."""

from fastapi import Request

from harness.analysis.surfaced import describe_difference
from harness.core.errors import HarnessError, Place
from harness.core.exchange import Json, SentTurn
from harness.core.vocabulary import VOCABULARIES
from harness.server.control_plane.requests import api_of, mock_of, read_members, read_object, snapshot_of, worker_of
from harness.server.mock_api import CONTROL_ROOT
from harness.world.scripting.document import parse_sent_script
from harness.world.scripting.settings import ALLOW, refusal_texts
from harness.world.scripting.validation import TEXT, WHOLE_NUMBER, ValueForm

_CONVERSATION = ValueForm(
    "a list of items, of which the last is a user message",
    lambda value: (
        isinstance(value, list)
        and all(isinstance(item, str | dict) for item in value)
        and (isinstance(value[-1], str) or value[-1].get("role") == "user" if value else False)
    ),
)
_SENT = Place(f"POST {CONTROL_ROOT}/script")
"""The place reported for a turn that was sent over HTTP."""


async def script(request: Request) -> Json:
    """Add a route, `{"when": {"instructions": "planner"}, "turns": [[{"message": "Ask ops."}], …], "repeat": true}`.

    Or send anything that a script file in YAML may contain: `{"script": […], "when": […], "organization": {…}, "mcp":
    {…}, …}`. An item may also be a string, or in its wire form, `{"type": "message", …}`. Returns how many turns are
    waiting, and the ids of files.
    """
    mock, sent = mock_of(request), await read_object(request)
    return parse_sent_script(sent).apply(mock, lambda _: _SENT)


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

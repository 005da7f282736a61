"""Gated calls: decided, late, one after the other, twice, under another id, in another process."""

import json
from contextlib import suppress

import pytest
import shipping
from agent_framework import Content, Message
from agent_framework.exceptions import ChatClientException
from given import KEPT, STATELESS
from shipping import decided
from story import DEPLOY, LOOK_UP, answered, run_program

from harness import surfaced
from harness.items import function_call, message

NOTIFY = function_call("notify", {"ref": "v2"})


@pytest.fixture(params=[KEPT, STATELESS], ids=["kept", "stateless"])
def options(request):
    return request.param


@pytest.fixture
def ops(openai, log, options):
    return shipping.shipper(openai, log, **options)


@pytest.fixture
def talk(ops, run):
    """How a user talks on one session: what he says starts a run, whose result is awaited."""
    session = ops.create_session()
    return lambda said: run(ops, said, session=session)


def done(log):
    """Return what was done, in any order: calls of one turn run side by side."""
    return sorted(log.read_text().splitlines()) if log.exists() else []


@pytest.mark.parametrize(("yes", "executed"), [(True, ["deploy v2"]), (False, [])], ids=["approve", "deny"])
async def test_decided(mock, log, talk, yes, executed):
    mock.script(DEPLOY, message("That is settled."))
    asked = await talk("Ship v2.")
    surfaced(asked, mock.replies)
    result = await talk(decided(asked.user_input_requests, yes))
    assert (result.text, done(log)) == ("That is settled.", executed)
    assert answered(mock) == [1]


async def test_decided_without_a_session(mock, ops, log, run):
    mock.script([message("I look first."), LOOK_UP, DEPLOY], message("v2 is out."))
    asked = await run(ops, "Ship v2.")
    history = [Message("user", ["Ship v2."]), *asked.messages, decided(asked.user_input_requests)]
    result = await run(ops, history)
    assert (result.messages[-1].text, done(log)) == ("v2 is out.", ["deploy v2"])


async def test_one_after_the_other(mock, log, talk):
    mock.script([DEPLOY, NOTIFY], message("Both are done."))
    first, second = (await talk("Ship v2 and tell.")).user_input_requests
    await talk(decided([first]))
    result = await talk(decided([second]))
    assert (result.text, done(log)) == ("Both are done.", ["deploy v2", "notify v2"])


async def test_asked_again_after_a_first_approval(mock, log, talk):
    mock.script(DEPLOY, NOTIFY, message("Both are done."))
    asked = await talk("Ship v2, then tell.")
    asked = await talk(decided(asked.user_input_requests))
    result = await talk(decided(asked.user_input_requests))
    assert (result.text, done(log)) == ("Both are done.", ["deploy v2", "notify v2"])


@pytest.mark.parametrize("options", [KEPT], ids=["kept"])
async def test_question_before_the_approval(mock, log, talk):
    await asked_between(mock, log, talk)


@pytest.mark.parametrize("options", [STATELESS], ids=["stateless"])
async def test_question_before_the_approval_in_a_replay(mock, log, talk):
    await asked_between(mock, log, talk)


async def asked_between(mock, log, talk):
    """A user who asks something else before he says yes."""
    mock.script(DEPLOY, message("It waits for your leave."), message("v2 is out."))
    asked = await talk("Ship v2.")
    await talk("Is it out?")
    result = await talk(decided(asked.user_input_requests))
    assert (result.text, done(log)) == ("v2 is out.", ["deploy v2"])


async def test_approved_twice(mock, log, talk):
    mock.script(DEPLOY, message("v2 is out."), message("It was out already."))
    answer = decided((await talk("Ship v2.")).user_input_requests)
    await talk(answer)
    await talk([answer, Message("user", ["Go on."])])
    assert done(log) == ["deploy v2"]


async def test_approved_under_another_id(mock, log, talk, options):
    mock.script(DEPLOY)
    if options == STATELESS:
        mock.script(message("Nothing was shipped."))
    mock.script(message("v2 is out."))
    requests = (await talk("Ship v2.")).user_input_requests
    call = Content.from_function_call("call_other", "deploy", arguments={"ref": "v2"})
    other = Content.from_function_approval_response(True, "another-id", call)
    with suppress(ChatClientException):  # where the API keeps the history, there is nothing to send
        await talk(Message("user", [other]))
    assert done(log) == []
    result = await talk(decided(requests))
    assert (result.text, done(log)) == ("v2 is out.", ["deploy v2"])


@pytest.mark.parametrize("run", ["run"], indirect=True)
@pytest.mark.parametrize(("decision", "executed"), [("approve", ["deploy v2"]), ("deny", [])])
async def test_resumed_in_a_new_process(mock, ops, log, run, tmp_path, options, decision, executed):
    mock.script(DEPLOY, message("That is settled."))
    session = ops.create_session()
    requests = (await run(ops, "Ship v2.", session=session)).user_input_requests
    saved = tmp_path / "session.json"
    known = {"session": session.to_dict(), "requests": [request.to_dict() for request in requests], "options": options}
    saved.write_text(json.dumps(known))
    said = run_program(shipping.__file__, saved, log, decision)
    assert (said, done(log)) == ("That is settled.", executed)

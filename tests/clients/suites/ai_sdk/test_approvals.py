"""Gated calls of `ai`: its own tools and those of a hosted MCP server, decided by messages or on a chat's page."""

import pytest
from story import DEPLOY, DEPLOY_V3, PARIS, REMOTE, answered, decisions, deployed

from harness.items import message

DECISIONS = pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])


@DECISIONS
def test_decided(mock, run, log, approve):
    mock.script(DEPLOY, message("That is settled."))
    told = run("decided", log=str(log), decisions=[approve])
    assert (told["output"], deployed(log)) == ("That is settled.", ["v2"] if approve else [])
    assert answered(mock) == [1]


def test_one_of_two_is_approved(mock, run, log):
    mock.script([DEPLOY, DEPLOY_V3], message("One is out."))
    told = run("decided", log=str(log), decisions=[True, False])
    assert (told["output"], deployed(log)) == ("One is out.", ["v2"])
    assert answered(mock) == [1, 1]


def test_only_some_calls_are_gated(mock, run, log):
    mock.script([message("I look first."), PARIS, DEPLOY], message("v2 is out."))
    told = run("decided", log=str(log), decisions=[True])
    assert (told["output"], deployed(log)) == ("v2 is out.", ["v2"])
    assert answered(mock) == [1, 1]


@DECISIONS
def test_on_the_page_of_a_chat(mock, play, log, approve):
    mock.script([PARIS, DEPLOY], message("That is settled."), message("You are welcome."))
    messages = play("chat", log=str(log), questions=["Ship it.", "Thanks."], decisions=[approve])
    assert (messages[-1]["parts"][-1]["text"], deployed(log)) == ("You are welcome.", ["v2"] if approve else [])
    told = [str(output) for _, output in mock.calls[1].outputs]
    assert told
    assert all(("denied" in output) is not approve for output in told)


@DECISIONS
def test_hosted_mcp(mock, run, shipped, approve):
    mock.script([REMOTE, message("That is settled.")], *([] if approve else [message("That is settled.")]))
    assert run("decided", remote=True, decisions=[approve])["output"] == "That is settled."
    assert decisions(mock) == [(approve, int(approve))]

"""Gated calls of `@openai/agents`: approved, rejected, some of several, in another process; and hosted MCP servers."""

import pytest
from story import DEPLOY, DEPLOY_V3, LOOK_UP, REMOTE, answered, decisions, deployed

from harness.items import message

DECISIONS = pytest.mark.parametrize("approve", [True, False], ids=["approve", "reject"])


@DECISIONS
def test_decided(mock, run, log, approve):
    mock.script(DEPLOY, message("That is settled."))
    told = run("decided", agent="shipper", log=str(log), decisions=[approve])
    assert (told["output"], deployed(log)) == ("That is settled.", ["v2"] if approve else [])
    assert answered(mock) == [1]


def test_one_of_two_is_approved(mock, run, log):
    mock.script([DEPLOY, DEPLOY_V3], message("One is out."))
    told = run("decided", agent="shipper", log=str(log), decisions=[True, False])
    assert (told["output"], deployed(log)) == ("One is out.", ["v2"])
    assert answered(mock) == [1, 1]


def test_only_some_calls_are_gated(mock, run, log):
    mock.script([message("I look first."), LOOK_UP, DEPLOY], message("v2 is out."))
    told = run("decided", agent="shipper", log=str(log), decisions=[True])
    assert (told["output"], deployed(log)) == ("v2 is out.", ["v2"])
    assert answered(mock) == [1, 1]


@DECISIONS
@pytest.mark.parametrize("chain", [False, True], ids=["replay", "chain"])
def test_resumed_in_a_new_process(mock, node, play, log, approve, chain):
    mock.script(*([message("Hello.")] if chain else []), [LOOK_UP, DEPLOY], message("That is settled."))
    paused = play("paused", agent="shipper", log=str(log), chain=chain)
    assert (paused["waiting"], deployed(log)) == (1, [])
    output = node("resume.mjs", agent="shipper", log=str(log), state=paused["state"], approve=approve)
    assert (output, deployed(log)) == ("That is settled.", ["v2"] if approve else [])
    assert answered(mock) == [1, 1]


@pytest.fixture
def prod(mock, shipped):
    """A server `prod`, and a function that scripts a call of it, which is carried out or not, and then a text."""

    def script(approve):
        mock.script([REMOTE, message("Done as asked.")], *([] if approve else [message("Done as asked.")]))

    return script


@DECISIONS
def test_hosted_mcp(mock, prod, run, approve):
    prod(approve)
    assert run("run", agent="remote", approve=approve)["output"] == "Done as asked."
    assert decisions(mock) == [(approve, int(approve))]


@DECISIONS
def test_hosted_mcp_is_asked_of_a_human(mock, prod, run, approve):
    prod(approve)
    assert run("decided", agent="remote", decisions=[approve])["output"] == "Done as asked."
    assert decisions(mock) == [(approve, int(approve))]


@DECISIONS
def test_hosted_mcp_in_a_new_process(mock, prod, node, play, approve):
    prod(approve)
    paused = play("paused", agent="remote")
    assert node("resume.mjs", agent="remote", state=paused["state"], approve=approve) == "Done as asked."
    assert decisions(mock) == [(approve, int(approve))]

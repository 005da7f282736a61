"""`POST /responses` with agents: scripts that name agents, and requests that have none."""

from typing import Any

import pytest

from harness.core.errors import ScriptError
from harness.core.exchange import Answer
from harness.ending import completed
from harness.items import agent_message, by_agent, message, multi_agent_call, multi_agent_call_output
from tests.support.in_process import Client, error, post

BETA = "responses_multi_agent=v1"


def ask(client: Client, beta: str = BETA, **members: Any) -> Answer:
    body = {"model": "gpt-5.6-sol", "input": "hi", "multi_agent": {"enabled": True}, **members}
    return post(client.api, body, **{"openai-beta": beta})


@pytest.mark.parametrize(
    "item", [multi_agent_call("list_agents"), agent_message("/root", "/root/a"), by_agent("/root/a", message("x"))]
)
def test_there_are_no_agents_unless_the_request_enables_them(client, item):
    client.mock.script(item)
    answer = client.ask(model="gpt-5.6-sol")
    assert answer.status == 418
    assert "does not enable `multi_agent`" in answer.body["error"]["message"]


def test_off_schema_a_script_says_what_it_likes(client):
    client.mock.script([multi_agent_call("list_agents"), completed(off_schema=True)])
    assert client.ask().body["output"][0]["type"] == "multi_agent_call"


def test_a_disabled_beta_changes_nothing(client):
    client.mock.script(message("ok"))
    (item,) = ask(client, multi_agent={"enabled": False}).body["output"]
    assert {"agent", "phase"}.isdisjoint(item)


def test_a_message_to_an_agent_has_no_status(client):
    client.mock.script([agent_message("/root", "/root/a"), message("ok")])
    assert ["status" in item for item in ask(client).body["output"]] == [False, True]


def test_a_phase_of_the_script_stays(client):
    client.mock.script([message("Well…", phase="commentary"), message("ok")])
    assert [item["phase"] for item in ask(client).body["output"]] == ["commentary", "final_answer"]


@pytest.mark.parametrize("beta", ["", "assistants=v2", "responses_multi_agent=v2", "xresponses_multi_agent=v1"])
def test_the_header_is_needed(client, beta):
    assert error(ask(client, beta)) == (400, "Unknown parameter: 'multi_agent'.", "multi_agent", "unknown_parameter")
    assert ask(client, beta, multi_agent=None).status == 200


def test_agents_of_items_are_known_with_the_header_alone(client):
    said = {"role": "assistant", "content": "x", "agent": {"agent_name": "/root/a"}}
    assert ask(client, input=[said, {"role": "user", "content": "hi"}]).status == 200
    assert error(client.ask([said]))[1] == "Unknown parameter: 'input[0].agent'."


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: multi_agent_call("spawn"), "action is 'spawn'. Use one of: spawn_agent"),
        (lambda: multi_agent_call_output("spawn_agent", ""), "call_id is ''"),
        (lambda: agent_message("", "/root"), "author is ''"),
        (lambda: by_agent("", message("x")), "agent is ''"),
    ],
)
def test_what_is_no_action_of_agents_is_refused(build, words):
    with pytest.raises(ScriptError, match=words.replace(".", r"\.")):
        build()

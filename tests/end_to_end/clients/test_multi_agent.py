"""The multi-agent beta by the unmodified SDK: which agent said what, in an answer, in a stream, over a WebSocket.

Every answer and every event is read by the SDK's beta types with nothing missing (`tests/support/strict.py`).
"""

from __future__ import annotations

from typing import Any

import openai
import pytest

from harness.items import agent_message, by_agent, function_call, message, multi_agent_call, multi_agent_call_output
from harness.world.mock import Mock
from harness.world.scripting.document import parse_sent_script
from tests.support.tools import functions

BETA: Any = "responses_multi_agent=v1"
HEADERS = {"OpenAI-Beta": BETA}
ASK: Any = {"model": "gpt-5.6-sol", "input": "Compare Alpha and Beta.", "multi_agent": {"enabled": True}}
ALPHA = "/root/alpha"
TEAM = [
    multi_agent_call("spawn_agent", {"task_name": "alpha"}, call_id="call_a"),
    multi_agent_call_output("spawn_agent", "call_a", '{"task_name":"/root/alpha"}'),
    by_agent(ALPHA, message("Six weeks.")),
    agent_message(ALPHA, "/root"),
    message("Take Beta."),
]
READS: Any = functions("get_proposal")


def agents(items: Any) -> list[tuple[str, str]]:
    return [(item.type, item.agent.agent_name) for item in items]


def final_text(response: Any) -> str:
    """What the guide tells an application to show: the final answer of the root agent."""
    return "".join(
        part.text
        for item in response.output
        if item.type == "message" and item.agent.agent_name == "/root" and item.phase == "final_answer"
        for part in item.content
    )


def test_every_item_has_its_agent(mock: Mock, client: openai.OpenAI) -> None:
    mock.script(TEAM)
    response = client.beta.responses.create(**ASK, betas=[BETA])
    assert agents(response.output) == [
        ("multi_agent_call", "/root"),
        ("multi_agent_call_output", "/root"),
        ("message", ALPHA),
        ("agent_message", "/root"),
        ("message", "/root"),
    ]
    assert final_text(response) == "Take Beta."
    assert [item.id.partition("_")[0] for item in response.output[:2]] == ["mac", "maco"]


def test_every_event_of_an_item_has_its_agent(mock: Mock, client: openai.OpenAI) -> None:
    mock.script(TEAM)
    said: dict[str, str] = {}
    for event in client.beta.responses.create(**ASK, betas=[BETA], stream=True):
        about_item = "output_index" in event.model_fields_set
        assert (getattr(event, "agent", None) is not None) == about_item, event
        if event.type == "response.output_text.delta":
            assert event.agent is not None
            said[event.agent.agent_name] = said.get(event.agent.agent_name, "") + event.delta
    assert said == {ALPHA: "Six weeks.", "/root": "Take Beta."}


def test_the_items_can_be_sent_back_with_the_outputs_of_calls(mock: Mock, client: openai.OpenAI) -> None:
    called = by_agent(ALPHA, function_call("get_proposal", {}, call_id="call_1"))
    mock.script([*TEAM[:2], called], message("Take Beta."))
    history: list[Any] = [{"role": "user", "content": "Compare."}]
    first = client.beta.responses.create(**{**ASK, "input": history}, tools=READS, store=False, betas=[BETA])
    history += [item.model_dump(mode="json", exclude_none=True) for item in first.output]
    history.append({"type": "function_call_output", "call_id": "call_1", "output": "6 weeks"})
    second = client.beta.responses.create(**{**ASK, "input": history}, tools=READS, store=False, betas=[BETA])
    assert final_text(second) == "Take Beta."


def test_without_the_beta_they_are_unknown(mock: Mock, client: openai.OpenAI) -> None:
    with mock.refuses("multi_agent_beta_missing"), pytest.raises(openai.BadRequestError, match="'multi_agent'"):
        client.responses.create(model="gpt-5.6-sol", input="hi", extra_body={"multi_agent": {"enabled": True}})


@pytest.mark.parametrize(
    ("settings", "param"),
    [
        ({"enabled": True, "max_concurrent_subagents": 0}, "multi_agent.max_concurrent_subagents"),
        ({"enabled": "yes"}, "multi_agent.enabled"),
        ({"enabled": True, "depth": 2}, "multi_agent.depth"),
        ({}, "multi_agent.enabled"),
    ],
)
@pytest.mark.harness(refusals=["shape"], unused="allow")
def test_wrong_settings_are_refused(client: openai.OpenAI, settings: Any, param: str) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.beta.responses.create(**{**ASK, "multi_agent": settings}, betas=[BETA])
    assert refused.value.param == param


def test_a_script_file_names_agents(mock: Mock, client: openai.OpenAI) -> None:
    lines = [
        {"multi_agent_call": {"action": "spawn_agent", "call_id": "call_a"}},
        {"message": {"text": "Six weeks.", "agent": ALPHA}},
        {"message": "Take Beta."},
    ]
    parse_sent_script({"script": [lines]}).apply(mock)
    response = client.beta.responses.create(**ASK, betas=[BETA])
    assert agents(response.output)[1:] == [("message", ALPHA), ("message", "/root")]

"""What goes wrong at the API: refused, limited, failed on the way, broken off."""

import pytest
from agent_framework import Agent, tool
from agent_framework.exceptions import ChatClientException
from story import DEPLOY

from harness.ending import failed, incomplete
from harness.faults import cut, hang_up, overloaded, rate_limit, server_error
from harness.items import message


async def test_refused_request(mock, openai, run):
    agent = Agent(openai, default_options={"reasoning": {"effort": "utmost"}})
    with pytest.raises(ChatClientException, match="utmost"):
        await run(agent, "Hi.")


@pytest.mark.parametrize(
    "fault", [rate_limit(after="10ms"), server_error(), overloaded(), hang_up()], ids=["429", "500", "503", "none"]
)
async def test_second_attempt(mock, openai, run, fault):
    mock.script(fault, message("Hello."))
    assert (await run(Agent(openai), "Hi.")).text == "Hello."
    assert len(mock.exchanges) == 2


async def test_second_attempt_within_a_tool_loop(mock, openai, run, done):
    mock.script(DEPLOY, server_error(), message("v2 is out."))

    @tool(approval_mode="never_require")
    def deploy(ref: str) -> str:
        done.append(ref)
        return f"{ref} is live"

    assert (await run(Agent(openai, tools=[deploy]), "Ship v2.")).text == "v2 is out."
    assert done == ["v2"]


async def test_stream_that_is_cut(mock, openai):
    mock.script(cut(message("Once upon a time"), after=6))
    stream = Agent(openai).run("Tell a story.", stream=True)
    with pytest.raises(ChatClientException):
        async for _ in stream:
            pass


async def test_stream_that_fails(mock, openai):
    mock.script([message("Once upon a time"), failed("server_error", "It broke.")])
    stream = Agent(openai).run("Tell a story.", stream=True)
    with pytest.raises(ChatClientException, match="It broke"):
        async for _ in stream:
            pass


async def test_answer_that_is_too_long(mock, openai, run):
    mock.script([message("Once upon a time"), incomplete("max_output_tokens")])
    assert (await run(Agent(openai), "Tell a story.")).finish_reason == "length"


async def test_call_that_breaks_off(mock, openai, run):
    mock.script([DEPLOY, incomplete("max_output_tokens")])
    result = await run(Agent(openai, tools=[]), "Ship v2.")
    assert result.finish_reason == "length"

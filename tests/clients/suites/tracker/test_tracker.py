"""Long tool loops of openai-agents whose memory is kept by the API: every call is answered, in every turn.

How often an address in memory is used again depends on the run. A long input, a tool that is no coroutine and forty turns of
eight calls leave so many dead addresses that an affected release gets through once in fifty times, so three times in a row
never.
"""

from __future__ import annotations

import pytest
from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from harness.examine.own_tests import run_case
from harness.items import function_call, message

READINGS, TURNS, CALLS = 3, 40, 8
CHAPTERS = [{"role": "user", "content": f"Read chapter {number}."} for number in range(40)]
QUIET = RunConfig(tracing_disabled=True)


@function_tool
def look_up(page: int) -> str:
    """Read a page."""
    return f"Page {page}."


async def run(mock, streamed, config=QUIET, **memory):
    for turn in range(TURNS):
        pages = range(turn * CALLS, turn * CALLS + CALLS)
        mock.script([function_call("look_up", {"page": page}) for page in pages])
    mock.script(message("Read."))
    agent = Agent("Reader", model=OpenAIResponsesModel("gpt-4.1", AsyncOpenAI()), tools=[look_up])
    if not streamed:
        return await Runner.run(agent, CHAPTERS, max_turns=TURNS + 1, run_config=config, **memory)
    result = Runner.run_streamed(agent, CHAPTERS, max_turns=TURNS + 1, run_config=config, **memory)
    async for _ in result.stream_events():
        pass
    return result


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "streamed"])
async def test_auto_previous_response_id(mock, streamed):
    for _ in range(READINGS):
        result = await run(mock, streamed, auto_previous_response_id=True)
        assert result.final_output == "Read."


@pytest.fixture
def traces():
    """Trace runs, without the data that would keep the items of a run alive."""
    set_tracing_disabled(False)
    yield RunConfig(trace_include_sensitive_data=False)
    set_tracing_disabled(True)


async def test_traces_without_data(mock, traces):
    for _ in range(READINGS):
        result = await run(mock, False, traces, auto_previous_response_id=True)
        assert result.final_output == "Read."


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "streamed"])
async def test_previous_response_id(mock, client, streamed):
    for _ in range(READINGS):
        mock.script(message("Hello."))
        first = client.responses.create(model="gpt-4.1", input="hi")
        result = await run(mock, streamed, previous_response_id=first.id)
        assert result.final_output == "Read."


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "streamed"])
async def test_conversation_id(mock, client, streamed):
    for _ in range(READINGS):
        result = await run(mock, streamed, conversation_id=client.conversations.create().id)
        assert result.final_output == "Read."


def test_case(mock, mock_server):
    for number in range(2 * READINGS):  # shorter than the loops above, and so not as sure to use an address again
        own = mock_server.api.open(f"sk-case-{number}", base_url=mock.base_url)
        run_case(own, "tools/turns-of-many-calls", "stream,conversation", "openai-agents")

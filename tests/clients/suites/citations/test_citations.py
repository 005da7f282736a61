"""A citation of one agent in the history of the next: in turn or in a group, streamed or not."""

import pytest
from agent_framework import Agent
from agent_framework_orchestrations import GroupChatBuilder, SequentialBuilder

from harness.items import file_citation, message

WITHIN = file_citation("file-guide", "guide.txt", cite="leave")
"""It comes ahead of the last character: 1.2.1 puts a space between the two pieces of the text."""
ACCEPTED = pytest.mark.harness(losses=["citation-dropped"])
"""What matters is that the API takes the history, whatever it lost."""


async def streamed(workflow):
    async for _ in workflow.run("How is it stored?", stream=True):
        pass


def group(agents):
    names = iter([agent.name for agent in agents])
    return GroupChatBuilder(participants=agents, selection_func=lambda _: next(names), max_rounds=2).build()


async def test_sequential_streamed(mock, agents):
    await streamed(SequentialBuilder(participants=agents).build())
    assert [exchange.status for exchange in mock.exchanges] == [200, 200]


@ACCEPTED
async def test_sequential_is_accepted(mock, agents):
    await SequentialBuilder(participants=agents).build().run("How is it stored?")
    assert [exchange.status for exchange in mock.exchanges] == [200, 200]


@ACCEPTED
async def test_group_chat_streamed_is_accepted(mock, agents):
    await streamed(group(agents))
    assert [exchange.status for exchange in mock.exchanges] == [200, 200]


async def test_sequential_keeps_the_citation(agents):
    await SequentialBuilder(participants=agents).build().run("How is it stored?")


async def test_group_chat_keeps_the_citation(agents):
    await streamed(group(agents))


@pytest.mark.harness(unused="allow")  # the researcher is not asked
async def test_group_chat_keeps_a_citation_within_the_text(mock, agents):
    mock.when(instructions="reader").script(message("Tell the team before you leave.", annotations=[WITHIN]))
    reader = Agent(client=agents[0].client, name="reader", instructions="You are the reader.")
    await streamed(group([reader, agents[1]]))

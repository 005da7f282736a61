"""A citation of one agent in the history of the next: in turn or in a group, streamed or not."""

import pytest
from agent_framework_orchestrations import GroupChatBuilder, SequentialBuilder

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

"""A citation of one agent in the history of the next: in turn or in a group, streamed or not."""

import pytest
from agent_framework import Agent
from agent_framework.foundry import FoundryChatClient
from agent_framework.openai import OpenAIChatClient
from agent_framework_orchestrations import GroupChatBuilder, SequentialBuilder
from credential import AsyncCredential

from harness.examine.own_tests import run_case
from harness.items import file_citation, file_search_call, message

WITHIN = file_citation("file-guide", "guide.txt", cite="leave")
"""It comes ahead of the last character: 1.2.1 puts a space between the two pieces of the text."""
ACCEPTED = pytest.mark.harness(losses=["citation-dropped"])
"""What matters is that the API takes the history, whatever it lost."""

MODEL = "gpt-5"


@pytest.fixture(params=["openai", "foundry", "azure"])
def chat(mock, request):
    if request.param == "foundry":
        credential = AsyncCredential(mock.api_key)
        return FoundryChatClient(project_endpoint=mock.project_endpoint, credential=credential, model=MODEL)
    place = {"base_url": mock.base_url} if request.param == "openai" else {"azure_endpoint": mock.azure_endpoint}
    return OpenAIChatClient(**place, api_key=mock.api_key, model=MODEL)


@pytest.fixture
def agents(mock, chat):
    found = message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt")])
    mock.when(instructions="researcher").script([file_search_call(["storage"]), found])
    mock.when(instructions="writer").script(message("Keep it in the fridge."))
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    search = {"type": "file_search", "vector_store_ids": [store]}
    return [
        Agent(client=chat, name="researcher", instructions="You are the researcher.", tools=[search]),
        Agent(client=chat, name="writer", instructions="You are the writer."),
    ]


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


@pytest.mark.parametrize("mode", ["plain,stateless", "stream,stateless"])
def test_case(mock, mode):
    run_case(mock, "answers/file-citation-sent-back", mode, "agent-framework")

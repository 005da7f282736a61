"""agent-framework's clients for Azure: a project's models, a project's agents, an Azure endpoint."""

import pytest
from agent_framework import Agent, tool
from agent_framework.foundry import FoundryAgent, FoundryChatClient
from agent_framework.openai import OpenAIChatClient
from story import DEPLOY, DEPLOY_V3, answered

from harness import surfaced
from harness.items import file_citation, file_search_call, message

CITED = message("See the report.", annotations=[file_citation("file-1", "report.pdf", 14)])


@pytest.fixture(params=["foundry", "azure"])
def chat(mock, foundry_credential, request):
    if request.param == "foundry":
        return FoundryChatClient(project_endpoint=mock.project_endpoint, model="mine", credential=foundry_credential)
    return OpenAIChatClient(azure_endpoint=mock.azure_endpoint, api_key=mock.api_key, model="mine")


@tool(approval_mode="never_require")
def deploy(ref: str) -> str:
    """Deploy a reference."""
    return f"{ref} is live"


async def test_chat_text(mock, chat):
    mock.script(message("Hello."))
    result = await Agent(chat, instructions="Help.").run("hi")
    assert result.text == "Hello."
    surfaced(result, mock.replies)


async def test_chat_stream_with_citations(mock, chat):
    mock.script([file_search_call(["report"]), CITED])
    search = {"type": "file_search", "vector_store_ids": [mock.vector_store()]}
    stream = Agent(chat, instructions="Help.", tools=[search]).run("hi", stream=True)
    async for _ in stream:
        pass
    surfaced(await stream.get_final_response(), mock.replies)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_chat_parallel_tools(mock, chat, streamed):
    mock.script([DEPLOY, DEPLOY_V3], message("Both are out."))
    agent = Agent(chat, instructions="Ship.", tools=[deploy])
    result = agent.run("Ship both.", stream=streamed)
    answer = await (result.get_final_response() if streamed else result)
    assert answer.text == "Both are out."
    assert answered(mock) == [1, 1]


async def test_chat_session(mock, chat):
    mock.script(message("Hello, Ann."), message("You are Ann."))
    agent = Agent(chat, instructions="Remember.")
    session = agent.create_session()
    await agent.run("I am Ann.", session=session)
    assert (await agent.run("Who am I?", session=session)).text == "You are Ann."


async def test_agent_of_a_project(mock, foundry_credential):
    mock.organization(agents={"helper": {"model": "mine", "instructions": "Help."}})
    mock.when(agent="helper").script(DEPLOY, message("v2 is out."))
    stored = {"project_endpoint": mock.project_endpoint, "agent_name": "helper", "agent_version": "1"}
    agent = FoundryAgent(**stored, credential=foundry_credential, tools=[deploy])
    result = await agent.run("Ship.")
    assert result.text == "v2 is out."
    assert answered(mock) == [1]

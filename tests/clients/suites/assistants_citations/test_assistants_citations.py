"""Citations of a run of the Assistants API in the client's result: in deltas, in the completed message, in both."""

import pytest
from agent_framework import Agent
from agent_framework.azure import AzureAIAgentClient
from agent_framework.openai import OpenAIAssistantsClient
from azure.ai.agents.aio import AgentsClient
from azure.core.credentials import AzureKeyCredential
from azure.core.pipeline.policies import AzureKeyCredentialPolicy

from harness import surfaced
from harness.examine.own_tests import run_case
from harness.items import file_citation, message, url_citation

ANNOTATIONS = {"annotations"}


@pytest.fixture(params=["delta", "completed", "both"])
def placement(mock, request):
    mock.citations = request.param
    return request.param


async def openai_answer(mock):
    mock.script(message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt")]))
    client = OpenAIAssistantsClient(model_id="gpt-4.1", base_url=mock.base_url, api_key=mock.api_key)
    return await ask(client)


async def azure_answer(mock):
    mock.script(message("Store it cold.", annotations=[url_citation("https://example.org/guide", "Guide")]))
    key = AzureKeyCredential(mock.api_key)  # the client gives no bearer token to plain http
    policy = AzureKeyCredentialPolicy(key, "api-key")
    agents = AgentsClient(mock.project_endpoint, key, authentication_policy=policy)
    async with agents:
        return await ask(AzureAIAgentClient(agents_client=agents, model_deployment_name="gpt-4.1"))


async def ask(client):
    async with Agent(client=client, name="researcher", instructions="You research.") as agent:
        return await agent.run("How is it stored?")


async def test_openai_surfaces_the_citation(mock, placement):
    surfaced(await openai_answer(mock), mock.replies, only=ANNOTATIONS)


async def test_openai_surfaces_the_text(mock, placement):
    surfaced(await openai_answer(mock), mock.replies, only={"text"})


async def test_azure_surfaces_everything(mock, placement):
    surfaced(await azure_answer(mock), mock.replies)


@pytest.mark.parametrize("mode", ["plain,thread", "stream,thread"])
def test_case(mock, mode):
    run_case(mock, "dialects/assistants-citation", mode, "assistants_adapter:AssistantsAdapter")

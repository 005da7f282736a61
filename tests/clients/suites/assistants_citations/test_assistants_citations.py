"""What a run of the Assistants API cites, and what the client makes of it: told in deltas, in the message, in both."""

import pytest
from agent_framework import Agent
from agent_framework.azure import AzureAIAgentClient
from agent_framework.openai import OpenAIAssistantsClient
from azure.ai.agents.aio import AgentsClient
from azure.core.credentials import AzureKeyCredential
from azure.core.pipeline.policies import AzureKeyCredentialPolicy

from harness import surfaced
from harness.items import file_citation, message, url_citation

NOTED = {"annotations"}


@pytest.fixture(params=["delta", "completed", "both"])
def told(mock, request):
    mock.citations = request.param
    return request.param


async def openai_answer(mock):
    mock.script(message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt")]))
    client = OpenAIAssistantsClient(model_id="gpt-4.1", base_url=mock.base_url, api_key=mock.api_key)
    return await asked(client)


async def azure_answer(mock):
    mock.script(message("Store it cold.", annotations=[url_citation("https://example.org/guide", "Guide")]))
    key = AzureKeyCredential(mock.api_key)  # the client gives no bearer token to plain http
    policy = AzureKeyCredentialPolicy(key, "api-key")
    agents = AgentsClient(mock.project_endpoint, key, authentication_policy=policy)
    async with agents:
        return await asked(AzureAIAgentClient(agents_client=agents, model_deployment_name="gpt-4.1"))


async def asked(client):
    async with Agent(client=client, name="researcher", instructions="You research.") as agent:
        return await agent.run("How is it stored?")


async def test_openai_surfaces_the_citation(mock, told):
    surfaced(await openai_answer(mock), mock.said, only=NOTED)


async def test_openai_surfaces_the_text(mock, told):
    surfaced(await openai_answer(mock), mock.said, only={"text"})


async def test_azure_surfaces_everything(mock, told):
    surfaced(await azure_answer(mock), mock.said)

"""azure-ai-projects over TLS: the endpoint and the credential of the test are all that a client is given."""

import pytest
from azure.ai.projects import AIProjectClient
from azure.ai.projects.aio import AIProjectClient as AsyncAIProjectClient
from azure.ai.projects.models import PromptAgentDefinition
from azure.core.credentials import SupportsTokenInfo, TokenCredential
from azure.core.credentials_async import AsyncSupportsTokenInfo, AsyncTokenCredential
from azure.identity import get_bearer_token_provider
from openai import OpenAI
from story import bound

from harness import surfaced
from harness.items import message

HELPER = PromptAgentDefinition(model="mine", instructions="Help.")


def test_project_over_tls(mock, foundry_credential):
    mock.when(agent="helper").script(message("Hello."), message(["Good", "bye."]))
    with (
        AIProjectClient(mock.project_endpoint, foundry_credential) as project,
        project.get_openai_client() as client,
    ):
        agent = project.agents.create_version("helper", definition=HELPER)
        response = client.responses.create(input="hi", extra_body=bound(agent))
        events = list(client.responses.create(input="bye", extra_body=bound(agent), stream=True))
        assert [listed.name for listed in project.agents.list()] == ["helper"]
    assert (response.output_text, events[-1].response.output_text) == ("Hello.", "Goodbye.")
    surfaced([response, events[-1].response], mock.replies)


async def test_project_over_tls_async(mock, foundry_credential):
    mock.when(agent="helper").script(message("Hello."), message(["Good", "bye."]))
    async with (
        foundry_credential,
        AsyncAIProjectClient(mock.project_endpoint, foundry_credential) as project,
        project.get_openai_client() as client,
    ):
        agent = await project.agents.create_version("helper", definition=HELPER)
        response = await client.responses.create(input="hi", extra_body=bound(agent))
        stream = await client.responses.create(input="bye", extra_body=bound(agent), stream=True)
        events = [event async for event in stream]
        assert [listed.name async for listed in project.agents.list()] == ["helper"]
    assert (response.output_text, events[-1].response.output_text) == ("Hello.", "Goodbye.")


def test_connections_over_tls(mock, foundry_credential):
    mock.connection("search", type="CognitiveSearch", credentials="a-key")
    with AIProjectClient(mock.project_endpoint, foundry_credential) as project:
        (listed,) = project.connections.list()
        assert project.connections.get(listed.name, include_credentials=True).credentials.api_key == "a-key"


def test_dataset_over_tls(mock, foundry_credential, tmp_path):
    (file := tmp_path / "faq.txt").write_text("Paris")
    with AIProjectClient(mock.project_endpoint, foundry_credential) as project:
        made = project.datasets.upload_file(name="faq", version="1", file_path=str(file))
        assert project.datasets.get_credentials("faq", "1").blob_reference.blob_uri.startswith("https://127.0.0.1:")
    assert made.name == "faq"


def test_token_is_a_key_of_the_openai_client(mock, foundry_credential):
    mock.script(message("Hello."))
    token = get_bearer_token_provider(foundry_credential, "https://ai.azure.com/.default")
    with OpenAI(base_url=f"{mock.project_endpoint}/openai/v1", api_key=token) as client:
        assert client.responses.create(model="mine", input="hi").output_text == "Hello."


@pytest.mark.parametrize("protocol", [TokenCredential, SupportsTokenInfo, AsyncTokenCredential, AsyncSupportsTokenInfo])
def test_credential_is_one_of_azure_core(foundry_credential, protocol):
    assert isinstance(foundry_credential, protocol)

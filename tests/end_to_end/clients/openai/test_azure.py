"""What the unmodified `AzureOpenAI` gets from the mock, and what plain `OpenAI` gets at the addresses of Azure."""

import os
from collections.abc import Iterator

import openai
import pytest

from harness.items import function_call, message
from tests.support.clients.programs import MODEL, WEATHER, outputs

ASK = {"model": MODEL, "input": "hi"}
VERSION = "2025-04-01-preview"


def client_of(mock, kind=openai.AzureOpenAI, **options):
    """Return a client of Azure, with the key and the version that are right if nothing else is said."""
    key = {} if "azure_ad_token_provider" in options else {"api_key": mock.api_key}
    return kind(**{"azure_endpoint": mock.azure_endpoint, "api_version": VERSION, "max_retries": 0, **key, **options})


def plain(mock, base_url):
    return openai.OpenAI(base_url=base_url, api_key=mock.api_key, max_retries=0)


@pytest.fixture
def azure(mock) -> Iterator[openai.AzureOpenAI]:
    with client_of(mock) as made:
        yield made


def test_a_tool_loop(mock, azure):
    mock.script(function_call("get_weather", {"city": "Oslo"}), message("4 degrees."))
    first = azure.responses.create(**ASK, tools=[WEATHER])
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
        azure.responses.create(**ASK, previous_response_id=first.id)
    second = azure.responses.create(model=MODEL, input=outputs(first), previous_response_id=first.id)
    assert second.output_text == "4 degrees."
    assert {exchange.request.dialect for exchange in mock.exchanges} == {"azure"}


def test_a_deployment_in_the_client_changes_nothing(mock):
    mock.script(message("Hello."))
    with client_of(mock, azure_deployment="mine") as client:
        assert client.responses.create(model="mine", input="hi").model == "mine"
    assert mock.exchanges[0].request.root == "/openai"


def test_a_token_of_a_credential_will_do(mock):
    mock.script(message("Hello."))
    with client_of(mock, azure_ad_token_provider=lambda: mock.api_key) as client:
        assert client.responses.create(**ASK).output_text == "Hello."


@pytest.mark.parametrize("root", ["/openai/v1", "/api/projects/any/openai/v1"])
def test_plain_openai_at_an_address_of_azure(mock, root):
    mock.script(message("Hello."), message("Again."))
    with plain(mock, mock.azure_endpoint + root) as client:
        conversation = client.conversations.create()
        assert client.responses.create(**ASK, conversation=conversation.id).output_text == "Hello."
        with client.responses.stream(**ASK, conversation=conversation.id) as stream:
            assert stream.get_final_response().output_text == "Again."


def test_an_agent_of_a_project(mock):
    mock.organization(agents={"helper": {"model": "mine", "instructions": "Help."}})
    mock.when(agent="helper").script(message("Hello."))
    with plain(mock, f"{mock.project_endpoint}/openai/v1") as client:
        agent = {"agent_reference": {"type": "agent_reference", "name": "helper"}}
        made = client.responses.create(input="hi", extra_body=agent)
        assert (made.output_text, made.model, made.instructions) == ("Hello.", "mine", "Help.")
        with pytest.raises(openai.BadRequestError, match="Not allowed when agent is specified"):
            client.responses.create(input="hi", tools=[WEATHER], extra_body=agent)


@pytest.mark.harness(dialect="azure")
def test_the_environment_may_lead_to_azure_alone(mock):
    mock.script(message("Hello."), message("Again."))
    assert openai.AzureOpenAI().responses.create(**ASK).output_text == "Hello."
    with plain(mock, mock.base_url) as client:
        assert client.responses.create(**ASK).output_text == "Again."
    with (
        plain(mock, f"{mock.azure_endpoint}/v1") as client,
        pytest.raises(openai.NotFoundError, match="Resource not found"),
    ):
        client.responses.create(**ASK)


@pytest.mark.harness(dialect="foundry")
def test_the_environment_may_lead_to_a_project_alone(mock, client):
    mock.script(message("Hello."))
    assert client.responses.create(**ASK).output_text == "Hello."
    assert os.environ["AZURE_AI_PROJECT_ENDPOINT"] == os.environ["FOUNDRY_PROJECT_ENDPOINT"] == mock.project_endpoint
    assert mock.exchanges[0].request.dialect == "foundry"

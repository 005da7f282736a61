"""The first tests of docs/foundry.md: a clients' agent of a project, green and red."""

import pytest
from azure.ai.projects import AIProjectClient
from azure.ai.projects.models import PromptAgentDefinition
from openai import BadRequestError

from harness.items import azure_ai_search_call, azure_ai_search_call_output, message


@pytest.fixture
def project(mock, foundry_credential):
    with AIProjectClient(mock.project_endpoint, foundry_credential) as client:
        yield client


def ask(project, question, **more):
    """The code under test: it makes an agent and asks it."""
    definition = PromptAgentDefinition(model="gpt-5.6-sol", instructions="Answer in one word.")
    agent = project.agents.create_version("helper", definition=definition)
    reference = {"type": "agent_reference", "name": agent.name, "version": agent.version}
    with project.get_openai_client() as client:
        return client.responses.create(input=question, extra_body={"agent_reference": reference}, **more).output_text


def test_an_agent_answers(mock, project):
    mock.when(agent="helper", instructions="one word").script(message("Paris."))
    assert ask(project, "The capital of France?") == "Paris."


def test_the_agent_settles_the_temperature(mock, project):
    mock.script(message("Paris."))
    assert ask(project, "The capital of France?", temperature=0) == "Paris."


def test_a_refusal_that_is_expected(mock, project):
    with mock.refuses("Not allowed when agent is specified."), pytest.raises(BadRequestError):
        ask(project, "The capital of France?", temperature=0)


def test_a_tool_of_the_project(mock, project):
    mock.script(
        [
            azure_ai_search_call({"query": "tents"}),
            azure_ai_search_call_output({"documents": [{"id": "1", "title": "Tents"}]}),
            message("The Alpine."),
        ]
    )
    with project.get_openai_client() as client:
        search = {"type": "azure_ai_search", "azure_ai_search": {"indexes": [{"index_name": "gear"}]}}
        response = client.responses.create(model="gpt-5.6-sol", input="Which tent?", tools=[search])
    assert [item.type for item in response.output][:2] == ["azure_ai_search_call", "azure_ai_search_call_output"]

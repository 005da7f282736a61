"""azure-ai-projects: its agents, and the client of the openai package that it hands out."""

import openai
import pytest
from azure.ai.projects import AIProjectClient
from azure.ai.projects.models import FunctionTool, MCPTool, PromptAgentDefinition
from azure.core.exceptions import ResourceNotFoundError
from story import answered, bound

from harness.items import function_call, mcp_call, message

PARAMETERS = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.fixture
def project(mock, foundry_credential):
    with AIProjectClient(mock.project_endpoint, foundry_credential, allow_preview=True) as client:
        yield client


def test_agent_is_made_and_asked(mock, project):
    agent = project.agents.create_version(
        "helper", definition=PromptAgentDefinition(model="mine", instructions="Help.")
    )
    mock.when(agent="helper", instructions="Help", model="mine").script(message("Hello."), message("Again."))
    with project.get_openai_client() as client:
        first = client.responses.create(input="hi", extra_body=bound(agent))
        second = client.responses.create(input="more", previous_response_id=first.id, extra_body=bound(agent))
    assert (first.output_text, second.output_text) == ("Hello.", "Again.")
    assert (first.model, first.instructions) == ("mine", "Help.")
    assert first.model_extra["agent_reference"] == bound(agent)["agent_reference"]
    assert first.output[0].model_extra["agent_reference"]["name"] == "helper"
    assert first.output[0].model_extra["response_id"] == first.id


def test_agent_with_a_tool_in_a_conversation(mock, project):
    tool = FunctionTool(name="deploy", description="Deploy.", parameters=PARAMETERS, strict=True)
    agent = project.agents.create_version("ops", definition=PromptAgentDefinition(model="mine", tools=[tool]))
    mock.when(agent="ops", tools="deploy").script(function_call("deploy", {}), message("Done."))
    with project.get_openai_client() as client:
        conversation = client.conversations.create()
        more = {"conversation": conversation.id, "extra_body": bound(agent)}
        (call,) = client.responses.create(input="Deploy.", **more).output
        with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
            client.responses.create(input="Well?", **more)
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "ok"}
        assert client.responses.create(input=[output], **more).output_text == "Done."
    assert answered(mock) == [1]


def test_agent_whose_tool_needs_leave(mock, project):
    mock.mcp("prod", {"deploy": "live"})
    tool = MCPTool(server_label="prod", server_url="https://mcp.example.org", require_approval="always")
    agent = project.agents.create_version("ops", definition=PromptAgentDefinition(model="mine", tools=[tool]))
    mock.script([mcp_call("prod", "deploy", {}), message("v2 is out.")])
    with project.get_openai_client() as client:
        asked = client.responses.create(input="Ship.", extra_body=bound(agent))
        leave = {"type": "mcp_approval_response", "approval_request_id": asked.output[-1].id, "approve": True}
        done = client.responses.create(input=[leave], previous_response_id=asked.id, extra_body=bound(agent))
    assert done.output_text == "v2 is out."
    assert [approval.executed for approval in mock.approvals] == [1]


def test_agent_brings_its_own_tools(mock, project):
    agent = project.agents.create_version("helper", definition=PromptAgentDefinition(model="mine"))
    with project.get_openai_client() as client:
        for extra in ({"tools": [{"type": "web_search"}]}, {"model": "other"}):
            with pytest.raises(openai.BadRequestError, match="when agent is specified"):
                client.responses.create(input="hi", extra_body=bound(agent), **extra)


def test_agent_endpoint(mock, project):
    project.agents.create_version("helper", definition=PromptAgentDefinition(model="mine", instructions="Help."))
    mock.when(agent="helper", instructions="Help").script(message("Hello."))
    with project.get_openai_client(agent_name="helper") as client:
        assert client.responses.create(input="hi").output_text == "Hello."


def test_agents_are_kept_in_versions(mock, project):
    first, second = (
        project.agents.create_version("helper", definition=PromptAgentDefinition(model="mine", instructions=text))
        for text in ("One.", "Two.")
    )
    other = project.agents.create_version("other", definition=PromptAgentDefinition(model="mine"), description="Other")
    assert (first.id, second.id, other.description) == ("helper:1", "helper:2", "Other")
    assert project.agents.get("helper").versions["latest"].version == "2"
    assert project.agents.get_version("helper", "1").definition["instructions"] == "One."
    assert [version.version for version in project.agents.list_versions("helper")] == ["2", "1"]
    assert {agent.name for agent in project.agents.list()} == {"helper", "other"}
    assert project.agents.delete_version("helper", "2").deleted
    assert project.agents.get("helper").versions["latest"].version == "1"
    assert project.agents.delete("helper").deleted
    with pytest.raises(ResourceNotFoundError):
        project.agents.get("helper")

"""The first tests of docs/foundry.md with agent-framework: a model of a project, and an agent that is stored there."""

from agent_framework import Agent, tool
from agent_framework.foundry import FoundryAgent, FoundryChatClient

from harness.items import function_call, message


@tool(approval_mode="never_require")
def deploy(ref: str) -> str:
    """Deploy a reference."""
    return f"{ref} is live"


async def test_a_tool_is_called(mock, foundry_credential):
    mock.script(function_call("deploy", {"ref": "v2"}), message("v2 is live."))
    chat = FoundryChatClient(project_endpoint=mock.project_endpoint, model="gpt-5.6-sol", credential=foundry_credential)
    agent = Agent(chat, instructions="Ship.", tools=[deploy])
    assert (await agent.run("Ship v2.")).text == "v2 is live."


async def test_a_stored_agent_answers(mock, foundry_credential):
    mock.organization(agents={"shipping": {"model": "gpt-5.6-sol", "instructions": "Ship."}})
    mock.when(agent="shipping", instructions="Ship").script(message("Done."))
    agent = FoundryAgent(
        project_endpoint=mock.project_endpoint,
        agent_name="shipping",
        agent_version="1",
        credential=foundry_credential,
    )
    assert (await agent.run("Ship v2.")).text == "Done."

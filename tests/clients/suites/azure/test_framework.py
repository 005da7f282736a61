"""agent-framework's clients for a project of Azure: its models, agents and tools."""

import pytest
from agent_framework import Agent, tool
from agent_framework.exceptions import ChatClientException
from agent_framework.foundry import FoundryAgent, FoundryChatClient
from story import DEPLOY, answered

from harness import items
from harness.items import message

CONNECTION = "/subscriptions/s/resourceGroups/g/providers/p/accounts/a/projects/harness/connections/c"
TOOLS = {
    "a2a": {"project_connection_id": CONNECTION},
    "azure_ai_search": {"index_connection_id": CONNECTION, "index_name": "gear"},
    "bing_custom_search": {"connection_id": CONNECTION, "instance_name": "sites"},
    "bing_grounding": {"connection_id": CONNECTION},
    "browser_automation": {"connection_id": CONNECTION},
    "code_interpreter": {},
    "fabric": {"connection_id": CONNECTION},
    "file_search": {"vector_store_ids": ["vs_1"]},
    "mcp": {"name": "docs", "url": "https://docs.example", "project_connection_id": CONNECTION},
    "memory_search": {"memory_store_name": "store", "scope": "user_1"},
    "sharepoint": {"connection_id": CONNECTION},
    "web_search": {},
}
AS_MODEL = ("azure_ai_search", "bing_custom_search", "bing_grounding", "browser_automation", "fabric", "sharepoint")
"""The tools that agent-framework-foundry 1.15 makes as models, which its own client cannot turn into JSON."""
SAID = {
    "a2a": [items.a2a_preview_call("stocks"), items.a2a_preview_call_output("stocks", "$350")],
    "azure_ai_search": [items.azure_ai_search_call(), items.azure_ai_search_call_output({"documents": []})],
    "bing_custom_search": [items.bing_custom_search_preview_call(), items.bing_custom_search_preview_call_output()],
    "bing_grounding": [items.bing_grounding_call(), items.bing_grounding_call_output()],
    "browser_automation": [items.browser_automation_preview_call(), items.browser_automation_preview_call_output()],
    "fabric": [items.fabric_dataagent_preview_call(), items.fabric_dataagent_preview_call_output("Floods.")],
    "memory_search": [items.memory_search_call(["likes tea"])],
    "sharepoint": [items.sharepoint_grounding_preview_call(), items.sharepoint_grounding_preview_call_output()],
    "web_search": [items.web_search_call("tents")],
}


@pytest.fixture
def foundry(mock, foundry_credential):
    return FoundryChatClient(project_endpoint=mock.project_endpoint, model="gpt-5-mini", credential=foundry_credential)


@tool(approval_mode="never_require")
def deploy(ref: str) -> str:
    """Deploy a reference."""
    return f"{ref} is live"


async def test_agent_of_a_project(mock, foundry_credential):
    mock.organization(agents={"helper": {"model": "mine", "instructions": "Help."}})
    mock.when(agent="helper").script(DEPLOY, message("v2 is out."))
    stored = {"project_endpoint": mock.project_endpoint, "agent_name": "helper", "agent_version": "1"}
    agent = FoundryAgent(**stored, credential=foundry_credential, tools=[deploy])
    result = await agent.run("Ship.")
    assert result.text == "v2 is out."
    assert answered(mock) == [1]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", TOOLS)
async def test_a_tool_of_the_project_is_offered(mock, foundry, name, streamed):
    mock.script([*SAID.get(name, ()), message("Found.")])
    tool = getattr(FoundryChatClient, f"get_{name}_tool")(**TOOLS[name])
    agent = Agent(foundry, instructions="Help.", tools=[tool.as_dict() if name in AS_MODEL else tool])
    result = agent.run("Go.", stream=streamed)
    answer = await (result.get_final_response() if streamed else result)
    assert answer.text == "Found."


@pytest.mark.parametrize("name", AS_MODEL)
async def test_a_tool_as_a_model_never_leaves_the_client(mock, foundry, name):
    tool = getattr(FoundryChatClient, f"get_{name}_tool")(**TOOLS[name])
    with pytest.raises(ChatClientException, match="is not JSON serializable"):
        await Agent(foundry, tools=[tool]).run("Go.")
    assert mock.exchanges == []


@pytest.mark.parametrize("name", SAID)
async def test_an_agent_has_a_tool_of_the_project(mock, foundry_credential, name):
    tool = {"type": items_type(name)}
    mock.organization(agents={"helper": {"model": "gpt-5-mini", "instructions": "Help.", "tools": [tool]}})
    mock.when(agent="helper").script([*SAID[name], message("Found.")])
    agent = FoundryAgent(
        project_endpoint=mock.project_endpoint, agent_name="helper", agent_version="1", credential=foundry_credential
    )
    assert (await agent.run("Go.")).text == "Found."


def items_type(name):
    """Return the type of a tool, by that of its call."""
    return SAID[name][0].type.removesuffix("_call")

"""Drives `agent-framework` with an Azure AI Foundry project: an agent stored in the project, or one of its models."""

from __future__ import annotations

from typing import Any, ClassVar

from agent_framework import Agent
from agent_framework.foundry import FoundryAgent, FoundryChatClient

from harness.drive.clients import FoundryCredential
from harness.examine.adapters.agent_framework_python import AgentFrameworkSession
from harness.examine.session import SessionAdapter


class FoundrySession(AgentFrameworkSession):
    """Uses `FoundryAgent` if the task names an agent of the project, else `FoundryChatClient`."""

    def _make_agent(self, name: str) -> Any:
        endpoint = self.task.base_url.removesuffix("/openai/v1")
        of_project: dict[str, Any] = {
            "project_endpoint": endpoint,
            "credential": FoundryCredential(self.task.api_key),
        }
        if named := self.task.project_agent:
            tools = [*self._tools.values()]
            return FoundryAgent(agent_name=named, agent_version="1", tools=tools, name=name, **of_project)
        chat = FoundryChatClient(model=self.task.model, **of_project)
        own = next(agent for agent in self.agents if agent.name == name)
        tools = [*(self._tools[tool_name] for tool_name in own.tools), *map(self._host, self.task.hosted_tools)]
        return Agent(chat, own.instructions, name=name, tools=tools, default_options=self._options)

    async def _run(self, given: Any) -> Any:
        response = await super()._run(given)
        links = [
            request.consent_link for request in response.user_input_requests if request.type == "oauth_consent_request"
        ]
        if links:
            self.interruptions = [*(self.interruptions or ()), *links]
        return response if not links else _Consented(response.text)


class _Consented:
    """A response that only asked for consent, which the user gives elsewhere."""

    user_input_requests = ()

    def __init__(self, text: str) -> None:
        self.text = text


class AgentFrameworkFoundryAdapter(SessionAdapter):
    """The adapter for `agent-framework-foundry`."""

    package, session = "agent-framework-foundry", FoundrySession
    areas: ClassVar = ("dialects",)
    features: ClassVar = ("tools", "hosted_tools", "options", "project_agents")
    states: ClassVar = ("chain", "conversation")
    dialects: ClassVar = ("foundry",)

"""Drives `azure-ai-projects`: its client for responses of an agent stored in a project."""

from __future__ import annotations

from typing import Any, ClassVar

from azure.ai.projects.aio import AIProjectClient

from harness.api.http.dialects import API_ROOTS, FOUNDRY
from harness.drive.clients import FoundryCredential
from harness.examine.adapters.openai_background_python import send
from harness.examine.adapters.openai_python import OpenAISession
from harness.examine.session import SessionAdapter
from harness.examine.task import Task

SETTLED = ("model", "instructions", "tools")
"""Members that the definition of an agent has, so that a request must not repeat them."""


class ProjectSession(OpenAISession):
    """Uses `AIProjectClient.get_openai_client()` and names the agent in each request."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        root = API_ROOTS[FOUNDRY].removesuffix("/openai/v1")
        endpoint = task.base_url.removesuffix(API_ROOTS[FOUNDRY]) + root
        project = self.closing(AIProjectClient(endpoint, FoundryCredential(task.api_key)))
        options: dict[str, Any] = {} if task.timeout is None else {"timeout": task.timeout}
        self._client = self.closing(project.get_openai_client(**options))

    async def _send(self, asked: dict[str, Any]) -> Any:
        if self.task.project_agent:
            reference = {"type": "agent_reference", "name": self.task.project_agent}
            own = {name: value for name, value in asked.items() if name not in SETTLED}
            asked = {**own, "extra_body": {"agent_reference": reference}}
        return await send(self._client, asked)

    def _answer(self, item: Any) -> Any:
        if item.type == "oauth_consent_request":
            self.interruptions = [*(self.interruptions or ()), item.consent_link]
        return super()._answer(item)


class AIProjectsAdapter(SessionAdapter):
    """The adapter for `AIProjectClient`, with stored agents and with models."""

    package, session = "azure-ai-projects", ProjectSession
    areas: ClassVar = ("dialects",)
    features: ClassVar = ("tools", "hosted_tools", "options", "timeout", "project_agents")
    states: ClassVar = ("replay", "chain", "conversation")
    dialects: ClassVar = ("foundry",)

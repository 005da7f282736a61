"""Drives `agent-framework`: an agent with a session, its tools, agents as tools and approvals."""

from __future__ import annotations

from typing import Any, ClassVar

from agent_framework import Agent, Message, SlidingWindowStrategy, tool
from agent_framework.openai import OpenAIChatClient
from openai import AsyncOpenAI

from harness.examine.session import APPROVALS, BASIC, ClientSession, SessionAdapter
from harness.examine.task import Task

USAGE = ("input_token_count", "output_token_count", "total_token_count")


class AgentFrameworkSession(ClientSession):
    """Uses `Agent.run` on an `OpenAIChatClient`; the API keeps the session, or, without storage, the client."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._client = self.closing(AsyncOpenAI(**self.connection))
        self._chat = OpenAIChatClient(model=task.model, async_client=self._client)
        self._options = {**task.options, **self.stateless}
        self._tools: dict[str, Any] = {}
        for made in task.tools:
            mode = "always_require" if made.needs_approval else "never_require"
            self._tools[made.name] = tool(self.functions[made.name], schema=made.parameters, approval_mode=mode)
        self._agent = self._make_agent(self.agents[0].name)
        self._session: Any = None

    def _make_agent(self, name: str) -> Any:
        agent = next(member for member in self.agents if member.name == name)
        asked = [self._make_agent(helper).as_tool(name=f"ask_{helper}", arg_name="input") for helper in agent.ask]
        tools = [*(self._tools[made] for made in agent.tools), *asked, *map(self._host, self.task.hosted_tools)]
        kept = SlidingWindowStrategy(keep_last_groups=self.task.keep_last) if self.task.keep_last else None
        rest = {"default_options": self._options, "compaction_strategy": kept}
        return Agent(self._chat, agent.instructions, name=name, tools=tools, **rest)

    def _host(self, tool: Any) -> Any:
        """Declare a hosted tool: the client has a function for MCP servers, and takes other tools unchanged."""
        if tool["type"] != "mcp":
            return dict(tool)
        mode = {"always": "always_require", "never": "never_require"}.get(tool.get("require_approval", "always"))
        return self._chat.get_mcp_tool(name=tool["server_label"], url=tool.get("server_url"), approval_mode=mode)

    async def say(self, prompt: str) -> str:
        """Send a prompt and answer the agent's questions to its user."""
        if self._session is None:
            self._session = self._agent.create_session()
            if self.task.state == "conversation":
                made = await self._client.conversations.create()
                self._session = self._agent.get_session(service_session_id=made.id)
        response = await self._run(prompt)
        while response.user_input_requests:
            asked = response.user_input_requests
            given = [call.to_function_approval_response(self.approves(call.function_call.name)) for call in asked]
            response = await self._run(Message("user", given))
        return str(response.text)

    async def _run(self, given: Any) -> Any:
        if self.task.stream:
            stream = self._agent.run(given, session=self._session, stream=True)
            async for update in stream:
                self.add_delta(update.text)
            response = await stream.get_final_response()
        else:
            response = await self._agent.run(given, session=self._session)
        if response.usage_details:
            self.add_usage(response.usage_details, USAGE)
        self.cut = response.finish_reason if response.finish_reason in ("length", "content_filter") else None
        return response


class AgentFrameworkAdapter(SessionAdapter):
    """The adapter for `agent-framework-core` with `agent-framework-openai`."""

    package, session = "agent-framework-core", AgentFrameworkSession
    features: ClassVar = (*BASIC, *APPROVALS, "agent_tools", "incomplete", "shortening")
    states: ClassVar = ("stateless", "chain", "conversation")
    dialects: ClassVar = ("openai", "azure", "foundry")

"""Drives `pydantic-ai`: agents with tools, tools that ask another agent, and deferred tools for approvals."""

from __future__ import annotations

from typing import Any, ClassVar

from openai import AsyncOpenAI
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from harness.examine import task as tasks
from harness.examine.session import BASIC, READ, ClientSession, SessionAdapter

SETTINGS = OpenAIResponsesModelSettings.__annotations__
HOSTED = "openai_native_tools" if "openai_native_tools" in SETTINGS else "openai_builtin_tools"
STATES: Any = {"stateless": {"openai_store": False}, "chain": {"openai_previous_response_id": "auto"}}


class PydanticAISession(ClientSession):
    """Uses `Agent.run` with the messages so far."""

    def __init__(self, task: tasks.Task) -> None:
        super().__init__(task)
        self._client = self.closing(AsyncOpenAI(**self.connection))
        self._model = OpenAIResponsesModel(task.model, provider=OpenAIProvider(openai_client=self._client))
        self._settings: dict[str, Any] = {HOSTED: list(task.hosted_tools), "extra_body": dict(task.options)}
        self._settings |= STATES.get(task.state, {})
        self._agent = self._make_agent(self.agents[0])
        self._messages: list[Any] = []

    def _make_agent(self, agent: tasks.Agent) -> Any:
        own = {tool.name: tool.needs_approval for tool in self.tools_of(agent)}
        tools = [Tool(self.functions[name], requires_approval=asks) for name, asks in own.items()]
        tools += [self._make_question(colleague) for colleague in self.agents if colleague.name in agent.ask]
        kinds, kept = [str, DeferredToolRequests], [ProcessHistory(self.shorten)] if self.task.keep_last else []
        return Agent(self._model, instructions=agent.instructions, tools=tools, output_type=kinds, capabilities=kept)

    def _make_question(self, agent: tasks.Agent) -> Any:
        other, own = self._make_agent(agent), dict(self._settings)  # not with the conversation that comes later

        async def ask(input: str) -> str:
            return str((await other.run(input, model_settings=own)).output)

        return Tool(ask, name=f"ask_{agent.name}", description=f"Ask {agent.name}.")

    async def say(self, prompt: str) -> str:
        """Send a prompt and decide about the calls that wait for approval."""
        if self.task.state == "conversation" and "openai_conversation_id" not in self._settings:
            self._settings["openai_conversation_id"] = (await self._client.conversations.create()).id
        result = await self._run(prompt)
        while isinstance(result.output, DeferredToolRequests):
            given = {call.tool_call_id: self.approves(call.tool_name) for call in result.output.approvals}
            result = await self._run(None, deferred_tool_results=DeferredToolResults(approvals=given))
        return str(result.output)

    async def _run(self, prompt: str | None, **given: Any) -> Any:
        given["event_stream_handler"] = self._read if self.task.stream else None
        result = await self._agent.run(prompt, message_history=self._messages, model_settings=self._settings, **given)
        self._messages = result.all_messages()
        self.add_usage(result.usage() if callable(result.usage) else result.usage)
        parts = [part for message in result.new_messages() for part in message.parts]
        self.reasoning = [*(self.reasoning or ()), *(part.content for part in parts if part.part_kind == "thinking")]
        self.cut = reason if (reason := result.response.finish_reason) in ("length", "content_filter") else None
        return result

    async def _read(self, _: Any, events: Any) -> None:
        async for event in events:
            if event.event_kind == "part_start" and event.part.part_kind == "text":
                self.add_delta(event.part.content)
            if event.event_kind == "part_delta" and event.delta.part_delta_kind == "text":
                self.add_delta(event.delta.content_delta)


class PydanticAIAdapter(SessionAdapter):
    """The adapter for `pydantic-ai-slim[openai]`."""

    package, session = "pydantic-ai-slim", PydanticAISession
    features: ClassVar = (*BASIC, "agent_tools", "tool_approvals", "shortening", *READ)
    states: ClassVar = ("replay", "stateless", "chain", *["conversation"] * ("openai_conversation_id" in SETTINGS))
    dialects: ClassVar = ("openai", "azure", "foundry")

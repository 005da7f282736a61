"""`pydantic-ai`: agents with tools, tools that ask another agent, and deferred tools for approvals."""

from __future__ import annotations

from typing import Any, ClassVar

from openai import AsyncOpenAI
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from harness.examine import task as tasks
from harness.examine.session import BASIC, ClientSession, SessionAdapter
from harness.examine.task import Task

SETTINGS = OpenAIResponsesModelSettings.__annotations__
HOSTED = "openai_native_tools" if "openai_native_tools" in SETTINGS else "openai_builtin_tools"
STATES: Any = {"stateless": {"openai_store": False}, "chain": {"openai_previous_response_id": "auto"}}
CONVERSATION = "openai_conversation_id"


class PydanticAISession(ClientSession):
    """`Agent.run` with the messages so far."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.annotations = None  # an answer comes without
        self._client = self.closing(AsyncOpenAI(base_url=task.base_url, api_key=task.api_key))
        self._model = OpenAIResponsesModel(task.model, provider=OpenAIProvider(openai_client=self._client))
        self._settings: dict[str, Any] = {HOSTED: list(task.hosted_tools), "extra_body": dict(task.options)}
        self._settings |= STATES.get(task.state, {})
        self._agent, self._messages = self._make_agent(self.agents[0]), []

    def _make_agent(self, agent: tasks.Agent) -> Any:
        own = [Tool(self.functions[each.name], requires_approval=each.needs_approval) for each in self.tools_of(agent)]
        asked = [self._make_question(each) for each in self.agents if each.name in agent.ask]
        output: Any = [str, DeferredToolRequests]
        return Agent(self._model, instructions=agent.instructions, tools=[*own, *asked], output_type=output)

    def _make_question(self, agent: tasks.Agent) -> Any:
        other = self._make_agent(agent)

        async def ask(input: str) -> str:
            return str((await other.run(input, model_settings=self._settings)).output)

        return Tool(ask, name=f"ask_{agent.name}", description=f"Ask {agent.name}.")

    async def say(self, prompt: str) -> str:
        """Say a prompt, decide about the calls that wait for it."""
        if self.task.state == "conversation" and CONVERSATION not in self._settings:
            self._settings[CONVERSATION] = (await self._client.conversations.create()).id
        result = await self._run(prompt)
        while isinstance(result.output, DeferredToolRequests):
            decisions = {call.tool_call_id: self.approves(call.tool_name) for call in result.output.approvals}
            result = await self._run(None, deferred_tool_results=DeferredToolResults(approvals=decisions))
        return str(result.output)

    async def _run(self, prompt: str | None, **given: Any) -> Any:
        if self.task.stream:
            given["event_stream_handler"] = self._read
        result = await self._agent.run(prompt, message_history=self._messages, model_settings=self._settings, **given)
        self._messages = result.all_messages()
        self.add_usage(result.usage() if callable(result.usage) else result.usage)
        parts = [part for message in result.new_messages() for part in message.parts]
        self.reasoning = [*(self.reasoning or ()), *(part.content for part in parts if part.part_kind == "thinking")]
        return result

    async def _read(self, _: Any, events: Any) -> None:
        async for event in events:
            part = getattr(event, "part", None) if event.event_kind == "part_start" else getattr(event, "delta", None)
            if getattr(part, "part_kind", getattr(part, "part_delta_kind", None)) == "text":
                self.add_delta(getattr(part, "content", None) or getattr(part, "content_delta", ""))


class PydanticAIAdapter(SessionAdapter):
    """`pydantic-ai-slim[openai]`."""

    package, session = "pydantic-ai-slim", PydanticAISession
    features: ClassVar = (*BASIC, "agent_tools", "tool_approvals", "reasoning")
    states: ClassVar = ("replay", "stateless", "chain", *(["conversation"] if CONVERSATION in SETTINGS else []))
    dialects: ClassVar = ("openai", "azure", "foundry")

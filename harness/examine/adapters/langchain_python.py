"""Drives `langchain-openai` in a `langchain` agent, with its tools and its middleware for approvals."""

from __future__ import annotations

from typing import Any, ClassVar

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, wrap_model_call
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from harness.examine.session import BASIC, ClientSession, SessionAdapter
from harness.examine.task import Agent, Task

THREAD: Any = {"configurable": {"thread_id": "one"}}


class LangChainSession(ClientSession):
    """Uses `create_agent` on `ChatOpenAI(use_responses_api=True)`; a checkpointer keeps the thread."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        own: dict[str, Any] = {**self.connection, **self.stateless, "use_previous_response_id": task.state == "chain"}
        self._chat = ChatOpenAI(model=task.model, use_responses_api=True, model_kwargs=dict(task.options), **own)
        self._agent = self._make_agent(self.agents[0], InMemorySaver())

    def _make_agent(self, agent: Agent, checkpointer: Any = None) -> Any:
        own, tools = self.tools_of(agent), []
        for tool in own:
            declared = {"name": tool.name, "description": tool.description, "args_schema": dict(tool.parameters)}
            tools.append(StructuredTool.from_function(self.functions[tool.name], **declared))
        tools += [self._make_question(colleague) for colleague in self.agents if colleague.name in agent.ask]
        tools += map(dict, self.task.hosted_tools)
        gated = {tool.name: True for tool in own if tool.needs_approval}
        middleware = [*([HumanInTheLoopMiddleware(gated)] if gated else []), wrap_model_call(self._shorten)]
        rest = {"middleware": middleware, "checkpointer": checkpointer}
        return create_agent(self._chat, tools, system_prompt=agent.instructions, **rest)

    async def _shorten(self, request: Any, ask: Any) -> Any:
        return await ask(request.override(messages=self.shorten(request.messages)))

    def _make_question(self, agent: Agent) -> Any:
        other = self._make_agent(agent)

        async def ask(input: str) -> str:
            return str((await other.ainvoke({"messages": [("user", input)]}))["messages"][-1].text)

        return StructuredTool.from_function(coroutine=ask, name=f"ask_{agent.name}", description=f"Ask {agent.name}.")

    async def say(self, prompt: str) -> str:
        """Send a prompt and decide about the calls that wait for approval."""
        known = len((await self._agent.aget_state(THREAD)).values.get("messages", ()))
        await self._run({"messages": [("user", prompt)]})
        while waiting := (await self._agent.aget_state(THREAD)).interrupts:
            asked = [action["name"] for interrupt in waiting for action in interrupt.value["action_requests"]]
            given = [{"type": "approve"} if self.approves(name) else {"type": "reject"} for name in asked]
            await self._run(Command(resume={"decisions": given}))
        messages = (await self._agent.aget_state(THREAD)).values["messages"]
        for message in messages[known:]:
            self.add_usage(getattr(message, "usage_metadata", None))
        self.cut = (messages[-1].response_metadata.get("incomplete_details") or {}).get("reason")
        parts = (part for part in messages[-1].content if isinstance(part, dict))
        self.refusal = next((part["refusal"] for part in parts if "refusal" in part), None)
        return str(messages[-1].text)

    async def _run(self, given: Any) -> None:
        if not self.task.stream:
            await self._agent.ainvoke(given, THREAD)
            return
        async for chunk, _ in self._agent.astream(given, THREAD, stream_mode="messages"):
            if chunk.type == "AIMessageChunk":
                self.add_delta(chunk.text)


class LangChainAdapter(SessionAdapter):
    """The adapter for `langchain-openai`."""

    package, session = "langchain-openai", LangChainSession
    features: ClassVar = (*BASIC, "agent_tools", "tool_approvals", "incomplete", "shortening")
    states: ClassVar = ("replay", "stateless", "chain")
    dialects: ClassVar = ("openai", "azure", "foundry")
    hosted: ClassVar = ("code_interpreter", "file_search", "image_generation", "mcp", "web_search")

"""Drives `llama-index`: its `FunctionAgent` on `OpenAIResponses`."""

from __future__ import annotations

from typing import Any, ClassVar

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAIResponses

from harness.examine.session import ClientSession, SessionAdapter
from harness.examine.task import Task


class LlamaIndexSession(ClientSession):
    """Uses `FunctionAgent.run`, with a memory that outlives a run."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        own: dict[str, Any] = {
            "api_base": task.base_url,
            "api_key": task.api_key,
            "include": self.stateless.get("include"),
        }
        own |= {
            "store": task.state != "stateless",
            "built_in_tools": list(map(dict, task.hosted_tools)) or None,
            "additional_kwargs": dict(task.options),
        }
        model = OpenAIResponses(model=task.model, **own)
        tools = [
            FunctionTool.from_defaults(self.functions[tool.name], description=tool.description) for tool in task.tools
        ]
        self._agent = FunctionAgent(llm=model, tools=tools, system_prompt=task.instructions, streaming=task.stream)
        self._memory = ChatMemoryBuffer.from_defaults(token_limit=1_000_000)

    async def say(self, prompt: str) -> str:
        """Send a prompt; the agent itself runs its tools."""
        handler = self._agent.run(prompt, memory=self._memory)
        async for event in handler.stream_events():
            if isinstance(event, AgentStream):
                self.add_delta(event.delta)
        answer = await handler
        raw = answer.raw or {}  # the response, or the event that ended its stream
        self.cut = ((raw.get("response") or raw).get("incomplete_details") or {}).get("reason")
        return str(answer)


class LlamaIndexAdapter(SessionAdapter):
    """The adapter for `llama-index-llms-openai`."""

    package, session = "llama-index-llms-openai", LlamaIndexSession
    features: ClassVar = ("tools", "hosted_tools", "options", "incomplete")
    states: ClassVar = ("replay", "stateless")

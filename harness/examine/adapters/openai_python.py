"""Drives the `openai` package itself, with the tool loop from its documentation."""

from __future__ import annotations

from typing import Any, ClassVar

from openai import AsyncOpenAI

from harness.examine.adapters.openai_background_python import ENDINGS, compact, send
from harness.examine.session import BASIC, OTHER_TOOLS, READ, ClientSession, SessionAdapter
from harness.examine.task import Task


class OpenAISession(ClientSession):
    """Uses `AsyncOpenAI.responses`."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._client = self.closing(AsyncOpenAI(**self.connection))
        self._state: dict[str, Any] = dict(self.stateless)
        self._history: list[Any] = []

    async def say(self, prompt: str) -> str:
        """Send a prompt, and answer calls and approval requests until no more come."""
        if self.task.state == "conversation" and not self._state:
            self._state = {"conversation": (await self._client.conversations.create()).id}
        if self.task.compact_after == len(self.texts):
            self._history = await compact(self._client, self.task.model, self._history)
        new: list[Any] = [{"role": "user", "content": prompt}]
        while new:
            self._history += new
            response = await self._respond(self._history if self.replays else new)
            if response is None:  # the stream has ended without one
                return self.streamed[-1] if self.streamed else ""
            self._history += [item.model_dump(exclude_unset=True) for item in response.output]
            if self.task.state == "chain":
                self._state = {"previous_response_id": response.id}
            new = [answer for item in response.output if (answer := self._answer(item))]
            summaries = [part.text for item in response.output for part in getattr(item, "summary", None) or ()]
            self.reasoning = [*(self.reasoning or ()), *summaries]
        return self.read_parts(part for item in response.output for part in getattr(item, "content", None) or ())

    async def _respond(self, given: list[Any]) -> Any:
        own = {"model": self.task.model, "instructions": self.task.instructions, "input": given, **self._state}
        tools = [*self.function_tools, *self.task.hosted_tools]
        response = answered = await self._send({**own, "tools": tools, **self.task.options, "stream": self.task.stream})
        if self.task.stream:
            response = None
            async for event in answered:
                if event.type == "response.output_text.delta":
                    self.add_delta(event.delta)
                if event.type in ENDINGS:
                    response = event.response
        self.read_ending(response)
        return response

    async def _send(self, asked: dict[str, Any]) -> Any:
        return await send(self._client, asked)

    def _answer(self, item: Any) -> Any:
        """Return the answer to an item: the output of a call, the user's answer to an approval request, or None."""
        if item.type == "mcp_approval_request":
            decision = self.approves(item.name)
            return {"type": "mcp_approval_response", "approval_request_id": item.id, "approve": decision}
        if item.type not in ("function_call", "custom_tool_call"):
            return None
        run = self.run_function if item.type == "function_call" else self.run_custom
        output = run(item.name, item.arguments if item.type == "function_call" else item.input)
        return {"type": f"{item.type}_output", "call_id": item.call_id, "output": output}


class OpenAIAdapter(SessionAdapter):
    """The adapter for `AsyncOpenAI.responses`."""

    package, session = "openai", OpenAISession
    features: ClassVar = (*BASIC, *OTHER_TOOLS, "mcp_approvals", *READ, "background", "resume", "compaction")
    states: ClassVar = ("replay", "stateless", "chain", "conversation")
    dialects: ClassVar = ("openai", "azure", "foundry")

"""Drives the Assistants API with the `openai` package: a thread for the session, its own polling and streams."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from openai import AsyncOpenAI

from harness.examine.case import THREAD
from harness.examine.session import ClientSession, SessionAdapter
from harness.examine.task import Task

POLL = {"poll_interval_ms": 10}


class OpenAIAssistantsSession(ClientSession):
    """Uses `AsyncOpenAI.beta.threads`."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        warnings.simplefilter("ignore", DeprecationWarning)  # the package deprecates the whole API
        self._beta = self.closing(AsyncOpenAI(**self.connection)).beta
        self._assistant = self._thread = ""

    async def say(self, prompt: str) -> str:
        """Add a prompt to the thread and run it, submitting outputs for the calls that the run waits for."""
        if not self._thread:
            tools = [{"type": "function", "function": self._describe(tool)} for tool in self.task.tools]
            own: Any = {"model": self.task.model, "instructions": self.task.instructions, "tools": tools}
            self._assistant = (await self._beta.assistants.create(**own)).id
            self._thread = (await self._beta.threads.create()).id
        await self._beta.threads.messages.create(self._thread, role="user", content=prompt)
        run = await self._run(assistant_id=self._assistant)
        while run.status == "requires_action":
            calls = [(call.id, call.function) for call in run.required_action.submit_tool_outputs.tool_calls]
            outputs = [{"tool_call_id": id, "output": self.run_function(f.name, f.arguments)} for id, f in calls]
            run = await self._run(run_id=run.id, tool_outputs=outputs)
        if run.status not in ("completed", "incomplete"):
            self.error = {"type": run.status, "message": getattr(run.last_error, "message", run.status)}
        self.add_usage(run.usage, ("prompt_tokens", "completion_tokens", "total_tokens"))
        listed = await self._beta.threads.messages.list(self._thread, run_id=run.id, order="asc")
        texts = [part.text for message in listed.data for part in message.content if part.type == "text"]
        self.annotations = [note.model_dump() for text in texts for note in text.annotations]
        return "".join(text.value for text in texts)

    def _describe(self, tool: Any) -> dict[str, Any]:
        return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}

    async def _run(self, **asked: Any) -> Any:
        runs: Any = self._beta.threads.runs
        begins = "run_id" not in asked
        if not self.task.stream:
            go = runs.create_and_poll if begins else runs.submit_tool_outputs_and_poll
            return await go(thread_id=self._thread, **asked, **POLL)
        go = runs.stream if begins else runs.submit_tool_outputs_stream
        async with go(thread_id=self._thread, **asked) as stream:
            async for text in stream.text_deltas:
                self.add_delta(text)
            return await stream.get_final_run()


class OpenAIAssistantsAdapter(SessionAdapter):
    """The adapter for `AsyncOpenAI.beta.threads`."""

    package, part, session = "openai", "Assistants", OpenAIAssistantsSession
    areas: ClassVar = ("dialects",)
    features: ClassVar = ("tools", "timeout")
    states: ClassVar = (THREAD,)

"""The `openai` package itself, with the loop that its documentation shows for tools."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from openai import AsyncOpenAI, OpenAIError

from harness.examine.adapter import Adapter
from harness.examine.outcome import Outcome, describe_error
from harness.examine.task import Task
from harness.examine.tool_functions import functions_of

STATELESS = {"store": False, "include": ["reasoning.encrypted_content"]}


class OpenAIAdapter(Adapter):
    """`AsyncOpenAI.responses`."""

    package = "openai"
    features: ClassVar = ("tools", "hosted_tools", "options")
    states: ClassVar = ("replay", "stateless", "chain", "conversation")

    async def run(self, task: Task) -> Outcome:
        """Say each prompt, run the tools that are called until none is."""
        async with AsyncOpenAI(base_url=task.base_url, api_key=task.api_key) as client:
            session = _Session(client, task)
            try:
                if task.state == "conversation":
                    session.conversation = (await client.conversations.create()).id
                for prompt in task.prompts:
                    await session.say(prompt)
            except OpenAIError as error:
                return session.outcome(describe_error(error))
            return session.outcome()


class _Session:
    """The turns of one task."""

    def __init__(self, client: AsyncOpenAI, task: Task) -> None:
        self._client, self._task = client, task
        self._functions = functions_of(task)
        self._history: list[Any] = []
        self._previous: str | None = None
        self.conversation: str | None = None
        self._texts: list[str] = []
        self._streamed: list[str] = []
        self._last: Any = None
        self._usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}

    async def say(self, prompt: str) -> None:
        sent: list[Any] = [{"role": "user", "content": prompt}]
        self._streamed.append("")
        while sent:
            response = await self._create(sent)
            for name in self._usage:
                self._usage[name] += getattr(response.usage, name, 0)
            sent = [self._run(item) for item in response.output if item.type == "function_call"]
        self._texts.append(response.output_text)

    def _stateless(self) -> dict[str, Any]:
        if self._task.state != "stateless":
            return {}
        return STATELESS if self._task.model.startswith("gpt-5") else {"store": False}

    async def _create(self, new: list[Any]) -> Any:
        replay = self._task.state in ("replay", "stateless")
        self._history += new
        members = {
            **self._task.options,
            **self._stateless(),
            **({"previous_response_id": self._previous} if self._previous and self._task.state == "chain" else {}),
            **({"conversation": self.conversation} if self.conversation else {}),
            "tools": [*map(_function, self._task.tools), *self._task.hosted_tools],
        }
        asked = {"model": self._task.model, "instructions": self._task.instructions, **members}
        asked["input"] = self._history if replay else new
        if self._task.stream:
            response = await self._read(await self._client.responses.create(**asked, stream=True))
        else:
            response = await self._client.responses.create(**asked)
        self._previous, self._last = response.id, response
        self._history += [item.to_dict() for item in response.output]
        return response

    async def _read(self, events: Any) -> Any:
        """Read a stream to its end; the response in its last event."""
        async for event in events:
            if event.type == "response.output_text.delta":
                self._streamed[-1] += event.delta
        return event.response

    def _run(self, call: Any) -> Any:
        try:
            returned = self._functions[call.name](**json.loads(call.arguments))
        except Exception as error:  # whatever a tool raises, the model is told
            returned = f"error: {error}"
        output = returned if isinstance(returned, str) else json.dumps(returned)
        return {"type": "function_call_output", "call_id": call.call_id, "output": output}

    def outcome(self, error: Any = None) -> Outcome:
        parts = [part for item in getattr(self._last, "output", ()) for part in getattr(item, "content", None) or ()]
        return Outcome(
            texts=self._texts,
            streamed=self._streamed,
            annotations=[note.to_dict() for part in parts for note in getattr(part, "annotations", None) or ()],
            refusal=next((part.refusal for part in parts if part.type == "refusal"), None),
            usage=self._usage,
            error=error,
        )


def _function(tool: Any) -> Any:
    own = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "strict": False, **own}

"""The template of an adapter in Python, as the page about adapters shows it."""

from typing import Any

from openai import AsyncOpenAI

from harness.examine.session import ClientSession, SessionAdapter
from harness.examine.task import Task


class MySession(ClientSession):
    """One task: made for it, then told each prompt."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._client = self.closing(AsyncOpenAI(base_url=task.base_url, api_key=task.api_key))
        self._history: list[Any] = []

    async def say(self, prompt: str) -> str:
        self._history.append({"role": "user", "content": prompt})
        while True:
            response = await self._client.responses.create(
                model=self.task.model,
                instructions=self.task.instructions,
                input=self._history,
                tools=self.function_tools,
            )
            self.add_usage(response.usage)
            self._history += [item.to_dict() for item in response.output]
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                return response.output_text
            for call in calls:
                output = self.run_function(call.name, call.arguments)
                self._history.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


class MyAdapter(SessionAdapter):
    """What the client can do; all that is not said here is not applicable."""

    package = "openai"
    session = MySession
    features = ("tools",)
    streams = (False,)

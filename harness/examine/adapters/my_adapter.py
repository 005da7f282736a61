"""Drives a client through `responses-harness examine`, here the `openai` package: put yours where YOUR CLIENT stands."""

from typing import Any

from openai import AsyncOpenAI  # YOUR CLIENT: import it

from harness.examine.session import ClientSession, SessionAdapter
from harness.examine.task import Task


class MySession(ClientSession):
    """Runs one task: made for it, then given each prompt."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        # YOUR CLIENT: make it here, with the address and the key of this task.
        self._client = self.closing(AsyncOpenAI(base_url=task.base_url, api_key=task.api_key))
        self._history: list[Any] = []

    async def say(self, prompt: str) -> str:
        """Say a prompt, run the functions that the model calls, and return the final answer."""
        # YOUR CLIENT: ask it. What it does itself (tools, history) need not be done here.
        self._history.append({"role": "user", "content": prompt})
        while True:
            tools: Any = self.function_tools
            response = await self._client.responses.create(
                model=self.task.model,
                instructions=self.task.instructions,
                input=self._history,
                tools=tools,
            )
            self.read_ending(response)  # its usage, and how it ended
            self._history += [item.to_dict() for item in response.output]
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                return self.read_parts(
                    part for item in response.output for part in getattr(item, "content", None) or ()
                )
            for call in calls:
                output = self.run_function(call.name, call.arguments)
                self._history.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


class MyAdapter(SessionAdapter):
    """Declares what the client can do; everything else is not applicable."""

    package = "openai"  # YOUR CLIENT: its distribution
    session = MySession
    features = ("tools", "incomplete")  # what else there is: the page "Write an adapter"
    streams = (False,)  # (False, True): it streams too, and `say` calls `add_delta`

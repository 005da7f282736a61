"""What the methods of the SDK are called on: one thing of each kind, made when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from openai import OpenAI
from pydantic import BaseModel

from harness.core.exchange import Request
from harness.items import function_call, message
from harness.world.mock import Mock

HI: Any = {"role": "user", "content": "hi"}
ASK: Any = {"model": "gpt-4.1", "input": "hi"}
FUNCTION: Any = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
OUTPUTS: Any = [{"tool_call_id": "call_1", "output": "4"}]


class Answer(BaseModel):
    """What `parse` reads."""

    word: str


def model(request: Request) -> Iterator[Any]:
    """Yield a model that says `ok`, as JSON where it is asked for, and calls a tool first where it has one."""
    while True:
        request = yield _turn(request.body)


def _turn(body: dict[str, Any]) -> Any:
    answered = any(item.get("type") == "function_call_output" for item in body["input"] if isinstance(item, dict))
    if body.get("tools") and not answered:
        return function_call("f", {}, call_id="call_1")
    wanted = (body.get("text") or {}).get("format") or {}
    return message('{"word":"ok"}' if wanted.get("type") == "json_schema" else ["o", "k"])


class Stage:
    """The ids of what one key has stored."""

    def __init__(self, mock: Mock, client: OpenAI) -> None:
        mock.script(model)
        self._client = client

    @cached_property
    def response(self) -> str:
        return self._client.responses.create(**ASK).id

    @cached_property
    def background(self) -> str:
        """A response under way."""
        return self._client.responses.create(**ASK, background=True).id

    @cached_property
    def streamed(self) -> str:
        """A response that was streamed in the background."""
        with self._client.responses.create(**ASK, background=True, stream=True) as stream:
            return next(iter(stream)).response.id

    @cached_property
    def conversation(self) -> str:
        return self._client.conversations.create(items=[HI]).id

    @cached_property
    def item(self) -> str:
        return str(self._client.conversations.items.list(self.conversation).data[0].id)

    @cached_property
    def assistant(self) -> str:
        return self._client.beta.assistants.create(model="gpt-4.1", name="Ann").id

    @cached_property
    def caller(self) -> str:
        """An assistant with a tool."""
        return self._client.beta.assistants.create(model="gpt-4.1", tools=[FUNCTION]).id

    @cached_property
    def thread(self) -> str:
        return self._client.beta.threads.create(messages=[HI], metadata={"a": "b"}).id

    @cached_property
    def message(self) -> str:
        return self._client.beta.threads.messages.list(self.thread).data[0].id

    @cached_property
    def queued(self) -> str:
        """A run that has not begun."""
        return self._client.beta.threads.runs.create(self.thread, assistant_id=self.assistant).id

    @cached_property
    def waiting(self) -> str:
        """A run that waits for the output of a call."""
        runs = self._client.beta.threads.runs
        return runs.create_and_poll(thread_id=self.thread, assistant_id=self.caller, poll_interval_ms=1).id

    @cached_property
    def run(self) -> str:
        """A run that has ended."""
        runs = self._client.beta.threads.runs
        return runs.create_and_poll(thread_id=self.thread, assistant_id=self.assistant, poll_interval_ms=1).id

    @cached_property
    def container(self) -> str:
        return self._client.containers.create(name="data").id

    @cached_property
    def container_file(self) -> str:
        return self._client.containers.files.create(self.container, file=("a.txt", b"Paris")).id

    @cached_property
    def file(self) -> str:
        return self._client.files.create(file=("a.jsonl", b"{}"), purpose="batch").id

    @cached_property
    def store(self) -> str:
        """A vector store with a file."""
        return self._client.vector_stores.create(file_ids=[self.file]).id

    @cached_property
    def upload(self) -> str:
        """A pending upload of five bytes."""
        uploads = self._client.uploads
        return uploads.create(bytes=5, filename="a.txt", mime_type="text/plain", purpose="user_data").id

    @cached_property
    def part(self) -> str:
        """All of the upload."""
        return self._client.uploads.parts.create(self.upload, data=("a", b"Paris")).id

    @cached_property
    def step(self) -> str:
        return self._client.beta.threads.runs.steps.list(self.run, thread_id=self.thread).data[0].id

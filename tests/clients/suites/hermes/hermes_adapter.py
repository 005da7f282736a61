"""A server of the Responses API as an adapter: its client is a chat UI, what is examined are the requests to its model."""

from __future__ import annotations

import asyncio
import os

from harness.drive import Chat
from harness.examine.session import ClientSession, SessionAdapter
from harness.examine.task import Task


class ServedSession(ClientSession):
    """A chain of responses of the server."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        place, key = os.environ["SERVER_UNDER_TEST"].split()
        self._chat = Chat(place, key, model="hermes-agent", mode="chain", stream=False)

    async def say(self, prompt: str) -> str:
        reply = await asyncio.to_thread(self._chat.say, prompt)
        return reply.text.strip()


class ServedAdapter(SessionAdapter):
    """The server at `SERVER_UNDER_TEST`: its address and key."""

    package, session = "hermes-agent", ServedSession
    areas = ("state",)
    streams = (False,)

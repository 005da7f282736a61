"""The client side of AG-UI: posts a run, reads its events, keeps the messages it was told."""

import json
from uuid import uuid4

import httpx


class Chat:
    """A user's window on one thread; `thread` is the id it sends, `advertised` the one the server told last."""

    def __init__(self, app):
        self.app = app
        self.thread = self.advertised = "thread-of-the-user"
        self.messages = []
        self.interrupts = []

    async def say(self, text):
        self.messages.append({"id": uuid4().hex, "role": "user", "content": text})
        await self.run()

    async def approve(self, yes=True):
        """Say yes, or no, to everything that was asked."""
        await self.run(
            resume={
                "interrupts": [{"id": interrupt["id"], "value": {"accepted": yes}} for interrupt in self.interrupts]
            }
        )

    async def run(self, **more):
        body = {"threadId": self.thread, "runId": uuid4().hex, "messages": self.messages, **more}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://server") as client:
            answer = await client.post("/", json=body)
        answer.raise_for_status()
        for line in answer.text.splitlines():
            if line.startswith("data: "):
                self.take(json.loads(line.removeprefix("data: ")))

    def take(self, event):
        if event["type"] == "RUN_STARTED":
            self.advertised = event["threadId"]
        elif event["type"] == "TEXT_MESSAGE_START":
            self.messages.append({"id": event["messageId"], "role": "assistant", "content": ""})
        elif event["type"] == "TEXT_MESSAGE_CONTENT":
            self.messages[-1]["content"] += event["delta"]
        elif event["type"] == "MESSAGES_SNAPSHOT":
            self.messages = event["messages"]
        elif event["type"] == "RUN_FINISHED":
            self.interrupts = event.get("interrupt") or (event.get("outcome") or {}).get("interrupts") or []

    @property
    def text(self):
        """What the assistant said last."""
        said = (message.get("content") for message in reversed(self.messages) if message["role"] == "assistant")
        return next(filter(None, said), None)

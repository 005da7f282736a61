"""A client of the Assistants API without network: one assistant, threads, runs polled or streamed."""

from itertools import groupby
from typing import Any

from harness.answers.encode import encode_events
from harness.contract.check import check_answer
from harness.core.exchange import Answer, Json
from harness.items import message
from harness.server.mock_api import MockApi
from tests.support.in_process import send

KEY = "sk-unit-assistants"
HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json", "openai-beta": "assistants=v2"}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}

STEP = ["thread.run.step.created", "thread.run.step.in_progress"]
SAID = [*STEP, "thread.message.created", "thread.message.in_progress", "thread.message.delta"]
START = ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
END = ["thread.message.completed", "thread.run.step.completed", "thread.run.completed", "done"]


class Desk:
    """One World; every answer and event that leaves it is held against its schema."""

    def __init__(self, **assistant: Any) -> None:
        self.api = MockApi(keys=[KEY], fallback=lambda _: [message("ok")])
        self.mock = self.api.open(KEY)
        self.world = self.mock.world
        self.assistant = self.send("POST /assistants", {"model": "gpt-4o", **assistant}).body["id"]

    def send(self, call: str, body: Any = None, **query: Any) -> Answer:
        method, _, path = call.partition(" ")
        root = "" if path.startswith("/api/") else "/v1"
        answer = send(self.api, f"{method} {root}{path}", body, HEADERS, "", **query)
        assert not self.world.problems, str(self.world.problems)
        for event in answer.events or ():
            assert event["event"] == "done" or check_answer("AssistantStreamEvent", event) is None, event
        return answer

    def thread(self, *texts: str) -> str:
        messages = [{"role": "user", "content": text} for text in texts]
        return str(self.send("POST /threads", {"messages": messages}).body["id"])

    def run(self, thread: str, **members: Any) -> Answer:
        return self.send(f"POST /threads/{thread}/runs", {"assistant_id": self.assistant, **members})

    def stream(self, *turn: Any, **members: Any) -> list[Json]:
        """Return the events of a run on a new thread in which the model says this turn."""
        self.mock.script(list(turn))
        return list(self.run(self.thread("hi"), stream=True, **members).events or ())

    def read(self, run: Json) -> Json:
        """Return the run as it stands, which moves it on."""
        return self.send(f"GET {path(run)}").body

    def settled(self, run: Json) -> Json:
        """Return the run at its end, or as it waits."""
        while run["status"] in ("queued", "in_progress", "cancelling"):
            run = self.read(run)
        return run

    def submit(self, run: Json, outputs: dict[str, str], **members: Any) -> Answer:
        tool_outputs = [{"tool_call_id": id, "output": output} for id, output in outputs.items()]
        return self.send(f"POST {path(run)}/submit_tool_outputs", {"tool_outputs": tool_outputs, **members})

    def messages(self, thread: str, **query: Any) -> list[Json]:
        return list(self.send(f"GET /threads/{thread}/messages", **query).body["data"])

    def last_text(self, run: Json) -> str:
        """Return what was said last in the thread of a run."""
        return str(text(self.messages(run["thread_id"])[0])["value"])

    def steps(self, run: Json, **query: Any) -> list[Json]:
        return list(self.send(f"GET {path(run)}/steps", **query).body["data"])


def path(run: Json) -> str:
    return f"/threads/{run['thread_id']}/runs/{run['id']}"


def names(events: list[Json]) -> list[str]:
    """Return the names of events, of a row of the same one."""
    return [name for name, _ in groupby(event["event"] for event in events)]


def text(message: Json) -> Json:
    return message["content"][0]["text"]


def wire(events: list[Json]) -> str:
    return encode_events(events).decode()


def data(events: list[Any], name: str) -> list[Any]:
    """Return what the events of this name carry."""
    return [event["data"] for event in events if event["event"] == name]


def made_with(desk: Desk, call: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the vector store that is made with another object, of one file."""
    stores = [{"file_ids": [desk.mock.file("a.txt", "Paris")], "metadata": {"a": "b"}}]
    made = desk.send(call, {**body, "tool_resources": {"file_search": {"vector_stores": stores}}}).body
    (id,) = made["tool_resources"]["file_search"]["vector_store_ids"]
    return dict(desk.send(f"GET /vector_stores/{id}").body)

"""How the reference client keeps a session in a thread of the Assistants API."""

import time
from collections.abc import Iterator
from typing import Any

from harness.core.exchange import Json
from harness.examine.task import Agent, Task, Tool
from tests.examine.reference.http import ReferenceClientError, ReferenceHttp

WAITING = ("queued", "in_progress", "cancelling")
ENDED_WELL = ("completed", "incomplete", "requires_action")
RUNS = 20
"""Requests for one prompt before the client gives up."""


class AssistantsSession:
    """The part of a session that speaks to a thread; `assistant` and `thread_id` are set by the first prompt."""

    http: ReferenceHttp
    task: Task
    agent: Agent
    shown: dict[str, Any]
    assistant = ""
    thread_id = ""

    def output_of(self, call: Json) -> str:
        raise NotImplementedError

    def say_in_thread(self, prompt: str) -> str:
        if not self.thread_id:
            self.assistant = self.http.call("POST", "/assistants", self.describe_assistant())["id"]
            self.thread_id = self.http.call("POST", "/threads", {})["id"]
        self.http.call("POST", f"/threads/{self.thread_id}/messages", {"role": "user", "content": prompt})
        run = self.go_on("", {"assistant_id": self.assistant})
        for _ in range(RUNS):
            if run["status"] != "requires_action":
                return self.text_of_run(run["id"])
            run = self.go_on(f"/{run['id']}/submit_tool_outputs", {"tool_outputs": self.outputs_for(run)})
        raise ReferenceClientError(f"no answer after {RUNS} runs")

    def describe_assistant(self) -> Json:
        tools = [self.describe_function(tool) for tool in self.task.tools]
        return {"model": self.task.model, "instructions": self.agent.instructions, "tools": tools}

    def describe_function(self, tool: Tool) -> Json:
        own = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        return {"type": "function", "function": own}

    def outputs_for(self, run: Json) -> list[Json]:
        calls = run["required_action"]["submit_tool_outputs"]["tool_calls"]
        return [{"tool_call_id": call["id"], "output": self.output_of(call["function"])} for call in calls]

    def go_on(self, below: str, body: Json) -> Json:
        """Return the run after a request that starts it or lets it go on, when it does not go on by itself any more."""
        path = f"/threads/{self.thread_id}/runs"
        if self.task.stream:
            run = self.receive_run(self.http.events("POST", path + below, {**body, "stream": True}))
        else:
            run = self.http.call("POST", path + below, body)
            while run["status"] in WAITING:
                time.sleep(0.005)
                run = self.http.call("GET", f"{path}/{run['id']}")
        if run["status"] not in ENDED_WELL:
            raise ReferenceClientError((run.get("last_error") or {}).get("message", run["status"]))
        return run

    def receive_run(self, events: Iterator[Json]) -> Json:
        """Return the run of the last event that has one."""
        run: Json = {"status": "queued"}
        for event in events:
            self.show_in_thread(event)
            if event.get("object") == "thread.run":
                run = event
        if run["status"] in WAITING:
            raise ReferenceClientError("the stream ended before its run did")
        return run

    def show_in_thread(self, event: Json) -> None:
        """Show the text of a delta."""
        if event.get("object") == "thread.message.delta":
            for part in event["delta"]["content"]:
                self.shown["streamed"][-1] += part["text"].get("value", "")

    def text_of_run(self, id: str) -> str:
        listed = self.http.call("GET", f"/threads/{self.thread_id}/messages", query={"run_id": id, "order": "asc"})
        texts = [part["text"] for entry in listed["data"] for part in entry["content"] if part["type"] == "text"]
        self.shown["annotations"] = [note for text in texts for note in text["annotations"]]
        return "".join(text["value"] for text in texts)

"""The reference client: it does every task as the API's documentation says, in each state mode."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from harness.core.exchange import Json
from harness.examine.adapter import Adapter
from harness.examine.case import FEATURES, STATES, THREAD
from harness.examine.session import ToolFailedError, run_tool
from harness.examine.task import Agent, Outcome, Task, Tool
from tests.examine.reference.assistants import AssistantsSession
from tests.examine.reference.http import ReferenceClientError, ReferenceHttp

ENDINGS = ("response.completed", "response.incomplete", "response.failed")
TURNS = 60
"""Requests for one prompt before the client gives up."""
RESUMES = 3


@dataclass
class Thread:
    """What one agent, or those that hand over to each other, has said so far."""

    items: list[Json] = field(default_factory=list)
    previous: str | None = None
    conversation: str | None = None
    session: str | None = None


class ReferenceSession(AssistantsSession):
    """One task under way. What a mutant breaks is a method of its own."""

    http_class: ClassVar[type[ReferenceHttp]] = ReferenceHttp

    def __init__(self, task: Task) -> None:
        self.task = task
        self.http = self.http_class(task)
        names = tuple(tool.name for tool in task.tools)
        self.agents = {agent.name: agent for agent in task.agents or (Agent("assistant", task.instructions, names),)}
        self.agent = next(iter(self.agents.values()))
        self.thread = Thread()
        self.answers = list(task.approvals)
        self.shown: dict[str, Any] = {
            "texts": [],
            "streamed": [],
            "interruptions": [],
            "reasoning": [],
            "annotations": [],
            "incomplete": [],
        }
        self.ending = ""
        self.usage = dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 0)
        self.quiet = False

    def run(self) -> Outcome:
        error = None
        try:
            for number, prompt in enumerate(self.task.prompts):
                if number == self.task.compact_after:
                    self.compact(self.thread)
                self.shown["streamed"].append("")
                self.ending = ""
                in_thread = self.task.state == THREAD
                said = self.say_in_thread(prompt) if in_thread else self.say(self.thread, self.agent, prompt)
                self.shown["texts"].append(said)
                self.shown["incomplete"].append(self.ending)
        except ReferenceClientError as problem:
            error = self.describe(problem)
        finally:
            self.http.http.close()
        return self.outcome(error)

    def outcome(self, error: Json | None) -> Outcome:
        streamed = self.shown["streamed"] if self.task.stream else None
        return Outcome(**{**self.shown, "streamed": streamed, "usage": self.usage, "error": error})

    def describe(self, problem: ReferenceClientError) -> Json | None:
        return {"type": type(problem).__name__, "message": str(problem), "status": problem.status}

    def say(self, thread: Thread, agent: Agent, prompt: str) -> str:
        new: list[Json] = [{"role": "user", "content": prompt}]
        for _ in range(TURNS):
            response = self.ask(thread, agent, new)
            self.note(response)
            new = self.react(response["output"])
            if not new:
                return self.guard(self.text_of(response))
            if not self.quiet:
                agent = self.agent
        raise ReferenceClientError(f"no answer after {TURNS} turns")

    def guard(self, text: str) -> str:
        if self.task.guardrail and self.task.guardrail in text:
            raise ReferenceClientError("the guardrail tripped")
        return text

    def ask(self, thread: Thread, agent: Agent, new: list[Json]) -> Json:
        if self.task.state == "conversation" and thread.conversation is None:
            thread.conversation = self.http.call("POST", "/conversations", {})["id"]
        body = self.said_of(agent) | {**self.task.options, **self.state_of(thread), "input": self.input_of(thread, new)}
        response = (
            self.receive(self.http.events("POST", "/responses", {**body, "stream": True}))
            if self.task.stream
            else (self.http.call("POST", "/responses", body))
        )
        response = self.wait_for(response)
        self.check_response(response)
        self.remember(thread, new, response)
        return response

    def said_of(self, agent: Agent) -> Json:
        """Return what a request says of the agent that answers it; one that a project keeps needs its name only."""
        if name := self.task.project_agent:
            return {"agent_reference": {"type": "agent_reference", "name": name}}
        said: Json = {"model": self.task.model, "instructions": agent.instructions, "tools": self.tools_of(agent)}
        if len(self.task.agents) < 2 or not self.task.model.startswith("gpt-6.2"):
            return said
        # Other tools would be an edit of the history: all agents offer the same, of which each may call its own.
        names = [{"type": "function", "name": tool["name"]} for tool in said["tools"]]
        every = [tool for each in self.task.agents for tool in self.tools_of(each)]
        tools = [tool for place, tool in enumerate(every) if tool not in every[:place]]
        return {**said, "tools": tools, "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": names}}

    def state_of(self, thread: Thread) -> Json:
        session = {"agent_session_id": thread.session} if thread.session else {}
        if self.task.state == "chain" and thread.previous:
            return {"previous_response_id": thread.previous, **session}
        if self.task.state == "conversation":
            return {"conversation": thread.conversation}
        if self.task.state == "stateless":
            sealed = (
                {"include": ["reasoning.encrypted_content"]} if self.task.model.startswith(("gpt-5", "gpt-6")) else {}
            )
            return {"store": False, **sealed}
        return {}

    def input_of(self, thread: Thread, new: list[Json]) -> list[Json]:
        return [*thread.items, *new] if self.task.state in ("replay", "stateless") or not thread.previous else new

    def remember(self, thread: Thread, new: list[Json], response: Json) -> None:
        thread.previous, thread.session = response["id"], response.get("agent_session_id")
        thread.items += [*new, *response["output"]]
        last = [place for place, item in enumerate(thread.items) if item.get("type") == "compaction"]
        if last:
            thread.items = thread.items[last[-1] :]

    def compact(self, thread: Thread) -> None:
        body = {"model": self.task.model, "instructions": self.agent.instructions, "input": thread.items}
        thread.items = self.http.call("POST", "/responses/compact", body)["output"]
        thread.previous = None

    def wait_for(self, response: Json) -> Json:
        while response["status"] in ("queued", "in_progress"):
            time.sleep(0.01)
            response = self.http.call("GET", f"/responses/{response['id']}")
        return response

    def check_response(self, response: Json) -> None:
        """A response that failed or was cancelled is an error."""
        if response["status"] == "failed":
            raise ReferenceClientError(response["error"]["message"])
        if response["status"] == "cancelled":
            raise ReferenceClientError("the response was cancelled")

    def receive(self, events: Iterator[Json]) -> Json:
        """Return the response at the end of a stream; one in the background is resumed where it broke."""
        id, number = "", -1
        for attempt in range(RESUMES):
            try:
                for event in events:
                    number = event.get("sequence_number", number)
                    if event["type"] in ENDINGS:
                        return self.final(event)
                    id = id or event.get("response", {}).get("id", "")
                    self.show(event)
                raise ReferenceClientError("the stream ended before its response did")
            except ReferenceClientError as problem:
                if not (self.task.options.get("background") and id) or attempt == RESUMES - 1 or problem.status:
                    raise
                query = {"stream": "true", "starting_after": self.resume_after(number)}
                events = self.http.events("GET", f"/responses/{id}", query=query)
        raise ReferenceClientError("the stream broke too often")

    def resume_after(self, number: int) -> int:
        """Return the number of the last event that came."""
        return number

    def final(self, event: Json) -> Json:
        response: Json = event["response"]
        return response

    def show(self, event: Json) -> None:
        """Show an event of the stream; unknown ones show nothing."""
        if event["type"] == "response.output_text.delta" and not self.quiet:
            self.shown["streamed"][-1] += event["delta"]
        if event["type"] == "error":
            raise self.error_in(event)

    def error_in(self, event: Json) -> ReferenceClientError:
        """Return the error of an `error` event, in either form."""
        return ReferenceClientError(event.get("error", event)["message"])

    def note(self, response: Json) -> None:
        """Note what a response shows besides its text."""
        for name in self.usage:
            self.usage[name] += (response.get("usage") or {}).get(name, 0)
        if self.quiet:
            return
        self.ending = self.ending_of(response)
        parts = self.parts_of(response)
        self.shown["annotations"] = [note for part in parts for note in part.get("annotations", ())]
        self.shown["refusal"] = next((part["refusal"] for part in parts if part["type"] == "refusal"), None)
        self.shown["reasoning"] += [
            part["text"] for item in response["output"] if item["type"] == "reasoning" for part in item["summary"]
        ]

        self.ask_for_consent(item for item in response["output"] if item["type"] == "oauth_consent_request")

    def ending_of(self, response: Json) -> str:
        """Why a response was cut; empty where it is whole."""
        cut = response["status"] == "incomplete"
        return (response["incomplete_details"] or {}).get("reason", "incomplete") if cut else ""

    def ask_for_consent(self, items: Iterable[Json]) -> None:
        """Show the user the links at which to consent."""
        self.shown["interruptions"] += [item["consent_link"] for item in items]

    def parts_of(self, response: Json) -> list[Json]:
        return [part for item in response["output"] if item["type"] == "message" for part in item["content"]]

    def text_of(self, response: Json) -> str:
        return "".join(part["text"] for part in self.parts_of(response) if part["type"] == "output_text")

    def react(self, output: list[Json]) -> list[Json]:
        found = [self.answer(item) for item in output]
        return [item for item in found if item is not None]

    def answer(self, item: Json) -> Json | None:
        """Return what goes back for one item, or nothing."""
        kind = item["type"]
        if kind == "mcp_approval_request":
            return {
                "type": "mcp_approval_response",
                "approval_request_id": item["id"],
                "approve": self.approves(item["name"]),
            }
        if kind not in ("function_call", "custom_tool_call") or item.get("status") == "incomplete":
            return None
        output = self.output_of(item)
        return {"type": f"{kind}_output", "call_id": item["call_id"], "output": output}

    def output_of(self, call: Json) -> str:
        """Return the output of a call: whatever goes wrong, the model is told."""
        name = call["name"]
        if name.startswith("transfer_to_") and name.removeprefix("transfer_to_") in self.agent.handoffs:
            return self.hand_over(name.removeprefix("transfer_to_"))
        if name.startswith("ask_") and name.removeprefix("ask_") in self.agents:
            return self.ask_agent(name.removeprefix("ask_"), json.loads(call["arguments"])["input"])
        tool = next((tool for tool in self.task.tools if tool.name == name), None)
        if tool is None:
            return f"error: there is no tool {name}"
        try:
            arguments = call["input"] if tool.custom else self.parse_arguments(call["arguments"])
        except ValueError as problem:
            return f"error: the arguments are no JSON: {problem}"
        if tool.needs_approval and not self.approves(name):
            return "The user denied this call."
        return self.execute(tool, arguments)

    def parse_arguments(self, arguments: str) -> Any:
        parsed = json.loads(arguments or "{}")
        if not isinstance(parsed, dict):
            raise ValueError("no object")
        return parsed

    def execute(self, tool: Tool, arguments: Any) -> str:
        try:
            result = run_tool(tool, arguments)
        except ToolFailedError as problem:
            return f"error: {problem}"
        return result if isinstance(result, str) else json.dumps(result)

    def approves(self, tool: str) -> bool:
        """Ask the user; each answer counts once."""
        self.shown["interruptions"].append(tool)
        answer = next((answer for answer in self.answers if answer.tool == tool), None)
        if answer:
            self.answers.remove(answer)
        return bool(answer and answer.approve)

    def hand_over(self, name: str) -> str:
        self.agent = self.agents[name]
        return f"{name} takes over"

    def ask_agent(self, name: str, question: str) -> str:
        """Ask an agent in a thread of its own."""
        before, self.quiet, asking = self.quiet, True, self.agent
        self.agent = self.agents[name]
        try:
            return self.say(Thread(), self.agents[name], question)
        finally:
            self.quiet, self.agent = before, asking

    def tools_of(self, agent: Agent) -> list[Json]:
        own = [self.declare(tool) for tool in self.task.tools if tool.name in agent.tools]
        to = [_function(f"transfer_to_{handoff}") for handoff in agent.handoffs]
        asked = [_function(f"ask_{name}", "input") for name in agent.ask]
        return [*own, *to, *asked, *self.task.hosted_tools]

    def declare(self, tool: Tool) -> Json:
        own: Json = {"name": tool.name, "description": tool.description}
        if tool.custom:
            return {"type": "custom", **own}
        deferred = {"defer_loading": True} if tool.deferred else {}
        return {"type": "function", **own, "parameters": dict(tool.parameters), "strict": False, **deferred}


def _function(name: str, *parameters: str) -> Json:
    schema = {"type": "object", "properties": {parameter: {"type": "string"} for parameter in parameters}}
    return {"type": "function", "name": name, "description": "", "parameters": schema, "strict": False}


class ReferenceClient(Adapter):
    """Does tasks with a session of this class."""

    package = "reference"
    features: ClassVar = tuple(FEATURES)
    states: ClassVar = STATES
    dialects: ClassVar = ("openai", "azure", "foundry")

    def __init__(self, session: type[ReferenceSession] = ReferenceSession) -> None:
        self.session = session

    async def run(self, task: Task) -> Outcome:
        """Do a task."""
        return self.session(task).run()

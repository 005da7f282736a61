"""Mutants of the cases about agents that a project keeps, in the area `dialects`."""

from typing import Any

from harness.core.exchange import Json
from harness.examine.task import Agent
from tests.examine.mutants.mutant import R, mutant
from tests.examine.reference.client import Thread

PLAIN = "plain,replay,foundry"


def forgets_agent(self: R, agent: Agent) -> Json:
    """Return a client that names the agent in its first request only."""
    said = R.said_of(self, agent)
    if self.task.project_agent and self.task.tools and getattr(self, "asked", False):
        return {**said, "agent_reference": {**said["agent_reference"], "name": "assistant"}}
    self.asked = True
    return said


def first_message(self: R, response: Json) -> list[Json]:
    parts = R.parts_of(self, response)
    steps = any(item["type"] == "workflow_action" for item in response["output"])
    return parts[:1] if steps else parts


def answers_every_call(self: R, item: Json) -> Json | None:
    if item["type"] == "bing_grounding_call":
        return {"type": "function_call_output", "call_id": item["call_id"], "output": "error: unknown tool"}
    return R.answer(self, item)


def lost_session(self: R, thread: Thread, new: list[Json]) -> list[Json]:
    given = R.input_of(self, thread, new)
    return new if self.task.project_agent and len(self.task.prompts) > 1 else given


def no_consent(self: R, items: Any) -> None:
    """A client that knows no such item."""


mutant("dialects/project-agent-tool", PLAIN, said_of=forgets_agent)
mutant("dialects/project-agent-session", PLAIN, input_of=lost_session)
mutant("dialects/project-workflow", PLAIN, parts_of=first_message)
mutant("dialects/project-grounding", PLAIN, answer=answers_every_call)
mutant("dialects/project-consent", PLAIN, ask_for_consent=no_consent)

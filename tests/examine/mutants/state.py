"""Mutants of the area `state`."""

from typing import Any

from harness.core.exchange import Json
from tests.examine.mutants.mutant import R, mutant, output_without
from tests.examine.reference.client import Thread
from tests.examine.reference.http import ReferenceClientError


def doubled(self: R, thread: Thread, new: list[Json], response: Json) -> None:
    """What was said is kept twice."""
    calls = any(item.get("type") == "function_call_output" for item in new)
    R.remember(self, thread, new, response)
    if calls:
        thread.items += new


def new_conversation(self: R, thread: Thread, agent: Any, prompt: str) -> str:
    """Return a conversation for each prompt."""
    thread.conversation = None
    return R.say(self, thread, agent, prompt)


def chains_with_tools(self: R, thread: Thread) -> Json:
    return R.state_of(self, thread) if self.task.tools else {}


def instructions_once(self: R, thread: Thread, agent: Any, new: list[Json]) -> Json:
    calls = bool(self.task.tools)
    return R.ask(self, thread, agent if not thread.previous or calls else type(agent)(agent.name, ""), new)


def forget_answer(self: R, thread: Thread, new: list[Json], response: Json) -> None:
    R.remember(self, thread, new, response)
    if len(thread.items) > 3 and not self.task.tools:
        thread.items = [item for item in thread.items if item.get("role") != "user" or item is not thread.items[0]]


def gone_is_empty(self: R, problem: ReferenceClientError) -> Json | None:
    return None if "not found" in str(problem) else R.describe(self, problem)


def no_wait(when: Any) -> Any:
    def wait_for(self: R, response: Json) -> Json:
        if response["status"] in ("queued", "in_progress") and when(self):
            return {**response, "status": "completed"}
        return R.wait_for(self, response)

    return wait_for


def takes_for_completed(status: str) -> Any:
    def check_response(self: R, response: Json) -> None:
        if response["status"] != status:
            R.check_response(self, response)

    return check_response


def compact_nothing(self: R, thread: Thread) -> None:
    return None


mutant("state/replay", "plain,replay", remember=forget_answer)
mutant("state/chain", "plain,chain", state_of=chains_with_tools)
mutant("state/conversation", "plain,conversation", say=new_conversation)
mutant("state/history-with-calls", "plain,replay", remember=doubled)
mutant("state/instructions", "plain,chain", ask=instructions_once)
mutant("state/expired-chain", "plain,chain", describe=gone_is_empty)
mutant("state/background", "plain,replay", wait_for=no_wait(lambda self: len(self.task.prompts) == 2))
mutant("state/background-call", "plain,replay", wait_for=no_wait(lambda self: self.task.tools))
mutant("state/background-failed", "plain,replay", check_response=takes_for_completed("failed"))
mutant("state/background-cancelled", check_response=takes_for_completed("cancelled"))
mutant("state/resumed-stream", "stream,replay", resume_after=lambda self, number: number - 1)
mutant("state/compaction-by-hand", "plain,replay", compact=compact_nothing)
mutant(
    "state/compaction-by-threshold", "plain,replay", remember=output_without(lambda item: item["type"] == "compaction")
)
mutant(
    "state/background-cut",
    ending_of=lambda self, response: "" if self.task.options.get("background") else R.ending_of(self, response),
)

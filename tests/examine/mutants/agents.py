"""Mutants of the area `agents`."""

from collections.abc import Callable
from typing import Any

from harness.core.exchange import Json
from tests.examine.mutants.mutant import R, mutant


def has(output: list[Json], type: str) -> bool:
    return any(item["type"] == type for item in output)


def no_way_back(self: R, name: str) -> str:
    return "not possible" if name == "planner" else R.hand_over(self, name)


def hand_over_first(self: R, output: list[Json]) -> list[Json]:
    to = [item for item in output if item.get("name", "").startswith("transfer_to_")]
    return R.react(self, to) if to and len(output) > 1 else R.react(self, output)


def guard_once(self: R, text: str) -> str:
    """The guardrail looks at an answer only if no tool has run."""
    return text if len(self.thread.items) > 2 else R.guard(self, text)


def guard_after_tools(self: R, text: str) -> str:
    return text if len(self.thread.items) <= 2 else R.guard(self, text)


def question_in_history(self: R, name: str, question: str) -> str:
    return R.ask_agent(self, name, f"{self.task.prompts[0]}\n{question}")


def answer_once(self: R, name: str, question: str) -> str:
    kept: dict[str, str] = self.__dict__.setdefault("kept", {})
    if name not in kept:
        kept[name] = R.ask_agent(self, name, question)
    return kept[name]


def deny_inner(self: R, tool: str) -> bool:
    return R.approves(self, tool) and not self.quiet


def approve_by_first(self: R, tool: str) -> bool:
    """An answer counts for all later questions about the same tool."""
    known: dict[str, bool] = self.__dict__.setdefault("known", {})
    decided = R.approves(self, tool)
    return known.setdefault(tool, decided)


def drop_texts_with_questions(self: R, output: list[Json]) -> list[Json]:
    asks = any(item.get("name") == "deploy" for item in output)
    return [] if asks and has(output, "message") and has(output, "function_call") else R.react(self, output)


def free_call_waits(self: R, output: list[Json]) -> list[Json]:
    new = R.react(self, output)
    return [item for item in new if item.get("output") != "18 °C"] if self.task.approvals and len(new) > 1 else new


def approves(case: str, decided: Callable[[R, str, bool], Any]) -> None:
    """A client that makes something else of the user's answer."""
    mutant(case, approves=lambda self, tool: bool(decided(self, tool, R.approves(self, tool))))


mutant("agents/hand-off-beside-a-call", react=hand_over_first)
mutant("agents/hand-off-and-back", hand_over=no_way_back)
mutant("agents/guardrail", guard=guard_after_tools)
mutant("agents/guardrail-later", guard=guard_once)
mutant("agents/histories-apart", ask_agent=question_in_history)
mutant("agents/nested-twice", ask_agent=answer_once)
mutant("agents/approval-in-another-thread", approves=deny_inner)
mutant("agents/approval-answered-twice", approves=approve_by_first)
mutant("agents/approval-after-text", react=drop_texts_with_questions)
mutant("agents/approval-beside-a-free-call", react=free_call_waits)
approves(
    "agents/approval-one-of-two",
    lambda self, tool, yes: yes or (tool == "restart" and len(self.task.tools) > 1),
)
approves("agents/approval-two-at-once", lambda self, tool, yes: yes and not (tool == "restart" and self.task.tools))
approves("agents/approval-denied", lambda self, tool, yes: yes or (self.task.tools and len(self.task.approvals) == 1))
approves("agents/approval-in-two-prompts", lambda self, tool, yes: yes and not self.shown["texts"])
approves("agents/mcp-approval-denied", lambda self, tool, yes: yes or bool(self.task.hosted_tools))
mutant(
    "agents/mcp-approval-two-at-once",
    react=lambda self, output: R.react(self, output)[: 1 if self.task.hosted_tools else None],
)
mutant(
    "agents/mcp-approval-after-text",
    react=lambda self, output: (
        [] if has(output, "mcp_approval_request") and has(output, "message") else R.react(self, output)
    ),
)

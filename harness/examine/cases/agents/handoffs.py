"""Agents that hand over to each other, and a guardrail."""

from __future__ import annotations

from harness.examine.case import Script, case, turns
from harness.examine.cases.common import DEPLOY, WEATHER
from harness.examine.checks import answers_calls, fails, hides, requests, runs, shows
from harness.examine.task import Agent, Task
from harness.items import function_call, message
from harness.world.mock import Mock
from harness.world.route import Turn

PLANNER = Agent("planner", "You are the planner.", ("get_weather",), handoffs=("ops",))
OPS = Agent("ops", "You are the operator.", ("deploy",), handoffs=("planner",))
TEAM = Task(prompts=("Ship v2.",), agents=(PLANNER, OPS), tools=(WEATHER, DEPLOY))
TO_OPS = function_call("transfer_to_ops", {})
TO_PLANNER = function_call("transfer_to_planner", {})
CALL = function_call("deploy", {"ref": "v2"})
FRAMEWORKS = "what openai-agents, agent-framework and others document as a hand-off: a call of a function"


def team(planner: list[Turn], ops: list[Turn]) -> Script:
    """Make a script with the turns of each agent."""

    def script(mock: Mock) -> None:
        mock.when(instructions="planner").script(*planner)
        mock.when(instructions="operator").script(*ops)

    return script


case(
    "agents/hand-off",
    shows("v2 is out."),
    requests(2),
    answers_calls(1),
    title="A hand-off",
    does="The planner calls the function that hands over to the operator, who answers.",
    source=FRAMEWORKS,
    shows="The operator's answer; the call has its output.",
    severity="must",
    task=TEAM,
    script=team([TO_OPS], [message("v2 is out.")]),
)

case(
    "agents/hand-off-then-call",
    shows("v2 is out."),
    runs(("deploy", {"ref": "v2"})),
    title="A hand-off to an agent that calls a tool",
    does="The operator, to whom was handed over, calls a function of its own.",
    source=FRAMEWORKS,
    shows="The function runs once; the operator goes on.",
    severity="must",
    task=TEAM,
    script=team([TO_OPS], [CALL, message("v2 is out.")]),
)

case(
    "agents/hand-off-and-back",
    shows("All done."),
    requests(4),
    answers_calls(3),
    runs(("deploy", {"ref": "v2"})),
    title="A hand-off there and back",
    does="The planner hands over to the operator, who calls a function and hands back.",
    source=FRAMEWORKS,
    shows="The planner's answer; each call has its output, nothing stands in the history twice.",
    severity="must",
    task=TEAM,
    script=team([TO_OPS, message("All done.")], [CALL, TO_PLANNER]),
)

case(
    "agents/hand-off-beside-a-call",
    shows("v2 is out."),
    answers_calls(2),
    title="A hand-off beside a call",
    does="The planner calls a function and hands over in one response.",
    source=f"{FRAMEWORKS}; calls are parallel by default",
    shows="Both calls have an output before the operator goes on.",
    severity="must",
    task=TEAM,
    script=team([[function_call("get_weather", {"city": "Oslo"}), TO_OPS]], [message("v2 is out.")]),
)

case(
    "agents/two-hand-offs-at-once",
    shows("v2 is out."),
    answers_calls(2),
    title="Two hand-offs in one response",
    does="The planner calls the function that hands over to the operator twice in one response.",
    source=f"{FRAMEWORKS}; calls are parallel by default",
    shows="Both calls have an output; the operator goes on once.",
    severity="should",
    task=TEAM,
    script=team([[TO_OPS, function_call("transfer_to_ops", {})]], [message("v2 is out.")]),
)

case(
    "agents/guardrail",
    fails(),
    hides("hunter2"),
    title="A guardrail that trips",
    does="The answer holds what the guardrail forbids.",
    source="what openai-agents and others document as an output guardrail",
    shows="An error; not the answer.",
    severity="must",
    fails=True,
    task=Task(prompts=("What is the password?",), guardrail="hunter2"),
    script=turns(message("It is hunter2.")),
)

case(
    "agents/guardrail-later",
    fails(),
    hides("hunter2"),
    runs(("deploy", {"ref": "v2"})),
    title="A guardrail that trips after a call",
    does="The model calls a function; the answer after it holds what the guardrail forbids.",
    source="what openai-agents and others document as an output guardrail",
    shows="An error; not the answer. The function has run once.",
    severity="must",
    fails=True,
    task=Task(prompts=("Ship v2.",), tools=(DEPLOY,), guardrail="hunter2"),
    script=turns(CALL, message("It is hunter2.")),
)

case(
    "agents/guardrail-that-holds",
    shows("No."),
    title="A guardrail that does not trip",
    does="The answer holds nothing that the guardrail forbids.",
    source="what openai-agents and others document as an output guardrail",
    shows="The answer.",
    severity="should",
    task=Task(prompts=("What is the password?",), guardrail="hunter2"),
    script=turns(message("No.")),
)

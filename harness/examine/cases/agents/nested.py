"""An agent that asks another one as a tool."""

from __future__ import annotations

from dataclasses import replace

from harness.examine.case import Script, case
from harness.examine.cases.common import DEPLOY, WEATHER
from harness.examine.cases.session_checks import kept_apart
from harness.examine.checks import interrupts, outputs, requests, runs, shows, streamed
from harness.examine.task import Agent, Task, UserAnswer
from harness.items import function_call, message
from harness.world.mock import Mock
from harness.world.route import Turn

PLANNER = Agent("planner", "You are the planner.", ("deploy",), ask=("researcher",))
RESEARCHER = Agent("researcher", "You are the researcher.", ("get_weather",))
TEAM = Task(prompts=("Plan the picnic.",), agents=(PLANNER, RESEARCHER), tools=(WEATHER, DEPLOY))
ASKS = function_call("ask_researcher", {"input": "Weather in Oslo?"})
LOOKS_UP = function_call("get_weather", {"city": "Oslo"})
FRAMEWORKS = "what openai-agents, agent-framework and others document as an agent that is a tool"


def team(planner: list[Turn], researcher: list[Turn]) -> Script:
    """Make a script with the turns of each agent."""

    def script(mock: Mock) -> None:
        mock.when(instructions="planner").script(*planner)
        mock.when(instructions="researcher").script(*researcher)

    return script


case(
    "agents/nested",
    shows("Let's go."),
    outputs("18 degrees."),
    requests(3),
    title="An agent as a tool",
    does="The planner asks the researcher, who answers; then the planner does.",
    source=FRAMEWORKS,
    shows="The researcher's answer is the output of the call; the user sees the planner's.",
    severity="must",
    task=TEAM,
    script=team([ASKS, message("Let's go.")], [message("18 degrees.")]),
)

case(
    "agents/nested-call",
    shows("Let's go."),
    runs(("get_weather", {"city": "Oslo"})),
    requests(4),
    title="An agent as a tool that calls a tool",
    does="The researcher, who is asked, calls a function of its own.",
    source=FRAMEWORKS,
    shows="The function runs once; both agents go on.",
    severity="must",
    task=TEAM,
    script=team([ASKS, message("Let's go.")], [LOOKS_UP, message("18 degrees.")]),
)

case(
    "agents/histories-apart",
    shows("Let's go."),
    kept_apart("You are the researcher.", "Plan the picnic."),
    kept_apart("You are the planner.", "Oslo it is"),
    title="Two agents' histories",
    does="The researcher, who is asked, says something beside its call.",
    source=FRAMEWORKS,
    shows="The researcher reads the question alone; the planner reads the answer alone.",
    severity="must",
    task=TEAM,
    script=team([ASKS, message("Let's go.")], [[message("Oslo it is"), LOOKS_UP], message("18 degrees.")]),
)

case(
    "agents/nested-twice",
    shows("Let's go."),
    outputs("18 degrees.", "20 degrees."),
    title="An agent that is asked twice",
    does="The planner asks the researcher twice, one after the other.",
    source=FRAMEWORKS,
    shows="Each question is answered for itself.",
    severity="must",
    task=TEAM,
    script=team(
        [ASKS, function_call("ask_researcher", {"input": "And in Rome?"}), message("Let's go.")],
        [message("18 degrees."), message("20 degrees.")],
    ),
)

case(
    "agents/nested-stream",
    streamed("Let's go."),
    title="The stream of an agent that asks another",
    does="The planner asks the researcher; both answers are streamed.",
    source=FRAMEWORKS,
    shows="The stream shows the planner's text; the researcher's is not mixed into it.",
    severity="should",
    streams=(True,),
    task=TEAM,
    script=team([ASKS, message("Let's go.")], [message("18 degrees.")]),
)

case(
    "agents/approval-in-another-thread",
    shows("Let's go."),
    interrupts("get_weather"),
    runs(("get_weather", {"city": "Oslo"})),
    outputs("18 degrees.", "18 °C"),
    title="An approval in another thread",
    does="The researcher, who is asked, calls a function that needs the user's approval.",
    source="public report against agent-framework-ag-ui 1.0.0rc7, 2026; docs/stories/approval_thread.md",
    shows="The approval reaches the call that it is for; the function runs once, both agents go on.",
    severity="must",
    task=replace(TEAM, tools=(replace(WEATHER, needs_approval=True), DEPLOY), approvals=(UserAnswer("get_weather"),)),
    script=team([ASKS, message("Let's go.")], [LOOKS_UP, message("18 degrees.")]),
)

"""Several agents, which hand over to each other or ask each other; guardrails."""

from dataclasses import replace
from functools import partial

from harness.examine.case import DEPLOY, WEATHER, Script, case, turns
from harness.examine.checks import (
    answers_calls,
    fails,
    hides,
    interrupts,
    kept_apart,
    outputs,
    requests,
    runs,
    shows,
    streamed,
)
from harness.examine.task import Agent, Task, UserAnswer
from harness.items import function_call, message
from harness.world.mock import Mock
from harness.world.route import Turn

PLANNER = Agent("planner", "You are the planner.", ("get_weather",), handoffs=("ops",))
OPS = Agent("ops", "You are the operator.", ("deploy",), handoffs=("planner",))
OPERATIONS = Task(prompts=("Ship v2.",), agents=(PLANNER, OPS), tools=(WEATHER, DEPLOY))
TO_OPS = function_call("transfer_to_ops", {})
TO_PLANNER = function_call("transfer_to_planner", {})
CALL = function_call("deploy", {"ref": "v2"})
HAND_OFF = "what openai-agents, agent-framework and others document as a hand-off: a call of a function"
GUARDRAIL = "what openai-agents and others document as an output guardrail"


def _say(**said: list[Turn]) -> Script:
    """Build a script with the turns of each agent, which is recognized by a word of its instructions."""

    def script(mock: Mock) -> None:
        for word, turns_of_agent in said.items():
            mock.when(instructions=word).script(*turns_of_agent)

    return script


_hand_off = partial(case, source=HAND_OFF, task=OPERATIONS)

_hand_off(
    "agents/hand-off",
    title="A hand-off",
    does="The planner calls the function that hands over to the operator, who answers.",
    shows="The operator's answer; the call has its output.",
    script=_say(planner=[TO_OPS], operator=[message("v2 is out.")]),
    checks=[shows("v2 is out."), requests(2), answers_calls(1)],
)

_hand_off(
    "agents/hand-off-then-call",
    title="A hand-off to an agent that calls a tool",
    does="The operator, to whom was handed over, calls a function of its own.",
    shows="The function runs once; the operator goes on.",
    script=_say(planner=[TO_OPS], operator=[CALL, message("v2 is out.")]),
    checks=[shows("v2 is out."), runs(("deploy", {"ref": "v2"}))],
)

_hand_off(
    "agents/hand-off-and-back",
    title="A hand-off there and back",
    does="The planner hands over to the operator, who calls a function and hands back.",
    shows="The planner's answer; each call has its output, nothing stands in the history twice.",
    script=_say(planner=[TO_OPS, message("All done.")], operator=[CALL, TO_PLANNER]),
    checks=[shows("All done."), requests(4), answers_calls(3), runs(("deploy", {"ref": "v2"}))],
)

_hand_off(
    "agents/hand-off-beside-a-call",
    title="A hand-off beside a call",
    does="The planner calls a function and hands over in one response.",
    source=f"{HAND_OFF}; calls are parallel by default",
    shows="Both calls have an output before the operator goes on.",
    script=_say(planner=[[function_call("get_weather", {"city": "Oslo"}), TO_OPS]], operator=[message("v2 is out.")]),
    checks=[shows("v2 is out."), answers_calls(2)],
)

_hand_off(
    "agents/two-hand-offs-at-once",
    title="Two hand-offs in one response",
    does="The planner calls the function that hands over to the operator twice in one response.",
    source=f"{HAND_OFF}; calls are parallel by default",
    shows="Both calls have an output; the operator goes on once.",
    severity="should",
    script=_say(planner=[[TO_OPS, function_call("transfer_to_ops", {})]], operator=[message("v2 is out.")]),
    checks=[shows("v2 is out."), answers_calls(2)],
)

case(
    "agents/guardrail",
    title="A guardrail that trips",
    does="The answer holds what the guardrail forbids.",
    source=GUARDRAIL,
    shows="An error; not the answer.",
    task=Task(prompts=("What is the password?",), guardrail="hunter2"),
    script=turns(message("It is hunter2.")),
    checks=[fails(), hides("hunter2")],
)

case(
    "agents/guardrail-later",
    title="A guardrail that trips after a call",
    does="The model calls a function; the answer after it holds what the guardrail forbids.",
    source=GUARDRAIL,
    shows="An error; not the answer. The function has run once.",
    task=Task(prompts=("Ship v2.",), tools=(DEPLOY,), guardrail="hunter2"),
    script=turns(CALL, message("It is hunter2.")),
    checks=[fails(), hides("hunter2"), runs(("deploy", {"ref": "v2"}))],
)

case(
    "agents/guardrail-that-holds",
    title="A guardrail that does not trip",
    does="The answer holds nothing that the guardrail forbids.",
    source=GUARDRAIL,
    shows="The answer.",
    severity="should",
    task=Task(prompts=("What is the password?",), guardrail="hunter2"),
    script=turns(message("No.")),
    checks=[shows("No.")],
)

ASKING_PLANNER = Agent("planner", "You are the planner.", ("deploy",), ask=("researcher",))
RESEARCHER = Agent("researcher", "You are the researcher.", ("get_weather",))
PICNIC = Task(prompts=("Plan the picnic.",), agents=(ASKING_PLANNER, RESEARCHER), tools=(WEATHER, DEPLOY))
ASKS = function_call("ask_researcher", {"input": "Weather in Oslo?"})
LOOKS_UP = function_call("get_weather", {"city": "Oslo"})
AGENT_TOOL = "what openai-agents, agent-framework and others document as an agent that is a tool"


_nested = partial(case, source=AGENT_TOOL, task=PICNIC)

_nested(
    "agents/nested",
    title="An agent as a tool",
    does="The planner asks the researcher, who answers; then the planner does.",
    shows="The researcher's answer is the output of the call; the user sees the planner's.",
    script=_say(planner=[ASKS, message("Let's go.")], researcher=[message("18 degrees.")]),
    checks=[shows("Let's go."), outputs("18 degrees."), requests(3)],
)

_nested(
    "agents/nested-call",
    title="An agent as a tool that calls a tool",
    does="The researcher, who is asked, calls a function of its own.",
    shows="The function runs once; both agents go on.",
    script=_say(planner=[ASKS, message("Let's go.")], researcher=[LOOKS_UP, message("18 degrees.")]),
    checks=[shows("Let's go."), runs(("get_weather", {"city": "Oslo"})), requests(4)],
)

_nested(
    "agents/histories-apart",
    title="Two agents' histories",
    does="The researcher, who is asked, says something beside its call.",
    shows="The researcher reads the question alone; the planner reads the answer alone.",
    script=_say(
        planner=[ASKS, message("Let's go.")], researcher=[[message("Oslo it is"), LOOKS_UP], message("18 degrees.")]
    ),
    checks=[
        shows("Let's go."),
        kept_apart("You are the researcher.", "Plan the picnic."),
        kept_apart("You are the planner.", "Oslo it is"),
    ],
)

_nested(
    "agents/nested-twice",
    title="An agent that is asked twice",
    does="The planner asks the researcher twice, one after the other.",
    shows="Each question is answered for itself.",
    script=_say(
        planner=[ASKS, function_call("ask_researcher", {"input": "And in Rome?"}), message("Let's go.")],
        researcher=[message("18 degrees."), message("20 degrees.")],
    ),
    checks=[shows("Let's go."), outputs("18 degrees.", "20 degrees.")],
)

_nested(
    "agents/nested-stream",
    title="The stream of an agent that asks another",
    does="The planner asks the researcher; both answers are streamed.",
    shows="The stream shows the planner's text; the researcher's is not mixed into it.",
    severity="should",
    streams=(True,),
    script=_say(planner=[ASKS, message("Let's go.")], researcher=[message("18 degrees.")]),
    checks=[streamed("Let's go.")],
)

case(
    "agents/approval-in-another-thread",
    title="An approval in another thread",
    does="The researcher, who is asked, calls a function that needs the user's approval.",
    source="public report against agent-framework-ag-ui 1.0.0rc7, 2026; docs/stories/approval_thread.md",
    shows="The approval reaches the call that it is for; the function runs once, both agents go on.",
    task=replace(PICNIC, tools=(replace(WEATHER, needs_approval=True), DEPLOY), approvals=(UserAnswer("get_weather"),)),
    script=_say(planner=[ASKS, message("Let's go.")], researcher=[LOOKS_UP, message("18 degrees.")]),
    checks=[
        shows("Let's go."),
        interrupts("get_weather"),
        runs(("get_weather", {"city": "Oslo"})),
        outputs("18 degrees.", "18 °C"),
    ],
)

"""Several agents, which hand over to each other or ask each other; guardrails; calls that a user has to approve."""

from dataclasses import replace
from functools import partial
from typing import Any

from harness.examine.case import DEPLOY, WEATHER, Check, Script, case, turns
from harness.examine.checks import (
    answers_calls,
    contains,
    fails,
    hides,
    interrupts,
    kept_apart,
    mcp_runs,
    outputs,
    requests,
    runs,
    shows,
    streamed,
)
from harness.examine.task import Agent, Task, UserAnswer
from harness.items import function_call, mcp_call, message
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

ASKS_FIRST = replace(DEPLOY, needs_approval=True)
RESTART = replace(ASKS_FIRST, name="restart", description="Restart a version.", returns="restarted")
V2 = {"ref": "v2"}
V3 = {"ref": "v3"}
YES = UserAnswer("deploy")
NO = UserAnswer("deploy", approve=False)
STORY = "public report against agent-framework-ag-ui 1.0.0rc7, 2026; docs/stories/approval_thread.md"
FRAMEWORKS = "what openai-agents, agent-framework and others document as approval by a human"


def _approval(
    name: str, title: str, answers: list[UserAnswer], said: list[Turn], *, checks: list[Check], **words: Any
) -> None:
    case(
        f"agents/approval-{name}",
        title=title,
        does=words.pop("does", f"{title}: the functions need the user's approval."),
        source=words.pop("source", FRAMEWORKS),
        shows=words.pop("shows", "The user is asked once for each; what is approved runs once."),
        task=Task(
            prompts=words.pop("prompts", ("Ship v2.",)),
            tools=words.pop("tools", (ASKS_FIRST,)),
            approvals=tuple(answers),
        ),
        script=turns(*said),
        checks=[*checks, interrupts(*(answer.tool for answer in answers))],
        **words,
    )


_approval(
    "one", "One approval", [YES], [CALL, message("v2 is out.")], checks=[shows("v2 is out."), runs(("deploy", V2))]
)
_approval(
    "two-at-once",
    "Two approvals at once",
    [YES, UserAnswer("restart")],
    [[CALL, function_call("restart", V2)], message("v2 is out.")],
    checks=[shows("v2 is out."), runs(("deploy", V2), ("restart", V2))],
    tools=(ASKS_FIRST, RESTART),
    source=STORY,
)
_approval(
    "one-of-two",
    "One of two approved",
    [YES, UserAnswer("restart", approve=False)],
    [[CALL, function_call("restart", V2)], message("Not restarted.")],
    checks=[shows("Not restarted."), runs(("deploy", V2)), answers_calls(2)],
    tools=(ASKS_FIRST, RESTART),
)
_approval(
    "denied",
    "A denied approval",
    [NO],
    [CALL, message("Then not.")],
    checks=[shows("Then not."), runs(), answers_calls(1)],
    does="The function needs the user's approval, who denies it.",
    shows="The function does not run; the model is told and answers.",
)
_approval(
    "after-text",
    "An approval after a text",
    [YES],
    [[message("I ship it."), CALL], message("v2 is out.")],
    checks=[contains("v2 is out."), runs(("deploy", V2))],
    source=STORY,
)
_approval(
    "beside-a-free-call",
    "An approval beside a call that needs none",
    [YES],
    [[function_call("get_weather", {"city": "Oslo"}), CALL], message("v2 is out.")],
    checks=[shows("v2 is out."), runs(("get_weather", {"city": "Oslo"}), ("deploy", V2))],
    tools=(ASKS_FIRST, WEATHER),
    source=STORY,
)
_approval(
    "answered-twice",
    "The same function again",
    [YES, NO],
    [CALL, function_call("deploy", V3), message("Only v2.")],
    checks=[shows("Only v2."), runs(("deploy", V2)), answers_calls(2)],
    does="The model calls a function again that was approved before; now the user denies it.",
)
_approval(
    "in-two-prompts",
    "An approval for each of two prompts",
    [YES, YES],
    [CALL, message("v2 is out."), function_call("deploy", V3), message("v3 is out.")],
    checks=[shows("v2 is out.", "v3 is out."), runs(("deploy", V2), ("deploy", V3))],
    prompts=("Ship v2.", "Ship v3."),
)

PROD = {
    "type": "mcp",
    "server_label": "prod",
    "server_url": "https://mcp.example.org/sse",
    "require_approval": "always",
}
MCP_DEPLOY = mcp_call("prod", "deploy", {"ref": "v2"})


def _mcp_approval(name: str, title: str, answers: list[UserAnswer], said: list[Turn], *, checks: list[Check]) -> None:
    case(
        f"agents/mcp-approval-{name}",
        title=title,
        does=f"{title}: the output has an `mcp_approval_request` for each call.",
        source="API reference, `require_approval` of the tool `mcp`, 2026-10; recorded",
        shows="The user is asked; the answer goes back as an `mcp_approval_response`; what is approved is called once.",
        needs=("mcp_approvals",),
        task=Task(prompts=("Ship v2.",), hosted_tools=(PROD,), approvals=tuple(answers)),
        script=lambda mock: (
            mock.mcp("prod", {"deploy": "live", "restart": "restarted"}),
            mock.script(*said),
        ),
        checks=[*checks, interrupts(*(answer.tool for answer in answers))],
    )


_mcp_approval(
    "one",
    "A call of a server",
    [YES],
    [[MCP_DEPLOY, message("v2 is out.")]],
    checks=[shows("v2 is out."), mcp_runs("deploy")],
)
_mcp_approval(
    "denied",
    "A denied call of a server",
    [NO],
    [MCP_DEPLOY, message("Then not.")],
    checks=[shows("Then not."), mcp_runs()],
)
_mcp_approval(
    "two-at-once",
    "Two calls of a server at once",
    [YES, UserAnswer("restart")],
    [[MCP_DEPLOY, mcp_call("prod", "restart", {"ref": "v2"}), message("Both done.")]],
    checks=[shows("Both done."), mcp_runs("deploy", "restart")],
)
_mcp_approval(
    "after-text",
    "A call of a server after a text",
    [YES],
    [[message("I ship it."), MCP_DEPLOY, message("v2 is out.")]],
    checks=[shows("v2 is out."), mcp_runs("deploy")],
)

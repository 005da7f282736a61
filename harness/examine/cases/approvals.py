"""Calls that run only if the user approves: of functions, and of remote MCP servers."""

from dataclasses import replace
from typing import Any

from harness.examine.case import DEPLOY, WEATHER, Check, case, turns
from harness.examine.checks import answers_calls, contains, interrupts, mcp_runs, runs, shows
from harness.examine.task import Task, UserAnswer
from harness.items import function_call, mcp_call, message
from harness.world.route import Turn

ASKS_FIRST = replace(DEPLOY, needs_approval=True)
RESTART = replace(ASKS_FIRST, name="restart", description="Restart a version.", returns="restarted")
V2 = {"ref": "v2"}
V3 = {"ref": "v3"}
CALL = function_call("deploy", V2)
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

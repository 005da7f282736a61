"""Calls of remote MCP servers that need the user's approval."""

from __future__ import annotations

from typing import Any

from harness.examine.case import Check, Script, case
from harness.examine.checks import interrupts, mcp_runs, shows
from harness.examine.task import Task, UserAnswer
from harness.items import mcp_call, message
from harness.world.mock import Mock
from harness.world.route import Turn

PROD = {
    "type": "mcp",
    "server_label": "prod",
    "server_url": "https://mcp.example.org/sse",
    "require_approval": "always",
}
DEPLOY = mcp_call("prod", "deploy", {"ref": "v2"})
YES = UserAnswer("deploy")
NO = UserAnswer("deploy", approve=False)


def _server(*said: Turn) -> Script:
    def script(mock: Mock) -> None:
        mock.mcp("prod", {"deploy": "live", "restart": "restarted"})
        mock.script(*said)

    return script


def _approval(name: str, title: str, answers: list[UserAnswer], said: list[Turn], *checks: Check, **words: Any) -> None:
    case(
        f"agents/mcp-approval-{name}",
        *checks,
        interrupts(*(answer.tool for answer in answers)),
        title=title,
        does=f"{title}: the output has an `mcp_approval_request` for each call.",
        source="API reference, `require_approval` of the tool `mcp`, 2026-10; recorded",
        shows="The user is asked; the answer goes back as an `mcp_approval_response`; what is approved is called once.",
        severity="must",
        needs=("mcp_approvals",),
        task=Task(prompts=words.pop("prompts", ("Ship v2.",)), hosted_tools=(PROD,), approvals=tuple(answers)),
        script=_server(*said),
    )


_approval(
    "one", "A call of a server", [YES], [[DEPLOY, message("v2 is out.")]], shows("v2 is out."), mcp_runs("deploy")
)
_approval("denied", "A denied call of a server", [NO], [DEPLOY, message("Then not.")], shows("Then not."), mcp_runs())
_approval(
    "two-at-once",
    "Two calls of a server at once",
    [YES, UserAnswer("restart")],
    [[DEPLOY, mcp_call("prod", "restart", {"ref": "v2"}), message("Both done.")]],
    shows("Both done."),
    mcp_runs("deploy", "restart"),
)
_approval(
    "after-text",
    "A call of a server after a text",
    [YES],
    [[message("I ship it."), DEPLOY, message("v2 is out.")]],
    shows("v2 is out."),
    mcp_runs("deploy"),
)

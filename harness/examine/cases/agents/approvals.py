"""Functions that run only when the user approves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.examine.case import Check, case, turns
from harness.examine.cases.common import DEPLOY, WEATHER
from harness.examine.checks import answers_calls, contains, interrupts, runs, shows
from harness.examine.task import Task, UserAnswer
from harness.items import function_call, message
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


def _approval(name: str, title: str, answers: list[UserAnswer], said: list[Turn], *checks: Check, **words: Any) -> None:
    tools = words.pop("tools", (ASKS_FIRST,))
    prompts = words.pop("prompts", ("Ship v2.",))
    case(
        f"agents/approval-{name}",
        *checks,
        interrupts(*(answer.tool for answer in answers)),
        title=title,
        does=words.pop("does", f"{title}: the functions need the user's approval."),
        source=words.pop("source", FRAMEWORKS),
        shows=words.pop("shows", "The user is asked once for each; what is approved runs once."),
        severity="must",
        task=Task(prompts=prompts, tools=tools, approvals=tuple(answers)),
        script=turns(*said),
        **words,
    )


_approval("one", "One approval", [YES], [CALL, message("v2 is out.")], shows("v2 is out."), runs(("deploy", V2)))
_approval(
    "two-at-once",
    "Two approvals at once",
    [YES, UserAnswer("restart")],
    [[CALL, function_call("restart", V2)], message("v2 is out.")],
    shows("v2 is out."),
    runs(("deploy", V2), ("restart", V2)),
    tools=(ASKS_FIRST, RESTART),
    source=STORY,
)
_approval(
    "one-of-two",
    "One of two approved",
    [YES, UserAnswer("restart", approve=False)],
    [[CALL, function_call("restart", V2)], message("Not restarted.")],
    shows("Not restarted."),
    runs(("deploy", V2)),
    answers_calls(2),
    tools=(ASKS_FIRST, RESTART),
)
case(
    "agents/approval-denied",
    shows("Then not."),
    runs(),
    answers_calls(1),
    interrupts("deploy"),
    title="A denied approval",
    does="The function needs the user's approval, who denies it.",
    source=FRAMEWORKS,
    shows="The function does not run; the model is told and answers.",
    severity="must",
    task=Task(prompts=("Ship v2.",), tools=(ASKS_FIRST,), approvals=(NO,)),
    script=turns(CALL, message("Then not.")),
)
_approval(
    "after-text",
    "An approval after a text",
    [YES],
    [[message("I ship it."), CALL], message("v2 is out.")],
    contains("v2 is out."),
    runs(("deploy", V2)),
    source=STORY,
)
_approval(
    "beside-a-free-call",
    "An approval beside a call that needs none",
    [YES],
    [[function_call("get_weather", {"city": "Oslo"}), CALL], message("v2 is out.")],
    shows("v2 is out."),
    runs(("get_weather", {"city": "Oslo"}), ("deploy", V2)),
    tools=(ASKS_FIRST, WEATHER),
    source=STORY,
)
_approval(
    "answered-twice",
    "The same function again",
    [YES, NO],
    [CALL, function_call("deploy", V3), message("Only v2.")],
    shows("Only v2."),
    runs(("deploy", V2)),
    answers_calls(2),
    does="The model calls a function again that was approved before; now the user denies it.",
)
_approval(
    "in-two-prompts",
    "An approval for each of two prompts",
    [YES, YES],
    [CALL, message("v2 is out."), function_call("deploy", V3), message("v3 is out.")],
    shows("v2 is out.", "v3 is out."),
    runs(("deploy", V2), ("deploy", V3)),
    prompts=("Ship v2.", "Ship v3."),
)

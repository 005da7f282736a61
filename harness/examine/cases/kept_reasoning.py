"""What a model from GPT-6.2 on gets of its earlier reasoning: in a loop, a session, a hand-off, an approval, cut."""

from dataclasses import replace
from typing import Any

from harness.examine.case import DEPLOY, WEATHER, Script, case, turns
from harness.examine.cases.agents import ASKS_FIRST, CALL, HAND_OFF, OPERATIONS, TO_OPS, YES
from harness.examine.checks import keeps_reasoning, shows
from harness.examine.task import Task
from harness.items import function_call, message, reasoning

MODEL = "gpt-6.2-sol"
GUIDE = "https://developers.openai.com/api/docs/guides/keep-prefix-unchanged, 2026-11"
ASKED = Task(prompts=("Ship v2.",), tools=(WEATHER, DEPLOY), model=MODEL)
LOOK = function_call("get_weather", {"city": "Oslo"})


def _kept(id: str, title: str, does: str, task: Task, script: Script, *said: str, **words: Any) -> None:
    case(
        id,
        title=title,
        does=does,
        shows="All reasoning reaches the model: nothing before it was edited, and `input_transformations` is empty.",
        task=task,
        script=script,
        losses=("reasoning-withheld",),
        checks=[shows(*said), keeps_reasoning()],
        **{"severity": "should", "source": GUIDE, **words},
    )


_kept(
    "state/reasoning-in-a-loop",
    "Reasoning in a tool loop",
    "The model reasons before each of two calls and before its answer.",
    ASKED,
    turns([reasoning(), LOOK], [reasoning(), CALL], [reasoning(), message("v2 is out.")]),
    "v2 is out.",
)
_kept(
    "state/reasoning-of-a-session",
    "Reasoning of earlier turns",
    "The model reasons before a call and before each answer; it reads the reasoning of all turns.",
    replace(ASKED, prompts=("Ship v2.", "And v3?")),
    turns([reasoning(), CALL], [reasoning(), message("v2 is out.")], [reasoning(), message("Not yet.")]),
    "v2 is out.",
    "Not yet.",
)
_kept(
    "state/reasoning-of-a-shortened-history",
    "Reasoning in a shortened history",
    "The model reasons before each of three answers; the client may keep three messages.",
    replace(ASKED, prompts=("Ship v2.", "And v3?", "And v4?"), tools=(), keep_last=3),
    turns([reasoning(), message("v2 is out.")], [reasoning(), message("Not yet.")], [reasoning(), message("No.")]),
    "v2 is out.",
    "Not yet.",
    "No.",
    severity="may",
    states=("replay", "stateless"),
)
_kept(
    "agents/reasoning-of-a-hand-off",
    "Reasoning before a hand-off",
    "The planner reasons and hands over to the operator, who has other tools.",
    replace(OPERATIONS, model=MODEL),
    turns([reasoning(), TO_OPS], [reasoning(), CALL], [reasoning(), message("v2 is out.")]),
    "v2 is out.",
    source=f"{GUIDE}: other `tools` are an edit; {HAND_OFF}",
)
_kept(
    "agents/reasoning-of-an-approval",
    "Reasoning before an approval",
    "The model reasons before a call that needs the user's approval.",
    replace(ASKED, tools=(ASKS_FIRST,), approvals=(YES,)),
    turns([reasoning(), CALL], [reasoning(), message("v2 is out.")]),
    "v2 is out.",
)

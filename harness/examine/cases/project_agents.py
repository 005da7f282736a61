"""Agents that a project of Azure AI Foundry keeps: named by the client, of each kind, with what only they emit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.core.exchange import Json
from harness.examine.case import Check, ObservedRun, case
from harness.examine.cases.common import ASKED, ASKED_TWICE, WITH_TOOL
from harness.examine.cases.session_checks import repeats_nothing
from harness.examine.checks import cites, contains, offers, requests, runs, shows, streamed
from harness.examine.task import Task
from harness.items import (
    bing_grounding_call,
    bing_grounding_call_output,
    function_call,
    message,
    oauth_consent_request,
    url_citation,
    workflow_action,
)
from harness.world.mock import Mock
from harness.world.script import Turn

RECORDED = "recorded by the tests of Microsoft's own SDKs, 2026-02 to 2026-07"
GUIDE = "https://example.org/guide"
CONSENT = "https://consent.example.org/?code=1"
WEATHER_FUNCTION: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "strict": False,
}
HELPER: Json = {"kind": "prompt", "model": "gpt-4.1", "instructions": "You are helpful."}


def _with_agent(
    name: str, title: str, task: Task, definition: Json, said: list[Turn], *checks: Check, **words: Any
) -> None:
    def script(mock: Mock) -> None:
        mock.organization(agents={"helper": definition})
        mock.when(agent="helper").script(*said)

    case(
        f"dialects/project-{name}",
        *checks,
        title=title,
        does=words.pop("does", f"{title}, which the project keeps and the client names."),
        source=words.pop("source", RECORDED),
        severity=words.pop("severity", "must"),
        dialects=("foundry",),
        states=words.pop("states", ("replay", "chain", "conversation")),
        task=replace(task, project_agent="helper"),
        script=script,
        **words,
    )


def keeps_its_session() -> Check:
    """Each request but the first names the session of the agent that the answer before it told."""

    def check(seen: ObservedRun) -> Iterator[str]:
        for before, asked in zip(seen.exchanges, seen.exchanges[1:], strict=False):
            told = (before.answer.body or {}).get("agent_session_id")
            named = (asked.request.body or {}).get("agent_session_id")
            if told and named != told:
                yield f"request {asked.number} is for the session {named}, not for {told}"

    return check


_with_agent(
    "agent",
    "A text of an agent",
    ASKED,
    HELPER,
    [message("Sunny.")],
    shows("Sunny."),
    streamed("Sunny."),
    requests(1),
    shows="The answer; no request says what the agent settles: its instructions, tools and sampling.",
)
_with_agent(
    "agent-tool",
    "A function of an agent",
    WITH_TOOL,
    {**HELPER, "tools": [WEATHER_FUNCTION]},
    [function_call("get_weather", {"city": "Paris"}), message("18 °C.")],
    shows("18 °C."),
    runs(("get_weather", {"city": "Paris"})),
    shows="The function has run once; what it returned goes to the same agent.",
)
_with_agent(
    "agent-session",
    "Two prompts to an agent",
    ASKED_TWICE,
    HELPER,
    [message("Sunny."), message("Rain.")],
    shows("Sunny.", "Rain."),
    repeats_nothing(),
    shows="Both answers; nothing of the first prompt is said twice.",
)
_with_agent(
    "workflow",
    "A workflow that speaks twice",
    ASKED,
    {"kind": "workflow"},
    [
        [
            workflow_action("SetVariable", "set_city"),
            workflow_action("SendActivity", "greet", holds=1),
            message("Good day. "),
            workflow_action("SendActivity", "answer", holds=1),
            message("It is sunny."),
        ]
    ],
    contains("Good day.", "It is sunny."),
    does="A workflow's steps are items of their own, open while the messages come that they send.",
    shows="What it says, in its order; no step is taken for a call.",
)
_with_agent(
    "grounding",
    "A search that only a project has",
    ASKED,
    {**HELPER, "tools": [{"type": "bing_grounding"}]},
    [
        [
            bing_grounding_call({"query": "weather"}),
            bing_grounding_call_output(),
            message("Sunny.", annotations=[url_citation(GUIDE, "Guide")]),
        ]
    ],
    shows("Sunny."),
    cites({"type": "url_citation", "url": GUIDE}),
    requests(1),
    does="The service searches by itself and tells call and output as items that OpenAI does not have.",
    shows="The answer with its source; the call is not the client's.",
)
_with_agent(
    "consent",
    "A tool that needs the user's consent",
    ASKED,
    {**HELPER, "tools": [{"type": "mcp", "server_label": "crm", "server_url": "https://crm.example.org/mcp"}]},
    [[oauth_consent_request(CONSENT, "crm")]],
    offers(CONSENT),
    does="The user has to consent at a link before the agent's server can be asked; the response has nothing else.",
    source="microsoft/agent-framework#6562 and #6249, 2026; azure-ai-agentserver-responses 2.4",
    shows="The link.",
)
_with_agent(
    "hosted-session",
    "A session of a hosted agent",
    ASKED_TWICE,
    {"kind": "hosted"},
    [message("Sunny."), message("Rain.")],
    shows("Sunny.", "Rain."),
    keeps_its_session(),
    does="A hosted agent runs in a session, whose id each answer tells; without it the next request begins another.",
    source="recorded of azure-ai-projects at an agent's endpoint, 2026-07-01",
    shows="Both answers; the second request names the session.",
    severity="may",
    states=("chain",),
)

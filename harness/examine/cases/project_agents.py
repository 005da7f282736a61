"""Agents that a project of Azure AI Foundry keeps: named by the client, of each kind, with what only they emit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.core.exchange import Json
from harness.examine.case import Check, ObservedRun, Script, case
from harness.examine.cases.common import ASKED, ASKED_TWICE, WITH_TOOL
from harness.examine.cases.session_checks import repeats_nothing
from harness.examine.checks import cites, contains, offers, requests, runs, shows, streamed
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
from harness.world.route import Turn

FOUNDRY = ("foundry",)
STATES = ("replay", "chain", "conversation")
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
CRM: Json = {"type": "mcp", "server_label": "crm", "server_url": "https://crm.example.org/mcp"}
HELPER: Json = {"kind": "prompt", "model": "gpt-4.1", "instructions": "You are helpful."}


def agent(definition: Json, *said: Turn) -> Script:
    """Make a project that keeps the agent `helper`, which answers with these turns."""

    def script(mock: Mock) -> None:
        mock.organization(agents={"helper": definition})
        mock.when(agent="helper").script(*said)

    return script


def keeps_its_session() -> Check:
    """Each request but the first names the session of the agent that the answer before it told."""

    def check(seen: ObservedRun) -> Iterator[str]:
        for before, asked in zip(seen.exchanges, seen.exchanges[1:], strict=False):
            told = (before.answer.body or {}).get("agent_session_id")
            named = (asked.request.body or {}).get("agent_session_id")
            if told and named != told:
                yield f"request {asked.number} is for the session {named}, not for {told}"

    return check


case(
    "dialects/project-agent",
    shows("Sunny."),
    streamed("Sunny."),
    requests(1),
    title="A text of an agent that a project keeps",
    does="The client names the agent, which answers.",
    source=RECORDED,
    shows="The answer; no request says what the agent settles: its instructions, tools and sampling.",
    severity="must",
    dialects=FOUNDRY,
    states=STATES,
    task=replace(ASKED, project_agent="helper"),
    script=agent(HELPER, message("Sunny.")),
)
case(
    "dialects/project-agent-tool",
    shows("18 °C."),
    runs(("get_weather", {"city": "Paris"})),
    title="A function of an agent that a project keeps",
    does="The agent calls a function of its definition.",
    source=RECORDED,
    shows="The function has run once; what it returned goes to the same agent.",
    severity="must",
    dialects=FOUNDRY,
    states=STATES,
    task=replace(WITH_TOOL, project_agent="helper"),
    script=agent(
        {**HELPER, "tools": [WEATHER_FUNCTION]}, function_call("get_weather", {"city": "Paris"}), message("18 °C.")
    ),
)
case(
    "dialects/project-agent-session",
    shows("Sunny.", "Rain."),
    repeats_nothing(),
    title="Two prompts to an agent that a project keeps",
    does="The agent answers each prompt.",
    source=RECORDED,
    shows="Both answers; nothing of the first prompt is said twice.",
    severity="must",
    dialects=FOUNDRY,
    states=STATES,
    task=replace(ASKED_TWICE, project_agent="helper"),
    script=agent(HELPER, message("Sunny."), message("Rain.")),
)
case(
    "dialects/project-workflow",
    contains("Good day.", "It is sunny."),
    title="A workflow that speaks twice",
    does="A workflow's steps are items of their own, open while the messages come that they send.",
    source=RECORDED,
    shows="What it says, in its order; no step is taken for a call.",
    severity="must",
    dialects=FOUNDRY,
    states=STATES,
    task=replace(ASKED, project_agent="helper"),
    script=agent(
        {"kind": "workflow"},
        [
            workflow_action("SetVariable", "set_city"),
            workflow_action("SendActivity", "greet", holds=1),
            message("Good day. "),
            workflow_action("SendActivity", "answer", holds=1),
            message("It is sunny."),
        ],
    ),
)
case(
    "dialects/project-grounding",
    shows("Sunny."),
    cites({"type": "url_citation", "url": GUIDE}),
    requests(1),
    title="A search that only a project has",
    does="The service searches by itself and tells call and output as items that OpenAI does not have.",
    source=RECORDED,
    shows="The answer with its source; the call is not the client's.",
    severity="must",
    dialects=FOUNDRY,
    states=STATES,
    task=replace(ASKED, project_agent="helper"),
    script=agent(
        {**HELPER, "tools": [{"type": "bing_grounding"}]},
        [
            bing_grounding_call({"query": "weather"}),
            bing_grounding_call_output(),
            message("Sunny.", annotations=[url_citation(GUIDE, "Guide")]),
        ],
    ),
)
case(
    "dialects/project-consent",
    offers(CONSENT),
    title="A tool that needs the user's consent",
    does="The user has to consent at a link before the agent's server can be asked; the response has nothing else.",
    source="microsoft/agent-framework#6562 and #6249, 2026; azure-ai-agentserver-responses 2.4",
    shows="The link.",
    severity="must",
    dialects=FOUNDRY,
    states=STATES,
    task=replace(ASKED, project_agent="helper"),
    script=agent({**HELPER, "tools": [CRM]}, [oauth_consent_request(CONSENT, "crm")]),
)
case(
    "dialects/project-hosted-session",
    shows("Sunny.", "Rain."),
    keeps_its_session(),
    title="A session of a hosted agent",
    does="A hosted agent runs in a session, whose id each answer tells; without it the next request begins another.",
    source="recorded of azure-ai-projects at an agent's endpoint, 2026-07-01",
    shows="Both answers; the second request names the session.",
    severity="may",
    dialects=FOUNDRY,
    states=("chain",),
    task=replace(ASKED_TWICE, project_agent="helper"),
    script=agent({"kind": "hosted"}, message("Sunny."), message("Rain.")),
)

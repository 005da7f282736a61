"""Cases for the dialects: Azure AI Foundry, and the Assistants API with its threads and runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.core.exchange import Json
from harness.ending import failed, incomplete
from harness.examine.case import (
    ASKED,
    ASKED_TWICE,
    DEPLOY,
    REASONING_MODEL,
    THREAD,
    WITH_TOOL,
    ObservedRun,
    Script,
    always,
    case,
    check,
    turns,
)
from harness.examine.checks import (
    cites,
    contains,
    fails,
    offers,
    repeats_nothing,
    requests,
    runs,
    shows,
    shows_or_fails,
    streamed,
)
from harness.examine.task import Task
from harness.faults import chunks, cut, http_error, insert_event, rate_limit
from harness.items import (
    bing_grounding_call,
    bing_grounding_call_output,
    file_citation,
    function_call,
    message,
    oauth_consent_request,
    reasoning,
    url_citation,
    workflow_action,
)
from harness.world.route import Turn

AZURE = ("azure", "foundry")
GUIDE = "https://example.org/guide"


def _through_azure(name: str, title: str, task: Task, script: Script, **words: Any) -> None:
    case(
        f"dialects/{name}",
        title=title,
        does=words.pop("does", f"{title}, from Azure's form of the API."),
        source=words.pop("source", "recorded answers of Azure OpenAI and Foundry, 2025 and 2026"),
        shows=words.pop("shows", "The same as from OpenAI."),
        dialects=AZURE,
        task=task,
        script=script,
        **words,
    )


_through_azure("text", "A text", ASKED, turns(message("Sunny.")), checks=[shows("Sunny."), streamed("Sunny.")])
_through_azure(
    "tool",
    "A call of a function",
    WITH_TOOL,
    turns(function_call("get_weather", {"city": "Paris"}), message("18 °C.")),
    checks=[shows("18 °C."), runs(("get_weather", {"city": "Paris"}))],
)
_through_azure(
    "session",
    "A session of two prompts",
    replace(ASKED_TWICE, model=REASONING_MODEL),
    turns([reasoning(), message("Sunny.")], [reasoning(), message("Rain.")]),
    checks=[shows("Sunny.", "Rain."), repeats_nothing()],
)
_through_azure(
    "citation",
    "A citation",
    ASKED,
    turns(message("Sunny.", annotations=[url_citation(GUIDE, "Guide")])),
    checks=[shows("Sunny."), cites({"type": "url_citation", "url": GUIDE})],
)
_through_azure(
    "bytes",
    "A stream, each byte alone",
    ASKED,
    turns(chunks(message("Grüße aus Köln."), size=1)),
    checks=[shows("Grüße aus Köln.")],
    streams=(True,),
)
_through_azure(
    "cut",
    "A stream that is cut",
    ASKED,
    always(cut(message(["Once ", "upon ", "a time."]), after=6)),
    checks=[fails()],
    streams=(True,),
    spare=True,
    shows="An error; no success with half a text.",
)
_through_azure(
    "401",
    "A wrong key",
    ASKED,
    always(http_error(401, "Access denied due to invalid subscription key or wrong API endpoint.", code="401")),
    checks=[fails("Access denied", status=401), requests(1)],
    shows="Azure's words and the status.",
)
_through_azure(
    "429",
    "A rate limit",
    replace(ASKED, tools=(DEPLOY,)),
    always(function_call("deploy", {"ref": "v2"}), rate_limit("50ms"), message("v2 is live.")),
    checks=[shows("v2 is live."), runs(("deploy", {"ref": "v2"}))],
    severity="should",
    spare=True,
    shows="It waits; the answer. The function has run once.",
)
case(
    "dialects/content-filter",
    title="A prompt that the content filter blocks",
    does="Azure's filter objects to the prompt: 400, `content_filter`.",
    source="Azure's guide to content filtering, 2026-10; recorded",
    shows="Azure's words; the request is not sent again.",
    dialects=AZURE,
    refused=("content_filter",),
    script=lambda mock: mock.organization(blocked=frozenset({"violence"})),
    checks=[fails("content management policy"), requests(1)],
)

AGENTS_RECORDED = "recorded by the tests of Microsoft's own SDKs, 2026-02 to 2026-07"
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


def _agent(name: str, definition: Json, said: list[Turn], *, task: Task = ASKED, **words: Any) -> None:
    """Add a case for a project with the stored agent `helper`, which answers with these turns."""
    case(
        f"dialects/project-{name}",
        source=words.pop("source", AGENTS_RECORDED),
        dialects=("foundry",),
        states=words.pop("states", ("replay", "chain", "conversation")),
        task=replace(task, project_agent="helper"),
        script=lambda mock: (
            mock.organization(agents={"helper": definition}),
            mock.when(agent="helper").script(*said),
        ),
        **words,
    )


@check
def keeps_its_session(seen: ObservedRun) -> Iterator[str]:
    """Check that each request but the first names the agent session of the previous answer."""
    for before, asked in zip(seen.exchanges, seen.exchanges[1:], strict=False):
        given = (before.answer.body or {}).get("agent_session_id")
        named = (asked.request.body or {}).get("agent_session_id")
        if given and named != given:
            yield f"request {asked.number} is for the session {named}, not for {given}"


_agent(
    "agent",
    HELPER,
    [message("Sunny.")],
    checks=[shows("Sunny."), streamed("Sunny."), requests(1)],
    title="A text of an agent that a project keeps",
    does="The client names the agent, which answers.",
    shows="The answer; no request says what the agent settles: its instructions, tools and sampling.",
)
_agent(
    "agent-tool",
    {**HELPER, "tools": [WEATHER_FUNCTION]},
    [function_call("get_weather", {"city": "Paris"}), message("18 °C.")],
    checks=[shows("18 °C."), runs(("get_weather", {"city": "Paris"}))],
    title="A function of an agent that a project keeps",
    does="The agent calls a function of its definition.",
    shows="The function has run once; what it returned goes to the same agent.",
    task=WITH_TOOL,
)
_agent(
    "agent-session",
    HELPER,
    [message("Sunny."), message("Rain.")],
    checks=[shows("Sunny.", "Rain."), repeats_nothing()],
    title="Two prompts to an agent that a project keeps",
    does="The agent answers each prompt.",
    shows="Both answers; nothing of the first prompt is said twice.",
    task=ASKED_TWICE,
)
_agent(
    "workflow",
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
    checks=[contains("Good day.", "It is sunny.")],
    title="A workflow that speaks twice",
    does="A workflow's steps are items of their own, open while the messages come that they send.",
    shows="What it says, in its order; no step is mistaken for a call.",
)
_agent(
    "grounding",
    {**HELPER, "tools": [{"type": "bing_grounding"}]},
    [
        [
            bing_grounding_call({"query": "weather"}),
            bing_grounding_call_output(),
            message("Sunny.", annotations=[url_citation(GUIDE, "Guide")]),
        ]
    ],
    checks=[shows("Sunny."), cites({"type": "url_citation", "url": GUIDE}), requests(1)],
    title="A search that only a project has",
    does="The service searches by itself and tells call and output as items that OpenAI does not have.",
    shows="The answer with its source; the call is not the client's.",
)
_agent(
    "consent",
    {**HELPER, "tools": [CRM]},
    [[oauth_consent_request(CONSENT, "crm")]],
    checks=[offers(CONSENT)],
    title="A tool that needs the user's consent",
    does="The user has to consent at a link before the agent's server can be asked; the response has nothing else.",
    source="microsoft/agent-framework#6562 and #6249, 2026; azure-ai-agentserver-responses 2.4",
    shows="The link.",
)
_agent(
    "hosted-session",
    {"kind": "hosted"},
    [message("Sunny."), message("Rain.")],
    checks=[shows("Sunny.", "Rain."), keeps_its_session()],
    title="A session of a hosted agent",
    does="A hosted agent runs in a session, whose id each answer tells; without it the next request begins another.",
    source="recorded of azure-ai-projects at an agent's endpoint, 2026-07-01",
    shows="Both answers; the second request names the session.",
    severity="may",
    states=("chain",),
    task=ASKED_TWICE,
)

MODEL = "gpt-4.1"
REFERENCE = "the API reference of Assistants v2; types of the SDK, `AssistantStreamEvent` and `Run`"
RECORDED_ASSISTANTS = f"recorded streams of runs, 2024 to 2026; {REFERENCE}"
UNKNOWN = {"event": "thread.run.thought.delta", "data": {"id": "thought_1", "object": "thread.run.thought.delta"}}
CITED = message("Store it cold.【4:0†guide.txt】", annotations=[file_citation("file-guide", "guide.txt")])


def _through_a_thread(name: str, title: str, task: Task, script: Script, **words: Any) -> None:
    case(
        f"dialects/assistants-{name}",
        title=title,
        does=words.pop("does", f"{title}, from a run of the Assistants API."),
        source=words.pop("source", RECORDED_ASSISTANTS),
        shows=words.pop("shows", "The same as from Responses."),
        states=(THREAD,),
        task=replace(task, model=MODEL),
        script=script,
        **words,
    )


_through_a_thread("text", "A text", ASKED, turns(message(["Sun", "ny."])), checks=[shows("Sunny."), streamed("Sunny.")])
_through_a_thread(
    "session",
    "A thread with two prompts",
    ASKED_TWICE,
    turns(message("Sunny."), message("Rain.")),
    checks=[shows("Sunny.", "Rain."), streamed("Sunny.", "Rain.")],
)
_through_a_thread(
    "tool",
    "A call of a function",
    WITH_TOOL,
    turns(function_call("get_weather", {"city": "Paris"}), message("18 °C.")),
    checks=[shows("18 °C."), runs(("get_weather", {"city": "Paris"}))],
    does="The run waits with `requires_action`, and goes on when its outputs are submitted.",
)
_through_a_thread(
    "two-calls",
    "Two calls at once",
    WITH_TOOL,
    turns(
        [function_call("get_weather", {"city": "Paris"}), function_call("get_weather", {"city": "Rome"})],
        message("18 °C in both."),
    ),
    checks=[shows("18 °C in both."), runs(("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"}))],
    does="The run waits for two outputs, which have to come in one request.",
)
_through_a_thread(
    "tool-twice",
    "A second call after the first",
    WITH_TOOL,
    turns(
        function_call("get_weather", {"city": "Paris"}),
        function_call("get_weather", {"city": "Rome"}),
        message("18 °C in both."),
    ),
    checks=[
        shows("18 °C in both."),
        runs(("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"}), ordered=True),
    ],
    does="The run waits with `requires_action` once more after the first outputs.",
)
_through_a_thread(
    "citation",
    "A citation of a file",
    ASKED,
    turns(CITED),
    checks=[shows("Store it cold.【4:0†guide.txt】"), cites({"type": "file_citation", "text": "【4:0†guide.txt】"})],
    shows="The text, once, with its annotation.",
)
_through_a_thread(
    "failed",
    "A run that fails",
    ASKED,
    turns(failed("server_error", "The model went away.")),
    checks=[fails("The model went away.")],
    does="The status of the run is `failed`, its `last_error` says why.",
    shows="An error with the API's words.",
)
_through_a_thread(
    "incomplete",
    "A run that is cut by the limit of tokens",
    ASKED,
    turns([message("Once upon a"), incomplete("max_output_tokens")]),
    checks=[shows_or_fails("Once upon a")],
    does="The status of the run is `incomplete`, the message holds what there is.",
    shows="What there is of the text, or an error.",
)
_through_a_thread(
    "cut",
    "A stream that is cut",
    ASKED,
    always(cut(message(["Once ", "upon ", "a time."]), after=9)),
    checks=[fails()],
    streams=(True,),
    spare=True,
    source="HTTP has no sign for it but the missing end of the body",
    shows="An error; no success with half a text.",
)
_through_a_thread(
    "unknown-event",
    "An event of an unknown type",
    ASKED,
    turns(insert_event(message("Sunny."), UNKNOWN, after=5)),
    checks=[shows("Sunny.")],
    streams=(True,),
    source="the API's page on backwards compatibility: new types of events may come",
    shows="The text; nothing for the event.",
)

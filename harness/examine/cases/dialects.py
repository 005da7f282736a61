"""The same through Azure OpenAI and a project of Azure AI Foundry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.examine.case import Check, Script, case, turns
from harness.examine.cases.common import ASKED, ASKED_TWICE, DEPLOY, REASONING_MODEL, WITH_TOOL, always
from harness.examine.cases.session_checks import repeats_nothing
from harness.examine.checks import cites, fails, requests, runs, shows, streamed
from harness.examine.task import Task
from harness.faults import chunks, cut, http_error, rate_limit
from harness.items import function_call, message, reasoning, url_citation

AZURE = ("azure", "foundry")
GUIDE = "https://example.org/guide"
RECORDED = "recorded answers of Azure OpenAI and Foundry, 2025 and 2026"


def _through_azure(name: str, title: str, task: Task, script: Script, *checks: Check, **words: Any) -> None:
    case(
        f"dialects/{name}",
        *checks,
        title=title,
        does=words.pop("does", f"{title}, from Azure's form of the API."),
        source=words.pop("source", RECORDED),
        shows=words.pop("shows", "The same as from OpenAI."),
        severity=words.pop("severity", "must"),
        dialects=AZURE,
        task=task,
        script=script,
        **words,
    )


_through_azure("text", "A text", ASKED, turns(message("Sunny.")), shows("Sunny."), streamed("Sunny."))
_through_azure(
    "tool",
    "A call of a function",
    WITH_TOOL,
    turns(function_call("get_weather", {"city": "Paris"}), message("18 °C.")),
    shows("18 °C."),
    runs(("get_weather", {"city": "Paris"})),
)
_through_azure(
    "session",
    "A session of two prompts",
    replace(ASKED_TWICE, model=REASONING_MODEL),
    turns([reasoning(), message("Sunny.")], [reasoning(), message("Rain.")]),
    shows("Sunny.", "Rain."),
    repeats_nothing(),
)
_through_azure(
    "citation",
    "A citation",
    ASKED,
    turns(message("Sunny.", annotations=[url_citation(GUIDE, "Guide")])),
    shows("Sunny."),
    cites({"type": "url_citation", "url": GUIDE}),
)
_through_azure(
    "bytes",
    "A stream, each byte alone",
    ASKED,
    turns(chunks(message("Grüße aus Köln."), size=1)),
    shows("Grüße aus Köln."),
    streams=(True,),
)
_through_azure(
    "cut",
    "A stream that is cut",
    ASKED,
    always(cut(message(["Once ", "upon ", "a time."]), after=6)),
    fails(),
    streams=(True,),
    fails=True,
    spare=True,
    shows="An error; no success with half a text.",
)
_through_azure(
    "401",
    "A wrong key",
    ASKED,
    always(http_error(401, "Access denied due to invalid subscription key or wrong API endpoint.", code="401")),
    fails("Access denied", status=401),
    requests(1),
    fails=True,
    shows="Azure's words and the status.",
)
_through_azure(
    "429",
    "A rate limit",
    replace(ASKED, tools=(DEPLOY,)),
    always(function_call("deploy", {"ref": "v2"}), rate_limit("50ms"), message("v2 is live.")),
    shows("v2 is live."),
    runs(("deploy", {"ref": "v2"})),
    severity="should",
    spare=True,
    shows="It waits; the answer. The function has run once.",
)
case(
    "dialects/content-filter",
    fails("content management policy"),
    requests(1),
    title="A prompt that the content filter blocks",
    does="Azure's filter objects to the prompt: 400, `content_filter`.",
    source="Azure's guide to content filtering, 2026-10; recorded",
    shows="Azure's words; the request is not sent again.",
    severity="must",
    dialects=AZURE,
    fails=True,
    refused=("content_filter",),
    task=ASKED,
    script=lambda mock: mock.organization(blocked=frozenset({"violence"})),
)

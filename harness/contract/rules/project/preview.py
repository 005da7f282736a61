"""Previews of a Foundry project, which a request must name in the header `Foundry-Features`.

`KINDS` and `OPERATIONS` list which feature is needed where, each with its days and its evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from harness.api.http.dialects import FOUNDRY, PREVIEW_OF_AGENTS, is_preview_of_agents
from harness.api.project.agent_definitions import sent_version
from harness.api.project.errors import project_error
from harness.contract.rule import Case, WorldView, documented, reported, rule
from harness.contract.rules.example_requests import PROJECT_PATH
from harness.core.dates import is_valid_on
from harness.core.exchange import Json, Request

HEADER = "foundry-features"
ASKED = "2026-03-06"
"""The day of the first client that requests previews by this header on demand (azure-ai-projects 2.0.0)."""


class Preview(NamedTuple):
    """A feature in preview: the value that requests it, the title in the error (empty for operations), the days.

    `in_preview_version` says that the version before agents were final has it without the header.
    """

    flag: str
    title: str = ""
    since: str = ASKED
    until: str = ""
    in_preview_version: bool = False


HOSTED_AGENTS = Preview("HostedAgents=V1Preview", "Hosted agents", until="2026-06-22", in_preview_version=True)
"""Needed on 2026-05-28 (Azure/azure-dev, issue 8442), no longer on 2026-06-23 (recorded by azure-ai-projects)."""
KINDS: Mapping[str, Preview] = {
    "workflow": Preview("WorkflowAgents=V1Preview", "Workflow agents"),
    "hosted": HOSTED_AGENTS,
    "external": Preview("ExternalAgents=V1Preview", "External agents", since="2026-05-29"),
    "voice": Preview("VoiceAgents=V1Preview", "Voice agents", since="2026-09-18"),
}
"""The features by the kind of agent whose creation needs them."""
OPERATIONS: Mapping[str, Preview] = {
    "POST /agents/{agent_name}/endpoint/sessions": HOSTED_AGENTS,
    "* /memory_stores*": Preview("MemoryStores=V1Preview"),
    "* /skills*": Preview("Skills=V1Preview", since="2026-04-20"),
}
"""The features by the operations that need them, whatever their body."""
MAKING_VERSIONS = ("POST /agents", "POST /agents/{agent_name}", "POST /agents/{agent_name}/versions")
"""The operations that define an agent."""

_ON_VERSIONS = f"POST !{PROJECT_PATH}/agents/helper/versions?api-version=v1"
_HEADERS = {"api-key": "sk-harness-example", "content-type": "application/json"}
_ASKING = {**_HEADERS, HEADER: "ExternalAgents=V1Preview, WorkflowAgents=V1Preview"}
_HOSTED = {"definition": {"kind": "hosted", "cpu": "1", "memory": "2Gi"}}
_WORKFLOW = {"definition": {"kind": "workflow", "workflow": "kind: workflow"}}
_SAID = (
    "{kind} is in preview. This operation requires the following opt-in preview feature(s): {flag}. Include the "
    "'Foundry-Features: {flag}' header in your request."
)


@rule(
    on=(*MAKING_VERSIONS, *OPERATIONS),
    dialects=FOUNDRY,
    error=project_error(
        403,
        "{title}This operation requires the following opt-in preview feature(s): {flag}. Include the 'Foundry-Features: "
        "{flag}' header in your request.",
        "Foundry-Features",
        "preview_feature_required",
    ),
    source=[
        reported(
            "azure-sdk-for-python: azure-ai-projects, operations/_patch_agents.py, of a workflow agent", "2026-03"
        ),
        reported("a public guide to hosted agents: the words for these", "2026-04"),
        reported("a public guide to skills, and one to evaluations: without a title", "2026-09"),
        reported(
            "Azure/azure-dev, pull request 8441: hosted agents, not in version 2025-11-15-preview",
            "2026-05-28",
        ),
        documented("https://learn.microsoft.com/azure/foundry: external agents; azure-rest-api-specs: memory stores"),
    ],
    rejects={
        _SAID.format(kind="Workflow agents", flag="WorkflowAgents=V1Preview"): Case(_WORKFLOW, on=_ON_VERSIONS),
        _SAID.format(kind="External agents", flag="ExternalAgents=V1Preview"): Case(
            {"name": "helper", "definition": {"kind": "external", "otel_agent_id": "helper"}},
            on=f"POST !{PROJECT_PATH}/agents?api-version=v1",
        ),
        _SAID.format(kind="Hosted agents", flag="HostedAgents=V1Preview"): Case(
            _HOSTED, on=_ON_VERSIONS, as_of="2026-05-28"
        ),
    },
    accepts=[
        Case(_WORKFLOW, on=_ON_VERSIONS, headers=_ASKING),
        Case(_WORKFLOW, on=_ON_VERSIONS, as_of="2026-02-26"),
        Case({"definition": {"kind": "prompt", "model": "mine"}}, on=_ON_VERSIONS),
        Case(_HOSTED, on=_ON_VERSIONS, as_of="2026-06-23"),
        Case(_HOSTED, on=_ON_VERSIONS.replace("v1", PREVIEW_OF_AGENTS), as_of="2026-05-28"),
    ],
    since=ASKED,
    fix="Send the header `Foundry-Features`; the SDK does so for a client that has `allow_preview` set.",
)
def preview_feature_required(request: Request, world: WorldView) -> Iterator[Json]:
    """A preview feature must be requested by the header `Foundry-Features`, as long as it is in preview."""
    needed = _needed_preview(request)
    if needed is None or not is_valid_on(world.as_of, needed.since, needed.until):
        return
    if needed.in_preview_version and is_preview_of_agents(request):
        return
    asked = {entry.partition("=")[0].strip() for entry in request.headers.get(HEADER, "").split(",")}
    if needed.flag.partition("=")[0] not in asked:
        yield {"title": needed.title and f"{needed.title} is in preview. ", "flag": needed.flag}


def _needed_preview(request: Request) -> Preview | None:
    """Return the preview that a request needs, by its operation or by the kind of agent in its body."""
    for pattern, preview in OPERATIONS.items():
        if fnmatchcase(request.operation, pattern):
            return preview
    body = sent_version(request) if request.operation in MAKING_VERSIONS else None
    definition = body.get("definition") if isinstance(body, dict) else None
    kind = definition.get("kind") if isinstance(definition, dict) else None
    return KINDS.get(kind) if isinstance(kind, str) else None

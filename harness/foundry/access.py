"""Who may use what of a project: previews need the header `Foundry-Features`, users see what was made for them.

`KINDS` and `OPERATIONS` list which feature is needed where, each with its days and its evidence. The lists of all
responses and conversations exist only in a project.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from harness.api.http.dialects import FOUNDRY, PREVIEW_OF_AGENTS, USER_IDENTITY, is_preview_of_agents, user_of
from harness.api.operations import operation
from harness.contract.rule import (
    PATH_ID,
    Case,
    RuleScope,
    WorldView,
    after,
    assumed,
    documented,
    recorded,
    reported,
    rule,
)
from harness.contract.rules.example_requests import HELPER_REFERENCE, KEY_HEADERS, ON_FOUNDRY, PROJECT_PATH
from harness.core.dates import is_valid_on
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object
from harness.core.registry import TableKind, declare_table
from harness.foundry.agent_rules import CREATE_VERSION, version_case
from harness.foundry.agent_sessions import AGENT_SESSIONS, CREATE_SESSION, session_key
from harness.foundry.agent_versions import MAKING_VERSIONS, sent_version
from harness.foundry.resources import agent_page, project_case, project_error, project_not_found, without_param
from harness.items.transcript import conversation_id
from harness.world.api_call import ApiCall

SCOPE = RuleScope(area="preview", dialects=FOUNDRY)
OWNERS: TableKind[str] = declare_table("owners")
"""The users on whose behalf responses and conversations were created, by id."""
ORIGINS: TableKind[Json] = declare_table("azure_members", is_bounded=True)
"""What an answer in Azure's dialects says of the request for a response, by the response's id."""
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
_ASKING = {**KEY_HEADERS, HEADER: "ExternalAgents=V1Preview, WorkflowAgents=V1Preview"}
_HOSTED = version_case({"kind": "hosted", "cpu": "1", "memory": "2Gi"}, headers=KEY_HEADERS)
_WORKFLOW = version_case({"kind": "workflow", "workflow": "kind: workflow"}, headers=KEY_HEADERS)
_SAID = (
    "{kind} is in preview. This operation requires the following opt-in preview feature(s): {flag}. Include the "
    "'Foundry-Features: {flag}' header in your request."
)


@rule(
    project_error(
        403,
        "{title}This operation requires the following opt-in preview feature(s): {flag}. Include the 'Foundry-Features: "
        "{flag}' header in your request.",
        "Foundry-Features",
        "preview_feature_required",
    ),
    reported("azure-sdk-for-python: azure-ai-projects, operations/_patch_agents.py, of a workflow agent", "2026-03"),
    reported("a public guide to hosted agents: the words for these", "2026-04"),
    reported("a public guide to skills, and one to evaluations: without a title", "2026-09"),
    reported("Azure/azure-dev, pull request 8441: hosted agents, not in version 2025-11-15-preview", "2026-05-28"),
    documented("https://learn.microsoft.com/azure/foundry: external agents; azure-rest-api-specs: memory stores"),
    on=(*MAKING_VERSIONS, *OPERATIONS),
    rejects={
        _SAID.format(kind="Workflow agents", flag="WorkflowAgents=V1Preview"): _WORKFLOW,
        _SAID.format(kind="External agents", flag="ExternalAgents=V1Preview"): project_case(
            "POST /agents", {"name": "helper", "definition": {"kind": "external", "otel_agent_id": "helper"}}
        ),
        _SAID.format(kind="Hosted agents", flag="HostedAgents=V1Preview"): replace(_HOSTED, as_of="2026-05-28"),
    },
    accepts=[
        replace(_WORKFLOW, headers=_ASKING),
        replace(_WORKFLOW, as_of="2026-02-26"),
        replace(CREATE_VERSION, headers=KEY_HEADERS),
        replace(_HOSTED, as_of="2026-06-23"),
        replace(_HOSTED, on=str(_HOSTED.on).replace("=v1", f"={PREVIEW_OF_AGENTS}"), as_of="2026-05-28"),
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
    kind = as_object(as_object(body).get("definition")).get("kind")
    return KINDS.get(kind) if isinstance(kind, str) else None


ISOLATION_PAGE = "https://learn.microsoft.com/azure/foundry/agents/how-to/isolate-sessions-per-user"
ISOLATED_SINCE = "2026-06-27"
_IDENTITY = re.compile(r"[A-Za-z0-9._:@-]{1,256}")
_STORED = ("POST /responses", "* /responses/{response_id}*", "* /conversations/{conversation_id}*")
_SESSIONS = (
    "* /agents/{agent_name}/endpoint/sessions/{session_id}*",
    "GET /agents/{agent_name}/versions/{agent_version}/sessions/{session_id}:logstream",
)
_ALICE, _BOB = ({**KEY_HEADERS, USER_IDENTITY: name} for name in ("alice", "bob"))
_ASKED = Case({"agent_reference": HELPER_REFERENCE, "input": "hi"}, on=ON_FOUNDRY, headers=_ALICE)
_CONTINUED = Case(
    {"agent_reference": HELPER_REFERENCE, "input": "hi", "previous_response_id": "{0.id}"},
    on=ON_FOUNDRY,
    headers=_ALICE,
)
_OPENED = replace(CREATE_SESSION, headers=_ALICE)
_READ = project_case("GET /agents/helper/endpoint/sessions/mine", headers=_BOB)


@rule(
    project_error(
        400,
        "Invalid value for the header 'x-ms-user-identity': it has 1 to 256 letters, digits and characters of '._:-@'.",
        USER_IDENTITY,
        "invalid_parameters",
    ),
    documented(ISOLATION_PAGE, ISOLATED_SINCE),
    assumed("the status and the words"),
    area="user_identity",
    on="*",
    reads=f"request.headers.{USER_IDENTITY}",
    rejects=[replace(_ASKED, headers={**KEY_HEADERS, USER_IDENTITY: "Ada Lovelace"})],
    accepts=[_ASKED, replace(_ASKED, headers={**KEY_HEADERS, USER_IDENTITY: "a.b_c:d-e@f"})],
    since=ISOLATED_SINCE,
    fix="Send an id of the user that has no other characters.",
)
def user_identity_invalid(request: Request) -> bool:
    """The identity of a user must be a short id."""
    identity = request.headers.get(USER_IDENTITY)
    return identity is not None and not _IDENTITY.fullmatch(identity)


@rule(
    project_not_found("{kind} '{id}' not found{ending}"),
    recorded("Azure/azure-sdk-assets, a Python client: the previous response of a hosted agent", "2026-07-01"),
    documented(f"{ISOLATION_PAGE}: conversations, and who sends no identity", ISOLATED_SINCE),
    recorded("Azure/azure-sdk-assets, .NET: the words for a conversation that is not there", "2026-02-12"),
    assumed("that a prompt agent and a retrieved response get the same error"),
    area="user_identity",
    on=_STORED,
    when=("previous_response_id", "conversation", PATH_ID),
    rejects={
        "Response '{0.id}' not found.": after(_ASKED, replace(_CONTINUED, headers=_BOB)),
        "Conversation '{0.id}' not found": after(
            Case({}, on=f"POST !{PROJECT_PATH}/openai/v1/conversations", headers=_ALICE),
            Case(None, on=f"GET !{PROJECT_PATH}/openai/v1/conversations/{{0.id}}", headers=KEY_HEADERS),
        ),
    },
    accepts=[
        after(_ASKED, _CONTINUED),
        after(replace(_ASKED, headers=KEY_HEADERS), replace(_CONTINUED, headers=KEY_HEADERS)),
    ],
    since=ISOLATED_SINCE,
    fix="Send the `x-ms-user-identity` of the user for whom it was created, or create another.",
)
def user_isolated(request: Request, world: WorldView) -> Iterator[Json]:
    """An object created on behalf of a user does not exist for another user, or without one."""
    body = as_object(request.body)
    named = {
        "Response": request.params.get("response_id") or body.get("previous_response_id"),
        "Conversation": request.params.get("conversation_id") or conversation_id(body),
    }
    for kind, id in named.items():
        is_there = isinstance(id, str) and (id in world.store.responses or id in world.store.conversations)
        if is_there and world.store.table(OWNERS).get(str(id), "") != user_of(request):
            yield {"kind": kind, "id": id, "ending": "." if kind == "Response" else ""}


@rule(
    without_param(project_error(403, "Session is not accessible.", code="session_not_accessible")),
    documented("a public guide to isolation by keys: the whole body", "2026"),
    documented(f"{ISOLATION_PAGE}: that users of one service are not isolated from each other", ISOLATED_SINCE),
    area="user_identity",
    on=_SESSIONS,
    rejects=[after(CREATE_VERSION, _OPENED, replace(_READ, headers=KEY_HEADERS))],
    accepts=[after(CREATE_VERSION, _OPENED, _READ)],
    since=ISOLATED_SINCE,
    fix="Send the identity of a user if the session was opened with one, and only then.",
)
def session_not_accessible(request: Request, world: WorldView) -> bool:
    """A session opened on behalf of a user only exists for requests on behalf of a user, and vice versa."""
    session = world.store.table(AGENT_SESSIONS)[session_key(request.params["agent_name"], request.params["session_id"])]
    return bool(session.user) != bool(user_of(request))


LIST_RESPONSES = "GET /responses"


@operation("GET", "/responses", project_only=True)
def list_responses(call: ApiCall) -> Answer:
    """List the stored responses of a Foundry project, newest first unless `order=asc`.

    Recorded 2026-01-30 and 2026-04-14, also with a `conversation_id`; Microsoft's client for .NET can also filter by
    `agent_name` or `agent_id`, `name:version`. A request on behalf of a user only lists that user's responses.
    """
    listed = [stored.response for stored in call.store.responses.values() if _is_asked_for(stored.response, call)]
    return Answer(200, agent_page(listed, call.query))


def _is_asked_for(response: Json, call: ApiCall) -> bool:
    id, query = response["id"], call.query
    agent = call.store.table(ORIGINS).get(id, {}).get("agent") or {"name": "", "version": ""}
    conversation = (response.get("conversation") or {}).get("id", "")
    values = {
        "agent_name": agent["name"],
        "agent_id": f"{agent['name']}:{agent['version']}",
        "conversation_id": conversation,
    }
    is_own = call.store.table(OWNERS).get(id, "") == user_of(call.request)
    return is_own and all(query.get(name) in (None, "", value) for name, value in values.items())


@operation("GET", "/conversations", project_only=True)
def list_conversations(call: ApiCall) -> Answer:
    """List the conversations of a Foundry project, newest first unless `order=asc`. Recorded 2026-02-12."""
    shown = [
        {name: conversation.object[name] for name in ("id", "object", "metadata", "created_at")}
        for conversation in call.store.conversations.values()
    ]
    return Answer(200, agent_page(shown, call.query))

"""Users on whose behalf a service calls a project: each sees only what was created for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from harness.api.http.dialects import FOUNDRY, USER_IDENTITY, user_of
from harness.api.project.agent_sessions import session_key
from harness.api.project.errors import project_error, project_not_found, without_param
from harness.contract.rule import Case, WorldView, after, assumed, documented, recorded, rule
from harness.contract.rules.example_requests import KEY_HEADERS, ON_FOUNDRY, PROJECT_PATH
from harness.contract.rules.project.agents import CREATE_VERSION
from harness.core.exchange import Json, Request
from harness.items.transcript import conversation_id

ISOLATION_PAGE = "https://learn.microsoft.com/azure/foundry/agents/how-to/isolate-sessions-per-user"
SINCE = "2026-06-27"
_IDENTITY = re.compile(r"[A-Za-z0-9._:@-]{1,256}")
_STORED = ("POST /responses", "* /responses/{response_id}*", "* /conversations/{conversation_id}*")
_SESSIONS = (
    "* /agents/{agent_name}/endpoint/sessions/{session_id}*",
    "GET /agents/{agent_name}/versions/{agent_version}/sessions/{session_id}:logstream",
)
_HELPER = {"type": "agent_reference", "name": "helper"}
_ALICE, _BOB = ({**KEY_HEADERS, USER_IDENTITY: name} for name in ("alice", "bob"))
_ASKED = Case({"agent_reference": _HELPER, "input": "hi"}, on=ON_FOUNDRY, headers=_ALICE)
_CONTINUED = Case(
    {"agent_reference": _HELPER, "input": "hi", "previous_response_id": "{0.id}"}, on=ON_FOUNDRY, headers=_ALICE
)
_SESSION_PATH = f"!{PROJECT_PATH}/agents/helper/endpoint/sessions"
_OPENED = Case({"agent_session_id": "mine"}, on=f"POST {_SESSION_PATH}?api-version=v1", headers=_ALICE)
_READ = Case(None, on=f"GET {_SESSION_PATH}/mine?api-version=v1", headers=_BOB)


@rule(
    on="*",
    dialects=FOUNDRY,
    error=project_error(
        400,
        "Invalid value for the header 'x-ms-user-identity': it has 1 to 256 letters, digits and characters of '._:-@'.",
        USER_IDENTITY,
        "invalid_parameters",
    ),
    source=[documented(ISOLATION_PAGE, SINCE), assumed("the status and the words")],
    rejects=[replace(_ASKED, headers={**KEY_HEADERS, USER_IDENTITY: "Ada Lovelace"})],
    accepts=[_ASKED, replace(_ASKED, headers={**KEY_HEADERS, USER_IDENTITY: "a.b_c:d-e@f"})],
    since=SINCE,
    fix="Send an id of the user that has no other characters.",
)
def user_identity_invalid(request: Request) -> Iterator[Json]:
    """The identity of a user must be a short id."""
    identity = request.headers.get(USER_IDENTITY)
    if identity is not None and not _IDENTITY.fullmatch(identity):
        yield {}


@rule(
    on=_STORED,
    dialects=FOUNDRY,
    error=project_not_found("{kind} '{id}' not found{ending}"),
    source=[
        recorded("Azure/azure-sdk-assets, a Python client: the previous response of a hosted agent", "2026-07-01"),
        documented(f"{ISOLATION_PAGE}: conversations, and who sends no identity", SINCE),
        recorded("Azure/azure-sdk-assets, .NET: the words for a conversation that is not there", "2026-02-12"),
        assumed("that a prompt agent and a response that is read are told so, too"),
    ],
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
    since=SINCE,
    fix="Send the `x-ms-user-identity` of the user who began, or begin anew.",
)
def user_isolated(request: Request, world: WorldView) -> Iterator[Json]:
    """An object created on behalf of a user does not exist for another user, or without one."""
    body = request.body if isinstance(request.body, dict) else {}
    named = {
        "Response": request.params.get("response_id") or body.get("previous_response_id"),
        "Conversation": request.params.get("conversation_id") or conversation_id(body),
    }
    for kind, id in named.items():
        is_there = isinstance(id, str) and (id in world.store.responses or id in world.store.conversations)
        if is_there and world.store.owners.get(str(id), "") != user_of(request):
            yield {"kind": kind, "id": id, "ending": "." if kind == "Response" else ""}


@rule(
    on=_SESSIONS,
    dialects=FOUNDRY,
    error=without_param(project_error(403, "Session is not accessible.", code="session_not_accessible")),
    source=[
        documented("a public guide to isolation by keys: the whole body", "2026"),
        documented(f"{ISOLATION_PAGE}: that users of one service are not fenced from each other", SINCE),
    ],
    rejects={"Session is not accessible.": after(CREATE_VERSION, _OPENED, replace(_READ, headers=KEY_HEADERS))},
    accepts=[after(CREATE_VERSION, _OPENED, _READ)],
    since=SINCE,
    fix="Ask on behalf of a user where the session was opened so, and otherwise not.",
)
def session_not_accessible(request: Request, world: WorldView) -> Iterator[Json]:
    """A session opened on behalf of a user only exists for requests on behalf of a user, and vice versa."""
    session = world.store.agent_sessions[session_key(request.params["agent_name"], request.params["session_id"])]
    if bool(session.user) != bool(user_of(request)):
        yield {}

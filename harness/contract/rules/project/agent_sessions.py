"""Sessions of an agent's endpoint, and their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.api.http.dialects import FOUNDRY
from harness.api.project.agent_sessions import session_key
from harness.api.project.errors import project_error, without_param
from harness.contract.rule import Case, Source, WorldView, after, assumed, documented, recorded, reported, rule
from harness.contract.rules.example_requests import PROJECT_PATH
from harness.contract.rules.project.agents import CREATE_HOSTED, CREATE_VERSION, LEARN_PAGES, ON_AGENT
from harness.core.exchange import Json, Request

_SESSIONS = f"!{PROJECT_PATH}/agents/helper/endpoint/sessions"
CREATE_SESSION = Case({"agent_session_id": "mine"}, on=f"POST {_SESSIONS}?api-version=v1")
_FILE = f"{_SESSIONS}/mine/files"
UPLOAD_SESSION_FILE = Case(raw=b"Paris", on=f"PUT {_FILE}/content?api-version=v1&path=notes/a.txt")
READ_SESSION_FILE = f"GET {_FILE}/content?api-version=v1&path="
SESSION_OPERATIONS = (
    *("GET /agents/{agent_name}/*{session_id}*", "PUT /agents/{agent_name}/*{session_id}*"),
    *("POST /agents/{agent_name}/*{session_id}*", "DELETE /agents/{agent_name}/*{session_id}*"),
)
DELETED_ONCE = "2026-05-22"
"""The first day on which a deleted session cannot be deleted again: recorded 204 on 2026-05-19, 404 on this day."""


@rule(
    on=SESSION_OPERATIONS,
    dialects=FOUNDRY,
    error=replace(
        without_param(
            project_error(
                404,
                "Session '{session}' was not found or has been deleted.",
                code="session_not_found",
            )
        ),
        headers={"x-agent-session-id": "{session}"},
    ),
    source=[
        recorded("azure-sdk-assets: Java, SessionLogSyncTest, a second DELETE", "2026-05-22"),
        assumed("that every operation on a session says it"),
    ],
    rejects={
        "Session 'other' was not found or has been deleted.": after(
            CREATE_VERSION, Case(None, on=f"GET {_SESSIONS}/other?api-version=v1")
        )
    },
    accepts=[after(CREATE_VERSION, CREATE_SESSION, Case(None, on=f"GET {_SESSIONS}/mine?api-version=v1"))],
    fix="Open it first: `POST /agents/{name}/endpoint/sessions`; one that is deleted does not come back.",
)
def session_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A session must exist; up to DELETED_ONCE a missing one could be deleted."""
    session = request.params["session_id"]
    is_deletion = request.operation == "DELETE /agents/{agent_name}/endpoint/sessions/{session_id}"
    if session_key(request.params["agent_name"], session) not in world.store.agent_sessions and not (
        is_deletion and world.as_of < DELETED_ONCE
    ):
        yield {"session": session}


@rule(
    on=("DELETE /agents/{agent_name}", "DELETE /agents/{agent_name}/versions/{agent_version}"),
    dialects=FOUNDRY,
    error=project_error(409, "Agent has active sessions", code="conflict", type="error"),
    source=[
        documented("https://github.com/Azure/azure-rest-api-specs/pull/42970: of an agent and a version", "2026-05-07"),
        documented(f"{LEARN_PAGES}/deploy-hosted-agent-code: status, code and words", "2026-05"),
        reported("a public client, tried on a live project: status and words", "2026"),
        reported("https://github.com/Azure/azure-dev/issues/8520", "2026-06-02"),
        assumed("that the words of a version are the same"),
    ],
    rejects=[
        after(CREATE_HOSTED, CREATE_SESSION, Case(None, on=f"DELETE {ON_AGENT}")),
    ],
    accepts=[
        after(CREATE_HOSTED, CREATE_SESSION, Case(None, on=f"DELETE {ON_AGENT}&force=true")),
        after(
            CREATE_HOSTED,
            CREATE_SESSION,
            CREATE_VERSION,
            Case(None, on=f"DELETE !{PROJECT_PATH}/agents/helper/versions/2?api-version=v1"),
        ),
        after(CREATE_HOSTED, Case(None, on=f"DELETE {ON_AGENT}")),
    ],
    since="2026-06-02",
    fix="Delete the sessions first, or send `force=true`.",
)
def agent_has_sessions(request: Request, world: WorldView) -> Iterator[Json]:
    """A hosted agent in use can only be deleted by force, along with its sessions."""
    version = request.params.get("agent_version")
    for key, session in world.store.agent_sessions.items() if str(request.query.get("force")).lower() != "true" else ():
        opened = session.object
        if (
            key.startswith(session_key(request.params["agent_name"], ""))
            and opened["status"] == "active"
            and version in (None, opened["version_indicator"]["agent_version"])
        ):
            yield {}


@rule(
    on=("PUT *{session_id}/files/content", "GET *{session_id}/files/content", "DELETE *{session_id}/files"),
    dialects=FOUNDRY,
    error=project_error(400, 'required: Required properties ["path"] are not present', "path"),
    source=[
        Source("typed", "azure-ai-projects 2.10: the path of a file is required"),
        assumed("the words"),
    ],
    rejects={
        'required: Required properties ["path"] are not present': after(
            CREATE_VERSION, CREATE_SESSION, replace(UPLOAD_SESSION_FILE, on=f"PUT {_FILE}/content?api-version=v1")
        )
    },
    accepts=[after(CREATE_VERSION, CREATE_SESSION, UPLOAD_SESSION_FILE)],
    fix="Name the file in `path` of the query.",
)
def session_file_path_missing(request: Request) -> Iterator[Json]:
    """A session's file must be named by its path."""
    path = request.query.get("path")
    if not isinstance(path, str) or not path:
        yield {}

"""`/agents/{agent_name}/endpoint/sessions`: sessions of an agent's endpoint, in which a hosted agent runs.

Objects, files and logs. Recorded of hosted agents, 2026-05 (`api-version=v1`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from posixpath import normpath
from urllib.parse import quote

import orjson

from harness.api.http.dialects import FOUNDRY, user_of
from harness.api.operations import operation
from harness.contract.rule import RuleScope, Source, WorldView, after, assumed, documented, recorded, reported, rule
from harness.core.dates import iso_time
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object, as_string
from harness.core.registry import TableKind, declare_table
from harness.foundry.agent_rules import CREATE_HOSTED, CREATE_VERSION, LEARN_PAGES
from harness.foundry.agent_versions import answering_version
from harness.foundry.resources import agent_page, lacks, project_case, project_error, without_param
from harness.world.api_call import ApiCall
from harness.world.world import World

SCOPE = RuleScope(dialects=FOUNDRY)

SESSIONS = "/agents/{agent_name}/endpoint/sessions"
SESSION = f"{SESSIONS}/{{session_id}}"
SESSION_LIST = ("data", "first_id", "last_id", "has_more")
"""The members of a list of sessions, which has no `object` (recorded)."""
_BINARY = {"content-type": "application/octet-stream"}
SESSION_LIFETIME = 30 * 24 * 3600
"""Seconds after its last use until a session expires."""


@dataclass(slots=True)
class AgentSession:
    """A session: the object as the API shows it, the bytes of files by path, the log of the container.

    `user` is the user on whose behalf it was opened, if any.
    """

    object: Json
    user: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    log: list[Json] = field(default_factory=list)


AGENT_SESSIONS: TableKind[AgentSession] = declare_table("agent_sessions", is_bounded=True)


def session_key(agent: str, id: str) -> str:
    """Return the key under which a session of an agent is stored."""
    return f"{agent}/{id}"


def new_session(id: str, version: str, now: int, user: str) -> AgentSession:
    """Make a session of a version of an agent."""
    return AgentSession(
        user=user,
        object={
            "agent_session_id": id,
            "version_indicator": {"type": "version_ref", "agent_version": version},
            "status": "active",
            "created_at": now,
            "last_accessed_at": now,
            "expires_at": now + SESSION_LIFETIME,
        },
    )


def use_session(session: AgentSession, now: int, line: str) -> None:
    """Log a request to a session, and postpone its expiry."""
    changes = {"status": "active", "last_accessed_at": now, "expires_at": now + SESSION_LIFETIME}
    session.object = {**session.object, **changes}
    session.log.append({"timestamp": iso_time(now), "stream": "stdout", "message": line})


def normalize_path(path: str) -> str:
    """Normalize a path relative to a session's home: `/remote/a.txt` and `./remote/a.txt` are `remote/a.txt`."""
    return normpath(f"/{path}").lstrip("/")


FILE_PAGES_SINCE = "2026-05-28"
"""The first day on which a list of files has `has_more`; the last day without it is 2026-05-19 (both recorded)."""


def list_directory(session: AgentSession, path: str) -> list[Json]:
    """List the files and directories directly in a directory, by name."""
    parent = f"{directory}/" if (directory := normalize_path(path)) else ""
    entries: dict[str, Json] = {}
    for name, data in sorted(session.files.items()):
        if name.startswith(parent):
            own, slash, _ = name.removeprefix(parent).partition("/")
            size = 0 if slash else len(data)
            entries[own] = {"name": own, "size": size, "is_directory": bool(slash), "modified_time": 0}
    return list(entries.values())


def files_below(session: AgentSession, path: str) -> Sequence[str]:
    """Return the paths of a file, or of all files in a directory."""
    wanted = normalize_path(path)
    return [name for name in session.files if name == wanted or not wanted or name.startswith(f"{wanted}/")]


def _log_lines(session: AgentSession, agent: str, now: int) -> Iterator[Json]:
    at, used = iso_time(now), iso_time(session.object["last_accessed_at"])
    state = "Running" if session.object["status"] == "active" else "Stopped"
    id = session.object["agent_session_id"]
    yield {
        "timestamp": used,
        "session_id": id,
        "session_state": state,
        "agent": agent,
        "generated_at": at,
        "last_accessed": used,
    }
    yield {"timestamp": at, "stream": "status", "message": "Connecting to the container..."}
    yield from session.log
    yield {"timestamp": at, "stream": "status", "message": "Successfully connected to container"}


def open_session(world: World, agent: str, id: str, version: str, user: str) -> AgentSession:
    """Return an agent's session by id, creating it on behalf of a user if it is new."""
    key = session_key(agent, id)
    if key not in world.store.table(AGENT_SESSIONS):
        world.store.table(AGENT_SESSIONS)[key] = new_session(id, version, world.now, user)
    return world.store.table(AGENT_SESSIONS)[key]


def note_request(request: Request, world: World, agent: Json, id: str) -> None:
    """Record a request to a hosted agent in its session, which the first request opens."""
    session = open_session(world, agent["name"], id, agent["version"], user_of(request))
    use_session(session, world.now, f"{request.method} {request.path}")
    world.store.table(AGENT_SESSIONS)[session_key(agent["name"], id)] = session


def _find(call: ApiCall) -> AgentSession:
    return call.store.table(AGENT_SESSIONS)[session_key(call.params["agent_name"], call.params["session_id"])]


def _keep(call: ApiCall, session: AgentSession) -> None:
    call.store.table(AGENT_SESSIONS)[session_key(call.params["agent_name"], call.params["session_id"])] = session


@operation("POST", SESSIONS, project=True)
def create(call: ApiCall) -> Answer:
    """Create a session, for the version in the body or the one that receives the traffic."""
    call.world.tick()
    name, body = call.params["agent_name"], as_object(call.body)
    named = as_string(as_object(body.get("version_indicator")).get("agent_version"))
    answering = answering_version(call.world, {"name": name}, at_endpoint=True)
    version = named or (answering["version"] if answering else "1")
    id = as_string(body.get("agent_session_id")) or call.world.ids.project_id()
    return Answer(201, open_session(call.world, name, id, version, user_of(call.request)).object)


@operation("GET", SESSIONS, project=True)
def list_all(call: ApiCall) -> Answer:
    """List the sessions of an agent, newest first unless `order=asc`; on behalf of a user, only theirs."""
    own, user = session_key(call.params["agent_name"], ""), user_of(call.request)
    known = [session for key, session in call.store.table(AGENT_SESSIONS).items() if key.startswith(own)]
    sessions = [session.object for session in known if user in ("", session.user)]
    return Answer(200, agent_page(sessions, call.query, SESSION_LIST, "agent_session_id"))


@operation("GET", SESSION, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a session."""
    return Answer(200, _find(call).object)


@operation("DELETE", SESSION, project=True)
def delete(call: ApiCall) -> Answer:
    """Delete a session and its files."""
    call.store.table(AGENT_SESSIONS).pop(session_key(call.params["agent_name"], call.params["session_id"]), None)
    return Answer(204, b"")


@operation("POST", f"{SESSION}:stop", project=True)
def stop(call: ApiCall) -> Answer:
    """Stop a session's container, which restarts with the next request."""
    session = _find(call)
    session.object = {**session.object, "status": "idle", "stopped_at": call.world.tick()}
    _keep(call, session)
    return Answer(204, b"")


@operation("GET", "/agents/{agent_name}/versions/{agent_version}/sessions/{session_id}:logstream", project=True)
def stream_log(call: ApiCall) -> Answer:
    """Stream a session's log as events, to its end."""
    lines = _log_lines(_find(call), call.params["agent_name"], call.world.tick())
    log = b"".join(b"event: log\ndata: " + orjson.dumps(line) + b"\n\n" for line in lines)
    return Answer(200, log, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store, no-cache"})


@operation("PUT", f"{SESSION}/files/content", project=True, content="bytes")
def upload_file(call: ApiCall) -> Answer:
    """Write a file of a session, by its path relative to the session's home."""
    path, session = str(call.query["path"]), _find(call)
    session.files[normalize_path(path)] = call.request.raw
    _keep(call, session)
    written = {"path": path, "bytes_written": len(call.request.raw), "success": True, "source_type": "stream"}
    return Answer(201, written)


@operation("GET", f"{SESSION}/files/content", project=True)
def download_file(call: ApiCall) -> Answer:
    """Return the content of a session's file."""
    path = normalize_path(str(call.query["path"]))
    name = path.rpartition("/")[2]
    plain = name.encode("ascii", "replace").decode().translate({ord(sign): "_" for sign in '"\\\r\n?'})
    shown = f"attachment; filename={plain}; filename*=UTF-8''{quote(name)}"
    return Answer(200, _find(call).files[path], {**_BINARY, "content-disposition": shown})


@operation("GET", f"{SESSION}/files", project=True)
def list_files(call: ApiCall) -> Answer:
    """List a directory of a session, by default its home; recorded: all of it, whatever the limit."""
    path = str(call.query.get("path") or ".")
    more = {"has_more": False} if call.world.as_of >= FILE_PAGES_SINCE else {}
    return Answer(200, {"path": path, "entries": list_directory(_find(call), path), **more})


@operation("DELETE", f"{SESSION}/files", project=True)
def delete_file(call: ApiCall) -> Answer:
    """Delete a file of a session, or a directory with `recursive=true`."""
    session = _find(call)
    for name in files_below(session, str(call.query["path"])):
        del session.files[name]
    _keep(call, session)
    return Answer(204, b"")


_SESSIONS = "/agents/helper/endpoint/sessions"
CREATE_SESSION = project_case(f"POST {_SESSIONS}", {"agent_session_id": "mine"})
_CONTENT = f"{_SESSIONS}/mine/files/content"
UPLOAD_SESSION_FILE = project_case(f"PUT {_CONTENT}?path=notes/a.txt", raw=b"Paris")
READ_SESSION_FILE = f"GET {_CONTENT}?path="
SESSION_OPERATIONS = (
    *("GET /agents/{agent_name}/*{session_id}*", "PUT /agents/{agent_name}/*{session_id}*"),
    *("POST /agents/{agent_name}/*{session_id}*", "DELETE /agents/{agent_name}/*{session_id}*"),
)
DELETED_ONCE = "2026-05-22"
"""The first day on which a deleted session cannot be deleted again: recorded 204 on 2026-05-19, 404 on this day."""


@rule(
    replace(
        without_param(
            project_error(404, "Session '{session}' was not found or has been deleted.", code="session_not_found")
        ),
        headers={"x-agent-session-id": "{session}"},
    ),
    recorded("azure-sdk-assets: Java, SessionLogSyncTest, a second DELETE", "2026-05-22"),
    assumed("that every operation on a session has this error"),
    on=SESSION_OPERATIONS,
    rejects={"other": after(CREATE_VERSION, project_case(f"GET {_SESSIONS}/other"))},
    accepts=[after(CREATE_VERSION, CREATE_SESSION, project_case(f"GET {_SESSIONS}/mine"))],
    fix="Open it first: `POST /agents/{name}/endpoint/sessions`; one that is deleted does not come back.",
)
def session_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A session must exist; up to DELETED_ONCE a missing one could be deleted."""
    session = request.params["session_id"]
    is_deletion = request.operation == "DELETE /agents/{agent_name}/endpoint/sessions/{session_id}"
    if session_key(request.params["agent_name"], session) not in world.store.table(AGENT_SESSIONS) and not (
        is_deletion and world.as_of < DELETED_ONCE
    ):
        yield {"session": session}


@rule(
    project_error(409, "Agent has active sessions", code="conflict", type="error"),
    documented("https://github.com/Azure/azure-rest-api-specs/pull/42970: of an agent and a version", "2026-05-07"),
    documented(f"{LEARN_PAGES}/deploy-hosted-agent-code: status, code and words", "2026-05"),
    reported("a public client, tried on a live project: status and words", "2026"),
    reported("https://github.com/Azure/azure-dev/issues/8520", "2026-06-02"),
    assumed("that the words of a version are the same"),
    on=("DELETE /agents/{agent_name}", "DELETE /agents/{agent_name}/versions/{agent_version}"),
    rejects=[after(CREATE_HOSTED, CREATE_SESSION, project_case("DELETE /agents/helper"))],
    accepts=[
        after(CREATE_HOSTED, CREATE_SESSION, project_case("DELETE /agents/helper?force=true")),
        after(CREATE_HOSTED, CREATE_SESSION, CREATE_VERSION, project_case("DELETE /agents/helper/versions/2")),
        after(CREATE_HOSTED, project_case("DELETE /agents/helper")),
    ],
    since="2026-06-02",
    fix="Delete the sessions first, or send `force=true`.",
)
def agent_has_sessions(request: Request, world: WorldView) -> bool:
    """A hosted agent in use can only be deleted by force, along with its sessions."""
    own, version = session_key(request.params["agent_name"], ""), request.params.get("agent_version")
    if str(request.query.get("force")).lower() == "true":
        return False
    opened = [session.object for key, session in world.store.table(AGENT_SESSIONS).items() if key.startswith(own)]
    return any(
        session["status"] == "active" and version in (None, session["version_indicator"]["agent_version"])
        for session in opened
    )


@rule(
    project_error(400, lacks("path"), "path"),
    Source("typed", "azure-ai-projects 2.10: the path of a file is required"),
    assumed("the words"),
    on=("PUT *{session_id}/files/content", "GET *{session_id}/files/content", "DELETE *{session_id}/files"),
    rejects={lacks("path"): after(CREATE_VERSION, CREATE_SESSION, project_case(f"PUT {_CONTENT}", raw=b"Paris"))},
    accepts=[after(CREATE_VERSION, CREATE_SESSION, UPLOAD_SESSION_FILE)],
    fix="Name the file in `path` of the query.",
)
def session_file_path_missing(request: Request) -> bool:
    """A session's file must be named by its path."""
    path = request.query.get("path")
    return not isinstance(path, str) or not path

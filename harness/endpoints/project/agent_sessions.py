"""`/agents/{agent_name}/endpoint/sessions`: sessions of an agent's endpoint, with their files and logs.

Recorded of hosted agents, 2026-05 (`api-version=v1`).
"""

from __future__ import annotations

from urllib.parse import quote

from harness.api.http.dialects import user_of
from harness.api.operations import operation
from harness.api.project.agent_sessions import (
    FILE_PAGES_SINCE,
    AgentSession,
    encode_log,
    files_below,
    list_directory,
    new_session,
    normalize_path,
    session_key,
    stop_session,
    use_session,
)
from harness.api.project.agents import answering_version
from harness.api.project.lists import SESSION_LIST, agent_page
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object, as_string
from harness.world.api_call import ApiCall
from harness.world.world import World

SESSIONS = "/agents/{agent_name}/endpoint/sessions"
SESSION = f"{SESSIONS}/{{session_id}}"
_BINARY = {"content-type": "application/octet-stream"}


def open_session(world: World, agent: str, id: str, version: str, user: str) -> AgentSession:
    """Return an agent's session by id, creating it on behalf of a user if it is new."""
    key = session_key(agent, id)
    if key not in world.store.agent_sessions:
        world.store.agent_sessions[key] = new_session(id, version, world.now, user)
    return world.store.agent_sessions[key]


def note_request(request: Request, world: World, agent: Json, id: str) -> None:
    """Record a request to a hosted agent in its session, which the first request opens."""
    session = open_session(world, agent["name"], id, agent["version"], user_of(request))
    use_session(session, world.now, f"{request.method} {request.path}")
    world.store.agent_sessions[session_key(agent["name"], id)] = session


def _find(call: ApiCall) -> AgentSession:
    return call.store.agent_sessions[session_key(call.params["agent_name"], call.params["session_id"])]


def _keep(call: ApiCall, session: AgentSession) -> None:
    call.store.agent_sessions[session_key(call.params["agent_name"], call.params["session_id"])] = session


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
    known = [session for key, session in call.store.agent_sessions.items() if key.startswith(own)]
    sessions = [session.object for session in known if user in ("", session.user)]
    return Answer(200, agent_page(sessions, call.query, SESSION_LIST, "agent_session_id"))


@operation("GET", SESSION, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a session."""
    return Answer(200, _find(call).object)


@operation("DELETE", SESSION, project=True)
def delete(call: ApiCall) -> Answer:
    """Delete a session and its files."""
    call.store.agent_sessions.pop(session_key(call.params["agent_name"], call.params["session_id"]), None)
    return Answer(204, b"")


@operation("POST", f"{SESSION}:stop", project=True)
def stop(call: ApiCall) -> Answer:
    """Stop a session's container."""
    session = _find(call)
    stop_session(session, call.world.tick())
    _keep(call, session)
    return Answer(204, b"")


@operation("GET", "/agents/{agent_name}/versions/{agent_version}/sessions/{session_id}:logstream", project=True)
def stream_log(call: ApiCall) -> Answer:
    """Stream a session's log as events, to its end."""
    log = encode_log(_find(call), call.params["agent_name"], call.world.tick())
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

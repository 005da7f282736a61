"""Sessions of an agent's endpoint, in which a hosted agent runs: objects, files, logs.

Recorded of hosted agents, 2026-05.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from posixpath import normpath

import orjson

from harness.core.dates import iso_time
from harness.core.exchange import Json

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


def stop_session(session: AgentSession, now: int) -> None:
    """Stop the container of a session, which restarts with the next request."""
    session.object = {**session.object, "status": "idle", "stopped_at": now}


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


def encode_log(session: AgentSession, agent: str, now: int) -> bytes:
    """Encode the log of a session as server-sent events."""
    return b"".join(b"event: log\ndata: " + orjson.dumps(line) + b"\n\n" for line in _log_lines(session, agent, now))


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

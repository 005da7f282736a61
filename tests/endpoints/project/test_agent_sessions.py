"""Sessions of an agent's endpoint: opened, used, stopped and forgotten, with files and a log."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from harness.core.exchange import Answer, Json
from tests.support.agent_project import V1, Project

SESSIONS = "/agents/hosted/endpoint/sessions"
HOSTED = {"kind": "hosted", "cpu": "1", "memory": "2Gi"}


@pytest.fixture
def project() -> Project:
    project = Project()
    project.ask("POST", "/agents/hosted/versions", {"definition": HOSTED})
    return project


def opened(project: Project, **body: Any) -> str:
    id: str = project.ask("POST", SESSIONS, body).body["agent_session_id"]
    return id


def put(project: Project, session: str, path: str, data: bytes) -> Answer:
    return project.ask("PUT", f"{SESSIONS}/{session}/files/content", data, {**V1, "path": path})


@pytest.mark.parametrize(("id", "written"), [("a\nb: c", "a%0Ab: c"), ("räum", "r%C3%A4um"), ("a b/c", "a b/c")])
def test_an_id_in_a_header_is_one_line_of_ascii(project: Project, id: str, written: str) -> None:
    path = "/agents/hosted/endpoint/protocols/openai/responses"
    made = project.ask("POST", path, {"input": "hi", "agent_session_id": id})
    assert (made.status, made.headers["x-agent-session-id"]) == (200, written)
    refused = project.ask("GET", f"{SESSIONS}/über")
    assert (refused.status, refused.headers["x-agent-session-id"]) == (404, "%C3%BCber")


class TestASession:
    def test_is_told_as_recorded(self, project: Project) -> None:
        made = project.ask("POST", SESSIONS, {"version_indicator": {"type": "version_ref", "agent_version": "1"}})
        created = made.body["created_at"]
        assert made.status == 201
        assert made.body == {
            "agent_session_id": made.body["agent_session_id"],
            "version_indicator": {"type": "version_ref", "agent_version": "1"},
            "status": "active",
            "created_at": created,
            "last_accessed_at": created,
            "expires_at": created + 30 * 24 * 3600,
        }
        assert project.ask("GET", f"{SESSIONS}/{made.body['agent_session_id']}").body == made.body

    def test_is_listed_without_an_object(self, project: Project) -> None:
        first, second = opened(project), opened(project, agent_session_id="mine")
        listed = project.ask("GET", SESSIONS).body
        assert [entry["agent_session_id"] for entry in listed["data"]] == ["mine", first]
        assert (listed["first_id"], listed["last_id"], listed["has_more"]) == (second, first, False)
        assert "object" not in listed

    def test_may_be_opened_without_a_body(self, project: Project) -> None:
        assert project.ask("POST", SESSIONS).body["version_indicator"]["agent_version"] == "1"

    def test_is_backed_by_a_version_that_there_is(self, project: Project) -> None:
        unknown = {"version_indicator": {"type": "version_ref", "agent_version": "7"}}
        assert project.ask("POST", SESSIONS, unknown).rule == "agent_not_found"
        assert project.ask("POST", "/agents/other/endpoint/sessions").rule == "agent_not_found"

    @pytest.mark.parametrize("body", [b"{", b"[]", b'"x"'])
    def test_is_opened_by_an_object(self, project: Project, body: bytes) -> None:
        assert project.ask("POST", SESSIONS, body).status == 400

    def test_that_is_deleted_is_gone(self, project: Project) -> None:
        session = f"{SESSIONS}/{opened(project)}"
        assert project.ask("DELETE", session).status == 204
        gone = project.ask("DELETE", session)
        id = session.rpartition("/")[2]
        request_id = gone.headers["x-request-id"]
        assert (gone.status, gone.headers["x-agent-session-id"]) == (404, id)
        assert gone.body["error"] == {
            "code": "session_not_found",
            "message": f"Session '{id}' was not found or has been deleted. [Request ID: {request_id}]",
            "type": "invalid_request_error",
            "details": [],
            "additionalInfo": {"request_id": request_id},
        }
        for method, path in [("GET", ""), ("POST", ":stop"), ("GET", "/files"), ("DELETE", "/files")]:
            assert project.ask(method, session + path).rule == "session_not_found"

    def test_could_be_deleted_twice(self, project: Project) -> None:
        project.world.set_date("2026-05-19")
        for _ in range(2):
            assert project.ask("DELETE", f"{SESSIONS}/x").status == 204

    def test_is_idle_when_it_is_stopped_until_the_next_request(self, project: Project) -> None:
        id = opened(project)
        assert project.ask("POST", f"{SESSIONS}/{id}:stop").status == 204
        assert project.ask("GET", f"{SESSIONS}/{id}").body["status"] == "idle"
        project.respond(V1, "/agents/hosted/endpoint/protocols/openai", agent_session_id=id)
        assert project.ask("GET", f"{SESSIONS}/{id}").body["status"] == "active"

    def test_is_opened_by_a_request_that_names_none(self, project: Project) -> None:
        id = project.respond(V1, "/agents/hosted/endpoint/protocols/openai").body["agent_session_id"]
        assert [entry["agent_session_id"] for entry in project.ask("GET", SESSIONS).body["data"]] == [id]

    def test_in_use_keeps_its_agent_and_its_version_from_being_deleted(self, project: Project) -> None:
        id = opened(project)
        for path in ("/agents/hosted", "/agents/hosted/versions/1"):
            refused = project.ask("DELETE", path)
            assert (refused.status, refused.rule) == (409, "agent_has_sessions")
        project.ask("POST", f"{SESSIONS}/{id}:stop")
        assert project.ask("DELETE", "/agents/hosted").status == 200

    def test_is_forgotten_with_its_agent(self, project: Project) -> None:
        opened(project)
        project.ask("DELETE", "/agents/hosted", query={**V1, "force": "true"})
        project.ask("POST", "/agents/hosted/versions", {"definition": HOSTED})
        assert project.ask("GET", SESSIONS).body == {"data": [], "has_more": False}


class TestAUser:
    """One on whose behalf a service asks."""

    def test_sees_own_sessions_only(self, project: Project) -> None:
        alice, bob = {"x-ms-user-identity": "alice"}, {"x-ms-user-identity": "bob"}
        project.ask("POST", SESSIONS, {"agent_session_id": "hers"}, headers=alice)
        opened(project, agent_session_id="ours")
        assert [entry["agent_session_id"] for entry in project.ask("GET", SESSIONS, headers=alice).body["data"]] == [
            "hers"
        ]
        assert project.ask("GET", SESSIONS, headers=bob).body["data"] == []
        assert len(project.ask("GET", SESSIONS).body["data"]) == 2

    def test_is_fenced_from_who_names_no_user(self, project: Project) -> None:
        project.ask("POST", SESSIONS, {"agent_session_id": "hers"}, headers={"x-ms-user-identity": "alice"})
        refused = project.ask("GET", f"{SESSIONS}/hers")
        assert (refused.status, refused.rule) == (403, "session_not_accessible")
        assert refused.body["error"]["code"] == "session_not_accessible"
        assert project.ask("GET", f"{SESSIONS}/hers", headers={"x-ms-user-identity": "bob"}).status == 200

    def test_does_not_find_what_another_has_begun(self, project: Project) -> None:
        alice, bob = {"x-ms-user-identity": "alice"}, {"x-ms-user-identity": "bob"}
        path = "/agents/hosted/endpoint/protocols/openai"
        body = {"input": "hi"}
        first = project.ask("POST", f"{path}/responses", body, headers=alice).body["id"]
        conversation = project.ask("POST", f"{path}/conversations", {}, headers=alice).body["id"]
        for user, status in ((alice, 200), (bob, 404), ({}, 404)):
            continued = project.ask("POST", f"{path}/responses", {**body, "previous_response_id": first}, headers=user)
            assert continued.status == status
            inside = project.ask("POST", f"{path}/responses", {**body, "conversation": conversation}, headers=user)
            assert inside.status == status
            assert project.ask("GET", f"{path}/conversations/{conversation}/items", headers=user).status == status
            assert project.ask("GET", f"{path}/responses/{first}", headers=user).status == status

    def test_was_not_told_apart_before(self, project: Project) -> None:
        project.world.set_date("2026-05-19")
        path = "/agents/hosted/endpoint/protocols/openai/responses"
        first = project.ask("POST", path, {"input": "hi"}, headers={"x-ms-user-identity": "alice"}).body["id"]
        assert project.ask("POST", path, {"input": "hi", "previous_response_id": first}).status == 200


class TestAFile:
    def test_is_written_listed_read_and_deleted(self, project: Project) -> None:
        id = opened(project)
        written = put(project, id, "remote/a.txt", b"Paris")
        assert written.status == 201
        assert written.body == {"path": "remote/a.txt", "bytes_written": 5, "success": True, "source_type": "stream"}
        files = f"{SESSIONS}/{id}/files"
        listed: Json = project.ask("GET", files, query={**V1, "path": "remote"}).body
        assert listed == {
            "path": "remote",
            "entries": [{"name": "a.txt", "size": 5, "is_directory": False, "modified_time": 0}],
            "has_more": False,
        }
        assert project.ask("GET", files, query={**V1, "path": "remote", "limit": "1"}).body == listed
        assert [(entry["name"], entry["is_directory"]) for entry in project.ask("GET", files).body["entries"]] == [
            ("remote", True)
        ]
        read = project.ask("GET", f"{files}/content", query={**V1, "path": "/remote/a.txt"})
        assert (read.status, read.body) == (200, b"Paris")
        assert read.headers["content-disposition"] == "attachment; filename=a.txt; filename*=UTF-8''a.txt"
        assert project.ask("DELETE", files, query={**V1, "path": "remote"}).status == 204
        assert project.ask("GET", files).body["entries"] == []

    def test_must_be_named_and_be_there(self, project: Project) -> None:
        id = opened(project)
        files = f"{SESSIONS}/{id}/files"
        assert project.ask("PUT", f"{files}/content", b"x").rule == "session_file_path_missing"
        for method, path in [("GET", f"{files}/content"), ("DELETE", files)]:
            assert project.ask(method, path, query={**V1, "path": "x"}).rule == "session_file_not_found"

    @pytest.mark.parametrize("path", ["../../x", "/./x", "x", "a/../x"])
    def test_stays_below_the_home(self, project: Project, path: str) -> None:
        id = opened(project)
        put(project, id, path, b"")
        assert [entry["name"] for entry in project.ask("GET", f"{SESSIONS}/{id}/files").body["entries"]] == ["x"]

    def test_may_have_an_odd_name(self, project: Project) -> None:
        id = opened(project)
        put(project, id, 'a"\r\né.txt', b"x")
        read = project.ask("GET", f"{SESSIONS}/{id}/files/content", query={**V1, "path": 'a"\r\né.txt'})
        assert read.headers["content-disposition"].startswith("attachment; filename=a____.txt; filename*=UTF-8''a%22")


def test_a_log_is_told_as_events(project: Project) -> None:
    id = project.respond(V1, "/agents/hosted/endpoint/protocols/openai").body["agent_session_id"]
    log = project.ask("GET", f"/agents/hosted/versions/1/sessions/{id}:logstream")
    assert log.headers["content-type"] == "text/event-stream; charset=utf-8"
    frames = log.body.decode().strip().split("\n\n")
    assert all(frame.startswith("event: log\ndata: ") for frame in frames)
    lines = [orjson.loads(frame.partition("data: ")[2]) for frame in frames]
    assert (lines[0]["session_id"], lines[0]["session_state"], lines[0]["agent"]) == (id, "Running", "hosted")
    assert [line["message"] for line in lines if line.get("stream") == "stdout"] == ["POST /responses"]


def test_a_hosted_agent_with_protocols_is_shown_with_none_by_the_old_name() -> None:
    definition = {**HOSTED, "protocol_versions": [{"protocol": "responses", "version": "1.0.0"}]}
    shown = Project().ask("POST", "/agents/hosted/versions", {"definition": definition}).body["definition"]
    assert list(shown.items())[:2] == [("kind", "hosted"), ("container_protocol_versions", [])]
    assert shown["protocol_versions"] == definition["protocol_versions"]

"""Sessions of an agent's endpoint: opened, used, stopped and forgotten, with files and a log."""

from typing import Any

import orjson
import pytest

from harness.core.exchange import Answer, Json
from tests.support.foundry import ProjectClient, said

SESSIONS = "/agents/hosted/endpoint/sessions"
ENDPOINT = "/agents/hosted/endpoint/protocols/openai"
ALICE, BOB = ({"x-ms-user-identity": name} for name in ("alice", "bob"))
HOSTED = {"kind": "hosted", "cpu": "1", "memory": "2Gi"}


@pytest.fixture
def project() -> ProjectClient:
    project = ProjectClient()
    project.ask("POST /agents/hosted/versions", {"definition": HOSTED})
    return project


@pytest.fixture
def session(project: ProjectClient) -> str:
    """The path of a session."""
    return f"{SESSIONS}/{opened(project)}"


def opened(project: ProjectClient, **body: Any) -> str:
    return project.ask(f"POST {SESSIONS}", body).body["agent_session_id"]


def put(project: ProjectClient, session: str, path: str, data: bytes = b"") -> Answer:
    return project.ask(f"PUT {session}/files/content", data, path=path)


@pytest.mark.parametrize(("id", "written"), [("a\nb: c", "a%0Ab: c"), ("räum", "r%C3%A4um"), ("a b/c", "a b/c")])
def test_an_id_in_a_header_is_one_line_of_ascii(project: ProjectClient, id: str, written: str) -> None:
    made = project.respond(ENDPOINT, agent_session_id=id)
    assert (made.status, made.headers["x-agent-session-id"]) == (200, written)
    refused = project.ask(f"GET {SESSIONS}/über")
    assert (refused.status, refused.headers["x-agent-session-id"]) == (404, "%C3%BCber")


class TestASession:
    def test_a_session_is_answered_as_recorded(self, project: ProjectClient) -> None:
        asked = {"version_indicator": {"type": "version_ref", "agent_version": "1"}}
        made = project.ask(f"POST {SESSIONS}", asked)
        id, created = made.body["agent_session_id"], made.body["created_at"]
        assert made.status == 201
        assert made.body == {
            "agent_session_id": id,
            **asked,
            "status": "active",
            "created_at": created,
            "last_accessed_at": created,
            "expires_at": created + 30 * 24 * 3600,
        }
        assert project.get(f"{SESSIONS}/{id}") == made.body

    def test_a_session_is_listed_without_an_object(self, project: ProjectClient) -> None:
        first, second = opened(project), opened(project, agent_session_id="mine")
        listed = project.get(SESSIONS)
        assert [entry["agent_session_id"] for entry in listed.pop("data")] == ["mine", first]
        assert listed == {"first_id": second, "last_id": first, "has_more": False}

    def test_a_session_may_be_opened_without_a_body(self, project: ProjectClient) -> None:
        assert project.ask(f"POST {SESSIONS}").body["version_indicator"]["agent_version"] == "1"

    def test_a_session_is_backed_by_a_version_that_there_is(self, project: ProjectClient) -> None:
        unknown = {"version_indicator": {"type": "version_ref", "agent_version": "7"}}
        assert project.ask(f"POST {SESSIONS}", unknown).rule == "agent_not_found"
        assert project.ask("POST /agents/other/endpoint/sessions").rule == "agent_not_found"

    @pytest.mark.parametrize(
        ("body", "rule"), [(b"{", "body_syntax"), (b"[]", "body_not_object"), (b'"x"', "body_not_object")]
    )
    def test_a_session_is_opened_by_an_object(self, project: ProjectClient, body: bytes, rule: str) -> None:
        assert project.ask(f"POST {SESSIONS}", body).rule == rule

    def test_a_session_that_is_deleted_is_gone(self, project: ProjectClient, session: str) -> None:
        assert project.ask(f"DELETE {session}").status == 204
        gone = project.ask(f"DELETE {session}")
        id = session.rpartition("/")[2]
        assert (gone.status, gone.headers["x-agent-session-id"]) == (404, id)
        assert said(gone) == f"Session '{id}' was not found or has been deleted."
        for call in (f"GET {session}", f"POST {session}:stop", f"GET {session}/files", f"DELETE {session}/files"):
            assert project.ask(call).rule == "session_not_found"

    def test_a_session_could_be_deleted_twice(self, project: ProjectClient) -> None:
        project.world.set_date("2026-05-19")
        for _ in range(2):
            assert project.ask(f"DELETE {SESSIONS}/x").status == 204

    def test_a_session_is_idle_when_it_is_stopped_until_the_next_request(
        self, project: ProjectClient, session: str
    ) -> None:
        assert project.ask(f"POST {session}:stop").status == 204
        assert project.get(session)["status"] == "idle"
        project.respond(ENDPOINT, agent_session_id=session.rpartition("/")[2])
        assert project.get(session)["status"] == "active"

    def test_a_session_is_opened_by_a_request_that_names_none(self, project: ProjectClient) -> None:
        id = project.respond(ENDPOINT).body["agent_session_id"]
        assert project.names(SESSIONS, "agent_session_id") == [id]

    def test_a_session_in_use_keeps_its_agent_and_its_version_from_being_deleted(
        self, project: ProjectClient, session: str
    ) -> None:
        for path in ("/agents/hosted", "/agents/hosted/versions/1"):
            refused = project.ask(f"DELETE {path}")
            assert (refused.status, refused.rule) == (409, "agent_has_sessions")
        project.ask(f"POST {session}:stop")
        assert project.ask("DELETE /agents/hosted").status == 200

    def test_a_session_is_forgotten_with_its_agent(self, project: ProjectClient) -> None:
        opened(project)
        project.ask("DELETE /agents/hosted", force="true")
        project.ask("POST /agents/hosted/versions", {"definition": HOSTED})
        assert project.ask(f"GET {SESSIONS}").body == {"data": [], "has_more": False}


class TestAUser:
    """One on whose behalf a service asks."""

    def test_a_user_sees_own_sessions_only(self, project: ProjectClient) -> None:
        project.ask(f"POST {SESSIONS}", {"agent_session_id": "hers"}, ALICE)
        opened(project, agent_session_id="ours")
        for user, ids in ((ALICE, ["hers"]), (BOB, []), ({}, ["ours", "hers"])):
            listed = project.ask(f"GET {SESSIONS}", headers=user).body["data"]
            assert [entry["agent_session_id"] for entry in listed] == ids

    def test_a_user_is_fenced_from_who_names_no_user(self, project: ProjectClient) -> None:
        project.ask(f"POST {SESSIONS}", {"agent_session_id": "hers"}, ALICE)
        refused = project.ask(f"GET {SESSIONS}/hers")
        assert (refused.status, refused.rule) == (403, "session_not_accessible")
        assert refused.body["error"]["code"] == "session_not_accessible"
        assert project.ask(f"GET {SESSIONS}/hers", headers=BOB).status == 200

    def test_a_user_does_not_find_what_another_has_begun(self, project: ProjectClient) -> None:
        body = {"input": "hi"}
        first = project.ask(f"POST {ENDPOINT}/responses", body, ALICE).body["id"]
        conversation = project.ask(f"POST {ENDPOINT}/conversations", {}, ALICE).body["id"]
        for user, status in ((ALICE, 200), (BOB, 404), ({}, 404)):
            for call, asked in (
                ("POST /responses", {**body, "previous_response_id": first}),
                ("POST /responses", {**body, "conversation": conversation}),
                (f"GET /conversations/{conversation}/items", None),
                (f"GET /responses/{first}", None),
            ):
                assert project.ask(call.replace(" ", f" {ENDPOINT}"), asked, user).status == status

    def test_users_were_not_separated_before(self, project: ProjectClient) -> None:
        project.world.set_date("2026-05-19")
        first = project.ask(f"POST {ENDPOINT}/responses", {"input": "hi"}, ALICE).body["id"]
        assert project.respond(ENDPOINT, previous_response_id=first).status == 200


class TestAFile:
    def test_a_file_is_written_listed_read_and_deleted(self, project: ProjectClient, session: str) -> None:
        written = put(project, session, "remote/a.txt", b"Paris")
        assert written.status == 201
        assert written.body == {"path": "remote/a.txt", "bytes_written": 5, "success": True, "source_type": "stream"}
        files = f"{session}/files"
        listed: Json = project.get(files, path="remote")
        entry = {"name": "a.txt", "size": 5, "is_directory": False, "modified_time": 0}
        assert listed == {"path": "remote", "entries": [entry], "has_more": False}
        assert project.get(files, path="remote", limit="1") == listed
        (folder,) = project.get(files)["entries"]
        assert (folder["name"], folder["is_directory"]) == ("remote", True)
        read = project.ask(f"GET {files}/content", path="/remote/a.txt")
        assert (read.status, read.body) == (200, b"Paris")
        assert read.headers["content-disposition"] == "attachment; filename=a.txt; filename*=UTF-8''a.txt"
        assert project.ask(f"DELETE {files}", path="remote").status == 204
        assert project.get(files)["entries"] == []

    def test_a_file_must_be_named_and_be_there(self, project: ProjectClient, session: str) -> None:
        assert project.ask(f"PUT {session}/files/content", b"x").rule == "session_file_path_missing"
        for call in (f"GET {session}/files/content", f"DELETE {session}/files"):
            assert project.ask(call, path="x").rule == "project_object_not_found"

    @pytest.mark.parametrize("path", ["../../x", "/./x", "x", "a/../x"])
    def test_a_file_stays_below_the_home(self, project: ProjectClient, session: str, path: str) -> None:
        put(project, session, path)
        assert [entry["name"] for entry in project.get(f"{session}/files")["entries"]] == ["x"]

    def test_a_file_may_have_an_odd_name(self, project: ProjectClient, session: str) -> None:
        put(project, session, 'a"\r\né.txt')
        read = project.ask(f"GET {session}/files/content", path='a"\r\né.txt')
        assert read.headers["content-disposition"].startswith("attachment; filename=a____.txt; filename*=UTF-8''a%22")


def test_a_log_is_sent_as_events(project: ProjectClient) -> None:
    id = project.respond(ENDPOINT).body["agent_session_id"]
    log = project.ask(f"GET /agents/hosted/versions/1/sessions/{id}:logstream")
    assert log.headers["content-type"] == "text/event-stream; charset=utf-8"
    frames = log.body.decode().strip().split("\n\n")
    assert all(frame.startswith("event: log\ndata: ") for frame in frames)
    lines = [orjson.loads(frame.partition("data: ")[2]) for frame in frames]
    assert (lines[0]["session_id"], lines[0]["session_state"], lines[0]["agent"]) == (id, "Running", "hosted")
    assert [line["message"] for line in lines if line.get("stream") == "stdout"] == ["POST /responses"]


def test_a_hosted_agent_with_protocols_is_shown_with_none_by_the_old_name() -> None:
    definition = {**HOSTED, "protocol_versions": [{"protocol": "responses", "version": "1.0.0"}]}
    shown = ProjectClient().ask("POST /agents/hosted/versions", {"definition": definition}).body["definition"]
    assert list(shown.items())[:2] == [("kind", "hosted"), ("container_protocol_versions", [])]
    assert shown["protocol_versions"] == definition["protocol_versions"]

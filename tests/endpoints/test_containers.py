"""`/containers`: made by a client or by the calls of a response, with files to put in and to download."""

from typing import Any

import pytest

from harness.core.errors import ConfigError
from harness.core.exchange import Answer
from harness.items import code_interpreter_call, container_file_citation, message, output_text
from tests.support.in_process import Client, error, post_form, send

LIFETIME = 20 * 60


def code_tool(container: Any = None) -> list[Any]:
    return [{"type": "code_interpreter", "container": container or {"type": "auto"}}]


def post(client: Client, url: str, kind: str, body: bytes) -> Answer:
    return send(client.api, f"POST {url}", body, {"content-type": kind})


def put(client: Client, container: str, data: bytes = b"Paris") -> Answer:
    return post_form(client, f"/containers/{container}/files", {"file": ("a.txt", data)})


def copy(client: Client, container: str, body: bytes, kind: str = "application/json") -> Answer:
    return post(client, f"/v1/containers/{container}/files", kind, body)


class TestContainers:
    def test_a_container_is_answered_with_its_object(self, client):
        body = client.send("POST /containers", {"name": "data"}).body
        assert body["id"].startswith("cntr_")
        assert len(body["id"].removeprefix("cntr_")) == 48
        assert body == {
            "id": body["id"],
            "object": "container",
            "created_at": client.world.now,
            "status": "running",
            "expires_after": {"anchor": "last_active_at", "minutes": 20},
            "last_active_at": client.world.now,
            "memory_limit": "1g",
            "name": "data",
        }

    def test_a_policy_is_shown_without_its_secrets(self, client):
        secret = {"domain": "a.example", "name": "TOKEN", "value": "s3cret"}
        policy = {"type": "allowlist", "allowed_domains": ["a.example"], "domain_secrets": [secret]}
        body = client.send("POST /containers", {"name": "data", "network_policy": policy}).body
        assert body["network_policy"] == {"type": "allowlist", "allowed_domains": ["a.example"]}

    def test_a_list_has_those_of_a_name_and_keeps_expired_ones(self, client):
        for name in ("a", "b", "a"):
            client.send("POST /containers", {"name": name})
        client.world.skip(LIFETIME)
        listed = client.send("GET /containers", name="a", limit="1").body
        assert ([entry["status"] for entry in listed["data"]], listed["has_more"]) == (["expired"], True)

    def test_a_container_expires_when_nothing_uses_it(self, client):
        id = client.send("POST /containers", {"name": "data", "expires_after": minutes(5)}).body["id"]
        for seconds, status in ((299, "running"), (299, "running"), (300, "expired")):
            client.world.skip(seconds)
            assert client.send(f"GET /containers/{id}").body["status"] == status

    @pytest.mark.parametrize("asked", [21, 0])
    def test_containers_lives_twenty_minutes_at_most(self, client, asked):
        answer = client.send("POST /containers", {"name": "data", "expires_after": minutes(asked)})
        assert error(answer)[::2] == (400, "expires_after.minutes")

    def test_a_deleted_container_is_gone(self, client):
        id = client.mock.container()
        deleted = {"id": id, "object": "container.deleted", "deleted": True}
        assert client.send(f"DELETE /containers/{id}").body == deleted
        assert client.send("GET /containers").body["data"] == []


def minutes(count: int) -> Any:
    return {"anchor": "last_active_at", "minutes": count}


class TestItsFiles:
    def test_an_uploaded_file_is_answered_with_its_object(self, client):
        container = client.mock.container()
        body = put(client, container, data=b"\x00\xff").body
        assert body["id"].startswith("cfile_")
        assert body["path"].startswith("/mnt/data/")
        assert body["path"].endswith("-a.txt")
        assert (body["object"], body["bytes"], body["source"]) == ("container.file", 2, "user")
        content = client.send(f"GET /containers/{container}/files/{body['id']}/content")
        assert (content.body, content.headers["content-type"]) == (b"\x00\xff", "application/octet-stream")

    def test_an_uploaded_file_is_copied_by_its_id(self, client):
        container, file = client.mock.container(), client.mock.file("a.csv", "1,2")
        copied = copy(client, container, b'{"file_id": "%s"}' % file.encode())
        client.send(f"DELETE /files/{file}")
        body = copied.body
        assert copied.status == 200
        assert client.send(f"GET /containers/{container}/files/{body['id']}/content").body == b"1,2"

    def test_a_container_begins_with_copies_of_files(self, client):
        files = [client.mock.file("a.csv", "1"), client.mock.file("b.csv", "2")]
        id = client.send("POST /containers", {"name": "data", "file_ids": files}).body["id"]
        paths = [entry["path"] for entry in client.send(f"GET /containers/{id}/files", order="asc").body["data"]]
        assert [path[-5:] for path in paths] == ["a.csv", "b.csv"]

    @pytest.mark.parametrize(("kind", "body"), [("application/json", b"{"), ("application/json", b"[]"), ("", b"x")])
    def test_what_is_no_file_is_refused(self, client, kind, body):
        refused = copy(client, client.mock.container(), body, kind)
        assert (refused.status, refused.rule) == (400, "container_file_incomplete")

    def test_its_files_are_gone_with_an_expired_container(self, client):
        container = client.mock.container()
        client.world.skip(LIFETIME)
        assert error(put(client, container)) == (400, "Container is expired.", None, None)

    def test_a_test_that_names_a_missing_container_is_reported(self, client):
        with pytest.raises(ConfigError, match="no such container for this key; its containers: none"):
            client.mock.container_file("cntr_x", "a.txt")
        with pytest.raises(ConfigError, match="no such file for this key"):
            client.mock.container("file-x")


class TestTheCallsOfAResponse:
    def test_an_automatic_container_is_listed_with_the_files_it_was_given(self, client):
        client.mock.script([code_interpreter_call("1"), code_interpreter_call("2"), message("ok")])
        file = client.mock.file("a.csv", "1,2")
        container = {"type": "auto", "memory_limit": "4g", "file_ids": [file]}
        output = client.ask(tools=code_tool(container)).body["output"]
        (listed,) = client.send("GET /containers").body["data"]
        assert {item["container_id"] for item in output[:2]} == {listed["id"]}
        assert listed["memory_limit"] == "4g"
        (copied,) = client.send(f"GET /containers/{listed['id']}/files").body["data"]
        assert (copied["bytes"], copied["source"]) == (3, "user")

    def test_a_call_runs_in_the_container_of_its_tool(self, client):
        client.mock.script([code_interpreter_call("1"), message("ok")])
        id = client.mock.container()
        assert client.ask(tools=code_tool(id)).body["output"][0]["container_id"] == id

    def test_a_continued_response_uses_the_container_again(self, client):
        client.mock.script(*[[code_interpreter_call("1"), message("ok")]] * 2)
        first = client.ask(tools=code_tool()).body
        second = client.ask(tools=code_tool(), previous_response_id=first["id"]).body
        assert first["output"][0]["container_id"] == second["output"][0]["container_id"]

    def test_a_continued_response_cannot_use_an_expired_container(self, client):
        client.mock.script([code_interpreter_call("1"), message("ok")], message("ok"))
        first = client.ask(tools=code_tool()).body["id"]
        client.world.skip(LIFETIME)
        answer = client.ask(tools=code_tool(), previous_response_id=first)
        assert error(answer) == (400, "Container is expired.", None, None)
        assert client.ask(previous_response_id=first).status == 200

    @pytest.mark.parametrize("container", ["auto", "data"])
    def test_a_name_is_no_container(self, client, container):
        words = f"Invalid 'tools[0].container': '{container}'. Expected an ID that begins with 'cntr'."
        assert error(client.ask(tools=code_tool(container))) == (400, words, "tools[0].container", "invalid_value")

    def test_a_cited_file_can_be_downloaded(self, client):
        container = client.mock.container()
        plot = client.mock.container_file(container, "plot.png", b"\x89PNG")
        cite = container_file_citation(container, plot, "plot.png", cite="plot.png")
        client.mock.script(message(output_text("See plot.png.", annotations=[cite])))
        (note,) = client.ask().body["output"][0]["content"][0]["annotations"]
        path = f"GET /containers/{note['container_id']}/files/{note['file_id']}"
        assert client.send(path).body["source"] == "assistant"
        assert client.send(f"{path}/content").body == b"\x89PNG"

    def test_a_cited_file_that_nobody_made_is_there_too(self, client):
        cite = container_file_citation("cntr_1", "cfile_1", "plot.png", cite="plot.png")
        client.mock.script(message(output_text("See plot.png.", annotations=[cite])))
        client.ask()
        assert client.send("GET /containers/cntr_1/files/cfile_1").body["path"] == "/mnt/data/plot.png"
        assert client.send("GET /containers/cntr_1/files/cfile_1/content").body.startswith(b"\x89PNG")


@pytest.mark.parametrize("root", ["/v1", "/openai/v1", "/api/projects/p/openai/v1"])
def test_every_provider_has_containers(client, root):
    made = post(client, f"{root}/containers", "application/json", b'{"name": "data"}')
    url = f"{root}/containers/{made.body['id']}/files"
    read = send(client.api, f"GET {url}")
    assert (made.status, read.body["data"]) == (200, [])

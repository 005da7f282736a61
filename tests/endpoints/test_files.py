"""`/files`: uploads, their lists, their bytes, their end; and what the input of a response may name."""

import random
import tracemalloc
from typing import Any

import orjson
import pytest

from harness.api.operations import find_operation
from harness.contract.check import check_answer
from harness.core.errors import ConfigError
from harness.core.exchange import Answer
from harness.server.mock_api import MockApi
from tests.support.in_process import Client, error, post, post_form, send

TEXT = b"Paris is the capital of France."


def upload(client: Client, name: str = "a.txt", data: bytes = TEXT, **fields: str) -> Answer:
    return post_form(client, "/files", {"file": (name, data, "text/plain")}, {"purpose": "user_data", **fields})


def made(client: Client, *given: Any, **fields: str) -> dict[str, Any]:
    answer = upload(client, *given, **fields)
    assert answer.status == 200, answer.body
    return answer.body


def names(answer: Answer) -> list[str]:
    return [entry["filename"] for entry in answer.body["data"]]


class TestUploads:
    def test_an_upload_is_answered_with_its_object(self, client):
        body = made(client)
        assert check_answer("FileObject", body) is None
        assert (body["id"][:5], len(body["id"])) == ("file-", 27)
        assert body == {
            "object": "file",
            "id": body["id"],
            "purpose": "user_data",
            "filename": "a.txt",
            "bytes": len(TEXT),
            "created_at": client.world.now,
            "expires_at": None,
            "status": "processed",
            "status_details": None,
        }
        assert client.send(f"GET /files/{body['id']}").body == body

    def test_the_bytes_come_back_as_they_were(self, client):
        data = bytes(range(256))
        id = made(client, "a.jsonl", data, purpose="batch")["id"]
        answer = client.send(f"GET /files/{id}/content")
        assert (answer.body, answer.headers["content-type"]) == (data, "application/octet-stream")

    def test_a_deleted_file_is_gone(self, client):
        id = made(client)["id"]
        assert client.send(f"DELETE /files/{id}").body == {"object": "file", "deleted": True, "id": id}
        gone = (404, f"No such File object: {id}", "id", None)
        assert [error(client.send(f"{call} /files/{id}")) for call in ("GET", "DELETE")] == [gone, gone]
        assert client.send("GET /files").body["data"] == []

    def test_a_file_expires_when_asked_to(self, client):
        body = made(client, **{"expires_after[anchor]": "created_at", "expires_after[seconds]": "3600"})
        assert body["expires_at"] == body["created_at"] + 3600
        for seconds, status in ((3599, 200), (1, 404)):
            client.mock.skip(seconds)
            assert client.send(f"GET /files/{body['id']}").status == status
        assert client.send("GET /files").body["data"] == []

    def test_a_file_for_a_batch_expires_after_thirty_days(self, client):
        body = made(client, "a.jsonl", purpose="batch")
        assert body["expires_at"] == body["created_at"] + 30 * 86_400

    def test_an_expiry_that_is_no_object_is_passed_over(self, client):
        assert made(client, expires_after="soon")["expires_at"] is None

    def test_the_largest_batch_is_smaller_than_the_largest_file(self, client, monkeypatch):
        monkeypatch.setattr("harness.contract.rules.stored.uploads.LARGEST_BATCH", 3)
        assert error(upload(client, "a.jsonl", b"abcd", purpose="batch")) == (400, "File is too large.", None, None)
        assert upload(client, "a.jsonl", b"abcd").status == 200

    def test_a_body_that_is_no_form_cannot_be_parsed(self, client):
        answer = send(client.api, "POST /v1/files", b"nonsense", {"content-type": "multipart/form-data; boundary=x"})
        assert error(answer) == (400, "Could not parse multipart form", None, None)

    def test_the_journal_shows_an_upload_as_plain_data(self, client):
        upload(client)
        body = client.world.exchanges[-1].request.body
        assert orjson.loads(orjson.dumps(body))["file"]["data"] == TEXT.decode()


class TestLists:
    def test_files_come_newest_first_page_by_page(self, client):
        for name in "abc":
            made(client, name)
        assert names(client.send("GET /files")) == ["c", "b", "a"]
        assert names(client.send("GET /files", order="asc")) == ["a", "b", "c"]
        first = client.send("GET /files", limit="2")
        assert (names(first), first.body["has_more"]) == (["c", "b"], True)
        assert names(client.send("GET /files", after=first.body["last_id"])) == ["a"]

    def test_a_page_has_more_than_twenty_unless_asked_otherwise(self, client):
        for _ in range(21):
            client.mock.file("a")
        assert len(client.send("GET /files").body["data"]) == 21

    def test_files_of_one_purpose(self, client):
        made(client, "a")
        made(client, "b", purpose="assistants")
        assert names(client.send("GET /files", purpose="assistants")) == ["b"]
        assert names(client.send("GET /files", purpose="evals")) == []

    @pytest.mark.parametrize(("limit", "status"), [("0", 400), ("1", 200), ("10000", 200), ("10001", 400)])
    def test_a_page_has_between_one_and_ten_thousand(self, client, limit, status):
        assert client.send("GET /files", limit=limit).status == status

    def test_the_query_that_azure_adds_is_accepted(self, client):
        assert client.send("GET /files", **{"api-version": "2025-04-01-preview"}).status == 200


def asking(id: str, kind: str = "input_file") -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, {"type": kind, "file_id": id}]}]


class TestInput:
    @pytest.mark.parametrize("kind", ["input_file", "input_image"])
    def test_a_file_of_this_key_is_accepted_until_it_is_deleted(self, client, kind):
        id = made(client)["id"]
        assert client.ask(asking(id, kind)).status == 200
        client.send(f"DELETE /files/{id}")
        assert error(client.ask(asking(id, kind))) == (404, f"Files [{id}] were not found", None, None)

    def test_a_file_of_another_key_is_not_there(self, client):
        id = made(client)["id"]
        client.api.open("sk-other").file("own.txt", "x")
        assert post(client.api, {"model": "gpt-4.1", "input": asking(id)}, key="sk-other").status == 404

    def test_a_test_can_upload_without_a_request(self, client):
        id = client.mock.file("a.pdf", "%PDF-1.4")
        assert client.ask(asking(id)).status == 200
        assert client.send(f"GET /files/{id}").body["bytes"] == 8

    def test_the_account_can_have_files_from_before(self, client):
        client.mock.organization(files={"file-old"})
        assert client.ask(asking("file-old")).status == 200
        assert client.send("GET /files/file-old").body["bytes"] == 0
        client.send("DELETE /files/file-old")
        assert client.ask(asking("file-old")).status == 404

    def test_in_the_output_of_a_call_they_are_looked_up_as_well(self, client):
        made(client)
        call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
        part = {"type": "input_image", "file_id": "file-x"}
        output = {"type": "function_call_output", "call_id": "c", "output": [part]}
        assert client.ask([call, output]).status == 404

    def test_what_a_key_without_files_names_is_let_be(self, client):
        assert client.ask(asking("file-elsewhere")).status == 200

    def test_one_that_is_presumed_has_its_name_or_else_its_id(self, client):
        for name in "a.pdf", "":
            client.world.uploads.presume(f"file-{name}", name=name)
            assert client.world.uploads.file(f"file-{name}").object["filename"] == (name or "file-")

    def test_an_id_begins_with_file(self, client):
        words = "Invalid 'input[0].content[1].file_id': 'F0BGSHE3JGJ'. Expected an ID that begins with 'file'."
        told = error(client.ask(asking("F0BGSHE3JGJ", "input_image")))
        assert told == (400, words, "input[0].content[1].file_id", "invalid_value")

    def test_an_id_has_at_most_64_characters(self, client):
        told = error(client.ask(asking("file-" + "x" * 60)))
        assert told[1].startswith("Invalid 'input[0].content[1].file_id': string too long.")

    def test_another_fault_of_the_request_comes_before_an_unknown_file(self, client):
        assert client.ask(asking("file-x"), temperature="hot").body["error"]["param"] == "temperature"


def test_every_address_of_files_is_known() -> None:
    assert find_operation("PUT", "/files/file-1")[2]
    assert send(MockApi(), "PUT /v1/files/file-1").status == 405


def test_a_vector_store_of_what_is_not_there_is_the_testers_fault(client) -> None:
    with pytest.raises(ConfigError, match="vector_store\\(nam=…\\): it has name, description"):
        client.mock.vector_store(nam="Docs")
    with pytest.raises(ConfigError, match="no such file for this key"):
        client.mock.vector_store("file-x")


MIB = 1 << 20


def test_a_large_upload_is_in_memory_once(client):
    data = random.Random(1).randbytes(20 * MIB)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    body = made(client, "a.bin", data)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 20 * MIB <= kept < 25 * MIB
    (world,) = client.api.worlds.values()
    assert world.store.files[body["id"]].content.read() == data

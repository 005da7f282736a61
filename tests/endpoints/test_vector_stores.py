"""`/vector_stores`: their life, their files one by one and in batches, and what a search in them finds."""

import pytest

from tests.support.in_process import error

FRANCE = b"Paris is the capital of France."
JAPAN = b"Tokyo is the capital of Japan."


@pytest.fixture
def files(client) -> list[str]:
    return [client.mock.file(name, data) for name, data in (("fr.txt", FRANCE), ("jp.txt", JAPAN))]


@pytest.fixture
def store(client, files) -> str:
    return client.mock.vector_store(*files, name="Capitals")


def counts(body) -> tuple[int, ...]:
    return tuple(body["file_counts"][state] for state in ("in_progress", "completed", "cancelled", "total"))


ELSEWHERE = "not found in organization org-harness, project proj_harness."


class TestLife:
    def test_an_empty_store_is_completed_at_once(self, client):
        body = client.send("POST /vector_stores", {"name": "Docs", "metadata": {"a": "b"}}).body
        assert (body["id"][:3], len(body["id"])) == ("vs_", 35)
        told = {"object": "vector_store", "name": "Docs", "status": "completed", "usage_bytes": 0}
        assert {**told, "metadata": {"a": "b"}}.items() <= body.items()
        assert client.send(f"GET /vector_stores/{body['id']}").body == body

    def test_files_are_in_progress_until_the_store_is_read_again(self, client, files):
        body = client.send("POST /vector_stores", {"file_ids": files}).body
        assert (body["status"], counts(body)) == ("in_progress", (2, 0, 0, 2))
        body = client.send(f"GET /vector_stores/{body['id']}").body
        assert (body["status"], counts(body)) == ("completed", (0, 2, 0, 2))
        assert body["usage_bytes"] == len(FRANCE) + len(JAPAN)

    @pytest.mark.parametrize(
        ("path", "name", "wrap"),
        [
            ("", "file_ids", lambda id: [id]),
            ("/{store}/files", "file_id", str),
            ("/{store}/file_batches", "files", lambda id: [{"file_id": id}]),
        ],
    )
    def test_a_table_cannot_be_added(self, client, store, path, name, wrap):
        table = client.mock.file("a.CSV", b"a,b")
        refused = error(client.send(f"POST /vector_stores{path.format(store=store)}", {name: wrap(table)}))
        assert (refused[0], *refused[2:]) == (400, name, "unsupported_file")

    def test_an_update_changes_what_it_names(self, client, store):
        client.send(f"POST /vector_stores/{store}", {"metadata": {"a": "b"}})
        body = client.send(f"POST /vector_stores/{store}", {"name": None}).body
        assert (body["name"], body["metadata"]) == (None, {"a": "b"})
        assert client.send(f"POST /vector_stores/{store}", {"metadata": None}).body["metadata"] == {}

    def test_a_store_expires_so_many_days_after_its_last_use(self, client):
        asked = {"expires_after": {"anchor": "last_active_at", "days": 1}}
        body = client.send("POST /vector_stores", asked).body
        assert body["expires_at"] == body["last_active_at"] + 86_400
        client.mock.skip(86_000)
        client.send(f"POST /vector_stores/{body['id']}/search", {"query": "x"})
        client.mock.skip(86_000)
        assert client.send(f"GET /vector_stores/{body['id']}").body["status"] == "completed"
        client.mock.skip(400)
        assert client.send(f"GET /vector_stores/{body['id']}").body["status"] == "expired"

    def test_a_deleted_store_is_gone_and_its_files_stay(self, client, store, files):
        deleted = client.send(f"DELETE /vector_stores/{store}").body
        assert deleted == {"id": store, "object": "vector_store.deleted", "deleted": True}
        told = error(client.send(f"GET /vector_stores/{store}"))
        assert told == (404, f"No vector store found with id '{store}'.", "vector_store_id", None)
        assert client.send(f"GET /files/{files[0]}").status == 200

    def test_stores_are_listed_newest_first(self, client):
        for name in "abc":
            client.mock.vector_store(name=name)
        body = client.send("GET /vector_stores", limit="2").body
        assert ([entry["name"] for entry in body["data"]], body["has_more"]) == (["c", "b"], True)

    def test_the_account_can_have_stores_from_before(self, client):
        client.mock.organization(files={"vs_old", "file-old"})
        tools = [{"type": "file_search", "vector_store_ids": ["vs_old"]}]
        assert client.ask(tools=tools).status == 200
        body = client.send("POST /vector_stores/vs_old/files", {"file_id": "file-old"}).body
        assert (body["id"], body["status"]) == ("file-old", "in_progress")
        client.send("DELETE /vector_stores/vs_old")
        assert error(client.ask(tools=tools))[:2] == (404, f"Vector store vs_old {ELSEWHERE}")

    def test_the_first_store_that_is_missing_is_named_and_all_of_them_were_in_2025(self, client, store):
        tools = [{"type": "web_search"}, {"type": "file_search", "vector_store_ids": [store, "vs_a"]}]
        assert error(client.ask(tools=tools)) == (404, f"Vector store vs_a {ELSEWHERE}", None, None)
        tools = [{"type": "file_search", "vector_store_ids": ["vs_a", "vs_b"]}]
        assert error(client.ask(tools=tools)) == (404, f"Vector store vs_a {ELSEWHERE}", None, None)
        client.world.set_date("2025-12-31")
        assert error(client.ask(tools=tools))[1] == "Vector store with id ['vs_a', 'vs_b'] not found."


class TestFiles:
    def test_a_file_is_attached_with_its_attributes(self, client, files):
        store = client.mock.vector_store()
        static = {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 0}
        asked = {"attributes": {"lang": "fr"}, "chunking_strategy": {"type": "static", "static": static}}
        body = client.send(f"POST /vector_stores/{store}/files", {"file_id": files[0], **asked}).body
        assert body == {
            "id": files[0],
            "object": "vector_store.file",
            "usage_bytes": len(FRANCE),
            "created_at": body["created_at"],
            "vector_store_id": store,
            "status": "in_progress",
            "last_error": None,
            "chunking_strategy": {"type": "static", "static": static},
            "attributes": {"lang": "fr"},
        }
        assert client.send(f"GET /vector_stores/{store}/files/{files[0]}").body == {**body, "status": "completed"}

    def test_files_are_chunked_into_eight_hundred_tokens_by_default(self, client, store, files):
        body = client.send(f"GET /vector_stores/{store}/files/{files[0]}").body
        static = {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}
        assert body["chunking_strategy"] == {"type": "static", "static": static}

    def test_a_size_that_is_written_with_a_point_is_a_whole_number_all_the_same(self, client, files):
        static = {"max_chunk_size_tokens": 100.0, "chunk_overlap_tokens": 0.0}
        asked = {"chunking_strategy": {"type": "static", "static": static}, "file_ids": files}
        expires = {"anchor": "last_active_at", "days": 1.0}
        store = client.send("POST /vector_stores", {**asked, "expires_after": expires}).body
        assert isinstance(store["expires_at"], int)
        (found,) = client.send(f"POST /vector_stores/{store['id']}/search", {"query": "Paris"}).body["data"]
        assert found["content"] == [{"type": "text", "text": FRANCE.decode()}]

    def test_attributes_are_replaced(self, client, store, files):
        path = f"/vector_stores/{store}/files/{files[0]}"
        for sent, kept in (({"a": 1}, {"a": 1}), ({"b": True}, {"b": True}), (None, {})):
            assert client.send(f"POST {path}", {"attributes": sent}).body["attributes"] == kept
        assert error(client.send(f"POST {path}", {}))[1] == "Missing required parameter: 'attributes'."

    def test_the_text_is_read_back_in_chunks(self, client, store, files):
        body = client.send(f"GET /vector_stores/{store}/files/{files[0]}/content").body
        assert body["object"] == "vector_store.file_content.page"
        assert body["data"] == [{"type": "text", "text": FRANCE.decode()}]

    def test_a_file_that_was_detached_stays_uploaded(self, client, store, files):
        path = f"/vector_stores/{store}/files/{files[0]}"
        assert client.send(f"DELETE {path}").body["object"] == "vector_store.file.deleted"
        told = f"No file found with id '{files[0]}' in vector store '{store}'."
        assert error(client.send(f"GET {path}")) == (404, told, None, None)
        assert client.send(f"GET /files/{files[0]}").status == 200

    def test_a_file_that_was_deleted_leaves_every_store(self, client, store, files):
        client.send(f"DELETE /files/{files[0]}")
        assert counts(client.send(f"GET /vector_stores/{store}").body) == (0, 1, 0, 1)

    def test_a_file_that_has_expired_has_no_text(self, client):
        id = client.mock.file("a.txt", FRANCE, expires_after=3600)
        store = client.mock.vector_store(id)
        client.mock.skip(3600)
        assert client.send(f"GET /vector_stores/{store}/files/{id}/content").body["data"] == []
        assert client.send(f"POST /vector_stores/{store}/search", {"query": "Paris"}).body["data"] == []

    def test_files_are_listed_by_state(self, client, store, files):
        path = f"/vector_stores/{store}/files"
        assert [entry["id"] for entry in client.send(f"GET {path}").body["data"]] == files[::-1]
        assert [entry["id"] for entry in client.send(f"GET {path}", order="asc").body["data"]] == files
        assert client.send(f"GET {path}", filter="failed").body["data"] == []
        assert client.send(f"GET {path}", filter="odd").status == 400


class TestBatches:
    @pytest.fixture
    def path(self, client) -> str:
        return f"/vector_stores/{client.mock.vector_store()}/file_batches"

    def test_a_batch_is_done_when_it_is_read_again(self, client, path, files):
        body = client.send(f"POST {path}", {"file_ids": files, "attributes": {"a": 1}}).body
        assert body["id"].startswith("vsfb_")
        assert (body["status"], counts(body)) == ("in_progress", (2, 0, 0, 2))
        body = client.send(f"GET {path}/{body['id']}").body
        assert (body["status"], counts(body)) == ("completed", (0, 2, 0, 2))
        listed = client.send(f"GET {path}/{body['id']}/files", order="asc").body["data"]
        assert [(entry["id"], entry["attributes"]) for entry in listed] == [(id, {"a": 1}) for id in files]

    def test_files_of_a_batch_may_have_attributes_of_their_own(self, client, path, files):
        asked = {"files": [{"file_id": files[0], "attributes": {"a": 1}}, {"file_id": files[1]}]}
        client.send(f"POST {path}", asked)
        listed = client.send(f"GET {path.replace('file_batches', 'files')}", order="asc").body["data"]
        assert [entry["attributes"] for entry in listed] == [{"a": 1}, {}]

    def test_a_batch_that_is_cancelled_at_once_takes_in_nothing(self, client, path, files):
        id = client.send(f"POST {path}", {"file_ids": files}).body["id"]
        body = client.send(f"POST {path}/{id}/cancel").body
        assert (body["status"], counts(body)) == ("cancelled", (0, 0, 2, 2))

    def test_a_batch_that_has_ended_stays_as_it_is(self, client, path, files):
        id = client.send(f"POST {path}", {"file_ids": files}).body["id"]
        done = client.send(f"GET {path}/{id}").body
        assert client.send(f"POST {path}/{id}/cancel").body == done

    def test_a_file_that_left_the_store_is_no_longer_counted(self, client, path, files):
        id = client.send(f"POST {path}", {"file_ids": files}).body["id"]
        client.send(f"DELETE /files/{files[0]}")
        assert counts(client.send(f"POST {path}/{id}/cancel").body) == (0, 0, 1, 1)
        assert [entry["id"] for entry in client.send(f"GET {path}/{id}/files").body["data"]] == [files[1]]


def test_a_search_finds_the_chunks_that_hold_the_words(client, store, files) -> None:
    body = client.send(f"POST /vector_stores/{store}/search", {"query": ["capital of", "JAPAN"]}).body
    assert body["search_query"] == ["capital of", "JAPAN"]
    assert (body["has_more"], body["next_page"]) == (False, None)
    assert [(entry["file_id"], entry["score"]) for entry in body["data"]] == [(files[1], 1.0), (files[0], 0.6667)]
    assert body["data"][0]["content"] == [{"type": "text", "text": JAPAN.decode()}]
    assert body["data"][0]["filename"] == "jp.txt"

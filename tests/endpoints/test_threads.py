"""Threads: begun, changed, and gone with all that is in them."""

from tests.support.in_process import error
from tests.support.threads import Desk, made_with, path


class TestAThread:
    def test_a_thread_may_begin_empty_and_without_a_body(self, desk: Desk) -> None:
        made = desk.send("POST /threads").body
        assert (made["object"], made["metadata"], made["tool_resources"]) == ("thread", {}, {})
        assert desk.messages(made["id"]) == []

    def test_a_thread_shows_the_resources_of_a_code_interpreter_only_when_it_is_read(self, desk: Desk) -> None:
        id = desk.thread()
        assert desk.send(f"GET /threads/{id}").body["tool_resources"] == {"code_interpreter": {"file_ids": []}}
        changed = desk.send(f"POST /threads/{id}", {"metadata": {"a": "b"}}).body
        assert (changed["metadata"], changed["tool_resources"]) == ({"a": "b"}, {})

    def test_a_thread_may_be_made_with_a_vector_store_that_lasts_a_week_without_use(self, desk: Desk) -> None:
        store = made_with(desk, "POST /threads", {})
        assert (store["file_counts"]["total"], store["metadata"]) == (1, {"a": "b"})
        assert store["expires_at"] - store["last_active_at"] == 7 * 86_400

    def test_a_thread_of_a_run_may_be_made_with_a_vector_store_beside_another(self, desk: Desk) -> None:
        other = desk.mock.vector_store()
        search = {"vector_store_ids": [other], "vector_stores": [{}]}
        body = {"assistant_id": desk.assistant, "thread": {"tool_resources": {"file_search": search}}}
        id = desk.send("POST /threads/runs", body).body["thread_id"]
        known = desk.send(f"GET /threads/{id}").body["tool_resources"]["file_search"]
        assert known == {"vector_store_ids": list(desk.world.store.vector_stores)}
        assert known["vector_store_ids"][0] == other

    def test_a_thread_keeps_what_an_update_does_not_name(self, desk: Desk) -> None:
        id = desk.send("POST /threads", {"metadata": {"a": "b"}}).body["id"]
        store = {"file_search": {"vector_store_ids": ["vs_1"]}}
        assert desk.send(f"POST /threads/{id}", {"tool_resources": store}).body["metadata"] == {"a": "b"}
        assert desk.send(f"GET /threads/{id}").body["tool_resources"] == store

    def test_a_thread_takes_everything_with_it_when_it_is_deleted(self, desk: Desk) -> None:
        run = desk.run(desk.thread("hi")).body
        id = run["thread_id"]
        assert desk.send(f"DELETE /threads/{id}").body == {"id": id, "object": "thread.deleted", "deleted": True}
        for call in (f"GET /threads/{id}", f"GET {path(run)}", f"GET /threads/{id}/messages"):
            assert error(desk.send(call)) == (404, f"No thread found with id '{id}'.", None, None)

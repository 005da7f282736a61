"""Assistants, threads and messages: what each endpoint answers and changes."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.errors import ConfigError
from harness.items import message
from tests.support.threads import FUNCTION, Desk, path, text


@pytest.fixture
def desk() -> Desk:
    return Desk(name="Ann", instructions="Be brief.")


def error(answer: Any) -> tuple[int, str, str | None, str | None]:
    told = answer.body["error"]
    return answer.status, told["message"], told["param"], told["code"]


def made_with(desk: Desk, call: str, body: dict[str, Any]) -> dict[str, Any]:
    """The vector store that is made with another object, of one file."""
    stores = [{"file_ids": [desk.mock.file("a.txt", "Paris")], "metadata": {"a": "b"}}]
    made = desk.send(call, {**body, "tool_resources": {"file_search": {"vector_stores": stores}}}).body
    (id,) = made["tool_resources"]["file_search"]["vector_store_ids"]
    return dict(desk.send(f"GET /vector_stores/{id}").body)


class TestAnAssistant:
    def test_has_every_member_and_the_defaults_of_what_was_not_said(self, desk: Desk) -> None:
        made = desk.send("POST /assistants", {"model": "gpt-4o"}).body
        id, created_at = made.pop("id"), made.pop("created_at")
        assert (id[:5], len(id), created_at > 0) == ("asst_", 29, True)
        assert made == {
            "object": "assistant",
            "name": None,
            "description": None,
            "model": "gpt-4o",
            "instructions": None,
            "tools": [],
            "top_p": 1.0,
            "temperature": 1.0,
            "reasoning_effort": None,
            "tool_resources": {},
            "metadata": {},
            "response_format": "auto",
        }

    @pytest.mark.parametrize(
        ("tool", "shown"),
        [
            ({"type": "code_interpreter"}, {"type": "code_interpreter"}),
            (FUNCTION, {"type": "function", "function": {**FUNCTION["function"], "strict": False}}),
            (
                {"type": "file_search", "file_search": {"max_num_results": 2}},
                {
                    "type": "file_search",
                    "file_search": {
                        "max_num_results": 2,
                        "ranking_options": {
                            "ranker": "default_2024_08_21",
                            "score_threshold": 0.0,
                            "hybrid_search": None,
                        },
                    },
                },
            ),
        ],
    )
    def test_shows_its_tools_with_their_defaults(self, desk: Desk, tool: Any, shown: Any) -> None:
        assert desk.send("POST /assistants", {"model": "gpt-4o", "tools": [tool]}).body["tools"] == [shown]

    def test_has_resources_for_what_it_can_use(self, desk: Desk) -> None:
        coder = {"model": "gpt-4o", "tools": [{"type": "code_interpreter"}]}
        assert desk.send("POST /assistants", coder).body["tool_resources"] == {"code_interpreter": {"file_ids": []}}

    def test_may_be_made_with_a_vector_store(self, desk: Desk) -> None:
        store = made_with(desk, "POST /assistants", {"model": "gpt-4o"})
        assert (store["file_counts"]["total"], store["metadata"], store["expires_after"]) == (1, {"a": "b"}, None)

    def test_keeps_what_an_update_does_not_name(self, desk: Desk) -> None:
        before = desk.send(f"GET /assistants/{desk.assistant}").body
        changed = desk.send(f"POST /assistants/{desk.assistant}", {"name": "Bob", "metadata": {"a": "b"}}).body
        assert changed == {**before, "name": "Bob", "metadata": {"a": "b"}}
        assert desk.send(f"GET /assistants/{desk.assistant}").body == changed

    def test_is_listed_newest_first_and_gone_when_deleted(self, desk: Desk) -> None:
        other = desk.send("POST /assistants", {"model": "gpt-4o"}).body["id"]
        listed = desk.send("GET /assistants").body
        assert [each["id"] for each in listed["data"]] == [other, desk.assistant]
        assert (listed["first_id"], listed["last_id"], listed["has_more"]) == (other, desk.assistant, False)
        gone = desk.send(f"DELETE /assistants/{other}").body
        assert gone == {"id": other, "object": "assistant.deleted", "deleted": True}
        assert error(desk.send(f"GET /assistants/{other}"))[:2] == (404, f"No assistant found with id '{other}'.")

    @pytest.mark.parametrize(
        ("body", "message", "param", "code"),
        [
            ({}, "Missing required parameter: 'model'.", "model", "missing_required_parameter"),
            ({"model": "m", "x": 1}, "Unknown parameter: 'x'.", "x", "unknown_parameter"),
            (
                {"model": "m", "metadata": {"modified": True}},
                "Invalid type for 'metadata.modified': expected a string, but got a boolean instead.",
                "metadata.modified",
                "invalid_type",
            ),
            (
                {"model": "m", "tools": [{"type": "retrieval"}]},
                "Invalid value: 'retrieval'. Supported values are: 'code_interpreter', 'function', and 'file_search'.",
                "tools[0].type",
                "invalid_value",
            ),
            (
                {"model": "m", "tools": [{"type": "bing_grounding"}]},
                "Invalid value: 'bing_grounding'. Supported values are: 'code_interpreter', 'function', and 'file_search'.",
                "tools[0].type",
                "invalid_value",
            ),
        ],
    )
    def test_is_judged_by_its_schema(self, desk: Desk, body: Any, message: str, param: str, code: str) -> None:
        assert error(desk.send("POST /assistants", body)) == (400, message, param, code)

    def test_may_have_other_tools_on_foundry(self, desk: Desk) -> None:
        body = {"model": "m", "tools": [{"type": "bing_grounding", "bing_grounding": {"search_configurations": []}}]}
        assert desk.send("POST /api/projects/p/assistants", body, **{"api-version": "v1"}).status == 200


class TestAThread:
    def test_may_begin_empty_and_without_a_body(self, desk: Desk) -> None:
        made = desk.send("POST /threads").body
        assert (made["object"], made["metadata"], made["tool_resources"]) == ("thread", {}, {})
        assert desk.messages(made["id"]) == []

    def test_shows_the_resources_of_a_code_interpreter_only_when_it_is_read(self, desk: Desk) -> None:
        id = desk.thread()
        assert desk.send(f"GET /threads/{id}").body["tool_resources"] == {"code_interpreter": {"file_ids": []}}
        changed = desk.send(f"POST /threads/{id}", {"metadata": {"a": "b"}}).body
        assert (changed["metadata"], changed["tool_resources"]) == ({"a": "b"}, {})

    def test_may_be_made_with_a_vector_store_that_lasts_a_week_without_use(self, desk: Desk) -> None:
        store = made_with(desk, "POST /threads", {})
        assert (store["file_counts"]["total"], store["metadata"]) == (1, {"a": "b"})
        assert store["expires_at"] - store["last_active_at"] == 7 * 86_400

    def test_of_a_run_may_be_made_with_a_vector_store_beside_another(self, desk: Desk) -> None:
        other = desk.mock.vector_store()
        search = {"vector_store_ids": [other], "vector_stores": [{}]}
        body = {"assistant_id": desk.assistant, "thread": {"tool_resources": {"file_search": search}}}
        id = desk.send("POST /threads/runs", body).body["thread_id"]
        known = desk.send(f"GET /threads/{id}").body["tool_resources"]["file_search"]
        assert known == {"vector_store_ids": list(desk.world.store.vector_stores)}
        assert known["vector_store_ids"][0] == other

    def test_keeps_what_an_update_does_not_name(self, desk: Desk) -> None:
        id = desk.send("POST /threads", {"metadata": {"a": "b"}}).body["id"]
        store = {"file_search": {"vector_store_ids": ["vs_1"]}}
        assert desk.send(f"POST /threads/{id}", {"tool_resources": store}).body["metadata"] == {"a": "b"}
        assert desk.send(f"GET /threads/{id}").body["tool_resources"] == store

    def test_takes_everything_with_it_when_it_is_deleted(self, desk: Desk) -> None:
        run = desk.run(desk.thread("hi")).body
        id = run["thread_id"]
        assert desk.send(f"DELETE /threads/{id}").body == {"id": id, "object": "thread.deleted", "deleted": True}
        for call in (f"GET /threads/{id}", f"GET {path(run)}", f"GET /threads/{id}/messages"):
            assert error(desk.send(call)) == (404, f"No thread found with id '{id}'.", None, None)


class TestAMessage:
    def test_of_a_client_has_no_status_and_no_run(self, desk: Desk) -> None:
        thread = desk.thread()
        made = desk.send(f"POST /threads/{thread}/messages", {"role": "user", "content": "Hello."}).body
        id, created_at = made.pop("id"), made.pop("created_at")
        assert (id[:4], len(id), created_at > 0) == ("msg_", 28, True)
        assert made == {
            "object": "thread.message",
            "assistant_id": None,
            "thread_id": thread,
            "run_id": None,
            "role": "user",
            "content": [{"type": "text", "text": {"value": "Hello.", "annotations": []}}],
            "attachments": [],
            "metadata": {},
        }

    def test_may_hold_pictures_and_attachments(self, desk: Desk) -> None:
        parts = [
            {"type": "text", "text": "Look."},
            {"type": "image_file", "image_file": {"file_id": "file-1"}},
            {"type": "image_url", "image_url": {"url": "https://a.example/x.png", "detail": "low"}},
        ]
        files = [{"file_id": "file-2", "tools": [{"type": "file_search"}]}]
        body = {"role": "user", "content": parts, "attachments": files}
        made = desk.send(f"POST /threads/{desk.thread()}/messages", body).body
        assert text(made)["value"] == "Look."
        assert made["content"][1] == {"type": "image_file", "image_file": {"detail": "auto", "file_id": "file-1"}}
        assert made["content"][2]["image_url"]["detail"] == "low"
        assert made["attachments"] == files
        desk.mock.when(input="Look").script(message("seen"))
        run = desk.settled(desk.run(made["thread_id"]).body)
        assert text(desk.messages(run["thread_id"])[0])["value"] == "seen"

    def test_is_answered_with_file_ids_when_its_metadata_is_set(self, desk: Desk) -> None:
        thread = desk.thread("hi")
        (known,) = desk.messages(thread)
        place = f"/threads/{thread}/messages/{known['id']}"
        changed = desk.send(f"POST {place}", {"metadata": {"a": "b"}}).body
        assert ("attachments" in changed, changed["file_ids"]) == (False, [])
        assert desk.send(f"GET {place}").body == {**known, "metadata": {"a": "b"}}
        assert desk.send(f"POST {place}", {}).body["metadata"] == {"a": "b"}

    def test_can_be_taken_out(self, desk: Desk) -> None:
        thread = desk.thread("a", "b")
        newest, _ = desk.messages(thread)
        gone = desk.send(f"DELETE /threads/{thread}/messages/{newest['id']}").body
        assert gone == {"id": newest["id"], "object": "thread.message.deleted", "deleted": True}
        assert [text(each)["value"] for each in desk.messages(thread)] == ["a"]

    def test_is_read_page_by_page(self, desk: Desk) -> None:
        thread = desk.thread(*"abc")
        page = desk.send(f"GET /threads/{thread}/messages", limit="2", order="asc").body
        assert page["has_more"]
        rest = desk.messages(thread, after=page["last_id"], order="asc")
        assert [text(each)["value"] for each in rest] == ["c"]

    def test_can_be_listed_by_the_run_that_made_it(self, desk: Desk) -> None:
        run = desk.settled(desk.run(desk.thread("hi")).body)
        (made,) = desk.messages(run["thread_id"], run_id=run["id"])
        assert (made["role"], made["run_id"], made["status"]) == ("assistant", run["id"], "completed")


class TestTheAccount:
    def test_may_be_without_the_assistants_api(self, desk: Desk) -> None:
        desk.mock.organization(assistants="gone")
        assert error(desk.send("GET /assistants"))[:2] == (404, "Invalid URL (GET /v1/assistants)")
        desk.mock.organization(assistants="v2")
        assert desk.send("GET /assistants").status == 200

    def test_has_one_of_two(self, desk: Desk) -> None:
        with pytest.raises(ConfigError, match=r"assistants='v1'.*one of v2, gone"):
            desk.mock.organization(assistants="v1")


def test_metadata_that_is_no_text_is_kept_as_one_and_an_active_run_cannot_be_changed(desk: Desk) -> None:
    desk.world.as_of = "2024-04-27"
    thread, body = desk.thread("hi"), {"metadata": {"modified": True}}
    said = desk.send(f"GET /threads/{thread}/messages").body["data"][0]["id"]
    for call in (f"/threads/{thread}", f"/threads/{thread}/messages/{said}", f"/assistants/{desk.assistant}"):
        assert desk.send(f"POST {call}", body).body["metadata"] == {"modified": "True"}
    run = desk.run(thread, **body).body
    assert run["metadata"] == {"modified": "True"}
    desk.read(run)
    assert error(desk.send(f"POST {path(run)}", body)) == (
        400,
        "Cannot update run with status 'in_progress'.",
        None,
        None,
    )
    desk.settled(run)
    assert desk.send(f"POST {path(run)}", body).body["metadata"] == {"modified": "True"}


def test_ids_of_another_form_were_not_found_in_version_1(desk: Desk) -> None:
    run = desk.run(desk.thread("hi")).body
    today = error(desk.send(f"GET {path(run)}/steps/123"))
    assert today == (
        400,
        "Invalid 'step_id': '123'. Expected an ID that begins with 'step'.",
        "step_id",
        "invalid_value",
    )
    desk.world.as_of = "2024-04-27"
    assert error(desk.send(f"GET {path(run)}/steps/123")) == (404, "No run step found with id '123'.", None, None)
    assert error(desk.send("GET /threads/undefined")) == (404, "No thread found with id 'undefined'.", None, None)

"""Messages of a thread: what they hold, changed, taken out, and read page by page."""

from typing import Any

import pytest

from harness.items import message
from tests.support.in_process import error, user
from tests.support.threads import Desk, text


class TestAMessage:
    @pytest.mark.parametrize(
        ("path", "place"),
        [
            ("/threads", "messages[0].content"),
            ("/threads/{thread}/messages", "content"),
            ("/threads/{thread}/runs", "additional_messages[0].content"),
            ("/threads/runs", "thread.messages[0].content"),
        ],
    )
    def test_a_message_has_at_most_256000_characters(self, desk: Desk, path: str, place: str) -> None:
        def said(length: int) -> tuple[Any, ...]:
            text = user("x" * length)
            bodies = {
                "messages[0].content": {"messages": [text]},
                "content": text,
                "additional_messages[0].content": {"assistant_id": desk.assistant, "additional_messages": [text]},
                "thread.messages[0].content": {"assistant_id": desk.assistant, "thread": {"messages": [text]}},
            }
            answer = desk.send(f"POST {path.format(thread=desk.thread())}", bodies[place])
            return error(answer) if answer.status != 200 else ()

        assert said(256_000) == ()
        assert said(256_001) == (
            400,
            f"Invalid '{place}': string too long. Expected a string with maximum length 256000, but got a string with "
            "length 256001 instead.",
            place,
            "string_above_max_length",
        )

    def test_a_message_of_a_client_has_no_status_and_no_run(self, desk: Desk) -> None:
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

    def test_an_attachment_is_an_uploaded_file(self, desk: Desk) -> None:
        sent = {**user("hi"), "attachments": [{"file_id": "31abac64-545c"}]}
        assert error(desk.send("POST /threads", {"messages": [sent]})) == (
            400,
            "Invalid 'messages[0].attachments[0].file_id': '31abac64-545c'. Expected an ID that begins with 'file'.",
            "messages[0].attachments[0].file_id",
            "invalid_value",
        )
        on_azure = {**user("hi"), "attachments": [{"file_id": "assistant-1"}]}
        assert desk.send("POST /threads", {"messages": [on_azure]}).status == 200

    def test_a_message_may_hold_pictures_and_attachments(self, desk: Desk) -> None:
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
        assert desk.last_text(run) == "seen"

    def test_a_message_is_answered_with_file_ids_when_its_metadata_is_set(self, desk: Desk) -> None:
        thread = desk.thread("hi")
        (known,) = desk.messages(thread)
        place = f"/threads/{thread}/messages/{known['id']}"
        changed = desk.send(f"POST {place}", {"metadata": {"a": "b"}}).body
        assert ("attachments" in changed, changed["file_ids"]) == (False, [])
        assert desk.send(f"GET {place}").body == {**known, "metadata": {"a": "b"}}
        assert desk.send(f"POST {place}", {}).body["metadata"] == {"a": "b"}

    def test_a_message_can_be_deleted(self, desk: Desk) -> None:
        thread = desk.thread("a", "b")
        newest, _ = desk.messages(thread)
        gone = desk.send(f"DELETE /threads/{thread}/messages/{newest['id']}").body
        assert gone == {"id": newest["id"], "object": "thread.message.deleted", "deleted": True}
        assert [text(message)["value"] for message in desk.messages(thread)] == ["a"]

    def test_a_message_is_read_page_by_page(self, desk: Desk) -> None:
        thread = desk.thread(*"abc")
        page = desk.send(f"GET /threads/{thread}/messages", limit="2", order="asc").body
        assert page["has_more"]
        rest = desk.messages(thread, after=page["last_id"], order="asc")
        assert [text(item)["value"] for item in rest] == ["c"]

    def test_a_message_can_be_listed_by_the_run_that_made_it(self, desk: Desk) -> None:
        run = desk.settled(desk.run(desk.thread("hi")).body)
        (made,) = desk.messages(run["thread_id"], run_id=run["id"])
        assert (made["role"], made["run_id"], made["status"]) == ("assistant", run["id"], "completed")

"""Assistants: what each endpoint answers and changes."""

from typing import Any

import pytest

from harness.core.errors import ConfigError
from tests.support.in_process import error
from tests.support.threads import FUNCTION, Desk, made_with, path

RANKING = {"ranker": "default_2024_08_21", "score_threshold": 0.0, "hybrid_search": None}


class TestAnAssistant:
    def test_an_assistant_has_every_member_and_defaults_for_the_rest(self, desk: Desk) -> None:
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
                {"type": "file_search", "file_search": {"max_num_results": 2, "ranking_options": RANKING}},
            ),
        ],
    )
    def test_an_assistant_shows_its_tools_with_their_defaults(self, desk: Desk, tool: Any, shown: Any) -> None:
        assert desk.send("POST /assistants", {"model": "gpt-4o", "tools": [tool]}).body["tools"] == [shown]

    def test_an_assistant_has_resources_for_what_it_can_use(self, desk: Desk) -> None:
        coder = {"model": "gpt-4o", "tools": [{"type": "code_interpreter"}]}
        assert desk.send("POST /assistants", coder).body["tool_resources"] == {"code_interpreter": {"file_ids": []}}

    def test_an_assistant_may_be_made_with_a_vector_store(self, desk: Desk) -> None:
        store = made_with(desk, "POST /assistants", {"model": "gpt-4o"})
        assert (store["file_counts"]["total"], store["metadata"], store["expires_after"]) == (1, {"a": "b"}, None)

    def test_an_assistant_keeps_what_an_update_does_not_name(self, desk: Desk) -> None:
        before = desk.send(f"GET /assistants/{desk.assistant}").body
        changed = desk.send(f"POST /assistants/{desk.assistant}", {"name": "Bob", "metadata": {"a": "b"}}).body
        assert changed == {**before, "name": "Bob", "metadata": {"a": "b"}}
        assert desk.send(f"GET /assistants/{desk.assistant}").body == changed

    def test_an_assistant_is_listed_newest_first_and_gone_when_deleted(self, desk: Desk) -> None:
        other = desk.send("POST /assistants", {"model": "gpt-4o"}).body["id"]
        listed = desk.send("GET /assistants").body
        assert [entry["id"] for entry in listed["data"]] == [other, desk.assistant]
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
            *(
                (
                    {"model": "m", "tools": [{"type": type}]},
                    f"Invalid value: '{type}'. Supported values are: 'code_interpreter', 'function', and 'file_search'.",
                    "tools[0].type",
                    "invalid_value",
                )
                for type in ("retrieval", "bing_grounding")
            ),
        ],
    )
    def test_an_assistant_is_judged_by_its_schema(
        self, desk: Desk, body: Any, message: str, param: str, code: str
    ) -> None:
        assert error(desk.send("POST /assistants", body)) == (400, message, param, code)

    def test_an_assistant_may_have_other_tools_on_foundry(self, desk: Desk) -> None:
        body = {"model": "m", "tools": [{"type": "bing_grounding", "bing_grounding": {"search_configurations": []}}]}
        assert desk.send("POST /api/projects/p/assistants", body, **{"api-version": "v1"}).status == 200


class TestTheAccount:
    def test_the_account_may_be_without_the_assistants_api(self, desk: Desk) -> None:
        desk.mock.organization(assistants="gone")
        assert error(desk.send("GET /assistants"))[:2] == (404, "Invalid URL (GET /v1/assistants)")
        desk.mock.organization(assistants="v2")
        assert desk.send("GET /assistants").status == 200

    def test_the_account_has_one_of_two(self, desk: Desk) -> None:
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
    refused = (400, "Cannot update run with status 'in_progress'.", None, None)
    assert error(desk.send(f"POST {path(run)}", body)) == refused
    desk.settled(run)
    assert desk.send(f"POST {path(run)}", body).body["metadata"] == {"modified": "True"}


def test_an_id_of_another_form_is_invalid(desk: Desk) -> None:
    """It was not found in version 1, as the examples of the rules show."""
    words = "Invalid 'step_id': '123'. Expected an ID that begins with 'step'."
    refused = error(desk.send(f"GET {path(desk.run(desk.thread('hi')).body)}/steps/123"))
    assert refused == (400, words, "step_id", "invalid_value")

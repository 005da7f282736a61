"""A transcript made short, and its tokens counted."""

from typing import Any

import pytest

from harness.api.encrypted_content import owner_of_content
from harness.api.tokens import estimate_tokens
from harness.core.exchange import Answer
from harness.items import compaction, function_call
from tests.support.foundry import Project
from tests.support.in_process import Client, error, user
from tests.support.tools import CALL, OUTPUT, functions


class TestCompaction:
    def compact(self, client: Client, **body: Any) -> Answer:
        return client.send("POST /responses/compact", {"model": "gpt-4.1", **body})

    def test_compaction_keeps_user_messages_and_hides_the_rest(self, client: Client) -> None:
        said = [{**user("a"), "id": "msg_mine"}, {"role": "assistant", "content": "b"}, user("c"), CALL, OUTPUT]
        made = self.compact(client, input=said, instructions="Be brief.").body
        first, second, rest = made["output"]
        assert made["object"] == "response.compaction"
        assert first["id"] != "msg_mine"
        assert [item["content"][0]["text"] for item in (first, second)] == ["a", "c"]
        assert rest["type"] == "compaction"
        assert made["usage"]["input_tokens"] > estimate_tokens(said)
        assert owner_of_content(rest["encrypted_content"]).item == rest["id"]

    @pytest.mark.parametrize("turn", [compaction(), {"compaction": None}, {"type": "compaction"}])
    def test_a_scripted_compaction_has_a_ciphertext_that_may_be_sent_back(self, client: Client, turn: Any) -> None:
        client.mock.script([turn, "Once."], "Going on.")
        made, _ = client.ask("a", stream=True).body["output"]
        assert owner_of_content(made["encrypted_content"]).item == made["id"]
        assert client.ask([made, user("go on")]).status == 200

    def test_compaction_may_begin_with_a_stored_response(self, client: Client) -> None:
        id = client.ask("a").body["id"]
        made = self.compact(client, previous_response_id=id, input="b").body
        assert [item.get("role", item["type"]) for item in made["output"]] == ["user", "user", "compaction"]

    def test_compaction_is_sent_back_as_input_and_not_named(self, client: Client) -> None:
        made = self.compact(client, input="a").body
        assert client.ask([*made["output"], user("go on")]).status == 200
        assert client.ask(previous_response_id=made["id"]).rule == "previous_response_not_found"
        assert client.send(f"GET /responses/{made['id']}").status == 404

    def test_compaction_needs_calls_that_are_answered(self, client: Client) -> None:
        client.mock.script(function_call("f", {}, call_id="call_1"))
        id = client.ask(tools=functions("f")).body["id"]
        refused = self.compact(client, previous_response_id=id)
        assert error(refused) == (400, "No tool output found for function call call_1.", "input", None)

    @pytest.mark.parametrize(
        ("body", "rule"),
        [
            ({"previous_response_id": "resp_x"}, "previous_response_not_found"),
            ({"previous_response_id": "abc"}, "item_id_prefix"),
            ({"input": [{"type": "item_reference", "id": "msg_x"}]}, "item_not_found"),
            ({"input": [{"role": "assistant", "content": [{"type": "input_text", "text": ""}]}]}, "assistant_content"),
            ({"model": ""}, "model_not_found"),
            ({"client_metadata": {}}, "unknown_parameter"),
            ({"input": 5}, "invalid_type"),
        ],
    )
    def test_compaction_is_judged_like_a_response(self, client: Client, body: Any, rule: str) -> None:
        assert self.compact(client, **body).rule == rule

    def test_compaction_needs_a_model(self, client: Client) -> None:
        refused = error(client.send("POST /responses/compact", {"input": "a"}))
        assert refused[1:] == ("Missing required parameter: 'model'.", "model", "missing_required_parameter")

    @pytest.mark.parametrize(
        "body",
        [
            {"model": None, "input": "a"},
            {"input": None},
            {"input": "a", "tools": [], "parallel_tool_calls": False, "reasoning": None, "text": {"verbosity": "low"}},
            {"input": "a", "prompt_cache_key": "k", "service_tier": "auto", "image": {"context_compression": "auto"}},
        ],
    )
    def test_compaction_takes_what_its_clients_send(self, client: Client, body: Any) -> None:
        assert self.compact(client, **body).status == 200


class TestCounting:
    def count(self, client: Client, **body: Any) -> Answer:
        return client.send("POST /responses/input_tokens", body)

    def test_counting_gives_the_tokens_that_a_response_would_use(self, client: Client) -> None:
        asked = {"model": "gpt-4.1", "input": "hi there", "instructions": "Be brief.", "tools": functions("f")}
        made = self.count(client, **asked).body
        used = client.send("POST /responses", asked).body["usage"]["input_tokens"]
        assert made == {"object": "response.input_tokens", "input_tokens": used}

    def test_counting_includes_what_a_request_continues(self, client: Client) -> None:
        id = client.ask("a" * 400).body["id"]
        conversation = client.send("POST /conversations", {"items": [user("b" * 400)]}).body["id"]
        alone = self.count(client, input="c").body["input_tokens"]
        for place in ({"previous_response_id": id}, {"conversation": conversation}):
            assert self.count(client, input="c", **place).body["input_tokens"] >= alone + 100

    def test_counting_nothing_gives_zero(self, client: Client) -> None:
        assert self.count(client).body["input_tokens"] == 0

    @pytest.mark.parametrize(
        ("body", "rule"),
        [
            ({"previous_response_id": "resp_x", "conversation": "conv_x"}, "previous_response_and_conversation"),
            ({"conversation": "conv_x"}, "conversation_not_found"),
            ({"conversation": "abc"}, "item_id_prefix"),
            ({"input": [user("a"), CALL]}, "call_needs_output"),
            ({"tools": [{"type": "function"}]}, "missing_required_parameter"),
            ({"temperature": 1}, "unknown_parameter"),
            ({"truncation": "x"}, "invalid_value"),
        ],
    )
    def test_counting_is_judged_like_a_response(self, client: Client, body: Any, rule: str) -> None:
        assert self.count(client, **body).rule == rule

    def test_counting_does_not_wait_for_a_locked_conversation(self, client: Client) -> None:
        conversation = client.send("POST /conversations").body["id"]
        client.ask(conversation=conversation, background=True)
        assert self.count(client, conversation=conversation).status == 200


class TestInAProject:
    def test_compaction_in_a_project_keeps_instructions_too(self) -> None:
        """Recorded 2026-06-19, of a system message without a `type`."""
        body = {"model": "gpt-5.2", "input": [{"role": "system", "content": "Be brief."}, user("a")]}
        made = Project("2026-06-19").ask("POST /responses/compact", body).body
        assert [item.get("role", item["type"]) for item in made["output"]] == ["system", "user", "compaction"]
        assert made["usage"]["input_tokens_details"] == {"cached_tokens": 0}

    def test_compaction_in_a_project_gives_messages_that_are_not_stored_new_ids(self) -> None:
        """Recorded 2026-06-19: a compaction is sent back and compacted again."""
        project = Project("2026-06-19")
        stored = project.respond(input="a").body["id"]
        listed = project.ask(f"GET /responses/{stored}/input_items").body["data"]
        sent: Any = [user("a")]
        ids = []
        for _ in range(2):
            sent = project.ask("POST /responses/compact", {"model": "gpt-5.2", "input": sent}).body["output"]
            ids.append(sent[0]["id"])
        assert len(set(ids)) == 2
        body = {"model": "gpt-5.2", "input": [], "previous_response_id": stored}
        assert project.ask("POST /responses/compact", body).body["output"][0]["id"] == listed[0]["id"]

    def test_in_a_project_has_the_headers_of_a_response_but_for_its_model_and_retention(self) -> None:
        """Recorded 2026-06-19."""
        project = Project("2026-06-19")
        made = project.ask("POST /responses/compact", {"model": "gpt-4o", "input": "a"})
        omitted = project.respond().headers.keys() - made.headers.keys()
        assert omitted == {"x-ms-aoai-configured-data-retention-days", "x-ms-served-model"}
        assert made.headers["content-type"] == "application/json"
        assert made.headers["x-ratelimit-key"] == "gpt-4o"
        assert made.headers["azureai-fe-is-streaming"] == "False"

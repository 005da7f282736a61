"""What a request's own options make of a turn: its schema, its limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.core.exchange import Answer
from harness.ending import completed, failed, incomplete
from harness.endpoints.output_limits import check_turn
from harness.items import (
    function_call,
    mcp_call,
    message,
    output_text,
    reasoning,
    refusal,
    url_citation,
    web_search_call,
)
from tests.support.in_process import Client

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
FITTING = json.dumps({"city": "Oslo", "days": [1]})


def formatted(**more: Any) -> dict[str, Any]:
    return {"text": {"format": {"type": "json_schema", "name": "trip", "schema": SCHEMA, **more}}}


class TestASchema:
    @pytest.mark.parametrize("strict", [{}, {"strict": True}, {"strict": None}])
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("Oslo.", "it is no JSON: "),
            ('{"city": "Oslo"}', '"days" is a required property'),
            ('{"city": "Oslo", "days": [1, "x"]}', '"x" is not of type "integer" (at [\'days\'][1])'),
        ],
    )
    def test_that_a_text_breaks_is_the_scripts_mistake(
        self, client: Client, strict: Any, text: str, reason: str
    ) -> None:
        client.mock.script(message(text))
        answer = client.ask(**formatted(**strict))
        assert (answer.status, answer.body["error"]["code"]) == (418, "ScriptError")
        told = answer.body["error"]["message"]
        assert told.startswith(f"message: {text!r} is not what text.format (trip) asks for: {reason}")
        assert told.endswith("or say that this one need not: [message('…'), completed(off_schema=True)].")
        assert client.world.problems

    @pytest.mark.parametrize(
        "turn",
        [
            message(FITTING),
            message(list(FITTING)),
            [message("Let me see.", phase="commentary"), message(FITTING, phase="final_answer")],
            message(refusal("No.")),
            function_call("f", "{}"),
            [message("Oslo."), completed(off_schema=True)],
            [message(FITTING[:9]), incomplete()],
        ],
    )
    def test_is_kept_or_need_not_be(self, client: Client, turn: Any) -> None:
        client.mock.script(turn)
        assert client.ask(**formatted()).status == 200

    def test_that_is_not_strict_may_be_broken(self, client: Client) -> None:
        client.mock.script(message("Oslo."))
        assert client.ask(**formatted(strict=False)).status == 200

    @pytest.mark.parametrize("schema", [{"type": "bogus"}, {"$ref": "#/nope"}, {"$ref": "http://unknown.invalid/"}])
    def test_that_is_none_is_for_the_rules_to_refuse(self, schema: Any) -> None:
        asked = {"text": {"format": {"type": "json_schema", "name": "trip", "schema": schema}}}
        check_turn(asked, [message("{}")], completed())

    def test_is_not_asked_of_a_failure(self, client: Client) -> None:
        client.mock.script([message("Os"), failed()])
        assert client.ask(**formatted(), stream=True).status == 200


def cut(client: Client, limit: int = 16, **more: Any) -> Answer:
    return client.ask(max_output_tokens=limit, **more)


WORDS = " ".join(f"w{number}" for number in range(20))
SIXTEEN = " ".join(f"w{number}" for number in range(16))


class TestMaxOutputTokens:
    def test_cuts_a_text_of_more_words(self, client: Client) -> None:
        client.mock.script(message(f"{WORDS}.\n"), message(f"{WORDS}.\n"))
        said = cut(client).body
        assert (said["status"], said["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        assert said["output"][0]["status"] == "incomplete"
        assert said["output"][0]["content"][0]["text"] == SIXTEEN
        assert said["usage"]["output_tokens"] == 16
        stream = list(cut(client, stream=True).events or ())
        assert "".join(event["delta"] for event in stream if event["type"].endswith("text.delta")) == SIXTEEN
        assert stream[-1]["type"] == "response.incomplete"

    def test_cuts_no_text_that_might_have_fitted(self, client: Client) -> None:
        client.mock.script(message("extraordinarily " * 16))
        said = cut(client).body
        assert (said["status"], said["usage"]["output_tokens"] > 16) == ("completed", True)

    def test_keeps_the_exact_deltas(self, client: Client) -> None:
        client.mock.script(message([f"{word} " for word in WORDS.split()]))
        deltas = [
            event["delta"] for event in cut(client, stream=True).events or () if event["type"].endswith("text.delta")
        ]
        assert deltas == [*[f"{word} " for word in SIXTEEN.split()[:-1]], "w15"]

    def test_counts_the_words_of_all_messages_and_nothing_else(self, client: Client) -> None:
        called = mcp_call("docs", "ask", output=WORDS)
        client.mock.script(
            [reasoning(WORDS), called, message("One two.", phase="commentary"), message(WORDS), message("")]
        )
        output = cut(client).body["output"]
        assert [item["type"] for item in output] == ["reasoning", "mcp_call", "message", "message"]
        assert output[2]["content"][0]["text"] == "One two."
        assert output[3]["content"][0]["text"] == " ".join(WORDS.split()[:14])
        assert [item.get("status") for item in output] == [None, "completed", "completed", "incomplete"]

    def test_drops_the_parts_behind_the_cut_and_what_was_noted_there(self, client: Client) -> None:
        notes = [url_citation("https://e.org", "E", cite="w0"), url_citation("https://e.org", "E", cite="w19")]
        tokens = [
            {"token": word if not n else f" {word}", "logprob": 0, "bytes": [], "top_logprobs": []}
            for n, word in enumerate(WORDS.split())
        ]
        client.mock.script(message(output_text(WORDS, annotations=notes, logprobs=tokens), "More."))
        (part,) = cut(client, include=["message.output_text.logprobs"]).body["output"][0]["content"]
        assert [note["end_index"] for note in part["annotations"]] == [2]
        assert "".join(entry["token"] for entry in part["logprobs"]) == SIXTEEN

    def test_cuts_a_refusal(self, client: Client) -> None:
        client.mock.script(message(refusal(WORDS)))
        assert cut(client).body["output"][0]["content"] == [{"type": "refusal", "refusal": SIXTEEN}]

    def test_leaves_a_turn_alone_that_says_itself_how_it_ends(self, client: Client) -> None:
        client.mock.script([message(WORDS), incomplete("content_filter")])
        said = cut(client).body
        assert said["incomplete_details"] == {"reason": "content_filter"}
        assert said["output"][0]["content"][0]["text"] == WORDS


class TestMaxToolCalls:
    def test_makes_more_calls_of_hosted_tools_the_scripts_mistake(self, client: Client) -> None:
        client.mock.script([web_search_call("a"), mcp_call("docs", "ask"), function_call("f"), function_call("g")])
        answer = client.ask(max_tool_calls=1)
        assert answer.status == 418
        assert "2 calls of the API's own tools, but max_tool_calls is 1" in answer.body["error"]["message"]

    def test_allows_as_many_and_does_not_count_the_clients(self, client: Client) -> None:
        client.mock.script([web_search_call("a"), function_call("f"), function_call("g")])
        assert client.ask(max_tool_calls=1).status == 200

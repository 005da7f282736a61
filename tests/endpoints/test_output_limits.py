"""What `max_output_tokens` makes of a turn."""

from typing import Any

from harness.core.exchange import Answer
from harness.ending import failed, incomplete
from harness.items import mcp_call, message, output_text, reasoning, refusal, url_citation
from tests.support.in_process import Client, types
from tests.support.tools import mcp_tool

WINDOW_EXCEEDED = ["created", "in_progress", "error", "failed"]
MORE = "more " * 8_193


def cut(client: Client, limit: int = 16, **more: Any) -> Answer:
    return client.ask(max_output_tokens=limit, **more)


def text_deltas(answer: Answer) -> list[str]:
    return [event["delta"] for event in answer.events or () if event["type"].endswith("text.delta")]


WORDS = " ".join(f"w{number}" for number in range(20))
SIXTEEN = " ".join(f"w{number}" for number in range(16))


class TestMaxOutputTokens:
    def test_max_output_tokens_cuts_a_text_of_more_words(self, client: Client) -> None:
        client.mock.script(message(f"{WORDS}.\n"), message(f"{WORDS}.\n"))
        said = cut(client).body
        assert (said["status"], said["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        assert said["output"][0]["status"] == "incomplete"
        assert said["output"][0]["content"][0]["text"] == SIXTEEN
        assert said["usage"]["output_tokens"] == 16
        stream = cut(client, stream=True)
        assert ("".join(text_deltas(stream)), types(stream)[-1]) == (SIXTEEN, "incomplete")

    def test_max_output_tokens_cuts_no_text_that_might_have_fitted(self, client: Client) -> None:
        client.mock.script(message("extraordinarily " * 16))
        said = cut(client).body
        assert (said["status"], said["usage"]["output_tokens"] > 16) == ("completed", True)

    def test_max_output_tokens_keeps_the_exact_deltas(self, client: Client) -> None:
        client.mock.script(message([f"{word} " for word in WORDS.split()]))
        assert text_deltas(cut(client, stream=True)) == [*[f"{word} " for word in SIXTEEN.split()[:-1]], "w15"]

    def test_max_output_tokens_counts_the_words_of_all_messages_and_nothing_else(self, client: Client) -> None:
        called = mcp_call("docs", "ask", output=WORDS)
        comment = message("One two.", phase="commentary")
        client.mock.script([reasoning(WORDS), called, comment, message(WORDS), message("")])
        output = cut(client, tools=[mcp_tool("docs")]).body["output"]
        assert [item["type"] for item in output] == ["reasoning", "mcp_call", "message", "message"]
        assert output[2]["content"][0]["text"] == "One two."
        assert output[3]["content"][0]["text"] == " ".join(WORDS.split()[:14])
        assert [item.get("status") for item in output] == [None, "completed", "completed", "incomplete"]

    def test_max_output_tokens_drops_the_parts_behind_the_cut_and_what_was_noted_there(self, client: Client) -> None:
        notes = [url_citation("https://e.org", "E", cite="w0"), url_citation("https://e.org", "E", cite="w19")]
        words = ["w0", *(f" w{number}" for number in range(1, 20))]
        tokens = [{"token": word, "logprob": 0, "bytes": [], "top_logprobs": []} for word in words]
        client.mock.script(message(output_text(WORDS, annotations=notes, logprobs=tokens), "More."))
        (part,) = cut(client, include=["message.output_text.logprobs"]).body["output"][0]["content"]
        assert [note["end_index"] for note in part["annotations"]] == [2]
        assert "".join(entry["token"] for entry in part["logprobs"]) == SIXTEEN

    def test_max_output_tokens_drops_a_part_that_has_no_word_left(self, client: Client) -> None:
        for limit, left in (16, [SIXTEEN]), (17, [SIXTEEN, "One"]):
            client.mock.script(message(SIXTEEN, "One two."))
            assert [part["text"] for part in cut(client, limit).body["output"][0]["content"]] == left

    def test_max_output_tokens_cuts_a_refusal(self, client: Client) -> None:
        client.mock.script(message(refusal(WORDS)))
        assert cut(client).body["output"][0]["content"] == [{"type": "refusal", "refusal": SIXTEEN}]

    def test_max_output_tokens_leaves_a_turn_alone_that_says_itself_how_it_ends(self, client: Client) -> None:
        client.mock.script([message(WORDS), incomplete("content_filter")])
        said = cut(client).body
        assert said["incomplete_details"] == {"reason": "content_filter"}
        assert said["output"][0]["content"][0]["text"] == WORDS


class TestAnInputThatExceedsTheWindow:
    def test_an_input_that_exceeds_the_window_fails_in_its_stream_and_takes_no_turn(self, client: Client) -> None:
        client.mock.script(message("Next."))
        answer = client.ask(model="gpt-4", input=MORE, stream=True)
        assert (answer.status, types(answer)) == (200, WINDOW_EXCEEDED)
        assert answer.events[-1]["response"]["error"]["code"] == "context_length_exceeded"
        assert client.ask(model="gpt-4", input="hi").body["output"][0]["content"][0]["text"] == "Next."

    def test_an_input_that_exceeds_the_window_can_be_scripted_for_any_model(self, client: Client) -> None:
        client.mock.script(failed("context_length_exceeded"), failed("context_length_exceeded"))
        assert types(client.ask(model="my-model", stream=True)) == WINDOW_EXCEEDED
        scripted, unscripted = client.ask(model="my-model"), client.ask(model="gpt-4", input=MORE)
        assert (scripted.status, unscripted.status, scripted.body) == (400, 400, unscripted.body)

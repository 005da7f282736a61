"""What a model without a script says beside calls: compactions, logprobs, usage, phases."""

import orjson
import pytest

from harness.items import message, reasoning
from tests.support.clients.unscripted import KEY, Conversation


@pytest.mark.parametrize("stream", [False, True])
def test_a_context_past_its_threshold_is_compacted_after_the_text(stream: bool) -> None:
    managed = {"context_management": [{"type": "compaction", "compact_threshold": 1000}], "stream": stream}
    talk, long = Conversation(**managed), "word " * 1000
    assert talk.types("hi") == ["message"]
    first = talk.ask(long).body
    assert [item["type"] for item in first["output"]] == ["message", "compaction"]
    second = talk.ask("And?", previous_response_id=first["id"]).body
    assert [item["type"] for item in second["output"]] == ["message"]
    asked = {"role": "user", "content": long}
    assert talk.types([asked, *first["output"], {"role": "user", "content": "And?"}]) == ["message"]
    assert talk.types([first["output"][-1], asked]) == ["message", "compaction"]


def test_a_trigger_compacts_and_nothing_else() -> None:
    talk = Conversation()
    history = [{"role": "user", "content": "hi"}, {"type": "compaction_trigger"}]
    (made,) = talk.ask(history).body["output"]
    assert (made["type"], made["encrypted_content"][:5]) == ("compaction", "gAAAA")
    assert talk.types([made, {"role": "user", "content": "Go on."}]) == ["message"]


@pytest.mark.parametrize("top", [0, 1, 5, 20])
@pytest.mark.parametrize("stream", [False, True])
def test_logprobs_are_given_for_each_token(top: int, stream: bool) -> None:
    included = {"include": ["message.output_text.logprobs"], "top_logprobs": top, "stream": stream}
    answer = Conversation(model="gpt-4.1", **included).ask("hi")
    (part,) = answer.body["output"][0]["content"]
    assert "".join(entry["token"] for entry in part["logprobs"]) == part["text"]
    for entry in part["logprobs"]:
        assert bytes(entry["bytes"]).decode() == entry["token"]
        assert len({logprob["token"] for logprob in entry["top_logprobs"]}) == top
        assert all(logprob["logprob"] <= entry["logprob"] < 0 for logprob in entry["top_logprobs"])
    deltas = [event for event in answer.events or () if event["type"] == "response.output_text.delta"]
    assert all(len(event["logprobs"]) == 1 for event in deltas)
    assert bool(deltas) == stream


def test_logprobs_are_given_only_where_they_are_included() -> None:
    said = Conversation(model="gpt-4.1", top_logprobs=2).ask("hi").body["output"][0]["content"][0]
    assert said["logprobs"] == []


def test_the_reasoning_of_a_script_is_counted() -> None:
    talk = Conversation(reasoning={"effort": "high"})
    talk.api.open(KEY).script([reasoning("Hm."), message("Yes.")])
    assert talk.ask("hi").body["usage"]["output_tokens_details"]["reasoning_tokens"] == 5


@pytest.mark.parametrize(
    ("model", "phase"),
    [("gpt-4.1", None), ("gpt-5.2", None), ("gpt-5.3-codex", "final_answer"), ("gpt-5.6-sol", "final_answer")],
)
def test_the_newer_models_mark_their_final_answer(model: str, phase: str | None) -> None:
    assert Conversation(model=model).ask("hi").body["output"][-1].get("phase") == phase


def test_the_format_of_a_text_is_that_of_the_last_update() -> None:
    format = {"type": "json_schema", "name": "count", "strict": True, "schema": COUNT}
    update = {"type": "configuration_update", "text": {"format": format}}
    talk = Conversation(model="gpt-6-astra")
    first = talk.ask([{"role": "user", "content": "How many crates?"}, update]).body
    second = talk.ask("And how many pallets?", previous_response_id=first["id"]).body
    for answer in (first, second):
        assert orjson.loads(answer["output"][-1]["content"][0]["text"]) == {"n": 0}


COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}

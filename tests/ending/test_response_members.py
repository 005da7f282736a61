"""What a script sets of a response beside its output: its usage, its tier, its model, its metadata."""

from datetime import date
from typing import Any

import openai
import pytest

from harness.core.errors import HarnessError, ScriptError
from harness.core.exchange import Json, Request
from harness.ending import failed, incomplete, response, usage
from harness.faults import cut
from harness.items import message
from harness.world.api_call import ApiCall
from harness.world.mock import Mock
from harness.world.script import Script
from harness.world.scripting.document import parse_sent_script


def test_a_usage_is_that_of_the_answer_and_of_what_is_stored(mock: Mock, client: openai.OpenAI) -> None:
    mock.script(usage("Hi.", input_tokens=2000, cached=1024, cache_written=7, output_tokens=9, reasoning=4))
    made = client.responses.create(model="gpt-4.1", input="x")
    assert made.usage is not None
    assert made.usage.to_dict() == {
        "input_tokens": 2000,
        "input_tokens_details": {"cache_write_tokens": 7, "cached_tokens": 1024},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 2009,
    }
    assert client.responses.retrieve(made.id).usage == made.usage


def test_counts_that_are_left_out_are_counted_as_ever(mock: Mock, client: openai.OpenAI) -> None:
    mock.script("Hi.", usage("Hi.", input_tokens=2000))
    plain, set_ = (client.responses.create(model="gpt-4.1", input="x").usage for _ in range(2))
    assert plain is not None
    assert set_ is not None
    assert (set_.input_tokens, set_.output_tokens) == (2000, plain.output_tokens)
    assert set_.total_tokens == 2000 + plain.output_tokens


def test_members_are_set_in_the_answer_its_stream_and_what_is_stored(mock: Mock, client: openai.OpenAI) -> None:
    own: Json = {"model": "gpt-4.1-mini-2025-04-14", "service_tier": "priority", "metadata": {"a": "b"}}
    mock.script(response([message("Once"), incomplete()], **own), response("Hi.", **own))
    with client.responses.stream(model="gpt-4.1", input="x") as stream:
        events = list(stream)
    first, last = events[0].response, events[-1].response  # type: ignore[union-attr]
    assert (first.model, first.service_tier, first.metadata) == (own["model"], "priority", own["metadata"])
    assert (last.model, last.service_tier, last.status) == (own["model"], "priority", "incomplete")
    made = client.responses.create(model="gpt-4.1", input="x")
    assert {name: getattr(made, name) for name in own} == own
    assert client.responses.retrieve(made.id).model == own["model"]


def test_what_one_answer_sets_the_next_to_the_same_request_has_not(mock: Mock, client: openai.OpenAI) -> None:
    mock.script("Hi.", response("Hi.", model="gpt-4.1-mini-2025-04-14"), "Hi.", response("Hi.", metadata={"a": "b"}))
    asked: Json = {"model": "gpt-4.1", "input": "x", "stream": True}
    firsts = [next(iter(client.responses.create(**asked))).response for _ in range(4)]  # type: ignore[union-attr]
    plain = "gpt-4.1-2025-04-14"
    assert [first.model for first in firsts] == [plain, "gpt-4.1-mini-2025-04-14", plain, plain]
    assert [first.metadata for first in firsts] == [{}, {}, {}, {"a": "b"}]


def test_lines_add_up_and_go_with_faults_and_functions(mock: Mock, client: openai.OpenAI) -> None:
    mock.script(lambda request: usage(response("Hi.", service_tier="flex"), input_tokens=3))
    mock.script(
        usage(usage(lambda request: "Hi.", input_tokens=5), output_tokens=7),
        cut(usage("Hi.", input_tokens=1), after=99),
    )
    made = [client.responses.create(model="gpt-4.1", input="x") for _ in range(2)]
    assert (made[0].service_tier, made[0].usage and made[0].usage.input_tokens) == ("flex", 3)
    assert made[1].usage is not None
    assert (made[1].usage.input_tokens, made[1].usage.output_tokens) == (5, 7)
    with pytest.raises(openai.APIConnectionError):
        client.responses.create(model="gpt-4.1", input="x")


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({}, "usage: no count. Pass one of input_tokens, output_tokens,"),
        ({"input_tokens": -1}, "usage: input_tokens is -1. Pass a non-negative integer."),
        ({"input_tokens": True}, "usage: input_tokens is True."),
        ({"input_tokens": "5"}, "usage: input_tokens is '5'."),
        ({"output_tokens": 1.5}, "usage: output_tokens is 1.5."),
        ({"input_tokens": 2**53}, "usage: input_tokens is 9007199254740992."),
        ({"cached": 1}, "usage: cached is 1, a part of input_tokens, which is not given. Pass input_tokens as well."),
        ({"cached": 5, "input_tokens": 4}, "usage: cached is 5, a part of input_tokens, which is 4."),
        ({"reasoning": 5}, "usage: reasoning is 5, a part of output_tokens, which is not given."),
        ({"input": 5}, "'input'"),
    ],
    ids=str,
)
def test_counts_that_no_response_has_are_refused(counts: Json, says: str) -> None:
    with pytest.raises((ScriptError, TypeError)) as told:
        usage("x", **counts)
    assert says in str(told.value)
    with pytest.raises(HarnessError):
        parse_sent_script({"turns": [["x", {"usage": counts}]]})


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({}, "response: no members."),
        ({"service_tyer": "x"}, "response: no member 'service_tyer'. Did you mean 'service_tier'?"),
        ({"service_tier": 5}, "response: service_tier: "),
        ({"metadata": "a"}, "response: metadata: "),
        ({"metadata": {"a": {1}}}, "response: Object of type set is not JSON serializable. Pass plain JSON"),
        ({"metadata": {"a": date(2026, 1, 2)}}, "response: Object of type date is not JSON serializable."),
        ({"temperature": float("nan")}, "response: Out of range float values are not JSON compliant"),
        ({"model": "\ud800"}, "Pass plain JSON values; strings must be valid Unicode."),
        ({"status": "incomplete"}, "response: status is not set so. End the turn with incomplete(…) or failed(…)."),
        ({"usage": {}}, "response: usage is not set so. Pass usage(turn, input_tokens=…)."),
        ({"output": []}, "response: output is not set so. Pass the items of the turn."),
        ({"id": "resp_1"}, "response: id is not set so. The mock decides it;"),
    ],
    ids=str,
)
def test_members_that_no_script_can_set_are_refused(members: Json, says: str) -> None:
    with pytest.raises(ScriptError) as told:
        Script().add([response("x", **members)])
    assert says in str(told.value)


def test_a_wrong_model_is_reported_in_a_line_or_two() -> None:
    with pytest.raises(ScriptError) as told:
        Script().add([response("x", model=5)])
    assert len(str(told.value)) < 350


def test_a_failed_turn_has_no_usage() -> None:
    with pytest.raises(ScriptError, match=r"^script: usage: a failed response has none\. "):
        Script().add([usage(failed(), input_tokens=5)])


def test_members_stay_as_they_were_given() -> None:
    metadata = {"a": "b"}
    turn = response("Hi.", metadata=metadata)
    metadata["a"] = "c"
    assert turn[-1].members == {"metadata": {"a": "b"}}


def test_a_document_says_the_same() -> None:
    lines: list[Any] = ["Hi.", {"usage": {"input_tokens": 9, "cached": 8}}, {"response": {"service_tier": "flex"}}]
    mock, asked = Mock(), Request("POST", "/responses", body={"model": "gpt-4.1", "input": "x"})
    parse_sent_script({"turns": [lines]}).apply(mock)
    mock.script(response(usage("Hi.", input_tokens=9, cached=8), service_tier="flex"))
    call = ApiCall(asked, mock.world)
    assert mock.world.script.next(call).lines == mock.world.script.next(call).lines


@pytest.mark.parametrize(
    ("line", "at", "says"),
    [
        ({"usage": {"input": 9}}, "turns[0][1].usage.input", "no usage argument 'input'. Did you mean 'input_tokens'?"),
        ({"usage": 5.5}, "turns[0][1].usage", "usage: input_tokens is 5.5."),
        ({"response": {"modl": "x"}}, "turns[0]", "response: no member 'modl'. Did you mean 'model'?"),
        ({"response": 5}, "turns[0][1].response", "response: "),
    ],
    ids=str,
)
def test_a_mistake_in_a_document_is_reported_with_its_place(line: Json, at: str, says: str) -> None:
    with pytest.raises(HarnessError) as told:
        parse_sent_script({"turns": [["x", line]]})
    assert says in str(told.value)
    assert told.value.location == at  # type: ignore[attr-defined]


def test_a_run_has_none_of_it(mock: Mock, client: openai.OpenAI) -> None:
    mock.script(usage("Hi.", input_tokens=9))
    headers = {"OpenAI-Beta": "assistants=v2"}
    made = client.with_options(default_headers=headers)
    assistant: Json = made.post("/assistants", body={"model": "gpt-4.1", "instructions": "Be brief."}, cast_to=object)  # type: ignore[assignment]
    with pytest.raises(openai.APIStatusError, match="usage is of a response; a run counts its own"):
        made.post("/threads/runs", body={"assistant_id": assistant["id"]}, cast_to=object)
    mock.world.problems.clear()

"""Reasoning that a model from GPT-6.2 on does not get: what the answer says of it, and what the loss explains."""

from typing import Any

import pytest

from harness.analysis.loss import (
    DEPLOY,
    NOTIFY,
    PROMPT,
    REPLY,
    THOUGHT,
    TOOLS,
    assistant,
    call,
    losses_of,
    output,
    sketch,
)
from harness.api.encrypted_content import ContentOwner, make_encrypted_content
from harness.core.exchange import Json
from harness.items import function_call, reasoning
from tests.support.in_process import Client, post
from tests.support.websockets import Socket

ASTRA: Json = {"model": "gpt-6.2-astra"}
LEDGER: Json = {"role": "developer", "content": "Check the totals in the ledger. Name the rows."}
ROWS = '[{"amount": 40}, {"amount": 50}]'


@pytest.fixture
def client() -> Client:
    made = Client()
    made.mock.script([THOUGHT, DEPLOY], [THOUGHT, NOTIFY], REPLY)
    return made


def removed(id: str, reason: str) -> Json:
    return {"id": id, "action": "removed", "reason": reason, "type": "reasoning"}


def thought_of(answer: Json) -> Json:
    return answer["output"][0]


def test_reasoning_after_a_shortened_output_is_withheld_and_that_before_it_is_not(client: Client) -> None:
    first = client.ask([LEDGER, PROMPT], **ASTRA).body
    asked = [LEDGER, PROMPT, thought_of(first), call(), output(value=ROWS)]
    second = client.ask(asked, **ASTRA).body
    notified = call("call_2", "notify", '{"who":"ops"}')
    edited = [*asked[:-1], output(value='[{"amount": 90}]'), thought_of(second), notified, output("call_2")]
    answer = client.ask(edited, **ASTRA).body
    assert answer["input_transformations"] == [removed(thought_of(second)["id"], "prefix_mismatch")]
    (lost,) = client.mock.losses
    assert (lost.loss, lost.at, lost.said) == ("reasoning-withheld", "input[4]", 2)
    assert "the client shortened `output` of the function_call_output (call_1) from" in lost.message
    assert r"{\"amount\": 40}" in lost.message
    assert lost.fix == "Shorten outputs, images and files before they are sent for the first time, never afterwards."


def test_the_answer_says_it_in_every_form(client: Client) -> None:
    first = client.ask([PROMPT], tools=TOOLS, **ASTRA).body
    shown = [removed(thought_of(first)["id"], "prefix_mismatch")]
    sent: Json = {"previous_response_id": first["id"], "tools": TOOLS[::-1], **ASTRA}
    streamed = client.ask([output()], stream=True, **sent)
    assert streamed.events is not None
    responses = [event["response"] for event in streamed.events if "response" in event]
    assert len(responses) == 3
    assert [response["input_transformations"] for response in responses] == [shown] * 3
    retrieved = client.send(f"GET /responses/{streamed.body['id']}").body
    assert retrieved["input_transformations"] == shown
    names = list(retrieved)
    assert names[names.index("input_transformations") + 1] == "instructions"


def test_a_web_socket_withholds_it_too() -> None:
    socket = Socket()
    socket.mock.script([THOUGHT, DEPLOY], REPLY)
    first = socket.made([PROMPT], store=False, tools=TOOLS, **ASTRA)
    then = socket.made([output()], previous_response_id=first["id"], store=False, **ASTRA)
    assert then["input_transformations"] == [removed(thought_of(first)["id"], "prefix_mismatch")]


@pytest.mark.parametrize("path", ["/openai/v1/responses", "/api/projects/p/openai/v1/responses"])
def test_azure_says_it_too(client: Client, path: str) -> None:
    first = post(client.api, {"input": "hi", "tools": TOOLS, **ASTRA}, path).body
    then = post(client.api, {"input": [output()], "previous_response_id": first["id"], **ASTRA}, path).body
    assert then["input_transformations"] == [removed(thought_of(first)["id"], "prefix_mismatch")]
    assert [lost.loss for lost in client.mock.losses] == ["reasoning-withheld"]


def test_an_answer_from_which_nothing_was_withheld_does_not_mention_it(client: Client) -> None:
    first = client.ask([PROMPT], **ASTRA).body
    assert "input_transformations" not in first
    assert "input_transformations" not in client.ask([output()], previous_response_id=first["id"], **ASTRA).body


@pytest.mark.parametrize("members", [{"model": "gpt-6.1-sol"}, {"model": "gpt-5.6-sol"}, {"model": "gpt-5"}])
def test_earlier_models_withhold_nothing(client: Client, members: Json) -> None:
    first = client.ask([PROMPT], tools=TOOLS, **members).body
    answer = client.ask([output()], previous_response_id=first["id"], **members).body
    assert "input_transformations" not in answer
    assert client.mock.losses == []


def test_the_models_withheld_nothing_before_their_release() -> None:
    client = Client()
    client.world.set_date("2026-11-16")
    client.mock.script([THOUGHT, DEPLOY], REPLY)
    first = client.ask([PROMPT], tools=TOOLS, **ASTRA).body
    assert "input_transformations" not in client.ask([output()], previous_response_id=first["id"], **ASTRA).body


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        ({}, {"model": "gpt-6.2-sol"}, "model_mismatch"),
        ({"model": "gpt-6.2-sol"}, {}, None),
        ({"model": "gpt-6.1-sol"}, {"tools": TOOLS}, None),
        ({"safety_identifier": "ann"}, {"safety_identifier": "bob"}, "end_user_mismatch"),
        ({"user": "ann"}, {"user": "bob"}, "end_user_mismatch"),
        ({}, {"safety_identifier": "bob"}, None),
        ({"safety_identifier": "ann"}, {}, None),
        ({"reasoning": {"effort": "high"}}, {}, "prefix_mismatch"),
        ({}, {"text": {"format": {"type": "text"}}, "tools": [], "reasoning": {"effort": "medium"}}, None),
        ({"instructions": "Be brief."}, {"instructions": "Be kind."}, None),
        ({"safety_identifier": "ann"}, {"safety_identifier": "bob", "model": "gpt-6.2-sol"}, "end_user_mismatch"),
    ],
)
def test_what_changed_is_the_reason(client: Client, before: Json, now: Json, reason: str | None) -> None:
    first = client.ask([PROMPT], **{**ASTRA, **before}).body
    answer = client.ask([output()], previous_response_id=first["id"], **{**ASTRA, **now}).body
    shown = [removed(thought_of(first)["id"], reason)] if reason else None
    assert answer.get("input_transformations") == shown
    assert [reason for lost in client.mock.losses if f"({reason})" in lost.message] == [reason] * bool(reason)


def test_reasoning_of_another_organization_is_withheld_where_earlier_models_refuse_it(client: Client) -> None:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": make_encrypted_content(ContentOwner("org-other", "rs_1"), 0),
    }
    assert client.ask([item, PROMPT], model="gpt-6.1-sol").status == 400
    answer = client.ask([item, PROMPT], **ASTRA)
    assert answer.body["input_transformations"] == [removed("rs_1", "organization_mismatch")]
    assert [lost.loss for lost in client.mock.losses] == ["reasoning-withheld"]


def test_reasoning_of_earlier_turns_is_withheld_on_request(client: Client) -> None:
    first = client.ask([PROMPT], **ASTRA).body
    again = sketch("P", thought_of(first), "C O")
    turn: Json = {"reasoning": {"context": "current_turn"}, **ASTRA}
    assert "input_transformations" not in client.ask(again, **turn).body
    answer = client.ask(sketch(*again, "A N"), **turn).body
    assert answer["input_transformations"] == [removed(thought_of(first)["id"], "turn_boundary")]
    assert not [lost for lost in client.mock.losses if lost.loss.startswith("reasoning")]
    (lost,) = [lost for lost in losses_of(client.world.exchanges, strict=True) if lost.loss == "reasoning-outdated"]
    assert lost.fix == "Leave out `reasoning.context`, or the reasoning of earlier turns."


def test_reasoning_from_a_script_is_known_by_its_ciphertext() -> None:
    members: Json = {"store": False, "include": ["reasoning.encrypted_content"], **ASTRA}
    client = Client()
    client.mock.script([reasoning("Hm.", encrypted_content="gAAAAABsb25nIHRob3VnaHQ"), DEPLOY], REPLY)
    first = client.ask([PROMPT], **members).body
    thought = {name: value for name, value in thought_of(first).items() if name != "id"}
    answer = client.ask([LEDGER, PROMPT, thought, call(), output()], **members).body
    assert answer["input_transformations"] == [removed(thought_of(first)["id"], "prefix_mismatch")]


APPEND, LEAVE = "Send the history back as it was", "Leave the developer message as it was"


@pytest.mark.parametrize(
    ("sent", "why", "fix"),
    [
        ([PROMPT], "the client dropped the developer message", APPEND),
        (
            [LEDGER, assistant("Summary: ship v2.")],
            "the client replaced the user message by the assistant message",
            APPEND,
        ),
        (
            [{**LEDGER, "content": "Check the totals in the ledger. Name the columns."}, PROMPT],
            'the client changed `content` of the developer message from "…edger. Name the rows." to '
            '"…edger. Name the columns."',
            LEAVE,
        ),
        ([LEDGER, {"role": "developer", "content": "Hm."}, PROMPT], "the client inserted the developer message", LEAVE),
    ],
)
def test_the_edit_is_named_with_what_to_do_instead(client: Client, sent: list[Json], why: str, fix: str) -> None:
    first = client.ask([LEDGER, PROMPT], **ASTRA).body
    client.ask([*sent, thought_of(first), call(), output()], **ASTRA)
    (lost,) = [lost for lost in client.mock.losses if lost.loss == "reasoning-withheld"]
    assert lost.message.endswith(why)
    assert lost.fix.startswith(fix)


def test_arguments_nested_too_deep_are_not_compared() -> None:
    deep = "[" * 400 + "]" * 400
    client = Client()
    client.mock.script([function_call("deploy", deep, call_id="call_1", off_schema=True), THOUGHT, NOTIFY], REPLY)
    first = client.ask([PROMPT], **ASTRA).body
    answer = client.ask(sketch("P", *first["output"], "O O2"), **ASTRA)
    assert answer.status == 200
    assert "input_transformations" not in answer.body


def test_what_was_withheld_by_the_api_itself_is_reported(client: Client) -> None:
    client.ask([PROMPT], **ASTRA)
    exchange = client.world.exchanges[-1]
    body: dict[str, Any] = {**exchange.answer.body, "input_transformations": [removed("rs_0", "prefix_mismatch")]}
    client.world.exchanges[-1] = exchange._replace(answer=exchange.answer._replace(body=body))
    (lost,) = client.mock.losses
    assert (lost.at, lost.message.partition(" (prefix")[2]) == (
        "input",
        "_mismatch): the client edited what came before it",
    )

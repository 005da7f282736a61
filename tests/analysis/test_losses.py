"""Losses over whole journals: every way a conversation can be held, and what is no loss although it looks like one."""

from __future__ import annotations

from typing import Any

import pytest

from harness.analysis.loss import losses_of
from harness.analysis.losses.examples import (
    DEPLOY,
    NEXT,
    NOTIFY,
    PROMPT,
    REPLY,
    TEXT,
    THOUGHT,
    TOOLS,
    assistant,
    call,
    output,
    user,
)
from harness.core.exchange import Answer, Exchange, Json, Request
from harness.ending import completed, failed
from harness.items import custom_tool_call, function_call, mcp_approval_request, message, reasoning, shell_call
from harness.world.mock import Mock
from tests.support.in_process import Client, post
from tests.support.websockets import Socket


@pytest.fixture
def client() -> Client:
    return Client()


def ids(world: Mock, *, strict: bool = False) -> list[str]:
    return [lost.loss for lost in losses_of(world.exchanges, strict)]


class TestAConversationIsFollowed:
    def test_through_a_chain(self, client: Client) -> None:
        client.mock.script(DEPLOY, REPLY)
        first = client.ask([PROMPT]).body["id"]
        second = client.ask([output()], previous_response_id=first).body["id"]
        client.ask([PROMPT, call(), output(), assistant(TEXT), NEXT], previous_response_id=second)
        (lost,) = client.mock.losses
        assert (lost.loss, lost.exchange, lost.at, lost.said) == ("history-replayed", 3, "input[1]", 1)
        assert lost.message.startswith("2 items that this transcript holds already stand in it again")

    def test_through_a_stream(self, client: Client) -> None:
        client.mock.script(REPLY)
        client.ask([PROMPT], stream=True)
        client.ask([PROMPT, assistant(TEXT * 2), NEXT], stream=True)
        assert ids(client.world) == ["text-altered"]

    def test_through_a_background_response_which_a_retrieve_tells(self, client: Client) -> None:
        client.mock.script(REPLY)
        id = client.ask([PROMPT], background=True).body["id"]
        client.ask([PROMPT, assistant(TEXT), PROMPT, assistant(TEXT)])
        assert ids(client.world) == []
        for _ in range(3):
            client.send(f"GET /responses/{id}")
        client.ask([assistant(TEXT[:9])], previous_response_id=id)
        client.ask([PROMPT, assistant(TEXT[:9]), NEXT])
        (lost,) = client.mock.losses
        assert (lost.loss, lost.said, lost.exchange) == ("text-altered", 4, 7)

    def test_through_a_web_socket(self) -> None:
        socket = Socket()
        socket.mock.script(REPLY)
        first = socket.made([PROMPT], store=False)
        socket.create([assistant(TEXT), NEXT], previous_response_id=first["id"], store=False)
        assert ids(socket.world) == ["history-replayed"]

    def test_through_a_steer(self) -> None:
        socket = Socket()
        socket.mock.script(REPLY, message("Yes."), message("Yes."))
        first = socket.made([PROMPT], model="gpt-6-astra")
        steered = socket.steer(first["id"], [{"type": "message", **NEXT}])[-1]["response"]
        socket.create([assistant(TEXT)], previous_response_id=steered["id"])
        assert [(lost.loss, lost.exchange, lost.said) for lost in socket.mock.losses] == [("history-replayed", 3, 1)]

    @pytest.mark.parametrize("path", ["/openai/v1", "/api/projects/p/openai/v1"])
    def test_through_azure(self, path: str) -> None:
        client = Client()
        client.mock.script(REPLY)
        for asked in ([PROMPT], [PROMPT, assistant(TEXT), PROMPT, assistant(TEXT)]):
            post(client.api, {"model": "gpt-4.1", "input": asked}, f"{path}/responses")
        assert ids(client.world) == ["history-replayed"]

    def test_through_a_conversation_and_what_is_put_into_it(self, client: Client) -> None:
        client.mock.script(REPLY, DEPLOY)
        id = client.send("POST /conversations", {"items": [PROMPT]}).body["id"]
        said = client.ask([NEXT], conversation=id).body["output"][0]
        client.send(f"POST /conversations/{id}/items", {"items": [user("Hm.")]})
        client.ask([assistant(TEXT)], conversation={"id": id})
        assert ids(client.world) == ["history-replayed"]
        client.send(f"DELETE /conversations/{id}/items/{said['id']}")
        client.ask([assistant(TEXT), output()], conversation=id)
        assert ids(client.world) == ["history-replayed"]

    def test_not_through_a_conversation_of_which_some_unknown_item_was_deleted(self, client: Client) -> None:
        client.mock.script(REPLY)
        id = client.send("POST /conversations", {"items": [PROMPT]}).body["id"]
        client.ask([NEXT], conversation=id)
        told = client.send(f"GET /conversations/{id}/items").body["data"]
        (unknown,) = [item["id"] for item in told if item.get("content", [{}])[0].get("text") == PROMPT["content"]]
        client.send(f"DELETE /conversations/{id}/items/{unknown}")
        client.ask([assistant(TEXT)], conversation=id)
        assert ids(client.world) == []

    def test_through_references(self, client: Client) -> None:
        client.mock.script([REPLY, DEPLOY], REPLY)
        said = client.ask([PROMPT]).body["output"]
        named = [{"type": "item_reference", "id": item["id"]} for item in said]
        client.ask([PROMPT, *named, output()])
        assert ids(client.world, strict=True) == []
        client.ask([PROMPT, named[1], output(), {"id": said[0]["id"]}, NEXT])
        assert ids(client.world) == ["order-changed"]

    def test_of_a_failed_response_nothing_is_stored_in_its_conversation(self, client: Client) -> None:
        client.mock.script([REPLY, failed()])
        id = client.send("POST /conversations", {}).body["id"]
        client.ask([PROMPT], conversation=id, stream=True)
        client.ask([PROMPT], conversation=id)
        assert ids(client.world) == []


class TestARefusedRequestIsLookedAt:
    def test_and_explained(self, client: Client) -> None:
        client.mock.script(DEPLOY)
        client.ask([PROMPT])
        assert client.ask([PROMPT, output()]).status == 400
        (lost,) = client.mock.losses
        assert (lost.loss, lost.exchange, lost.said) == ("call-dropped", 2, 1)
        assert "function_call deploy (call_1), said in exchange 1" in lost.message

    def test_but_it_stores_nothing(self, client: Client) -> None:
        client.mock.script(DEPLOY)
        client.ask([PROMPT])
        client.ask([PROMPT, call(), output(), output("call_9")])
        client.ask([PROMPT, call(), output(value="")])
        assert ids(client.world, strict=True) == []

    @pytest.mark.parametrize(
        "body",
        [
            None,
            [],
            "hi",
            {},
            {"input": 1},
            {"input": ["x", None, [], {}]},
            {"input": [{"type": [], "id": {}, "role": [], "content": 5}]},
            {"input": [{"role": "assistant", "content": [None, {"text": 1}, {"annotations": 3}]}]},
            {"input": [{"type": "function_call", "call_id": {}}, {"type": "function_call_output", "call_id": []}]},
            {"input": [{"type": "function_call", "call_id": "call_1", "arguments": 5, "name": None}]},
            {"input": [{"type": "item_reference"}, {"id": 7}, {"type": "reasoning", "id": []}]},
            {"input": [user("{'type': "), user("[" * 5000 + "type"), user('{"type": {}}'), user("{'type': '\\d'}")]},
            {"input": [output(value=[{"text": "\ud800"}]), output(value="\ud800"), output(value={"a": [1]})]},
            {"previous_response_id": 3, "conversation": {"id": []}, "input": "x"},
            {"input": [PROMPT], "tools": [None, {"name": []}], "instructions": {}, "include": "x", "model": []},
        ],
    )
    def test_whatever_it_is(self, client: Client, body: Any) -> None:
        client.mock.script([THOUGHT, REPLY, DEPLOY], REPLY)
        client.ask([PROMPT], model="gpt-5")
        client.ask([PROMPT, call(), output()])
        (first, second) = client.world.exchanges
        odd = Exchange(3, first.request._replace(body=body), Answer(400, {"error": {}}))
        again = first._replace(number=4)
        assert isinstance(losses_of([first, second, odd, again], strict=True), list)

    @pytest.mark.parametrize("said", [None, 7, {}, {"id": "resp_1", "output": [None, {}, {"type": []}], "status": []}])
    def test_whatever_was_answered(self, client: Client, said: Any) -> None:
        request = Request("POST", "/responses", body={"input": "hi"}, operation="POST /responses")
        assert losses_of([Exchange(1, request, Answer(200, said)), Exchange(2, request, Answer(200, said))]) == []


class TestAServerThatStoresEachTurnTwice:
    def test_shows_from_its_second_turn_on_and_each_time_anew(self, client: Client) -> None:
        said = ["The plan has three steps.", "The first step is a review.", "Then the release follows."]
        client.mock.script(*map(message, said))
        stored: list[Json] = []
        for question, text in zip(("Plan?", "First?", "Then?"), said, strict=True):
            client.ask([*stored, user(question)])
            stored = [*stored, *stored, user(question), assistant(text)]
        client.ask([*stored, user("Thanks.")])
        found = [(lost.loss, lost.exchange, lost.said) for lost in client.mock.losses]
        assert found == [("history-replayed", 3, 1), ("history-replayed", 4, 1)]

    def test_as_long_as_it_does_not_the_transcript_may_grow(self, client: Client) -> None:
        stored: list[Json] = []
        for turn in range(4):
            client.mock.script(message("Done."), message("Done."))
            client.ask([*stored, user("Go on.")])
            stored = [*stored, user("Go on."), assistant("Done.")]
            client.ask([user(f"Title of {turn}?")])
        assert ids(client.world, strict=True) == []


class TestWhatIsLostStaysLost:
    def test_and_is_told_once(self, client: Client) -> None:
        client.mock.script(REPLY)
        transcript = [PROMPT, assistant(TEXT[:20])]
        client.ask([PROMPT])
        for question in ("And now?", "And then?"):
            transcript = [*transcript, user(question)]
            client.ask(transcript)
        assert [(lost.loss, lost.exchange) for lost in client.mock.losses] == [("text-altered", 2)]

    def test_a_world_without_requests_has_lost_nothing(self) -> None:
        assert Mock().losses == []


OPS: Json = {"instructions": "You run operations. It is 2026-09-21.", "tools": TOOLS}


class TestARightHabitIsNoLoss:
    def test_a_sliding_window(self, client: Client) -> None:
        client.mock.script([REPLY, DEPLOY], message("Done."), message("Bye."))
        client.ask([PROMPT], **OPS)
        client.ask([PROMPT, assistant(TEXT), call(), output()], **OPS)
        client.ask([assistant(TEXT), NEXT], **OPS)
        assert ids(client.world, strict=True) == []

    def test_a_hand_off_that_leaves_the_calls_out(self, client: Client) -> None:
        client.mock.script([REPLY, function_call("transfer_to_ops", "{}", off_schema=True)], message("Done."))
        planner = {
            "type": "function",
            "name": "transfer_to_ops",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
        client.ask([PROMPT], instructions="You plan.", tools=[planner])
        client.ask([PROMPT, assistant(TEXT)], **OPS)
        client.ask([PROMPT, assistant(TEXT), assistant("Done."), NEXT], **OPS)
        assert ids(client.world, strict=True) == []

    def test_a_transcript_told_in_one_message(self, client: Client) -> None:
        client.mock.script([REPLY, DEPLOY], message("Done."))
        client.ask([PROMPT])
        told = f"The conversation so far:\n1. user: Ship v2.\n2. assistant: {TEXT}\n3. function_call: {call()}"
        client.ask([{"role": "assistant", "content": told}, NEXT])
        assert ids(client.world, strict=True) == []

    def test_another_answer_to_the_same_question(self, client: Client) -> None:
        client.mock.script([REPLY, DEPLOY], [message("Which one?"), NOTIFY], message("Right."))
        client.ask([PROMPT], **OPS)
        client.ask([PROMPT], **OPS)
        client.ask(
            [PROMPT, assistant("Which one?"), call("call_2", "notify", '{"who":"ops"}'), output("call_2")], **OPS
        )
        assert ids(client.world, strict=True) == []

    def test_agents_side_by_side_that_say_the_same(self, client: Client) -> None:
        client.mock.script(*[DEPLOY] * 3, *[REPLY] * 3)
        for _ in range(3):
            client.ask([PROMPT])
        for _ in range(3):
            client.ask([PROMPT, call(), output()])
        client.ask([PROMPT, *[assistant(TEXT)] * 3, NEXT])
        assert ids(client.world) == []

    def test_an_approval_that_comes_late(self, client: Client) -> None:
        client.mock.script([DEPLOY, NOTIFY], message("Done."), message("Told."))
        other = call("call_2", "notify", '{"who":"ops"}')
        client.ask([PROMPT], **OPS)
        client.ask([PROMPT, call(), output()], **OPS)
        client.ask([PROMPT, call(), output(), other, output("call_2")], **OPS)
        assert ids(client.world, strict=True) == []

    def test_reasoning_of_a_stream_in_the_form_it_was_announced_in(self, client: Client) -> None:
        asked: Json = {"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}
        client.mock.script([reasoning("**Plan**"), DEPLOY])
        client.ask([PROMPT], **asked)
        early = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA-early"}
        client.ask([PROMPT, early, call(), output()], **asked)
        assert ids(client.world) == []

    def test_a_call_that_may_stay_open(self, client: Client) -> None:
        client.mock.script([REPLY, DEPLOY])
        client.ask([PROMPT])
        (first,) = client.world.exchanges
        made = [*first.answer.body["output"][:1], {**first.answer.body["output"][1], "async": True}]
        first = first._replace(answer=Answer(200, {**first.answer.body, "output": made}))
        client.ask([PROMPT, assistant(TEXT), NEXT])
        assert losses_of([first, client.world.exchanges[1]]) == []


class TestACallIsTheSame:
    @pytest.mark.parametrize(
        ("said", "sent", "members"),
        [
            (
                custom_tool_call("run", "ls", call_id="call_1", off_schema=True),
                {"type": "custom_tool_call", "name": "run"},
                "input",
            ),
            (shell_call("ls", call_id="call_1"), {"type": "shell_call"}, "action"),
        ],
    )
    def test_with_all_that_it_does(self, client: Client, said: Any, sent: Json, members: str) -> None:
        client.mock.script([said, completed(off_schema=True)])
        original = client.ask([PROMPT]).body["output"][0]
        same = {**sent, "call_id": "call_1", members: original[members]}
        client.ask([PROMPT, same])
        assert "call-altered" not in ids(client.world)
        client.ask([PROMPT, {**same, members: "rm" if members == "input" else {"commands": ["rm"]}}])
        (lost,) = client.mock.losses
        assert (lost.loss, lost.at) == ("call-altered", f"input[1].{members}")

    def test_in_another_kind_it_is_not(self, client: Client) -> None:
        client.mock.script(DEPLOY)
        client.ask([PROMPT])
        client.ask([PROMPT, {"type": "custom_tool_call", "call_id": "call_1", "name": "deploy", "input": "v2"}])
        assert ids(client.world) == ["call-altered"]

    def test_an_approval_that_is_left_out_is_dropped_though_its_answer_is_there(self, client: Client) -> None:
        client.mock.script([mcp_approval_request("prod", "deploy", {"ref": "v2"}), completed(off_schema=True)])
        id = client.ask([PROMPT]).body["output"][0]["id"]
        client.ask([PROMPT, {"type": "mcp_approval_response", "approval_request_id": id, "approve": True}])
        assert ids(client.world) == ["call-dropped"]


class TestATypedItemAsText:
    @pytest.mark.parametrize(
        "printed",
        [
            "ResponseFunctionToolCall(arguments='{}', call_id='call_1', name='deploy', type='function_call')",
            "ResponseReasoningItem(id='{rs}', summary=[], type='reasoning')",
            "[{'type': 'function_call', 'call_id': 'call_1', 'name': 'deploy'}]",
        ],
    )
    def test_is_known_as_programs_print_it(self, client: Client, printed: str) -> None:
        client.mock.script([THOUGHT, DEPLOY], REPLY)
        id = client.ask([PROMPT], model="gpt-5").body["output"][0]["id"]
        client.ask([PROMPT, {"role": "assistant", "content": printed.replace("{rs}", id)}, NEXT], model="gpt-5")
        assert "item-coerced" in ids(client.world)

    @pytest.mark.parametrize(
        "text", ["Item(call_id='call_9')", "Note(id='msg_1')", '{"type": "function_call", "call_id": "call_9"}']
    )
    def test_is_none_when_nobody_said_it(self, client: Client, text: str) -> None:
        client.mock.script(DEPLOY, REPLY)
        client.ask([PROMPT])
        client.ask([PROMPT, call(), output(), user(text)])
        assert ids(client.world) == []

"""Losses over whole journals: every way a conversation can be held, and what is no loss although it looks like one."""

import json
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from harness.analysis.loss import (
    DEPLOY,
    NEXT,
    PROMPT,
    REPLY,
    TEXT,
    THOUGHT,
    TOOLS,
    ask,
    assistant,
    call,
    losses_of,
    output,
    sketch,
    user,
)
from harness.contract.rule import Case
from harness.core.exchange import Answer, Exchange, Json, Request
from harness.ending import completed, failed
from harness.items import (
    code_interpreter_call,
    compaction,
    custom_tool_call,
    file_search_call,
    function_call,
    image_generation_call,
    mcp_approval_request,
    mcp_call,
    mcp_list_tools,
    message,
    program,
    reasoning,
    shell_call,
    web_search_call,
)
from harness.verify.examples import play_case
from harness.world.mock import Mock
from tests.support.in_process import Client, post
from tests.support.slow import slow_except_every
from tests.support.tools import functions
from tests.support.websockets import Socket


@pytest.fixture
def client() -> Client:
    return Client()


def ids(exchanges: Sequence[Exchange], *, strict: bool = False) -> list[str]:
    return [lost.loss for lost in losses_of(exchanges, strict)]


class TestAConversationIsFollowed:
    def test_a_conversation_is_followed_through_a_chain(self, client: Client) -> None:
        client.mock.script(DEPLOY, REPLY)
        first = client.ask([PROMPT]).body["id"]
        second = client.ask([output()], previous_response_id=first).body["id"]
        client.ask(sketch("P C O A N"), previous_response_id=second)
        (lost,) = client.mock.losses
        assert (lost.loss, lost.exchange, lost.at, lost.said) == ("history-replayed", 3, "input[1]", 1)
        assert lost.message.startswith("this transcript repeats 2 items that it already contains")

    def test_a_conversation_is_followed_through_a_background_response_which_a_retrieve_tells(
        self, client: Client
    ) -> None:
        client.mock.script(REPLY)
        id = client.ask([PROMPT], background=True).body["id"]
        client.ask(sketch("P A P A"))
        assert ids(client.world.exchanges) == []
        for _ in range(3):
            client.send(f"GET /responses/{id}")
        client.ask([assistant(TEXT[:9])], previous_response_id=id)
        client.ask(sketch("P", assistant(TEXT[:9]), "N"))
        (lost,) = client.mock.losses
        assert (lost.loss, lost.said, lost.exchange) == ("text-altered", 4, 7)

    def test_a_conversation_is_followed_through_a_web_socket(self) -> None:
        socket = Socket()
        socket.mock.script(REPLY)
        first = socket.made([PROMPT], store=False)
        socket.create(sketch("A N"), previous_response_id=first["id"], store=False)
        assert ids(socket.world.exchanges) == ["history-replayed"]

    def test_a_conversation_is_followed_through_a_steer(self) -> None:
        socket = Socket()
        socket.mock.script(REPLY, message("Yes."), message("Yes."))
        first = socket.made([PROMPT], model="gpt-6-astra")
        steered = socket.steer(first["id"], [{"type": "message", **NEXT}])[-1]["response"]
        socket.create([assistant(TEXT)], previous_response_id=steered["id"])
        assert [(lost.loss, lost.exchange, lost.said) for lost in socket.mock.losses] == [("history-replayed", 3, 1)]

    @pytest.mark.parametrize("path", ["/openai/v1", "/api/projects/p/openai/v1"])
    def test_a_conversation_is_followed_through_azure(self, path: str) -> None:
        client = Client()
        client.mock.script(REPLY)
        for asked in ([PROMPT], sketch("P A P A")):
            post(client.api, {"model": "gpt-4.1", "input": asked}, f"{path}/responses")
        assert ids(client.world.exchanges) == ["history-replayed"]

    def test_a_conversation_is_followed_through_a_conversation_and_what_is_put_into_it(self, client: Client) -> None:
        client.mock.script(REPLY, DEPLOY)
        id = client.send("POST /conversations", {"items": [PROMPT]}).body["id"]
        said = client.ask([NEXT], conversation=id).body["output"][0]
        client.send(f"POST /conversations/{id}/items", {"items": [user("Hm.")]})
        client.ask([assistant(TEXT)], conversation={"id": id})
        assert ids(client.world.exchanges) == ["history-replayed"]
        client.send(f"DELETE /conversations/{id}/items/{said['id']}")
        client.ask(sketch("A O"), conversation=id)
        assert ids(client.world.exchanges) == ["history-replayed"]

    def test_not_through_a_conversation_of_which_some_unknown_item_was_deleted(self, client: Client) -> None:
        client.mock.script(REPLY)
        id = client.send("POST /conversations", {"items": [PROMPT]}).body["id"]
        client.ask([NEXT], conversation=id)
        told = client.send(f"GET /conversations/{id}/items").body["data"]
        (unknown,) = [item["id"] for item in told if item.get("content", [{}])[0].get("text") == PROMPT["content"]]
        client.send(f"DELETE /conversations/{id}/items/{unknown}")
        client.ask([assistant(TEXT)], conversation=id)
        assert ids(client.world.exchanges) == []

    def test_a_failed_response_leaves_nothing_in_its_conversation(self, client: Client) -> None:
        client.mock.script([REPLY, failed()])
        id = client.send("POST /conversations", {}).body["id"]
        client.ask([PROMPT], conversation=id, stream=True)
        client.ask([PROMPT], conversation=id)
        assert ids(client.world.exchanges) == []


class TestWhateverIsSentIsLookedAt:
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
        client.ask(sketch("P C O"))
        (first, second) = client.world.exchanges
        odd = Exchange(3, first.request._replace(body=body), Answer(400, {"error": {}}))
        again = first._replace(number=4)
        assert isinstance(losses_of([first, second, odd, again], strict=True), list)

    @pytest.mark.parametrize("said", [None, 7, {}, {"id": "resp_1", "output": [None, {}, {"type": []}], "status": []}])
    def test_whatever_was_answered(self, client: Client, said: Any) -> None:
        request = Request("POST", "/responses", body={"input": "hi"}, operation="POST /responses")
        assert losses_of([Exchange(1, request, Answer(200, said)), Exchange(2, request, Answer(200, said))]) == []


class TestAServerThatStoresEachTurnTwice:
    def test_a_server_that_stores_each_turn_twice_shows_from_its_second_turn_on_and_each_time_anew(
        self, client: Client
    ) -> None:
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
        assert ids(client.world.exchanges, strict=True) == []


class TestWhatIsLostStaysLost:
    def test_a_loss_is_reported_once(self, client: Client) -> None:
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


PLANNER: Json = {"instructions": "You plan.", "tools": functions("transfer_to_ops")}
TOLD = f"The conversation so far:\n1. user: Ship v2.\n2. assistant: {TEXT}\n3. function_call: {call()}"
NOTIFIED = (call("call_2", "notify", '{"who":"ops"}'), output("call_2", "ops were told"))
ASKED_FOR_LEAVE = [mcp_approval_request("prod", "deploy", {"ref": "v2"}), completed(off_schema=True)]
APPROVED = {"type": "mcp_approval_response", "approval_request_id": "{0.output.0.id}", "approve": True}
DONE = message("Done.")
RIGHT = {
    "a sliding window": ask("P > A C", "P A C O > A2", ["A N >", message("Bye.")], **OPS),
    "a hand-off that leaves the calls out": ask(
        {"input": [PROMPT], **PLANNER},
        {"input": [PROMPT, assistant(TEXT)], **OPS},
        {"input": [PROMPT, assistant(TEXT), assistant("Done."), NEXT], **OPS},
        turns=[["A", function_call("transfer_to_ops", "{}", off_schema=True)], "A2"],
    ),
    "a transcript told in one message": ask("P > A C", [{"role": "assistant", "content": TOLD}, "N > A2"]),
    "an approval that comes late": ask("P > C C2", "P C O > A2", ["P C O", *NOTIFIED, ">", message("Told.")], **OPS),
    "references": ask(
        "P > A C", ["P", *({"type": "item_reference", "id": f"{{0.output.{number}.id}}"} for number in (0, 1)), "O > A"]
    ),
    "one of two prompts with the same answer": ask(
        "N > A2", "N A2 P > A", ["N A2", user("Ship v2, please. It is noon."), "> A"], "N A2 P A N3"
    ),
    "what only a refused request held": ask("P > C", ["P C O", output("call_9")], ["P C", output(value="")]),
}


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_a_right_habit_is_no_loss(case: Case) -> None:
    assert ids(play_case(case).exchanges, strict=True) == []


def test_another_answer_to_the_same_question_may_be_a_right_habit() -> None:
    case = ask(
        "P > A C",
        ["P >", message("Which one?"), "C2"],
        ["P", assistant("Which one?"), *NOTIFIED, ">", message("Right.")],
        **OPS,
    )
    journal = play_case(case).exchanges
    assert ids(journal) == []
    assert ids(journal, strict=True) == ["call-ignored"]


THINKING: Json = {"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}
EARLY = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA-early"}
FOUND = {
    "none where a stream announced reasoning in another form": (
        ask(["P >", reasoning("**Plan**"), "C"], ["P", EARLY, "C O"], **THINKING),
        [],
    ),
    "none of agents side by side that say the same": (ask(*["P > C"] * 3, *["P C O > A"] * 3, "P A A A N"), []),
    "the order of references": (
        ask(
            "P > A C",
            ["P", {"type": "item_reference", "id": "{0.output.1.id}"}, "O", {"id": "{0.output.0.id}"}, "N > A"],
        ),
        ["order-changed"],
    ),
    "a call that comes back as one of another kind": (
        ask("P > C", ["P", {"type": "custom_tool_call", "call_id": "call_1", "name": "deploy", "input": "v2"}]),
        ["call-altered"],
    ),
    "another prompt after a long answer where the beginning is left out": (
        ask(["P", assistant(f"{TEXT} Soon."), "N > A"], [assistant(f"{TEXT} Soon."), user("[object Object]"), "A N"]),
        ["prompt-altered"],
    ),
    "an approval that is left out though its answer is there": (
        ask(["P >", *ASKED_FOR_LEAVE], ["P", APPROVED]),
        ["call-dropped"],
    ),
}


@pytest.mark.parametrize(("case", "found"), FOUND.values(), ids=FOUND)
def test_found_is(case: Case, found: list[str]) -> None:
    assert ids(play_case(case).exchanges) == found


def test_a_call_that_may_stay_open_is_not_dropped() -> None:
    first, second = play_case(ask("P > A C", "P A N")).exchanges
    reply, open_call = first.answer.body["output"]
    waits = Answer(200, {**first.answer.body, "output": [reply, {**open_call, "async": True}]})
    assert ids([first._replace(answer=waits), second]) == []


RUN_LS = custom_tool_call("run", "ls", call_id="call_1", off_schema=True)
SENT_LS = {"type": "custom_tool_call", "name": "run", "call_id": "call_1"}
SHELL_LS = {"type": "shell_call", "call_id": "call_1"}


@pytest.mark.parametrize(
    ("said", "same", "changed", "member"),
    [
        (RUN_LS, {**SENT_LS, "input": "ls"}, {"input": "rm"}, "input"),
        (
            shell_call("ls", call_id="call_1"),
            {**SHELL_LS, "action": {"commands": ["ls"], "timeout_ms": None, "max_output_length": None}},
            {"action": {"commands": ["rm"]}},
            "action",
        ),
    ],
)
def test_a_call_is_the_same_with_all_that_it_does(said: Any, same: Json, changed: Json, member: str) -> None:
    case = ask(["P >", said, completed(off_schema=True)], ["P", same], ["P", {**same, **changed}])
    lost = [lost for lost in losses_of(play_case(case).exchanges) if lost.loss == "call-altered"]
    assert [(loss.exchange, loss.at) for loss in lost] == [(3, f"input[1].{member}")]


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("ResponseFunctionToolCall(arguments='{}', call_id='call_1', name='deploy', type='function_call')", True),
        ("ResponseReasoningItem(id='{0.output.0.id}', summary=[], type='reasoning')", True),
        ("[{'type': 'function_call', 'call_id': 'call_1', 'name': 'deploy'}]", True),
        ("Item(call_id='call_9')", False),
        ("Note(id='msg_1')", False),
        ('{"type": "function_call", "call_id": "call_9"}', False),
    ],
)
def test_a_printed_item_is_recognized_if_a_model_made_it(printed: str, found: bool) -> None:
    case = ask("P > T C", ["P", assistant(printed), "N > A"], model="gpt-5")
    assert ("item-coerced" in ids(play_case(case).exchanges)) is found


HOSTED = {
    item.type: item
    for item in (
        web_search_call("v2"),
        file_search_call("v2"),
        code_interpreter_call("1+1"),
        image_generation_call(),
        mcp_list_tools("prod"),
        mcp_call("prod", "deploy", output="v2 is live"),
        program("1;"),
        compaction(),
        reasoning("**Plan**"),
    )
}
AS_WORDS: dict[str, Any] = {
    "nothing": lambda item: "",
    "no parts": lambda item: [],
    "a printed object": lambda item: "[object Object]",
    "its JSON": lambda item: json.dumps(item),
    "its JSON without its id": lambda item: json.dumps({name: value for name, value in item.items() if name != "id"}),
    "its repr": str,
    "the repr of its class": lambda item: f"Item(id={item['id']!r}, type={item['type']!r})",
}
EACH_KIND_AND_FORM = slow_except_every(5, product(HOSTED, AS_WORDS.values(), ([0, 1], [1, 0], [0])))


@pytest.mark.parametrize(("kind", "as_words", "turn"), EACH_KIND_AND_FORM)
def test_an_item_that_became_words_is_a_loss_whatever_its_kind(
    client: Client, kind: str, as_words: Any, turn: list[int]
) -> None:
    client.mock.script([[HOSTED[kind], REPLY][place] for place in turn] + [completed(off_schema=True)], DONE)
    said = client.ask([PROMPT], model="gpt-5").body["output"]
    words = [user(as_words(item)) if item["type"] == kind else assistant(TEXT) for item in said]
    assert client.ask(sketch("P", *words, "N"), model="gpt-5").status == 200
    assert ids(client.world.exchanges) == ["item-coerced"]


@pytest.mark.parametrize("kind", HOSTED)
def test_an_item_that_is_left_out_is_not_searched_in_texts(client: Client, kind: str) -> None:
    client.mock.script([HOSTED[kind], REPLY, completed(off_schema=True)], DONE)
    client.ask([PROMPT], model="gpt-5")
    client.ask(sketch("P A", user(""), "N"), model="gpt-5")
    assert "item-coerced" not in ids(client.world.exchanges)


@pytest.mark.parametrize(
    ("keep", "found"), [("response.output_item.added", ["reasoning-altered"]), ("response.output_item.done", [])]
)
def test_a_client_that_keeps_the_ciphertext_of_the_wrong_event_is_seen(
    client: Client, keep: str, found: list[str]
) -> None:
    client.mock.script([THOUGHT, DEPLOY], DONE)
    events = client.ask([PROMPT], stream=True, **THINKING).events or []
    thought = next(event["item"] for event in events if event["type"] == keep)
    assert client.ask(sketch("P", thought, "C O"), **THINKING).status == 200
    assert ids(client.world.exchanges) == found

"""The ledgers of calls and of approvals: who asked, who answered and how often."""

from typing import Any

import pytest

from harness.analysis.call_ledger import Approval, ApprovalLedger, Call, concerns_approvals
from harness.core.exchange import Json
from harness.items import custom_tool_call, function_call, message, shell_call, tool_search_call
from tests.support.foundry import Project
from tests.support.in_process import Client, user
from tests.support.threads import FUNCTION, Desk
from tests.support.tools import functions

DEFERRED = {"type": "function", "name": "f", "parameters": {}, "strict": False, "defer_loading": True}


def output(text: str = "1", call_id: str = "call_f") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


@pytest.fixture
def client() -> Client:
    made = Client()
    made.tools = functions("f")
    made.mock.script(function_call("f", {"x": 1}, call_id="call_f"), *[message("ok")] * 3)
    return made


def answers(client: Client) -> list[tuple[int, Any]]:
    [call] = client.mock.calls
    return list(call.outputs)


class TestTheLedger:
    def test_the_ledger_has_every_call_with_who_asked(self, client: Client) -> None:
        client.ask()
        assert client.mock.calls == [Call("function_call", "f", "call_f", '{"x":1}', said=1)]
        assert client.mock.calls[0].answered == 0

    @pytest.mark.parametrize(
        ("outputs", "answers"),
        [(["1"], [(2, "1")]), (["1", "1"], [(2, "1")]), (["1", "2"], [(2, "1"), (3, "2")])],
        ids=["once", "in a fork the same", "another"],
    )
    def test_the_ledger_has_each_other_answer_in_a_chain(
        self, client: Client, outputs: list[str], answers: list[tuple[int, str]]
    ) -> None:
        first = client.ask().body
        for text in outputs:
            client.ask([output(text)], previous_response_id=first["id"])
        [call] = client.mock.calls
        assert list(call.outputs) == answers

    def test_the_ledger_takes_a_history_that_is_sent_again_for_the_same_answer(self, client: Client) -> None:
        first = client.ask().body
        history: list[Json] = [user("hi"), *first["output"], output()]
        for more in ([], [{"role": "assistant", "content": "ok"}, user("Well?")]):
            client.ask([*history, *more])
        assert answers(client) == [(2, "1")]

    def test_the_ledger_takes_a_history_on_top_of_its_chain_for_the_same_answer(self, client: Client) -> None:
        first = client.ask(store=True).body
        second = client.ask([output()], previous_response_id=first["id"]).body
        history = [user("hi"), *first["output"], output(), user("Well?")]
        client.ask(
            [{key: item[key] for key in item if key != "id"} for item in history], previous_response_id=second["id"]
        )
        assert answers(client) == [(2, "1")]

    def test_the_ledger_counts_the_same_answer_twice_in_a_conversation(self, client: Client) -> None:
        conversation = client.send("POST /conversations", {}).body["id"]
        client.ask(conversation=conversation)
        path = f"POST /conversations/{conversation}/items"
        for _ in range(2):
            client.send(path, {"items": [output()]})
        [call] = client.mock.calls
        assert (call.answered, call.said) == (2, 2)

    def test_the_ledger_passes_over_what_was_refused(self, client: Client) -> None:
        client.ask()
        assert client.ask([output()]).status == 400
        assert answers(client) == []

    def test_the_ledger_has_calls_that_the_client_brought(self) -> None:
        client = Client()
        called = {"type": "function_call", "name": "g", "arguments": "{}", "call_id": "call_g"}
        client.ask([user("hi"), called, output(call_id="call_g")])
        assert client.mock.calls == [Call("function_call", "g", "call_g", "{}", None, ((1, "1"),))]

    def test_the_ledger_has_calls_of_every_kind_that_a_client_makes(self) -> None:
        client = Client()
        server = tool_search_call({"goal": "x"}, execution="server")
        client.mock.script(
            [custom_tool_call("sql", "select 1", call_id="c1"), shell_call(["ls"], call_id="c2"), server]
        )
        tools = [{"type": "custom", "name": "sql"}, {"type": "shell"}, {"type": "tool_search"}, DEFERRED]
        assert client.ask(model="gpt-5.4", tools=tools).body["status"] == "completed"
        assert [(call.type, call.name, call.call_id) for call in client.mock.calls] == [
            ("custom_tool_call", "sql", "c1"),
            ("shell_call", "", "c2"),
        ]
        assert client.mock.calls[0].arguments == "select 1"
        assert '"ls"' in client.mock.calls[1].arguments

    def test_the_ledger_has_the_calls_of_runs(self) -> None:
        desk = Desk(name="Ann", tools=[FUNCTION])
        events = desk.stream(function_call("f", {"a": 1}, call_id="call_a"))
        desk.mock.script(message("Done."))
        desk.submit(events[-2]["data"], {"call_a": "7"})
        [call] = desk.mock.calls
        assert (call.name, call.arguments, [output for _, output in call.outputs]) == ("f", '{"a":1}', ["7"])

    def test_the_ledger_is_plain_json(self, client: Client) -> None:
        first = client.ask().body
        client.ask([output()], previous_response_id=first["id"])
        called = {"type": "function_call", "name": "f", "call_id": "call_f", "arguments": '{"x":1}'}
        answered = {"outputs": [{"exchange": 2, "output": "1"}], "answered": 1}
        assert client.mock.calls[0].as_json() == {**called, "said": 1, "agent": "agent 1", **answered}


def test_a_response_that_a_foundry_project_deletes_leaves_its_output() -> None:
    project = Project()
    made = project.respond()
    deleted = project.ask(f"DELETE /responses/{made.body['id']}")
    assert (deleted.status, deleted.body["object"], deleted.body["deleted"]) == (200, "response", True)
    assert project.mock.calls == []
    assert [reply.text for reply in project.mock.replies] == ["Hello."]


ASKED: Json = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "server_label": "prod",
    "name": "deploy",
    "arguments": '{"ref":"v2"}',
}
ALSO: Json = {**ASKED, "id": "mcpr_2"}
CALLED: Json = {"type": "mcp_call", "id": "mcp_1", "approval_request_id": "mcpr_1"}
SAID: Json = {"type": "message", "role": "assistant", "content": "Not shipped."}


def approval_answer(id: str = "mcpr_1", approve: bool = True, **members: str) -> Json:
    return {"type": "mcp_approval_response", "approval_request_id": id, "approve": approve, **members}


def ledger(*exchanges: tuple[list[Json], list[Json]], stored: bool = True) -> list[Approval]:
    """Return the entries after these exchanges, each the request's own items and the output, all in one chain.

    What is not stored stands among the own items of each later request.
    """
    made, before = ApprovalLedger(), []
    for number, (sent, output) in enumerate(exchanges, 1):
        made.add_exchange(number, before if stored else [], sent if stored else [*before, *sent], output)
        before = [*before, *sent, *output]
    return list(made)


def test_the_entries_stand_in_the_order_of_asking():
    assert [entry.id for entry in ledger(([], [ALSO, ASKED]), ([approval_answer("mcpr_1")], []))] == [
        "mcpr_2",
        "mcpr_1",
    ]


def test_calls_without_leave_and_of_unknown_requests_open_none():
    assert ledger(([], [{**CALLED, "approval_request_id": None}, CALLED, {"type": "mcp_call"}])) == []


YES, NO = approval_answer(), approval_answer(approve=False, reason="too dear")
TOLD = ([YES], [CALLED, SAID])


@pytest.mark.parametrize(
    ("exchanges", "stored", "entry"),
    [
        ([], True, {}),
        ([TOLD], True, {"answers": (2,), "approve": True, "runs": (2,)}),
        ([([NO], [SAID])], True, {"answers": (2,), "approve": False, "reason": "too dear"}),
        ([TOLD, ([NO], [SAID])], True, {"answers": (2, 3), "approve": False, "reason": "too dear", "runs": (2,)}),
        ([([YES, YES], [])], True, {"answers": (2, 2), "approve": True}),
        ([([YES, output()], [])] * 2, True, {"answers": (2, 3), "approve": True}),
        ([TOLD, ([user("Thanks.")], [SAID])], False, {"answers": (2,), "approve": True, "runs": (2,)}),
    ],
    ids=["open", "approved", "denied", "given again", "twice at once", "beside an output", "in a history sent again"],
)
def test_an_entry_has_each_answer_and_each_call_that_it_led_to(exchanges, stored, entry):
    asked = ([user("Ship v2.")], [ASKED])
    [made] = ledger(asked, *exchanges, stored=stored)
    assert made == Approval("mcpr_1", "prod", "deploy", '{"ref":"v2"}', asked=1, **entry)
    assert made.executed == len(entry.get("runs", ()))


def test_a_request_that_the_client_brought_was_asked_by_no_exchange():
    [entry] = ledger(([ASKED, YES], [CALLED]))
    assert (entry.name, entry.asked, entry.answers, entry.runs) == ("deploy", None, (1,), (1,))


def test_a_denial_in_such_a_history_is_none_either():
    told = (
        ([user("Ship")], [ASKED]),
        ([approval_answer(approve=False)], [ALSO]),
        ([approval_answer("mcpr_2")], [CALLED]),
    )
    assert [entry.answers for entry in ledger(*told, stored=False)] == [(2,), (3,)]


def test_requests_of_one_response_are_answered_in_any_order():
    made = ApprovalLedger()
    made.add_exchange(1, [], [], [ASKED, ALSO])
    for number in (2, 3):
        made.add_exchange(number, [], [ASKED, approval_answer(), user("and"), ALSO, approval_answer("mcpr_2")], [])
    assert [entry.answers for entry in made] == [(2, 3), (2, 3)]


def test_only_exchanges_about_approvals_concern_it():
    assert not concerns_approvals([user("hi"), SAID])
    assert concerns_approvals([user("hi"), approval_answer()])
    assert concerns_approvals([SAID, ASKED])
    assert concerns_approvals([CALLED])

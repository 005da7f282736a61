"""The ledger of approvals: what was asked, what the client answered, what was called, by the numbers of the exchanges."""

from __future__ import annotations

from harness.analysis.call_ledger import Approval, ApprovalLedger, concerns_approvals
from harness.core.exchange import Json
from tests.support.in_process import user

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


def answer(id: str = "mcpr_1", approve: bool = True, **members: str) -> Json:
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


def test_a_request_for_leave_opens_an_entry():
    [entry] = ledger(([user("Ship v2.")], [ASKED]))
    assert entry == Approval("mcpr_1", "prod", "deploy", '{"ref":"v2"}', asked=1)
    assert (entry.answers, entry.approve, entry.reason, entry.runs, entry.executed) == ((), None, None, (), 0)


def test_the_entries_stand_in_the_order_of_asking():
    assert [entry.id for entry in ledger(([], [ALSO, ASKED]), ([answer("mcpr_1")], []))] == ["mcpr_2", "mcpr_1"]


def test_an_approval_and_the_call_it_led_to():
    [entry] = ledger(([], [ASKED]), ([answer()], [CALLED, SAID]))
    assert (entry.answers, entry.approve, entry.runs, entry.executed) == ((2,), True, (2,), 1)


def test_a_denial_says_why():
    [entry] = ledger(([], [ASKED]), ([answer(approve=False, reason="too dear")], [SAID]))
    assert (entry.answers, entry.approve, entry.reason, entry.executed) == ((2,), False, "too dear", 0)


def test_a_request_that_the_client_brought_was_asked_by_no_exchange():
    [entry] = ledger(([ASKED, answer()], [CALLED]))
    assert (entry.name, entry.asked, entry.answers, entry.runs) == ("deploy", None, (1,), (1,))


def test_calls_without_leave_and_of_unknown_requests_open_none():
    assert ledger(([], [{**CALLED, "approval_request_id": None}, CALLED, {"type": "mcp_call"}])) == []


def test_an_answer_that_is_given_again_is_seen():
    [entry] = ledger(([], [ASKED]), ([answer()], [CALLED, SAID]), ([answer(approve=False)], [SAID]))
    assert (entry.answers, entry.approve, entry.executed) == ((2, 3), False, 1)


def test_an_answer_that_is_sent_twice_at_once_is_seen():
    [entry] = ledger(([], [ASKED]), ([answer(), answer()], [CALLED]))
    assert entry.answers == (2, 2)


def test_an_answer_in_a_history_that_is_sent_again_is_no_new_one():
    [entry] = ledger(([user("Ship")], [ASKED]), ([answer()], [CALLED, SAID]), ([user("Thanks.")], [SAID]), stored=False)
    assert (entry.answers, entry.runs) == ((2,), (2,))


def test_a_denial_in_such_a_history_is_none_either():
    told = ([user("Ship")], [ASKED]), ([answer(approve=False)], [ALSO]), ([answer("mcpr_2")], [CALLED])
    assert [entry.answers for entry in ledger(*told, stored=False)] == [(2,), (3,)]


def test_requests_of_one_response_are_answered_in_any_order():
    made = ApprovalLedger()
    made.add_exchange(1, [], [], [ASKED, ALSO])
    for number in (2, 3):
        made.add_exchange(number, [], [ASKED, answer(), user("and"), ALSO, answer("mcpr_2")], [])
    assert [entry.answers for entry in made] == [(2, 3), (2, 3)]


def test_outputs_of_the_client_after_an_answer_make_no_history_of_it():
    output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    [entry] = ledger(([], [ASKED]), ([answer(), output], []), ([answer(), output], []))
    assert entry.answers == (2, 3)


def test_only_exchanges_about_approvals_concern_it():
    assert not concerns_approvals([user("hi"), SAID])
    assert concerns_approvals([user("hi"), answer()])
    assert concerns_approvals([SAID, ASKED])
    assert concerns_approvals([CALLED])

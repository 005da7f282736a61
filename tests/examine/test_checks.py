"""What a correct client shows and does: each check is silent about it, and says what another client did."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from harness.analysis.call_ledger import Approval
from harness.core.exchange import Answer, Exchange, Request
from harness.examine import checks
from harness.examine.case import Check, ObservedRun, ToolCall
from harness.examine.task import Outcome, Task
from harness.items import function_call, reasoning
from tests.support.in_process import Client, user
from tests.support.tools import functions

SHIP, UNDO = ("ship", {"ref": "v2"}), ("undo", {})
FAILED = {"type": "BadRequestError", "message": "No tool output found.", "status": 400}


def seen(
    *executions: tuple[str, Any], client: Client | None = None, stream: bool = False, **outcome: Any
) -> ObservedRun:
    ran = [ToolCall(name, arguments) for name, arguments in executions]
    return ObservedRun(Task(prompts=("hi",), stream=stream), Outcome(**outcome), (client or Client()).mock, ran)


def called(*outputs: Any) -> Client:
    """Return what a client has sent that answers a call with each of these outputs."""
    client = Client()
    client.tools = functions("f")
    client.mock.script([function_call("f", {}, call_id=f"call_{number}") for number in range(len(outputs))], "Done.")
    first = client.ask().body
    client.ask(
        [
            {"type": "function_call_output", "call_id": f"call_{number}", "output": output}
            for number, output in enumerate(outputs)
        ],
        previous_response_id=first["id"],
    )
    return client


class TestToolsThatRan:
    @pytest.mark.parametrize("ran", [[SHIP, UNDO], [UNDO, SHIP]])
    def test_tools_that_ran_may_run_in_any_order(self, ran: Sequence[tuple[str, Any]]) -> None:
        assert list(checks.runs(SHIP, UNDO)(seen(*ran))) == []

    @pytest.mark.parametrize(
        "ran", [[], [SHIP], [SHIP, SHIP], [SHIP, SHIP, UNDO], [SHIP, UNDO, UNDO], [SHIP, ("undo", {"all": True})]]
    )
    def test_tools_that_ran_are_executed_exactly_once_with_their_arguments(
        self, ran: Sequence[tuple[str, Any]]
    ) -> None:
        (told,) = checks.runs(SHIP, UNDO)(seen(*ran))
        assert told.startswith("tools ran: ")
        assert "; the model called ship(" in told

    def test_tools_that_ran_run_in_the_order_of_their_calls_where_that_matters(self) -> None:
        ordered = checks.runs(SHIP, UNDO, ordered=True)
        assert list(ordered(seen(SHIP, UNDO))) == []
        assert len(list(ordered(seen(UNDO, SHIP)))) == 1

    def test_tools_that_ran_are_no_more_than_are_due(self) -> None:
        assert list(checks.runs_at_most(1)(seen(SHIP))) == []
        (told,) = checks.runs_at_most(1)(seen(SHIP, SHIP))
        assert told.endswith("; at most 1 were expected")


class TestOutputs:
    def test_reach_the_model_in_order(self) -> None:
        assert list(checks.outputs("18", "v2")(seen(client=called("18 °C", "v2 is live")))) == []

    @pytest.mark.parametrize("got", [["v2 is live", "18 °C"], ["18 °C"], ["18 °C", "v2", "v2"]])
    def test_calls_in_another_order_or_number_are_reported(self, got: list[str]) -> None:
        (told,) = checks.outputs("18", "v2")(seen(client=called(*got)))
        assert told.endswith('expected "18", "v2"')

    @pytest.mark.parametrize(
        "output",
        ['{"at": "Z\\u00fcrich"}', [{"type": "input_text", "text": "In Zürich"}, {"type": "input_text", "text": "."}]],
    )
    def test_outputs_are_read_without_escapes_and_parts(self, output: Any) -> None:
        assert list(checks.outputs("Zürich")(seen(client=called(output)))) == []

    def test_outputs_are_counted_unless_the_task_failed(self) -> None:
        assert list(checks.answers_calls(1)(seen(client=called("ok")))) == []
        assert list(checks.answers_calls(2)(seen(client=called("ok")))) == [
            "1 calls have an output, 2 should; the user sees no error"
        ]
        assert list(checks.answers_calls(2)(seen(client=called("ok"), error=FAILED))) == []


@pytest.mark.parametrize(
    ("due", "told"),
    [
        ((2,), []),
        ((1, 2), []),
        ((2, 3), []),
        ((3,), ["3 are due"]),
        ((1,), ["1 are due"]),
        ((3, 4), ["3 to 4 are due"]),
    ],
)
def test_requests_are_counted(due: tuple[int, ...], told: list[str]) -> None:
    assert [line.partition("sent 2 requests, ")[2] for line in checks.requests(*due)(seen(client=called("ok")))] == told


PAGE = {"type": "url_citation", "url": "https://a.example", "title": "A"}
SHOWN: list[tuple[Check, dict[str, Any], list[dict[str, Any]]]] = [
    (checks.shows("Hi.", "Bye."), {"texts": [" Hi.\n", "Bye."]}, [{"texts": ["Bye.", "Hi."]}, {"texts": ["Hi."]}, {}]),
    (checks.contains("a", "b"), {"texts": ["x", "a b"]}, [{"texts": ["b a"]}, {"texts": ["a b", "x"]}]),
    (checks.fails("No tool", status=400), {"error": FAILED}, [{}, {"error": {**FAILED, "message": "Oops."}}]),
    (checks.fails(status=500), {"error": {**FAILED, "status": None}}, [{"error": FAILED}]),
    (checks.cites({"title": "A"}), {"annotations": [PAGE]}, [{"annotations": []}, {"annotations": [PAGE, PAGE]}]),
    (checks.cites(), {}, [{"annotations": [PAGE]}]),
    (checks.interrupts("ship", "undo"), {"interruptions": ["undo", "ship"]}, [{"interruptions": ["ship"]}]),
    (checks.offers("https://a"), {"interruptions": ["https://a/consent"]}, [{"texts": ["Consent."]}]),
    (checks.declines("No."), {"refusal": "No."}, [{"texts": ["Yes."]}]),
    (checks.declines("No."), {"error": {**FAILED, "message": "No."}}, [{}]),
    (checks.shows_or_fails("Hi."), {"error": FAILED}, [{"texts": ["Bye."]}]),
    (checks.tells_cut("max_output_tokens", ""), {"incomplete": ["length", ""]}, [
        {"texts": ["a", "b"]}, {"incomplete": ["content_filter", ""]}, {"incomplete": ["length", "length"]},
    ]),
    (checks.reasons("Plan", "Do"), {"reasoning": ["Plan it.", "Do it."]}, [{"reasoning": ["Do it.", "Plan it."]}, {}]),
    (checks.hides("secret"), {"texts": ["ok"]}, [{"texts": ["a secret", "ok"]}]),
    (checks.uses_tokens(), {}, [{"usage": {"input_tokens": 7}}]),
]  # fmt: skip


@pytest.mark.parametrize(("check", "right", "wrong"), SHOWN)
def test_what_the_user_sees(check: Check, right: dict[str, Any], wrong: list[dict[str, Any]]) -> None:
    assert list(check(seen(**right))) == []
    assert [len(list(check(seen(**outcome)))) for outcome in wrong] == [1] * len(wrong)


def test_streamed_text_counts_only_where_there_is_a_stream() -> None:
    check = checks.streamed("Hi.")
    assert list(check(seen(stream=True, streamed=["Hi."]))) == list(check(seen(streamed=["Bye."]))) == []
    assert list(check(seen(stream=True))) == []
    assert len(list(check(seen(stream=True, streamed=["Hi.", "Hi."])))) == 1


@pytest.mark.parametrize(("runs", "ran"), [((), []), ((2,), None), ((2, 3), ["ship", "ship"])])
def test_an_mcp_tool_is_executed_exactly_once_after_its_approval(runs: tuple[int, ...], ran: list[str] | None) -> None:
    approvals = [Approval("mcpr_1", "deploy", "ship", "{}", runs=runs)]
    observed = ObservedRun(Task(prompts=()), Outcome(), SimpleNamespace(approvals=approvals), [])
    told = [] if ran is None else [f"the server ran {ran} after approvals; expected ['ship']"]
    assert list(checks.mcp_runs("ship")(observed)) == told


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (["a", "a"], None),
        (["a", "b"], "['a', 'b']; expected ['a', 'a']"),
        (["a", None], "['a', None]; expected ['a', 'a']"),
        ([None, None], "[None, None]; expected ['a conversation']"),
        ([], "[]; expected ['a conversation']"),
    ],
)
def test_every_request_is_in_the_same_conversation(named: Sequence[str | None], told: str | None) -> None:
    bodies = [{"conversation": {"id": name}} if name else {} for name in named]
    request = [Request("POST", "/responses", operation="POST /responses", body=body) for body in bodies]
    exchanges = [Exchange(number, one, Answer(200, {})) for number, one in enumerate(request, 1)]
    observed = ObservedRun(Task(prompts=(), state="conversation"), Outcome(), SimpleNamespace(exchanges=exchanges), [])
    assert list(checks.continues()(observed)) == ([f"the requests name {told}"] if told else [])


class TestReasoning:
    @pytest.mark.parametrize(
        ("names", "tools", "told"),
        [
            (("reasoning", "function_call"), ["f"], []),
            (("function_call",), ["f"], ["1 reasoning item left out"]),
            (("reasoning", "function_call"), ["f", "g"], ["reasoning withheld: prefix_mismatch"]),
        ],
    )
    def test_all_of_it_reaches_the_model(self, names: Sequence[str], tools: Sequence[str], told: list[str]) -> None:
        client, members = Client(), {"model": "gpt-6.2-sol", "store": False, "include": ["reasoning.encrypted_content"]}
        client.mock.script([reasoning(), function_call("f", {}, call_id="call_1")], "Done.")
        first = client.ask([user("hi")], tools=functions("f"), **members).body
        kept = [item for item in first["output"] if item["type"] in names]
        output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
        client.ask([user("hi"), *kept, output], tools=functions(*tools), **members)
        assert list(checks.keeps_reasoning()(seen(client=client))) == told

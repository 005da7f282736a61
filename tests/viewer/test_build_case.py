"""A World as a case: what the model saw, what each request added, and why the test failed."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from harness.analysis.flow import SequenceDiagram
from harness.core.exchange import ToolRun
from harness.faults import cut, server_error
from harness.items import file_citation, function_call, mcp_call, message
from harness.verify.report_cases import build_journal
from harness.viewer.build_case import CaseHead, build_case, group_causes
from harness.viewer.json_form import from_json
from harness.viewer.page_data import CaseRow, ShownCase
from harness.viewer.pool import PoolReader
from tests.support.in_process import user
from tests.support.recordings import HI, over_http
from tests.support.shown import TOOL, Asked, places, read, transcript

# What the model saw


def test_items_of_a_history_name_the_exchange_they_came_from(asked: Asked) -> None:
    asked.mock.script("One.", "Two.")
    asked.ask([user("Count.")], instructions="You count.")
    asked.ask([user("Count."), {"role": "assistant", "content": "One."}, user("On.")], instructions="You count.")
    case = asked.show("passed")
    assert places(case, 1) == [("instructions", 0, "", ""), ("input", 0, "input[0]", "")]
    assert places(case, 2) == [
        ("instructions", 0, "", ""),
        ("resent", 1, "input[0]", ""),
        ("resent", 1, "input[1]", ""),
        ("input", 0, "input[2]", ""),
    ]
    assert case.exchanges[0].before == 0
    assert [case.exchanges[1].before, read(case, 2, "added")] == [2, [user("On.")]]
    assert case.exchanges[1].gist == 'user "On."'
    assert case.exchanges[1].said == 'assistant "Two."'


def test_a_chain_and_a_conversation_are_what_the_model_saw_too(asked: Asked) -> None:
    asked.mock.script("One.", "Two.")
    first = asked.ask("Count.", instructions="")
    asked.ask("On.", previous_response_id=first["id"])
    case = asked.show("passed")
    assert places(case, 1) == [("input", 0, "input", "")]
    assert places(case, 2) == [("chain", 1, "", ""), ("chain", 1, "", ""), ("input", 0, "input", "")]
    assert [item["item"]["content"] for item in transcript(case, 2)][::2] == ["Count.", "On."]


def test_a_call_without_output_is_marked_where_it_stands(asked: Asked) -> None:
    asked.mock.script([function_call("look", {}, call_id="call_1")])
    call = asked.ask([user("Look.")], tools=[TOOL])["output"][0]
    asked.ask([user("Look."), call, user("And?")], tools=[TOOL])
    case = asked.show()
    assert [place[2:] for place in places(case, 2)] == [("input[0]", ""), ("input[1]", "refused"), ("input[2]", "")]
    shown = case.exchanges[1]
    assert (shown.status, shown.rule, shown.asked) == (400, "call_needs_output", False)
    assert shown.error == "No tool output found for function call call_1."
    [known] = case.calls
    assert (known.name, known.said, known.answered, known.executed) == ("look", 1, [], 0)
    [cause] = case.row.causes
    assert (cause.kind, cause.rule, cause.exchange, cause.group) == (
        "refusal",
        "call_needs_output",
        2,
        "refusal:call_needs_output:Answer every call of the turn before, in one request: one `…_output` item with its "
        "`call_id` for each.",
    )
    assert "from exchange 1 has no output" in dict(cause.rows)["where"]


def test_a_call_of_a_counted_tool_says_how_often_it_ran(asked: Asked) -> None:
    tools = [TOOL, {**TOOL, "name": "see"}]
    asked.mock.script([function_call(tool["name"], {}, call_id=tool["name"]) for tool in tools], "Done.")
    outputs = [{"type": "function_call_output", "call_id": tool["name"], "output": "18 °C"} for tool in tools]
    asked.ask(outputs, tools=tools, previous_response_id=asked.ask("hi", tools=tools)["id"])
    runs = asked.mock.world.tool_runs
    runs.names.add("look")
    runs.finished += [ToolRun("look", {}), ToolRun("see", {}), ToolRun("look", {})]
    assert [(call.name, call.executed) for call in asked.show("passed").calls] == [("look", 2), ("see", 1)]


def test_a_mark_is_of_the_request_that_was_refused_alone(asked: Asked) -> None:
    asked.mock.script([function_call("look", {}, call_id="call_1")], "Done.")
    first = asked.ask("Look.", tools=[TOOL])["id"]
    asked.ask("And?", previous_response_id=first)
    asked.ask([{"type": "function_call_output", "call_id": "call_1", "output": "x"}], previous_response_id=first)
    case = asked.show()
    assert [[mark for *_, mark in places(case, number)] for number in (2, 3)] == [["", "refused", ""], ["", "", ""]]


def test_an_edited_item_stands_beside_the_original(asked: Asked) -> None:
    asked.mock.script([message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt")])], "Yes.")
    asked.ask([user("Milk?")])
    part = {"type": "output_text", "text": "Store it cold.", "annotations": []}
    asked.ask([user("Milk?"), {"type": "message", "role": "assistant", "content": [part]}, user("Sure?")])
    case = asked.show()
    [edited] = [item for item in transcript(case, 2) if item["mark"]]
    assert (edited["mark"], edited["at"], edited["said"]) == ("edited", "input[1]", 1)
    assert edited["was"]["content"][0]["annotations"][0]["file_id"] == "file-guide"
    assert case.findings[edited["finding"]].rule == "citation-dropped"


def test_what_was_dropped_stands_where_it_should_be(asked: Asked) -> None:
    asked.mock.script([message("I look."), function_call("look", {}, call_id="call_1")], "Hm.")
    asked.ask([user("Look.")], tools=[TOOL])
    asked.ask([user("Look."), {"role": "assistant", "content": "I look."}, user("And?")], tools=[TOOL])
    marks = [(item["mark"], item["item"].get("call_id")) for item in transcript(asked.show(), 2)]
    assert marks == [("", None), ("", None), ("lost", "call_1"), ("", None)]


def test_what_is_there_twice_is_marked(asked: Asked) -> None:
    asked.mock.script("One task.", "Done.", "Yes.")
    history = [user("Plan.")]
    asked.ask(history)
    history = [*history, {"role": "assistant", "content": "One task."}, user("Do it.")]
    asked.ask(history)
    asked.ask([*history, *history, {"role": "assistant", "content": "Done."}, user("Sure?")])
    assert "doubled" in [mark for *_, mark in places(asked.show(), 3)]


# Why it failed


def test_what_followed_from_a_cause_is_no_cause(asked: Asked) -> None:
    asked.mock.script("Never said.")
    asked.ask(17)
    case = asked.show(why="KeyError: 'output'")
    assert [cause.kind for cause in case.row.causes] == ["refusal"]
    assert case.row.consequences == ["KeyError: 'output'", 'no request took script: message "Never said."']
    assert [turn.text for turn in case.waiting] == ['script: message "Never said."']


def test_the_error_that_the_verdict_raised_is_no_consequence(asked: Asked) -> None:
    asked.ask(17)
    [cause] = asked.show().row.causes
    wrapped = cause.what.replace("expected", "expected\n")
    assert asked.show(why=f"Failed: {wrapped}").row.consequences == []


def test_an_exception_alone_is_the_cause(asked: Asked) -> None:
    asked.mock.script("hi")
    asked.ask("hi")
    [cause] = asked.show(why="AssertionError: assert 1 == 2\n  where 1 = f()").row.causes
    assert (cause.kind, cause.what) == ("raised", "AssertionError: assert 1 == 2")
    assert "where 1 = f()" in dict(cause.rows)["raised"]


def test_a_test_that_passed_has_no_cause(asked: Asked) -> None:
    asked.ask(17)
    assert asked.show("passed").row.causes == []


# Calls, approvals, streams


def test_an_approval_is_a_call_with_its_decision(asked: Asked) -> None:
    prod = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}
    asked.mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live"})
    asked.mock.script(mcp_call("prod", "deploy", {"ref": "v2"}), "Not shipped.")
    first = asked.ask("Ship v2.", tools=[prod])
    request = next(item for item in first["output"] if item["type"] == "mcp_approval_request")
    assert [call.approval for call in asked.show("open").calls] == ["waiting"]
    denied = {
        "type": "mcp_approval_response",
        "approval_request_id": request["id"],
        "approve": False,
        "reason": "Late.",
    }
    asked.ask([denied], tools=[prod], previous_response_id=first["id"])
    [call] = asked.show("open").calls
    assert (call.name, call.approval, call.answered, call.executed, call.output) == (
        "prod.deploy",
        "denied",
        [2],
        0,
        "Late.",
    )


def test_an_approval_of_a_recording_is_shown_though_one_beside_it_lacks_members() -> None:
    whole = {"server_label": "prod", "name": "deploy", "arguments": "{}"}
    requests = [{"type": "mcp_approval_request", "id": f"mcpr_{n}", **(whole if n else {})} for n in range(2)]
    answers = [{"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}]
    first, second = (
        {"object": "response", "id": f"resp_{n}", "status": "completed", "output": requests if n == 1 else []}
        for n in (1, 2)
    )
    then = {"model": "gpt-4.1", "input": answers, "previous_response_id": "resp_1"}
    refused = over_http(then, {"error": {"message": "Not now."}}, status=503)
    world = build_journal([over_http(HI, first), refused, over_http(then, second)])
    case = from_json(orjson.loads(orjson.dumps(build_case(CaseHead("a recording"), world))), ShownCase)
    assert [(call.name, call.approval, call.answered) for call in case.calls] == [("prod.deploy", "approved", [3])]


def test_a_stream_that_broke_off_has_what_was_sent(asked: Asked) -> None:
    asked.mock.script(cut([message("Never whole.")], after=3))
    asked.ask("hi", stream=True)
    [shown] = asked.show("open").exchanges
    assert shown.events is not None
    events = [PoolReader(asked.show("open").pool).value(event.event)["type"] for event in shown.events]
    assert events[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    assert shown.said.endswith("cut off")


def test_a_diagram_is_data_and_mermaid(asked: Asked) -> None:
    asked.mock.script("Hello.")
    asked.ask("hi")
    case = asked.show("passed")
    drawn = SequenceDiagram.from_json(PoolReader(case.pool).value(case.sequence))
    assert drawn.participants == ("user", "agent 1", "API")
    assert case.mermaid.startswith("sequenceDiagram")


# Live


def test_only_exchanges_after_a_number_are_shown_on_demand_and_nothing_else_is_stored(asked: Asked) -> None:
    asked.mock.script("One.", "Two.")
    first = asked.ask("a text of the first request, which is long enough to be in the pool " * 3)
    asked.ask("On.", previous_response_id=first["id"])
    case = asked.show("open", after=1)
    assert [shown.number for shown in case.exchanges] == [2]
    assert places(case, 2)[0] == ("chain", 1, "", "")
    assert case.row.exchanges == 2


# Control characters


def test_wire_data_is_exact_and_labels_are_escaped(asked: Asked) -> None:
    text = "a\r\nb\x1b[31m\u202e"
    asked.mock.script("ok")
    asked.ask(text)
    case = asked.show()
    assert read(case, 1, "request")["input"] == text
    assert "\\u001b" in case.exchanges[0].gist
    assert "\x1b" not in orjson.dumps(case.row).decode()


# What is stored


def test_a_transcript_that_grows_is_stored_once(asked: Asked) -> None:
    asked.mock.script(*[f"Answer {number}." for number in range(30)])
    history = []
    sizes = []
    for number in range(30):
        history.append(user(f"Question {number}"))
        said = asked.ask(history)["output"][0]["content"][0]["text"]
        history.append({"role": "assistant", "content": said})
        if number in (14, 29):
            sizes.append(len(orjson.dumps(asked.show("passed"))))
    assert sizes[1] < sizes[0] * 2.2


def unanswered_call(before: int) -> CaseRow:
    """Return a test whose client leaves a call without an output, after so many other requests."""
    asked = Asked()
    asked.mock.script(*["Hello."] * before, function_call("look", {}, call_id="call_1"))
    for _ in range(before):
        asked.ask("Hello?")
    call = asked.ask([user("Look.")], tools=[TOOL])["output"][0]
    asked.ask([user("Look."), call, user("And?")], tools=[TOOL])
    return replace(asked.show().row, id=f"after {before}")


@pytest.mark.parametrize("numbers", [(0,), (0, 0), (0, 1)], ids=["one-test", "the-same-number", "other-numbers"])
def test_a_cause_of_several_tests_has_the_facts_of_the_first(numbers: list[int]) -> None:
    [group] = group_causes([unanswered_call(before) for before in numbers])
    assert group.what == "Request 2 was refused (400): No tool output found for function call call_1."
    assert [number for _, number in group.cases] == [before + 2 for before in numbers]


def test_causes_with_other_fixes_are_others_and_with_other_names_the_same() -> None:
    def unanswered(name: str, input: str, tools: list[dict[str, Any]]) -> CaseRow:
        asked = Asked()
        asked.mock.script(function_call(name, {}))
        asked.ask(input, tools=tools)
        return asked.show().row

    of_turn = Asked()
    of_turn.ask("hi")
    misnamed, other = unanswered("look", "hi", []), unanswered("find", "Are you there?", [])
    groups = group_causes([misnamed, of_turn.show().row, other])
    assert [len(group.cases) for group in groups] == [2, 1]
    assert "function_call('look')" in groups[0].what


# What else belongs to the story


def test_a_delivery_stands_after_the_exchange_that_it_followed(asked: Asked) -> None:
    received = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        received.append(await receive())
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    asked.mock.webhooks(app, "/hook")
    asked.mock.script("Done.")
    asked.ask("Go.", background=True)
    asked.mock.advance()
    asked.mock.advance()
    assert asked.mock.deliveries
    [made] = asked.show("passed").deliveries
    assert (made.event, made.status, made.attempt, made.after) == ("response.completed", 204, 1, 1)


def test_a_turn_has_the_line_that_scripted_it(asked: Asked) -> None:
    asked.mock.script("Here.")
    asked.mock.script(
        message("There."),
    )
    asked.ask("hi")
    asked.ask("And now?")
    shown = [exchange.answered_by for exchange in asked.show("passed").exchanges]
    assert [by and (by.file, by.source) for by in shown] == [
        (__file__, 'asked.mock.script("Here.")'),
        (__file__, 'asked.mock.script(\n    message("There."),\n)'),
    ]


def test_a_case_names_its_client(asked: Asked) -> None:
    asked.mock.script("Here.")
    asked.ask("hi")
    assert asked.show("passed").row.client == "me/1"


def test_a_request_that_repeats_a_failed_one_names_it(asked: Asked) -> None:
    asked.mock.script(server_error(), "Here.", "More.")
    for _ in range(3):
        asked.ask("hi")
    assert [exchange.retry_of for exchange in asked.show("passed").exchanges] == [0, 1, 0]
    assert [exchange.retry_of for exchange in asked.show("passed", after=1).exchanges] == [1, 0]

"""Runs: polled step by step, answered, cancelled, expired; the same turns as for responses."""

from typing import Any

import pytest

from harness.core.errors import ConfigError, ScriptError
from harness.core.exchange import Answer, Json
from harness.ending import completed, empty, failed, incomplete
from harness.items import function_call, mcp_approval_request, mcp_call, mcp_list_tools, message, web_search_call
from tests.support.threads import END, FUNCTION, SAID, START, STEP, Desk, data, names, path, text

ON_FOUNDRY = completed(off_schema=True)
"""The desk speaks with OpenAI, whose assistants declare no MCP servers."""


@pytest.fixture
def desk() -> Desk:
    return Desk(name="Ann", instructions="Be brief.", tools=[FUNCTION, {**FUNCTION, "function": {"name": "g"}}])


class TestAFunctionCall:
    CALLS = (function_call("f", ['{"a"', ":1}"], call_id="call_a"), function_call("g", {}, call_id="call_b"))

    def test_a_function_call_is_one_step_that_waits(self, desk: Desk) -> None:
        events = desk.stream(*self.CALLS)
        assert names(events) == [*START, *STEP, "thread.run.step.delta", "thread.run.requires_action", "done"]
        told = [entry["delta"]["step_details"]["tool_calls"][0] for entry in data(events, "thread.run.step.delta")]
        assert [(entry["index"], entry.get("id"), entry["function"]["arguments"]) for entry in told] == [
            (0, "call_a", ""),
            (0, None, '{"a"'),
            (0, None, ":1}"),
            (1, "call_b", ""),
            (1, None, "{}"),
        ]
        run = events[-2]["data"]
        assert run["required_action"] == {
            "type": "submit_tool_outputs",
            "submit_tool_outputs": {
                "tool_calls": [
                    {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                    {"id": "call_b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
                ]
            },
        }
        (step,) = desk.steps(run)
        call, _ = step["step_details"]["tool_calls"]
        assert step["status"] == "in_progress"
        assert call["function"] == {"name": "f", "arguments": '{"a":1}', "output": None}

    def test_a_function_call_goes_on_in_a_stream_when_it_is_answered(self, desk: Desk) -> None:
        run = desk.stream(*self.CALLS)[-2]["data"]
        desk.mock.script(message("done"))
        told = list(desk.submit(run, {"call_a": "1", "call_b": "2"}, stream=True).events or ())
        assert names(told) == ["thread.run.step.completed", *START[1:], *SAID, *END]
        calls = told[0]["data"]["step_details"]["tool_calls"]
        assert [call["function"]["output"] for call in calls] == ["1", "2"]
        assert (told[1]["data"]["required_action"], told[1]["data"]["started_at"]) == (None, run["started_at"])
        usage = data(told, "thread.run.completed")[0]["usage"]
        steps = data(told, "thread.run.step.completed")
        assert usage["total_tokens"] == sum(step["usage"]["total_tokens"] for step in steps)

    def test_a_function_call_goes_on_by_polling_when_it_is_answered(self, desk: Desk) -> None:
        desk.mock.script(function_call("f", {}), message("done"))
        run = desk.settled(desk.run(desk.thread("hi")).body)
        (call,) = run["required_action"]["submit_tool_outputs"]["tool_calls"]
        queued = desk.submit(run, {call["id"]: "ok"}).body
        assert (queued["status"], queued["required_action"]) == ("queued", None)
        assert desk.settled(queued)["status"] == "completed"
        assert desk.last_text(run) == "done"

    def test_a_function_call_is_what_the_next_turn_is_asked_with(self, desk: Desk) -> None:
        seen = []

        def model(request: Any) -> Any:
            seen.append(request.body)
            request = yield function_call("f", {"a": 1}, call_id="call_a")
            seen.append(request.body)
            yield message("done")

        desk.mock.script(model)
        run = desk.settled(desk.run(desk.thread("hi"), additional_instructions="Now.").body)
        desk.submit(run, {"call_a": "ok"})
        assert seen[0]["instructions"] == "Be brief.\nNow."
        assert [item["type"] for item in seen[1]["input"]] == ["message", "function_call", "function_call_output"]
        assert (seen[1]["input"][2]["output"], seen[1]["agent"]) == ("ok", {"name": "Ann"})
        assert seen[1]["tools"][0]["name"] == "f"

    def test_a_function_call_may_follow_a_message(self, desk: Desk) -> None:
        events = desk.stream(message("Wait."), function_call("f", {}))
        assert names(events)[-4:-1] == [*STEP, "thread.run.step.delta", "thread.run.requires_action"][-3:]
        assert text(data(events, "thread.message.completed")[0])["value"] == "Wait."


class TestPolling:
    def test_polling_moves_a_run_on_with_each_look_at_it(self, desk: Desk) -> None:
        run = desk.run(desk.thread("hi")).body
        assert (run["status"], run["started_at"], run["expires_at"]) == ("queued", None, run["created_at"] + 600)
        assert [desk.read(run)["status"] for _ in range(3)] == ["in_progress", "completed", "completed"]

    def test_a_run_shows_nothing_before_its_event(self, desk: Desk) -> None:
        run = desk.run(desk.thread("hi")).body
        desk.read(run)
        assert (len(desk.messages(run["thread_id"])), desk.steps(run)) == (1, [])
        desk.read(run)
        assert (len(desk.messages(run["thread_id"])), len(desk.steps(run))) == (2, 1)

    def test_polling_is_the_tests_alone_when_the_world_is_not_automatic(self, desk: Desk) -> None:
        desk.mock.automatic = False
        run = desk.run(desk.thread("hi")).body
        assert [desk.read(run)["status"] for _ in range(2)] == ["queued", "queued"]
        assert [run["status"] for run in desk.mock.advance()] == ["in_progress"]
        assert [moved["status"] for moved in desk.mock.advance(run["id"])] == ["completed"]
        with pytest.raises(ConfigError, match=rf"advance: no .* with the id {run['id']}; none is"):
            desk.mock.advance(run["id"])

    def test_a_run_takes_its_own_members_before_the_assistants(self, desk: Desk) -> None:
        own = {"model": "gpt-4.1", "instructions": "Else.", "temperature": 0.5, "tools": [], "metadata": {"a": "b"}}
        run = desk.run(desk.thread("hi"), **own, truncation_strategy={"type": "last_messages", "last_messages": 3}).body
        assert {name: run[name] for name in own} == own
        assert run["truncation_strategy"] == {"type": "last_messages", "last_messages": 3}
        (listed,) = desk.send(f"GET /threads/{run['thread_id']}/runs").body["data"]
        assert listed == run

    def test_a_run_adds_messages_first(self, desk: Desk) -> None:
        run = desk.run(desk.thread("a"), additional_messages=[{"role": "user", "content": "b"}]).body
        assert [text(message)["value"] for message in desk.messages(run["thread_id"])] == ["b", "a"]

    def test_a_run_can_be_named_by_routes(self, desk: Desk) -> None:
        desk.mock.when(agent="ann", tools="f", instructions="brief").script(message("routed"))
        run = desk.settled(desk.run(desk.thread("hi")).body)
        assert desk.last_text(run) == "routed"

    @pytest.mark.parametrize(
        ("choice", "said"), [({"type": "function", "function": {"name": "f"}}, "function_call"), ("auto", "message")]
    )
    def test_a_run_tells_the_fallback_what_is_demanded(self, choice: Any, said: str) -> None:
        desk, seen = Desk(tools=[FUNCTION]), []
        desk.mock.script(lambda request: (seen.append(request.body), [message("{}"), completed(off_schema=True)])[1])
        schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
        desk.run(desk.thread("hi"), tool_choice=choice, response_format=schema)
        assert seen[0]["tool_choice"] == ({"type": "function", "name": "f"} if said == "function_call" else "auto")
        assert seen[0]["text"]["format"] == {"type": "json_schema", "name": "n", "schema": {"type": "object"}}

    def test_a_run_that_ended_can_be_given_other_metadata(self, desk: Desk) -> None:
        run = desk.settled(desk.run(desk.thread("hi")).body)
        assert desk.send(f"POST {path(run)}", {"metadata": {"a": "b"}}).body == {**run, "metadata": {"a": "b"}}
        assert desk.send(f"POST {path(run)}", {}).body["metadata"] == {"a": "b"}


class TestAnEnd:
    @pytest.mark.parametrize("reads", [0, 1])
    def test_an_end_comes_by_cancelling(self, desk: Desk, reads: int) -> None:
        run = desk.run(desk.thread("hi")).body
        for _ in range(reads):
            desk.read(run)
        assert desk.send(f"POST {path(run)}/cancel").body["status"] == "cancelling"
        ended = desk.read(run)
        assert (ended["status"], ended["completed_at"]) == ("cancelled", None)
        assert ended["cancelled_at"] is not None
        assert len(desk.messages(run["thread_id"])) == 1
        assert desk.run(run["thread_id"]).status == 200

    def test_an_end_comes_without_a_message(self, desk: Desk) -> None:
        assert names(desk.stream(empty())) == [*START, "thread.run.completed", "done"]

    def test_an_end_comes_once_however_often_it_is_asked_for(self, desk: Desk) -> None:
        run = desk.run(desk.thread("hi")).body
        first, again = (desk.send(f"POST {path(run)}/cancel").body for _ in range(2))
        assert first == again
        assert desk.read(run)["status"] == "cancelled"

    def test_an_end_stays_as_it_is(self, desk: Desk) -> None:
        run = desk.run(desk.thread("hi")).body
        completed = [desk.read(run) for _ in range(2)][-1]
        assert desk.send(f"POST {path(run)}/cancel").status == 400
        assert desk.read(run) == completed
        assert completed["status"] == "completed"

    def test_an_end_leaves_a_call_unanswered(self, desk: Desk) -> None:
        run = desk.stream(function_call("f", {}))[-2]["data"]
        desk.send(f"POST {path(run)}/cancel")
        assert desk.read(run)["status"] == "cancelled"
        assert desk.steps(run)[0]["status"] == "cancelled"

    def test_an_end_comes_by_itself_after_ten_minutes(self, desk: Desk) -> None:
        run = desk.stream(function_call("f", {}))[-2]["data"]
        desk.mock.skip(590)
        assert desk.read(run)["status"] == "requires_action"
        desk.mock.skip(20)
        assert desk.read(run)["status"] == "expired"
        assert desk.steps(run)[0]["status"] == "expired"
        desk.mock.script(message("ok"))
        desk.mock.automatic = False
        queued = desk.run(run["thread_id"]).body
        desk.mock.skip(610)
        assert desk.read(queued)["status"] == "expired"
        assert desk.mock.advance() == []

    def test_an_end_may_be_incomplete(self, desk: Desk) -> None:
        events = desk.stream(message("Once upon"), incomplete())
        assert names(events)[-4:] == ["thread.message.incomplete", *END[1:]]
        (left,) = data(events, "thread.message.incomplete")
        assert (left["status"], left["completed_at"]) == ("incomplete", None)
        assert left["incomplete_details"] == {"reason": "max_tokens"}
        run = events[-2]["data"]
        assert (run["status"], run["incomplete_details"]) == ("incomplete", {"reason": "max_completion_tokens"})

    @pytest.mark.parametrize("turn", [[message("Once")], [function_call("f", {})], []])
    def test_an_end_may_be_a_failure(self, desk: Desk, turn: list[Any]) -> None:
        events = desk.stream(*turn, failed("rate_limit_exceeded", "Slow down."))
        run = events[-2]["data"]
        assert (events[-2]["event"], run["status"]) == ("thread.run.failed", "failed")
        assert run["last_error"] == {"code": "rate_limit_exceeded", "message": "Slow down."}
        assert [step["status"] for step in desk.steps(run)] == ["failed"] * len(turn)


def approve(desk: Desk, run: Json, call: Json, **more: Any) -> Answer:
    given = {"tool_approvals": [{"tool_call_id": call["id"], "approve": True}], **more}
    return desk.send(f"POST /api/projects/p{path(run)}/submit_tool_outputs", given, **{"api-version": "v1"})


class TestOnFoundry:
    def test_the_tools_of_a_server_are_an_activity(self, desk: Desk) -> None:
        events = desk.stream(mcp_list_tools("s", ["f"]), mcp_call("s", "f", output="ok"), message("done"), ON_FOUNDRY)
        first, second, _ = data(events, "thread.run.step.completed")
        (activity,) = first["step_details"]["activities"]
        assert (first["type"], activity["type"], list(activity["tools"])) == ("activities", "mcp_list_tools", ["f"])
        assert first["usage"]["total_tokens"] == 0
        (call,) = second["step_details"]["tool_calls"]
        assert (call["type"], call["server_label"], call["output"]) == ("mcp", "s", "ok")

    def test_a_call_may_need_leave(self, desk: Desk) -> None:
        events = desk.stream(mcp_approval_request("s", "f", {"a": 1}), ON_FOUNDRY)
        assert names(events)[3:] == [*STEP, STEP[0], "thread.run.step.delta", "thread.run.requires_action", "done"]
        run = events[-2]["data"]
        (call,) = run["required_action"]["submit_tool_approval"]["tool_calls"]
        assert (call["type"], call["name"], call["arguments"], "output" in call) == ("mcp", "f", '{"a":1}', False)
        desk.mock.script([mcp_call("s", "f", {"a": 1}, output="ok"), message("done"), ON_FOUNDRY])
        told = list(approve(desk, run, call, stream=True).events or ())
        assert names(told)[:3] == ["thread.run.step.completed", "thread.run.queued", "thread.run.in_progress"]
        assert told[0]["data"]["step_details"]["tool_calls"][0]["output"] is None
        assert told[-2]["data"]["status"] == "completed"

    def test_what_was_approved_is_what_the_next_turn_is_asked_with(self, desk: Desk) -> None:
        run = desk.stream(mcp_approval_request("s", "f"), ON_FOUNDRY)[-2]["data"]
        (call,) = run["required_action"]["submit_tool_approval"]["tool_calls"]
        seen: list[Any] = []
        desk.mock.script(lambda request: [seen.append(request.body["input"][-1]) or message("done"), ON_FOUNDRY])
        approve(desk, run, call)
        assert [(entry["type"], entry["server_label"], entry["name"]) for entry in seen] == [("mcp_call", "s", "f")]


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ([web_search_call("x")], "web_search_call: a run has no such step"),
        (
            [function_call("f", {}), message("x")],
            "message after function_call: the run waits for the client at that point",
        ),
        ([message("x"), incomplete("content_filter")], "can only be incomplete because of tokens"),
        ([failed("vector_store_timeout", "x")], "code is 'vector_store_timeout'. A run fails with one of"),
    ],
)
def test_a_turn_that_no_run_can_tell_is_the_scripts_mistake(desk: Desk, turn: Any, problem: str) -> None:
    desk.mock.script(list(turn))
    with pytest.raises(AssertionError, match=problem):
        desk.run(desk.thread("hi"))
    assert ScriptError.__name__ in str(desk.world.exchanges[-1].answer.body)


def test_a_deleted_assistant_leaves_its_run_to_end(desk: Desk) -> None:
    run = desk.stream(function_call("f", {}, call_id="call_a"))[-2]["data"]
    desk.send(f"DELETE /assistants/{desk.assistant}")
    desk.mock.script(message("ok"))
    assert desk.submit(run, {"call_a": "ok"}).status == 200

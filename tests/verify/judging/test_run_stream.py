"""Recorded exchanges with the Assistants API, judged: what the mock itself says is clean, what is bent is found."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from harness.contract.rule import RULES
from harness.items import code_interpreter_call, file_citation, function_call, mcp_approval_request, mcp_call, message
from harness.verify.examples import as_recorded
from harness.verify.judge_files import Tally
from tests.support.recordings import error, exchange, judged, write_jsonl
from tests.support.threads import FUNCTION, Desk, path

PLAN = {"model": "gpt-4o"}
HI = {"role": "user", "content": "hi"}
V2 = {"openai-beta": "assistants=v2"}


class ExchangeRecorder(Desk):
    """A recorder that writes down what is sent and answered."""

    def __init__(self, **assistant: Any) -> None:
        self.exchanges: list[dict[str, Any]] = []
        super().__init__(**assistant)

    def send(self, call: str, body: Any = None, **query: Any) -> Any:
        answer = super().send(call, body, **query)
        method, _, below = call.partition(" ")
        parsed = None if answer.events else answer.body
        more = {"method": method, "url_path": f"/v1{below}", "request_headers": V2}
        one = exchange(len(self.exchanges) + 1, body, answer.status, deepcopy(parsed), **more)
        if answer.events is not None:
            one["events"] = deepcopy(list(answer.events))
        self.exchanges.append(one)
        return answer


def tally_of(folder: Path, exchanges: list[dict[str, Any]]) -> Tally:
    return judged(folder, write_jsonl(folder, exchanges))[0]


def messages(tally: Tally, at: str) -> list[str]:
    return [entry.get("message") or entry.get("why") or entry.get("rule") for entry in tally.entries(at)]


@pytest.fixture
def recorder() -> ExchangeRecorder:
    return ExchangeRecorder(tools=[{"type": "code_interpreter"}, FUNCTION])


def converse(recorder: ExchangeRecorder) -> None:
    """Every endpoint once, and some refusals."""
    cited = message(["See", " it."], annotations=[file_citation("file-1", "a.txt")])
    recorder.mock.script([code_interpreter_call("5", outputs=["5"]), cited], function_call("f", {}, call_id="call_a"))
    recorder.mock.script(message("done"), message("last"))
    thread = recorder.thread("hi")
    run = recorder.run(thread, stream=True).body
    recorder.read(run)
    step = recorder.steps(run)[0]
    recorder.send(f"GET {path(run)}/steps/{step['id']}")
    waiting = recorder.settled(recorder.run(thread).body)
    recorder.run(thread)
    recorder.send(f"POST /threads/{thread}/messages", HI)
    recorder.submit(waiting, {})
    recorder.submit(waiting, {"call_a": "ok"}, stream=True)
    recorder.submit(waiting, {"call_a": "ok"})
    made = recorder.send(f"POST /threads/{thread}/messages", HI).body
    for call in ("GET", "DELETE", "GET"):
        recorder.send(f"{call} /threads/{thread}/messages/{made['id']}")
    recorder.send(f"GET /threads/{thread}/runs")
    recorder.messages(thread)
    begun = recorder.send("POST /threads/runs", {"assistant_id": recorder.assistant, "thread": {"messages": [HI]}}).body
    recorder.send(f"POST {path(begun)}/cancel")
    recorder.send("GET /assistants")
    for place in (f"/threads/{thread}", f"/assistants/{recorder.assistant}"):
        for call in ("GET", "DELETE", "GET"):
            recorder.send(f"{call} {place}")


def test_what_the_mock_says_itself_is_clean(recorder: ExchangeRecorder, tmp_path: Path) -> None:
    converse(recorder)
    tally = tally_of(tmp_path, recorder.exchanges)
    assert tally.is_clean, [*tally.entries("requests.refused"), *tally.entries("streams.findings")]
    taken = sum(exchange["status"] == 200 for exchange in recorder.exchanges)
    assert (tally.counts["requests.accepted"], tally.counts["refusals.same"]) == (
        taken,
        len(recorder.exchanges) - taken,
    )
    assert (tally.counts["streams.conform"], tally.counts["requests.unverifiable"]) == (2, 0)
    assert not [count for count in tally.counts if count.endswith(("findings", "drift"))]


def test_what_the_tape_did_not_make_is_presumed_after_its_first_use(recorder: ExchangeRecorder, tmp_path: Path) -> None:
    converse(recorder)
    later = [
        exchange for exchange in recorder.exchanges if exchange["url_path"] not in ("/v1/assistants", "/v1/threads")
    ]
    tally = tally_of(tmp_path, later)
    assert tally.is_clean
    assert tally.counts["requests.unverifiable"] < 4


def test_a_step_is_known_from_its_list_on(recorder: ExchangeRecorder, tmp_path: Path) -> None:
    recorder.mock.script(message("hi"))
    run = recorder.run(recorder.thread("hi")).body
    recorder.settled(run)
    (step,) = recorder.steps(run)
    for id in (step["id"], "step_0"):
        recorder.send(f"GET {path(run)}/steps/{id}")
    tally = tally_of(tmp_path, recorder.exchanges)
    assert tally.is_clean
    assert (tally.counts["requests.accepted"], tally.counts["refusals.same"]) == (len(recorder.exchanges) - 1, 1)


def test_what_ended_unseen_is_unverifiable(recorder: ExchangeRecorder, tmp_path: Path) -> None:
    run = recorder.run(recorder.thread("hi")).body
    recorder.settled(run)
    recorder.send(f"POST /threads/{run['thread_id']}/messages", HI)
    unpolled = [exchange for exchange in recorder.exchanges if exchange["method"] == "POST"]
    tally = tally_of(tmp_path, unpolled)
    assert tally.is_clean
    assert dict(tally.reasons) == {("requests.unverifiable", "a background response may have ended in between"): 1}


def test_a_refusal_of_a_run_that_may_have_moved_is_unverifiable(recorder: ExchangeRecorder, tmp_path: Path) -> None:
    run = recorder.run(recorder.thread("hi")).body
    recorder.submit(recorder.read(run), {"call_a": "ok"})
    tally = tally_of(tmp_path, [exchange for exchange in recorder.exchanges if exchange["method"] == "POST"])
    assert tally.is_clean
    assert tally.counts["refusals.unverifiable"] == 1


@pytest.mark.parametrize(("day", "at", "refused"), [("2024-01-05", 1_704_412_800, 0), ("2025-01-01", 1_735_689_600, 1)])
def test_version_1_is_judged_by_the_contract_of_its_day(tmp_path: Path, day: str, at: int, refused: int) -> None:
    body = {"model": "gpt-4", "file_ids": ["file-1"], "tools": [{"type": "retrieval"}]}
    made = {"id": "asst_1", "object": "assistant", "created_at": at, **body}
    how = {"url_path": "/v1/assistants", "request_headers": {"openai-beta": "assistants=v1"}, "recorded_at": day}
    tally = tally_of(tmp_path, [exchange(1, body, 200, made, **how)])
    assert (tally.counts["requests.refused"], tally.counts["answers.conform"]) == (refused, 1 - refused)


def test_a_missing_header_lies_outside_the_recording(tmp_path: Path) -> None:
    (words,) = RULES["beta_missing"].rejects
    refused = exchange(1, PLAN, 400, error(words, code="invalid_beta"), url_path="/v1/assistants")
    assert tally_of(tmp_path, [refused]).counts["refusals.unverifiable"] == 1


class TestFoundry:
    def exchanges(self) -> list[dict[str, Any]]:
        """Return a run with a call of an MCP server that needs approval, as recorded below a project."""
        recorder = ExchangeRecorder()
        called = [mcp_call("s", "f", output="ok"), message("done")]
        recorder.mock.script(as_recorded(mcp_approval_request("s", "f")), as_recorded(called))
        run = recorder.run(recorder.thread("hi"), stream=True).body
        (call,) = run["required_action"]["submit_tool_approval"]["tool_calls"]
        approvals = {"tool_approvals": [{"tool_call_id": call["id"], "approve": True}], "stream": True}
        recorder.submit(run, {}, **approvals)
        for recorded in recorder.exchanges:
            recorded |= {
                "provider": "foundry",
                "query": "api-version=v1",
                "url_path": recorded["url_path"].replace("/v1", "/api/projects/p", 1),
            }
        return recorder.exchanges

    def test_foundry_is_judged_by_what_it_accepts_more(self, tmp_path: Path) -> None:
        tally = tally_of(tmp_path, self.exchanges())
        assert tally.is_clean, [*tally.entries("requests.refused"), *tally.entries("streams.findings")]
        assert (tally.counts["requests.accepted"], tally.counts["streams.conform"]) == (4, 2)

    def test_may_know_more_than_is_known_of_it(self, tmp_path: Path) -> None:
        first, *_ = self.exchanges()
        first["request"] = {**PLAN, "tool_resources": {"of_tomorrow": {"indexes": []}}}
        reasons = tally_of(tmp_path, [first]).reasons
        assert dict(reasons) == {("requests.unverifiable", "Azure accepts more than OpenAI"): 1}


def stream_of(recorder: ExchangeRecorder) -> list[dict[str, Any]]:
    recorder.mock.script([code_interpreter_call(["1", "+1"]), message(["Two", "."])])
    recorder.run(recorder.thread("hi"), stream=True)
    return list(recorder.exchanges[-1]["events"])


def place_of(events: list[dict[str, Any]], name: str) -> int:
    return next(index for index, event in enumerate(events) if event["event"] == name)


def bend(name: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[list[dict[str, Any]]], None]:
    return lambda events: change(events[place_of(events, name)]["data"])


def drop(name: str) -> Callable[[list[dict[str, Any]]], None]:
    return lambda events: events.pop(place_of(events, name)) and None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (drop("thread.run.created"), "a stream does not begin with thread.run.queued"),
        (drop("thread.run.completed"), "a stream does not end with thread.run.step.completed"),
        (drop("done"), "expected done after it"),
        (drop("thread.message.delta"), "its deltas add up to another text"),
        (drop("thread.message.created"), "was not created before its delta"),
        (bend("thread.run.step.completed", lambda step: step["step_details"]["tool_calls"][0].update(
            code_interpreter={"input": "3", "outputs": []})), "its deltas add up to another text"),
        (bend("thread.message.completed", lambda body: body["content"].append(deepcopy(body["content"][0]))),
         "its deltas add up to another text"),
        (bend("thread.run.completed", lambda run: run.update(id="run_other")), "it has events of 2 runs"),
        (bend("thread.run.completed", lambda run: run.update(status="done")), "Invalid value: 'done'"),
        (bend("thread.run.completed", lambda run: run.pop("status")), "Missing required parameter: 'data.status'"),
        (lambda events: events[0].update(event="thread.run.invented"), "Invalid value: 'thread.run.invented'"),
    ],
)  # fmt: skip
def test_a_bent_stream_is_found(recorder: ExchangeRecorder, tmp_path: Path, change: Any, problem: str) -> None:
    events = stream_of(recorder)
    assert tally_of(tmp_path, recorder.exchanges).is_clean
    change(events)
    recorder.exchanges[-1]["events"] = events
    found = messages(tally_of(tmp_path, recorder.exchanges), "streams.findings")
    assert [message for message in found if problem in message], found


@pytest.mark.parametrize("data", [{"message": "No.", "type": "server_error"}, {"error": {"message": "No."}}, None])
def test_an_error_may_end_a_stream_and_a_cut_one_is_not_added_up(recorder, tmp_path, data):
    events = stream_of(recorder)
    ended = {"events": [*events[:4], {"event": "error", "data": data}, events[-1]]}
    recorder.exchanges[-1] |= ended if data else {"events": events[:-3], "cut": True}
    assert tally_of(tmp_path, recorder.exchanges).is_clean

"""`responses-harness drift`: what was recorded, what the live API says now, and which of the two the mock says."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import Result

from harness.core.exchange import ReceivedRequest
from harness.items import message, reasoning
from harness.live.drift import _side_by_form, find_transient, pair_ids, translate_ids
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from harness.verify.judging.verdict import VerdictKind
from harness.verify.read_files import read_recording
from tests.support.command_line import run_cli
from tests.support.recordings import HEADERS, HI, exchange, recorded
from tests.support.recordings import write_jsonl as recording
from tests.support.servers.live_api import Change, error, live

SEED = {**HI, "seed": 1}
"""A request that is refused: the API knows no such parameter."""
pytestmark = pytest.mark.usefixtures("live_key")


def drift(url: str, *paths: Path, more: tuple[str, ...] = ("--yes",)) -> Result:
    return run_cli("drift", "--upstream", url, *paths, *more)


def drifted(file: Path, change: Change | None = None) -> Result:
    with live(change) as (url, _):
        return drift(url, file)


def altered(**changes: Any) -> Change:
    """Return the API, whose answers to `POST /responses` have other members now."""

    def change(method: str, path: str, body: Any) -> Any:
        (one,) = recorded({**body})
        result = {name: value for name, value in (one["response"] | changes).items() if value != "gone"}
        return 200, {}, result

    return change


def test_a_conversation_is_had_again_with_the_ids_of_today(tmp_path: Path) -> None:
    made = recorded(HI, {**HI, "previous_response_id": "{0}"}, {**HI, "stream": True}, SEED)
    then = made[1]["request"]["previous_response_id"]
    with live() as (url, api):
        result = drift(url, recording(tmp_path, made))
    assert result.exit_code == 0, result.output
    assert "4 calls, at most about" in result.stderr
    assert "4 exchanges sent again: 4 as recorded, 0 not" in result.stdout
    now = api.requests[1][2]["previous_response_id"]
    assert now.startswith("resp_")
    assert now != then


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        (None, "What is 'seed'?", "answers as recorded: it is outdated"),
        ("Unrecognized request argument supplied: seed", None, "answers like the API now: record again"),
        ("Once.", "Now.", "gives neither answer"),
    ],
)
def test_other_words_are_reported_with_the_side_that_the_mock_is_on(tmp_path: Path, then, now, told) -> None:
    (one,) = recorded(SEED)
    known = one["response"]["error"]["message"]
    one["response"]["error"]["message"] = then or known
    answer = error(400, now or known, "seed", "unknown_parameter")
    result = drifted(recording(tmp_path, [one]), lambda *request: answer)
    assert result.exit_code == 1
    assert result.stdout.endswith(
        "project/tape.jsonl#1  error.message\n"
        f"  recorded  {then or known}\n  live      {now or known}\n  the mock {told}\n"
    )


def test_what_is_accepted_now_is_reported_by_its_status(tmp_path: Path) -> None:
    result = drifted(recording(tmp_path, recorded(SEED)), lambda *request: (200, {}, recorded(HI)[0]["response"]))
    told = "project/tape.jsonl#1  status\n  recorded  400 Unknown parameter: 'seed'.\n  live      200\n"
    assert told in result.stdout


FAILED = {"error": {"code": "server_error"}}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        *[({"status": status}, str(status)) for status in (401, 429, 500, 503)],
        ({"status": 499}, ""),
        *[({"response": {"error": {"code": code}}}, code) for code in ("server_error", "rate_limit_exceeded")],
        ({"response": {"last_error": {"code": "vector_store_timeout"}}}, "vector_store_timeout"),
        *[
            ({"response": None, "events": [{"event": type, "data": {"type": type, **FAILED}}]}, why)
            for type, why in (("error", "server_error"), ("warning", ""))
        ],
        ({"response": {"error": {"code": "invalid_prompt"}}}, ""),
        ({"response": ["error"]}, ""),
    ],
)
def test_what_depends_on_the_account_or_the_hour_is_transient(changes, why, tmp_path):
    (one,) = recorded(HI)
    (read,) = read_recording(recording(tmp_path, [{**one, **changes}]))
    assert find_transient(read) == why


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"mood": "good"}, "answer.mood\n  recorded  absent\n  live      'good'\n  the mock answers as"),
        ({"safety_identifier": "gone"}, "answer.safety_identifier\n  recorded  None\n  live      absent"),
        ({"tool_choice": "none"}, "answer.tool_choice\n  recorded  'auto'\n  live      'none'\n  the mock answers as"),
        ({"usage": None}, "answer.usage\n  recorded  an object\n  live      null"),
        ({"id": "resp_other", "created_at": 5, "completed_at": 7}, ""),
        (
            {"output": [{"type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "content": []}]},
            "",
        ),
        ({"metadata": {"a": "b"}}, ""),
    ],
)
def test_members_kinds_and_values_that_the_api_chooses_are_compared_and_others_not(tmp_path, change, expected):
    result = drifted(recording(tmp_path, recorded(HI)), altered(**change))
    assert (result.exit_code, expected in result.stdout) == (bool(expected), True), result.stdout


def test_an_event_of_a_new_kind_is_reported(tmp_path: Path) -> None:
    made = recorded({**HI, "stream": True})
    made[0]["events"] = [event for event in made[0]["events"] if event["event"] != "response.in_progress"]
    result = drifted(recording(tmp_path, made))
    assert "events[response.in_progress]\n  recorded  absent\n  live      an object" in result.stdout


def test_events_that_come_when_they_like_are_not_compared(tmp_path: Path) -> None:
    made = recorded({**HI, "stream": True})
    made[0]["events"].insert(2, {"event": "keepalive", "data": {"type": "keepalive", "sequence_number": 2}})
    assert "1 as recorded" in drifted(recording(tmp_path, made)).stdout


def test_a_request_that_continues_other_output_is_not_sent(tmp_path: Path) -> None:
    made = recorded(HI)
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_then", "name": "f", "arguments": "{}"}
    made[0]["response"]["output"] = [{**call, "status": "completed"}]
    output = {"type": "function_call_output", "call_id": "call_then", "output": "ok"}
    follow = {**made[0], "id": "project/tape.jsonl#2", "request": {**HI, "input": [output]}}
    result = drifted(recording(tmp_path, [made[0], follow]))
    assert result.stdout == (
        "1 exchange sent again: 1 as recorded, 0 not\n"
        "1 not sent: it continues output that the model did not give this time\n"
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"provider": "azure"}, "it is azure's"),
        ({"status": 429, "response": {"error": {}}}, "the answer was about the account or the time: 429"),
        ({"no_request": True}, "its request is not in the recording as it was sent"),
        ({"url_path": "/v1/chat/completions"}, "not judged: /chat/completions"),
    ],
)
def test_what_cannot_be_sent_again_is_left_out_and_counted(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    (one,) = recorded(HI)
    result = drifted(recording(tmp_path, [one, {**one, "id": "project/tape.jsonl#2", **changes}]))
    assert f"1 left out: {why}" in result.stderr
    assert "1 exchange sent again: 1 as recorded" in result.stdout


def test_the_budget_counts_what_a_chain_goes_on_from(tmp_path: Path) -> None:
    first = recorded(HI)
    first[0]["response"]["usage"] |= {"input_tokens": 4321}
    assert "1 call, at most about 4,321 tokens in and 500 out" in drifted(recording(tmp_path, first)).stderr


def test_a_refusal_of_what_was_not_known_is_compared(tmp_path: Path) -> None:
    made = recorded({**HI, "previous_response_id": "resp_nope"})
    other = error(400, "No such response.", "previous_response_id")
    result = drifted(recording(tmp_path, made), lambda *request: other)
    assert "live      No such response." in result.stdout


def talked(*steps: tuple[str, str, Any]) -> list[dict[str, Any]]:
    """Return what a mock answers to these requests; `{0}` in a path or a text is the id that answer 0 gave."""
    mock, made = MockApi(fallback=small_talk), []
    mock.open(HEADERS["authorization"].removeprefix("Bearer "))
    for number, (method, path, body) in enumerate(steps, 1):
        ids = [exchange["response"].get("id") for exchange in made]
        below, sent = path.format(*ids), {**body, "conversation": ids[0]} if "model" in body else body
        raw = b"" if method == "GET" else json.dumps(sent).encode()
        answer = mock.handle(ReceivedRequest(method, below, HEADERS, raw=raw))
        more = {"method": method, "url_path": below}
        made.append(exchange(number, None if method == "GET" else sent, answer.status, answer.body, **more))
    return made


ITEMS = ("GET", "/v1/conversations/{0}/items", {})


def test_a_model_that_is_gone_is_reported_and_nothing_that_follows_from_it(tmp_path: Path) -> None:
    made = talked(("POST", "/v1/conversations", {}), ("POST", "/v1/responses", HI), ITEMS)
    gone = error(400, "The requested model 'gpt-4.1' does not exist.", "model", "model_not_found")
    result = drifted(recording(tmp_path, made), lambda method, path, body: gone if "model" in (body or {}) else None)
    assert result.exit_code == 1
    assert result.stdout.endswith(
        "3 exchanges sent again: 1 as recorded, 1 not\n"
        "1 not compared: an earlier request was answered differently\n"
        "project/tape.jsonl#2  model\n"
        "  recorded  gpt-4.1\n"
        "  live      400 The requested model 'gpt-4.1' does not exist.\n"
    )


def test_the_form_of_an_answer_tells_who_is_behind_where_the_mock_gives_none(tmp_path: Path) -> None:
    made = talked(("POST", "/v1/conversations", {}), ITEMS)
    empty = {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": "no"}
    change = {"GET": (200, {}, empty)}
    result = drifted(recording(tmp_path, made), lambda method, path, body: change.get(method))
    assert result.stdout.endswith("live      'no'\n  the mock answers as recorded: it is outdated\n")


def test_a_new_member_of_an_item_is_not_attributed_to_the_mock(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    item = one["response"]["output"][0]
    result = drifted(recording(tmp_path, [one]), altered(output=[{**item, "flavour": "x"}]))
    assert result.stdout.endswith(
        "answer.output[message].flavour\n  recorded  absent\n  live      a text\n"
        "  the mock answers as recorded: it is outdated\n"
    )


def test_events_in_another_order_are_reported_by_the_first_that_is_wrong(tmp_path: Path) -> None:
    made = recorded({**HI, "stream": True})
    events = [event["data"] for event in made[0]["events"]]
    frames = "".join(f"data: {json.dumps(event)}\n\n" for event in [events[0], events[2], events[1], *events[3:]])

    def swapped(method: str, path: str, body: Any) -> Any:
        return 200, {"content_type": "text/event-stream"}, frames

    result = drifted(recording(tmp_path, made), swapped)
    assert result.exit_code == 1
    assert "events[1]\n  recorded  conforms\n" in result.stdout


def test_an_answer_about_the_account_is_not_compared(tmp_path: Path) -> None:
    result = drifted(recording(tmp_path, recorded(HI)), lambda *request: error(403, "Not today."))
    assert (result.exit_code, "which is about the account or the time" in result.stdout) == (2, True)
    assert "responses-harness: nothing was compared" in result.stderr


def test_the_same_difference_is_reported_once(tmp_path: Path) -> None:
    result = drifted(recording(tmp_path, recorded(HI, {**HI, "input": "ho"})), altered(mood="good"))
    assert result.stdout.count("answer.mood") == 1
    assert "project/tape.jsonl#1 and 1 more  answer.mood" in result.stdout


def test_a_refusal_that_followed_from_the_account_is_not_compared(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    words = {"message": "The requested model 'gpt-4.1' does not exist.", "param": "model", "code": "model_not_found"}
    one |= {"status": 400, "response": {"error": {"type": "invalid_request_error", **words}}}
    result = drifted(recording(tmp_path, [one]))
    assert "1 not compared: it depends on the account" in result.stdout


def test_nothing_to_send_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "notes.yaml").write_text("a: 1\n")
    (tmp_path / "broken.yaml").write_text("interactions:\n- request: {method: GET, uri: /v1/responses}\n")
    result = drifted(tmp_path)
    assert result.exit_code == 2
    assert "no recorded request can be sent again. 1 left out: unreadable" in result.stderr


def test_what_was_found_is_reported_as_json(tmp_path: Path) -> None:
    file = recording(tmp_path, recorded(HI))
    with live(altered(mood="good")) as (url, _):
        result = drift(url, file, more=("--yes", "--json"))
    expected = json.loads(result.stdout)
    assert expected["exchanges"][0]["found"] == [
        {"at": "answer.mood", "recorded": "absent", "live": "'good'", "mock": "recording"}
    ]


def test_evidence_that_people_transcribed_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text(
        "interactions:\n"
        "- origin: {level: assumed, where: nobody}\n"
        "  request: {method: POST, uri: https://api.openai.com/v1/responses, body: {model: gpt-4.1, input: a}}\n"
        "  response: {status: {code: 200}, headers: {}, body: {id: resp_before, object: response, output: []}}\n"
        "- origin: {level: reported, where: somebody, date: 2026}\n"
        "  request: {method: POST, uri: https://api.openai.com/v1/responses/, headers: {}, body: {}}\n"
        "  response: {status: {code: 404}, headers: {}, body: {error: {message: 'Invalid URL (POST /v1/responses/)'}}}\n"
    )
    result = drifted(file)
    assert result.stdout == "2 exchanges sent again: 2 as recorded, 0 not\n"
    assert result.exit_code == 0


# The parts.


def test_ids_are_replaced_wherever_they_stand() -> None:
    then, now = ({"id": f"resp_{n}", "a": [{"type": "x", "call_id": f"c{n}"}]} for n in (1, 2))
    assert (names := dict(pair_ids(then, now))) == {"resp_1": "resp_2", "c1": "c2"}
    assert list(pair_ids([then], now)) == list(pair_ids(then, [now])) == []
    sent = ["resp_1", {"at": "/v1/responses/resp_1"}, 3]
    assert translate_ids(sent, names) == ["resp_2", {"at": "/v1/responses/resp_2"}, 3]


def in_turn(*answers: Any) -> Change:
    """Return the API, which answers so, one after the other, and then as ever."""
    left = list(answers)
    return lambda *request: left.pop(0) if left else None


def test_what_was_found_before_the_credit_ran_out_is_reported(tmp_path: Path) -> None:
    new = error(400, "What is 'seed'?", "seed", "unknown_parameter")
    out = error(429, "You exceeded your current quota.", code="insufficient_quota")
    result = drifted(recording(tmp_path, recorded(SEED, HI)), in_turn(new, out))
    assert result.exit_code == 2
    assert "1 exchange sent again: 0 as recorded, 1 not" in result.stdout
    assert "live      What is 'seed'?" in result.stdout
    assert "the account is out of credit" in result.stderr


def test_a_long_wait_that_the_api_asks_for_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("harness.cli.drift.time", SimpleNamespace(sleep=waits.append))
    limited = error(429, "Slow down.", code="rate_limit_exceeded", retry_after="2")
    result = drifted(recording(tmp_path, recorded(HI)), in_turn(limited))
    assert (result.exit_code, "waiting 2 s: the API accepts no more requests for now" in result.stderr) == (0, True)
    assert waits[0] == 2


@pytest.mark.parametrize(("then", "now", "side"), [(1, 0, "live"), (0, 1, "recording"), (1, 1, ""), (0, 0, "")])
def test_where_the_mock_has_no_answer_it_sides_with_the_one_that_conforms(then: int, now: int, side: str) -> None:
    wrong, good = ({VerdictKind.ANSWER_FINDING: [{"at": at}]} for at in ("output[0].usage", "output[0].id"))
    assert _side_by_form("answer.usage", *((good, wrong)[fault] for fault in (then, now))) == side


def test_the_events_of_other_output_are_not_compared(tmp_path: Path) -> None:
    made = recorded({**HI, "stream": True}, turns=[[reasoning("**Why**"), message("Hi.")]])
    assert "1 as recorded" in drifted(recording(tmp_path, made)).stdout

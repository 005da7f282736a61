"""`verify`: recorded exchanges judged as the API answered them."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import HarnessError
from harness.items import function_call, message, reasoning
from harness.verify import output
from tests.support.recordings import HI, KEY, OUTPUT, error, exchange, judge, judged, recorded, write_jsonl

CALL = function_call("f", "{}", call_id="call_1")


def test_what_the_mock_says_itself_is_clean(tmp_path: Path) -> None:
    made = recorded(
        {**HI, "stream": True},
        HI,
        {**HI, "input": [OUTPUT], "previous_response_id": "{1}"},
        {**HI, "input": [OUTPUT]},
        turns=[[reasoning("**Thought**"), message("Hi.")], CALL],
    )
    tally, report = judged(tmp_path, write_jsonl(tmp_path, made))
    assert tally.is_clean
    assert report["exchanges"] == 4
    assert report["requests"]["accepted"] == 3
    assert report["refusals"]["same"] == 1
    assert report["answers"] == {
        "judged": 3,
        "conform": 3,
        "findings": [],
        "drift": [],
        "unverifiable": 0,
        "unverifiable_why": {},
    }
    assert report["streams"]["conform"] == 1
    assert report["streams"]["findings"] == report["streams"]["drift"] == []


def test_a_request_the_mock_would_refuse_is_named_with_its_rule(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    one["request"] = {**HI, "colour": "blue"}
    assert judge(tmp_path, [one])["requests"]["refused"] == [
        {
            "id": "project/tape.jsonl#1",
            "rule": "unknown_parameter",
            "error": {
                "message": "Unknown parameter: 'colour'.",
                "type": "invalid_request_error",
                "param": "colour",
                "code": "unknown_parameter",
            },
        }
    ]


def test_a_body_that_is_no_object_is_refused_as_it_was(tmp_path: Path) -> None:
    text = error("Invalid type: expected an object, but got a string instead.")
    assert judge(tmp_path, [exchange(1, '"hi"', 400, text)])["refusals"]["same"] == 1


def test_a_refusal_in_other_words_is_shown_beside_the_recorded_ones(tmp_path: Path) -> None:
    report = judge(tmp_path, [exchange(1, {**HI, "input": [OUTPUT]}, 400, error("No call for that."))])
    (found,) = report["refusals"]["different"]
    assert found["recorded"]["message"] == "No call for that."
    assert found["mock"]["message"] == "No tool call found for function call output with call_id call_1."
    assert found["mock"]["rule"] == "output_needs_call"


def test_a_refusal_that_the_mock_does_not_know_is_missed(tmp_path: Path) -> None:
    report = judge(tmp_path, [exchange(1, HI, 400, error("Not on Sundays."))])
    assert [found["recorded"]["message"] for found in report["refusals"]["missed"]] == ["Not on Sundays."]


def test_members_that_a_recording_does_not_show_are_not_compared(tmp_path: Path) -> None:
    published = {"error": {"message": "No tool call found for function call output with call_id call_1."}}
    assert judge(tmp_path, [exchange(1, {**HI, "input": [OUTPUT]}, 400, published)])["refusals"]["same"] == 1


def test_only_the_listed_values_may_differ(tmp_path: Path) -> None:
    older = error("Invalid value: 'x'. Supported values are: 'auto'.", param="truncation", code="invalid_value")
    report = judge(tmp_path, [exchange(1, {**HI, "truncation": "x"}, 400, older)])["refusals"]
    assert report["same"] == 1
    assert [entry["recorded"]["message"] for entry in report["drift"]] == [older["error"]["message"]]


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (401, error("Incorrect API key provided: sk-a. You can find…", code="invalid_api_key")),
        (429, error("Slow down.")),
        (404, error("Prompt with id 'pmpt_1' not found.")),
        (400, {"message": "a gateway says so"}),
    ],
)
def test_what_lies_in_the_account_is_unverifiable(tmp_path: Path, status: int, answer: Any) -> None:
    report = judge(tmp_path, [exchange(1, HI, status, answer)])["refusals"]
    assert report["unverifiable"] == sum(report["unverifiable_why"].values()) == 1
    assert report["missed"] == report["different"] == []


@pytest.mark.parametrize(
    "body",
    [
        {**HI, "previous_response_id": "resp_before"},
        {**HI, "conversation": "conv_before"},
        {**HI, "prompt": {"id": "pmpt_1"}},
        {**HI, "input": [{"type": "item_reference", "id": "msg_before"}]},
        {**HI, "previous_response_id": "resp_before", "input": [OUTPUT]},
    ],
)
def test_ids_from_before_the_recording_are_unverifiable(tmp_path: Path, body: dict[str, Any]) -> None:
    (one,) = recorded(HI)
    report = judge(tmp_path, [{**one, "request": body}])["requests"]
    assert (report["accepted"], report["refused"], report["unverifiable"]) == (0, [], 1)


def test_what_goes_on_from_before_the_recording_is_known_from_then_on(tmp_path: Path) -> None:
    one, two = recorded(HI, HI, turns=[CALL])
    one["request"] = {**HI, "conversation": "conv_before"}
    two["request"] = {**HI, "conversation": "conv_before", "input": [OUTPUT]}
    report = judge(tmp_path, [one, two])["requests"]
    assert (report["accepted"], report["unverifiable"]) == (1, 1)
    without = {**two, "request": one["request"], "status": 400}
    missing = {**without, "response": error("No tool output found for function call call_1.", param="input")}
    assert judge(tmp_path, [one, missing])["refusals"]["same"] == 1


def test_a_chain_that_began_before_the_recording_may_hold_what_is_missed(tmp_path: Path) -> None:
    one, two = recorded(HI, {**HI, "previous_response_id": "{0}"})
    one["response"]["previous_response_id"] = one["request"]["previous_response_id"] = "resp_before"
    refused = {**two, "status": 400, "response": error("No tool output found for function call call_0.", param="input")}
    assert judge(tmp_path, [one, refused])["refusals"]["unverifiable"] == 1


def test_a_response_made_without_storing_is_not_found(tmp_path: Path) -> None:
    made = recorded({**HI, "store": False}, {**HI, "previous_response_id": "{0}"})
    assert judge(tmp_path, made)["refusals"]["same"] == 1


def test_an_answer_is_held_to_its_schema(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    one["response"]["output"][0]["status"] = 7
    (found,) = judge(tmp_path, [one])["answers"]["findings"]
    assert found["at"].startswith("output[0]")


def test_unknown_members_of_answers_are_drift_named_once(tmp_path: Path) -> None:
    made = recorded(HI, HI)
    for one in made:
        one["response"]["mood"] = "good"
    tally, report = judged(tmp_path, write_jsonl(tmp_path, made))
    assert tally.is_clean
    (drift,) = report["answers"]["drift"]
    assert (drift["at"], drift["times"]) == ("mood", 2)


def test_events_are_judged_one_by_one(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    del next(event for event in one["events"] if event["event"].endswith("delta"))["data"]["delta"]
    report = judge(tmp_path, [one])["streams"]
    (found,) = report["findings"]
    assert found["at"].startswith("events[")
    assert "delta" in found["message"]
    assert report["conform"] == 0


def test_events_must_belong_to_one_response(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True}, turns=[message(["a", "b", "c"])])
    deltas = [index for index, event in enumerate(one["events"]) if event["event"] == "response.output_text.delta"]
    one["events"][deltas[0]]["data"]["delta"] = "z"
    (found,) = judge(tmp_path, [one])["streams"]["findings"]
    assert "add up to" in found["message"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("totally.wrong", "its line is 'event: totally.wrong', its data has the type 'response.in_progress'"),
        (None, "there is no 'event:' line before its data"),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_the_line_by_which_clients_dispatch_names_the_event(
    tmp_path: Path, name: Any, message: str, provider: str
) -> None:
    (one,) = recorded({**HI, "stream": True})
    one["events"][1]["event"] = name
    report = judge(tmp_path, [{**one, "provider": provider}])["streams"]
    assert [(found["at"], found["message"]) for found in report["findings"]] == [("events[1]", message)]
    assert report["conform"] == 0


def test_a_name_that_means_another_event_is_found(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    one["events"][2]["event"] = "error"
    (found,) = judge(tmp_path, [one])["streams"]["findings"]
    assert (found["at"], found["message"][:25]) == ("events[2]", "its line is 'event: error")


def test_names_that_a_publication_left_out_are_none_of_the_api(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    for event in one["events"]:
        event["event"] = None
    assert judge(tmp_path, [{**one, "transcribed": True}])["streams"]["conform"] == 1


def test_data_that_is_no_object_is_found_in_the_middle_of_a_stream(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    one["events"].insert(2, {"event": "response.in_progress", "data": '{"type": "resp'})
    (found,) = judge(tmp_path, [one])["streams"]["findings"]
    assert (found["at"], found["message"]) == ("events[2]", "its data is no JSON object")


def test_a_cut_stream_is_not_read_as_a_whole(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    one["events"] = one["events"][:-2]
    assert judge(tmp_path, [{**one, "cut": True}])["streams"]["conform"] == 1
    assert judge(tmp_path, [one])["streams"]["findings"]


def test_other_traffic_is_skipped_and_counted(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    others = [
        {**one, "url_path": "/v1/chat/completions"},
        {**one, "url_path": "/v1/embeddings"},
        {**one, "provider": "", "url_path": "/v1/messages"},
    ]
    report = judge(tmp_path, [one, *others])
    assert (report["exchanges"], report["skipped"]) == (4, 3)
    assert sum(report["skipped_why"].values()) == 3
    assert report["skipped_why"]["not judged: /chat/completions"] == 1


def test_files_are_worlds_apart(tmp_path: Path) -> None:
    one, two = recorded(HI, {**HI, "previous_response_id": "{0}"})
    apart = [
        write_jsonl(tmp_path, [one], "a.jsonl"),
        write_jsonl(tmp_path, [{**two, "id": "other/tape#1"}], "b.jsonl"),
    ]
    _, report = judged(tmp_path, *apart)
    assert (report["requests"]["accepted"], report["requests"]["unverifiable"]) == (1, 1)


def test_several_jobs_find_the_same_in_the_same_order(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(6):
        bad = deepcopy(one)
        bad["id"], bad["request"] = f"t{number}#1", {**HI, "colour": "blue"}
        write_jsonl(folder, [bad], f"{number}.jsonl")
    alone, side_by_side = judged(tmp_path, folder)[1], judged(tmp_path, folder, jobs=2)[1]
    assert alone == side_by_side
    assert [entry["id"] for entry in alone["requests"]["refused"]] == [f"t{number}#1" for number in range(6)]


def test_a_file_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path, recorded(HI))
    file.write_text(file.read_text() + '{"id": "project/tape.js')
    tally, report = judged(tmp_path, file)
    assert not tally.is_clean
    assert report["requests"]["accepted"] == 1
    assert [entry["file"] for entry in report["unreadable"]] == [file.as_posix()]


def test_a_folder_may_hold_other_files(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x"}')
    folder = write_jsonl(tmp_path, recorded(HI)).parent
    tally, report = judged(tmp_path, folder)
    assert tally.is_clean
    assert report["others"] >= 1


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="nowhere"):
        judged(tmp_path, tmp_path / "nowhere")


def test_secrets_are_never_printed(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    one["request_headers"] = {"authorization": f"Bearer {KEY}", "api-key": "0123456789abcdef0123456789abcdef"}
    one["request"] = {**HI, KEY: 1}
    two = {**one, "request": {**HI, "0123456789abcdef0123456789abcdef": 1}}
    tally, report = judged(tmp_path, write_jsonl(tmp_path, [one, two]))
    text = json.dumps(report) + "\n".join(output.summary_lines(tally))
    assert len(report["requests"]["refused"]) == 2
    assert KEY not in text
    assert "0123456789abcdef" not in text
    assert "[hidden]" in text


def test_the_memory_of_a_long_recording_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.verify import remember
    from harness.world.world import World

    monkeypatch.setattr(remember, "MIN_REMEMBERED", 10)
    (one,) = recorded(HI)
    world = World("long")
    from harness.verify.judging.judge import judge as verdicts
    from harness.verify.read_files import read_recording

    for number in range(100):
        answer = json.loads(json.dumps(one["response"]).replace(one["response"]["id"], f"resp_{number:032x}"))
        (line,) = read_recording(write_jsonl(tmp_path, [{**one, "response": answer}]))
        list(verdicts(line, world))
    assert 10 <= len(world.store.responses) <= 20
    assert f"resp_{99:032x}" in world.store.responses


def test_the_report_lists_the_first_findings_and_where_the_rest_is(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    tally, _ = judged(tmp_path, write_jsonl(tmp_path, [{**one, "request": {**HI, "colour": n}} for n in range(30)]))
    text = list(output.summary_lines(tally))
    assert any("Unknown parameter: 'colour'." in line for line in text)
    assert any("10 more" in line for line in text)


def test_each_number_counts_exchanges_each_list_differences(tmp_path: Path) -> None:
    good, wrong = recorded({**HI, "stream": True}, {**HI, "stream": True})
    for event in wrong["events"][1:3]:
        event["data"] |= {"sequence_number": "x", "colour": "blue"}
        del event["data"]["type"]
    wrong["events"][-1]["data"]["response"] |= {"temperature": 0.5, "top_p": 0.5}
    good["events"][-1]["data"]["response"] |= {"temperature": 0.5, "top_p": 0.5, "colour": "blue"}
    tally, report = judged(tmp_path, write_jsonl(tmp_path, [good, wrong]), respelled=True)
    assert (report["streams"]["judged"], report["streams"]["conform"], len(report["streams"]["findings"])) == (2, 1, 2)
    assert (report["respelled"]["judged"], len(report["respelled"]["different"])) == (1, 2)
    rows = list(zip(*(column.cells for column in output.counts_table(tally).columns), strict=True))
    assert rows[3:] == [("streams", "2", "1", "1", "-", "1"), ("respelled", "1", "-", "1", "-", "-")]

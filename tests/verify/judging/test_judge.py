"""`verify`: recorded exchanges judged as the API answered them."""

from pathlib import Path
from typing import Any

import pytest

from harness.items import function_call, message, reasoning
from tests.support.recordings import HI, OUTPUT, error, exchange, judge, judged, recorded, write_jsonl

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
    assert (report["exchanges"], report["requests"]["accepted"], report["refusals"]["same"]) == (4, 3, 1)
    assert (report["answers"]["conform"], report["streams"]["conform"]) == (3, 1)
    for kind in ("answers", "streams"):
        assert report[kind]["findings"] == report[kind]["drift"] == []


def test_a_request_the_mock_would_refuse_is_named_with_its_rule(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    (found,) = judge(tmp_path, [{**one, "request": {**HI, "colour": "blue"}}])["requests"]["refused"]
    said = error("Unknown parameter: 'colour'.", param="colour", code="unknown_parameter")
    assert found == {"id": "project/tape.jsonl#1", "rule": "unknown_parameter", **said}


NO_CALL = "No tool call found for function call output with call_id call_1."


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ('"hi"', error("Invalid type: expected an object, but got a string instead.")),
        ({**HI, "input": [OUTPUT]}, {"error": {"message": NO_CALL}}),
    ],
    ids=["a body that is no object", "members that a recording does not show"],
)
def test_a_refusal_is_the_same_of(tmp_path: Path, body: Any, answer: Any) -> None:
    assert judge(tmp_path, [exchange(1, body, 400, answer)])["refusals"]["same"] == 1


def test_a_refusal_in_other_words_is_shown_beside_the_recorded_ones(tmp_path: Path) -> None:
    report = judge(tmp_path, [exchange(1, {**HI, "input": [OUTPUT]}, 400, error("No call for that."))])
    (found,) = report["refusals"]["different"]
    assert found["recorded"]["message"] == "No call for that."
    assert (found["mock"]["message"], found["mock"]["rule"]) == (NO_CALL, "output_needs_call")


def test_a_refusal_that_the_mock_does_not_know_is_missed(tmp_path: Path) -> None:
    report = judge(tmp_path, [exchange(1, HI, 400, error("Not on Sundays."))])
    assert [entry["recorded"]["message"] for entry in report["refusals"]["missed"]] == ["Not on Sundays."]


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
    for entry in made:
        entry["response"]["mood"] = "good"
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


@pytest.mark.parametrize(("day", "found"), [("2025-05-30", "drift"), ("2025-05-31", "findings")])
def test_events_have_numbers_since_a_day(tmp_path: Path, day: str, found: str) -> None:
    (one,) = recorded({**HI, "stream": True})
    for event in one["events"]:
        del event["data"]["sequence_number"]
    report = judge(tmp_path, [{**one, "recorded_at": day}])["streams"]
    assert {name for name in ("drift", "findings") if "sequence_number" in str(report[name])} == {found}
    assert report["events"] == len(one["events"])


def test_a_last_event_that_leaves_the_output_out_is_drift(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    one["events"][-1]["data"]["response"]["output"] = []
    report = judge(tmp_path, [one])["streams"]
    assert (report["findings"], ["left out" in drift["message"] for drift in report["drift"]]) == ([], [True])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("totally.wrong", "its line is 'event: totally.wrong', its data has the type 'response.in_progress'"),
        ("error", "its line is 'event: error', its data has the type 'response.in_progress'"),
        (None, "there is no 'event:' line before its data"),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_the_line_by_which_clients_dispatch_names_the_event(tmp_path: Path, name: Any, message: str, provider: str):
    (one,) = recorded({**HI, "stream": True})
    one["events"][1]["event"] = name
    report = judge(tmp_path, [{**one, "provider": provider}])["streams"]
    assert [(finding["at"], finding["message"]) for finding in report["findings"]] == [("events[1]", message)]
    assert report["conform"] == 0


def test_names_that_a_publication_left_out_are_none_of_the_api(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    for event in one["events"]:
        event["event"] = None
    assert judge(tmp_path, [{**one, "transcribed": True}])["streams"]["conform"] == 1


def test_data_that_is_no_object_is_found_in_the_middle_of_a_stream(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    one["events"].insert(2, {"event": "response.in_progress", "data": '{"type": "resp'})
    (found,) = judge(tmp_path, [one])["streams"]["findings"]
    assert (found["at"], found["message"]) == ("events[2]", "its data is not a JSON object")


def test_a_cut_stream_is_not_read_as_a_whole(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    one["events"] = one["events"][:-2]
    assert judge(tmp_path, [{**one, "cut": True}])["streams"]["conform"] == 1
    assert judge(tmp_path, [one])["streams"]["findings"]


OK = recorded(HI)[0]["response"]
FORM = {"content-type": "multipart/form-data; boundary=x"}


def call(number: int, line: str, request: Any, answer: Any, status: int = 200, **more: Any) -> dict[str, Any]:
    method, path = line.split()
    return exchange(number, request, status, answer, method=method, url_path=f"/v1{path}", **more)


def names(id: str) -> dict[str, Any]:
    return {**HI, "input": [{"role": "user", "content": [{"type": "input_file", "file_id": id}]}]}


def searches(*ids: str) -> dict[str, Any]:
    return {**HI, "tools": [{"type": "file_search", "vector_store_ids": list(ids)}]}


def file(id: str, purpose: str = "user_data") -> dict[str, Any]:
    members = {"id": id, "object": "file", "bytes": 5, "created_at": 1, "filename": "a.txt", "purpose": purpose}
    return {**members, "status": "processed", "expires_at": 2}


def in_store(id: str) -> dict[str, Any]:
    members = {"id": id, "object": "vector_store.file", "created_at": 1, "status": "completed", "usage_bytes": 5}
    return {**members, "vector_store_id": "vs_1", "last_error": None}


def form(*parts: str) -> str:
    body = "".join(f"--x\r\nContent-Disposition: form-data; {part}\r\n" for part in parts)
    return f"{body}--x--\r\n"


def gone(kind: str, id: str) -> dict[str, Any]:
    return {"id": id, "object": kind, "deleted": True}


FILE = 'name="file"; filename="a.txt"\r\n\r\nParis'
PURPOSE = 'name="purpose"\r\n\r\nuser_data'


@pytest.mark.parametrize(
    ("line", "request_", "answer"),
    [
        ("POST /responses", names("file-old"), OK),
        ("POST /responses", searches("vs_old", "vs_older"), OK),
        ("GET /files/file-old", None, file("file-old")),
        ("GET /files/file-old/content", None, None),
        ("DELETE /files/file-old", None, gone("file", "file-old")),
        ("POST /vector_stores/vs_1/files", {"file_id": "file-old"}, in_store("file-old")),
        ("GET /vector_stores/vs_1/files/file-old", None, in_store("file-old")),
        ("GET /vector_stores/vs_1/files/vs_2", None, in_store("vs_2")),
    ],
)
def test_what_an_accepted_request_names_existed_before(tmp_path, line, request_, answer) -> None:
    report = judge(tmp_path, [call(1, line, request_, answer)])
    assert (report["requests"]["accepted"], report["requests"]["refused"]) == (1, [])
    assert report["answers"]["findings"] == []


def test_what_is_no_id_of_a_vector_store_cannot_be_judged_beside_others(tmp_path) -> None:
    deleted = call(1, "DELETE /files/file-old", None, gone("file", "file-old"))
    report = judge(tmp_path, [deleted, call(2, "POST /responses", searches("docs"), OK)])
    assert (report["requests"]["accepted"], report["requests"]["refused"]) == (1, [])


def test_a_file_is_known_from_its_upload_to_its_end(tmp_path) -> None:
    unknown = error("No such File object: file-1", param="id")
    report = judge(
        tmp_path,
        [
            call(1, "POST /files", form(FILE, PURPOSE), file("file-1"), request_headers=FORM),
            call(2, "POST /responses", names("file-1"), OK),
            call(3, "DELETE /files/file-1", None, gone("file", "file-1")),
            call(4, "GET /files/file-1", None, unknown, 404),
        ],
    )
    assert (report["requests"]["accepted"], report["requests"]["refused"]) == (3, [])
    assert report["refusals"]["same"] == 1


def test_a_vector_store_is_known_from_its_making_to_its_end(tmp_path) -> None:
    counts = dict.fromkeys(("in_progress", "completed", "failed", "cancelled", "total"), 0)
    made = {"id": "vs_1", "object": "vector_store", "created_at": 1, "name": None, "status": "completed"}
    made |= {"usage_bytes": 0, "file_counts": counts}
    absent = error("No file found with id 'file-1' in vector store 'vs_1'.")
    unknown = error("No vector store found with id 'vs_1'.", param="vector_store_id")
    files = "/vector_stores/vs_1/files"
    report = judge(
        tmp_path,
        [
            call(1, "POST /vector_stores", {}, made),
            call(2, f"POST {files}", {"file_id": "file-1"}, in_store("file-1")),
            call(3, f"DELETE {files}/file-1", None, gone("vector_store.file.deleted", "file-1")),
            call(4, f"GET {files}/file-1", None, absent, 404),
            call(5, "DELETE /vector_stores/vs_1", None, gone("vector_store.deleted", "vs_1")),
            call(6, "GET /vector_stores/vs_1", None, unknown, 404),
        ],
    )
    assert (report["requests"]["accepted"], report["requests"]["refused"]) == (4, [])
    assert (report["refusals"]["same"], report["answers"]["findings"]) == (2, [])


def test_an_answer_that_is_no_object_teaches_nothing(tmp_path) -> None:
    path = "/vector_stores/vs_1/files"
    made = [call(1, f"POST {path}", {"file_id": "file-1"}, {}), call(2, f"DELETE {path}/file-1", None, {})]
    assert judge(tmp_path, made)["requests"]["accepted"] == 2


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        (form(PURPOSE), "unverifiable"),
        (form('name="file"; filename="a.txt"\r\n\r\n', PURPOSE), "unverifiable"),
        (None, "absent"),
        ("<file>", "absent"),
    ],
)
def test_an_upload_whose_bytes_were_left_out_cannot_be_judged(tmp_path, sent, counted) -> None:
    report = judge(tmp_path, [call(1, "POST /files", sent, file("file-1"), request_headers=FORM)])["requests"]
    assert (report["accepted"], report["refused"], report[counted]) == (0, [], 1)


def test_a_refused_upload_is_refused_alike(tmp_path) -> None:
    words = "'x' is not one of ['fine-tune', 'assistants', 'batch', 'user_data', 'vision', 'evals'] - 'purpose'"
    refused = error(words, param="purpose")
    sent = form(FILE, 'name="purpose"\r\n\r\nx')
    report = judge(tmp_path, [call(1, "POST /files", sent, refused, 400, request_headers=FORM)])
    assert report["refusals"]["same"] == 1


def test_files_that_the_mock_missed_and_the_api_as_well_are_distinguished(tmp_path) -> None:
    report = judge(tmp_path, [call(1, "POST /responses", names("file-x"), error("Nowhere."), 404)])
    assert report["refusals"]["different"] == []

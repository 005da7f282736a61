"""Files and vector stores in recordings: what was uploaded before one began, what is uploaded in it, what is cut out."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.exchange import Request
from harness.verify.remember import remember
from harness.world.world import World
from tests.support.recordings import HI, error, exchange, judge, recorded

TAKE_OUT = "DELETE /vector_stores/{vector_store_id}/files/{file_id}"
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
def test_what_a_taken_request_names_was_there_before(tmp_path, line, request_, answer) -> None:
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
    report = judge(
        tmp_path, [call(1, f"POST {path}", {"file_id": "file-1"}, {}), call(2, f"DELETE {path}/file-1", None, {})]
    )
    assert report["requests"]["accepted"] == 2


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


def test_what_is_removed_from_a_store_that_nobody_knows_was_never_there() -> None:
    world = World()
    gone = Request("DELETE", "", params={"vector_store_id": "vs_1", "file_id": "file-1"}, operation=TAKE_OUT)
    remember(world, gone, {"deleted": True})
    assert (world.store.files, world.store.vector_stores) == ({}, {})

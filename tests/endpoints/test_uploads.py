"""`/uploads`: a file in parts, from its announcement to the file that the input of a response names."""

import re
from hashlib import md5
from typing import Any

import pytest

from harness.core.exchange import Answer, Form, OnDisk, ReceivedRequest
from tests.support.in_process import KEY, Client, error, post_form

ANNOUNCED = {"bytes": 5, "filename": "a.txt", "mime_type": "text/plain", "purpose": "user_data"}


def begin(client: Client, **members: Any) -> str:
    return str(client.send("POST /uploads", {**ANNOUNCED, **members}).body["id"])


def add(client: Client, upload: str, data: bytes) -> Answer:
    return post_form(client, f"/uploads/{upload}/parts", {"data": ("part", data)})


def complete(client: Client, upload: str, *parts: Answer, **members: Any) -> Answer:
    ids = [part.body["id"] for part in parts]
    return client.send(f"POST /uploads/{upload}/complete", {"part_ids": ids, **members})


def test_an_upload_is_answered_with_its_object(client):
    body = client.send("POST /uploads", ANNOUNCED).body
    now = client.world.now
    shown = {name: ANNOUNCED[name] for name in ("bytes", "filename", "purpose")}
    times = {"created_at": now, "expires_at": now + 3600}
    assert re.fullmatch("upload_[0-9a-f]{32}", body["id"])
    assert body == {"id": body["id"], "object": "upload", "status": "pending", "file": None, **shown, **times}


def test_the_parts_become_a_file_in_the_order_of_their_ids(client):
    upload = begin(client, purpose="batch", filename="a.jsonl")
    last, first = add(client, upload, b"s\xff"), add(client, upload, b"Par")
    body = complete(client, upload, first, last).body
    assert (body["status"], body["file"]["bytes"], body["file"]["purpose"]) == ("completed", 5, "batch")
    assert client.send(f"GET /files/{body['file']['id']}").body == body["file"]
    assert client.send(f"GET /files/{body['file']['id']}/content").body == b"Pars\xff"


def test_the_file_can_be_used_like_any_other(client):
    upload = begin(client)
    file = complete(client, upload, add(client, upload, b"Paris")).body["file"]["id"]
    part = {"type": "input_file", "file_id": file}
    assert client.ask([{"role": "user", "content": [part]}]).status == 200
    assert client.send("POST /vector_stores", {"file_ids": [file]}).status == 200
    assert [entry["id"] for entry in client.send("GET /files").body["data"]] == [file]


def test_the_file_expires_as_its_upload_asked(client):
    upload = begin(client, expires_after={"anchor": "created_at", "seconds": 3600})
    file = complete(client, upload, add(client, upload, b"Paris")).body["file"]
    assert file["expires_at"] == file["created_at"] + 3600


def test_the_checksum_is_that_of_the_whole_file(client):
    upload = begin(client)
    parts = [add(client, upload, b"Pa"), add(client, upload, b"ris")]
    wrong = complete(client, upload, *parts, md5=md5(b"Pa").hexdigest())
    assert error(wrong)[::2] == (400, "md5")
    assert complete(client, upload, *parts, md5=md5(b"Paris").hexdigest()).status == 200


@pytest.mark.parametrize("size", [2, 9])
def test_the_parts_have_the_bytes_that_were_announced(client, size):
    upload = begin(client, bytes=size)
    answer = complete(client, upload, add(client, upload, b"Paris"))
    assert error(answer)[:2] == (400, f"Expected {size} bytes, but the parts have 5 bytes.")


def test_a_cancelled_upload_takes_no_more(client):
    upload = begin(client)
    part = add(client, upload, b"Paris")
    assert client.send(f"POST /uploads/{upload}/cancel").body["status"] == "cancelled"
    again = client.send(f"POST /uploads/{upload}/cancel")
    for late in (add(client, upload, b"x"), complete(client, upload, part), again):
        assert error(late)[:2] == (400, f"Upload {upload} is cancelled.")
    assert client.send("GET /files").body["data"] == []


def test_an_upload_has_an_hour(client):
    upload = begin(client)
    part = add(client, upload, b"Paris")
    client.world.skip(3600)
    assert error(complete(client, upload, part))[:2] == (400, f"Upload {upload} is expired.")


@pytest.mark.parametrize("missing", list(ANNOUNCED))
def test_an_announcement_is_whole(client, missing):
    body = {name: value for name, value in ANNOUNCED.items() if name != missing}
    assert error(client.send("POST /uploads", body))[:3] == (400, f"Missing required parameter: '{missing}'.", missing)


def test_a_batch_names_its_files_once(client):
    file, store = client.mock.file("a.txt", "a"), client.mock.vector_store()
    call, both = f"POST /vector_stores/{store}/file_batches", {"file_ids": [file], "files": [{"file_id": file}]}
    assert error(client.send(call, both))[::3] == (400, "mutually_exclusive_parameters")
    assert [client.send(call, {**both, name: None}).status for name in both] == [200, 200]


def test_a_part_that_is_kept_on_disk_is_part_of_the_file(client):
    data = bytes(range(256))
    on_disk = OnDisk(len(data), lambda start, length: data[start : start + length])
    fields = {"data": {"filename": "part", "content_type": "", "data": str(on_disk)}}
    form = Form(fields, {"data": on_disk})
    upload, headers = begin(client, bytes=256, purpose="batch"), {"authorization": f"Bearer {KEY}"}
    part = client.api.handle(ReceivedRequest("POST", f"/v1/uploads/{upload}/parts", headers, {}, b"x", form))
    file = complete(client, upload, part).body["file"]["id"]
    assert client.send(f"GET /files/{file}/content").body == data

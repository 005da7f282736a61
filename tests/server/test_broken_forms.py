"""Uploads that no server can parse are refused; those that a server can, are not."""

import pytest

from harness.core.exchange import Answer, ReceivedRequest
from harness.server.mock_api import MockApi

AUTH = {"authorization": "Bearer sk-mock"}
PURPOSE = b'--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n'
FILE = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nParis\r\n'
END = b"--x--"
FORM = PURPOSE + FILE + END + b"\r\n"
KIND = "multipart/form-data; boundary=x"


def upload(raw: bytes, kind: str = KIND, path: str = "/v1/files") -> Answer:
    return MockApi().handle(ReceivedRequest("POST", path, {**AUTH, "content-type": kind}, raw=raw))


@pytest.mark.parametrize(
    "kind", [KIND, 'multipart/form-data; boundary="x"', "Multipart/Form-Data; charset=utf-8; boundary=x"]
)
@pytest.mark.parametrize("raw", [FORM, PURPOSE + FILE + END, FILE + PURPOSE + END + b"\r\nepilogue", b"\r\n" + FORM])
def test_a_form_is_accepted(kind: str, raw: bytes) -> None:
    assert upload(raw, kind).status == 200


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (FORM, "multipart/form-data"),
        (FORM, "multipart/form-data; boundary="),
        (FORM, 'multipart/form-data; boundary=""'),
        (FORM, "multipart/form-data; boundary=y"),
        (b"", KIND),
        (b"purpose=user_data", KIND),
        (PURPOSE + FILE, KIND),
        (PURPOSE + FILE + b"--x", KIND),
        (PURPOSE + FILE[:-4], KIND),
        (PURPOSE + FILE[:20], KIND),
    ],
)
def test_one_without_a_boundary_or_an_end_is_refused(raw: bytes, kind: str) -> None:
    answer = upload(raw, kind)
    assert (answer.status, answer.rule) == (400, "upload_unparsable")
    assert answer.body["error"] == {
        "message": "Could not parse multipart form",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


def test_at_each_endpoint_that_takes_forms() -> None:
    api = MockApi()
    head = {**AUTH, "content-type": KIND}
    container = api.handle(ReceivedRequest("POST", "/v1/containers", AUTH, raw=b'{"name": "c"}')).body["id"]
    for path in (f"/v1/containers/{container}/files", "/v1/uploads/upload_1/parts"):
        assert api.handle(ReceivedRequest("POST", path, head, raw=FILE)).rule == "upload_unparsable"


def test_one_without_a_file_lacks_it() -> None:
    assert upload(PURPOSE + END).rule == "upload_incomplete"

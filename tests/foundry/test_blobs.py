"""Uploads to datasets: the mock has the storage itself, at addresses whose signature leads to the World."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from harness.core.exchange import Answer, ReceivedRequest
from harness.foundry.blobs import sign
from harness.foundry.resources import origin_of
from harness.world.world import World
from tests.support.foundry import ProjectClient

WRITE = {"x-ms-blob-type": "BlockBlob", "content-type": "text/plain"}


class Storage:
    """Asks as a client of a storage account does that has a signed address of a container, and no key."""

    def __init__(self, project: ProjectClient, address: str) -> None:
        parts = urlsplit(address)
        self._project, self._path, self._query = project, parts.path, dict(parse_qsl(parts.query))
        assert (parts.scheme, parts.netloc) == ("http", "harness.test")

    def ask(self, method: str, blob: str = "", raw: bytes = b"", headers: Any = None, **query: str) -> Answer:
        path = f"{self._path}/{blob}" if blob else self._path
        return self._project.api.handle(ReceivedRequest(method, path, headers or {}, {**self._query, **query}, raw))


def begin(project: ProjectClient) -> Storage:
    answer = project.ask("POST /datasets/d/versions/1/startPendingUpload", {"pendingUploadType": "BlobReference"})
    assert answer.status == 200
    return Storage(project, answer.body["blobReference"]["credential"]["sasUri"])


@pytest.fixture
def storage(project: ProjectClient) -> Storage:
    return begin(project)


class TestAPendingUpload:
    def test_a_pending_upload_is_answered_as_recorded(self, project: ProjectClient) -> None:
        body = {"pendingUploadType": "BlobReference", "connectionName": "storage"}
        made = project.ask("POST /datasets/d/versions/1/startPendingUpload", body).body
        told = {"pendingUploadId": None, "pendingUploadType": "BlobReference", "version": "1"}
        assert list(made) == ["blobReference", "blobReferenceForConsumption", *told]
        assert told.items() <= made.items()
        reference = made["blobReference"]
        assert list(reference) == ["blobUri", "storageAccountArmId", "credential"]
        assert list(reference["credential"]) == ["type", "credentialType", "sasUri"]
        assert reference["blobUri"].startswith("http://harness.test/api/projects/p/_blobs/harness-")
        assert reference["credential"]["sasUri"].startswith(f"{reference['blobUri']}?sv=")

    @pytest.mark.parametrize("body", [None, {}, {"pendingUploadId": "mine"}])
    def test_a_pending_upload_needs_nothing(self, project: ProjectClient, body: Any) -> None:
        answer = project.ask("POST /datasets/d/versions/1/startPendingUpload", body)
        assert (answer.status, answer.body["pendingUploadId"]) == (200, (body or {}).get("pendingUploadId"))

    def test_a_pending_upload_has_a_container_of_its_own(self, project: ProjectClient) -> None:
        one, other = begin(project), begin(project)
        one.ask("PUT", "a.txt", b"A", WRITE)
        assert other.ask("GET", "a.txt").status == 404


class TestABlob:
    def test_a_blob_is_kept_and_read_without_a_key(self, storage: Storage) -> None:
        put = storage.ask("PUT", "sub/a b.txt", b"Hello", WRITE)
        assert (put.status, put.body) == (201, b"")
        read = storage.ask("GET", "sub/a b.txt")
        assert (read.status, read.body, read.headers["content-type"]) == (200, b"Hello", "text/plain")
        assert read.headers["etag"] == put.headers["etag"]
        assert read.headers["last-modified"].endswith(" GMT")

    @pytest.mark.parametrize(
        ("asked", "data", "shown"),
        [
            ("bytes=0-1", b"He", "bytes 0-1/5"),
            ("bytes=3-", b"lo", "bytes 3-4/5"),
            ("bytes=0-33554431", b"Hello", "bytes 0-4/5"),
        ],
    )
    def test_a_blob_is_read_in_ranges(self, storage: Storage, asked: str, data: bytes, shown: str) -> None:
        storage.ask("PUT", "a.txt", b"Hello", WRITE)
        read = storage.ask("GET", "a.txt", headers={"x-ms-range": asked})
        assert (read.status, read.headers["content-range"], read.body) == (206, shown, data)

    @pytest.mark.parametrize("asked", ["bytes=5-6", "bytes=9-1"])
    def test_a_blob_is_not_read_outside_of_it(self, storage: Storage, asked: str) -> None:
        storage.ask("PUT", "a.txt", b"Hello", WRITE)
        read = storage.ask("GET", "a.txt", headers={"x-ms-range": asked})
        assert (read.status, read.headers["x-ms-error-code"]) == (416, "InvalidRange")

    def test_a_blob_is_not_overwritten_by_who_does_not_want_to(self, storage: Storage) -> None:
        for status in (201, 409):
            assert storage.ask("PUT", "a.txt", b"A", {**WRITE, "if-none-match": "*"}).status == status
        assert storage.ask("PUT", "a.txt", b"B", WRITE).status == 201

    def test_a_blob_may_come_in_blocks(self, storage: Storage) -> None:
        for id, data in (("MQ==", b"one "), ("Mg==", b"two")):
            assert storage.ask("PUT", "a.txt", data, comp="block", blockid=id).status == 201
        listed = b"<?xml version='1.0'?><BlockList><Latest>MQ==</Latest><Latest>Mg==</Latest></BlockList>"
        assert storage.ask("PUT", "a.txt", listed, comp="blocklist").status == 201
        assert storage.ask("GET", "a.txt").body == b"one two"
        again = storage.ask("PUT", "a.txt", listed, comp="blocklist")
        assert (again.status, again.headers["x-ms-error-code"]) == (400, "InvalidBlockList")

    def test_a_blob_is_listed(self, storage: Storage) -> None:
        for name in ("b.txt", "a & b.txt", "sub/c.txt"):
            storage.ask("PUT", name, b"x", WRITE)
        answer = storage.ask("GET", restype="container", comp="list")
        assert answer.status == 200
        listed = answer.body.decode()
        assert listed.index("<Name>a &amp; b.txt</Name>") < listed.index("<Name>b.txt</Name>")
        some = storage.ask("GET", restype="container", comp="list", prefix="sub/").body.decode()
        assert (some.count("<Blob>"), "<Name>sub/c.txt</Name>" in some) == (1, True)

    def test_a_blob_can_be_forgotten(self, storage: Storage) -> None:
        storage.ask("PUT", "a.txt", b"x", WRITE)
        assert [storage.ask("DELETE", "a.txt").status for _ in range(2)] == [202, 404]

    @pytest.mark.parametrize(("method", "below"), [("GET", "a.txt"), ("DELETE", "x/y")])
    def test_a_missing_blob_is_refused(self, storage: Storage, method: str, below: str) -> None:
        answer = storage.ask(method, below)
        assert (answer.status, answer.headers["x-ms-error-code"]) == (404, "BlobNotFound")
        assert b"<Code>BlobNotFound</Code>" in answer.body

    def test_a_blob_has_a_container_that_is_there(self, project: ProjectClient, storage: Storage) -> None:
        storage._path = "/api/projects/p/_blobs/other"
        for method, blob in (("PUT", "a"), ("GET", "a"), ("GET", ""), ("DELETE", "a")):
            answer = storage.ask(method, blob)
            assert (answer.status, answer.headers["x-ms-error-code"]) == (404, "ContainerNotFound")

    @pytest.mark.parametrize(
        ("signature", "status"), [("", 401), ("%", 401), ("x", 401), ("é", 401), ("/w==", 401), (sign("sk-other"), 404)]
    )
    def test_a_blob_needs_a_signature_that_leads_somewhere(self, storage: Storage, signature: str, status: int) -> None:
        storage._query["sig"] = signature
        assert storage.ask("PUT", "a.txt", b"x", WRITE).status == status


class TestADataset:
    def test_a_dataset_of_a_test_can_be_downloaded(self, project: ProjectClient) -> None:
        project.mock.dataset("faq", files={"a.txt": "Paris", "sub/b.bin": b"\xff"})
        shown = project.get("/datasets/faq/versions/1")
        assert (shown["type"], shown["isSingleFile"]) == ("uri_folder", False)
        found = project.ask("POST /datasets/faq/versions/1/credentials").body["blobReference"]
        storage = Storage(project, found["credential"]["sasUri"])
        assert (storage.ask("GET", "a.txt").body, storage.ask("GET", "sub/b.bin").body) == (b"Paris", b"\xff")

    def test_a_dataset_of_one_file_is_that_file(self, project: ProjectClient) -> None:
        project.mock.dataset("faq", version="2", files={"a.txt": "Paris"}, description="Mine")
        shown = project.get("/datasets/faq/versions/2")
        assert (shown["type"], shown["isSingleFile"], shown["description"]) == ("uri_file", True, "Mine")
        assert shown["dataUri"].endswith("/a.txt")

    def test_a_dataset_of_other_storage_has_credentials_too(self, project: ProjectClient) -> None:
        project.ask("PATCH /datasets/d/versions/1", {"type": "uri_file", "dataUri": "https://a.blob/b/c.txt"})
        found = project.ask("POST /datasets/d/versions/1/credentials")
        assert (found.status, found.body["blobReference"]["blobUri"]) == (200, "https://a.blob/b/c.txt")


@pytest.mark.parametrize(
    ("base_url", "scheme", "origin"),
    [
        ("", "https", "https://harness.test"),
        ("http://127.0.0.1:1/v1", "http", "http://127.0.0.1:1"),
        ("https://127.0.0.1:1/api/projects/harness/openai/v1", "http", "https://127.0.0.1:1"),
    ],
    ids=["of a server", "of a test", "of a test in one dialect"],
)
def test_addresses_are_those_by_which_a_client_has_come(base_url: str, scheme: str, origin: str) -> None:
    world = World(base_url=base_url)
    world.scheme = scheme
    assert origin_of(world, {"host": "harness.test"}) == origin

"""Files that are no recordings, or broken ones: what can be read is read, the rest is told without quoting it."""

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes.files import files
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.format.untrusted import NotARecording, UnreadableRecording
from harness.verify.read_files import read_recording

SECRET = "sk-secret"
REQUEST = {"method": "POST", "uri": "https://api.openai.com/v1/responses", "body": SECRET}
GOOD = {"request": REQUEST, "response": {"status": 400, "body": {"error": {"message": "No."}}}}
FLAT = {"method": "POST", "url": "/v1/responses", "request": {}, "status": 400, "response": {}}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(content: bytes | str, name: str) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def outcome(path: Path) -> tuple[int, str]:
    """How many exchanges came before a broken recording was refused, and the refusal without the path."""
    found: list[Recorded] = []
    with pytest.raises(UnreadableRecording) as caught:
        found.extend(read_recording(path))
    assert not isinstance(caught.value, NotARecording)
    assert SECRET not in str(caught.value)
    return len(found), str(caught.value).removeprefix(f"{path.as_posix()}: ")


def recording_of(*entries: Any) -> str:
    return json.dumps({"interactions": entries})


BROKEN = {
    "no list": ("x.yaml", "interactions: null", 0, "interactions is null, not a list of exchanges"),
    "no list in HAR": ("x.har", '{"log": {"entries": {}}}', 0, "log.entries is a mapping, not a list of exchanges"),
    "no mapping": ("x.json", recording_of(GOOD, 3, GOOD), 2, "interactions[1]: it is a number, not an exchange"),
    "nothing": ("x.json", recording_of(GOOD, None, "x", [], True), 1,
                "interactions[1]: it is null, not an exchange (and 3 more like it)"),
    "no request": ("x.json", recording_of(GOOD, {"response": {}}), 1,
                   "interactions[1]: it has no request with a method and an address"),
    "no address": ("x.json", recording_of({"request": {"method": "GET"}, "response": {}}), 0,
                   "interactions[0]: it has no request with a method and an address"),
    "no answer": ("x.json", recording_of(GOOD, {"request": REQUEST}), 1, "interactions[1]: its request has no answer"),
    "a list that begins with nothing": ("x.json", json.dumps([None, GOOD]), 1, "entry [0]: it is null, not an exchange"),
    "another list": ("x.json", json.dumps([GOOD, 3]), 1, "entry [1]: it is a number, not an exchange"),
    "fewer answers": ("x.json", json.dumps({"requests": [REQUEST] * 2, "responses": [GOOD["response"]]}), 1,
                      "requests[1]: its request has no answer"),
    "cut JSON": ("x.json", recording_of(GOOD)[:-2], 0, "line 1, column "),
    "NaN": ("x.json", recording_of(GOOD)[:-1] + ', "n": NaN}', 0, "line 1, column "),
    "NaN and an escape": ("x.json", recording_of(GOOD)[:-1] + ', "n": [NaN, "\\u00e9"]}', 0, "no JSON ("),
    "deep JSON": ("x.json", '{"interactions": ' + "[" * 100_000, 0, "line 1, column "),
    "deep JSON and an escape": ("x.json", '{"interactions": ["\\u00e9", ' + "[" * 100_000, 0,
                                "no JSON (nested too deeply)"),
    "cut YAML": ("x.yaml", f"interactions:\n- {json.dumps(GOOD)}\n- {json.dumps(GOOD)[:-9]}", 1,
                 "line 4, column 1: not YAML ("),
    "cut in a value": ("x.yaml", f"interactions:\n- {json.dumps(GOOD)}\n- request:\n    method: PO", 1,
                       "interactions[1]: it has no request with a method and an address"),
    "a second document": ("x.yaml", f"interactions:\n- {json.dumps(GOOD)}\n---\n[", 1, "line 5, column 1: not YAML ("),
    "deep blocks": ("x.yaml", f"interactions:\n- {json.dumps(GOOD)}\n- " + "- " * 100_000, 1, "line 3: nested more than"),
    "aliases of aliases": ("x.yaml", "interactions: [&a [x,x,x,x,x,x]" + "".join(
        f", &{'abcdefghijkl'[n + 1]} [" + ",".join([f"*{'abcdefghijkl'[n]}"] * 6) + "]" for n in range(8)) + "]", 0,
        "line 1: its aliases expand to more than 100,000 values"),
    "NUL": ("x.yaml", "interactions: [\0]", 0, "not YAML ("),
    "Latin-1": ("x.yaml", "interactions: [é]".encode("latin-1"), 0, "byte 15: not UTF-8"),
    "half of UTF-16": ("x.yaml", b"\xff\xfe" + b'"entries":x', 0, "byte "),
    "a bad line": ("x.jsonl", f"{json.dumps(FLAT)}\n\n{{'\n{json.dumps(FLAT)}\n", 2, "line 3: line 1, column 2: not JSON ("),
    "a line that is none": ("x.jsonl", f"{json.dumps(FLAT)}\n7\n", 1, "line 2: it is a number, not an exchange"),
    "a first line that is cut": ("x.jsonl", f'{{"url_path": "/v1\n{json.dumps(FLAT)}', 1, "line 1: line 1, column "),
    "cut gzip": ("x.jsonl.gz", gzip.compress(f"{json.dumps(FLAT)}\n".encode() * 3)[:-9], 3,
                 "the compressed data is truncated or damaged"),
    "a newer format": ("x.yaml", b"version: 1\nharness: {format: 9}\ninteractions: []\nsockets: []\n", 0,
                       "its format is 9, and this harness reads up to 1; a newer harness reads it"),
    "damaged gzip": ("x.yaml.gz", b"\x1f\x8bsomething else", 0, "the compressed data is truncated or damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_can_be_read_comes_first_and_the_place_is_named(name: str, write: Write) -> None:
    file, content, count, message = BROKEN[name]
    read_so_far, problem = outcome(write(content, file))
    assert problem.startswith(message)
    assert problem.endswith(("Record it again, or fix that place.", "Fetch the file again."))
    assert read_so_far == count


FOREIGN = {
    "empty": ("x.yaml", b" \n"),
    "empty lines": ("x.jsonl", b"\n\n"),
    "no content": ("x.jsonl", b""),
    "package.json": ("package.json", b'{"name": "x", "scripts": {"test": "y"}}'),
    "OpenAPI": ("openapi.yaml", b"openapi: 3.1.0\npaths: {/x: {post: {requestBody: {}}}}\n"),
    "a list": ("x.json", b'[{"name": "x"}]'),
    "an empty list": ("x.json", b"[]"),
    "a number": ("x.yaml", b"7"),
    "lines of something": ("x.jsonl", b'{"messages": []}\n{"messages": []}\n'),
    "counts by a known name": ("x.json", b'{"interactions": 12}'),
    "others by a known name": ("x.json", b'{"interactions": [{"user": "x"}], "mappings": {"a": 1}, "entries": []}'),
    "no messages": ("x.json", b'{"request": "x", "response": "y"}'),
    "a template": ("x.yaml", b"{{- if .Values.x }}\nrequest: {{ .y }}\n{{- end }}\n"),
    "broken JSON": ("x.json", b'{"a": '),
    "a binary": ("x.yaml", bytes(range(256)) * 40),
    "Latin-1": ("x.yaml", "größe: 1".encode("latin-1")),
    "a pickle": ("x.json", b"\x80\x04\x95interactions"),
    "comments": ("x.yaml", b"# nothing\n---\n---\n"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_files_are_distinguished(name: str, write: Write) -> None:
    file, content = FOREIGN[name]
    with pytest.raises(NotARecording, match=r"Pass a cassette, a HAR file or JSON lines of exchanges\.$"):
        list(read_recording(write(content, file)))


def test_an_empty_recording_is_a_recording(write: Write) -> None:
    assert list(read_recording(write("interactions: []\nversion: 1\n", "x.yaml"))) == []


def test_what_is_not_there_is_reported(tmp_path: Path) -> None:
    gone = tmp_path / "gone.yaml"
    with pytest.raises(UnreadableRecording, match=r"gone\.yaml: no such file or folder"):
        list(files([gone]))
    with pytest.raises(UnreadableRecording, match=r"gone\.yaml: cannot be read: No such file or directory\."):
        list(read_recording(gone))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "cannot be read: it is a named pipe, not a file. Pass the path"),
        (lambda path: path.symlink_to("/dev/zero"), "cannot be read: it is a device, not a file. Pass the path"),
        (lambda path: path.symlink_to(path), "cannot be read: Too many levels of symbolic links. Pass the path"),
        (lambda path: path.symlink_to("gone"), "no such file or folder. Pass the path"),
    ],
    ids=["a pipe", "a device", "a link to itself", "a link to nothing"],
)
def test_what_is_neither_a_file_nor_a_folder_is_reported(make, why, tmp_path):
    make(path := tmp_path / "x.yaml")
    with pytest.raises(UnreadableRecording, match=re.escape(f"x.yaml: {why}")):
        list(files([path]))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "my flows.mitm",
            b"1234:9:websocket;0:~8:response;300:6:reason;2:OK,",
            "it holds flows of mitmproxy, which `mitmdump -nr '{path}' --set hardump=out.har` writes as a HAR file. Pass",
        ),
        (
            "flows",
            b"99:7:version;2:21#\nother",
            "it holds flows of mitmproxy, which `mitmdump -nr {path} --set hardump",
        ),
        (
            "it.saz",
            b"PK\x03\x04\x14\0\0",
            "it is an archive; if Fiddler wrote it, export the sessions there as HTTPArchive",
        ),
        (
            "it.pcap",
            b"\xd4\xc3\xb2\xa1\x02\0\x04\0",
            "it holds packets of a network, which TLS hides; `responses-harness record -- ",
        ),
        (
            "it.pcapng",
            b"\x0a\x0d\x0d\x0a\x1c\0\0\0",
            "it holds packets of a network, which TLS hides; `responses-harness record -- ",
        ),
    ],
)
def test_what_other_programs_write_is_named_with_its_conversion(write, name, content, said):
    path = write(content, name)
    with pytest.raises(NotARecording) as caught:
        list(read_recording(path))
    assert str(caught.value).removeprefix(f"{path.as_posix()}: ").startswith(said.replace("{path}", path.as_posix()))

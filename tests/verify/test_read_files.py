"""Recordings of every kind of recorder: the same exchange, however it was written, is the same `Recorded`."""

import contextlib
import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cassettes.files import files
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.format.untrusted import UnreadableRecording
from harness.verify.read_files import read_recording
from tests.support.slow import slow_except_every
from tests.verify.recording_files import (
    ASKED,
    EXPECTED,
    GOT,
    NAMED_OUT,
    SAID,
    SENT,
    URL,
    VARIANTS,
    har,
    interactions,
    vcr,
)


def as_yaml(document: Any) -> bytes:
    return yaml.dump(document, Dumper=yaml.SafeDumper, allow_unicode=True).encode()


def as_json(document: Any) -> bytes:
    return json.dumps(document, default=lambda raw: raw.decode(), indent=1).encode()


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Write a recording and return its path."""

    def written(content: Any, name: str = "tape.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else as_yaml(content))
        return path

    return written


def only(path: Path) -> Recorded:
    (recorded,) = read_recording(path)
    return recorded


def written(dump: Callable[[Any], bytes]) -> dict[str, bytes]:
    """Every variant in a notation; JSON has no bytes, so those that hold some are left out there."""
    made = {}
    for variant, content in VARIANTS.items():
        with contextlib.suppress(UnicodeDecodeError):
            made[variant] = dump(content)
    return made


YAML, JSON = written(as_yaml), written(as_json)


@pytest.mark.parametrize(
    "content",
    slow_except_every(
        3,
        [
            *[pytest.param(content, id=f"yaml-{variant}") for variant, content in YAML.items()],
            *[pytest.param(content, id=f"json-{variant}") for variant, content in JSON.items()],
        ],
    ),
)
def test_the_same_exchange_reads_the_same(content: bytes, write: Write) -> None:
    path = write(content, "tape.any")
    found = only(path)
    events = {name: found.answer_headers[name] for name in EXPECTED.answer_headers}
    assert found._replace(answer_headers=events) == EXPECTED._replace(id=f"{path.as_posix()}#1", file=path.as_posix())


def test_a_form_in_har_is_its_bytes(write: Write) -> None:
    recording = har({"text": "[{YWJj", "encoding": "base64"}, status=404)
    recording["log"]["entries"][0]["request"]["postData"] = {"mimeType": "x", "params": [{"name": "A b", "value": "c"}]}
    found = only(write(as_json(recording), "x.har"))
    assert (found.request, found.raw, found.flags) == (None, b"A+b=c", {"unread-answer"})


def test_what_was_read_of_a_har_is_not_kept(write: Write) -> None:
    recording = har({"text": GOT + " " * 50_000})
    recording["log"]["entries"] *= 40
    path = write(as_json(recording), "x.har")
    tracemalloc.start()
    try:
        reading = read_recording(path)
        next(reading)
        at_first, _ = tracemalloc.get_traced_memory()
        assert sum(1 for _ in zip(reading, range(38), strict=False)) == 38
        assert tracemalloc.get_traced_memory()[0] < at_first - 35 * 50_000
    finally:
        tracemalloc.stop()


def test_a_parsed_body_may_stand_in_the_body(write: Write) -> None:
    recording = interactions(vcr({"encoding": "utf-8", "parsed_body": ASKED}, answer={"body": {"base64_string": "A"}}))
    assert (only(write(recording)).request, only(write(recording)).flags) == (ASKED, {"unread-answer"})


def test_lines_are_exchanges_with_names_and_conversations_of_their_own(write: Write) -> None:
    flat = {**VARIANTS["flat"], "provider": "foundry", "inferred": ["status"], "cut": True}
    lines = [{**flat, "id": "a/b.yaml#0"}, {**flat, "id": "a/b.yaml#1"}, vcr(), {**flat, "id": "plain"}]
    path = write(b"\xef\xbb\xbf" + b"\r\n\r\n".join(json.dumps(line).encode() for line in lines), "x.jsonl")
    found = list(read_recording(path))
    assert [(recorded.id, recorded.file) for recorded in found] == [
        ("a/b.yaml#0", "a/b.yaml"),
        ("a/b.yaml#1", "a/b.yaml"),
        (f"{path.as_posix()}#3", path.as_posix()),
        ("plain", path.as_posix()),
    ]
    assert (found[0].provider, found[0].flags) == ("foundry", {"inferred", "cut"})
    assert (found[2].provider, found[2].flags) == ("openai", set())


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.txt", "x.json"])
def test_lines_are_known_by_their_content_too(name: str, write: Write) -> None:
    lines = (json.dumps(VARIANTS["flat"]) + "\n").encode() * 3
    assert len(list(read_recording(write(gzip.compress(lines), name)))) == 3


def test_lines_are_read_one_by_one(write: Write) -> None:
    path = write((json.dumps(VARIANTS["flat"]) + "\n").encode() * 2 + b"no JSON", "x.jsonl")
    reading = read_recording(path)
    assert next(reading).answer == next(reading).answer == SAID
    with pytest.raises(UnreadableRecording, match="line 3: "):
        next(reading)


def test_documents_of_one_file_are_one_conversation(write: Write) -> None:
    stub = {
        "when": {"path": "/v1/responses", "method": "POST", "query_param": [{"name": "A", "value": 1}], "body": SENT},
        "then": {"status": 200, "header": NAMED_OUT, "body": GOT},
    }
    path = write(b"---\n".join([as_yaml(stub)] * 2) + b"---\n")
    found = list(read_recording(path))
    assert [recorded.id for recorded in found] == [f"{path.as_posix()}#1", f"{path.as_posix()}#2"]
    assert [(recorded.host, recorded.path, recorded.query, recorded.request) for recorded in found] == [
        ("", "/v1/responses", {"A": "1"}, ASKED)
    ] * 2


@pytest.mark.parametrize(
    ("tagged", "body"),
    [
        ("!!python/unicode '{\"model\": \"x\"}'", {"model": "x"}),
        ("!binary |\n        eyJtb2RlbCI6ICJ4In0=", {"model": "x"}),
        ("!!python/object/new:_io.BytesIO {state: !!python/tuple [!!binary eyJtb2RlbCI6ICJ4In0=, 0, null]}", {"model": "x"}),
        ("!!python/object/new:_io.BytesIO {state: null}", None),
        ("!!python/object/apply:builtins.iter {args: [['{\"model\"', ': \"x\"}']]}", {"model": "x"}),
        ("!!python/object/apply:builtins.iter [['{\"model\": \"x\"}']]", {"model": "x"}),
        ("!!python/object/apply:os.system ['exit 1']", None),
        ("{model: !!str 1, date: 2026-04-09, n: [!!int '3', 1., True, False, nUll, -, =]}",
         {"model": "1", "date": "2026-04-09", "n": [3, 1.0, True, False, "nUll", "-", "="]}),
    ],
)  # fmt: skip
def test_tags_are_read_and_never_run(tagged: str, body: Any, write: Write) -> None:
    text = f"interactions:\n- request:\n    uri: {URL}\n    method: POST\n    body: {tagged}\n  response: {{status: 400}}\n"
    found = only(write(text.encode()))
    assert found.request == body
    assert found.raw == (b"exit 1" if "system" in tagged else None)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marked_encodings_are_read(encoding: str, write: Write) -> None:
    content = as_yaml(VARIANTS["vcrpy, not ASCII"]).decode().encode(encoding)
    assert only(write(content)).request == ASKED


def test_a_lone_surrogate_is_read(write: Write) -> None:
    path = write(as_json(VARIANTS["nock"]).replace(b'"resp_1"', b'"\\ud83d"'), "x.json")
    assert only(path).answer["id"] == "?"


def test_flow_style_is_yaml_too(write: Write) -> None:
    text = f"{{interactions: [{{request: {{method: POST, uri: '{URL}'}}, response: {{status: 404}}}}]}}"
    assert only(write(text.encode())).status == 404


class TestFiles:
    def test_folders_give_recordings_sorted_and_named_files_are_always_read(self, write: Write, tmp_path: Path) -> None:
        first = ("b.yaml", "a/z.json.gz", "a/y.HAR", "a/x.txt")
        for name in (*first, "c/w.jsonl", "c/v.ndjson", "c/u.yml", "c/t.yaml.gz", "s"):
            write(b"", name)
        found = [path.relative_to(tmp_path).as_posix() for path in files([tmp_path / "a" / "x.txt", tmp_path])]
        in_order = ["b.yaml", "a/y.HAR", "a/z.json.gz", "c/t.yaml.gz", "c/u.yml", "c/v.ndjson", "c/w.jsonl"]
        assert found == ["a/x.txt", *in_order]

    def test_no_folder_is_entered_twice(self, write: Write, tmp_path: Path) -> None:
        file = write(b"", "a/b/c.yaml")
        for link, target in (("a/b/loop", "a"), ("linked", "a"), ("a/gone.yaml", "nowhere")):
            (tmp_path / link).symlink_to(tmp_path / target)
        assert [path.resolve() for path in files([tmp_path])] == [file]

    def test_a_folder_that_cannot_be_listed_is_reported(self, write: Write, tmp_path: Path) -> None:
        write(b"", "a/x.yaml")
        (tmp_path / "b").mkdir()
        found = files([tmp_path])
        assert next(found).name == "x.yaml"
        (tmp_path / "b").rmdir()
        with pytest.raises(UnreadableRecording, match=r"b: cannot be listed: No such file or directory\."):
            next(found)

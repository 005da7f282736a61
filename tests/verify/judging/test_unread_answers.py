"""Answers that a recording has not as JSON or as whole events: none of them counts as good."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.recordings import HI, JSON, STREAM, URI, judged, recorded, sse


def judge_body(tmp_path: Path, body: str | bytes, headers: dict[str, str], status: int = 200) -> dict[str, Any]:
    """Return the report of a cassette of vcrpy with one exchange, which was answered with this body."""
    said = {"string": body} if isinstance(body, str) else {"base64_string": base64.b64encode(body).decode()}
    request = {"method": "POST", "uri": URI, "headers": {}, "body": json.dumps(HI)}
    response = {"status": {"code": status}, "headers": {name: [headers[name]] for name in headers}, "body": said}
    cassette = tmp_path / "cassette.json"
    cassette.write_text(json.dumps({"version": 1, "interactions": [{"request": request, "response": response}]}))
    return judged(tmp_path, cassette)[1]


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ('{"id": "resp_1", "out', JSON),
        ("<html>Sign in</html>", {"content-type": "text/html"}),
        ("no gzip", {**JSON, "content-encoding": "gzip"}),
    ],
)
def test_an_answer_that_is_no_json_is_a_finding(tmp_path: Path, body: str, headers: dict[str, str]) -> None:
    (found,) = judge_body(tmp_path, body, headers)["answers"]["findings"]
    assert (found["at"], found["message"]) == ("", "The answer is not JSON, or breaks off.")


@pytest.mark.parametrize(
    ("path", "headers", "body", "why"),
    [
        ("answers", JSON, "", "the recording has no body of the answer"),
        ("answers", JSON, gzip.compress(b"{}")[:4] + b"damaged", "the answer is in an encoding that cannot be undone"),
        ("streams", STREAM, "", "the recording has no event of the stream"),
        ("streams", STREAM, ": a comment\n\n", "the recording has no event of the stream"),
    ],
)
def test_an_answer_that_the_recording_does_not_show_is_unverifiable(tmp_path, path, headers, body, why):
    verdicts = judge_body(tmp_path, body, headers)[path]
    assert (verdicts["conform"], verdicts["unverifiable_why"]) == (0, {why: 1})


@pytest.mark.parametrize("content", [{}, {"size": 312}, {"size": 0, "mimeType": "application/json"}])
def test_an_answer_that_a_har_file_has_left_out_is_unverifiable(tmp_path: Path, content: dict[str, Any]) -> None:
    request = {"method": "POST", "url": URI, "headers": [], "postData": {"mimeType": "", "text": json.dumps(HI)}}
    response = {"status": 200, "headers": [{"name": "content-type", "value": "application/json"}], "content": content}
    file = tmp_path / "traffic.har"
    file.write_text(json.dumps({"log": {"entries": [{"request": request, "response": response}]}}))
    answers = judged(tmp_path, file)[1]["answers"]
    assert (answers["findings"], answers["unverifiable_why"]) == ([], {"the recording has no body of the answer": 1})


def test_a_stream_that_breaks_off_within_an_event_is_not_good(tmp_path: Path) -> None:
    (one,) = recorded({**HI, "stream": True})
    body = sse(*(event["data"] for event in one["events"])).decode()
    assert judge_body(tmp_path, body, STREAM)["streams"]["conform"] == 1
    streams = judge_body(tmp_path, body[:-50], STREAM)["streams"]
    assert (streams["conform"], streams["unverifiable_why"]) == (0, {"the stream breaks off within an event": 1})


def test_a_refusal_that_is_no_json_stays_unverifiable(tmp_path: Path) -> None:
    report = judge_body(tmp_path, "<html>", {"content-type": "text/html"}, 400)
    assert (report["refusals"]["unverifiable"], report["answers"]["findings"]) == (1, [])

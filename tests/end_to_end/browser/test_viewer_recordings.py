"""The page of judged recordings in Chromium, as a reader uses it; skipped where there is no Chromium."""

import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from harness.items import message
from harness.world.mock import Mock
from tests.end_to_end.browser.chromium import look_at
from tests.support.processes import run

pytestmark = pytest.mark.slow
HOST = "gateway.example"
RECORDING = "gateway.yaml"


@pytest.fixture
def recording(mock: Mock, tmp_path: Path) -> Path:
    """A recording of a gateway that loses an event of a stream, and knows a status that the API does not."""
    mock.script(message("Hello there, this is a text."), message("Bye."))
    interactions = []
    for stream in (True, False):
        body = {"model": "gpt-4.1", "input": "Hi.", "stream": stream}
        came = httpx.post(f"{mock.base_url}/responses", json=body, headers={"authorization": f"Bearer {mock.api_key}"})
        text = without_an_event(came.text) if stream else came.text.replace('"completed"', '"complete"')
        interactions.append({"request": as_sent(body), "response": as_came(came.headers["content-type"], text)})
    file = tmp_path / RECORDING
    file.write_text(yaml.safe_dump({"version": 1, "interactions": interactions}), encoding="utf-8")
    return file


def without_an_event(stream: str) -> str:
    blocks = stream.split("\n\n")
    return "\n\n".join(blocks[:7] + blocks[8:])


def as_sent(body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": ["application/json"]}
    return {"method": "POST", "uri": f"https://{HOST}/v1/responses", "headers": headers, "body": json.dumps(body)}


def as_came(content_type: str, text: str) -> dict[str, Any]:
    headers = {"Content-Type": [content_type], "Date": ["Thu, 09 Apr 2026 00:57:33 GMT"]}
    return {"status": {"code": 200, "message": "OK"}, "headers": headers, "body": {"string": text}}


def test_what_does_not_conform_is_marked_where_it_is(recording: Path) -> None:
    command = [sys.executable, "-m", "harness", "verify", RECORDING, "--host", HOST, "--report", "report.html"]
    ended = run(command, cwd=recording.parent)
    assert ended.returncode == 1, ended.stderr
    seen = look_at(recording.with_name("report.html"), "recordings.mjs", recording=RECORDING)
    assert seen["problems"] == []
    assert "The stream does not conform." in seen["first"]
    assert "sequence_number is 8, expected 7" in seen["event"]["row"]
    assert '"sequence_number": 8' in seen["event"]["said"]
    assert seen["answer"]["path"] == "output[0].status"
    assert "Invalid value: 'complete'" in seen["answer"]["note"]
    assert seen["shown"].endswith("/2/answer")
    assert (seen["crawled"]["dead"], seen["axe"]) == ([], [])

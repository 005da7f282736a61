"""Recordings: interactions made in a line each, files of exchanges, and what `verify` says of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.cassettes.format.interaction import Interaction
from harness.core.exchange import Json
from harness.items import message
from harness.server.mock_api import MockApi
from harness.verify import output
from harness.verify.examples import as_recorded
from harness.verify.judge_files import JudgeOptions, Tally, verify_recordings
from harness.world.route import Turn
from tests.support.in_process import post
from tests.support.schemas import assert_conforms

KEY = "sk-recording-0123456789"
HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
HI = {"model": "gpt-4.1", "input": "hi"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}


def exchange(number: int, request: Any, status: int, answer: Any, **more: Any) -> dict[str, Any]:
    """Return one exchange in the form of exchange JSONL."""
    return {
        "id": f"project/tape.jsonl#{number}",
        "provider": "openai",
        "method": "POST",
        "url_path": "/v1/responses",
        "request": request,
        "status": status,
        "response": answer,
        **more,
    }


def recorded(*requests: dict[str, Any], turns: Sequence[Turn] = ()) -> list[dict[str, Any]]:
    """What a mock answers to these requests to `POST /responses`, in order; `{0}` in an id is that of answer 0."""
    mock, made = MockApi(), []
    mock.open(KEY).script(*map(as_recorded, turns), *[message("ok")] * (len(requests) - len(turns)))
    for number, request in enumerate(requests, 1):
        ids = [(exchange["response"] or exchange["events"][-1]["data"]["response"]).get("id") for exchange in made]
        body = {name: value.format(*ids) if name.endswith("_id") else value for name, value in request.items()}
        answer = post(mock, body, key=KEY)
        plain = exchange(number, body, answer.status, None if answer.events else answer.body)
        events = [{"event": event["type"], "data": event} for event in answer.events or ()]
        made.append({**plain, "events": events} if events else plain)
    return made


def write_jsonl(folder: Path, exchanges: Sequence[dict[str, Any]], name: str = "tape.jsonl") -> Path:
    """Exchanges as a file of JSON lines."""
    file = folder / name
    file.write_text("".join(json.dumps(exchange) + "\n" for exchange in exchanges))
    return file


def response(*output: Json, status: str = "completed", **members: Any) -> Json:
    """Return a response with these items, as far as a script is made of it."""
    return {"object": "response", "id": "resp_1", "status": status, "output": list(output), **members}


def error(text: str, **more: Any) -> dict[str, Any]:
    """Return the body of a refusal."""
    return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None, **more}}


def judged(tmp_path: Path, *files: Path, jobs: int = 1, respelled: bool = False) -> tuple[Tally, dict[str, Any]]:
    """Return the tally of some files, and its JSON, which must be as its schema says."""
    spools = tmp_path / "spools"
    spools.mkdir(exist_ok=True)
    tally = verify_recordings(files, spools, jobs, JudgeOptions(respelled=respelled))
    with (tmp_path / "report.json").open("wb") as out:
        output.write_json(tally, out)
    report = json.loads((tmp_path / "report.json").read_text())
    assert_conforms(report, "verify")
    return tally, report


def judge(tmp_path: Path, exchanges: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON of `responses-harness verify` for these exchanges."""
    return judged(tmp_path, write_jsonl(tmp_path, exchanges))[1]


URI = "https://api.openai.com/v1/responses"
JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def compact(value: Any) -> bytes:
    """JSON as most clients send it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def sse(*events: dict[str, Any]) -> bytes:
    """Events on the wire."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), compact(event)) for event in events)


def over_http(
    request: Any = None, answer: Any = None, *, status: int = 200, uri: str = URI, **members: Any
) -> Interaction:
    """Return a `POST /responses` with JSON on both sides."""
    body = b"" if request is None else compact(request)
    chunks = () if answer is None else ((0.25, compact(answer)),)
    plain = {"headers": JSON, "answer_headers": JSON, "chunks": chunks, "reason": "OK", **members}
    return Interaction("POST", uri, body=body, status=status, **plain)


def streamed(*chunks: bytes, request: Any = None, **members: Any) -> Interaction:
    """Return a stream in these chunks, a tenth of a second apart."""
    timed = tuple((number / 10, chunk) for number, chunk in enumerate(chunks, 1))
    return over_http(request, answer_headers=STREAM, chunks=timed, **members)


def socket(*frames: tuple[str, Any]) -> Interaction:
    """Return a WebSocket with frames of `client` and `server`."""
    timed = tuple((number / 10, side, compact(event).decode()) for number, (side, event) in enumerate(frames, 1))
    return Interaction("GET", "wss://api.openai.com/v1/responses", status=101, frames=timed)

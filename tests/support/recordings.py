"""Recordings made here: what a mock says to requests, written down as anyone might have recorded it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from harness.items import message
from harness.server.mock_api import Mock
from harness.world.script import Turn

KEY = "sk-recording-0123456789"
HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
HI = {"model": "gpt-4.1", "input": "hi"}


def exchange(number: int, request: Any, status: int, answer: Any, **more: Any) -> dict[str, Any]:
    """One exchange in the form of exchange JSONL."""
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
    mock, made = Mock(), []
    mock.open(KEY).script(*turns, *[message("ok")] * (len(requests) - len(turns)))
    for number, request in enumerate(requests, 1):
        ids = [(one["response"] or one["events"][-1]["data"]["response"]).get("id") for one in made]
        body = {name: said.format(*ids) if name.endswith("_id") else said for name, said in request.items()}
        answer = mock.handle("POST", "/v1/responses", HEADERS, {}, orjson.dumps(body))
        plain = exchange(number, body, answer.status, None if answer.events else answer.body)
        events = [{"event": event["type"], "data": event} for event in answer.events or ()]
        made.append({**plain, "events": events} if events else plain)
    return made


def tape(folder: Path, exchanges: Sequence[dict[str, Any]], name: str = "tape.jsonl") -> Path:
    """Exchanges as a file of JSON lines."""
    file = folder / name
    file.write_text("".join(json.dumps(one) + "\n" for one in exchanges))
    return file

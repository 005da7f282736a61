"""Writes a pytest test of a case that fails as the case did: the answers as a script, the requests sent again.

The test sends what the client sent, so it shows how the mock responds. To fix the client, replace `send` by a call of
it, and keep the script.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.core.json_values import as_object, objects_in
from harness.viewer.case_model import ShownCase, ShownExchange
from harness.viewer.copies import is_empty_answer, python_turn
from harness.viewer.pool import PoolReader

_HEAD = '''"""{title}

Written by `responses-harness view --write-test`: it scripts what the model said and sends again what the client sent.
Put the call of your client in place of `send` to test that instead; the script stays.
"""

import json

import httpx
{imports}
REQUESTS = json.loads(
    r"""
{requests}
"""
)


def test_{name}(mock):
{script}    send(mock)


def send(mock):
    """Send the requests of the client; ids of this run stand in place of those that were recorded."""
    ids = {{}}
    for request in REQUESTS:
        body = json.loads(replace_ids(json.dumps(request["body"]), ids))
        path, headers = replace_ids(request["path"], ids), {{"Authorization": f"Bearer {{mock.api_key}}"}}
        if request["refused"]:
            with mock.refuses(request["refused"]):
                httpx.request(request["method"], mock.base_url + path, headers=headers, json=body, timeout=60)
            continue
        answer = httpx.request(request["method"], mock.base_url + path, headers=headers, json=body, timeout=60)
        ids |= pair_ids(request["answer"], read_answer(answer))


def read_answer(answer):
    """Return the JSON of an answer, of a stream the object in its last event."""
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {{")]
        return next((event["response"] for event in reversed(events) if "response" in event), {{}})
    return answer.json()


def pair_ids(recorded, now):
    """Pair the ids of a recorded answer with those that stand at the same places now."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        same = {{
            value: now[name]
            for name, value in recorded.items()
            if name.endswith("id") and isinstance(value, str) and isinstance(now.get(name), str)
        }}
        parts = [pair_ids(value, now[name]) for name, value in recorded.items() if name in now]
    elif isinstance(recorded, list) and isinstance(now, list):
        same, parts = {{}}, [pair_ids(value, other) for value, other in zip(recorded, now)]
    else:
        return {{}}
    return {{id: other for part in (same, *parts) for id, other in part.items()}}


def replace_ids(text, ids):
    """Put the ids of this run in place of the recorded ones."""
    for recorded, now in ids.items():
        text = text.replace(recorded, now)
    return text
'''


def write_test(case: ShownCase) -> str:
    """Write the test of a case."""
    pool = PoolReader(case.pool)
    turns = [turn for shown in case.exchanges if (turn := _turn(shown, pool))]
    requests = [_request(shown, pool) for shown in case.exchanges if not shown.routed and shown.method != "WS"]
    script = f"    mock.script(\n{''.join(f'        {turn},{chr(10)}' for turn in turns)}    )\n" if turns else ""
    script += "".join(f"    # not taken in the run: {_one_line(turn.text)}\n" for turn in case.waiting)
    text = json.dumps(requests, ensure_ascii=False, indent=2)
    builders = [name for name in ("function_call", "message") if re.search(rf"\b{name}\(", script)]
    imports = "\nfrom harness.ending import empty\n" if re.search(r"^ +empty\(\),$", script, re.M) else ""
    imports += f"{'' if imports else chr(10)}from harness.faults import http_error\n" if "http_error(" in script else ""
    imports += f"{'' if imports else chr(10)}from harness.items import {', '.join(builders)}\n" if builders else ""
    title = _one_line(case.row.name).replace('"""', "'''").rstrip('"\\')
    return _HEAD.format(title=title, imports=imports, requests=text, name=_name(case), script=script)


def _turn(shown: ShownExchange, pool: PoolReader) -> str:
    """Write the model's answer as a turn; a response that did not complete is kept as it was."""
    answer = as_object(pool.value(shown.answer))
    if shown.status >= 400 and shown.asked and not shown.rule and _asks_model(shown):
        return f"http_error({shown.status}, {shown.error!r})"
    if shown.status >= 400 or answer.get("object") != "response" or not _asks_model(shown):
        return ""
    output = objects_in(answer.get("output"))
    if answer.get("status") == "completed":
        return python_turn(output) if output or is_empty_answer(as_object(pool.value(shown.request)), answer) else ""
    kept = {name: answer.get(name) for name in ("object", "status", "output", "error", "incomplete_details")}
    return repr(kept)


def _request(shown: ShownExchange, pool: PoolReader) -> dict[str, Any]:
    answer = as_object(pool.value(shown.answer))
    return {
        "method": shown.method,
        "path": shown.path,
        "body": pool.value(shown.request),
        "refused": shown.rule if shown.asked else "",
        "answer": dict(_ids_of(answer)) if shown.status < 400 else {},
    }


def _ids_of(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of an answer that are ids or contain some."""
    for name, member in value.items():
        if name.endswith("id") and isinstance(member, str):
            yield name, member
        elif isinstance(member, dict) and (inner := dict(_ids_of(member))):
            yield name, inner
        elif isinstance(member, list) and name in ("output", "data", "items"):
            yield name, [dict(_ids_of(element)) if isinstance(element, dict) else None for element in member]


def _asks_model(shown: ShownExchange) -> bool:
    return shown.path == "/responses" and shown.method in ("POST", "WS")


def _name(case: ShownCase) -> str:
    name = re.sub(r"\W+", "_", case.row.name.rpartition("::")[2]).strip("_").lower()
    return name.removeprefix("test_") or "again"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def unwritable(case: ShownCase) -> Sequence[str]:
    """List what the test of a case lacks."""
    found = []
    if any(shown.method == "WS" for shown in case.exchanges):
        found.append("requests over a WebSocket")
    if any(shown.routed for shown in case.exchanges):
        found.append("answers of mock.route")
    if any(shown.edge.cut for shown in case.exchanges):
        found.append("streams that were cut, which are whole in it")
    return found

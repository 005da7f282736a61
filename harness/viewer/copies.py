"""Forms in which an exchange can be copied: as curl, as a pytest test, as a turn of a script, as an expected refusal.

A body is not repeated but represented by `⟦request⟧`, which the page replaces by the request's JSON.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from harness.core.exchange import Exchange, Json, Request
from harness.core.json_values import as_object, as_string, objects_in
from harness.items.kind import ITEMS

REQUEST_MARK = "⟦request⟧"
"""Stands for the JSON of the request. JSON can end neither a here-document nor a raw string in triple quotes."""


def copies_of(exchange: Exchange, rule: str, error: str) -> dict[str, str]:
    """Return everything that can be copied of an exchange, by name."""
    request, answer = exchange.request, exchange.answer
    body = as_object(answer.body) if answer.status < 400 else {}
    output = objects_in(body.get("output"))
    has_turn = bool(output) or is_empty_answer(as_object(request.body), body)
    is_writable = request.method != "WS" and isinstance(request.body, dict | list | None)
    said = f"  # {' '.join(error.split())}" if error else ""
    found = {
        "curl": _curl(request) if is_writable else "",
        "pytest": _test(exchange, output, rule, has_turn) if is_writable else "",
        "turn_yaml": _yaml_turn(output) if has_turn else "",
        "turn_python": f"mock.script({python_turn(output)})" if has_turn else "",
        "refusal": f"with mock.refuses({rule!r}) as refused:{said}\n    ..." if answer.status >= 400 and rule else "",
    }
    return {name: text for name, text in found.items() if text}


def fill_copy(text: str, request: Any) -> str:
    """Replace the mark by the JSON of a request."""
    return text.replace(REQUEST_MARK, json.dumps(request, indent=2, ensure_ascii=False))


def is_empty_answer(request: Json, answer: Json) -> bool:
    """Return whether a model has answered with no output; the warm-up of a WebSocket asks no model."""
    is_empty = answer.get("object") == "response" and answer.get("status") == "completed" and not answer.get("output")
    return is_empty and request.get("generate") is not False


def python_turn(output: Sequence[Json]) -> str:
    """Write the output of an answer as a turn in Python."""
    items = [_python_item(item) for item in output]
    return f"[{', '.join(items)}]" if len(items) > 1 else "".join(items) or "empty()"


def _curl(request: Request) -> str:
    is_azure = "api-key" in request.headers
    key = '"api-key: $AZURE_OPENAI_API_KEY"' if is_azure else '"Authorization: Bearer $OPENAI_API_KEY"'
    query = f"?{urlencode(dict(request.query), doseq=True)}" if request.query else ""
    head = [f'curl -sS -X {request.method} "$OPENAI_BASE_URL"{shlex.quote(request.path + query)}', f"-H {key}"]
    if as_object(request.body).get("stream") is True:
        head[0] = head[0].replace("curl -sS", "curl -sSN")
    if request.body is None:
        return " \\\n  ".join(head)
    lines = [*head, "-H 'Content-Type: application/json'", f"--data-binary @- <<'JSON'\n{REQUEST_MARK}\nJSON"]
    return " \\\n  ".join(lines)


def _test(exchange: Exchange, output: Sequence[Json], rule: str, has_turn: bool) -> str:
    request, status = exchange.request, exchange.status
    sent = f', json=json.loads(r"""{REQUEST_MARK}""")' if request.body is not None else ""
    query = f", params={dict(request.query)!r}" if request.query else ""
    call = f"httpx.request({request.method!r}, mock.base_url + {request.path!r}, headers=headers{query}{sent})"
    imports = ["import httpx"] if request.body is None else ["import json", "", "import httpx"]
    items = _used_builders(output)
    imports += [f"\nfrom harness.items import {', '.join(items)}"] if items else []
    imports += ["\nfrom harness.ending import empty"] if has_turn and not output else []
    body = ['    headers = {"Authorization": f"Bearer {mock.api_key}"}']
    body += [f"    mock.script({python_turn(output)})"] if has_turn else []
    body += [f"    with mock.refuses({rule!r}):"] if status >= 400 and rule else []
    inner = "        " if status >= 400 and rule else "    "
    body += [f"{inner}answer = {call}", f"    assert answer.status_code == {status}"]
    return "\n".join([*imports, "", "", f"def test_request_{exchange.number}(mock):", *body, ""])


def _python_item(item: Json) -> str:
    if (text := _plain_text(item)) is not None:
        return f"message({text!r})"
    if call := _plain_call(item):
        given = f", call_id={call['call_id']!r}" if call["call_id"] else ""
        return f"function_call({call['name']!r}, {call['arguments']!r}{given})"
    return repr(_as_scripted(item))


def _as_scripted(item: Json) -> Json:
    """Drop the members that the mock sets by itself."""
    return {
        name: value
        for name, value in item.items()
        if name != "id" and value is not None and (name, value) != ("status", "completed")
    }


def _used_builders(output: Sequence[Json]) -> list[str]:
    used = {
        "message" if _plain_text(item) is not None else "function_call" if _plain_call(item) else "" for item in output
    }
    return sorted(used - {""})


def _yaml_turn(output: Sequence[Json]) -> str:
    lines = [*map(_yaml_item, output)] or ["empty:"]
    return f"- {lines[0]}" if len(lines) == 1 else "- - " + "\n  - ".join(lines)


def _yaml_item(item: Json) -> str:
    """Write an item as a line of a YAML script; JSON is a subset of YAML."""
    if (text := _plain_text(item)) is not None:
        return f"message: {_json(text)}"
    if call := _plain_call(item):
        return f"function_call: {_json(call)}"
    return _json(_as_scripted(item))


def _plain_text(item: Json) -> str | None:
    """Return the text of a message that consists only of text; None for any other."""
    parts = objects_in(item.get("content"))
    if item.get("type") != "message" or len(parts) != 1 or parts[0].get("type") != "output_text":
        return None
    is_plain = not parts[0].get("annotations") and not parts[0].get("logprobs") and not item.get("phase")
    return as_string(parts[0].get("text")) if is_plain and item.get("status") in ("completed", None) else None


def _plain_call(item: Json) -> Mapping[str, Any] | None:
    """Return the arguments of a function call without unusual members; None for any other."""
    known = {"type", "id", "name", "arguments", "call_id", "status"}
    if item.get("type") != "function_call" or "function_call" not in ITEMS or not set(item) <= known:
        return None
    return {name: as_string(item.get(name)) for name in ("name", "arguments", "call_id")}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

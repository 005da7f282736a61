"""Forms in which an exchange can be copied: as curl, as a pytest test, as a turn of a script, as an expected refusal.

A body is not repeated but represented by marks, which the page replaces: `⟦request⟧` by the JSON of the request,
`⟦=input⟧` by its member `input` in Python, `⟦=⟧` by all of it.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from harness.core.exchange import Exchange, Json, Request
from harness.core.json_values import as_object
from harness.viewer.write_test import ScriptedRequest, error_of, step_turn, write_steps
from harness.world.scripting.as_code import Code, Lines, python_turn, python_value

REQUEST_MARK = "⟦request⟧"
"""Stands for the JSON of the request, which cannot end a here-document."""

MAX_WRITTEN = 60
"""Characters of JSON of a member of a request that is written out, and not marked."""


def copies_of(exchange: Exchange, rule: str, error: str) -> dict[str, str]:
    """Return everything that can be copied of an exchange, by name."""
    request, answer, status = exchange.request, exchange.answer, exchange.status
    asked_error = error if answer.asked and not rule else ""
    body = as_object(answer.body)
    turn = step_turn(request.method, request.path, as_object(request.body), status, body, asked_error)
    is_writable = request.method != "WS" and isinstance(request.body, dict | list | None)
    note = f"  # {' '.join(error.split())}" if error else ""
    is_refused = bool(rule) and status >= 400
    copies = {
        "curl": _curl(request) if is_writable else "",
        "pytest": _test(exchange, turn, rule) if is_writable else "",
        "turn_yaml": _yaml_turn(turn) if turn else "",
        "turn_python": f"mock.script({python_turn(turn)})" if turn else "",
        "refusal": f"with mock.refuses({python_value(rule)}) as refused:{note}\n    ..." if is_refused else "",
    }
    return {name: text for name, text in copies.items() if text}


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


def _test(exchange: Exchange, turn: Lines, rule: str) -> str:
    """Write a test that scripts the answer and sends the request."""
    request, status = exchange.request, exchange.status
    members = {name: _mark_long(name, value) for name, value in as_object(request.body).items()}
    is_named = all(map(str.isidentifier, members))
    step = ScriptedRequest(
        method=request.method,
        path=request.path + (f"?{urlencode(dict(request.query), doseq=True)}" if request.query else ""),
        body=None if request.body is None else members if members and is_named else Code("⟦=⟧"),
        turn=turn,
        refused=rule if status >= 400 else "",
        error=error_of(status, exchange.answer.events or ()),
    )
    said = [line["message"] for line in turn if isinstance(line, dict) and "message" in line]
    if status < 400 and step.is_create and not step.is_stream and len(said) == len(turn) == 1:
        step = replace(step, name="response")
    end = f"assert response.output_text == {python_value(said[0])}" if step.name else ""
    return write_steps(f"request_{exchange.number}", [step], end=end)


def _mark_long(name: str, value: Any) -> Any:
    """Return a mark for a long member of a request; a short one is written out."""
    return value if len(_json(value)) <= MAX_WRITTEN else Code(f"⟦={name}⟧")


def _yaml_turn(turn: Lines) -> str:
    """Write a turn as a line of a YAML script; JSON is a subset of YAML."""
    lines = [*map(_yaml_line, turn)]
    return f"- {lines[0]}" if len(lines) == 1 else "- - " + "\n  - ".join(lines)


def _yaml_line(line: Json | str) -> str:
    if not isinstance(line, dict) or len(line) != 1:
        return _json(line)
    ((name, arguments),) = line.items()
    return f"{name}: {_json(arguments)}" if arguments else f"{name}:"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

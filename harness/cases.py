"""Playing a rule's example through a whole mock: what was sent before, then the request itself.

The same cases are the rule's documentation, its test and the plan of a recording.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import orjson

from harness.exchange import Answer, Json
from harness.items import message
from harness.mock import ROOT, Mock
from harness.organization import Organization
from harness.rule import CREATE, Case

MINIMAL: Json = {"model": "gpt-4.1", "input": "hi"}
HEADERS = {"authorization": "Bearer sk-harness-example", "content-type": "application/json"}
KEY = "sk-harness-example"

_FIELD = re.compile(r"\{(\d+)\.([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a case: the answers to the requests before, and the answer to the request itself."""

    before: tuple[Answer, ...]
    answer: Answer

    def words(self, text: str) -> str:
        """A text with `{n.id}` and its like replaced by what the n-th answer said."""
        return str(filled(text, self.before))


def play(case: Case) -> Played:
    """Send a case to a fresh mock; every request the turns do not answer is answered with a short text."""
    mock = Mock(fallback=lambda _: [message("ok")])
    world = mock.open(KEY)
    if case.turns:
        world.script(*case.turns, *([message("ok")] * (len(case.before) + 1 - len(case.turns))))
    before: list[Answer] = []
    for step in case.before:
        before.append(_send(mock, step, before))
    if case.given:
        world.account = _filled_account(case.given, before)
    return Played(tuple(before), _send(mock, case, before))


def _send(mock: Mock, case: Case, before: list[Answer]) -> Answer:
    method, _, path = filled(case.on or CREATE, before).partition(" ")
    path, _, query = path.partition("?")
    target = path.removeprefix("!") if path.startswith("!") else f"{ROOT}{path}"
    headers = HEADERS if case.headers is None else case.headers
    body = body_of(case, before) if method in ("POST", "PUT") else b""
    return mock.handle(method, target, headers, dict(parse_qsl(query)), body)


def body_of(case: Case, before: list[Answer]) -> bytes:
    """The bytes of a case's body: its patch over the minimal valid request, for other operations the body itself."""
    if case.raw is not None:
        return case.raw
    body = filled(case.body or {}, before)
    whole = {**MINIMAL, **body} if case.on in (None, CREATE) else body
    return orjson.dumps({name: value for name, value in whole.items() if name not in case.absent})


def filled(value: Any, before: Any) -> Any:
    """A value with every `{n.path}` in its strings replaced by what the n-th answer holds there."""
    if isinstance(value, str):
        return _FIELD.sub(lambda match: _look_up(before[int(match[1])].body, match[2]), value)
    if isinstance(value, list):
        return [filled(one, before) for one in value]
    if isinstance(value, Mapping):
        return {name: filled(one, before) for name, one in value.items()}
    return value


def _look_up(body: Any, path: str) -> str:
    for step in path.split("."):
        body = body[int(step)] if step.isdecimal() else body[step]
    return str(body)


def _filled_account(account: Organization, before: list[Answer]) -> Organization:
    return replace(account, locked=frozenset(filled(id, before) for id in account.locked))

"""Playing a rule's example through a whole mock: what was sent before, then the request itself.

The same cases are the rule's documentation, its test and the plan of a recording.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from harness.contract.rule import CREATE_RESPONSE, Case
from harness.contract.rules.http.websocket import CREATE_EVENT, SOCKET
from harness.core.account import Organization
from harness.core.exchange import Answer, Json
from harness.ending import TurnLine, completed
from harness.items import message
from harness.server.mock_api import API_ROOT, Mock
from harness.server.socket_session import SocketSession

MINIMAL: Json = {"model": "gpt-4.1", "input": "hi"}
MINIMALS = {CREATE_RESPONSE: MINIMAL, SOCKET: {"type": CREATE_EVENT, **MINIMAL}}
HEADERS = {
    "authorization": "Bearer sk-harness-example",
    "content-type": "application/json",
    "openai-beta": "assistants=v2",
}
KEY = "sk-harness-example"
OK: list[TurnLine] = [message("ok"), completed(off_schema=True)]
"""What the model says to a request whose case has no turn for it."""

_FIELD = re.compile(r"\{(\d+)\.([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a case: the answers to the requests before, and the answer to the request itself."""

    before: tuple[Answer, ...]
    answer: Answer

    def words(self, text: str) -> str:
        """A text with `{n.id}` and its like replaced by what the n-th answer said."""
        return str(filled(text, self.before))


class _Player:
    """A mock, and the one connection over which the events of a case (`WS /responses`) go to it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.mock = Mock(fallback=lambda _: OK)
        self.world = self.mock.open(KEY)

    @cached_property
    def _session(self) -> SocketSession:
        session = self.mock.open_session(f"{API_ROOT}/responses", HEADERS, {})
        assert isinstance(session, SocketSession)
        return session

    def send(self, case: Case, before: list[Answer]) -> Answer:
        """The answer to a case whose earlier steps were answered so."""
        self.world.skip(case.skip or 0)
        told = sent(case, before, self._root)
        if told.method == "WS":
            self._session.receive(told.body)
            return self.world.exchanges[-1].answer
        path, _, query = told.path.partition("?")
        return self.mock.handle(told.method, path, told.headers, dict(parse_qsl(query)), told.body)


def play(case: Case, root: str = API_ROOT) -> Played:
    """Send a case to a fresh mock; every request the turns do not answer is answered with a short text.

    `root` is where the API begins: `/openai/v1` is that of Azure.
    """
    player = _Player(root)
    world = player.world
    if case.turns:
        world.script(*case.turns, *([OK] * (len(case.before) + 1 - len(case.turns))))
    before: list[Answer] = []
    for step in case.before:
        before.append(player.send(step, before))
    if case.given:
        world.account = _filled_account(case.given, before)
    return Played(tuple(before), player.send(case, before))


class Sent(NamedTuple):
    """A case as it travels; `path` is the whole of it with its query, the method of an event is `WS`."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


def sent(case: Case, before: Sequence[Answer], root: str = API_ROOT) -> Sent:
    """The request that a case is, after the answers to what was sent before it."""
    method, _, path = filled(case.on or CREATE_RESPONSE, before).partition(" ")
    target = path.removeprefix("!") if path.startswith("!") else f"{root}{path}"
    body = body_of(case, before) if method in ("POST", "PUT", "WS") else b""
    return Sent(method, target, HEADERS if case.headers is None else case.headers, body)


def body_of(case: Case, before: Sequence[Answer]) -> bytes:
    """The bytes of a case's body: its patch over the minimal valid request or event, for other operations itself."""
    if case.raw is not None:
        return case.raw
    body = filled(case.body or {}, before)
    whole = {**MINIMALS.get(case.on or CREATE_RESPONSE, {}), **body}
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

"""Plays an example of a rule against a new mock: the setup requests, then the request itself.

The same cases are the rule's documentation, its tests and the plan for recording it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import orjson

from harness.api.responses import CREATE_EVENT, SOCKET
from harness.cassettes.format.interaction import Interaction
from harness.contract.rule import CREATE_RESPONSE, Case
from harness.contract.rules.example_requests import VALID_BODY
from harness.core.exchange import Answer, Exchange, ReceivedRequest
from harness.core.json_values import map_strings, omit
from harness.ending import RECORDED_ENDING, Ending, TurnLine, completed
from harness.items import message
from harness.items.kind import Item
from harness.server.mock_api import API_ROOT, MockApi
from harness.server.websocket.session import SocketSession
from harness.world.route import Turn
from harness.world.script import Fallback

MINIMAL_BY_OPERATION = {CREATE_RESPONSE: VALID_BODY, SOCKET: {"type": CREATE_EVENT, **VALID_BODY}}
EXAMPLE_HEADERS = {
    "authorization": "Bearer sk-harness-example",
    "content-type": "application/json",
    "openai-beta": "assistants=v2",
}
EXAMPLE_KEY = "sk-harness-example"
OK_TURN: list[TurnLine] = [message("ok"), completed(off_schema=True)]
"""The turn for requests without one in the case."""

_PLACEHOLDER = re.compile(r"\{(\d+)\.([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class PlayedCase:
    """The answers in a case: to the requests `before` it, and to the request itself; `exchanges` are the journal."""

    before: tuple[Answer, ...]
    answer: Answer
    exchanges: Sequence[Exchange] = ()

    def fill(self, text: str) -> str:
        """Replace each `{n.path}` in a string with the value at that path in the n-th answer."""
        return str(fill_placeholders(text, self.before))


class CasePlayer:
    """Plays cases against a mock; their events (`WS /responses`) share one connection."""

    def __init__(self, root: str = API_ROOT, fallback: Fallback = lambda _: OK_TURN) -> None:
        self._root = root
        self._session: SocketSession | None = None
        self.api = MockApi(fallback=fallback)
        self.mock = self.api.open(EXAMPLE_KEY)

    def prepare(self, case: Case) -> list[Answer]:
        """Script the turns of a case on its day, send the earlier requests, set the account; return the answers."""
        if case.as_of:
            self.mock.world.set_date(case.as_of)
        if case.turns:
            said = map(as_recorded, case.turns)
            self.mock.script(*said, *([OK_TURN] * (len(case.before) + 1 - len(case.turns))))
        before: list[Answer] = []
        for step in case.before:
            before.append(self.send(step, before))
        if case.account:
            self.mock.world.account = replace(
                case.account, locked=frozenset(fill_placeholders(id, before) for id in case.account.locked)
            )
        return before

    def _open_session(self, headers: Mapping[str, str]) -> SocketSession:
        """Return the connection; on first use, open it with these headers."""
        if self._session is None:
            session = self.api.open_session(ReceivedRequest("GET", f"{API_ROOT}/responses", headers))
            assert isinstance(session, SocketSession)
            self._session = session
        return self._session

    def send(self, case: Case, before: list[Answer]) -> Answer:
        """Send a case and return the answer; `before` are the answers to its earlier steps."""
        self.mock.skip(case.skip or 0)
        request = build_request(case, before, self._root)
        if request.method == "WS":
            self._open_session(EXAMPLE_HEADERS if case.headers is None else case.headers).receive(request.body)
            return self.mock.exchanges[-1].answer
        path, _, query = request.uri.partition("?")
        return self.api.handle(
            ReceivedRequest(request.method, path, request.headers, dict(parse_qsl(query)), request.body)
        )


def play_case(case: Case, root: str = API_ROOT) -> PlayedCase:
    """Play a case against a new mock; requests beyond the turns of the case are answered with a short text.

    `root` is the API root in paths; for Azure it is `/openai/v1`.
    """
    player = CasePlayer(root)
    before = player.prepare(case)
    return PlayedCase(tuple(before), player.send(case, before), player.mock.exchanges)


def as_recorded(turn: Turn) -> Turn:
    """Return a turn that is not checked against the request."""
    # The requests of examples declare no tools for the calls of their turns.
    lines: list[Any] = list(turn) if isinstance(turn, list | tuple) else [turn]
    items = [line for line in lines if isinstance(line, Item)]
    if not items or any(isinstance(line, Ending) for line in lines):
        return turn
    return [*items, RECORDED_ENDING, *lines[len(items) :]]


def build_request(case: Case, before: Sequence[Answer], root: str = API_ROOT) -> Interaction:
    """Build the request of a case, given the earlier answers; `uri` has no host, events have the method `WS`."""
    method, _, path = fill_placeholders(case.on or CREATE_RESPONSE, before).partition(" ")
    target = path.removeprefix("!") if path.startswith("!") else f"{root}{path}"
    body = build_body(case, before) if method in ("POST", "PUT", "PATCH", "WS") else b""
    return Interaction(method, target, EXAMPLE_HEADERS if case.headers is None else case.headers, body)


def build_body(case: Case, before: Sequence[Answer]) -> bytes:
    """Build the body of a case; for a response it is merged into the minimal valid request or event."""
    if case.raw is not None:
        return case.raw
    body = fill_placeholders(case.body or {}, before)
    members = {**MINIMAL_BY_OPERATION.get(case.on or CREATE_RESPONSE, {}), **body}
    return orjson.dumps(omit(members, *case.absent))


def fill_placeholders(value: Any, before: Any) -> Any:
    """Replace each `{n.path}` in the strings of a JSON value with the value at that path in the n-th answer."""
    return map_strings(
        value, lambda text: _PLACEHOLDER.sub(lambda match: _value_at(before[int(match[1])].body, match[2]), text)
    )


def _value_at(body: Any, path: str) -> str:
    for step in path.split("."):
        body = body[int(step)] if step.isdecimal() else body[step]
    return str(body)

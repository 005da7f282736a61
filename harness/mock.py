"""The whole mock in one function: from the bytes of a request to the answer, without any network.

`Mock.handle` finds the World by its key and the operation by its path, lets the contract judge, and only then lets the
operation answer. What a user of the harness has to fix comes back as a 418 that no SDK retries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from traceback import extract_tb
from typing import Any

import harness.operations  # noqa: F401  (registers every operation)
from harness import schema
from harness.body import parse, typed
from harness.contract import Refusal, check
from harness.errors import HarnessError
from harness.exchange import Answer, Request
from harness.item import Item
from harness.operation import OPERATIONS, find
from harness.organization import Organization
from harness.world import World

VERSION = "2020-10-01"
TEAPOT = 418
ROOT = "/v1"
CONTROL = "/_harness"
"""Paths below it are the control plane's, not the API's."""
OWN_KEY = "sk-"


class Mock:
    """All Worlds of one server, by API key.

    With `keys` None any key that starts with `sk-` opens a World of its own; otherwise only the named keys are known.
    `fallback` answers what was never scripted, `prepare` is called with each new World, `journal` bounds how many
    exchanges a World keeps (None: all).
    """

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        *,
        organization: Organization | None = None,
        fallback: Callable[[Request], Sequence[Item]] | None = None,
        prepare: Callable[[World], None] = lambda world: None,
        journal: int | None = None,
    ) -> None:
        self.worlds: dict[str, World] = {}
        self._keys = None if keys is None else frozenset(keys)
        self._organization = organization
        self._fallback = fallback
        self._prepare = prepare
        self._journal = journal

    def open(self, key: str, name: str = "", base_url: str = "") -> World:
        """The World of a key, made when it is new."""
        if key not in self.worlds:
            world = World(
                name or key, api_key=key, base_url=base_url, organization=self._organization, fallback=self._fallback
            )
            self._prepare(world)
            self.worlds[key] = world
        return self.worlds[key]

    def close(self, key: str) -> None:
        """Forget a World."""
        self.worlds.pop(key, None)

    def world_of(self, headers: Mapping[str, str]) -> World | None:
        """The World a request belongs to; None when its key names none."""
        key = bearer(headers)
        if key is None:
            return None
        if world := self.worlds.get(key):
            return world
        known = key.startswith(OWN_KEY) and key != OWN_KEY if self._keys is None else key in self._keys
        return self.open(key) if known else None

    def handle(
        self, method: str, path: str, headers: Mapping[str, str], query: Mapping[str, Any], raw: bytes
    ) -> Answer:
        """The answer to a request; `path` begins with `/v1`, header names are lower case. Never raises.

        `query` holds texts, for a name sent as `name[]` a list of them.
        """
        world = self.world_of(headers)
        request = _request(method, path, headers, query, raw)
        answer = _judged(request, world)
        if world is None:
            return _with_headers(answer, "req_" + "0" * 32)
        answer = _with_headers(answer, world.ids.request())
        world.note(request, answer, self._journal)
        return answer


def bearer(headers: Mapping[str, str]) -> str | None:
    """The API key of a request, None when there is no bearer authentication."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def _request(method: str, path: str, headers: Mapping[str, str], query: Mapping[str, Any], raw: bytes) -> Request:
    inside = path.startswith(f"{ROOT}/")
    below = path[len(ROOT) :] if inside else path
    operation, params, known = find(method, below) if inside else (None, {}, False)
    if operation is None:
        reason = "wrong method" if known else "unknown URL" if inside else "outside the API"
        return Request(method, below, headers, query, raw=raw, operation=reason)
    body, fault = parse(raw) if operation.body else (None, None)
    asked = typed(query, schema.load(operation.query)) if operation.query else query
    judged_by = None if fault else operation.body or operation.query
    return Request(method, below, headers, asked, body, raw, params, operation.id, judged_by, fault)


def _judged(request: Request, world: World | None) -> Answer:
    """The contract's refusal, else the operation's answer; what a rule or an operation raises is told as its fault."""
    try:
        refusal = check(request, world)
        return _refused(refusal) if refusal else _answered(request, world)
    except HarnessError as problem:
        return _told(problem, request, world)
    except Exception as problem:
        *_, last = extract_tb(problem.__traceback__)
        where = f"{last.name} ({last.filename}:{last.lineno})"
        raised = HarnessError(f"{request.operation}: {where} raised {type(problem).__name__}: {problem}")
        return _told(raised, request, world)


def _told(problem: HarnessError, request: Request, world: World | None) -> Answer:
    if world is not None:
        world.problems.append((request, str(problem)))
    return teapot(problem)


def _refused(refusal: Refusal) -> Answer:
    return Answer(refusal.error.status, refusal.error.body(), refusal.error.headers or {}, rule=refusal.rule.id)


def _answered(request: Request, world: World | None) -> Answer:
    assert world is not None  # the contract has refused a request without a World
    operation = OPERATIONS[request.operation]
    return operation.handler(request, world)


def teapot(problem: HarnessError) -> Answer:
    """What only the user of the harness can fix, as an answer no SDK takes for a fault of the API."""
    error = {"message": str(problem), "type": "harness_error", "param": None, "code": type(problem).__name__}
    return Answer(TEAPOT, {"error": error}, {"x-should-retry": "false"})


def _with_headers(answer: Answer, request_id: str) -> Answer:
    kind = "text/event-stream; charset=utf-8" if answer.events is not None else "application/json"
    headers = {
        "content-type": kind,
        "openai-version": VERSION,
        "openai-processing-ms": "10",
        "x-request-id": request_id,
        **answer.headers,
    }
    return Answer(answer.status, answer.body, headers, answer.events, answer.rule)

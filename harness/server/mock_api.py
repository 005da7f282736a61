"""The whole mock in one class: from the bytes of a request to the answer, without a network.

`MockApi.handle` finds the World by the request's key and the operation by its path, checks the contract, and only then
calls the operation. Anything that the user of the harness must fix comes back as a 418 that no SDK retries.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter, time
from types import MappingProxyType
from typing import Any, Unpack
from uuid import UUID

import harness.foundry  # noqa: F401  (registers every operation and rule)
from harness.api.http.dialects import AZURE, OPENAI, ApiPath, parse_api_path
from harness.api.models import MODELS
from harness.api.operations import find_operation
from harness.api.responses import UPGRADE
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.contract.rules.http.websocket import UPGRADE_RULES
from harness.core.delivery import SendRecord
from harness.core.errors import ConfigError, Problem
from harness.core.exchange import Answer, ReceivedRequest, Request, Stray
from harness.foundry.answer import add_azure_headers
from harness.server.answering import answer_routed, call_handler, check_and_answer, refusal_answer, teapot_answer
from harness.server.api_observers import AnsweredRequest, ApiObservers
from harness.server.held_requests import HeldRequest, HeldRequests
from harness.server.keyed_worlds import KeyedWorlds, key_of
from harness.server.shared_checks import SharedChecks
from harness.server.webhook_courier import ThreadCourier
from harness.server.websocket.session import SOCKET_PATHS, SocketSession
from harness.world.mock import Mock
from harness.world.routed_requests import find_routed
from harness.world.websocket_state import ConnectionWorld
from harness.world.world import GivenOptions, World, WorldOptions

OPENAI_VERSION = "2020-10-01"
API_ROOT = "/v1"
RESPONSES_PATH = "/responses"
CONTROL_ROOT = "/_harness"
"""Paths below this prefix belong to the control plane, not to the API."""


class MockApi(KeyedWorlds):
    """The mock: requests in, answers out. `options` are the `WorldOptions` with which its Worlds begin.

    `keys` and `prepare` are described at `KeyedWorlds`. `reserved` maps keys that lead to a World only while they are
    an alias of it to the message of the 418 they get otherwise. `stray_count` counts the requests without a World,
    including those outside the API, and numbers their ids; `request_count` counts all others, including those of closed
    Worlds. `observers` hear what happens. Without `has_courier` nothing is delivered to webhooks; with `can_hold`
    requests may be `held`.
    """

    has_courier = True
    can_hold = True

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        *,
        prepare: Callable[[Mock], None] = lambda mock: None,
        reserved: Mapping[str, str] = MappingProxyType({}),
        **options: Unpack[GivenOptions],
    ) -> None:
        self.observers = ApiObservers()
        self.courier = ThreadCourier() if self.has_courier else None
        super().__init__(keys, WorldOptions(**options), prepare, self.observers.on_opened, self.observers.on_closed)
        self.held = HeldRequests()
        self.request_count = 0
        self.stray_count = 0
        self._reserved = reserved
        self._prepared = SharedChecks()
        self.judge = partial(check_and_answer, check=self._prepared.check)

    def takes_form(self, method: str, path: str) -> bool:
        """Return whether the body of such a request is a form; `path` is the whole path."""
        place = parse_api_path(path, self.dialect)
        operation, _, _ = find_operation(method, place.endpoint_path, place.root) if place.root else (None, {}, False)
        return operation is not None and operation.is_form

    def handle(
        self, received: ReceivedRequest, *, answers_client: bool = True, edge: SendRecord | None = None
    ) -> Answer:
        """Answer a request. Never raises.

        With `answers_client` False another process has answered the request, which is replayed: no observer sees
        it. Pass `edge` if you send the answer; otherwise it counts as sent on return.
        """
        begun, seen = perf_counter(), edge or (time() if answers_client else None)

        # World: the key leads to it, and its dialect decides what the path means.
        place, world = self._find_world(received)

        # Parse: the operation of the path, the body, the query.
        request, check_request = self._prepared.read(received, place)

        # Check and run: the contract refuses the request, or the operation answers it. Before both come keys that lead
        # to a World only at times, and paths that the test answers itself.
        if world is None and (reserved := self._reserved_answer(request)):
            answer = reserved
        elif world is not None and world.routed and (routed := find_routed(world.routed, request)):
            request, answer = answer_routed(*routed, world)
        else:
            answer = check_and_answer(request, world, call_handler, check_request)

        # Headers: in the dialect of the request.
        answer = self._add_headers(request, answer, world)

        # Note: in the journal of the World or among the strays, then for the observers.
        self._note(request, answer, world, seen, answers_client=answers_client)
        if answers_client and answer.status >= self.observers.least_status:
            self.observers.on_answer(AnsweredRequest(begun, received, answer, world=world))
        return answer

    def hold(self, received: ReceivedRequest, edge: SendRecord | None) -> HeldRequest | None:
        """Hold a request if its World holds requests that ask a model; see `HeldRequests.hold`."""
        world = self._find_world(received)[1]
        held = self.held.hold(world, received, edge)
        if world is not None and held is not None:
            self.observers.on_changed(world, "held")
        return held

    def _find_world(self, received: ReceivedRequest) -> tuple[ApiPath, World | None]:
        """Parse a path in the dialect of the World that the key leads to."""
        place = parse_api_path(received.path, self.dialect)
        world = self.world_of(received.headers, place.dialect, received.query)
        # A script may set the dialect of its World, which then decides what the path means.
        if world is not None and world.dialect not in (None, place.dialect):
            place = parse_api_path(received.path, world.dialect)
        return place, world

    def open_session(self, received: ReceivedRequest, *, answers_client: bool = True) -> SocketSession | Answer:
        """Open the WebSocket session that a GET asks for, or return the HTTP answer that refuses it; see `handle`.

        Outside `SOCKET_PATHS` the upgrade is ignored, and the request is answered as the GET that carried it. Azure
        takes the key from the query, too, as browsers cannot set headers of an upgrade.
        """
        begun = perf_counter()
        if (key := received.query.get("api-key")) and parse_api_path(received.path, self.dialect).dialect == AZURE:
            received = received._replace(headers={"api-key": str(key), **received.headers})
        place, world = self._find_world(received)
        if place not in SOCKET_PATHS:
            return self.handle(received, answers_client=answers_client)
        head = (place.endpoint_path, received.headers, received.query)
        request = Request("WS", *head, operation=UPGRADE, root=place.root, dialect=place.dialect)
        refused = self._refuse_upgrade(request, world)
        if refused is None and world is not None:
            self.request_count += 1
            return SocketSession(ConnectionWorld(world), request, self.judge, self.observers)
        assert refused is not None  # the contract refuses a request without a World
        answer = self._add_headers(request, refused, world)
        self._note(request, answer, world, time() if answers_client else None, answers_client=answers_client)
        if answers_client:
            self.observers.on_answer(AnsweredRequest(begun, received, answer, UPGRADE, world=world))
        return answer

    def note_failed(self, received: ReceivedRequest, problem: Problem) -> None:
        """Record in the World of a request that the server failed to answer it."""
        if world := self._find_world(received)[1]:
            world.note_failed(problem)

    def _refuse_upgrade(self, request: Request, world: World | None) -> Answer | None:
        if world is None and (reserved := self._reserved_answer(request)):
            return reserved
        refusal = check(WorldCall(request, world)).violation
        return refusal_answer(refusal) if refusal and (world is None or refusal.rule.id in UPGRADE_RULES) else None

    def _reserved_answer(self, request: Request) -> Answer | None:
        """Answer 418 to a reserved key that is not an alias at the moment; None for other keys."""
        if not self._reserved:
            return None
        text = self._reserved.get(key_of(request.headers, request.dialect, request.query) or "")
        return teapot_answer(ConfigError(f"{request.method} {request.path}: {text}")) if text else None

    def _add_headers(self, request: Request, answer: Answer, world: World | None) -> Answer:
        self.stray_count += world is None
        if request.dialect == OPENAI:
            return _with_headers(answer, f"req_{self.stray_count:032x}" if world is None else world.ids.request())
        if world is not None:
            return add_azure_headers(request, answer, world.ids.guid, world.models, world.as_of)
        return add_azure_headers(request, answer, lambda: str(UUID(int=self.stray_count)), MODELS, self.as_of)

    def _note(
        self,
        request: Request,
        answer: Answer,
        world: World | None,
        seen: SendRecord | float | None,
        *,
        answers_client: bool,
    ) -> None:
        """Record an exchange in the journal of its World, or among the strays.

        `seen` is the time of arrival, or the edge record that is filled in while the answer is sent.
        """
        if world is not None:
            self.request_count += 1
            edge = (seen, time(), answer.events) if isinstance(seen, float) else seen
            world.add_exchange(request, answer, edge)
        elif request.root:
            stray = self._add_stray(request, answer)
            if answers_client and stray:
                self.observers.on_stray(stray)

    def _add_stray(self, request: Request, answer: Answer) -> Stray | None:
        """Keep a request without a World, and return it for observers.

        Worlds that it may have been meant for see it, too.
        """
        key = key_of(request.headers, request.dialect, request.query) or ""
        stray = Stray(request, answer, key, self.name_closed(key))
        self.strays.add(stray)
        return stray


def key_at(
    path: str, headers: Mapping[str, str], query: Mapping[str, Any], dialect: str | None
) -> tuple[str | None, str]:
    """Return the key of a request and its dialect.

    `path` may be the control plane's or the API's, `dialect` None means any.
    """
    if path.startswith(f"{CONTROL_ROOT}/"):
        found = AZURE if "api-key" in headers else OPENAI
    else:
        found = parse_api_path(path, dialect).dialect
    return key_of(headers, found, query), found


def _with_headers(answer: Answer, request_id: str) -> Answer:
    kind = "text/event-stream; charset=utf-8" if answer.events is not None else "application/json"
    headers = {
        "content-type": kind,
        "openai-version": OPENAI_VERSION,
        "openai-processing-ms": "10",
        "x-request-id": request_id,
    }
    if answer.headers:
        headers |= answer.headers
    return tuple.__new__(Answer, (*answer[:2], headers, *answer[3:]))  # `_replace` would take three times as long

"""The whole mock in one function: from the bytes of a request to the answer, without any network.

`MockApi.handle` finds the World by its key and the operation by its path, checks the contract, and only then calls the
operation. What a user of the harness has to fix comes back as a 418 that no SDK retries.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from types import MappingProxyType
from typing import Any
from uuid import UUID

import harness.endpoints  # noqa: F401  (registers every operation)
from harness.api.http.dialects import OPENAI, ApiPath, check_dialect, parse_api_path
from harness.api.http.multipart import is_form, parse_whole_form
from harness.api.http.websocket_mode import UPGRADE
from harness.api.models import MODELS
from harness.api.operations import find_operation
from harness.contract.check import check
from harness.contract.own_contract import OwnContract
from harness.contract.rules.http.websocket import UPGRADE_RULES
from harness.core.account import Organization
from harness.core.dates import CONTRACT_DATE, parse_as_of
from harness.core.delivery import Pace
from harness.core.errors import ConfigError
from harness.core.exchange import EMPTY_MAPPING, Answer, Json, JsonFault, Request, Stray
from harness.core.limits import UNLIMITED, Limits
from harness.core.text.vocabulary import PYTHON, Vocabulary
from harness.endpoints import azure
from harness.endpoints.request import request_from
from harness.server.answering import (
    answer_routed,
    call_handler,
    check_and_answer,
    refusal_answer,
    teapot_answer,
)
from harness.server.api_key import key_of, opens_world
from harness.server.api_observers import AnsweredRequest, ApiObservers
from harness.server.websocket.session import SocketSession
from harness.world.mock import Mock
from harness.world.routed import find_routed
from harness.world.script import Fallback
from harness.world.strays import StrayLog
from harness.world.websocket_state import ConnectionWorld
from harness.world.world import World

OPENAI_VERSION = "2020-10-01"
API_ROOT = "/v1"
RESPONSES_PATH = "/responses"
CONTROL_ROOT = "/_harness"
"""Paths below it are the control plane's, not the API's."""
MAX_UNDER_WAY = 100
"""Among how many exchanges of a World that is looked for which a client has left, the newest."""
MAX_CLOSED = 10_000
"""How many closed Worlds are remembered by name, the newest ones."""


class MockApi:
    """All Worlds of one server, by API key.

    With `keys` None any key that starts with `sk-` opens a World of its own; otherwise only the named keys are known.
    `fallback` answers what was never scripted, `pace` is that of turns without one, `prepare` is called with each new World,
    `limits` bound what is kept: of too many Worlds the least recently used is dropped, `dropped_count` counts them.
    `dialect` is the only one to speak (openai,
    azure, foundry), None is all of them: a request speaks the one that its path has. `as_of` is the day whose API it is
    (`World`), `own_contract` what overrules that. `reserved` are keys that lead to a World only while they are its alias,
    each with the text of the 418 that it gets meanwhile; `vocabulary` words the advice to those who read it. `strays` are
    the newest requests to the API without a World; `stray_count` counts all without one, those outside the API too, and
    numbers their ids; `request_count` counts the others, those of closed Worlds too. `scheme` is that of the addresses that
    Worlds hand out. `observers` are told of what happens.
    """

    scheme = "http"

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        *,
        organization: Organization | None = None,
        fallback: Fallback | None = None,
        prepare: Callable[[Mock], None] = lambda mock: None,
        limits: Limits = UNLIMITED,
        pace: Pace | None = None,
        dialect: str | None = None,
        as_of: str = CONTRACT_DATE,
        own_contract: OwnContract | None = None,
        reserved: Mapping[str, str] = MappingProxyType({}),
        vocabulary: Vocabulary = PYTHON,
    ) -> None:
        self.worlds: OrderedDict[str, World] = OrderedDict()
        self.dropped_count = 0
        self.strays = StrayLog()
        self.request_count = 0
        self.stray_count = 0
        self._aliases: dict[str, str] = {}
        self._closed: OrderedDict[str, str] = OrderedDict()
        self._dropped: OrderedDict[str, None] = OrderedDict()
        self._reserved = reserved
        self._keys = None if keys is None else frozenset(keys)
        self._organization = organization
        self._fallback = fallback
        self._prepare = prepare
        self._limits = limits
        self._pace = pace
        self.dialect = check_dialect(dialect)
        self.as_of = parse_as_of(as_of)
        self._own_contract = own_contract
        self._vocabulary = vocabulary
        self.observers = ApiObservers()

    def open(self, key: str, name: str = "", base_url: str = "", vocabulary: Vocabulary | None = None) -> Mock:
        """What a test holds of the World of a key, which is made when it is new; `vocabulary` is that of its user."""
        return Mock(self._open_world(key, name, base_url, vocabulary))

    def _open_world(self, key: str, name: str = "", base_url: str = "", vocabulary: Vocabulary | None = None) -> World:
        if key not in self.worlds:
            world = World(
                name or key,
                api_key=key,
                base_url=base_url,
                organization=self._organization,
                fallback=self._fallback,
                dialect=self.dialect,
                as_of=self.as_of,
                vocabulary=vocabulary or self._vocabulary,
                limits=self._limits,
            )
            if self.scheme != world.scheme:
                world.scheme = self.scheme
            world.own_contract = self._own_contract
            world.script.pace = self._pace
            world.was_dropped = key in self._dropped
            world.hear_strays(self.strays)
            self._prepare(Mock(world))
            self.put_world(world)
        return self.worlds[key]

    def put_world(self, world: World) -> None:
        """Have a World that was made elsewhere, by its key."""
        self.worlds[world.api_key] = world
        self._drop_least_recently_used()

    def _drop_least_recently_used(self) -> None:
        if self._limits.worlds is not None and len(self.worlds) > self._limits.worlds:
            key = next(iter(self.worlds))
            self.close(key)
            self.dropped_count += 1
            self._dropped[key] = None
            if len(self._dropped) > MAX_CLOSED:
                self._dropped.popitem(last=False)

    def mark_dropped(self, keys: Iterable[str]) -> None:
        """Note keys whose Worlds are lost."""
        self._dropped |= dict.fromkeys(keys)

    def add_alias(self, alias: str, key: str) -> None:
        """Let one more key lead to the World of a key, until that is closed."""
        self._aliases[alias] = key

    def close(self, key: str) -> None:
        """Forget a World and its aliases."""
        self._dropped.pop(key, None)
        if world := self.worlds.pop(key, None):
            self.observers.on_closed(world)
            world.heard_strays.end()
            for name in (key, *(alias for alias, of in self._aliases.items() if of == key)):
                self._closed[name] = world.name
                self._aliases.pop(name, None)
        while len(self._closed) > MAX_CLOSED:
            self._closed.popitem(last=False)

    def world_of(
        self, headers: Mapping[str, str], dialect: str = OPENAI, query: Mapping[str, Any] = EMPTY_MAPPING
    ) -> World | None:
        """The World a request belongs to; None when its key names none.

        In the dialects of Azure the key may be an `api-key`, and both that and a token may look like anything.
        """
        key = key_of(headers, dialect, query)
        if key is None:
            return None
        if world := self._known_world(key):
            return world
        return self._open_world(key) if opens_world(key, dialect, self._keys) else None

    def _known_world(self, key: str) -> World | None:
        """The World of a key or an alias that has one, which is used now."""
        world = self.worlds.get(self._aliases.get(key, key))
        if world is not None and self._limits.worlds is not None:
            self.worlds.move_to_end(world.api_key)
        return world

    def takes_form(self, method: str, path: str) -> bool:
        """Whether the body of such a request is a form; `path` is the whole of it."""
        place = parse_api_path(path, self.dialect)
        operation, _, _ = find_operation(method, place.endpoint_path, place.root) if place.root else (None, {}, False)
        return operation is not None and operation.is_form

    def handle(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        query: Mapping[str, Any],
        raw: bytes,
        form: Json | None = None,
    ) -> Answer:
        """The answer to a request; `path` is the whole of it, header names are lower case. Never raises.

        `query` holds texts, for a name sent as `name[]` a list of them; `form` is the body if it was parsed as one before.
        """
        if not self.observers.all:
            return self._answer(method, path, headers, query, raw, form)
        begun = perf_counter()
        answer = self._answer(method, path, headers, query, raw, form)
        self.observers.on_answer(AnsweredRequest(begun, method, path, headers, raw, answer))
        return answer

    def _answer(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        query: Mapping[str, Any],
        raw: bytes,
        form: Json | None,
    ) -> Answer:
        """The answer to a request, of which no observer is told; see `handle`."""
        place = parse_api_path(path, self.dialect)
        world = self.world_of(headers, place.dialect, query)
        if world is not None and world.dialect not in (None, place.dialect):
            place = parse_api_path(path, world.dialect)
        request = _parse_request(method, place, headers, query, raw, form)
        if world is not None and world.routed and (routed := find_routed(world.routed, request)):
            answer, request = answer_routed(*routed, world)
            return self._finish_answer(request, answer, world)
        answer = self._reserved_answer(request, world) or check_and_answer(request, world, call_handler)
        return self._finish_answer(request, answer, world)

    def open_session(self, path: str, headers: Mapping[str, str], query: Mapping[str, Any]) -> SocketSession | Answer:
        """The session of a WebSocket asked for at `path`, or the HTTP answer that refuses it; see `handle`.

        Elsewhere than at `/v1/responses` the upgrade is passed over and the answer that of the GET it came with.
        """
        if parse_api_path(path, self.dialect) != ApiPath(OPENAI, API_ROOT, RESPONSES_PATH):
            return self.handle("GET", path, headers, query, b"")
        begun = perf_counter()
        opened = self._open_session(headers, query)
        if isinstance(opened, Answer):
            self.observers.on_answer(AnsweredRequest(begun, "GET", path, headers, b"", opened, UPGRADE))
        return opened

    def _open_session(self, headers: Mapping[str, str], query: Mapping[str, Any]) -> SocketSession | Answer:
        world = self.world_of(headers)
        request = Request("WS", RESPONSES_PATH, headers, query, operation=UPGRADE)
        if reserved := self._reserved_answer(request, world):
            return self._finish_answer(request, reserved, world)
        refusal = check(request, world)
        if world is None or (refusal and refusal.rule.id in UPGRADE_RULES):
            assert refusal is not None  # the contract refuses a request without a World
            return self._finish_answer(request, refusal_answer(refusal), world)
        self.request_count += 1
        return SocketSession(ConnectionWorld(world), headers, check_and_answer, self.observers)

    def _reserved_answer(self, request: Request, world: World | None) -> Answer | None:
        """The 418 for a reserved key that is no alias now."""
        if world is not None or not self._reserved:
            return None
        text = self._reserved.get(key_of(request.headers, request.dialect, request.query) or "")
        return teapot_answer(ConfigError(f"{request.method} {request.path}: {text}")) if text else None

    def _finish_answer(self, request: Request, answer: Answer, world: World | None) -> Answer:
        """An answer with its headers, written into the journal of its World."""
        self.stray_count += world is None
        if request.dialect != OPENAI:
            answer = self._add_azure_headers(request, answer, world)
        else:
            answer = _with_headers(answer, world.ids.request() if world else f"req_{self.stray_count:032x}")
        if world is not None:
            self.request_count += 1
            world.add_exchange(request, answer)
        elif request.root:
            self._add_stray(request, answer)
        return answer

    def note_hang_up(self, answer: Answer, seconds: float) -> None:
        """Note in the World of an answer that the client did not wait for its end."""
        for world in self.worlds.values():
            for exchange in world.exchanges[-MAX_UNDER_WAY:]:
                if exchange.answer is answer:
                    world.hang_ups = {**world.hang_ups, exchange.number: seconds}
                    return

    def _add_azure_headers(self, request: Request, answer: Answer, world: World | None) -> Answer:
        if world is not None:
            return azure.add_headers(request, answer, world.ids.guid, world.models, world.as_of)
        return azure.add_headers(request, answer, lambda: str(UUID(int=self.stray_count)), MODELS, self.as_of)

    def _add_stray(self, request: Request, answer: Answer) -> None:
        """Keep a request without a World, which the Worlds that may have been meant hear of."""
        key = key_of(request.headers, request.dialect, request.query) or ""
        stray = Stray(request, answer, key, self._closed.get(key, ""))
        self.strays.add(stray)
        self.observers.on_stray(stray)


def _parse_request(
    method: str,
    place: ApiPath,
    headers: Mapping[str, str],
    query: Mapping[str, Any],
    raw: bytes,
    form: Json | None,
) -> Request:
    dialect, root, below = place
    operation, params, known = find_operation(method, below, root) if root else (None, {}, False)
    if operation is None:
        reason = "wrong method" if known else "unknown URL" if root else "outside the API"
        return Request(method, below, headers, query, raw=raw, operation=reason, dialect=dialect, root=root)
    kind = headers.get("content-type", "")
    is_new_form = form is None and is_form(kind) and operation.reads_form(kind)
    if is_new_form:
        form = parse_whole_form(raw, kind)
    request = request_from(operation, params, place, headers, query, raw, form if operation.reads_form(kind) else None)
    return request._replace(fault=JsonFault("form"), schema=None) if is_new_form and form is None else request


def _with_headers(answer: Answer, request_id: str) -> Answer:
    kind = "text/event-stream; charset=utf-8" if answer.events is not None else "application/json"
    headers = {
        "content-type": kind,
        "openai-version": OPENAI_VERSION,
        "openai-processing-ms": "10",
        "x-request-id": request_id,
        **answer.headers,
    }
    return Answer(answer.status, answer.body, headers, answer.events, answer.rule, answer.delivery, answer.asked)

"""The state of one WebSocket connection beyond its World: its lanes, and the last response of each.

According to OpenAI's guide to WebSocket mode, read in 2026-09: a lane remembers its last response, stored or not, and
forgets it when a continuation of it in this lane fails; when the connection closes, all of it is gone.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Generic, TypeVar

from harness.core.account import Organization
from harness.core.exchange import Json
from harness.world.script import Script
from harness.world.store import PendingResponse, Store, StoredResponse
from harness.world.world import World

T = TypeVar("T")
SILENT_SCRIPT = Script(lambda request: ())


@dataclass(slots=True)
class LaneResponse:
    """The last response of a lane as stored, with its request and the number of events sent about it.

    `steers` holds items that precede the input of the request that continues it.
    """

    stored: StoredResponse
    body: Json
    lane: str | None
    event_count: int
    steers: list[Json] = field(default_factory=list)

    @property
    def response(self) -> Json:
        """The response object."""
        return self.stored.response


@dataclass(slots=True)
class OpenResponse:
    """A response that waits for outputs of the client, with its place in a lane and its last event.

    `outputs` holds those injected so far; `settled` is how many items of its output have been answered.
    """

    lane_response: LaneResponse
    last_event: Json
    settled: int = 0
    outputs: list[Json] = field(default_factory=list)

    @property
    def response(self) -> Json:
        """The response object."""
        return self.lane_response.response


class _OfWorld(Generic[T]):
    """A member of a connection's World, read anew each time."""

    def __init__(self, read: Callable[[World], T]) -> None:
        self._read = read

    def __get__(self, connection: ConnectionWorld, kind: type) -> T:
        return self._read(connection.world)


class ConnectionWorld:
    """A World as seen by one connection: what rules and `POST /responses` need, and the connection's lanes.

    `lanes` holds all lanes named so far, `lane_of` the lane of each response; `open_responses` wait for outputs, and
    `awaits_outputs` says whether the script wants that for the latest one. If `generate` is False, the model does not
    run. Zero Data Retention does not forbid continuations here, as nothing of them is stored.
    """

    as_of = _OfWorld(lambda world: world.as_of)
    exchange_count = _OfWorld(lambda world: world.exchange_count)
    models = _OfWorld(lambda world: world.models)
    now = _OfWorld(lambda world: world.now)
    overrides = _OfWorld(lambda world: world.overrides)
    quotas = _OfWorld(lambda world: world.quotas)
    skipped_seconds = _OfWorld(lambda world: world.skipped_seconds)
    webhooks = _OfWorld(lambda world: world.webhooks)

    def __init__(self, world: World) -> None:
        self.world = world
        self.generate = True
        self.lanes: set[str] = set()
        self.lane_of: dict[str, str | None] = {}
        self.open_responses: dict[str, OpenResponse] = {}
        self.awaits_outputs = False
        self._opened_at = world.skipped_seconds
        self._last_by_lane: dict[str | None, LaneResponse] = {}
        self._last_made: StoredResponse | None = None
        self.ids, self.uploads, self.containers = world.ids, world.uploads, world.containers
        self.mcp_servers, self.approval_ledger = world.mcp_servers, world.approval_ledger
        self.prompt_cache = world.prompt_cache
        self.problems, self.tick, self.gate = world.problems, world.tick, world.gate
        self.note_arrival = world.note_arrival
        self.add_item_ids, self.copy_to_container = world.add_item_ids, world.copy_to_container

    @property
    def age(self) -> int:
        """Seconds since the connection was opened, without those that requests take."""
        return self.world.skipped_seconds - self._opened_at

    @property
    def account(self) -> Organization:
        """The account behind the key, as far as it limits a connection."""
        account = self.world.account
        return replace(account, zdr=False) if account.zdr else account

    @property
    def script(self) -> Script:
        """The script: what the model answers next."""
        return self.world.script if self.generate else SILENT_SCRIPT

    @property
    def store(self) -> Store:
        """The World's store, with the last responses of the lanes added to the stored ones."""
        last = {held.response["id"]: held.stored for held in self._last_by_lane.values()}
        tables = {table.name: getattr(self.world.store, table.name) for table in fields(Store)}
        return Store(**tables | {"responses": ChainMap(last, self.world.store.responses)})

    def finish(self, pending: PendingResponse) -> Json:
        """End a response: the World stores it if permitted, the connection remembers it in any case."""
        response = self.world.finish(pending._replace(is_stored=pending.is_stored and not self.world.account.zdr))
        chain = pending.previous.extend(*pending.own_input, *response["output"])
        self._last_made = StoredResponse(response, pending.own_input, chain)
        self.awaits_outputs = pending.ending.awaits_outputs
        return response

    def held(self, id: object) -> LaneResponse | None:
        """Return the last response of a lane by its id."""
        return next((held for held in self._last_by_lane.values() if held.response["id"] == id), None)

    def set_last_response(self, lane: str | None, body: Json, event_count: int) -> LaneResponse:
        """Make the response to this request, sent in `event_count` events, the last one of its lane."""
        assert self._last_made is not None  # an answer with events has come from `finish`
        self._last_by_lane[lane] = held = LaneResponse(self._last_made, body, lane, event_count)
        self.lane_of[self._last_made.response["id"]] = lane
        return held

    def extend_response(self, opened: OpenResponse, merged: Json) -> None:
        """Merge the latest response into the open one: to the client, the two are one response."""
        assert self._last_made is not None  # an answer with events has come from `finish`
        added, responses = self._last_made, self.world.store.responses
        opened.settled = len(opened.response["output"])
        opened.outputs = []
        opened.lane_response.stored = StoredResponse(merged, opened.lane_response.stored.input, added.chain)
        if responses.pop(added.response["id"], None):
            responses[merged["id"]] = opened.lane_response.stored

    def hold_open(self, opened: OpenResponse) -> None:
        """Let a response wait for outputs; meanwhile it reads as in progress."""
        self.open_responses[opened.response["id"]] = opened
        running = {**opened.response, "status": "in_progress", "completed_at": None, "usage": None}
        self._show_response(opened, opened.lane_response.stored._replace(response=running))

    def end_open(self, opened: OpenResponse) -> None:
        """End a waiting response with the outputs that it has."""
        del self.open_responses[opened.response["id"]]
        self._show_response(opened, opened.lane_response.stored)

    def _show_response(self, opened: OpenResponse, shown: StoredResponse) -> None:
        if opened.response["id"] in self.world.store.responses:
            self.world.store.responses[opened.response["id"]] = shown

    def forget_last_response(self, lane: str | None, id: object) -> None:
        """Forget the last response of a lane if it has this id; a fork of it in another lane stays."""
        if (held := self._last_by_lane.get(lane)) and held.response["id"] == id:
            del self._last_by_lane[lane]

    def pending_steers(self, lane: str | None, id: object) -> Sequence[Json]:
        """Return the items that precede the input of the next continuation of this response in this lane."""
        held = self._last_by_lane.get(lane)
        return held.steers if held and held.response["id"] == id else ()


AnyWorld = World | ConnectionWorld
"""A World, whole or as one connection sees it."""

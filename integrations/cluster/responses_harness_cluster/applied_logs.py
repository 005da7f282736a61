"""The Worlds that a process shares with others: each is built by the requests in the log of its key, in order.

Worlds depend on neither clock nor chance, so all processes reach the same state and the same answers.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.core.delivery import Delivery, SendRecord
from harness.core.exchange import Answer, Json, ReceivedRequest
from harness.server.websocket.session import SocketSession
from responses_harness_cluster.log_entries import (
    BYTES,
    CONTROL,
    FAILED,
    HTTP,
    LEFT,
    LOST,
    OWN_KINDS,
    TEXT,
    UPGRADE,
    LoggedRequest,
    LogLine,
    StoredSnapshot,
    StoreLost,
    Tail,
    decode_request,
)
from responses_harness_cluster.redis_log import SNAPSHOT_EVERY
from responses_harness_cluster.replicated_api import ReplicatedApi
from responses_harness_cluster.shared_courier import apply_to_webhooks
from responses_harness_cluster.snapshot import Snapshot, SnapshotError, decode_snapshot, encode_snapshot

MOST_SESSIONS = 1_000
"""How many WebSockets of a key keep their state, the newest; killed processes leave stale ones behind."""
STEP = 50
"""Requests applied before other connections get a turn."""


class SessionEvents(NamedTuple):
    """The answer of a session to a message: its events, their delivery, and whether the connection is then closed."""

    events: Any
    delivery: Delivery | None
    closed: bool


class ControlAnswer(NamedTuple):
    """The answer of the control plane, as sent over ASGI."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Submitted(NamedTuple):
    """A request of this process on its way through the log of a key, None to read only; `outcome` is its result."""

    key: str
    request: LoggedRequest | None
    mark: str
    is_reset: bool
    outcome: asyncio.Future[Any]
    edge: SendRecord | None = None

    @property
    def is_refusable(self) -> bool:
        """Whether a client waits for it that must be told if the World it was meant for is lost."""
        return self.request is not None and self.request.kind not in OWN_KINDS and not self.is_reset

    @property
    def is_bound(self) -> bool:
        """Whether it says something of the World that is here, not of one that has replaced it since."""
        return self.request is not None and self.request.kind == FAILED


ControlPlane = Callable[[LoggedRequest], Awaitable[ControlAnswer]]
PutSnapshot = Callable[[str, StoredSnapshot], Awaitable[None]]


@dataclass(slots=True)
class _Replica:
    """How far the World of a key is: entry number `position` of the log is applied, with `last_mark` as its mark."""

    epoch: str = ""
    position: int = 0
    last_mark: str = ""
    sessions: OrderedDict[str, SocketSession] = field(default_factory=OrderedDict)
    own_sessions: set[str] = field(default_factory=set)


class AppliedLogs:
    """Applies the requests in the logs to the Worlds of `api`, and knows how far each log is applied.

    `sent` maps this process's requests by their marks, which begin with `process`; each gets its result in its turn.
    Every SNAPSHOT_EVERY requests of a key, the process that sent the last one stores a snapshot of its World.
    """

    def __init__(self, api: ReplicatedApi, control: ControlPlane, put_snapshot: PutSnapshot, process: str) -> None:
        self.sent: dict[str, Submitted] = {}
        self._api = api
        self._control = control
        self._put_snapshot = put_snapshot
        self._process = process
        self._replicas: OrderedDict[str, _Replica] = OrderedDict()
        self._stray_epoch, self._stray_position = "", 0

    def __contains__(self, key: str) -> bool:
        return key in self._replicas

    def place(self, key: str) -> tuple[str, int, str]:
        """Return the epoch of a key's log, how far it is applied here, and the mark of the last applied entry.

        The log of requests without a World has the key '' and no such mark.
        """
        if not key:
            return self._stray_epoch, self._stray_position, ""
        replica = self._replicas.get(key) or _Replica()
        return replica.epoch, replica.position, replica.last_mark

    def forget(self, key: str) -> None:
        """Forget the World of a key and the state of its log."""
        if key:
            self._replicas.pop(key, None)
            self._api.take_world(key)
        else:
            self._stray_epoch, self._stray_position = "", 0
            self._api.strays.restart()

    def forget_session(self, key: str, session: str) -> None:
        """Record that a WebSocket of this process has ended."""
        if replica := self._replicas.get(key):
            replica.own_sessions.discard(session)

    def keep(self, most: int, busy: Collection[str]) -> None:
        """Forget the least recently used Worlds beyond `most`, except busy ones and those with a WebSocket."""
        excess = len(self._replicas) - most
        if excess <= 0:
            return
        # The table is in the order of use: its first entries were used longest ago.
        idle = [key for key, replica in self._replicas.items() if not replica.own_sessions and key not in busy]
        for key in idle[:excess]:
            self.forget(key)

    def restore(self, key: str, stored: StoredSnapshot) -> None:
        """Restore the World of a snapshot; SnapshotError if the bytes are not a snapshot."""
        snapshot = decode_snapshot(stored.encoded, self._api.own_objects)
        before = self._replicas.get(key) or _Replica()
        self.forget(key)
        self._replicas[key] = _Replica(
            stored.epoch, stored.position, sessions=snapshot.sessions, own_sessions=before.own_sessions
        )
        if snapshot.world is not None:
            self._api.put_world(snapshot.world)

    async def apply(self, key: str, tail: Tail) -> None:
        """Apply the new entries of a key's log, and of the log of requests without a World."""
        await self._apply_strays(tail.stray_epoch, tail.stray_start, tail.strays)
        if key:
            await self._apply_lines(key, tail)
        else:
            await self._apply_strays(tail.epoch, tail.start, tail.lines)

    async def _apply_lines(self, key: str, tail: Tail) -> None:
        replica = self._replicas.get(key)
        if not tail.epoch:
            return
        if replica is None or tail.epoch != replica.epoch or tail.base > replica.position:
            before = replica or _Replica()
            if replica is not None:
                self.forget(key)
            replica = _Replica(tail.epoch, tail.base, sessions=before.sessions, own_sessions=before.own_sessions)
            self._replicas[key] = replica
        self._replicas.move_to_end(key)
        for number, line in enumerate(tail.lines, tail.start + 1):
            if number != replica.position + 1:
                continue  # the tails of requests sent together overlap
            self._api.strays.number = line.strays
            replica.position, replica.last_mark = number, line.mark
            if line.mark == LOST:
                self._api.mark_lost(key)
                continue
            await self._carry_out(replica, line)
            if number % SNAPSHOT_EVERY == 0 and line.mark.startswith(self._process):
                await self._store_snapshot(key, replica)
            if number % STEP == 0:
                await asyncio.sleep(0)

    async def _apply_strays(self, epoch: str, start: int, lines: Sequence[LogLine]) -> None:
        # Another epoch means that the store was reset; a gap, that it has dropped entries not seen here.
        if (epoch and epoch != self._stray_epoch) or start > self._stray_position:
            self._stray_epoch, self._stray_position = epoch, start
            self._api.strays.restart(epoch, start)
        for number, line in enumerate(lines, start + 1):
            # The tails of requests sent together overlap.
            if number != self._stray_position + 1:
                continue
            self._stray_position = number
            self._api.stray_count = self._api.strays.number = number - 1
            await self._carry_out(_Replica(), line)

    async def _store_snapshot(self, key: str, replica: _Replica) -> None:
        """Store a snapshot of a World's current state; failures are ignored, as a snapshot only saves work."""
        snapshot = Snapshot(self._api.worlds.get(key), replica.sessions)
        with suppress(SnapshotError, StoreLost):
            encoded = encode_snapshot(snapshot, self._api.own_objects)
            await self._put_snapshot(key, StoredSnapshot(replica.epoch, replica.position, encoded))

    async def _carry_out(self, replica: _Replica, line: LogLine) -> None:
        submitted = self.sent.get(line.mark)
        outcome = submitted and submitted.outcome
        try:
            request = submitted.request if submitted and submitted.request else decode_request(line.request)
            edge = submitted.edge if submitted else None
            result = await self._answer(replica, request, edge, answers_client=submitted is not None)
        except Exception as problem:  # raised alike in all processes
            fail(outcome, problem)
            return
        if outcome is not None and not outcome.done():
            outcome.set_result(result)

    async def _answer(
        self, replica: _Replica, request: LoggedRequest, edge: SendRecord | None, *, answers_client: bool
    ) -> Any:
        if request.kind == HTTP:
            head = (request.method, request.path, request.header_values, request.parameters)
            return self._api.handle(ReceivedRequest(*head, request.raw), answers_client=answers_client, edge=edge)
        if request.kind == CONTROL:
            return await self._control(request)
        if request.kind == UPGRADE:
            return self._open_session(replica, request, answers_client=answers_client)
        if request.kind in (TEXT, BYTES):
            return _receive(replica.sessions.get(request.session), request, edge, answers_client=answers_client)
        if request.kind == LEFT:
            replica.sessions.pop(request.session, None)
            return None
        if request.kind == FAILED:
            self._api.count_failed(request.path, request.raw, answers_client=answers_client)
            return None
        return apply_to_webhooks(self._api.worlds.get(request.path), request)

    def _open_session(
        self, replica: _Replica, request: LoggedRequest, *, answers_client: bool
    ) -> SocketSession | Answer:
        head = request.path, request.header_values, request.parameters
        opened = self._api.open_session(ReceivedRequest("GET", *head), answers_client=answers_client)
        if isinstance(opened, SocketSession):
            replica.sessions[request.session] = opened
            if answers_client:
                replica.own_sessions.add(request.session)
            if len(replica.sessions) > MOST_SESSIONS:
                replica.sessions.popitem(last=False)
        return opened


def _receive(
    session: SocketSession | None, request: LoggedRequest, edge: SendRecord | None, *, answers_client: bool
) -> SessionEvents:
    if session is None:
        error: Json = {"message": "This connection is not known any more.", "type": "harness_error", "code": None}
        return SessionEvents([{"type": "error", "status": 400, "error": {**error, "param": None}}], None, True)
    message = request.raw.decode() if request.kind == TEXT else request.raw
    events = session.receive(message, answers_client=answers_client, edge=edge)
    return SessionEvents(events, session.delivery, session.closed)


def fail(outcome: asyncio.Future[Any] | None, problem: Exception) -> None:
    """Fail a pending outcome with an exception; does nothing without an outcome."""
    if outcome is not None and not outcome.done():
        outcome.set_exception(problem)

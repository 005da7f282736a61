"""The Worlds of one process that shares them with others: each is made by the requests in the log of its key, in order.

A request is first appended to the log; its answer is what it gets when its turn comes. As a World knows neither clock nor
chance, all processes come to the same state and the same answers, and no request is carried out twice or in half.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from harness.core.delivery import Delivery
from harness.core.exchange import Answer, Json
from harness.server.sharing.gate_watch import GateWatch
from harness.server.sharing.key_watch import LOOK_SECONDS, KeyWatch
from harness.server.sharing.log_entries import (
    LOST,
    Append,
    LogDropped,
    LogGone,
    LogLine,
    LogMoved,
    RequestLog,
    StoredSnapshot,
    StoreLost,
    Tail,
)
from harness.server.sharing.logged_request import (
    BYTES,
    CONTROL,
    HTTP,
    LEFT,
    TEXT,
    UPGRADE,
    LoggedRequest,
    decode_request,
)
from harness.server.sharing.redis_log import SNAPSHOT_EVERY
from harness.server.sharing.replicated_api import ReplicatedApi
from harness.server.sharing.snapshot import Snapshot, SnapshotError, decode_snapshot, encode_snapshot
from harness.server.websocket.session import SocketSession

MOST_SESSIONS = 1_000
"""WebSockets of a key whose state is kept, the newest; who is killed leaves some behind."""
MOST_SENT = 64
"""Requests that are appended at once."""
STEP = 50
"""Requests carried out before other connections have their turn."""


class SessionEvents(NamedTuple):
    """What a session says to a message: its events, how they go out, and whether it hangs up then."""

    events: Any
    delivery: Delivery | None
    closed: bool


class ControlAnswer(NamedTuple):
    """The answer of the control plane, as ASGI sends it."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


ControlPlane = Callable[[LoggedRequest], Awaitable[ControlAnswer]]


@dataclass(slots=True)
class _Replica:
    """How far the World of a key is: entry number `position` of the log is applied, `last_mark` is its mark."""

    epoch: str = ""
    position: int = 0
    last_mark: str = ""
    sessions: OrderedDict[str, SocketSession] = field(default_factory=OrderedDict)
    own_sessions: set[str] = field(default_factory=set)


class _Waiting(NamedTuple):
    key: str
    request: LoggedRequest | None
    mark: str
    is_reset: bool
    outcome: asyncio.Future[Any]


class Replicas:
    """Carries out the requests of the logs on the Worlds of `api`; at most `keep` Worlds stay in memory, None for all.

    A World that is not here, or no more, is made from the snapshot of its key and the requests in the log since then. The
    process to which request number 40,000 of a key came makes one, and so on.
    """

    def __init__(self, api: ReplicatedApi, log: RequestLog, control: ControlPlane, keep: int | None = None) -> None:
        self._api = api
        self._log = log
        self._control = control
        self._keep = keep
        self._process = secrets.token_hex(6)
        self._numbers = count(1)
        self._replicas: OrderedDict[str, _Replica] = OrderedDict()
        self._stray_epoch, self._stray_position = "", 0
        self._queue: deque[_Waiting] = deque()
        self._sent: dict[str, _Waiting] = {}
        self._sender: asyncio.Task[None] | None = None
        self._looker: asyncio.Task[None] | None = None
        self._is_look_due = False
        self._watch = KeyWatch(log)
        self.gates = GateWatch(self._bring_up_to_date)

    def submit(self, key: str, request: LoggedRequest | None, *, is_reset: bool = False) -> asyncio.Future[Any]:
        """Put a request into the log of a key, '' for those without a World; the future ends with what it gets.

        That is an Answer, a ControlAnswer, a SocketSession or SessionEvents; None without a request, which only brings
        the World up to date. StoreLost when the log cannot be used.
        """
        mark = f"{self._process}{next(self._numbers):x}."
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(key, request, mark, is_reset, outcome))
        self._wake_sender()
        if self._looker is None:
            self._looker = asyncio.create_task(self._look_each_second())
        return outcome

    def _wake_sender(self) -> None:
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_queue())

    async def _look_each_second(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._is_look_due = True
            self._wake_sender()

    async def leave(self, key: str, session: str) -> None:
        """Note the end of a WebSocket of this process."""
        if replica := self._replicas.get(key):
            replica.own_sessions.discard(session)
        with suppress(StoreLost):
            await self.submit(key, LoggedRequest(LEFT, session=session))

    async def close(self) -> None:
        """Stop looking into the logs, and close their connection."""
        self.gates.close()
        for task in (self._looker, self._sender):
            if task is not None:
                task.cancel()
        await self._log.close()

    async def _bring_up_to_date(self, key: str) -> None:
        with suppress(StoreLost):
            await self.submit(key, None)

    async def _send_queue(self) -> None:
        while self._queue or self._is_look_due:
            if not self._queue:
                await self._look()
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), MOST_SENT))]
            self._sent |= {each.mark: each for each in batch}
            try:
                await self._send_batch(batch)
            except Exception as problem:  # a bug, or a store that is lost: it must not stop all clients
                for each in batch:
                    _fail(each.outcome, problem)
            finally:
                for each in batch:
                    self._sent.pop(each.mark, None)
            self._drop_least_recently_used()

    async def _send_batch(self, batch: Sequence[_Waiting]) -> None:
        if not batch:
            return
        deadline = self._log.deadline()
        for key in [each.key for each in batch if self._watch.has_expired(each.key)]:
            self._forget(key)
            self._watch.forget(key)
        try:
            await self._restore([each.key for each in batch], deadline)
            tails = await self._log.append(self._calls(batch), deadline)
        except StoreLost as problem:
            tails = [problem] * len(batch)
        if late := next((tail for tail in tails if isinstance(tail, StoreLost) and tail.is_late), None):
            self._fail_queue(StoreLost(str(late)))
        for each, tail in zip(batch, tails, strict=True):
            await self._take(each, tail, deadline)

    def _fail_queue(self, problem: StoreLost) -> None:
        """Let those who have waited meanwhile wait no longer for a store that does not answer."""
        while self._queue:
            _fail(self._queue.popleft().outcome, problem)

    async def _look(self) -> None:
        """Look for logs that the store has lost, and have it noted in those that there are now, for other processes too."""
        self._is_look_due = False
        try:
            changed = await self._watch.find_changed()
        except StoreLost as problem:
            if problem.is_late:
                self._fail_queue(problem)
            return
        for key in changed:
            if self._watch.has_expired(key):
                self._forget(key)
                self._watch.forget(key)
            else:
                self.submit(key, None).add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _restore(self, keys: Sequence[str], deadline: float) -> None:
        """Make the Worlds of keys that are not known here from their snapshots, as far as there are any."""
        unknown = [key for key in dict.fromkeys(keys) if key and key not in self._replicas]
        for key, stored in (await self._log.get_snapshots(unknown, deadline) if unknown else {}).items():
            if self._watch.epoch_of(key) in ("", stored.epoch):
                with suppress(SnapshotError):
                    self._put_replica(key, stored, decode_snapshot(stored.encoded, self._api.own_objects))

    async def _restore_again(self, key: str, deadline: float) -> bool:
        """Make a World, of which the log has dropped requests, from its snapshot; whether there is one."""
        before = self._replicas.get(key) or _Replica()
        self._forget(key)
        with suppress(StoreLost):
            await self._restore([key], deadline)
        if found := self._replicas.get(key):
            found.own_sessions = before.own_sessions
        return found is not None

    def _put_replica(self, key: str, stored: StoredSnapshot, snapshot: Snapshot) -> None:
        self._replicas[key] = _Replica(stored.epoch, stored.position, sessions=snapshot.sessions)
        if snapshot.world is not None:
            self._api.put_world(snapshot.world)

    async def _store_snapshot(self, key: str, replica: _Replica) -> None:
        """Store a snapshot of a World as it is now, unless that cannot be made or kept: it only saves work."""
        snapshot = Snapshot(self._api.worlds.get(key), replica.sessions)
        with suppress(SnapshotError, StoreLost):
            encoded = encode_snapshot(snapshot, self._api.own_objects)
            await self._log.put_snapshot(key, StoredSnapshot(replica.epoch, replica.position, encoded))

    def _calls(self, batch: Sequence[_Waiting]) -> list[Append]:
        ahead: dict[str, int] = {}
        calls = []
        for each in batch:
            epoch, position, last_mark = self._place(each.key)
            sent = ahead.get(each.key, 0)
            raw = each.request.encode() if each.request else b""
            known = (epoch, position, position + sent, self._stray_epoch, self._stray_position, last_mark)
            calls.append(Append(each.key, *known, raw, each.mark, each.is_reset))
            ahead[each.key] = sent + bool(raw)
        return calls

    def _place(self, key: str) -> tuple[str, int, str]:
        """The epoch of the log of a key, how far it is applied here, and the mark of the last entry that is."""
        if not key:
            return self._stray_epoch, self._stray_position, ""
        replica = self._replicas.get(key)
        return (replica.epoch, replica.position, replica.last_mark) if replica else (self._watch.epoch_of(key), 0, "")

    async def _follow(self, each: _Waiting, tail: Tail | StoreLost, deadline: float) -> Tail | StoreLost:
        """What is new for a request once its World is that of the log that there is; or why it is not carried out.

        A request that was meant for a World that is lost is not, unless it only reads, or begins anew.
        """
        for _ in range(3):
            if isinstance(tail, LogGone):
                self._forget(each.key)
                self._watch.forget(each.key)
                may_follow = isinstance(tail, LogMoved) or each.request is None or each.is_reset
            else:
                may_follow = isinstance(tail, LogDropped) and await self._restore_again(each.key, deadline)
            if not may_follow:
                break
            [tail] = await self._log.append(self._calls([each]), deadline)
        return tail

    async def _take(self, each: _Waiting, tail: Tail | StoreLost, deadline: float) -> None:
        """Apply what is new in the log of a request, up to the request itself, or without one to its end."""
        last = None
        tail = await self._follow(each, tail, deadline)
        while not isinstance(tail, StoreLost):
            last = last or tail.own or tail.last
            await self._apply_strays(tail.stray_epoch, tail.stray_start, tail.strays)
            await (
                self._apply_lines(each.key, tail)
                if each.key
                else self._apply_strays(tail.epoch, tail.start, tail.lines)
            )
            epoch, position, last_mark = self._place(each.key)
            if each.key and epoch:
                self._watch.note(each.key, epoch)
            if position >= last:
                break
            known = (epoch, position, position, self._stray_epoch, self._stray_position, last_mark)
            [tail] = await self._log.append([Append(each.key, *known)])
        if isinstance(tail, StoreLost):
            _fail(each.outcome, tail)
        elif not each.outcome.done():
            each.outcome.set_result(None)

    def _forget(self, key: str) -> None:
        if key:
            self._replicas.pop(key, None)
            self._api.worlds.pop(key, None)
        else:
            self._stray_epoch, self._stray_position = "", 0
            self._api.strays.restart()

    async def _apply_lines(self, key: str, tail: Tail) -> None:
        replica = self._replicas.get(key)
        if not tail.epoch:
            return
        if replica is None or tail.epoch != replica.epoch or tail.base > replica.position:
            before = replica or _Replica()
            if replica is not None:
                self._forget(key)
            replica = _Replica(tail.epoch, tail.base, sessions=before.sessions, own_sessions=before.own_sessions)
            self._replicas[key] = replica
        self._replicas.move_to_end(key)
        for number, line in enumerate(tail.lines, tail.start + 1):
            if number != replica.position + 1:
                continue
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
        if (epoch and epoch != self._stray_epoch) or start > self._stray_position:
            self._stray_epoch, self._stray_position = epoch, start
            self._api.strays.restart(epoch, start)
        for number, line in enumerate(lines, start + 1):
            if number != self._stray_position + 1:
                continue
            self._stray_position = number
            self._api.stray_count = self._api.strays.number = number - 1
            await self._carry_out(_Replica(), line)

    async def _carry_out(self, replica: _Replica, line: LogLine) -> None:
        own = self._sent.get(line.mark)
        outcome, self._api.observers.is_own = own and own.outcome, own is not None
        try:
            request = own.request if own and own.request else decode_request(line.request)
            result = await self._answer(replica, request, is_own=own is not None)
        except Exception as problem:  # the same in all processes
            _fail(outcome, problem)
            return
        if outcome is not None and not outcome.done():
            outcome.set_result(result)

    async def _answer(self, replica: _Replica, request: LoggedRequest, *, is_own: bool) -> Any:
        if request.kind == HTTP:
            head = (request.method, request.path, request.header_values, request.parameters)
            return self._api.handle(*head, request.raw, may_repeat=True)
        if request.kind == CONTROL:
            return await self._control(request)
        if request.kind == UPGRADE:
            return self._open_session(replica, request, is_own=is_own)
        if request.kind in (TEXT, BYTES):
            return _receive(replica.sessions.get(request.session), request)
        replica.sessions.pop(request.session, None)
        return None

    def _open_session(self, replica: _Replica, request: LoggedRequest, *, is_own: bool) -> SocketSession | Answer:
        opened = self._api.open_session(request.path, request.header_values, request.parameters)
        if isinstance(opened, SocketSession):
            replica.sessions[request.session] = opened
            if is_own:
                replica.own_sessions.add(request.session)
            if len(replica.sessions) > MOST_SESSIONS:
                replica.sessions.popitem(last=False)
        return opened

    def _drop_least_recently_used(self) -> None:
        excess = len(self._replicas) - self._keep if self._keep is not None else 0
        if excess <= 0:
            return
        waiting = self.gates.keys
        idle = [key for key, each in self._replicas.items() if not each.own_sessions and key not in waiting]
        for key in idle[:excess]:
            self._forget(key)


def _receive(session: SocketSession | None, request: LoggedRequest) -> SessionEvents:
    if session is None:
        error: Json = {"message": "This connection is not known any more.", "type": "harness_error", "code": None}
        return SessionEvents([{"type": "error", "status": 400, "error": {**error, "param": None}}], None, True)
    events = session.receive(request.raw.decode() if request.kind == TEXT else request.raw)
    return SessionEvents(events, session.delivery, session.closed)


def _fail(outcome: asyncio.Future[Any] | None, problem: Exception) -> None:
    if outcome is not None and not outcome.done():
        outcome.set_exception(problem)

"""Appends a process's requests to the logs of their keys, and follows the logs that it needs.

A request is first appended to the log, and is answered when its turn comes. This way all processes reach the same
state, and no request is executed twice or in part. A key in one process:

                ┌──a request: the snapshot, if there is one, and the log after it──┐
                │                                                                  v
    not here ───┘                                                              followed ──entries of all processes──┐
       ^                                                                         │  ^                               │
       │                                                                         │  └───────────────────────────────┘
       ├──more than `keep` are here, and no client is connected──────────────────┤   its epoch stays known
       ├──the key is unused for `seconds`────────────────────────────────────────┤   nothing is expected of its log
       ├──the log is another one (LogGone)───────────────────────────────────────┤   noted as LOST; one request gets 503
       └──the log has dropped what is not carried out here (LogDropped)──────────┘   503 without a snapshot

The epoch, a random name of each log, distinguishes the log followed here from one that replaced it after it was lost or
reset.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from harness.core.delivery import SendRecord
from responses_harness_cluster.applied_logs import AppliedLogs, ControlPlane, Submitted, fail
from responses_harness_cluster.log_entries import (
    FAILED,
    LEFT,
    Append,
    LogDropped,
    LoggedRequest,
    LogGone,
    LogMoved,
    RequestLog,
    StoreLost,
    Tail,
)
from responses_harness_cluster.replicated_api import ReplicatedApi
from responses_harness_cluster.shared_courier import SharedCourier
from responses_harness_cluster.snapshot import SnapshotError
from responses_harness_cluster.watches import LOOK_SECONDS, GateWatch, KeyWatch

MOST_SENT = 64
"""How many requests are appended at once."""


class Replicas:
    """Sends the requests that reach this process to the logs.

    At most `keep` Worlds of `api` stay in memory, None for all.

    A World that is not in memory is rebuilt from its key's snapshot and the requests logged since then.
    """

    def __init__(self, api: ReplicatedApi, log: RequestLog, control: ControlPlane, keep: int | None = None) -> None:
        self._api = api
        self._log = log
        self._keep = keep
        self._process = secrets.token_hex(6)
        self._numbers = count(1)
        self._applied = AppliedLogs(api, control, log.put_snapshot, self._process)
        self._queue: deque[Submitted] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._looker: asyncio.Task[None] | None = None
        self._is_look_due = False
        self._telling: dict[str, asyncio.Task[None]] = {}
        self._watch = KeyWatch(log)
        self.gates = GateWatch(self._bring_up_to_date)
        self.courier = SharedCourier(api.worlds, self.submit)

    def submit(
        self, key: str, request: LoggedRequest | None, *, is_reset: bool = False, edge: SendRecord | None = None
    ) -> asyncio.Future[Any]:
        """Append a request to the log of a key ('' without a World), and return a future with its result.

        The result is an Answer, a ControlAnswer, a SocketSession or SessionEvents. Without a request, the World is only
        brought up to date, and the result is None. Fails with StoreLost if the log cannot be used.
        """
        mark = f"{self._process}{next(self._numbers):x}."
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.append(Submitted(key, request, mark, is_reset, outcome, edge))
        self._wake_sender()
        # Not in the constructor, which runs before there is a loop.
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
        """Record the end of a WebSocket of this process."""
        self._applied.forget_session(key, session)
        with suppress(StoreLost):
            await self.submit(key, LoggedRequest(LEFT, session=session))

    async def close(self) -> None:
        """Stop checking the logs, and close the connection to the store."""
        self.gates.close()
        await self.courier.close()
        for task in (self._looker, self._sender, *self._telling.values()):
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
            self._applied.sent |= {submitted.mark: submitted for submitted in batch}
            try:
                await self._send_batch(batch)
            except Exception as problem:  # a bug, or a lost store: other clients must still be served
                for submitted in batch:
                    fail(submitted.outcome, problem)
            finally:
                for submitted in batch:
                    self._applied.sent.pop(submitted.mark, None)
            await self._note_outstanding()
            if self._keep is not None:
                self._applied.keep(self._keep, self.gates.keys)

    async def _send_batch(self, batch: Sequence[Submitted]) -> None:
        if not batch:
            return
        deadline = self._log.deadline()
        # Their logs may have expired, and this very batch may start them again.
        for key in [submitted.key for submitted in batch if self._watch.has_expired(submitted.key)]:
            self._forget(key)
        try:
            await self._restore([submitted.key for submitted in batch], deadline)
            tails = await self._log.append(self._calls(batch), deadline)
        except StoreLost as problem:
            tails = [problem] * len(batch)
        # After one late answer, everything that waits would be late, too, so it fails at once.
        if late := next((tail for tail in tails if isinstance(tail, StoreLost) and tail.is_late), None):
            self._fail_queue(StoreLost(str(late)))
        for submitted, tail in zip(batch, tails, strict=True):
            await self._take(submitted, tail, deadline)

    def _fail_queue(self, problem: StoreLost) -> None:
        """Fail all queued requests, so that they do not wait for a store that does not answer."""
        while self._queue:
            fail(self._queue.popleft().outcome, problem)

    async def _look(self) -> None:
        """Look for logs that the store has lost, and record the loss in the new logs, also for other processes."""
        self._is_look_due = False
        for key in self._api.failed_unlogged.keys() - self._telling.keys():
            task = self._telling[key] = asyncio.create_task(self._tell_failed(key))
            task.add_done_callback(partial(self._end_telling, key))
        try:
            changed = await self._watch.find_changed()
        except StoreLost as problem:
            if problem.is_late:
                self._fail_queue(problem)
            return
        for key in changed:
            if self._watch.has_expired(key):
                self._forget(key)
            else:
                # The exception is retrieved, so that asyncio does not report it: nothing awaits this future.
                self.submit(key, None).add_done_callback(lambda done: done.cancelled() or done.exception())
        with suppress(StoreLost):
            for key in await self._log.get_outstanding(MOST_SENT):
                self.courier.look_after(key)

    def _end_telling(self, key: str, _: asyncio.Task[None]) -> None:
        del self._telling[key]

    async def _tell_failed(self, key: str) -> None:
        """Put what this server failed to answer into the log of a key once the store takes it, for the other servers."""
        with suppress(StoreLost):
            await self.submit(key, None)  # a reset that is not applied here yet ends what belongs to the earlier World
            if raw := self._api.encode_failed(key):
                await self.submit(key, LoggedRequest(FAILED, path=key, raw=raw))

    async def _note_outstanding(self) -> None:
        """Publish the Worlds with outstanding deliveries, so that other servers take over if this one dies."""
        courier = self.courier
        added, removed = set(courier.outstanding), courier.finished - courier.outstanding
        if added or removed:
            with suppress(StoreLost):
                await self._log.note_outstanding(added, removed)
                courier.outstanding -= added
                courier.finished.clear()

    async def _restore(self, keys: Sequence[str], deadline: float) -> None:
        """Restore Worlds that are not in memory from their snapshots, where there are any."""
        unknown = [key for key in dict.fromkeys(keys) if key and key not in self._applied]
        if unknown:
            await self._read_snapshots(unknown, deadline)

    async def _read_snapshots(self, keys: Sequence[str], deadline: float) -> bool:
        """Restore Worlds from the snapshots of these keys; return whether any was restored."""
        is_restored = False
        for key, stored in (await self._log.get_snapshots(keys, deadline)).items():
            if self._watch.epoch_of(key) in ("", stored.epoch):
                with suppress(SnapshotError):
                    self._applied.restore(key, stored)
                    is_restored = True
        return is_restored

    async def _restore_again(self, key: str, deadline: float) -> bool:
        """Restore a World from its snapshot after its log has dropped requests; return whether it was restored."""
        with suppress(StoreLost):
            if await self._read_snapshots([key], deadline):
                return True
        self._applied.forget(key)
        return False

    def _calls(self, batch: Sequence[Submitted]) -> list[Append]:
        ahead: dict[str, int] = {}
        calls = []
        for submitted in batch:
            sent = ahead.get(submitted.key, 0)
            raw = submitted.request.encode() if submitted.request else b""
            how = submitted.mark, submitted.is_reset, submitted.is_refusable, submitted.is_bound
            calls.append(Append(submitted.key, *self._known(submitted.key, sent), raw, *how))
            ahead[submitted.key] = sent + bool(raw)
        return calls

    def _known(self, key: str, sent: int = 0) -> tuple[str, int, int, str, int, str]:
        """Return what is known here of a key's log, in the order of `Append`.

        `sent` requests precede in the same batch.
        """
        epoch, position, last_mark = self._applied.place(key)
        stray_epoch, stray_position, _ = self._applied.place("")
        return epoch or self._watch.epoch_of(key), position, position + sent, stray_epoch, stray_position, last_mark

    def _forget(self, key: str) -> None:
        """Forget the World of a key, and stop watching its log."""
        self._applied.forget(key)
        self._watch.forget(key)

    async def _follow(self, submitted: Submitted, tail: Tail | StoreLost, deadline: float) -> Tail | StoreLost:
        """Follow the log that replaced the World's own; return what is new, or why the request is not carried out.

        The first request that was meant for a lost World is refused; requests that only read, leave or start over are
        not.
        """
        # Each attempt may find that another process has changed the log again, but not forever.
        for _ in range(3):
            if isinstance(tail, LogGone):
                self._forget(submitted.key)
                may_follow = isinstance(tail, LogMoved) or not submitted.is_refusable
            else:
                may_follow = isinstance(tail, LogDropped) and await self._restore_again(submitted.key, deadline)
            if not may_follow:
                break
            [tail] = await self._log.append(self._calls([submitted]), deadline)
        return tail

    async def _take(self, submitted: Submitted, tail: Tail | StoreLost, deadline: float) -> None:
        """Apply the new entries of a request's log, up to the request itself, or to the end without one."""
        last = None
        tail = await self._follow(submitted, tail, deadline)
        # A tail may end before the request, as the store returns at most one page of entries.
        while not isinstance(tail, StoreLost):
            last = last or tail.own or tail.last
            await self._applied.apply(submitted.key, tail)
            epoch, position, _ = self._applied.place(submitted.key)
            if submitted.key and epoch:
                self._watch.note(submitted.key, epoch)
            if position >= last:
                break
            [tail] = await self._log.append([Append(submitted.key, *self._known(submitted.key))])
        if isinstance(tail, StoreLost):
            fail(submitted.outcome, tail)
        elif not submitted.outcome.done():
            submitted.outcome.set_result(None)

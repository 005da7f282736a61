"""The logs of all keys in a Redis server: a list for each, appended to and read by one script: nothing is half done."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hiredis
import redis.exceptions as redis_errors
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from harness.cluster.sharing.log_entries import (
    Append,
    LogDropped,
    LogGone,
    LogLine,
    LogMoved,
    StoredSnapshot,
    StoreLost,
    Tail,
    WorldLost,
    parse_line,
    parse_snapshot,
)
from harness.cluster.sharing.server_record import ServerRecord
from harness.core.errors import ConfigError

APPEND = (Path(__file__).parent / "append.lua").read_bytes()
SNAPSHOT = (Path(__file__).parent / "snapshot.lua").read_bytes()
CONNECT_SECONDS = 2.0
"""Seconds for a connection, of those."""
ANSWER_SECONDS = 5.0
"""Seconds after which a server that does not answer counts as lost, whatever has to be asked for a request."""
PAGE = 1_000
"""Entries of a log that are read at once."""
MOST_ENTRIES = 100_000
"""Requests that the log of a key holds: of more the older half goes. Who has not carried them out needs a snapshot."""
SNAPSHOT_EVERY = 40_000
"""Requests of a key after which a snapshot of its World is made, fewer than stay in a log of which the older half goes."""
MOST_STRAYS = 1_000
_LOSSES = {b"gone": LogGone, b"moved": LogMoved, b"untold": WorldLost}


class RedisLog:
    """The logs below a prefix of a Redis server; `seconds` after its last request the log of a key expires."""

    def __init__(self, url: str, prefix: str, record: ServerRecord, seconds: int) -> None:
        self._place = _printable_url(url)
        try:
            self._pool = ConnectionPool.from_url(
                url,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=None,  # one for all answers of a round trip costs less
                retry=Retry(NoBackoff(), 0),
                protocol=2,
            )
        except ValueError as problem:
            raise ConfigError(f"--store {self._place}: {problem}. Give redis://HOST:PORT/NUMBER.") from problem
        self._prefix = prefix
        self._own_record = record
        self._record = b""
        self.seconds = seconds
        self._connection: Any = None
        self._append_sha = self._snapshot_sha = b""

    def deadline(self) -> float:
        """Set the deadline, in the event loop's time, for the store's answers from now on."""
        return asyncio.get_running_loop().time() + ANSWER_SECONDS

    async def open(self) -> None:
        """Connect, and take part in what other servers share here; ConfigError when that is not possible."""
        try:
            await self._connect(self.deadline())
        except StoreLost as problem:
            raise ConfigError(f"--store {problem}") from problem

    async def close(self) -> None:
        """Close the connection, without a wait for a server that takes nothing any more."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def append(self, calls: Sequence[Append], deadline: float | None = None) -> list[Tail | StoreLost]:
        """Append requests in order, in a single round trip; each gets the news of its log, or why it was not appended.

        When the connection breaks before the answer, each is asked for once more and appended only if it was not.
        """
        deadline = deadline or self.deadline()
        try:
            return await self._exchange(calls, deadline, is_repeated=False)
        except _Broken as problem:
            # Nothing left this process, so nothing can have been appended.
            if not problem.is_sent:
                return [problem.as_lost()] * len(calls)
            if problem.is_late:
                return [problem.as_lost(is_unknown=True)] * len(calls)
        try:
            # It may or may not have been appended: the script on the server looks for the number of the request
            # first.
            return await self._exchange(calls, deadline, is_repeated=True)
        except _Broken as problem:
            return [problem.as_lost(is_unknown=True)] * len(calls)

    async def put_snapshot(self, key: str, snapshot: StoredSnapshot) -> None:
        """Keep the snapshot of a key in place of an earlier one; StoreLost when the store does not take it."""
        [answer] = await self._run_snapshot([self._snapshot_command(key, snapshot)], self.deadline())
        if isinstance(answer, redis_errors.RedisError):
            raise StoreLost(self._describe(answer))

    async def get_snapshots(self, keys: Sequence[str], deadline: float | None = None) -> dict[str, StoredSnapshot]:
        """Get the snapshots of these keys in a single round trip, if the logs still continue them."""
        none = StoredSnapshot("", 0, b"")
        answers = await self._run_snapshot(
            [self._snapshot_command(key, none) for key in keys], deadline or self.deadline()
        )
        stored = {key: answer for key, answer in zip(keys, answers, strict=True) if isinstance(answer, bytes)}
        return {key: parse_snapshot(answer) for key, answer in stored.items()}

    async def get_epochs(self, keys: Sequence[str]) -> dict[str, str]:
        """Get the epoch of each key's log, empty without a log; the logs do not last longer for being asked for."""
        heads = await self._ask([("LINDEX", self._name("world", key), 0) for key in keys], self.deadline())
        return {
            key: bytes(head or b"").partition(b" ")[0].decode()
            for key, head in zip(keys, heads, strict=True)
            if not isinstance(head, redis_errors.RedisError)
        }

    async def note_outstanding(self, added: Collection[str], removed: Collection[str]) -> None:
        """Tell all servers which keys have pending webhook deliveries, and which no longer have any."""
        name = self._name("webhooks")
        changes: list[tuple[Any, ...]] = [("SREM", name, *map(_encode, removed))] if removed else []
        changes += [("SADD", name, *map(_encode, added)), ("EXPIRE", name, self.seconds)] if added else []
        if changes:
            await self._ask(changes, self.deadline())

    async def get_outstanding(self, most: int) -> list[str]:
        """Get as many of the keys that were noted, others each time."""
        [keys] = await self._ask([("SRANDMEMBER", self._name("webhooks"), most)], self.deadline())
        return [key.decode("utf-8", "surrogatepass") for key in keys] if isinstance(keys, list) else []

    async def _run_snapshot(self, calls: Sequence[tuple[Any, ...]], deadline: float) -> list[Any]:
        """Run the script of snapshots; StoreLost when the connection breaks."""
        return await self._ask([("EVALSHA", self._snapshot_sha, 2, *call) for call in calls], deadline)

    async def _ask(self, commands: Sequence[tuple[Any, ...]], deadline: float) -> list[Any]:
        try:
            if self._connection is None:
                await self._connect(deadline)
            return await self._send(commands, deadline)
        except _Broken as problem:
            raise problem.as_lost() from problem

    def _snapshot_command(self, key: str, snapshot: StoredSnapshot) -> tuple[Any, ...]:
        return (self._name("world", key), self._name("snapshot", key), *snapshot, self.seconds)

    async def _exchange(self, calls: Sequence[Append], deadline: float, *, is_repeated: bool) -> list[Tail | StoreLost]:
        try:
            if self._connection is None:
                await self._connect(deadline)
        except StoreLost as problem:
            raise _Broken(str(problem), is_sent=False, is_late=problem.is_late) from problem
        answers = await self._send(self._commands(calls, is_repeated), deadline)
        # The script is gone after a restart, and so may be the record of the servers that share the prefix.
        if any(isinstance(answer, redis_errors.NoScriptError) for answer in answers) or [b"other"] in answers:
            return await self._after_restart(calls, deadline)
        return [self._read(call, answer) for call, answer in zip(calls, answers, strict=True)]

    async def _after_restart(self, calls: Sequence[Append], deadline: float) -> list[Tail | StoreLost]:
        """Join again and try once more: the server has lost its scripts or its data, or others have taken the prefix."""
        try:
            await self._join(deadline)
        except StoreLost as problem:
            return [problem] * len(calls)
        again = await self._send(self._commands(calls, is_repeated=True), deadline)
        return [self._read(call, answer) for call, answer in zip(calls, again, strict=True)]

    def _commands(self, calls: Sequence[Append], is_repeated: bool) -> list[tuple[Any, ...]]:
        epoch = secrets.token_hex(8)
        return [self._command(call, is_repeated, f"{epoch}{number:x}") for number, call in enumerate(calls)]

    def _command(self, call: Append, is_repeated: bool, new_epoch: str) -> tuple[Any, ...]:
        keys = (self._name("server"), self._name("strays") if not call.key else self._name("world", call.key))
        known = (call.epoch, call.position, call.stray_epoch, call.stray_position)
        most = MOST_ENTRIES if call.key else MOST_STRAYS
        how = (int(call.is_reset), int(is_repeated), new_epoch, self.seconds, PAGE, most, call.expected)
        args = (self._record, *known, call.request, call.mark, *how, call.last_mark, int(call.is_refusable))
        return ("EVALSHA", self._append_sha, 4, *keys, self._name("strays"), self._name("snapshot", call.key), *args)

    def _name(self, *parts: str) -> bytes:
        return _encode(":".join((self._prefix, *parts)))

    def _read(self, call: Append, answer: Any) -> Tail | StoreLost:
        if isinstance(answer, redis_errors.RedisError):
            return StoreLost(self._describe(answer))
        kind, *rest = answer
        if lost := _LOSSES.get(kind):
            return lost(
                f"{self._place}: what it held of this key is gone: it was deleted or evicted, the server has lost its data, "
                "or this is another one than before. The verdict on the key says so; POST /_harness/world begins anew."
            )
        if kind == b"late":
            return LogDropped(
                f"{self._place}: it keeps {MOST_ENTRIES:,} requests of a key at most, has dropped the first {rest[0]:,} of "
                "this one, has no snapshot of it, and this server has not carried them out. Ask a server that has, begin "
                "anew with POST /_harness/world, or use another key."
            )
        if kind == b"other":
            return StoreLost(f"{self._place}: other servers have taken the prefix {self._prefix!r} meanwhile.")
        epoch, base, start, tail, own, last, strays_before, stray_epoch, stray_start, strays = rest
        lines = [parse_line(line) for line in tail]
        if own == start + len(lines) + 1:  # the store does not send back what it was just given
            lines.append(LogLine(call.mark, strays_before, call.request))
        return Tail(
            *(epoch.decode(), base, start, lines, own, last),
            *(stray_epoch.decode(), stray_start, [parse_line(line) for line in strays]),
        )

    async def _send(self, commands: Sequence[tuple[Any, ...]], deadline: float) -> list[Any]:
        connection = self._connection
        try:
            async with asyncio.timeout_at(deadline):
                await connection.send_packed_command(b"".join(map(hiredis.pack_command, commands)))
                answers = []
                for _ in commands:
                    try:
                        answers.append(await connection.read_response())
                    except redis_errors.ResponseError as problem:
                        answers.append(problem)
        except BaseException as problem:
            await self.close()  # else the next request would read the answers to this one
            if isinstance(problem, redis_errors.RedisError | OSError):
                raise _Broken(self._describe(problem), is_sent=True, is_late=_is_late(problem)) from problem
            raise
        return answers

    async def _connect(self, deadline: float) -> None:
        connection = self._pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            async with asyncio.timeout_at(deadline):
                await connection.connect()
        except BaseException as problem:
            await connection.disconnect(nowait=True)
            if isinstance(problem, redis_errors.RedisError | OSError):
                raise StoreLost(self._describe(problem), is_late=_is_late(problem)) from problem
            raise
        self._connection = connection
        try:
            await self._join(deadline)
        except _Broken as problem:
            raise problem.as_lost() from problem
        except StoreLost:
            await self.close()
            raise

    async def _join(self, deadline: float) -> None:
        """Load the scripts, and write the record of the servers at this prefix, or compare a present one."""
        record = self._name("server")
        mine = self._own_record.encode(secrets.token_hex(8))
        loads = [("SCRIPT", "LOAD", script) for script in (APPEND, SNAPSHOT)]
        # With NX only the first server writes the record; all of them then read what stands there.
        answers = await self._send([*loads, ("SET", record, mine, "NX", "EX", self.seconds), ("GET", record)], deadline)
        for answer in answers:
            if isinstance(answer, redis_errors.RedisError):
                raise StoreLost(self._describe(answer))
        self._append_sha, self._snapshot_sha, _, self._record = answers
        if difference := self._own_record.difference(self._record):
            raise StoreLost(
                f"{self._place}: {difference} Servers that share a prefix are the same in all of it; stop those others "
                f"and delete their keys (`{self._prefix}:*`), or choose another --store-prefix."
            )

    def _describe(self, problem: BaseException) -> str:
        """Why the server cannot be used, and what to do."""
        is_late = _is_late(problem)
        why = " ".join(str(problem).split()).rstrip(".") or ("no answer" if is_late else type(problem).__name__)
        advice = "Start it, or give the address of one that runs"
        if isinstance(problem, redis_errors.AuthenticationError | redis_errors.AuthorizationError):
            advice = "Give user and password: redis://USER:PASSWORD@HOST:PORT/NUMBER"
        elif "CERTIFICATE_VERIFY_FAILED" in why:
            advice = "Name who has signed its certificate: rediss://HOST:PORT/NUMBER?ssl_ca_certs=FILE"
        elif is_late:
            advice = f"It has {ANSWER_SECONDS:g} s for an answer"
        elif isinstance(problem, redis_errors.OutOfMemoryError) or why.startswith("OOM"):
            advice = "It is full: give it more `maxmemory`, or delete what is not needed"
        elif isinstance(problem, redis_errors.ReadOnlyError):
            advice = "It is a replica: give the address of the server that takes writes"
        elif isinstance(problem, redis_errors.ResponseError):
            advice = "Choose a database and a user that may write"
        return f"{self._place}: {why}. {advice}."


class _Broken(Exception):
    """The connection has failed, before or after something was sent."""

    def __init__(self, text: str, *, is_sent: bool, is_late: bool) -> None:
        super().__init__(text)
        self.is_sent = is_sent
        self.is_late = is_late

    def as_lost(self, *, is_unknown: bool = False) -> StoreLost:
        """Convert it to what the users of the log are told."""
        return StoreLost(str(self), is_unknown=is_unknown, is_late=self.is_late)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _is_late(problem: BaseException) -> bool:
    return isinstance(problem, redis_errors.TimeoutError | TimeoutError)


def _printable_url(url: str) -> str:
    """Strip a URL of its password, which may be in the query, too."""
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
    except ValueError:
        return "the store"

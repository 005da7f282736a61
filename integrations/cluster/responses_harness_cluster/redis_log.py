"""The logs of all keys in a Redis server: a list each, appended to and read by one script, and so atomically."""

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

from harness.core.errors import ConfigError
from responses_harness_cluster.log_entries import (
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
from responses_harness_cluster.server_record import ServerRecord

APPEND = (Path(__file__).parent / "append.lua").read_bytes()
SNAPSHOT = (Path(__file__).parent / "snapshot.lua").read_bytes()
CONNECT_SECONDS = 2.0
"""Seconds to connect, part of ANSWER_SECONDS."""
ANSWER_SECONDS = 5.0
"""Seconds in which the server must have answered everything that a request needs, or it counts as lost."""
PAGE = 1_000
"""Entries of a log that are read at once."""
MOST_ENTRIES = 100_000
"""How many requests the log of a key holds before its older half is dropped, after which latecomers need a snapshot."""
SNAPSHOT_EVERY = 40_000
"""Requests of a key between snapshots of its World; fewer than remain when the older half of a log is dropped."""
MOST_STRAYS = 1_000
_LOSSES = {b"gone": LogGone, b"moved": LogMoved, b"untold": WorldLost}


class RedisLog:
    """The logs under a prefix of a Redis server; the log of a key expires `seconds` after its last request."""

    def __init__(self, url: str, prefix: str, record: ServerRecord, seconds: int) -> None:
        self._place = _printable_url(url)
        try:
            self._pool = ConnectionPool.from_url(
                url,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=None,  # one timeout around all answers of a round trip costs less
                retry=Retry(NoBackoff(), 0),
                protocol=2,
            )
        except ValueError as problem:
            raise ConfigError(f"--store {self._place}: {problem}. Pass redis://HOST:PORT/NUMBER.") from problem
        self._prefix = prefix
        self._own_record = record
        self._record = b""
        self.seconds = seconds
        self._connection: Any = None
        self._append_sha = self._snapshot_sha = b""

    def deadline(self) -> float:
        """Return the deadline, in the event loop's time, for calls that begin now."""
        return asyncio.get_running_loop().time() + ANSWER_SECONDS

    async def open(self) -> None:
        """Connect, and join the servers that share this prefix; ConfigError if that is not possible."""
        try:
            await self._connect(self.deadline())
        except StoreLost as problem:
            raise ConfigError(f"--store {problem}") from problem

    async def close(self) -> None:
        """Close the connection without waiting for a server that no longer reads."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def append(self, calls: Sequence[Append], deadline: float | None = None) -> list[Tail | StoreLost]:
        """Append requests in order in one round trip.

        Return for each what is new in its log, or why it was not appended.

        If the connection breaks before the answer, each request is sent once more, and appended only if it was not.
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
            # It may have been appended or not: the script on the server first looks for the mark of the request.
            return await self._exchange(calls, deadline, is_repeated=True)
        except _Broken as problem:
            return [problem.as_lost(is_unknown=True)] * len(calls)

    async def put_snapshot(self, key: str, snapshot: StoredSnapshot) -> None:
        """Store the snapshot of a key, replacing an earlier one; StoreLost if the store refuses it."""
        [answer] = await self._run_snapshot([self._snapshot_command(key, snapshot)], self.deadline())
        if isinstance(answer, redis_errors.RedisError):
            raise StoreLost(self._describe(answer))

    async def get_snapshots(self, keys: Sequence[str], deadline: float | None = None) -> dict[str, StoredSnapshot]:
        """Return, in one round trip, the snapshots that the logs of these keys still continue."""
        none = StoredSnapshot("", 0, b"")
        answers = await self._run_snapshot(
            [self._snapshot_command(key, none) for key in keys], deadline or self.deadline()
        )
        stored = {key: answer for key, answer in zip(keys, answers, strict=True) if isinstance(answer, bytes)}
        return {key: parse_snapshot(answer) for key, answer in stored.items()}

    async def get_epochs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the epoch of each key's log, empty if it has none, without extending the log's life."""
        heads = await self._ask([("LINDEX", self._name("world", key), 0) for key in keys], self.deadline())
        return {
            key: bytes(head or b"").partition(b" ")[0].decode()
            for key, head in zip(keys, heads, strict=True)
            if not isinstance(head, redis_errors.RedisError)
        }

    async def note_outstanding(self, added: Collection[str], removed: Collection[str]) -> None:
        """Publish which keys have pending webhook deliveries, and which no longer have any."""
        name = self._name("webhooks")
        changes: list[tuple[Any, ...]] = [("SREM", name, *map(_encode, removed))] if removed else []
        changes += [("SADD", name, *map(_encode, added)), ("EXPIRE", name, self.seconds)] if added else []
        if changes:
            await self._ask(changes, self.deadline())

    async def get_outstanding(self, most: int) -> list[str]:
        """Return up to `most` published keys, chosen at random."""
        [keys] = await self._ask([("SRANDMEMBER", self._name("webhooks"), most)], self.deadline())
        return [key.decode("utf-8", "surrogatepass") for key in keys] if isinstance(keys, list) else []

    async def _run_snapshot(self, calls: Sequence[tuple[Any, ...]], deadline: float) -> list[Any]:
        """Run the snapshot script; StoreLost if the connection breaks."""
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
        # A restart discards the scripts, and perhaps the record of the servers that share the prefix.
        if any(isinstance(answer, redis_errors.NoScriptError) for answer in answers) or [b"other"] in answers:
            return await self._after_restart(calls, deadline)
        return [self._read(call, answer) for call, answer in zip(calls, answers, strict=True)]

    async def _after_restart(self, calls: Sequence[Append], deadline: float) -> list[Tail | StoreLost]:
        """Join again and retry once: the server lost its scripts or data, or other servers took over the prefix."""
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
        whom = call.last_mark, int(call.is_refusable), int(call.is_bound)
        args = (self._record, *known, call.request, call.mark, *how, *whom)
        return ("EVALSHA", self._append_sha, 4, *keys, self._name("strays"), self._name("snapshot", call.key), *args)

    def _name(self, *parts: str) -> bytes:
        return _encode(":".join((self._prefix, *parts)))

    def _read(self, call: Append, answer: Any) -> Tail | StoreLost:
        if isinstance(answer, redis_errors.RedisError):
            return StoreLost(self._describe(answer))
        kind, *rest = answer
        if lost := _LOSSES.get(kind):
            return lost(
                f"{self._place}: its data for this key is gone: it was deleted or evicted, or the server was replaced or "
                "lost its data. The verdict on the key says so; POST /_harness/world starts afresh."
            )
        if kind == b"late":
            return LogDropped(
                f"{self._place}: it keeps at most {MOST_ENTRIES:,} requests per key, has dropped the first {rest[0]:,} of "
                "this key and has no snapshot of them, and this server has not executed them. Ask a server that has, start "
                "afresh with POST /_harness/world, or use another key."
            )
        if kind == b"other":
            return StoreLost(f"{self._place}: other servers have taken over the prefix {self._prefix!r} meanwhile.")
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
            await self.close()  # otherwise the next request would read the answers to this one
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
        """Load the scripts, and write the record of this prefix's servers, or compare it with an existing one."""
        record = self._name("server")
        mine = self._own_record.encode(secrets.token_hex(8))
        loads = [("SCRIPT", "LOAD", script) for script in (APPEND, SNAPSHOT)]
        # With NX only the first server writes the record; then all of them read it.
        answers = await self._send([*loads, ("SET", record, mine, "NX", "EX", self.seconds), ("GET", record)], deadline)
        *loaded, written, found = answers
        # A full server refuses to write, but it may have the record, and can then be read.
        for answer in (*loaded, found, *([] if isinstance(found, bytes) else [written])):
            if isinstance(answer, redis_errors.RedisError):
                raise StoreLost(self._describe(answer))
        (self._append_sha, self._snapshot_sha), self._record = loaded, found
        if difference := self._own_record.difference(self._record):
            raise StoreLost(
                f"{self._place}: {difference} Servers with the same prefix must not differ; stop the others "
                f"and delete their keys (`{self._prefix}:*`), or choose another --store-prefix."
            )

    def _describe(self, problem: BaseException) -> str:
        """Describe why the server cannot be used, and what to do."""
        is_late = _is_late(problem)
        told = str(problem).partition(" script: ")[0]  # a line of this module's script says nothing to a user
        why = " ".join(told.split()).rstrip(".") or ("no answer" if is_late else type(problem).__name__)
        advice = "Start it, or pass the address of a running one"
        if isinstance(problem, redis_errors.AuthenticationError | redis_errors.AuthorizationError):
            advice = "Pass user and password: redis://USER:PASSWORD@HOST:PORT/NUMBER"
        elif "CERTIFICATE_VERIFY_FAILED" in why:
            advice = "Pass the authority that signed its certificate: rediss://HOST:PORT/NUMBER?ssl_ca_certs=FILE"
        elif is_late:
            advice = f"The timeout for an answer is {ANSWER_SECONDS:g} s"
        elif isinstance(problem, redis_errors.OutOfMemoryError) or why.startswith("OOM"):
            advice = "It is full: raise its `maxmemory`, or delete unneeded keys"
        elif isinstance(problem, redis_errors.ReadOnlyError):
            advice = "It is a replica: pass the address of the server that takes writes"
        elif isinstance(problem, redis_errors.ResponseError):
            advice = "Choose a database and a user that may write"
        return f"{self._place}: {why}. {advice}."


class _Broken(Exception):
    """Raised if the connection fails, before or after something was sent."""

    def __init__(self, text: str, *, is_sent: bool, is_late: bool) -> None:
        super().__init__(text)
        self.is_sent = is_sent
        self.is_late = is_late

    def as_lost(self, *, is_unknown: bool = False) -> StoreLost:
        """Convert it to the error that users of the log handle."""
        return StoreLost(str(self), is_unknown=is_unknown, is_late=self.is_late)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _is_late(problem: BaseException) -> bool:
    return isinstance(problem, redis_errors.TimeoutError | TimeoutError)


def _printable_url(url: str) -> str:
    """Remove the password from a URL, where it may also be in the query."""
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
    except ValueError:
        return "the store"

"""The logs of all keys in a Redis server: a list for each, appended to and read by one script: nothing is half done."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hiredis
import redis.exceptions as redis_errors
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from harness.core.errors import ConfigError
from harness.server.sharing.log_entries import (
    Append,
    LogDropped,
    LogGone,
    LogLine,
    StoredSnapshot,
    StoreLost,
    Tail,
    parse_line,
    parse_snapshot,
)
from harness.server.sharing.server_record import ServerRecord

APPEND = (Path(__file__).parent / "append.lua").read_bytes()
SNAPSHOT = (Path(__file__).parent / "snapshot.lua").read_bytes()
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
"""Seconds after which a server that does not answer counts as lost."""
PAGE = 1_000
"""Entries of a log that are read at once."""
MOST_ENTRIES = 100_000
"""Requests that the log of a key holds: of more the older half goes. Who has not carried them out needs a snapshot."""
SNAPSHOT_EVERY = 40_000
"""Requests of a key after which a snapshot of its World is made, fewer than stay in a log of which the older half goes."""
MOST_STRAYS = 1_000


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
        self._seconds = seconds
        self._connection: Any = None
        self._append_sha = self._snapshot_sha = b""

    async def open(self) -> None:
        """Connect, and take part in what other servers share here; ConfigError when that is not possible."""
        try:
            await self._connect()
        except StoreLost as problem:
            raise ConfigError(f"--store {problem}") from problem

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect()

    async def append(self, calls: Sequence[Append]) -> list[Tail | StoreLost]:
        """Append requests in this order, in one round trip; each gets what is new in its log, or why it has not got in.

        When the connection breaks before the answer, each is asked for once more and appended only if it was not.
        """
        try:
            return await self._exchange(calls, is_repeated=False)
        except _Broken as problem:
            if not problem.is_sent:
                return [StoreLost(str(problem))] * len(calls)
        try:
            return await self._exchange(calls, is_repeated=True)
        except _Broken as problem:
            return [StoreLost(str(problem), is_unknown=True)] * len(calls)

    async def put_snapshot(self, key: str, snapshot: StoredSnapshot) -> None:
        """Keep the snapshot of a key in place of an earlier one; StoreLost when the store does not take it."""
        [answer] = await self._run_snapshot([self._snapshot_command(key, snapshot)])
        if isinstance(answer, redis_errors.RedisError):
            raise StoreLost(self._describe(answer))

    async def get_snapshots(self, keys: Sequence[str]) -> dict[str, StoredSnapshot]:
        """The snapshots of these keys after which their logs can be followed, in one round trip."""
        none = StoredSnapshot("", 0, b"")
        answers = await self._run_snapshot([self._snapshot_command(key, none) for key in keys])
        found = {key: answer for key, answer in zip(keys, answers, strict=True) if isinstance(answer, bytes)}
        return {key: parse_snapshot(answer) for key, answer in found.items()}

    async def _run_snapshot(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers of the script of snapshots; StoreLost when the connection breaks."""
        try:
            if self._connection is None:
                await self._connect()
            return await self._send([("EVALSHA", self._snapshot_sha, 2, *call) for call in calls])
        except _Broken as problem:
            raise StoreLost(str(problem)) from problem

    def _snapshot_command(self, key: str, snapshot: StoredSnapshot) -> tuple[Any, ...]:
        return (self._name("world", key), self._name("snapshot", key), *snapshot, self._seconds)

    async def _exchange(self, calls: Sequence[Append], *, is_repeated: bool) -> list[Tail | StoreLost]:
        was_open = self._connection is not None
        try:
            if not was_open:
                await self._connect()
        except StoreLost as problem:
            raise _Broken(str(problem), is_sent=False) from problem
        answers = await self._send(self._commands(calls, is_repeated))
        if any(isinstance(answer, redis_errors.NoScriptError) for answer in answers) or [b"other"] in answers:
            return await self._after_restart(calls)
        return [self._read(call, answer) for call, answer in zip(calls, answers, strict=True)]

    async def _after_restart(self, calls: Sequence[Append]) -> list[Tail | StoreLost]:
        """The server has lost its scripts or its data, or others have taken the prefix: join again, and try once more."""
        try:
            await self._join()
        except StoreLost as problem:
            return [problem] * len(calls)
        again = await self._send(self._commands(calls, is_repeated=True))
        return [self._read(call, answer) for call, answer in zip(calls, again, strict=True)]

    def _commands(self, calls: Sequence[Append], is_repeated: bool) -> list[tuple[Any, ...]]:
        epoch = secrets.token_hex(8)
        return [self._command(call, is_repeated, f"{epoch}{number:x}") for number, call in enumerate(calls)]

    def _command(self, call: Append, is_repeated: bool, new_epoch: str) -> tuple[Any, ...]:
        keys = (self._name("server"), self._name("strays") if not call.key else self._name("world", call.key))
        known = (call.epoch, call.position, call.stray_epoch, call.stray_position)
        most = MOST_ENTRIES if call.key else MOST_STRAYS
        how = (int(call.is_reset), int(is_repeated), new_epoch, self._seconds, PAGE, most, call.expected)
        args = (self._record, *known, call.request, call.mark, *how)
        return ("EVALSHA", self._append_sha, 4, *keys, self._name("strays"), self._name("snapshot", call.key), *args)

    def _name(self, *parts: str) -> bytes:
        return ":".join((self._prefix, *parts)).encode("utf-8", "surrogatepass")

    def _read(self, call: Append, answer: Any) -> Tail | StoreLost:
        if isinstance(answer, redis_errors.RedisError):
            return StoreLost(self._describe(answer))
        kind, *rest = answer
        if kind == b"gone":
            return LogGone(
                f"{self._place}: what it held of this key is gone: it has expired, was deleted or evicted, or this is "
                f"another server than before. The next request begins anew."
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
        if own == start + len(lines) + 1:
            lines.append(LogLine(call.mark, strays_before, call.request))
        return Tail(
            *(epoch.decode(), base, start, lines, own, last),
            *(stray_epoch.decode(), stray_start, [parse_line(line) for line in strays]),
        )

    async def _send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        connection = self._connection
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await connection.send_packed_command(b"".join(map(hiredis.pack_command, commands)))
                answers = []
                for _ in commands:
                    try:
                        answers.append(await connection.read_response())
                    except redis_errors.ResponseError as problem:
                        answers.append(problem)
        except BaseException as problem:
            await self.close()
            if isinstance(problem, redis_errors.RedisError | OSError):
                raise _Broken(self._describe(problem), is_sent=True) from problem
            raise
        return answers

    async def _connect(self) -> None:
        connection = self._pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            async with asyncio.timeout(CONNECT_SECONDS + ANSWER_SECONDS):
                await connection.connect()
        except (redis_errors.RedisError, OSError) as problem:
            raise StoreLost(self._describe(problem)) from problem
        self._connection = connection
        try:
            await self._join()
        except _Broken as problem:
            raise StoreLost(str(problem)) from problem
        except StoreLost:
            await self.close()
            raise

    async def _join(self) -> None:
        """Load the script, and write the record of the servers at this prefix, or compare one that is there."""
        record = self._name("server")
        mine = self._own_record.encode(secrets.token_hex(8))
        loads = [("SCRIPT", "LOAD", script) for script in (APPEND, SNAPSHOT)]
        answers = await self._send([*loads, ("SET", record, mine, "NX", "EX", self._seconds), ("GET", record)])
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
        is_late = isinstance(problem, redis_errors.TimeoutError | TimeoutError)
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

    def __init__(self, text: str, *, is_sent: bool) -> None:
        super().__init__(text)
        self.is_sent = is_sent


def _printable_url(url: str) -> str:
    """A URL without its password, which may be in the query, too."""
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
    except ValueError:
        return "the store"

"""The logs of all keys in a Redis server: a list for each, appended to and read by one script: nothing is half done."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import redis.exceptions as redis_errors
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from harness.core.errors import ConfigError, HarnessError
from harness.server.sharing.server_record import ServerRecord

APPEND = (Path(__file__).parent / "append.lua").read_bytes()
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
"""Seconds after which a server that does not answer counts as lost."""
PAGE = 1_000
"""Entries of a log that are read at once."""
MOST_ENTRIES = 100_000
"""Requests that the log of a key holds: of more the older half goes, and only processes that know it can follow."""
MOST_STRAYS = 1_000


class StoreLost(HarnessError):
    """The store cannot be used now; the text says why. With `is_unknown` the request may have got into the log."""

    def __init__(self, text: str, *, is_unknown: bool = False) -> None:
        super().__init__(text)
        self.is_unknown = is_unknown


class Append(NamedTuple):
    """What a process asks of the log of a key: to append a request, empty for none, and to say what is new.

    `epoch` and `position` are those of the process; `expected` is its position once what it has sent before is applied.
    """

    key: str
    epoch: str
    position: int
    expected: int
    stray_epoch: str
    stray_position: int
    request: bytes = b""
    mark: str = ""
    is_reset: bool = False


class LogLine(NamedTuple):
    """An entry of a log: the mark of who has sent it, how many requests without a World came before, the request."""

    mark: str
    strays: int
    request: bytes


class Tail(NamedTuple):
    """What is new in a log: `lines` follow entry number `start`; `own` is the number of the appended one, 0 for none.

    `last` is the number of the last entry, `base` that before the first one. `strays` follow number `stray_start` in the
    log of requests without a World.
    """

    epoch: str
    base: int
    start: int
    lines: Sequence[LogLine]
    own: int
    last: int
    stray_epoch: str
    stray_start: int
    strays: Sequence[LogLine]


class LogGone(StoreLost):
    """The log of a key is not one that this process can follow."""


class RedisLog:
    """The logs below a prefix of a Redis server; `seconds` after its last request the log of a key expires."""

    def __init__(self, url: str, prefix: str, record: ServerRecord, seconds: int) -> None:
        self._place = _printable_url(url)
        try:
            self._pool = ConnectionPool.from_url(
                url,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=ANSWER_SECONDS,
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
        self._sha = b""

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

    async def _exchange(self, calls: Sequence[Append], *, is_repeated: bool) -> list[Tail | StoreLost]:
        was_open = self._connection is not None
        try:
            if not was_open:
                await self._connect()
        except StoreLost as problem:
            raise _Broken(str(problem), is_sent=False) from problem
        answers = await self._send([self._command(call, is_repeated) for call in calls])
        if any(isinstance(answer, redis_errors.NoScriptError) for answer in answers) or [b"other"] in answers:
            return await self._after_restart(calls)
        return [self._read(call, answer) for call, answer in zip(calls, answers, strict=True)]

    async def _after_restart(self, calls: Sequence[Append]) -> list[Tail | StoreLost]:
        """The server has lost its scripts or its data, or others have taken the prefix: join again, and try once more."""
        try:
            await self._join()
        except StoreLost as problem:
            return [problem] * len(calls)
        again = await self._send([self._command(call, is_repeated=True) for call in calls])
        return [self._read(call, answer) for call, answer in zip(calls, again, strict=True)]

    def _command(self, call: Append, is_repeated: bool) -> tuple[Any, ...]:
        keys = (self._name("server"), self._name("strays") if not call.key else self._name("world", call.key))
        known = (call.epoch, call.position, call.stray_epoch, call.stray_position)
        most = MOST_ENTRIES if call.key else MOST_STRAYS
        how = (int(call.is_reset), int(is_repeated), secrets.token_hex(8), self._seconds, PAGE, most, call.expected)
        args = (self._record, *known, call.request, call.mark, *how)
        return ("EVALSHA", self._sha, 3, *keys, self._name("strays"), *args)

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
            return LogGone(
                f"{self._place}: it keeps {MOST_ENTRIES:,} requests of a key at most, has dropped the first {rest[0]:,} of "
                "this one, and this server has not carried them out. Ask a server that has, begin anew with POST "
                "/_harness/world, or use another key."
            )
        if kind == b"other":
            return StoreLost(f"{self._place}: other servers have taken the prefix {self._prefix!r} meanwhile.")
        epoch, base, start, tail, own, last, strays_before, stray_epoch, stray_start, strays = rest
        lines = [_parse_line(line) for line in tail]
        if own == start + len(lines) + 1:
            lines.append(LogLine(call.mark, strays_before, call.request))
        return Tail(
            *(epoch.decode(), base, start, lines, own, last),
            *(stray_epoch.decode(), stray_start, [_parse_line(line) for line in strays]),
        )

    async def _send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        connection = self._connection
        try:
            await connection.send_packed_command(connection.pack_commands(commands))
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
        answers = await self._send(
            [("SCRIPT", "LOAD", APPEND), ("SET", record, mine, "NX", "EX", self._seconds), ("GET", record)]
        )
        for answer in answers:
            if isinstance(answer, redis_errors.RedisError):
                raise StoreLost(self._describe(answer))
        self._sha, _, self._record = answers
        if difference := self._own_record.difference(self._record):
            raise StoreLost(
                f"{self._place}: {difference} Servers that share a prefix are the same in all of it; stop those others "
                f"and delete their keys (`{self._prefix}:*`), or choose another --store-prefix."
            )

    def _describe(self, problem: BaseException) -> str:
        """Why the server cannot be used, and what to do."""
        why = " ".join(str(problem).split()).rstrip(".") or type(problem).__name__
        advice = "Start it, or give the address of one that runs"
        if isinstance(problem, redis_errors.AuthenticationError | redis_errors.AuthorizationError):
            advice = "Give user and password: redis://USER:PASSWORD@HOST:PORT/NUMBER"
        elif "CERTIFICATE_VERIFY_FAILED" in why:
            advice = "Name who has signed its certificate: rediss://HOST:PORT/NUMBER?ssl_ca_certs=FILE"
        elif isinstance(problem, redis_errors.TimeoutError):
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


def _parse_line(line: bytes) -> LogLine:
    head, _, request = line.partition(b"\n")
    mark, _, strays = head.partition(b" ")
    return LogLine(mark.decode(), int(strays), request)


def _printable_url(url: str) -> str:
    """A URL without its password, which may be in the query, too."""
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
    except ValueError:
        return "the store"

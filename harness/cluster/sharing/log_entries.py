"""Messages between a process and the logs: requests, new entries, and why a log cannot be used."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import orjson

from harness.api.http.body import parse_query
from harness.core.errors import HarnessError


class StoreLost(HarnessError):
    """The store cannot be used now; the text says why. With `is_unknown` the request may have got into the log.

    With `is_late` it has not answered in time.
    """

    section = "a-shared-store"

    def __init__(self, text: str, *, is_unknown: bool = False, is_late: bool = False) -> None:
        super().__init__(text)
        self.is_unknown = is_unknown
        self.is_late = is_late

    @property
    def may_come_again(self) -> bool:
        """Whether the same request may be sent once more."""
        return not self.is_unknown


class Append(NamedTuple):
    """Asks the log of a key to append a request (empty for none) and to return new entries.

    `epoch` and `position` are those of the process, `last_mark` the mark of the entry there, empty when it is not known;
    `expected` is its position once what it has sent before is applied. A request that `is_refusable` may be refused to tell
    its client that what the key did is lost.
    """

    key: str
    epoch: str
    position: int
    expected: int
    stray_epoch: str
    stray_position: int
    last_mark: str = ""
    request: bytes = b""
    mark: str = ""
    is_reset: bool = False
    is_refusable: bool = False


LOST = "lost"
"""The mark of an entry that no process has sent: what the key did before is lost."""


class LogLine(NamedTuple):
    """An entry of a log: the mark of who has sent it, how many requests without a World came before, the request."""

    mark: str
    strays: int
    request: bytes


class Tail(NamedTuple):
    """New entries of a log: `lines` follow entry number `start`; `own` is the number of the appended one, 0 for none.

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


class WorldLost(StoreLost):
    """The key's earlier state is lost, and no request has been refused for that yet: this request is."""

    @property
    def may_come_again(self) -> bool:
        """Never, as the World of this entry is gone, and a World that begins anew would take it."""
        return False


class LogGone(WorldLost):
    """The log of a key is another than this process has carried out; the store notes there what is lost."""


class LogMoved(LogGone):
    """The same, but the store has noted the loss before: the process can follow the present log."""


class LogDropped(StoreLost):
    """The log has dropped requests that this process has not carried out; nothing was appended."""


class StoredSnapshot(NamedTuple):
    """The bytes of a snapshot, made when entry number `position` of the log with this epoch was carried out."""

    epoch: str
    position: int
    encoded: bytes


class RequestLog(Protocol):
    """Where the requests of all processes are put in order.

    The log of a key expires `seconds` after its last request. A `deadline` is a time of the event loop: a store that has not
    answered by then counts as lost. Without one it is that of what is asked now.
    """

    seconds: int

    def deadline(self) -> float:
        """Set the deadline for the store's answers from now on."""

    async def append(self, calls: Sequence[Append], deadline: float | None = None) -> list[Tail | StoreLost]:
        """Append requests, and say for each what is new in its log."""

    async def put_snapshot(self, key: str, snapshot: StoredSnapshot) -> None:
        """Keep the snapshot of a key in place of an earlier one."""

    async def get_snapshots(self, keys: Sequence[str], deadline: float | None = None) -> dict[str, StoredSnapshot]:
        """Get the snapshots of these keys that their logs still continue."""

    async def get_epochs(self, keys: Sequence[str]) -> dict[str, str]:
        """Get the epoch of each key's log, empty without a log; the logs do not last longer for being asked for."""

    async def note_outstanding(self, added: Collection[str], removed: Collection[str]) -> None:
        """Tell all servers which keys have pending webhook deliveries, and which no longer have any."""

    async def get_outstanding(self, most: int) -> list[str]:
        """Get as many of the keys that were noted, others each time."""

    async def close(self) -> None:
        """Close what it has opened."""


def parse_snapshot(answer: bytes) -> StoredSnapshot:
    """Parse a snapshot as the store has it."""
    head, _, encoded = answer.partition(b"\n")
    epoch, _, position = head.decode().partition(" ")
    return StoredSnapshot(epoch, int(position), encoded)


def parse_line(line: bytes) -> LogLine:
    """Parse an entry as the store has it."""
    head, _, request = line.partition(b"\n")
    mark, _, strays = head.partition(b" ")
    return LogLine(mark.decode(), int(strays), request)


HTTP, CONTROL, UPGRADE, TEXT, BYTES, LEFT = "http", "control", "upgrade", "text", "bytes", "left"
"""The kinds: a request to the API, one to the control plane, an upgrade to a WebSocket, its messages, its end."""
TAKE, RECORD, HURRY = "take", "record", "hurry"
"""The kinds that servers write about webhooks, with the key as `path`: one takes an attempt by a name (`session`), says what
came of it (`raw`), or lets what is due until a time (`session`) be due now."""
OWN_KINDS = (LEFT, TAKE, RECORD, HURRY)
"""The kinds of which no client waits for an answer."""


class LoggedRequest(NamedTuple):
    """A client's request: `raw` is the body, or the message of the WebSocket named `session`."""

    kind: str
    method: str = ""
    path: str = ""
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    session: str = ""
    raw: bytes = b""

    @property
    def header_values(self) -> dict[str, str]:
        """The headers by name, of several the last one."""
        return dict(self.headers)

    @property
    def parameters(self) -> dict[str, str | list[str]]:
        """The parameters of the query."""
        return parse_query(self.query.encode("latin-1")) if self.query else {}

    def encode(self) -> bytes:
        """Encode a request for the log: all but the body as a line of JSON, then the body."""
        return orjson.dumps(self[:-1]) + b"\n" + self.raw


def decode_request(line: bytes) -> LoggedRequest:
    """Decode a request from its bytes in the log."""
    head, _, raw = line.partition(b"\n")
    kind, method, path, query, headers, session = orjson.loads(head)
    return LoggedRequest(kind, method, path, query, tuple((name, value) for name, value in headers), session, raw)

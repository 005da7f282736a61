"""Messages between a process and the logs: requests, new entries, and why a log cannot be used."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

import orjson

from harness.api.http.bodies import parse_query
from harness.core.errors import HarnessError


class StoreLost(HarnessError):
    """Raised if the store cannot be used now; the text says why.

    `is_unknown` means that the request may have reached the log, `is_late` that the store did not answer in time.
    """

    section = "a-shared-store"

    def __init__(self, text: str, *, is_unknown: bool = False, is_late: bool = False) -> None:
        super().__init__(text)
        self.is_unknown = is_unknown
        self.is_late = is_late

    @property
    def may_come_again(self) -> bool:
        """Whether the client may send the same request again."""
        return not self.is_unknown


class Append(NamedTuple):
    """A call that appends a request (empty for none) to the log of a key and returns new entries.

    `epoch` and `position` are those of the process, `last_mark` is the mark of the entry there, empty if unknown;
    `expected` is its position once everything sent before is applied. If it `is_refusable`, the request may be refused
    to inform its client that the key's earlier state is lost. If it `is_bound`, it concerns only the World at
    `position`, and is not appended once that has been reset.
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
    is_bound: bool = False


LOST = "lost"
"""The mark of an entry written by the store itself: the key's earlier state is lost."""


class LogLine(NamedTuple):
    """An entry of a log: the mark of its sender, how many requests without a World came before it, the request."""

    mark: str
    strays: int
    request: bytes


class Tail(NamedTuple):
    """New entries of a log: `lines` follow entry number `start`; `own` is the number of the appended one, 0 for none.

    `last` is the number of the last entry, `base` the number before the first one. `strays` follow number `stray_start`
    in the log of requests without a World.
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
    """The key's earlier state is lost, and no request has been refused for it yet, so this one is."""

    @property
    def may_come_again(self) -> bool:
        """Whether the client may send it again: no, as a new World would accept a request meant for the lost one."""
        return False


class LogGone(WorldLost):
    """The log of a key is not the one this process has followed; the store records the loss in the new log."""


class LogMoved(LogGone):
    """Like LogGone, but the store has recorded the loss already, so the process can follow the new log."""


class LogDropped(StoreLost):
    """The log has dropped requests that this process has not applied; nothing was appended."""


class StoredSnapshot(NamedTuple):
    """The bytes of a snapshot taken after entry number `position` of the log with this epoch."""

    epoch: str
    position: int
    encoded: bytes


class RequestLog(Protocol):
    """The logs that put the requests of all processes in order.

    The log of a key expires `seconds` after its last request. A `deadline` is a time of the event loop after which a
    store that has not answered counts as lost; None starts a new one.
    """

    seconds: int

    def deadline(self) -> float:
        """Return the deadline of calls that begin now."""

    async def append(self, calls: Sequence[Append], deadline: float | None = None) -> list[Tail | StoreLost]:
        """Append requests; return for each what is new in its log, or why it was not appended."""

    async def put_snapshot(self, key: str, snapshot: StoredSnapshot) -> None:
        """Store the snapshot of a key, replacing an earlier one."""

    async def get_snapshots(self, keys: Sequence[str], deadline: float | None = None) -> dict[str, StoredSnapshot]:
        """Return the snapshots of these keys that their logs still continue."""

    async def get_epochs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the epoch of each key's log, empty if it has none, without extending the log's life."""

    async def note_outstanding(self, added: Collection[str], removed: Collection[str]) -> None:
        """Publish which keys have pending webhook deliveries, and which no longer have any."""

    async def get_outstanding(self, most: int) -> list[str]:
        """Return up to `most` published keys, chosen at random."""

    async def close(self) -> None:
        """Close the connections to the store."""


def parse_snapshot(answer: bytes) -> StoredSnapshot:
    """Parse a snapshot in the store's format."""
    head, _, encoded = answer.partition(b"\n")
    epoch, _, position = head.decode().partition(" ")
    return StoredSnapshot(epoch, int(position), encoded)


def parse_line(line: bytes) -> LogLine:
    """Parse an entry in the store's format."""
    head, _, request = line.partition(b"\n")
    mark, _, strays = head.partition(b" ")
    return LogLine(mark.decode(), int(strays), request)


HTTP, CONTROL, UPGRADE, TEXT, BYTES, LEFT = "http", "control", "upgrade", "text", "bytes", "left"
"""The kinds of entries from clients: an API request, a control request, a WebSocket upgrade, its messages, its end."""
FAILED = "failed"
"""The kind of entry by which a server tells the others that it failed to answer requests: why, and how many (`raw`)."""
TAKE, RECORD, HURRY = "take", "record", "hurry"
"""The kinds of entries by which servers coordinate webhooks, with the key as `path`.

They take an attempt under a name (`session`), record its outcome (`raw`), or make due at once what is due by a time
(`session`).
"""
OWN_KINDS = (LEFT, FAILED, TAKE, RECORD, HURRY)
"""The kinds whose result no client waits for."""


class LoggedRequest(NamedTuple):
    """A client's request: `raw` is the body, or a message of the WebSocket named `session`."""

    kind: str
    method: str = ""
    path: str = ""
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    session: str = ""
    raw: bytes = b""

    @property
    def header_values(self) -> dict[str, str]:
        """The headers by name; of several with the same name the last one."""
        return dict(self.headers)

    @property
    def parameters(self) -> dict[str, str | list[str]]:
        """The query parameters."""
        return parse_query(self.query.encode("latin-1")) if self.query else {}

    def encode(self) -> bytes:
        """Encode a request for the log: a line of JSON with everything but the body, then the body."""
        return orjson.dumps(self[:-1]) + b"\n" + self.raw


def encode_query(parameters: Mapping[str, str | list[str]]) -> str:
    """Encode query parameters as `LoggedRequest.parameters` reads them."""
    lists = {f"{name}[]" if isinstance(value, list) else name: value for name, value in parameters.items()}
    return urlencode(lists, doseq=True)


def decode_request(line: bytes) -> LoggedRequest:
    """Decode a request from the log."""
    head, _, raw = line.partition(b"\n")
    kind, method, path, query, headers, session = orjson.loads(head)
    return LoggedRequest(kind, method, path, query, tuple((name, value) for name, value in headers), session, raw)

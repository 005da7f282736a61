"""Requests, answers, exchanges and findings, as plain data, with the files and tool runs beside them.

Nothing here depends on HTTP libraries, files or time. Header names are lower case. All are named tuples: each request
creates four of them, and no other immutable object is created as fast.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from harness.core.delivery import Delivery

BYTES_AS_TEXT = "latin-1"
"""The encoding that maps each byte to one character."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """File content as a string with one character per byte; shared with the request's body, so it is in memory once."""

    text: str

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.text)

    def read(self) -> bytes:
        """Read all bytes."""
        return self.text.encode(BYTES_AS_TEXT)


@dataclass(frozen=True, slots=True, eq=False)
class OnDisk:
    """File content outside of memory; `read_part(start, length)` reads a part of it."""

    size: int
    read_part: Callable[[int, int], bytes]

    def __str__(self) -> str:
        """Show the size in place of the content."""
        return f"({self.size} bytes)"

    def read(self) -> bytes:
        """Read all bytes."""
        return self.read_part(0, self.size)


FileContent = InMemory | OnDisk

Json = dict[str, Any]

EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})

ROUTED = "routed"
"""The operation of a request to a part of the API that is not mocked and that the test answers itself."""


class JsonFault(NamedTuple):
    """Why a body cannot be read: `kind` is syntax, unicode, duplicate (with `name` and `path`), or form."""

    kind: str
    name: str = ""
    path: str = ""


class Form(NamedTuple):
    """The fields of a form; files too large for memory are in `on_disk`, by `field` or `field[number]`."""

    fields: Json
    on_disk: Mapping[str, OnDisk] = EMPTY_MAPPING


class ReceivedRequest(NamedTuple):
    """A request before it is parsed.

    `path` is the complete path; header names are lower case. `query` maps names to strings, or to a list of strings for
    a name sent as `name[]`; `form` is the body if it was parsed as a form on arrival.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, Any] = EMPTY_MAPPING
    raw: bytes = b""
    form: Form | None = None


class Request(NamedTuple):
    """A parsed request.

    `path` is the path below the API's root (`/responses/resp_1`), `params` its parameters by the operation's template
    (`{"response_id": "resp_1"}`), `query` the query parameters, typed where the operation has a schema for them, `body`
    the parsed JSON (None without a body), `raw` the bytes as received. `operation` is the operation's id (`POST
    /responses`), `schema` names the schema of its body or else of its query; `fault` says why the body is invalid JSON.
    `dialect` is openai, azure or foundry, `root` is the part of the path at which the API begins. `on_disk` is that of
    its `Form`.
    """

    method: str
    path: str
    headers: Mapping[str, str] = EMPTY_MAPPING
    query: Mapping[str, Any] = EMPTY_MAPPING
    body: Any = None
    raw: bytes = b""
    params: Mapping[str, str] = EMPTY_MAPPING
    operation: str = ""
    schema: str | None = None
    fault: JsonFault | None = None
    dialect: str = "openai"
    root: str = "/v1"
    on_disk: Mapping[str, OnDisk] = EMPTY_MAPPING


class Answer(NamedTuple):
    """The server's answer to a request.

    `body` is the JSON of the answer; if `events` is not None the answer is a stream of these, and `body` is the object
    in the last one. `rule` names the rule that refused the request, if any. With a `delivery` the answer is delayed or
    cut: `events` and `body` then hold what is sent, and an answer that is never sent has status 0. A refusal is
    `expected` if it is a turn of the script, or if only the account that the test configured forbids the request.
    """

    status: int
    body: Any = None
    headers: Mapping[str, str] = EMPTY_MAPPING
    events: Sequence[Json] | None = None
    rule: str | None = None
    delivery: Delivery | None = None
    expected: bool = False

    @property
    def disconnection(self) -> str:
        """How the server broke the connection, `cut off` or `no answer`; empty if it did not."""
        if self.delivery is None or not self.delivery.disconnects:
            return ""
        return "cut off" if self.status else "no answer"


class Exchange(NamedTuple):
    """A request and its answer; `number` is its place in the journal of a World, from 1."""

    number: int
    request: Request
    answer: Answer

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self.answer.status

    @property
    def is_routed(self) -> bool:
        """Whether the test itself answered the request, which then is not judged."""
        return self.request.operation == ROUTED


def answer_error(exchange: Exchange) -> Json:
    """Return the error object of an answer: its `error`, or the body itself where Azure has no such member."""
    body = exchange.answer.body if isinstance(exchange.answer.body, dict) else {}
    error = body.get("error", body)
    return error if isinstance(error, dict) else {}


class Stray(NamedTuple):
    """A request whose key leads to no World, and its answer; `key` is empty if it had none.

    `owner` is the name of the World that the key used to lead to, empty if there was none.
    """

    request: Request
    answer: Answer
    key: str = ""
    owner: str = ""


class Finding(NamedTuple):
    """A difference from the contract: its place (`at`, a path like `input[2].content[0]`), a message, and the rule."""

    at: str
    message: str
    rule: str | None = None


class ToolRun(NamedTuple):
    """A finished tool run: the tool's `name`, the `arguments` by name, the value `returned`, or whether it `failed`.

    `bound` are the arguments with the defaults of the parameters that got none. An exchange after number `after`, up to
    `until`, may have asked for the run: none, if the test itself ran the tool.
    """

    name: str
    arguments: Mapping[str, Any]
    returned: Any = None
    failed: bool = False
    bound: Mapping[str, Any] = EMPTY_MAPPING
    after: int = 0
    until: int = sys.maxsize


class SentTurn(NamedTuple):
    """A turn of a chat UI: its `number` from 1, and the `items` of the conversation so far, the new message last."""

    number: int
    items: Sequence[Json]


@dataclass(slots=True, eq=False)
class ToolRuns:
    """The runs of recorded tools, oldest first, and the names of all these tools, run or not.

    `turns` holds the turns of the test's chat UIs, oldest first, `exchange_count` is the length of the journal, `left`
    are the numbers of the exchanges whose answer the client did not take to its end.
    """

    finished: list[ToolRun] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    turns: list[SentTurn] = field(default_factory=list)
    exchange_count: int = 0
    left: frozenset[int] = frozenset()

"""The data that travels: a request, its answer, both together, and a difference that matters.

Nothing here knows HTTP libraries, files or time. Header names are lower case. They are named tuples:
every request makes four of them, and nothing else that cannot be changed is made as fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from harness.core.delivery import Delivery

Json = dict[str, Any]
"""A JSON object."""

EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})


class JsonFault(NamedTuple):
    """Why the bytes of a body are no JSON: `kind` is syntax, unicode or duplicate (then with `name` and `path`)."""

    kind: str
    name: str = ""
    path: str = ""


class Request(NamedTuple):
    """What a client sent.

    `path` is the path below the API's root (`/responses/resp_1`), `params` what the operation's template took from it
    (`{"response_id": "resp_1"}`), `query` the parameters of the query, typed where the operation has a schema for them,
    `body` the parsed JSON (None when there is none), `raw` the bytes as they came.
    `operation` is the operation's id (`POST /responses`), `schema` names the schema of its body, else of its query;
    `fault` says why the bytes are no JSON. `dialect` is openai, azure or foundry, `root` where the API begins in its path.
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


class Answer(NamedTuple):
    """What the server says to one request.

    `body` is the JSON answer; when `events` is not None the answer is a stream of them, and `body` the object that
    the last one carries. `rule` names the rule that refused the request, if one did. With a `delivery` it is not sent at
    once and whole: then `events` and `body` are what goes out, an answer that never came has status 0.
    """

    status: int
    body: Any = None
    headers: Mapping[str, str] = EMPTY_MAPPING
    events: Sequence[Json] | None = None
    rule: str | None = None
    delivery: Delivery | None = None

    @property
    def disconnection(self) -> str:
        """What became of an answer whose connection broke: `cut off`, `no answer`; empty when it did not break."""
        if self.delivery is None or not self.delivery.disconnects:
            return ""
        return "cut off" if self.status else "no answer"


class Exchange(NamedTuple):
    """A request and its answer, in the order a World saw them (`number` counts from 1)."""

    number: int
    request: Request
    answer: Answer

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self.answer.status


class Finding(NamedTuple):
    """A difference that matters: where (`at`, a path like `input[2].content[0]`), what (`message`), which rule."""

    at: str
    message: str
    rule: str | None = None

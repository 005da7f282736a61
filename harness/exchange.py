"""The data that travels: a request, its answer, both together, and a difference that matters.

Nothing here knows HTTP libraries, files or time. Header names are lower case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
"""A JSON object."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the bytes of a body are no JSON: `kind` is syntax, unicode or duplicate (then with `name` and `path`)."""

    kind: str
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent.

    `path` is the path below the API's root (`/responses/resp_1`), `params` what the operation's template took from it
    (`{"response_id": "resp_1"}`), `query` the parameters of the query, typed where the operation has a schema for them,
    `body` the parsed JSON (None when there is none), `raw` the bytes as they came.
    `operation` is the operation's id (`POST /responses`), `schema` names the schema of its body, else of its query;
    `fault` says why the bytes are no JSON.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    raw: bytes = b""
    params: Mapping[str, str] = field(default_factory=dict)
    operation: str = ""
    schema: str | None = None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says to one request.

    `body` is the JSON answer; when `events` is not None the answer is a stream of them, and `body` the object that
    the last one carries. `rule` names the rule that refused the request, if one did.
    """

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[Json] | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer, in the order a World saw them (`number` counts from 1)."""

    number: int
    request: Request
    answer: Answer

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self.answer.status


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that matters: where (`at`, a path like `input[2].content[0]`), what (`message`), which rule."""

    at: str
    message: str
    rule: str | None = None

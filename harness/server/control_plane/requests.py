"""Parses control requests: the mock, the World of the key, the body; runs their functions, and encodes long answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

import orjson
from fastapi import Depends, Query, Request, Response
from starlette.requests import ClientDisconnect

from harness.api.http.bodies import find_duplicate_name
from harness.api.http.dialects import AZURE, OPENAI
from harness.core.advice_wording import VOCABULARIES
from harness.core.bounded_input import MAX_INTEGER_LENGTH
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.headers import normalize_headers
from harness.core.text import show
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.world.mock import Mock
from harness.world.scripting.settings import ALLOW
from harness.world.scripting.validation import check_json, check_members, errors_at
from harness.world.snapshot import take_snapshot
from harness.world.world import World

_Made = TypeVar("_Made")
WORLD_HEADER = "x-harness-world"
"""Names a World instead of its key, for holders of the control token; percent-encoded, as in `GET /_harness/worlds`."""

_TEXT: Json = {"type": "string"}
_OBJECT: Json = {"type": "object"}


def _members(*required: str, **properties: Json) -> Json:
    """Build the schema of an object with exactly these members."""
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


BODIES: Mapping[str, Json] = {
    "/script": _OBJECT,
    "/advance": _members(id=_TEXT),
    "/skip": _members("seconds", seconds={"type": "integer", "minimum": 0, "maximum": 2**53 - 1}),
    "/expect": _members(
        "refusals",
        refusals={"anyOf": [{**_TEXT, "minLength": 1}, {"type": "array", "items": {**_TEXT, "minLength": 1}}]},
    ),
    "/said": _members("items", items={"type": "array", "minItems": 1, "items": {"type": ["string", "object"]}}),
    "/surfaced": _members(
        "result", result={}, only={"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}, losses={"const": ALLOW}
    ),
    "/open": _members("gate", gate=_TEXT),
    "/turns": _members(yaml=_TEXT, turn=_TEXT, was=_TEXT),
    "/hold": _members("on", on={"type": "boolean"}),
    "/answer": _members("request", request={"type": "integer", "minimum": 0, "maximum": 2**53 - 1}, yaml=_TEXT),
    "/step": _members(on={"type": "boolean"}),
    "/decide": _members("approval", "approve", approval=_TEXT, approve={"type": "boolean"}, reason=_TEXT),
    "/world": _members("name", name=_TEXT, language={"enum": [*VOCABULARIES]}),
}
"""The schemas of the bodies, by path below `/_harness`; the format of scripts is not described here."""

EventNumber = Annotated[int, Query(gt=-(2**53), lt=2**53)]
"""The number of an event or of an exchange: an integer that JSON carries exactly."""


def api_of(request: Request) -> MockApi:
    """Return the mock whose control plane received a request."""
    api: MockApi = request.app.state.api
    return api


def named_world(api: MockApi, name: str) -> World:
    """Find a World by its displayed name; HarnessError for an unknown name."""
    if world := api.find_by_name(name):
        return world
    known = ", ".join(shown_name(newest) for newest in list(api.worlds.values())[-3:]) or "none"
    raise HarnessError(f"no World named {show(name)}: GET {CONTROL_ROOT}/worlds lists them, the newest are {known}.")


async def snapshot_of(request: Request) -> Mock:
    """Return the `Mock` of a copy of the World that a request names, for a function that runs beside the event loop."""
    return Mock(take_snapshot(mock_of(request).world))


def mock_of(request: Request) -> Mock:
    """Return the `Mock` of the World that a request names in a header, or else of its key's World."""
    headers = normalize_headers(request.headers.raw)
    if WORLD_HEADER in headers:
        return Mock(named_world(api_of(request), unquote(headers[WORLD_HEADER])))
    world = api_of(request).world_of(headers, AZURE if "api-key" in headers else OPENAI)
    if world is None:
        raise HarnessError("no World: send `Authorization: Bearer sk-…` with the key of the client under test.")
    return Mock(world)


MockCopy = Annotated[Mock, Depends(snapshot_of)]
"""The World of a request as it was when the request came."""


async def read_object(request: Request) -> Json:
    """Parse the body of a request as a JSON object; HarnessError for anything else."""
    try:
        raw = await request.body()
        sent = json.loads(raw, parse_int=_read_integer, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise HarnessError(f"the body is not JSON: {problem}") from problem
    except ClientDisconnect as problem:
        raise HarnessError("the client disconnected before its body was complete") from problem
    if not isinstance(sent, dict):
        raise HarnessError('the body must be an object: {"turns": [[{"type": "message", …}]]}')
    if twice := find_duplicate_name(raw, sent):
        raise HarnessError(f"the body has {show(twice.name)} twice. Remove one.")
    return sent


async def read_members(request: Request) -> Json:
    """Parse the body of a request as a JSON object; HarnessError if it has other members than its schema."""
    known = BODIES[request.scope["path"].removeprefix(CONTROL_ROOT)]["properties"]
    sent = check_members(await read_object(request), "member", list(known))
    for name, value in sent.items():
        if isinstance(value, (str, list)):
            with errors_at(name):
                check_json(value)
    return sent


def _read_integer(text: str) -> int:
    if len(text) > MAX_INTEGER_LENGTH:
        raise ValueError(f"an integer of {len(text):,} characters; write a string")
    return int(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a valid value; leave it out, or write null")


def encode_each(values: Iterable[object]) -> list[Any]:
    """Encode values one by one: other threads wait while a value is encoded, and during a whole `map` of a C function."""
    return [orjson.Fragment(_encode(value)) for value in values]


def send_json(value: object) -> Response:
    """Send a value as the JSON that it is now; FastAPI would first walk through all of it, which takes longer."""
    return Response(orjson.dumps(value), media_type="application/json", headers={"cache-control": "no-store"})


def worker_of(request: Request) -> Worker:
    """Return the worker of the control plane that received a request."""
    worker: Worker = request.app.state.worker
    return worker


class Worker:
    """Runs functions in a thread, one at a time: several would leave the event loop less of the processor."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def run(self, make: Callable[[], _Made]) -> _Made:
        """Return what a function makes; it must read no more of a World than a snapshot of it."""
        async with self._turn:
            return await asyncio.to_thread(make)

    def wrap(self, handler: Callable[..., Any]) -> Callable[..., Awaitable[Response]]:
        """Turn a function into a FastAPI handler that runs in a thread and sends the result as JSON."""

        @wraps(handler)
        async def handle(**given: Any) -> Response:
            return await self.run(lambda: _render(handler(**given)))

        # Resolved here: an older FastAPI looks up the names of annotations in this module.
        vars(handle)["__signature__"] = signature(handler, eval_str=True)
        return handle


def _render(made: Any) -> Response:
    """Encode a value as FastAPI does."""
    return Response(_encode(encode_each(made) if isinstance(made, list) else made), media_type="application/json")


def _encode(made: Any) -> bytes:
    try:
        return orjson.dumps(made)
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()

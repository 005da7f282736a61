"""Parses control requests: the mock, the World of the key, the body; and encodes long answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import unquote

import orjson
from fastapi import Depends, Query, Request, Response
from starlette.requests import ClientDisconnect

from harness.api.http.bodies import find_duplicate_name
from harness.api.http.dialects import AZURE, OPENAI
from harness.core.bounded_input import MAX_INTEGER_LENGTH
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.headers import normalize_headers
from harness.core.text import show
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.world.mock import Mock
from harness.world.scripting.validation import check_json, check_members, errors_at
from harness.world.snapshot import take_snapshot
from harness.world.world import World

WORLD_HEADER = "x-harness-world"
"""Names a World instead of its key, for holders of the control token; percent-encoded, as in `GET /_harness/worlds`."""

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


Seen = Annotated[Mock, Depends(snapshot_of)]
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


async def read_members(request: Request, *known: str) -> Json:
    """Parse the body of a request as a JSON object; HarnessError if it has other members than these."""
    sent = check_members(await read_object(request), "member", known)
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


def join_rows(rows: Iterable[bytes]) -> bytes:
    """Join the JSON of the elements of a list; each of many can be encoded when it is made, and others wait for one."""
    return b"[%b]" % b",".join(rows)


def send_json(value: object) -> Response:
    """Send a value as JSON as it is now; FastAPI would look through all of it, for a longer time, first."""
    return Response(orjson.dumps(value), media_type="application/json", headers={"cache-control": "no-store"})

"""Parses control requests: the mock, the World of the key, the body."""

from __future__ import annotations

from urllib.parse import unquote

from fastapi import Request
from starlette.requests import ClientDisconnect

from harness.api.http.dialects import AZURE, OPENAI
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.headers import normalize_headers
from harness.server.keyed_worlds import find_by_name, shown_name
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.world.mock import Mock
from harness.world.scripting.validation import check_members
from harness.world.world import World

WORLD_HEADER = "x-harness-world"
"""Names a World, for who may see all of them, instead of its key: percent-encoded, as `GET /_harness/worlds` shows it."""


def api_of(request: Request) -> MockApi:
    """Find the mock whose control plane got a request."""
    api: MockApi = request.app.state.api
    return api


def named_world(api: MockApi, name: str) -> World:
    """Find a World by its displayed name; HarnessError for an unknown name."""
    if world := find_by_name(api, name):
        return world
    known = ", ".join(shown_name(newest) for newest in list(api.worlds.values())[-3:]) or "none"
    raise HarnessError(f"no World is called {name!r}: GET {CONTROL_ROOT}/worlds lists them, the newest are {known}.")


def mock_of(request: Request) -> Mock:
    """Find the mock that a request names by a header, else the mock of its key."""
    headers = normalize_headers(request.headers.raw)
    if WORLD_HEADER in headers:
        return Mock(named_world(api_of(request), unquote(headers[WORLD_HEADER])))
    world = api_of(request).world_of(headers, AZURE if "api-key" in headers else OPENAI)
    if world is None:
        raise HarnessError("no World: send `Authorization: Bearer sk-…` with the key of the client under test.")
    return Mock(world)


async def read_object(request: Request) -> Json:
    """Read the body of a request, a JSON object; a HarnessError for anything else."""
    try:
        sent = await request.json()
    except (ValueError, RecursionError) as problem:
        raise HarnessError(f"the body is not JSON: {problem}") from problem
    except ClientDisconnect as problem:
        raise HarnessError("the client has left before its body was whole") from problem
    if not isinstance(sent, dict):
        raise HarnessError('the body must be an object: {"turns": [[{"type": "message", …}]]}')
    return sent


async def read_members(request: Request, *known: str) -> Json:
    """Read the body of a request, a JSON object that has none but these members."""
    return check_members(await read_object(request), "member", known)

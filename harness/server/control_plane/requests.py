"""What a control request is about: the mock, the World of its key, its body."""

from __future__ import annotations

from fastapi import Request
from starlette.requests import ClientDisconnect

from harness.api.http.dialects import AZURE, OPENAI
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.headers import normalize_headers
from harness.server.mock_api import MockApi
from harness.world.mock import Mock


def api_of(request: Request) -> MockApi:
    """Find the mock whose control plane got a request."""
    api: MockApi = request.app.state.api
    return api


def mock_of(request: Request) -> Mock:
    """Find the mock of the key that a request carries."""
    headers = normalize_headers(request.headers.raw)
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

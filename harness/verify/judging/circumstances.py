"""Finds what a recorded exchange was: its operation and request, whether the host is a gateway, the day it is judged for.

A recording does not show whether an unknown host is a gateway, so the user must name it.
"""

import json
import re
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from functools import lru_cache
from urllib.parse import urlsplit

from harness.api.http.dialects import API_ROOTS, OPENAI, ApiPath, parse_api_path, root_of
from harness.api.operations import Operation, find_operation
from harness.api.responses import MULTI_AGENT_BETA
from harness.cassettes.format.recorded import Recorded
from harness.contract.rules.http.beta import ASSISTANTS_V2
from harness.core.dates import day_of_recording
from harness.core.errors import ConfigError
from harness.core.exchange import EMPTY_MAPPING, Request
from harness.core.json_values import as_object, as_string
from harness.endpoints.request import request_from
from harness.world.world import World

_SURE_PREFIX = "/responses"
"""Paths that no other API is known to have."""


def parse_host(text: str) -> str:
    """Parse `gateway.example`, `gateway.example:4000` or a URL as a host. ConfigError for anything else."""
    try:
        host = urlsplit(text if "//" in text else f"//{text}").hostname
    except ValueError:
        host = None
    if not host or any(mark in host for mark in "*, "):
        raise ConfigError(f"--host {text!r}: pass a host name, such as gateway.example; the option can be repeated.")
    return host


def adopt_gateway(recorded: Recorded, hosts: Collection[str]) -> Recorded:
    """Set the provider of an exchange, and reduce its path to the API's, if its host is in `hosts` or a subdomain."""
    if recorded.provider or not any(is_host_of(recorded.host, host) for host in hosts):
        return recorded
    # A gateway that keeps Azure's paths speaks Azure's dialect.
    if root_of(recorded.path) and (dialect := parse_api_path(recorded.path).dialect) != OPENAI:
        return recorded._replace(provider=dialect)
    below = _path_below_gateway(recorded)
    path = f"{API_ROOTS[OPENAI]}{below}" if below else recorded.path
    return recorded._replace(provider=OPENAI, path=path)


def is_host_of(host: str, named: str) -> bool:
    """Return whether a host is the named one or a subdomain of it."""
    return host.lower() == named or host.lower().endswith(f".{named}")


def looks_like_gateway(recorded: Recorded) -> bool:
    """Return whether an exchange with an unknown host has the path of a request for responses."""
    return not recorded.provider and bool(recorded.host) and _path_below_gateway(recorded).startswith(_SURE_PREFIX)


def _path_below_gateway(recorded: Recorded) -> str:
    """Find the longest suffix of a path that is an operation of the API; else empty."""
    parts = recorded.path.strip("/").split("/")
    below = ("/" + "/".join(parts[index:]) for index in range(len(parts)))
    return next((path for path in below if find_operation(recorded.method, path)[0]), "")


_NOT_THERE = ("Model not found ", "does not exist.")
"""The beginning and the end of the API's messages about a model that no longer exists."""


def enter_day(world: World, recorded: Recorded) -> None:
    """Set the World's day to that of a recorded exchange.

    Without a date, the day of the previous exchange is kept; but if a model answered that no longer existed then, the
    day is the last one of that model.
    """
    if recorded.date:
        world.as_of = day_of_recording(recorded.date)
    elif ended := _end_of_model(world, recorded):
        world.as_of = (date.fromisoformat(ended) - timedelta(days=1)).isoformat()


def _end_of_model(world: World, recorded: Recorded) -> str:
    """Return the day on which a model that still answers had ended, if before the World's day; else empty."""
    family = world.models.find(as_string(as_object(recorded.request).get("model")))
    ends = [day for day in family.ends if "" < day <= world.as_of] if family else []
    message = str(as_object(as_object(recorded.answer).get("error")).get("message"))
    is_gone = message.startswith(_NOT_THERE[0]) or message.endswith(_NOT_THERE[1])
    # If the model answered, an undated recording was made before the end of the model.
    return "" if not ends or is_gone else min(ends)


DEFAULT_HEADERS = {"authorization": "Bearer sk-recorded", "openai-beta": f"{ASSISTANTS_V2}, {MULTI_AGENT_BETA}"}
"""Headers that recorders leave out: access is never judged."""
_READ_HEADERS: Mapping[str, re.Pattern[str]] = {
    "content-type": re.compile(r"\w+/\w"),
    "openai-beta": re.compile(r".*\w=v\d"),
    "foundry-features": re.compile(r"\w+=\w"),
    "x-ms-user-identity": re.compile("."),
}
"""The recorded headers that are read, each with how it must begin; any other value is a recorder's mask."""


def rebuild_request(recorded: Recorded) -> tuple[Operation | None, Request]:
    """Rebuild the request as the mock would receive it, with its operation; None for exchanges that are not judged."""
    place = locate(recorded) if recorded.provider else None
    operation, params, _ = (
        find_operation(recorded.method, place.endpoint_path, place.root) if place else (None, EMPTY_MAPPING, False)
    )
    if operation is None or place is None:
        return None, Request(recorded.method, recorded.path)
    known = {name: recorded.headers.get(name, "") for name in _READ_HEADERS}
    headers = DEFAULT_HEADERS | {name: value for name, value in known.items() if _READ_HEADERS[name].match(value)}
    request = request_from(operation, params, place, headers, recorded.query, recorded.raw, recorded.request)
    # Some recorders keep only the parsed body, but rules read the bytes of a body that is not an object.
    if operation.body_schema and not request.raw and not isinstance(request.body, dict):
        request = request._replace(raw=json.dumps(request.body).encode())
    return operation, request


def locate(recorded: Recorded) -> ApiPath | None:
    """Split the path of an exchange into dialect, root and the rest; None for an unknown form.

    The dialects of Azure are distinguished by the root, if it is recorded.
    """
    return _locate(recorded.path, recorded.provider)


@lru_cache(maxsize=256)
def _locate(path: str, provider: str) -> ApiPath | None:
    dialect, root, below = parse_api_path(path)
    below = below.rstrip("/")
    if not root or not below or (dialect == OPENAI and provider not in API_ROOTS):
        return None
    if provider == OPENAI:
        return ApiPath(OPENAI, API_ROOTS[OPENAI], below)
    if dialect == OPENAI:
        return ApiPath(provider, API_ROOTS[provider], below)
    return ApiPath(dialect, root, below)

"""WebSocket mode of `/v1/responses`: its operations, events and limits."""

from __future__ import annotations

import re
from typing import Any

UPGRADE = "WS /responses (upgrade)"
SOCKET = "WS /responses"
WARM_UP = "WS /responses (generate: false)"
STEER = "WS /responses (response.steer)"
INJECT = "WS /responses (response.inject)"
"""The operations of a connection: open it, create a response, prepare one, steer one, inject outputs into one."""
CREATE_EVENT, STEER_EVENT = "response.create", "response.steer"
INJECT_EVENT = "response.inject"
"""The event of a client that has requested the multi-agent beta."""
CLIENT_EVENTS = (CREATE_EVENT, STEER_EVENT)
LANE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}")
MAX_LANES = 32
"""The maximum number of lanes per connection."""
MAX_AGE = 60 * 60
"""The maximum age of a connection in seconds."""


def requested_lane(body: Any) -> str | None:
    """Return the named lane of a `response.create`; None for the default lane and for an invalid name."""
    lane = body.get("stream_id") if isinstance(body, dict) and body.get("type") == CREATE_EVENT else None
    return lane if isinstance(lane, str) and LANE_NAME.fullmatch(lane) else None

"""Requests to a server, to its API and its control plane."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any

from harness.server.asgi import Server


def send(
    server: Server, method: str, path: str, body: Any = None, key: str = "sk-a", **headers: str
) -> tuple[int, Any]:
    """Send a request with a key; returns the status and the JSON of the answer, or its bytes."""
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=5)) as wire:
        sent = {"authorization": f"Bearer {key}", "content-type": "application/json", **headers}
        wire.request(method, path, None if body is None else json.dumps(body), sent)
        answer = wire.getresponse()
        raw = answer.read()
        return answer.status, json.loads(raw) if raw.startswith((b"{", b"[")) else raw

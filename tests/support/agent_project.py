"""A mock that is asked as one project of Azure AI Foundry."""

from __future__ import annotations

from typing import Any

import orjson

from harness.core.exchange import Answer, Json, ReceivedRequest
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.world import World

KEY = {"api-key": "mine", "content-type": "application/json"}
PROJECT = "/api/projects/p"
V1 = {"api-version": "v1"}
PREVIEW = {"api-version": "2025-11-15-preview"}
PREVIEWS = {"foundry-features": "WorkflowAgents=V1Preview,ExternalAgents=V1Preview,VoiceAgents=V1Preview"}
HELPER: Json = {"type": "agent_reference", "name": "helper"}


class Project:
    """What asks a mock at the address of one project."""

    def __init__(self) -> None:
        self.api = MockApi(fallback=lambda request: [message("Hello.")])

    @property
    def mock(self) -> Mock:
        return self.api.open("mine")

    @property
    def world(self) -> World:
        return self.mock.world

    def ask(self, method: str, path: str, body: Any = None, query: Json = V1, headers: Json | None = None) -> Answer:
        raw = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        return self.api.handle(ReceivedRequest(method, PROJECT + path, {**KEY, **(headers or {})}, query, raw))

    def make(self, name: str, **definition: Any) -> Json:
        body = {"definition": {"kind": "prompt", "model": "mine", **definition}}
        made: Json = self.ask("POST", f"/agents/{name}/versions", body).body
        return made

    def respond(self, query: Json | None = None, root: str = "/openai/v1", **body: Any) -> Answer:
        return self.ask("POST", f"{root}/responses", {"input": "hi", **body}, query or {})

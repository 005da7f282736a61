"""Asks a mock at the address of one Foundry project, without a network, as a client that asks for previews does."""

from __future__ import annotations

from typing import Any

from harness.core.exchange import Answer, Json
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.world import World
from tests.support.in_process import send

PROJECT = "/api/projects/p"
HELPER: Json = {"type": "agent_reference", "name": "helper"}
PREVIEW = {"api-version": "2025-11-15-preview"}
PREVIEWS = {"foundry-features": "WorkflowAgents=V1Preview,ExternalAgents=V1Preview,VoiceAgents=V1Preview"}
HEADERS = {
    "api-key": "mine",
    "content-type": "application/json",
    "foundry-features": "MemoryStores=V1Preview,Skills=V1Preview",
    "host": "harness.test",
}


class ProjectClient:
    """Sends requests as `GET /connections`; `headers` are added, `query` are parameters beside the version."""

    def __init__(self, as_of: str | None = None) -> None:
        self.api = MockApi(fallback=lambda request: [message("Hello.")], **({"as_of": as_of} if as_of else {}))

    @property
    def mock(self) -> Mock:
        return self.api.open("mine")

    @property
    def world(self) -> World:
        return self.mock.world

    def ask(self, call: str, body: Any = None, headers: Json | None = None, **query: str) -> Answer:
        method, _, path = call.partition(" ")
        version = {} if path.startswith("/openai/v1") else {"api-version": "v1"}
        sent = {**HEADERS, **(headers or {})}
        return send(self.api, f"{method} {PROJECT}{path}", body, sent, "", **{**version, **query})

    def get(self, path: str, /, **query: str) -> Any:
        """Return the body of what is there."""
        answer = self.ask(f"GET {path}", **query)
        assert answer.status == 200, answer.body
        return answer.body

    def names(self, path: str, member: str = "name", /, **query: str) -> list[Any]:
        """Return the names of what is listed, or another member of each."""
        listed = self.get(path, **query)
        return [entry[member] for entry in (listed["data"] if "data" in listed else listed["value"])]

    def define(self, name: str, **definition: Any) -> Json:
        """Return a new version of an agent."""
        body = {"definition": {"kind": "prompt", "model": "mine", **definition}}
        made: Json = self.ask(f"POST /agents/{name}/versions", body).body
        return made

    def respond(self, root: str = "/openai/v1", **body: Any) -> Answer:
        """Return the answer to a request for a response, here or at an agent's endpoint."""
        return self.ask(f"POST {root}/responses", {"input": "hi", **body})

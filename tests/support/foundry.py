"""A project of Azure AI Foundry on one day, asked without a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core.exchange import EMPTY_MAPPING, Answer, Json
from harness.foundry.agent_versions import AGENTS, new_version
from harness.items import message
from harness.server.mock_api import MockApi
from tests.support.in_process import send

PROJECT = "/api/projects/p/openai/v1"
HELPER = {"type": "agent_reference", "name": "helper"}
BY_HELPER = {**HELPER, "version": "1"}
DEFINITIONS: Json = {
    "helper": {"kind": "prompt", "model": "gpt-4o", "instructions": "Help."},
    "planner": {"kind": "workflow"},
    "worker": {"kind": "hosted"},
}
OLD_DAY, NEW_DAY = "2026-02-12", "2026-06-26"


class Project:
    """A project on one day, with an agent of each kind."""

    def __init__(self, day: str = NEW_DAY) -> None:
        self.api = MockApi(fallback=lambda request: [message("Hello there.")], as_of=day)
        self.mock = self.api.open("mine")
        for name, definition in DEFINITIONS.items():
            self.define(name, definition)

    def define(self, name: str, definition: Json) -> None:
        """Make an agent of this definition, or another version of it."""
        world = self.mock.world
        versions = world.store.table(AGENTS).get(name) or []
        made = new_version(versions, name, {"definition": definition}, 0, world.as_of, world.ids)
        world.store.table(AGENTS)[name] = [*versions, made]

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        root: str = PROJECT,
        headers: Mapping[str, str] = EMPTY_MAPPING,
        **query: str,
    ) -> Answer:
        sent = {"api-key": "mine", "content-type": "application/json", **headers}
        return send(self.api, f"{method} {root}{path}", body, sent, "", **query)

    def conversation(self) -> str:
        """Return the id of a new conversation."""
        return str(self.ask("POST", "/conversations", {}).body["id"])

    def respond(self, agent: str = "", **more: Any) -> Answer:
        by: Json = {"agent_reference": {**HELPER, "name": agent}} if agent else {"model": "gpt-4o"}
        return self.ask("POST", "/responses", {"input": "hi", **by, **more})


def names_request(answer: Answer) -> bool:
    """Return whether a refusal's message ends with the id of its request."""
    return "[Request ID: " in str(answer.body.get("error", {}).get("message"))


def said(answer: Answer) -> str:
    """Return the message of a refusal by a project's own service, without the id of the request that it ends with."""
    message, ending = str(answer.body["error"]["message"]), f" [Request ID: {answer.headers['x-request-id']}]"
    assert message.endswith(ending), message
    return message.removesuffix(ending)


def upload(project: Project, purpose: str = "assistants", root: str = PROJECT, name: str = "planets.txt") -> Json:
    """Return the file of an upload."""
    lines = ["--b", 'content-disposition: form-data; name="purpose"', "", purpose, "--b"]
    lines += [f'content-disposition: form-data; name="file"; filename="{name}"', "", "Jupiter is the largest.", "--b--"]
    headers = {"api-key": "mine", "authorization": "Bearer mine", "content-type": "multipart/form-data; boundary=b"}
    answer = send(project.api, f"POST {root}/files", "\r\n".join([*lines, ""]).encode(), headers)
    made: Json = answer.body
    return made

"""Asks a mock at the address of one Foundry project, or of Azure OpenAI, without a network, as a client of previews does."""

import re
from typing import Any

from harness.core.exchange import Answer, Json
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.world import World
from tests.support.in_process import send

PROJECT = "/api/projects/p"
V1 = f"{PROJECT}/openai/v1"
HELPER: Json = {"type": "agent_reference", "name": "helper"}
BY_HELPER: Json = {**HELPER, "version": "1"}
PREVIEW = {"api-version": "2025-11-15-preview"}
FEATURES = ("MemoryStores", "Skills", "HostedAgents", "WorkflowAgents", "ExternalAgents", "VoiceAgents")
HEADERS = {
    "api-key": "mine",
    "content-type": "application/json",
    "foundry-features": ",".join(f"{feature}=V1Preview" for feature in FEATURES),
    "host": "harness.test",
}
NOT_200 = re.compile(
    r"201 (PUT .*|POST .*(/sessions|_jobs|/skills(:import)?))|202 POST .*(:update_memories|/mcp)"
    r"|204 (DELETE .*|POST .*:(enable|disable|stop))"
)
"""What succeeds with another status than 200."""
OLD_DAY, NEW_DAY = "2026-02-12", "2026-06-26"


class ProjectClient:
    """Sends requests as `GET /connections`; `headers` are added, `query` are parameters beside the version."""

    def __init__(self, as_of: str | None = None, root: str = PROJECT, api: MockApi | None = None) -> None:
        self.root = root
        options: Any = {"as_of": as_of} if as_of else {}
        self.api = api or MockApi(fallback=lambda request: [message("Hello.")], **options)

    @property
    def mock(self) -> Mock:
        return self.api.open("mine")

    @property
    def world(self) -> World:
        return self.mock.world

    def ask(self, call: str, body: Any = None, headers: Json | None = None, **query: Any) -> Answer:
        method, _, path = call.partition(" ")
        path = f"{self.root}{path}"
        version = {} if "/openai/v1" in path else {"api-version": "v1"}
        with_key = {**HEADERS, **(headers or {})}
        answer = send(self.api, f"{method} {path}", body, with_key, "", **{**version, **query})
        assert answer.status == 200 or answer.status >= 400 or NOT_200.fullmatch(f"{answer.status} {call}")
        return answer

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
        made: Json = ProjectClient(api=self.api).ask(f"POST /agents/{name}/versions", body).body
        return made

    def respond(self, root: str = "/openai/v1", **body: Any) -> Answer:
        """Return the answer to a request for a response, here or at an agent's endpoint."""
        return self.ask(f"POST {root}/responses", {"input": "hi", **body})


class Project(ProjectClient):
    """A project on one day, asked for what OpenAI has, too, with an agent of each kind."""

    def __init__(self, day: str = NEW_DAY) -> None:
        super().__init__(day, V1)
        self.define("helper", model="gpt-4o", instructions="Help.")
        self.define("planner", kind="workflow")
        self.define("worker", kind="hosted")

    def conversation(self) -> str:
        """Return the id of a new conversation."""
        return str(self.ask("POST /conversations", {}).body["id"])

    def respond(self, agent: str = "", **more: Any) -> Answer:
        by: Json = {"agent_reference": {**HELPER, "name": agent}} if agent else {"model": "gpt-4o"}
        return self.ask("POST /responses", {"input": "hi", **by, **more})


def names_request(answer: Answer) -> bool:
    """Return whether a refusal's message ends with the id of its request."""
    return "[Request ID: " in str(answer.body.get("error", {}).get("message"))


def said(answer: Answer) -> str:
    """Return the message of a refusal by a project's own service, without the id of the request that it ends with."""
    message, ending = str(answer.body["error"]["message"]), f" [Request ID: {answer.headers['x-request-id']}]"
    assert message.endswith(ending), message
    return message.removesuffix(ending)


def upload(project: Project, purpose: str = "assistants", root: str = V1, name: str = "planets.txt") -> Json:
    """Return the file of an upload."""
    lines = ["--b", 'content-disposition: form-data; name="purpose"', "", purpose, "--b"]
    lines += [f'content-disposition: form-data; name="file"; filename="{name}"', "", "Jupiter is the largest.", "--b--"]
    headers = {"api-key": "mine", "authorization": "Bearer mine", "content-type": "multipart/form-data; boundary=b"}
    answer = send(project.api, f"POST {root}/files", "\r\n".join([*lines, ""]).encode(), headers)
    made: Json = answer.body
    return made

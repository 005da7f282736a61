"""A client of HTTP: answers with their bytes, or as JSON."""

import http.client
import json
from typing import Any, NamedTuple


class Said(NamedTuple):
    """An answer: its headers are those that no clock decides."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(port: int, method: str, path: str, body: Any = None, key: str = "sk-team", kind: str = "", **more: str) -> Said:
    """Send one request over a connection of its own; without a key it has no authorization."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": kind or "application/json", **more}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        connection.request(method, path, raw, headers)
        answer = connection.getresponse()
        shown = {name.lower(): value for name, value in answer.getheaders() if name.lower() != "date"}
        return Said(answer.status, shown, answer.read())
    finally:
        connection.close()


def send(port: int, method: str, path: str, body: Any = None, key: str = "sk-a", **headers: str) -> tuple[int, Any]:
    """Return the status of an answer, and its JSON or else its text."""
    status, _, raw = ask(port, method, path, body, key, **headers)
    return status, json.loads(raw) if raw.startswith((b"{", b"[")) else raw.decode()


def create(port: int, input: Any = "hi", **more: Any) -> Said:
    """`POST /v1/responses`."""
    key = more.pop("key", "sk-team")
    return ask(port, "POST", "/v1/responses", {"model": "gpt-4.1", "input": input, **more}, key)


class KeyClient:
    """One key's view of a server."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.headers = port, {"authorization": f"Bearer {key}"} if key else {}

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return send(self.port, method, path, body, "", **self.headers)

    def act(self, path: str, sent: Any) -> tuple[int, Any]:
        """Send a control request that changes the World."""
        return self.send("POST", f"/_harness/{path}", sent)

    def look(self, path: str) -> Any:
        """Return what a control request reads."""
        status, said = self.send("GET", f"/_harness/{path}")
        assert status == 200, said
        return said

    def refused(self, path: str, sent: Any) -> str:
        """Return why a control request is refused."""
        status, said = self.act(path, sent)
        assert (status, said["error"]["type"]) == (400, "harness_error")
        return str(said["error"]["message"])

    def ask(self, input: Any = "hi", **members: Any) -> tuple[int, Any]:
        return self.send("POST", "/v1/responses", {"model": "gpt-4.1", "input": input, **members})

    def text(self, **members: Any) -> str:
        status, said = self.ask(**members)
        assert status == 200, said
        return str(said["output"][0]["content"][0]["text"])


def text_of(said: Said) -> str:
    """Return the text of the first message of a response."""
    assert said.status == 200, said.body
    return str(said.json["output"][0]["content"][0]["text"])

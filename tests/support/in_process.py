"""A client of a mock of its own, without a network: every answer it gets conforms to its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2 as httpx

from harness.api.operations import find_operation
from harness.contract.check import check_answer
from harness.core.account import Organization
from harness.core.exchange import EMPTY_MAPPING, Answer, ReceivedRequest
from harness.items import message
from harness.server.mock_api import MockApi

KEY = "sk-unit"


def send(
    api: MockApi, call: str, body: Any = None, headers: Mapping[str, str] = EMPTY_MAPPING, key: str = KEY, **query: Any
) -> Answer:
    """Return the answer to a request such as `GET /v1/models`, whatever it is.

    A body of bytes is sent as it stands; without a key there is no authorization; `query` are its parameters.
    """
    method, _, path = call.partition(" ")
    raw = body if isinstance(body, bytes) else b"" if body is None else write_json(body)
    with_key = {"authorization": f"Bearer {key}", **headers} if key else headers
    return api.handle(ReceivedRequest(method, path, with_key, query, raw))


def write_json(body: Any) -> bytes:
    """Return a body as compact JSON, with integers of any size."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def post(api: MockApi, body: Any, path: str = "/v1/responses", key: str = KEY, **headers: str) -> Answer:
    """Return the answer to a `POST`."""
    return send(api, f"POST {path}", body, headers, key)


def asked(input: Any = "hi", **members: Any) -> dict[str, Any]:
    """Return the body of a request for a response."""
    return {"model": "gpt-4.1", "input": input, **members}


def ask(api: MockApi, input: Any = "hi", key: str = KEY, path: str = "/v1/responses", **members: Any) -> Answer:
    """Return the answer to a request for a response."""
    return post(api, asked(input, **members), path, key)


def post_form(client: Client, path: str, files: Any, fields: Any = None) -> Answer:
    """Return the answer to a form with files, as a real HTTP library writes it."""
    sent = httpx.Request("POST", f"http://api.test{path}", data=fields, files=files)
    headers = {"authorization": f"Bearer {KEY}", "content-type": sent.headers["content-type"]}
    return client.api.handle(ReceivedRequest("POST", f"/v1{path}", headers, raw=sent.read()))


class Client:
    """Sends requests as `POST /responses`, with these `tools` if there are any; without a script the answer is `ok`."""

    tools: Sequence[Any] = ()

    def __init__(self, **account: Any) -> None:
        self.api = MockApi(organization=Organization(**account), fallback=lambda request: [message(["o", "k"])])
        self.mock = self.api.open(KEY)
        self.world = self.mock.world

    def send(self, call: str, body: Any = None, **query: Any) -> Answer:
        """Return the answer to one request; texts in `query` are its parameters."""
        method, _, path = call.partition(" ")
        answer = send(self.api, f"{method} /v1{path}", body, **query)
        operation, _, _ = find_operation(method, path)
        if answer.status in range(1, 400) and operation:
            assert answer.status == 200
            assert operation.answer_schema is None or check_answer(operation.answer_schema, answer.body) is None
        return answer

    def ask(self, input: Any = "hi", **members: Any) -> Answer:
        """Return the answer to a `POST /responses`."""
        tools = {"tools": list(self.tools)} if self.tools else {}
        return self.send("POST /responses", {"model": "gpt-4.1", "input": input, **tools, **members})


def user(content: Any) -> dict[str, Any]:
    """Return a message of a user."""
    return {"role": "user", "content": content}


def error(answer: Answer) -> tuple[Any, ...]:
    """Return the status, message, param and code of a refusal."""
    detail = answer.body["error"]
    return answer.status, detail["message"], detail["param"], detail["code"]


def types(answer: Answer) -> list[str]:
    """Return the types of the events of a stream, without the prefix that all have."""
    return [event["type"].removeprefix("response.") for event in answer.events or ()]

"""The control plane: scripting a World and reading its journal over HTTP, as another language would."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from harness.items import message
from harness.mock import Mock
from harness.rule import RULES
from harness.server import Server, serving

HI = {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(Mock(fallback=lambda _: [message("unscripted")])) as running:
        yield running


class Client:
    """One key's view of a server."""

    def __init__(self, server: Server, key: str | None) -> None:
        self.server, self.headers = server, {"authorization": f"Bearer {key}"} if key else {}

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=10)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, raw, self.headers)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        return answer.status, said

    def ask(self, input: str = "hi", **members: Any) -> tuple[int, Any]:
        return self.send("POST", "/v1/responses", {"model": "gpt-4.1", "input": input, **members})

    def text(self, **members: Any) -> str:
        status, said = self.ask(**members)
        assert status == 200, said
        return str(said["output"][0]["content"][0]["text"])


@pytest.fixture
def client(server: Server, request: pytest.FixtureRequest) -> Client:
    return Client(server, f"sk-{request.node.name}".encode("ascii", "ignore").decode())


def said_text(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


class TestAScript:
    def test_is_a_list_of_turns_each_an_item_or_a_list_of_items(self, client: Client) -> None:
        call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "call_1"}
        added = client.send("POST", "/_harness/script", {"turns": [said_text("one"), [said_text("two"), call]]})
        assert added == (200, {"turns": 2})
        assert client.text() == "one"
        assert [item["type"] for item in client.ask()[1]["output"]] == ["message", "function_call"]

    def test_may_end_a_turn_with_how_its_response_ends(self, client: Client) -> None:
        client.send("POST", "/_harness/script", {"turns": [[said_text("one"), {"type": "incomplete"}]]})
        assert client.ask()[1]["status"] == "incomplete"

    def test_grows_with_each_post(self, client: Client) -> None:
        for number in (1, 2):
            assert client.send("POST", "/_harness/script", {"turns": [said_text(str(number))]}) == (
                200,
                {"turns": number},
            )
        assert [client.text(), client.text()] == ["1", "2"]

    def test_may_have_conditions(self, client: Client) -> None:
        route = {"when": {"instructions": "planner", "tools": ["f"]}, "turns": [said_text("a plan")]}
        assert client.send("POST", "/_harness/script", route) == (200, {"turns": 1})
        client.send("POST", "/_harness/script", {"when": None, "turns": [said_text("else")]})
        tools = [{"type": "function", "name": "f", "parameters": {}, "strict": False}]
        assert client.text(instructions="You are the planner", tools=tools) == "a plan"
        assert client.text() == "else"

    def test_is_of_one_key_alone(self, client: Client, server: Server) -> None:
        client.send("POST", "/_harness/script", {"turns": [said_text("mine")]})
        assert Client(server, "sk-another-key").text() == "unscripted"
        assert client.text() == "mine"

    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            (b"", "the body is not JSON"),
            (b"{", "the body is not JSON"),
            (b"\xff", "the body is not JSON"),
            (b"[" * 100_000, "the body is not JSON"),
            ([], 'the body must be an object: {"turns": '),
            ({}, "`turns` must be a list with at least one turn"),
            ({"turns": []}, "`turns` must be a list with at least one turn"),
            ({"turns": {}}, "`turns` must be a list with at least one turn"),
            ({"turns": [[]], "when": {"input": "hi"}}, "each an item or a list of at least one"),
            ({"turns": ["hi"]}, "'hi' is no item"),
            ({"turns": [{"type": "nothing"}]}, "type is 'nothing'. An item's type is one of: "),
            ({"turns": [{"type": "message", "content": [{"type": "bogus"}]}]}, "message: content[0] is "),
            (b'{"turns": [{"type": "function_call", "name": "\\ud800"}]}', "a str must be valid Unicode"),
            ({"turns": [HI], "when": {"mood": "good"}}, "when(mood=…): a route can look at instructions, tools"),
            ({"turns": [HI], "when": "planner"}, "`when` must be an object of texts"),
            ({"turns": [HI], "when": ["input"]}, "`when` must be an object of texts"),
            ({"turns": [HI], "when": 3}, "`when` must be an object of texts"),
            ({"turns": [HI], "when": {"input": 3}}, "`when` must be an object of texts"),
            ({"turns": [HI], "when": {"tools": [3]}}, "`when` must be an object of texts"),
        ],
    )
    def test_that_cannot_be_read_says_why_and_adds_nothing(self, client: Client, body: Any, problem: str) -> None:
        status, said = client.send("POST", "/_harness/script", body)
        assert (status, said["error"]["type"]) == (400, "harness_error")
        assert problem in said["error"]["message"]
        assert client.text() == "unscripted"


class TestTheJournal:
    def test_holds_every_exchange_in_order(self, client: Client) -> None:
        client.ask("one")
        client.ask(temperature="hot")
        one, other = client.send("GET", "/_harness/exchanges")[1]
        assert one["request"] == {
            "method": "POST",
            "path": "/responses",
            "body": {"model": "gpt-4.1", "input": "one"},
        }
        assert (one["number"], one["status"], one["rule"], one["answer"]["object"]) == (1, 200, None, "response")
        assert (other["number"], other["status"], other["rule"]) == (2, 400, "invalid_type")
        assert other["answer"]["error"]["param"] == "temperature"

    def test_says_what_nobody_took_and_what_nobody_answered(self, client: Client) -> None:
        client.send("POST", "/_harness/script", {"when": {"input": "x"}, "turns": [HI, HI]})
        client.ask("y")
        said = client.send("GET", "/_harness/unused")[1]
        assert said["unused"] == 2
        assert len(said["problems"]) == 1
        assert said["problems"][0].startswith("No turn answers this request. The closest is when(input='x')")

    def test_goes_with_its_world(self, client: Client, server: Server) -> None:
        id = client.ask()[1]["id"]
        assert client.send("DELETE", "/_harness/world") == (200, {"deleted": True})
        assert client.send("GET", "/_harness/exchanges") == (200, [])
        assert client.send("GET", f"/v1/responses/{id}")[0] == 404


class TestTheServer:
    def test_says_that_it_is_up_and_counts_its_worlds(self) -> None:
        with serving(Mock()) as own:
            assert Client(own, None).send("GET", "/_harness/health") == (200, {"status": "ok", "worlds": 0})
            Client(own, "sk-1").send("GET", "/_harness/exchanges")
            assert Client(own, None).send("GET", "/_harness/health")[1]["worlds"] == 1

    def test_lists_the_rules_in_order(self, client: Client) -> None:
        said = client.send("GET", "/_harness/rules")[1]
        assert [one["id"] for one in said] == list(RULES)
        assert all(list(one) == ["id", "area", "summary", "level", "message"] for one in said)

    @pytest.mark.parametrize("key", [None, "pk-1", "sk-"])
    @pytest.mark.parametrize(
        ("method", "path"),
        [("GET", "exchanges"), ("GET", "unused"), ("DELETE", "world"), ("POST", "script")],
    )
    def test_asks_for_a_key_that_names_a_world(self, server: Server, key: str | None, method: str, path: str) -> None:
        status, said = Client(server, key).send(method, f"/_harness/{path}", {"turns": [HI]})
        assert status == 400
        assert said["error"]["message"].startswith("no World: send `Authorization: Bearer sk-…`")

    def test_describes_itself(self, client: Client) -> None:
        paths = client.send("GET", "/_harness/openapi.json")[1]["paths"]
        assert set(paths) == {
            f"/_harness/{name}" for name in ("health", "script", "exchanges", "unused", "world", "rules")
        }

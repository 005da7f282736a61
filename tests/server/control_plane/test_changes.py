"""What somebody who watches a World does by hand over HTTP: turns, held requests, steps."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi()) as running:
        yield running


class Hand:
    """One key's client, and the hand that acts in its World."""

    def __init__(self, server: Server, key: str, pool: ThreadPoolExecutor) -> None:
        self.pool = pool
        self.http = httpx.Client(
            base_url=f"http://{server.host}:{server.port}", headers={"authorization": f"Bearer {key}"}, timeout=10
        )

    def act(self, path: str, **sent: Any) -> Any:
        answer = self.http.post(f"/_harness/{path}", json=sent)
        return answer.json() if answer.status_code == 200 else answer.json()["error"]["message"]

    @property
    def waits(self) -> Any:
        return self.http.get("/_harness/waiting").json()

    def ask(self, input: str = "hi", **members: Any) -> httpx.Response:
        return self.http.post("/v1/responses", json={"model": "gpt-4.1", "input": input, **members})

    def begin_to_ask(self, **members: Any) -> Future[httpx.Response]:
        return self.pool.submit(self.ask, **members)


@pytest.fixture
def hand(server: Server, request: pytest.FixtureRequest) -> Iterator[Hand]:
    with ThreadPoolExecutor(4) as pool:
        made = Hand(server, "sk-" + re.sub(r"\W", "-", request.node.name), pool)
        yield made
        made.act("hold", on=False)
        made.act("step", on=False)
        made.http.close()


def until(holds: Callable[[], Any]) -> Any:
    for _ in range(400):
        if found := holds():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come")


def said(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["output"][0]["content"][0]["text"])


TENFOLD = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10 if n else 'x' * 10)}]\n" for n in range(10))
"""Half a kilobyte, of which each line is ten times the one before."""


class TestTurns:
    def test_turns_are_added_as_yaml_and_listed_as_it(self, hand: Hand) -> None:
        call = '- function_call: {name: f, arguments: "{}"}'
        assert hand.act("turns", yaml=f"- message: One.\n{call}\n- - Two.\n  - incomplete: max_output_tokens") == {
            "turns": 3
        }
        listed = hand.waits["turns"]
        assert [turn["turn"] for turn in listed] == ["0.0", "0.1", "0.2"]
        assert listed[0] == {
            "turn": "0.0",
            "route": "script",
            "text": 'message "One."',
            "yaml": '- message: "One."',
            "file": "POST /_harness/turns",
            "line": 0,
        }
        assert listed[1]["yaml"].startswith('- {"type": "function_call"')
        assert listed[2]["yaml"] == ""
        assert said(hand.ask()) == "One."

    def test_a_turn_that_is_listed_may_be_added_again(self, hand: Hand) -> None:
        hand.act("turns", yaml="- - message: {text: One., annotations: []}\n  - reasoning: Because.")
        (listed,) = hand.waits["turns"]
        assert hand.act("turns", yaml=listed["yaml"]) == {"turns": 2}
        assert [turn["yaml"] for turn in hand.waits["turns"]] == [listed["yaml"]] * 2

    def test_a_turn_is_replaced_and_another_removed(self, hand: Hand) -> None:
        hand.act("turns", yaml="- One.\n- Two.\n- Three.")
        one, two, _ = hand.waits["turns"]
        assert hand.act("turns", turn=two["turn"], was=two["yaml"], yaml="Other.") == {"turns": 3}
        assert hand.act("turns", turn=one["turn"], was=one["yaml"]) == {"turns": 2}
        assert [said(hand.ask()) for _ in range(2)] == ["Other.", "Three."]

    def test_a_turn_that_was_used_meanwhile_is_left_alone(self, hand: Hand) -> None:
        hand.act("turns", yaml="- One.\n- Two.")
        one = hand.waits["turns"][0]
        hand.ask()
        assert "List the turns again" in hand.act("turns", turn=one["turn"], was=one["yaml"])
        assert said(hand.ask()) == "Two."

    @pytest.mark.parametrize(
        ("yaml", "problem"),
        [
            ("- One.\n- mesage: Two.", "2: no item 'mesage'. Did you mean 'message'?"),
            ("- a: [", "2: did not find expected node content."),
            (TENFOLD, "5: its aliases expand to more than 100,000 values or 10 MB; write them out, or use fewer."),
            ("", "1: the file is empty. Begin with `script:` and a list of items."),
            (
                "- 3",
                "1: 3 is not a turn. Pass a text, an item (`message: {text: …}`), or a list of these, an ending and faults.",
            ),
        ],
    )
    def test_a_mistake_in_turns_has_its_line(self, hand: Hand, yaml: str, problem: str) -> None:
        assert hand.act("turns", yaml=yaml) == f"turns:{problem}"
        assert hand.waits["turns"] == []

    def test_several_turns_do_not_replace_one(self, hand: Hand) -> None:
        hand.act("turns", yaml="One.")
        (one,) = hand.waits["turns"]
        assert "2 turns in place of one" in hand.act("turns", turn=one["turn"], was=one["yaml"], yaml="- A\n- B")


class TestAHeldRequest:
    def test_a_held_request_waits_for_a_turn_by_hand_before_all_of_the_script(self, hand: Hand) -> None:
        hand.act("turns", yaml="- Scripted.")
        assert hand.act("hold", on=True) == {"holds": True}
        asked = hand.begin_to_ask(input="Which?")
        (waits,) = until(lambda: hand.waits["requests"])
        assert '"Which?"' in waits["body"]
        assert not asked.done()
        assert hand.act("answer", request=waits["request"], yaml="- By hand.") == {"answered": waits["request"]}
        assert said(asked.result()) == "By hand."
        asked = hand.begin_to_ask()
        (waits,) = until(lambda: hand.waits["requests"])
        hand.act("answer", request=waits["request"])
        assert said(asked.result()) == "Scripted."

    def test_a_held_request_may_be_streamed_long_and_of_another_path(self, hand: Hand) -> None:
        hand.act("hold", on=True)
        asked = hand.begin_to_ask(input="x" * 300_000, stream=True)
        (waits,) = until(lambda: hand.waits["requests"])
        hand.act("answer", request=waits["request"], yaml="Streamed.")
        assert "Streamed." in asked.result().text
        assert hand.http.get("/v1/models").status_code == 200

    def test_all_go_on_when_none_is_held_any_more(self, hand: Hand) -> None:
        hand.act("hold", on=True)
        asked = [hand.begin_to_ask() for _ in range(2)]
        until(lambda: len(hand.waits["requests"]) == 2)
        hand.act("turns", yaml="- One.\n- Two.")
        assert hand.act("hold", on=False) == {"holds": False}
        assert sorted(said(answer.result()) for answer in asked) == ["One.", "Two."]

    def test_a_held_request_is_forgotten_when_its_client_leaves(self, hand: Hand, server: Server) -> None:
        hand.act("hold", on=True)
        body = b'{"model": "gpt-4.1", "input": "hi"}'
        head = (
            f"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: {hand.http.headers['authorization']}\r\n"
        )
        with socket.create_connection((server.host, server.port)) as client:
            client.sendall(
                f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            )
            (waits,) = until(lambda: hand.waits["requests"])
        until(lambda: not hand.waits["requests"])
        assert "is not pending" in hand.act("answer", request=waits["request"], yaml="Late.")
        assert hand.http.get("/_harness/exchanges").json() == []

    def test_a_held_request_gets_an_answer_when_its_world_begins_again(self, hand: Hand) -> None:
        hand.act("hold", on=True)
        asked = hand.begin_to_ask()
        until(lambda: hand.waits["requests"])
        hand.act("world", name="anew")
        assert asked.result().status_code == 418
        assert hand.waits["holds"] is False

    def test_a_mistake_leaves_a_held_request_waiting(self, hand: Hand) -> None:
        hand.act("hold", on=True)
        asked = hand.begin_to_ask()
        (waits,) = until(lambda: hand.waits["requests"])
        assert "turns:1" in hand.act("answer", request=waits["request"], yaml="- mesage: x")
        assert not asked.done()


def test_servers_that_share_a_store_hold_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MockApi, "can_hold", False)
    with serve_in_thread(MockApi()) as running, ThreadPoolExecutor(1) as pool:
        hand = Hand(running, "sk-shared", pool)
        assert "share a store" in hand.act("hold", on=True)
        hand.http.close()


class TestAStep:
    def test_a_step_lets_one_event_go(self, hand: Hand) -> None:
        hand.act("turns", yaml="- Sunny.")
        assert hand.act("step", on=True) == {"stepped": 0}
        with hand.http.stream(
            "POST", "/v1/responses", json={"model": "gpt-4.1", "input": "hi", "stream": True}
        ) as answer:
            lines = answer.iter_lines()
            types = []
            for _ in range(3):
                until(lambda: hand.waits["stepped"] == 1)
                assert hand.act("step") == {"stepped": 1}
                types.append(next(line for line in lines if line.startswith("event: ")))
            assert types[0] == "event: response.created"
            assert len(set(types)) == 3
            hand.act("step", on=False)
            assert "response.completed" in "".join(lines)
        assert hand.waits["stepped"] is None

    def test_a_step_lets_a_whole_answer_go(self, hand: Hand) -> None:
        hand.act("turns", yaml="- Sunny.\n- Rainy.")
        hand.act("step", on=True)
        asked = hand.begin_to_ask()
        until(lambda: hand.waits["stepped"] == 1)
        hand.act("step")
        assert said(asked.result()) == "Sunny."
        hand.act("step", on=False)
        assert said(hand.ask()) == "Rainy."

    def test_a_step_needs_to_be_asked_for(self, hand: Hand) -> None:
        assert '{"on": true}' in hand.act("step")


MCP = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse", "require_approval": "always"}


class TestADecision:
    """Of an approval, in the client's place."""

    def wait(self, hand: Hand, then: str = "Live.", **members: Any) -> str:
        """Ask for what needs an approval; returns its id."""
        call = {"mcp_call": {"server_label": "prod", "name": "deploy"}}
        hand.act("script", mcp={"prod": {"deploy": "done"}}, script=[call, then])
        asked = hand.ask("Deploy.", tools=[MCP], **members)
        assert asked.status_code == 200, asked.text
        return str(next(item["id"] for item in asked.json()["output"] if item["type"] == "mcp_approval_request"))

    @pytest.mark.parametrize("members", [{}, {"store": False}, {"stream": False, "conversation": "new"}])
    @pytest.mark.parametrize("approve", [True, False])
    def test_a_decision_is_sent_as_the_client_would_send_it(
        self, hand: Hand, approve: bool, members: dict[str, Any]
    ) -> None:
        if "conversation" in members:
            members = {**members, "conversation": hand.http.post("/v1/conversations", json={}).json()["id"]}
        waits = self.wait(hand, **members)
        sent = hand.act("decide", approval=waits, approve=approve)
        assert sent == {"exchange": len(hand.http.get("/_harness/exchanges").json()), "status": 200}
        [approval] = hand.http.get("/_harness/approvals").json()
        assert (approval["approve"], approval["executed"]) == (approve, int(approve))
        assert hand.http.get("/_harness/report").json()["verdict"] is None

    def test_a_decision_may_have_a_reason(self, hand: Hand) -> None:
        hand.act("decide", approval=self.wait(hand), approve=False, reason="Not on Fridays.")
        assert hand.http.get("/_harness/approvals").json()[0]["reason"] == "Not on Fridays."

    def test_a_decision_is_made_once(self, hand: Hand) -> None:
        waits = self.wait(hand)
        assert hand.act("decide", approval=waits, approve=True)["status"] == 200
        assert hand.act("decide", approval=waits, approve=False) == f"decide: {waits} was answered in request 2."

    def test_a_decision_names_what_waits(self, hand: Hand) -> None:
        waits = self.wait(hand)
        assert hand.act("decide", approval="mcpr_1", approve=True) == (
            f"decide: no approval 'mcpr_1' was requested. Pending: {waits}."
        )


def test_what_waits_is_listed(hand: Hand) -> None:
    hand.act("turns", yaml="- - Sunny.\n  - pause: {after: 1, until: shown}\n- Later.")
    assert hand.waits["turns"][0]["yaml"] == ""
    with hand.http.stream("POST", "/v1/responses", json={"model": "gpt-4.1", "input": "hi", "stream": True}):
        until(lambda: hand.waits["gates"] == ["shown"])
        hand.act("open", gate="shown")
    assert hand.waits["gates"] == []
    begun = hand.ask(background=True).json()["id"]
    assert hand.waits["background"] == [begun]
    hand.act("advance")
    hand.act("advance")
    assert hand.waits["background"] == []

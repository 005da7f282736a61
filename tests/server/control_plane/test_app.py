"""The control plane: scripting a World and reading its journal over HTTP, as another language would."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from harness.contract.rule import RULES
from harness.core.limits import Limits
from harness.items import message
from harness.server.control_plane.app import BODIES, CONTROLS, control_app
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import CONTROL_ROOT, MockApi
from tests.clients.cells import Environment
from tests.clients.environments import ROOT, prepared, python_of
from tests.support.servers.json_client import KeyClient
from tests.support.tools import functions

HI = {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi(fallback=lambda _: [message("unscripted")])) as running:
        yield running


@pytest.fixture
def client(server: Server, request: pytest.FixtureRequest) -> KeyClient:
    return KeyClient(server.port, f"sk-{request.node.name}".encode("ascii", "ignore").decode())


def said_text(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


class TestWhatAChatSends:
    """A server under test stands between a chat UI and the mock: what it was sent is told before it asks."""

    PLANNED: ClassVar[dict[str, Any]] = {"type": "message", "role": "assistant", "content": "The release is planned."}
    SENT: ClassVar[list[Any]] = ["Plan the release.", PLANNED, "And who reads the reports?"]

    def ask(self, client: KeyClient, *items: Any) -> dict[str, Any]:
        assert client.act("said", {"items": self.SENT}) == (200, {"turn": 1})
        client.ask([{"role": "user", "content": item} if isinstance(item, str) else item for item in items])
        return client.look("report")

    def test_what_a_chat_sends_is_compared_with_what_reaches_the_model(self, client: KeyClient) -> None:
        verdict = self.ask(client, self.SENT[0], self.SENT[2])["verdict"]
        assert " ".join(verdict.split()).startswith(
            'Loss sent-changed in request 1: message "The release is planned.", in the conversation that the chat UI '
            "continues in turn 1, is not in this request"
        )
        assert [lost["loss"] for lost in client.look("losses")] == ["sent-changed"]

    def test_what_a_chat_sends_has_all_reached_it(self, client: KeyClient) -> None:
        assert self.ask(client, *self.SENT)["verdict"] is None

    @pytest.mark.parametrize("items", [[], "Who?", [7], [{"role": "assistant", "content": "Hi."}], None])
    def test_what_a_chat_sends_ends_with_a_message_of_the_user(self, client: KeyClient, items: Any) -> None:
        assert "Pass a list of items, of which the last is a user message." in client.refused("said", {"items": items})


class TestAScript:
    def test_a_script_is_a_list_of_turns_each_an_item_or_a_list_of_items(self, client: KeyClient) -> None:
        call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "call_1"}
        added = client.act("script", {"turns": [said_text("one"), [said_text("two"), call]]})
        assert added == (200, {"turns": 2})
        assert client.text() == "one"
        assert [item["type"] for item in client.ask(tools=functions("f"))[1]["output"]] == ["message", "function_call"]

    def test_a_script_may_say_a_turn_as_a_text(self, client: KeyClient) -> None:
        assert client.act("script", {"turns": ["one", ["two"]]}) == (200, {"turns": 2})
        client.act("script", {"script": ["three"]})
        assert [client.text() for _ in range(3)] == ["one", "two", "three"]

    def test_a_script_may_have_a_call_that_the_request_does_not_allow(self, client: KeyClient) -> None:
        call = {"type": "function_call", "name": "f", "arguments": "{}"}
        built = {"function_call": {"name": "f", "off_schema": True}}
        turns = [call, {**call, "off_schema": True}, built, [call, {"completed": {"off_schema": True}}]]
        client.act("script", {"turns": turns})
        assert [client.ask()[0] for _ in turns] == [418, 200, 200, 200]

    def test_a_script_may_end_a_turn_with_how_its_response_ends(self, client: KeyClient) -> None:
        client.act("script", {"turns": [[said_text("one"), {"type": "incomplete"}]]})
        assert client.ask()[1]["status"] == "incomplete"

    def test_a_script_grows_with_each_post(self, client: KeyClient) -> None:
        for number in (1, 2):
            assert client.act("script", {"turns": [said_text(str(number))]}) == (200, {"turns": number})
        assert [client.text(), client.text()] == ["1", "2"]

    def test_a_script_may_have_conditions(self, client: KeyClient) -> None:
        route = {"when": {"instructions": "planner", "tools": ["f"]}, "turns": [said_text("a plan")]}
        assert client.act("script", route) == (200, {"turns": 1})
        client.act("script", {"when": None, "turns": [said_text("else")]})
        tools = [{"type": "function", "name": "f", "parameters": {}, "strict": False}]
        assert client.text(instructions="You are the planner", tools=tools) == "a plan"
        assert client.text() == "else"

    def test_a_script_is_of_one_key_alone(self, client: KeyClient, server: Server) -> None:
        client.act("script", {"turns": [said_text("mine")]})
        assert KeyClient(server.port, "sk-another-key").text() == "unscripted"
        assert client.text() == "mine"

    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            (b"", "the body is not JSON"),
            (b"{", "the body is not JSON"),
            (b"\xff", "the body is not JSON"),
            (b"[" * 100_000, "the body is not JSON"),
            (b'{"turns": ["Hi."], "repeat": NaN}', "the body is not JSON: NaN is not a valid value; leave it out, or "),
            (
                b'{"turns": [%b]}' % (b"9" * 5_000),
                "the body is not JSON: an integer of 5,000 characters; write a string",
            ),
            (b'{"turns": ["Hi."], "turns": ["Ho."]}', "the body has 'turns' twice. Remove one."),
            (b'{"turns": ["Hi."], "\\ud800": 1}', "\\ud800: no key '\\ud800'."),
            ({"turns": ["Hi."], "x" * 60_000: 1}, "x'. Known: turns, when, repeat."),
            ([], 'the body must be an object: {"turns": '),
            ({}, "nothing is scripted. Add `script:`, `when:` or a setting: organization, "),
            ({"turns": []}, "turns: turns is []. Pass a list with at least one entry."),
            ({"turns": [[]], "when": {"input": "hi"}}, "turns[0]: [] is not a turn. Pass a text, an item ("),
            ({"turns": [[5]]}, "turns[0][0]: 5 is not an item"),
            (
                {"turns": ["hang_up"]},
                'turns[0]: "hang_up" is the name of a kind of turn. Write `hang_up:` with its arguments, or ',
            ),
            ({"turns": ["\ud800"]}, "turns[0]: str is not valid UTF-8"),
            ({"turn": [HI]}, "turn: no key 'turn'. Did you mean 'turns'?"),
            ({"x": [HI]}, ", turns."),
            ({"turns": [{"failed": "\ud800"}]}, "turns[0]: str is not valid UTF-8"),
            ({"turns": [HI], "when": {"input": "\ud800"}}, "when: str is not valid UTF-8"),
            ({"organization": {"name": "\ud800"}}, "organization: str is not valid UTF-8"),
            ({"turns": [HI], "script": [HI]}, "no key 'script'. Known: turns, when, repeat."),
            (
                {"script": [HI], "citations": "never"},
                'citations: citations is "never". Pass one of both, delta, completed.',
            ),
            ({"turns": [[HI, {"cut": {"after": -1}}]]}, "turns[0][1].cut: cut: after is -1."),
            ({"turns": [{"type": "message", "content": [{"type": "bogus"}]}]}, "message: content[0] is "),
            (b'{"turns": [{"type": "function_call", "name": "\\ud800"}]}', "strings must be valid Unicode"),
            ({"turns": [HI], "when": {"mood": "good"}}, "when.mood: no condition 'mood'. Did you mean 'model'?"),
            (
                {"turns": [HI], "when": "planner"},
                'when: "planner" is not an object. Its members: instructions, ',
            ),
            ({"turns": [HI], "when": {"input": 3}}, "when.input: input is 3. Pass a text, or a pattern."),
        ],
    )
    def test_a_script_that_cannot_be_read_says_why_and_adds_nothing(
        self, client: KeyClient, body: Any, problem: str
    ) -> None:
        assert problem in client.refused("script", body)
        assert client.text() == "unscripted"


class TestTheJournal:
    def test_the_journal_holds_every_exchange_in_order(self, client: KeyClient) -> None:
        client.ask("one")
        client.ask(temperature="hot")
        one, other = client.look("exchanges")
        assert one["request"] == {"method": "POST", "path": "/responses", "body": {"model": "gpt-4.1", "input": "one"}}
        assert (one["number"], one["status"], one["rule"], one["answer"]["object"]) == (1, 200, None, "response")
        assert (other["number"], other["status"], other["rule"]) == (2, 400, "invalid_type")
        assert other["answer"]["error"]["param"] == "temperature"

    def test_the_journal_says_what_nobody_took_and_what_nobody_answered(self, client: KeyClient) -> None:
        client.act("script", {"when": {"input": "x"}, "turns": [HI, HI]})
        client.ask("y")
        said = client.look("unused")
        assert said["unused"] == 2
        assert len(said["problems"]) == 1
        assert said["problems"][0].startswith("No turn answers this request. The closest is when(input='x')")

    def test_the_journal_goes_with_its_world(self, client: KeyClient, server: Server) -> None:
        id = client.ask()[1]["id"]
        assert client.send("DELETE", "/_harness/world") == (200, {"deleted": True})
        assert client.send("GET", "/_harness/exchanges") == (200, [])
        assert client.send("GET", f"/v1/responses/{id}")[0] == 404

    def test_the_journal_begins_again_under_a_name_that_its_ids_follow_from(
        self, client: KeyClient, server: Server
    ) -> None:
        ids = []
        for name in ("asks", "answers", "asks"):
            assert client.act("world", {"name": name}) == (200, {"name": name})
            assert client.send("GET", "/_harness/exchanges") == (200, [])
            client.act("script", {"script": [{"message": "Hi."}]})
            ids.append(client.ask()[1]["id"])
        assert ids[0] == ids[2] != ids[1]
        assert client.act("world", {})[0] == 400

    @pytest.mark.parametrize(("language", "advice"), [("json", '{"script": ['), ("javascript", "await mock.script(")])
    def test_the_journal_begins_in_the_language_of_its_user(
        self, client: KeyClient, language: str, advice: str
    ) -> None:
        client.act("world", {"name": "asks", "language": language})
        client.act("script", {"script": [{"message": "Hi."}]})
        client.ask()
        assert advice in client.ask()[1]["error"]["message"]
        assert client.act("world", {"name": "asks", "language": "klingon"})[0] == 400


class TestTheServer:
    def test_the_server_says_that_it_is_up_and_counts_its_worlds(self) -> None:
        with serve_in_thread(MockApi()) as own:
            status, said = KeyClient(own.port, "").send("GET", "/_harness/health")
            assert (status, said["status"], said["worlds"]) == (200, "ok", 0)
            KeyClient(own.port, "sk-1").send("GET", "/_harness/exchanges")
            assert KeyClient(own.port, "").send("GET", "/_harness/health")[1]["worlds"] == 1

    def test_the_server_lists_the_rules_in_order(self, client: KeyClient) -> None:
        said = client.look("rules")
        assert [item["id"] for item in said] == list(RULES)
        assert all(list(item) == ["id", "area", "summary", "level", "message"] for item in said)

    @pytest.mark.parametrize("key", [None, "pk-1", "sk-"])
    @pytest.mark.parametrize(
        ("method", "path"), [("GET", "exchanges"), ("GET", "unused"), ("DELETE", "world"), ("POST", "script")]
    )
    def test_the_server_asks_for_a_key_that_names_a_world(
        self, server: Server, key: str | None, method: str, path: str
    ) -> None:
        status, said = KeyClient(server.port, key).send(method, f"/_harness/{path}", {"turns": [HI]})
        assert status == 400
        assert said["error"]["message"].startswith("no World: send `Authorization: Bearer sk-…`")

    def test_the_server_describes_itself(self, client: KeyClient) -> None:
        paths = client.look("openapi.json")["paths"]
        assert paths.keys() == {f"{CONTROL_ROOT}{path}" for _, path, _ in CONTROLS}


class TestWhatWasSaid:
    TURN = (said_text("See it."), {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "call_1"})

    def test_the_replies_are_json(self, client: KeyClient) -> None:
        client.act("script", {"turns": [list(self.TURN)]})
        client.ask(tools=functions("f"))
        assert [(item["text"], len(item["calls"])) for item in client.look("said")] == [("See it.", 1)]
        assert [(call["name"], call["said"], call["answered"]) for call in client.look("calls")] == [("f", 1, 0)]

    def test_the_path_is_listed_by_agent(self, client: KeyClient) -> None:
        client.act("script", {"turns": [list(self.TURN)]})
        client.ask(tools=functions("f"), instructions="You are the planner.")
        assert client.look("agents") == ["planner"]
        taken = client.look("path")
        assert taken["text"] == 'planner → "See it." → f() unanswered'
        assert [(step["exchange"], step["agent"], step["name"]) for step in taken["steps"]] == [
            (1, "planner", "message"),
            (1, "planner", "f"),
        ]
        used = client.look("usage")
        assert used["total_tokens"] == used["input_tokens"] + used["output_tokens"] > 0
        assert used["by_agent"] == {"planner": {name: used[name] for name in used if name != "by_agent"}}
        named = [client.look(f"calls?name={name}") for name in ("f", "g")]
        assert [[call["agent"] for call in calls] for calls in named] == [["planner"], []]

    def test_what_missed_the_prompt_cache_is_listed_with_the_reason(self, client: KeyClient) -> None:
        client.act("script", {"turns": ["One.", "Two."]})
        for minute in (10, 11):
            client.ask(instructions=f"You are the planner. It is 12:{minute}. {'Be brief. ' * 500}")
        shown = client.look("cache")
        assert shown["hit_rate"] == 0.0
        assert [(miss["exchange"], miss["reason"], miss["at"]) for miss in shown["misses"]] == [
            (2, "input_changed", "instructions")
        ]

    def test_the_replies_are_compared_with_a_result(self, client: KeyClient) -> None:
        client.act("script", {"turns": [list(self.TURN)]})
        client.ask(tools=functions("f"))
        for result, words in (("See it.", None), ({"text": "See"}, "text truncated: the result has the first 3 of 7")):
            status, told = client.act("surfaced", {"result": result})
            assert (status, told["message"] and told["message"][:47]) == (200, words)
        asked = {"result": "See it.", "only": ["annotations"]}
        assert client.act("surfaced", asked)[1]["message"].startswith("annotations not in the result")

    def test_a_reply_that_a_client_shows_differently_fails(self, client: KeyClient) -> None:
        client.act("world", {"name": "it", "language": "json"})
        guide = {"type": "url_citation", "url": "https://e.org", "title": "E", "start_index": 0, "end_index": 3}
        turn = {"type": "message", "content": [{"type": "output_text", "text": "See it.", "annotations": [guide]}]}
        client.act("script", {"turns": [[turn], [turn]]})
        client.ask()
        shown = {"result": {"text": "See it.", "annotations": []}}
        assert client.act("surfaced", {**shown, "losses": "allow"})[1]["message"]
        client.ask()
        assert client.look("report")["verdict"] is None
        message = client.act("surfaced", shown)[1]["message"]
        assert client.act("surfaced", shown)[1]["message"] == message
        client.act("surfaced", {"result": "See"})
        told = client.look("report")
        assert told["verdict"].startswith(
            "The client does not show the answer of the model: annotations lost: 1 of 1 url_cit"
        )
        _, _, *rest = told["verdict"].splitlines()
        assert [line.split()[0] for line in rest] == ["fix", "allow", "manual", "and", "The"]
        assert "?losses=allow" in rest[1]
        assert "The client does not show the answer of the model: text truncated" in rest[-1]
        assert told["report"].startswith(told["verdict"])
        assert client.look("report?losses=allow")["verdict"] is None
        client.act("world", {"name": "again"})
        assert client.look("report")["verdict"] is None

    @pytest.mark.parametrize("losses", ["fail", 7, None, ["allow"]])
    def test_a_loss_that_is_not_a_word_is_refused_by_the_comparison(self, client: KeyClient, losses: Any) -> None:
        client.ask()
        assert client.refused("surfaced", {"result": "Sorry.", "losses": losses}).startswith("losses")
        assert client.look("report")["verdict"] is None

    @pytest.mark.parametrize("body", [{}, {"result": 7}, {"result": {"text": 7}}, {"result": "x", "only": 7}])
    def test_what_is_no_result_is_refused_by_the_comparison(self, client: KeyClient, body: Any) -> None:
        client.ask()
        assert client.refused("surfaced", body).startswith("surfaced(")


class TestSettings:
    """Whatever a test in Python can set on its World."""

    PROD: ClassVar = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}

    def test_settings_go_with_a_script(self, client: KeyClient) -> None:
        told = {"organization": {"models": ["gpt-4.1"]}, "script": [{"message": "hi"}], "repeat": True}
        assert client.act("script", told) == (200, {"turns": 1})
        assert [client.text(), client.text()] == ["hi", "hi"]
        assert client.ask(model="gpt-5")[1]["error"]["code"] == "model_not_found"

    def test_settings_make_files_and_say_their_ids(self, client: KeyClient) -> None:
        told = {
            "files": {"guide.txt": "Paris", "dot.png": {"base64": "iVA=", "purpose": "vision", "expires_after": 3600}},
            "vector_stores": {"docs": ["guide.txt"], "empty": {"metadata": {"team": "a"}}},
        }
        status, made = client.act("script", told)
        assert (status, made["turns"], list(made["files"])) == (200, 0, ["guide.txt", "dot.png"])
        image = client.send("GET", f"/v1/files/{made['files']['dot.png']}")[1]
        assert (image["bytes"], image["purpose"]) == (2, "vision")
        assert image["expires_at"] == image["created_at"] + 3600
        held = client.send("GET", f"/v1/vector_stores/{made['vector_stores']['docs']}/files")[1]["data"]
        assert [file["id"] for file in held] == [made["files"]["guide.txt"]]
        other = client.send("GET", f"/v1/vector_stores/{made['vector_stores']['empty']}")[1]
        assert (other["name"], other["metadata"]) == ("empty", {"team": "a"})
        more = {"vector_stores": {"again": [made["files"]["guide.txt"], "dot.png"]}}
        again = client.act("script", more)[1]["vector_stores"]["again"]
        assert client.send("GET", f"/v1/vector_stores/{again}")[1]["file_counts"]["total"] == 2

    def test_settings_script_mcp_servers_whose_calls_are_approved_once(self, client: KeyClient) -> None:
        tools = {"deploy": "v2 is live", "undo": {"description": "Undo.", "error": "no such ref"}}
        turns = [
            [{"mcp_call": {"server_label": "prod", "name": name, "arguments": {}}}, {"message": "Done."}]
            for name in tools
        ]
        told = {"mcp": {"prod": tools}, "script": turns}
        assert client.act("script", told) == (200, {"turns": 2})
        asked = client.ask(tools=[self.PROD])[1]
        (waits,) = client.look("approvals")
        assert (waits["name"], waits["approve"], waits["executed"]) == ("deploy", None, 0)
        yes = {"type": "mcp_approval_response", "approval_request_id": waits["id"], "approve": True}
        made = client.ask(input=[yes], previous_response_id=asked["id"], tools=[self.PROD])[1]["output"]
        assert (made[0]["output"], made[-1]["content"][0]["text"]) == ("v2 is live", "Done.")
        (ran,) = client.look("approvals")
        assert (ran["approve"], ran["executed"]) == (True, 1)
        failed = client.ask(tools=[{**self.PROD, "require_approval": "never"}])[1]["output"]
        assert failed[0]["tools"][1]["description"] == "Undo."
        assert failed[1]["error"]["content"] == [{"type": "text", "text": "no such ref"}]

    def test_settings_limit_the_rate(self, client: KeyClient) -> None:
        limit = {"limit": 3, "used": 3, "requested": 1, "seconds": 20.5}
        client.act("script", {"organization": {"rate_limit": limit}})
        status, said = client.ask()
        assert (status, said["error"]["code"]) == (429, "rate_limit_exceeded")
        client.act("script", {"organization": {"rate_limit": None}})
        assert client.text() == "unscripted"

    def test_settings_say_which_provider_it_is(self, client: KeyClient) -> None:
        client.act("script", {"dialect": "azure"})
        assert client.ask()[0] == 404
        client.act("script", {"dialect": None})
        assert client.ask()[0] == 200

    @pytest.mark.parametrize(
        ("settings", "problem"),
        [
            ({"organization": {"zrd": True}}, "organization.zrd: no member 'zrd'. Did you mean 'zdr'?"),
            ({"organization": {"name": None}}, "organization.name: name is null. Pass a text."),
            ({"organization": {"largest_file": -1}}, "largest_file is -1. Pass a non-negative integer."),
            ({"organization": {"models": "gpt-4.1"}}, 'models is "gpt-4.1". Pass a list of texts, or null for all.'),
            ({"organization": {"files": None}}, "files is null. Pass a list of texts."),
            ({"organization": {"agents": {"a": 1}}}, "Pass an object of objects, or null."),
            ({"organization": {"rate_limit": 3}}, "rate_limit is 3. Pass an object with limit, used and requested"),
            ({"organization": {"rate_limit": {}}}, "rate_limit: limit, used, requested is missing."),
            ({"organization": {"rate_limit": {"seconds": -1}}}, "seconds is -1. Pass a non-negative number."),
            ({"organization": []}, "organization: [] is not an object. Its members: name, models, "),
            ({"mcp": ["prod"]}, 'mcp: mcp is ["prod"]. Use an object with the names'),
            ({"mcp": {"prod": "deploy"}}, 'mcp.prod: the tools of a server is "deploy". Use an object'),
            (
                {"mcp": {"prod": {"a": {"error": {"type": "odd"}}}}},
                "mcp.prod.a: mcp_call('prod', 'a') is not valid output of the API",
            ),
            (
                {"mcp": {"prod": {"a": {"result": 1, "error": "b"}}}},
                "mcp.prod: mcp('prod'): tool 'a' has result, error.",
            ),
            ({"files": ["a.txt"]}, 'files: files is ["a.txt"]. Use an object'),
            ({"files": {"a.txt": 4}}, "files.a.txt: 4 is not an object. Its members: data, base64, "),
            ({"files": {"a.txt": {"base64": "?"}}}, 'files.a.txt.base64: base64 is "?". Use base64'),
            ({"files": {"a.txt": {"expires_after": 1.5}}}, "expires_after is 1.5. Pass a non-negative integer."),
            (
                {"vector_stores": {"a": {"file": []}}},
                "vector_stores.a.file: no member of a vector store 'file'. Did you mean",
            ),
            ({"vector_stores": {"a": {"expires_after": {"days": "x"}}}}, 'Pass an object, {"anchor"'),
            ({"dialect": "klingon"}, "dialect: dialect='klingon': use one of openai, azure, foundry"),
            (
                {"as_of": "soon"},
                "as_of: as_of: 'soon' is not a date; pass a day or a month, such as 2026-03-15 or 2026-03.",
            ),
        ],
    )
    def test_settings_that_do_not_fit_say_where_and_what_does(
        self, client: KeyClient, settings: Any, problem: str
    ) -> None:
        assert problem in client.refused("script", settings)
        assert client.text() == "unscripted"


class TestTime:
    def test_advance_moves_background_responses_on(self, client: KeyClient) -> None:
        client.act("script", {"automatic": False})
        made = client.ask(background=True)[1]
        assert client.send("GET", f"/v1/responses/{made['id']}")[1]["status"] == "queued"
        assert client.act("advance", {})[1][0]["status"] == "in_progress"
        assert client.act("advance", {"id": made["id"]})[1][0]["status"] == "completed"
        assert client.send("GET", f"/v1/responses/{made['id']}")[1]["status"] == "completed"
        assert client.act("advance", {}) == (200, [])

    def test_time_passes(self, client: KeyClient) -> None:
        now = client.act("skip", {"seconds": 0})[1]["now"]
        assert client.act("skip", {"seconds": 3600}) == (200, {"now": now + 3600})
        assert client.ask()[1]["created_at"] > now + 3600

    @pytest.mark.parametrize(
        ("path", "body", "problem"),
        [
            ("advance", {"id": "resp_1"}, "advance: no background response or run"),
            ("advance", {"id": 4}, "id is 4. Pass a text."),
            ("advance", {"ids": []}, "ids: no member 'ids'. Did you mean 'id'?"),
            ("skip", {}, "seconds is null. Pass a non-negative integer."),
            ("skip", {"seconds": -1}, "seconds is -1."),
            ("skip", {"seconds": 10**30}, "Pass a non-negative integer."),
        ],
    )
    def test_time_does_not_pass_otherwise(self, client: KeyClient, path: str, body: Any, problem: str) -> None:
        assert problem in client.refused(path, body)


class TestTheReport:
    def test_the_report_begins_with_the_cause(self, client: KeyClient) -> None:
        client.act("script", {"turns": [{"message": "never asked for"}]})
        client.ask(temperature="hot")
        told = client.look("report")
        assert told["report"].startswith(told["verdict"])
        assert "  where   temperature = " in told["verdict"]
        assert '"temperature": "hot"' not in told["report"]

    def test_the_report_shows_bodies_and_evidence_on_demand(self, client: KeyClient) -> None:
        client.ask(temperature="hot")
        told = client.look("report?verbose=true")
        assert '"temperature": "hot"' in told["report"]

    @pytest.mark.parametrize("language", ["json", "javascript"])
    def test_the_report_says_how_it_shows_more(self, client: KeyClient, language: str) -> None:
        client.act("world", {"name": "it", "language": language})
        client.ask(temperature="hot")
        client.ask(temperature="cold")
        told = client.look("report")
        for text in told.values():
            assert "\nand 1 more; GET /_harness/report?verbose=true shows them:\n  Request 2 was refused" in text

    def test_the_report_can_leave_out_what_is_allowed(self, client: KeyClient) -> None:
        turns = [{"message": text} for text in ("Paris it is.", "Sure.", "Never asked for.")]
        client.act("script", {"script": turns})
        client.ask("Where?")
        said = [("user", "Where?"), ("assistant", "Paris it is.Paris it is."), ("user", "Sure?")]
        client.ask([{"role": role, "content": text} for role, text in said])
        fails = {"unused=allow": "text-altered", "unused=allow&losses=strict": "text-altered"}
        fails |= dict.fromkeys(("losses=allow", "losses=text-altered,phase-dropped"), "1 turn of the script")
        for query, verdict in fails.items():
            assert verdict in client.look(f"report?{query}")["verdict"]
        assert client.look("report?unused=allow&losses=allow")["verdict"] is None
        status, told = client.send("GET", "/_harness/report?losses=text-altred")
        assert (status, "Did you mean 'text-altered'?" in told["error"]["message"]) == (400, True)
        status, told = client.send("GET", "/_harness/report?unused=maybe")
        assert (status, told["error"]["message"]) == (400, "unused is \"maybe\": Input should be 'fail' or 'allow'.")

    def test_the_report_offers_what_allows_its_cause(self, client: KeyClient) -> None:
        client.act("world", {"name": "it", "language": "json"})
        client.act("script", {"script": [{"message": text} for text in ("Paris it is.", "Sure.")]})
        client.ask("Where?")
        allowed = "\n  allow   GET /_harness/report?{}=allow\n"
        assert allowed.format("unused").strip("\n") in client.look("report")["verdict"]
        said = [("user", "Where?"), ("assistant", "Paris it is.Paris it is."), ("user", "Sure?")]
        client.ask([{"role": role, "content": text} for role, text in said])
        assert allowed.format("losses") in client.look("report")["verdict"]

    def test_the_report_has_no_verdict_when_nothing_is_wrong(self, client: KeyClient) -> None:
        client.ask()
        told = client.look("report")
        assert told["verdict"] is None
        assert "hi" in told["report"]


class TestAWrongQuery:
    @pytest.mark.parametrize(
        ("query", "problem"),
        [
            ("calls?nam=f", "/_harness/calls: no parameter 'nam'. Did you mean 'name'?"),
            ("usage?verbose=true", "/_harness/usage: no parameter 'verbose'. It takes none."),
            ("report?losses=allow&losses=fail", "/_harness/report: losses is set twice. Remove one."),
            ("report?verbose=%FF", 'verbose is "�": Input should be a valid boolean, unable to interpret input.'),
            ("view/case?after=1", "id is null: Field required."),
        ],
    )
    def test_a_wrong_query_is_refused_by_name(self, client: KeyClient, query: str, problem: str) -> None:
        status, said = client.send("GET", f"/_harness/{query}")
        assert (status, said["error"]["message"]) == (400, problem)

    @pytest.mark.parametrize(
        ("request_line", "status", "problem"),
        [
            (
                "GET /_harness/cals",
                404,
                "no control request GET /cals. Did you mean '/calls'? /_harness/docs describes",
            ),
            ("POST /_harness/calls", 405, "no control request POST /calls. Send GET. /_harness/docs describes all."),
        ],
    )
    def test_or_a_wrong_path_is(self, client: KeyClient, request_line: str, status: int, problem: str) -> None:
        found, said = client.send(*request_line.split())
        assert found == status
        assert said["error"]["message"].startswith(problem)


class TestHowAClientAsks:
    COUNTED: ClassVar = {"x-stainless-retry-count": "1"}

    def test_how_a_client_asks_is_in_the_verdict_when_it_can_be_no_intention(self, client: KeyClient) -> None:
        client.act("expect", {"refusals": "allow"})
        client.ask(temperature=9)
        client.headers |= self.COUNTED
        client.ask(temperature=9)
        told = client.look("report")["verdict"]
        assert told.startswith("Client retried-non-retryable: request 2 repeats request 1, which was refused with 400")
        assert '\n  allow   with mock.allows("retried-non-retryable"): …' in told
        assert client.look("retries")[0]["reason"] == "400"
        client.act("script", {"client": ["retried-non-retryable"]})
        client.ask(temperature=8)
        assert client.look("report?client=allow")["verdict"] is None

    def test_how_a_client_asks_is_judged_strictly_on_demand(self, client: KeyClient) -> None:
        client.act("script", {"turns": ["one", "two"]})
        assert [client.ask()[0], client.ask()[0]] == [200, 200]
        assert client.look("report")["verdict"] is None
        told = client.look("report?client=strict")["verdict"]
        assert told.startswith("Client duplicate-create: request 2 repeats request 1, and both took a turn")
        assert client.send("GET", "/_harness/report?client=maybe")[0] == 400

    def test_how_a_client_asks_may_be_allowed_before(self, client: KeyClient) -> None:
        client.act("script", {"client": "strict", "script": ["one", "two"]})
        client.act("script", {"client": ["duplicate-create"], "patience": 5})
        assert [client.ask()[0], client.ask()[0]] == [200, 200]
        assert client.look("report")["verdict"] is None

    @pytest.mark.parametrize(
        ("sent", "words"),
        [
            ({"client": "strct"}, "client: "),
            ({"client": ["no-backof"]}, "Did you mean"),
            ({"client": 3}, "client: "),
            ({"patience": 0}, "patience: "),
            ({"patience": True}, "patience: "),
        ],
    )
    def test_client_settings_that_make_no_sense_are_refused(
        self, client: KeyClient, sent: dict[str, Any], words: str
    ) -> None:
        assert words in client.refused("script", sent)


class TestRefusals:
    def refuse(self, client: KeyClient) -> None:
        assert client.ask(temperature=3)[0] == 400

    def verdict(self, client: KeyClient) -> Any:
        return client.look("report")["verdict"]

    def test_refusals_that_nobody_asked_for_are_a_verdict(self, client: KeyClient) -> None:
        self.refuse(client)
        assert self.verdict(client).startswith("Request 1 was refused (400): Invalid 'temperature'")

    def test_refusals_are_remembered_when_the_journal_has_dropped_them(self) -> None:
        with serve_in_thread(MockApi(fallback=lambda _: [message("hi")], limits=Limits(exchanges=2))) as server:
            client = KeyClient(server.port, "sk-short")
            self.refuse(client)
            for _ in range(5):
                client.ask()
            assert len(client.look("exchanges")) < 6
            assert self.verdict(client).startswith("Request 1 was refused (400): Invalid 'temperature'")

    @pytest.mark.parametrize(
        "named", ["number_above_maximum", "shape", "Invalid 'temperature'", ["number_above_maximum"], "allow"]
    )
    def test_refusals_can_be_expected(self, client: KeyClient, named: Any) -> None:
        assert client.act("expect", {"refusals": named}) == (200, {"expected": 1, "ended": []})
        self.refuse(client)
        assert self.verdict(client) is None

    def test_refusals_are_expected_until_others_are(self, client: KeyClient) -> None:
        client.act("expect", {"refusals": "shape"})
        self.refuse(client)
        ended = [{"refusals": "shape", "exchanges": [1]}]
        assert client.act("expect", {"refusals": []}) == (200, {"expected": 0, "ended": ended})
        assert self.verdict(client) is None
        self.refuse(client)
        assert self.verdict(client).startswith("Request 2 was refused")

    def test_refusals_that_were_expected_have_to_come(self, client: KeyClient) -> None:
        client.act("expect", {"refusals": ["shape", "tools"]})
        self.refuse(client)
        assert self.verdict(client) == (
            'No request was refused by "tools", which was expected.\n'
            "  came    request 1 was refused (400) by number_above_maximum: "
            "Invalid 'temperature': decimal above maximum value.\n          Expected a value <= 2, but got 3 instead\n"
            "  manual  responses-harness manual an-expected-refusal-did-not-come"
        )

    def test_refusals_that_are_allowed_need_not_come(self, client: KeyClient) -> None:
        client.act("expect", {"refusals": "allow"})
        assert self.verdict(client) is None

    def test_refusals_of_a_script_file_are_allowed(self, client: KeyClient) -> None:
        client.act("script", {"refusals": ["shape", "tools"]})
        self.refuse(client)
        assert self.verdict(client) is None

    def test_refusals_of_the_account_were_asked_for(self, client: KeyClient) -> None:
        client.act("script", {"organization": {"models": ["gpt-4o"]}})
        assert client.ask()[0] == 400
        assert self.verdict(client) is None

    @pytest.mark.parametrize("body", [{}, {"refusals": 1}, {"refusals": ""}, {"refusals": [1]}, {"refusal": "shape"}])
    def test_refusals_have_names(self, client: KeyClient, body: Any) -> None:
        assert "refusal" in client.refused("expect", body)


class TestWhatHappened:
    def test_the_flow_shows_what_happened(self, client: KeyClient) -> None:
        client.ask("Where?")
        told = client.look("flow")
        assert "Where?" in told["text"]
        assert told["mermaid"].startswith("sequenceDiagram")
        assert list(told["lanes"].values()) == [[1]]
        assert told["hand_offs"] == []

    def test_the_report_shows_what_the_client_lost(self, client: KeyClient) -> None:
        client.act("script", {"turns": [{"message": "Paris it is."}, {"message": "Sure."}]})
        client.ask("Where?")
        told = [{"role": "assistant", "content": "Paris it is.Paris it is."}]
        client.ask([{"role": "user", "content": "Where?"}, *told, {"role": "user", "content": "Sure?"}])
        (lost,) = client.look("losses")
        assert (lost["loss"], lost["exchange"], lost["said"]) == ("text-altered", 2, 1)


class TestAGate:
    def test_a_gate_holds_a_stream_until_it_is_opened(self, client: KeyClient) -> None:
        turn = [{"message": "Once upon a time"}, {"pause": {"after": 3, "until": "shown"}}]
        client.act("script", {"turns": [turn]})
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=10)
        body = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True})
        connection.request("POST", "/v1/responses", body, client.headers)
        answer = connection.getresponse()
        before = [answer.readline() for _ in range(9)]
        assert sum(line.startswith(b"event: ") for line in before) == 3
        assert client.act("open", {"gate": "shown"}) == (200, {"open": "shown"})
        assert b"response.completed" in answer.read()
        connection.close()

    def test_a_gate_has_a_name(self, client: KeyClient) -> None:
        assert client.refused("open", {"gate": 4}).startswith("`gate` must be the name of a gate")


SCHEMATHESIS = Environment("openapi", ("schemathesis>=4.32,<5",))


def test_every_body_and_every_refusal_is_described():
    paths = control_app(MockApi()).openapi()["paths"]
    for method, path, _ in CONTROLS:
        operation = paths[f"{CONTROL_ROOT}{path}"][method.lower()]
        assert {"200", "400", "401", "403"} <= operation["responses"].keys()
        assert ("requestBody" in operation) is (method == "POST"), path
    assert {path for method, path, _ in CONTROLS if method == "POST"} == BODIES.keys()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_request_gets_an_undocumented_answer():
    """In an environment of its own: schemathesis is a plugin of pytest, too, and would delay every run of it."""
    python = python_of(SCHEMATHESIS, prepared(SCHEMATHESIS))
    command = [str(python), "-m", "tests.server.control_plane.schemathesis_run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sent, *_ = done.stdout.splitlines()[-1].split()
    assert int(sent) > 800

"""What a bounded server keeps: the newest exchanges and responses of a World, the Worlds that were used last."""

import gc
import signal
import tracemalloc
from typing import Any

import pytest

from harness.core.limits import Limits
from harness.items import code_interpreter_call, mcp_approval_request, message, reasoning
from harness.report.judge_world import judge_world
from harness.server import keyed_worlds
from harness.server.mock_api import MockApi
from tests.support.command_line import run_cli
from tests.support.in_process import KEY, ask, send
from tests.support.servers.live_server import request_head
from tests.support.servers.served import read_until, serving

MODEL = "gpt-5"
KEPT = 20


def bounded(**limits: int) -> MockApi:
    return MockApi(fallback=lambda _: [reasoning("hm"), message("ok")], limits=Limits(**limits))


def sizes(api: MockApi, key: str = KEY) -> dict[str, int]:
    """Return the entries of every table and list of a World that requests can add to."""
    world = api.worlds[key]
    lists = {"exchanges": world.exchanges, "problems": world.problems, "approvals": list(world.approval_ledger)}
    return {name: len(table) for name, table in world.store.tables.items()} | {
        name: len(kept) for name, kept in lists.items()
    }


class TestResponses:
    def test_responses_of_too_many_the_oldest_is_gone_as_an_expired_one_is(self) -> None:
        api = bounded(responses=2)
        first, *rest = [ask(api).body["id"] for _ in range(3)]
        gone = ask(api, previous_response_id=first)
        assert (gone.status, gone.body["error"]["message"]) == (400, f"Previous response with id '{first}' not found.")
        assert [ask(api, previous_response_id=id).status for id in rest] == [200, 200]

    def test_a_chain_goes_on_with_all_of_its_items(self) -> None:
        api, previous = bounded(responses=2), None
        for _ in range(9):
            previous = ask(api, previous_response_id=previous).body["id"]
        answer = ask(api, previous_response_id=previous)
        assert answer.status == 200
        assert len(list(api.worlds[KEY].store.responses[answer.body["id"]].chain)) == 30

    def test_an_item_that_a_newer_response_holds_too_stays(self) -> None:
        api = bounded(responses=2)
        said = {"id": "msg_own", "type": "message", "role": "user", "content": "mine"}
        for _ in range(4):
            ask(api, input=[said])
        assert ask(api, input=[{"type": "item_reference", "id": "msg_own"}]).status == 200

    def test_items_of_a_conversation_stay_with_it(self) -> None:
        api = bounded(responses=2)
        conversation = send(api, "POST /v1/conversations", {}).body["id"]
        for _ in range(4):
            assert ask(api, conversation=conversation).status == 200
        page = send(api, f"GET /v1/conversations/{conversation}/items")
        assert len(page.body["data"]) == 12
        assert ask(api, input=[{"type": "item_reference", "id": page.body["data"][-1]["id"]}]).status == 200

    def test_a_response_under_way_in_the_background_can_be_dropped(self) -> None:
        api = bounded(responses=1)
        for _ in range(3):
            ask(api, background=True)
        assert len(api.worlds[KEY].store.pending) == 1


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"store": False},
        {"store": False, "include": ["reasoning.encrypted_content"]},
        {"stream": True},
        {"background": True},
        {"input": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]},
        {"model": "no-such model"},
        {"seed": 1},
    ],
    ids=str,
)
def test_no_table_of_a_world_grows_beyond_its_limit(members: dict[str, Any]) -> None:
    turns = [reasoning("hm", encrypted_content=None), code_interpreter_call("1"), message("ok")]
    api = MockApi(fallback=lambda _: turns, limits=Limits(exchanges=KEPT, responses=KEPT))
    tools = [{"type": "code_interpreter", "container": {"type": "auto"}}]
    measured = []
    for _ in range(2):
        for _ in range(15 * KEPT):
            ask(api, **{"tools": tools, **members})
        measured.append(sizes(api))
    assert max(measured[1].values()) <= 10 * KEPT
    assert max(measured[1][name] for name in ("exchanges", "responses", "problems")) <= KEPT
    assert all(later <= before + KEPT for before, later in zip(*(sizes.values() for sizes in measured), strict=True))


def test_unanswered_requests_and_approvals_are_bounded_too() -> None:
    api = MockApi(limits=Limits(exchanges=KEPT, responses=KEPT))
    for _ in range(3 * KEPT):
        ask(api)
    assert len(api.worlds[KEY].problems) <= KEPT
    asking = [mcp_approval_request("prod", "deploy", {})]
    api = MockApi(fallback=lambda _: asking, limits=Limits(exchanges=KEPT, responses=KEPT))
    for _ in range(3 * KEPT):
        assert (
            ask(api, tools=[{"type": "mcp", "server_label": "prod", "server_url": "https://a.example"}]).status == 200
        )
    assert len(list(api.worlds[KEY].approval_ledger)) <= KEPT


def test_the_report_says_what_the_journal_has_dropped() -> None:
    api = bounded(exchanges=2)
    for number in range(1, 5):
        ask(api)
        dropped = "Not checked for losses" in judge_world(api.open(KEY)).report
        assert dropped == (number > 2)
    assert "the first 2 exchanges" in judge_world(api.open(KEY)).report


class TestWorlds:
    def test_worlds_of_too_many_the_least_recently_used_is_dropped(self) -> None:
        api = bounded(worlds=2)
        for key in ("sk-a", "sk-b", "sk-a", "sk-c"):
            ask(api, key=key)
        assert list(api.worlds) == ["sk-a", "sk-c"]
        assert api.dropped_count == 1

    def test_a_key_whose_world_was_dropped_is_not_found_in_order(self) -> None:
        api = bounded(worlds=1)
        ask(api, key="sk-a", seed=1)
        ask(api, key="sk-b")
        ask(api, key="sk-a")
        judged = judge_world(api.open("sk-a"))
        assert judged.verdict.startswith("The server dropped an earlier World of this key")
        assert "--worlds" in judged.verdict
        ask(api, key="sk-c")
        assert judge_world(api.open("sk-d")).verdict == ""

    def test_keys_of_the_worlds_that_were_dropped_last_are_remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keyed_worlds, "MAX_CLOSED", 2)
        api = bounded(worlds=1)
        for number in range(5):
            api.open(f"sk-{number}", f"World {number}")
        assert [api.name_closed(f"sk-{number}") for number in range(4)] == ["", "", "World 2", "World 3"]
        assert [api.open(key).world.was_dropped for key in ("sk-1", "sk-3")] == [False, True]

    def test_a_world_that_was_forgotten_on_demand_is_in_order(self) -> None:
        api = bounded(worlds=1)
        for key in ("sk-a", "sk-b"):
            ask(api, key=key)
        api.open("sk-a")
        api.close("sk-a")
        assert judge_world(api.open("sk-a")).verdict == ""


@pytest.mark.slow
def test_memory_is_flat_once_everything_is_full() -> None:
    api = bounded(exchanges=KEPT, responses=KEPT, worlds=KEPT)

    def work(rounds: int) -> int:
        for number in range(rounds):
            ask(api, key=f"sk-{number % 3}")
            ask(api, key=f"sk-once-{work.__name__}-{number}", store=False)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        full, later = work(300), work(300)
    finally:
        tracemalloc.stop()
    assert later < 1.1 * full


class TestTheOptionsOfServe:
    @pytest.mark.parametrize("option", ["--journal", "--keep", "--worlds"])
    @pytest.mark.parametrize("number", ["0", "-1", "many"])
    def test_the_options_of_serve_refuse_what_is_no_number_from_one_on(self, option: str, number: str) -> None:
        result = run_cli("serve", f"{option}={number}")
        assert result.exit_code == 2
        assert option in result.output

    def test_the_options_of_serve_refuse_a_port_that_there_is_not(self) -> None:
        result = run_cli("serve", "--port=65536")
        assert (result.exit_code, "65535" in result.output) == (2, True)

    @pytest.mark.slow
    def test_the_options_of_serve_bound_what_is_kept_and_the_end_says_what_was_dropped(self) -> None:
        with serving("--worlds", "1", "--journal", "2") as served:
            for key in ("sk-a", "sk-b", "sk-b", "sk-b"):
                body = b'{"model":"gpt-4.1","input":"hi"}'
                with served.say(request_head(body, key) + body) as wire:
                    read_until(wire, b'"usage"')
            _, code, errors = served.end(signal.SIGTERM)
        assert (code, errors) == (0, "dropped and not judged: 1 World, to keep no more than --worlds\n")

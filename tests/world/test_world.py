"""Everything one key can see: what it stored, its account, its journal, its clock; two Worlds share nothing."""

from dataclasses import fields
from typing import Any

import pytest

from harness.core.account import Organization, RateLimit
from harness.core.errors import ConfigError
from harness.core.exchange import Answer, Request
from harness.core.limits import Limits
from harness.items import message
from harness.items.transcript import EMPTY_CHAIN, ItemChain
from harness.server.mock_api import MockApi
from harness.world.api_call import ApiCall
from harness.world.mock import Mock
from harness.world.store import Conversation, Store, empty_store
from harness.world.world import CLOCK_START, GivenOptions, World, WorldOptions
from tests.support.calls import texts

USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}], "id": "msg_user"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}
SAID = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}


def response(id: str, *output: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "output": list(output)}


def ask(**members: Any) -> Request:
    return Request("POST", "/responses", body={"model": "gpt-4.1", "input": "hi", **members})


def said(mock: Mock, request: Request) -> str:
    (text,) = texts(mock.world.script.next(ApiCall(request, mock.world)).lines)
    return text


class TestWhatIsStored:
    @pytest.fixture
    def store(self) -> Store:
        return empty_store()

    def test_what_is_stored_can_be_continued(self, store: Store) -> None:
        store.put_response(response("resp_1", SAID), [USER], EMPTY_CHAIN)
        store.put_response(response("resp_2", CALL), [], store.chain_of({"previous_response_id": "resp_1"}))
        assert list(store.chain_of({"previous_response_id": "resp_2"})) == [USER, SAID, CALL]
        assert store.responses["resp_1"].input == [USER]

    def test_what_is_stored_is_resolved_with_what_a_request_adds(self, store: Store) -> None:
        store.put_response(response("resp_1", SAID), [USER], EMPTY_CHAIN)
        references = [{"type": "item_reference", "id": "msg_user"}, {"id": "msg_x"}]
        transcript = store.transcript({"previous_response_id": "resp_1", "input": references})
        assert (transcript.items, transcript.added) == ([USER, SAID, USER], [USER])
        assert transcript.missing_references == ("msg_x",)

    def test_what_is_stored_can_be_referred_to_by_the_ids_of_its_items(self, store: Store) -> None:
        without_id = {"type": "message", "role": "user", "content": "no id"}
        store.put_response(response("resp_1", SAID), [USER, without_id], EMPTY_CHAIN)
        assert set(store.items) == {"msg_user", "msg_1"}

    @pytest.mark.parametrize("named", ["conv_1", {"id": "conv_1"}])
    def test_what_is_stored_may_be_a_conversation(self, store: Store, named: Any) -> None:
        store.conversations["conv_1"] = Conversation({"id": "conv_1"}, ItemChain([USER]))
        assert list(store.chain_of({"conversation": named})) == [USER]

    @pytest.mark.parametrize(
        "body",
        [{}, {"previous_response_id": "resp_0"}, *({"conversation": named} for named in ("conv_0", 5, {"id": 5}))],
    )
    def test_what_is_stored_is_nothing_for_a_request_that_continues_nothing(
        self, store: Store, body: dict[str, Any]
    ) -> None:
        assert list(store.chain_of(body)) == []

    def test_links_reasoning_with_the_item_that_follows(self, store: Store) -> None:
        store.put_response(response("resp_1", THOUGHT, CALL, SAID), [], EMPTY_CHAIN)
        assert store.reasoning_of == {"fc_1": "rs_1"}
        assert store.follower_of == {"rs_1": ("fc_1",)}

    def test_links_reasoning_that_ended_it_with_nothing(self, store: Store) -> None:
        store.put_response(response("resp_1", THOUGHT), [], EMPTY_CHAIN)
        assert (store.reasoning_of, store.follower_of) == ({}, {})


def test_items_are_given_ids_of_their_kind_where_they_have_none() -> None:
    items = [{"type": "message"}, {"type": "function_call_output"}, {"type": "reasoning"}, {"type": "odd"}, USER]
    given = World().add_item_ids(items, "resp_1", CLOCK_START)
    assert [item["id"].partition("_")[0] for item in given] == ["msg", "fc", "rs", "item", "msg"]
    assert given[-1] == USER


class TestItsAccount:
    def test_its_account_is_what_the_server_was_given(self) -> None:
        assert World(options=WorldOptions(organization=Organization(zdr=True))).account.zdr
        assert World().account == Organization()

    def test_its_account_is_changed_by_name(self) -> None:
        world = World()
        assert world.organization(models=["gpt-4.1"], zdr=True) is world.account
        assert world.organization(prompts={"pmpt_1"}).models == frozenset({"gpt-4.1"})
        assert world.account.prompts == frozenset({"pmpt_1"})
        assert world.account.zdr

    def test_its_account_has_only_what_it_has(self) -> None:
        with pytest.raises(ConfigError, match=r"organization\(colour, size=…\): it has name, models, scopes"):
            World().organization(size=1, colour=2)

    @pytest.mark.parametrize(
        ("what", "kind"), [("requests per min (RPM)", "requests"), ("tokens per min (TPM)", "tokens")]
    )
    def test_its_account_names_the_kind_of_a_limit(self, what: str, kind: str) -> None:
        assert RateLimit(1, 1, 1, what).kind == kind


class TestItsScript:
    def test_its_script_may_be_extended_on_its_route(self) -> None:
        mock = Mock()
        assert len(mock.script(message("one")).script(message("two")).turns) == 2

    def test_its_script_without_conditions_would_be_a_route_for_everything(self) -> None:
        mock = Mock()
        mock.when().script(message("any"))
        assert said(mock, ask()) == "any"


class TestItsJournal:
    def test_its_journal_counts_from_one(self) -> None:
        world = World()
        for status in (200, 400):
            world.add_exchange(ask(), Answer(status))
        assert [(exchange.number, exchange.status) for exchange in world.exchanges] == [(1, 200), (2, 400)]

    @pytest.mark.parametrize("keep", [1, 5])
    def test_its_journal_keeps_the_latest_when_it_is_bounded(self, keep: int) -> None:
        world = World(options=WorldOptions(limits=Limits(exchanges=keep)))
        for _ in range(100):
            world.add_exchange(ask(), Answer(200))
            assert len(world.exchanges) == min(world.exchange_count, keep)
        assert world.exchanges[-1].number == world.exchange_count == 100


class TestTwoWorlds:
    def test_two_worlds_have_their_own_clocks_and_ids(self) -> None:
        one, other = World("one"), World("other")
        assert [one.tick(), one.tick(), other.tick()] == [CLOCK_START + 1, CLOCK_START + 2, CLOCK_START + 1]
        assert one.ids.request() != other.ids.request()


def test_each_option_may_be_given_as_an_argument() -> None:
    assert list(GivenOptions.__annotations__) == [option.name for option in fields(WorldOptions)]


def test_an_argument_is_an_option_of_each_world() -> None:
    api = MockApi(as_of="2025-09-01", dialect="azure")
    assert api.options == WorldOptions(as_of="2025-09-01", dialect="azure")
    assert api.open("sk-1").world.as_of == "2025-09-01"

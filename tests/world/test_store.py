"""The store: chains that share their items, and tables that may keep their objects anywhere."""

import tracemalloc

import pytest

from harness.core.registry import BOUNDED_TABLES
from harness.items.transcript import EMPTY_CHAIN, ItemChain
from harness.world.store import empty_store
from tests.support.in_process import Client


def item(number: int) -> dict[str, int]:
    return {"id": number}


class TestAChain:
    def test_a_chain_has_the_items_of_all_its_links_in_order(self) -> None:
        chain = EMPTY_CHAIN.extend(item(1), item(2)).extend().extend(item(3))
        assert list(chain) == [item(1), item(2), item(3)]
        assert list(EMPTY_CHAIN) == []

    def test_forks(self) -> None:
        trunk = EMPTY_CHAIN.extend(item(1))
        assert (list(trunk.extend(item(2))), list(trunk.extend(item(3)))) == ([item(1), item(2)], [item(1), item(3)])

    @pytest.mark.slow
    def test_a_chain_of_any_length_is_read_and_freed_without_recursion(self) -> None:
        chain = EMPTY_CHAIN
        for number in range(100_000):
            chain = ItemChain((item(number),), chain)
        assert len(list(chain)) == 100_000
        del chain

    def test_a_chain_costs_what_its_responses_add(self) -> None:
        store, turns = empty_store(), 300
        tracemalloc.start()
        sizes = []
        for number in range(2 * turns):
            previous = store.chain_of({"previous_response_id": f"resp_{number - 1}"})
            store.put_response({"id": f"resp_{number}", "output": []}, [{"type": "message"}], previous)
            if number in (turns - 1, 2 * turns - 1):
                sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert sizes[1] < 2.5 * sizes[0]


def test_tables_of_other_packages_keep_their_newest_entries_where_responses_are_limited() -> None:
    store = empty_store()
    [name, *_] = BOUNDED_TABLES
    store.declared[name] = {str(number): number for number in range(21)}
    store.keep_newest_besides(2)
    assert [*store.declared[name].values()] == [*range(1, 21)]


def test_a_chain_outlives_the_responses_it_goes_through() -> None:
    client = Client()
    first = client.ask("one").body["id"]
    second = client.ask("two", previous_response_id=first).body["id"]
    client.send(f"DELETE /responses/{first}")
    third = client.ask("three", previous_response_id=second)
    chain = client.world.store.responses[third.body["id"]].chain
    assert [item["role"] for item in chain] == ["user", "assistant"] * 3

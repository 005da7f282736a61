"""`/models`: those of the key by name, one alone, and a fine-tuned one forgotten."""

from __future__ import annotations

from harness.world.world import CLOCK_START
from tests.support.in_process import Client, error

TUNED = "ft:gpt-4.1:acme::1"


def names(client: Client) -> list[str]:
    return [model["id"] for model in client.send("GET /models").body["data"]]


def test_a_key_that_lists_none_has_those_that_are_known_and_not_gone_on_its_day(client: Client) -> None:
    client.world.set_date("2026-05-01")
    there = names(client)
    assert there == sorted(there)
    assert "gpt-4.1" in there
    gone = [name for name, family in client.world.models.items() if family.has_ended("2026-05-01")]
    assert gone
    assert not set(gone) & set(there)


def test_a_key_has_those_that_it_lists() -> None:
    client = Client(models=frozenset({"o3", TUNED}))
    assert names(client) == [TUNED, "o3"]
    assert client.send("GET /models/o3").body == {
        "id": "o3",
        "object": "model",
        "created": CLOCK_START,
        "owned_by": "system",
    }


def test_one_that_is_forgotten_is_gone(client: Client) -> None:
    assert client.send(f"DELETE /models/{TUNED}").body == {"id": TUNED, "object": "model", "deleted": True}
    assert error(client.send(f"GET /models/{TUNED}"))[0] == 404
    assert client.ask(model=TUNED).status == 400

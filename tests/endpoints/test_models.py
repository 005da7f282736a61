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


def test_a_deleted_model_is_gone():
    client = Client()
    name = "ft:gpt-4.1-mini:acme::9aBc"
    assert client.send(f"GET /models/{name}").status == 200
    assert client.send(f"DELETE /models/{name}").body == {"id": name, "object": "model", "deleted": True}
    words = (404, f"The model '{name}' does not exist", "model", "model_not_found")
    assert error(client.send(f"GET /models/{name}")) == words
    assert error(client.send(f"DELETE /models/{name}")) == words
    assert client.ask(model=name).status == 400


def test_a_listed_model_is_listed_until_it_is_deleted():
    client = Client(models=frozenset(["gpt-4.1", "ft:gpt-4.1:acme::1"]))
    client.send("DELETE /models/ft:gpt-4.1:acme::1")
    assert [entry["id"] for entry in client.send("GET /models").body["data"]] == ["gpt-4.1"]
    assert client.send("DELETE /models/gpt-4.1").status == 403

"""`/models`: those of the key by name, one alone, and a fine-tuned one forgotten."""

from harness.api.models import MODELS
from harness.world.world import CLOCK_START
from tests.support.in_process import Client, error, send

TUNED = "ft:gpt-4.1:acme::1"


def names(client: Client) -> list[str]:
    return [model["id"] for model in client.send("GET /models").body["data"]]


def test_a_key_that_lists_none_has_those_that_are_known_and_has_any_other_by_its_name(client: Client) -> None:
    listed = client.send("GET /models").body["data"]
    assert [model["id"] for model in listed] == sorted(name for name, family in MODELS.items() if not any(family.ends))
    assert {model["object"] for model in listed} == {"model"}
    assert client.send("GET /models/my-own").body["id"] == "my-own"


def test_a_key_has_no_model_that_is_gone_on_its_day(client: Client) -> None:
    client.world.set_date("2026-05-01")
    there = names(client)
    assert "gpt-4.1" in there
    gone = [name for name, family in client.world.models.items() if family.has_ended("2026-05-01")]
    assert gone
    assert not set(gone) & set(there)


def test_a_key_has_those_that_it_lists(client: Client) -> None:
    client.mock.organization(models=["o3", TUNED])
    assert names(client) == [TUNED, "o3"]
    shown = {"id": "o3", "object": "model", "created": CLOCK_START, "owned_by": "system", "shutdown_date": "2026-12-11"}
    assert client.send("GET /models/o3").body == shown
    unknown = (404, "The model 'gpt-4.1' does not exist", "model", "model_not_found")
    assert error(client.send("GET /models/gpt-4.1")) == unknown


def test_a_model_has_the_day_of_its_shutdown_or_null_if_none_is_announced(client: Client) -> None:
    days = {model["id"]: model["shutdown_date"] for model in client.send("GET /models").body["data"]}
    assert (days["gpt-4o"], days["gpt-6.2-sol"]) == ("2027-01-14", None)
    assert client.send(f"GET /models/{TUNED}").body["shutdown_date"] == "2027-01-14"


def test_a_model_has_no_such_day_on_azure_or_before_it_was_seen(client: Client) -> None:
    shown = {"id": "gpt-4o", "object": "model", "created": CLOCK_START, "owned_by": "system"}
    assert send(client.api, "GET /openai/v1/models/gpt-4o").body == shown
    client.world.set_date("2026-10-27")
    assert client.send("GET /models/gpt-4o").body == shown
    client.world.set_date("2026-10-28")
    assert "shutdown_date" in client.send("GET /models/gpt-4o").body


def test_a_deleted_model_is_gone(client: Client) -> None:
    assert client.send(f"GET /models/{TUNED}").status == 200
    assert client.send(f"DELETE /models/{TUNED}").body == {"id": TUNED, "object": "model", "deleted": True}
    words = (404, f"The model '{TUNED}' does not exist", "model", "model_not_found")
    for method in ("GET", "DELETE"):
        assert error(client.send(f"{method} /models/{TUNED}")) == words
    assert client.ask(model=TUNED).status == 400


def test_a_listed_model_is_listed_until_it_is_deleted(client: Client) -> None:
    client.mock.organization(models=["gpt-4.1", TUNED])
    client.send(f"DELETE /models/{TUNED}")
    assert names(client) == ["gpt-4.1"]
    assert client.send("DELETE /models/gpt-4.1").status == 200
    assert names(client) == []

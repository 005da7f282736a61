"""`/webhook_endpoints`: what the code under test registers by the SDK, and what is delivered there."""

from typing import Any

import openai
import pytest
from flask import Flask, request
from openai import OpenAI

from harness.items import message
from harness.world.mock import Mock

PUBLIC = "https://shop.example.org/openai/hook"
ENDED = ["response.completed"]


@pytest.fixture
def sdk(mock: Mock) -> OpenAI:
    return OpenAI(max_retries=0)


class Shop:
    """An application that registers its hook when it starts, and verifies with the secret that it is given."""

    def __init__(self, client: OpenAI, url: str = PUBLIC) -> None:
        self.client = client
        self.endpoint = client.webhooks.create(name="jobs", url=url, event_types=ENDED)
        self.told: list[str] = []
        self.app = Flask("shop")
        self.app.add_url_rule("/openai/hook", view_func=self.hook, methods=["POST"])

    def hook(self) -> tuple[str, int]:
        try:
            event: Any = self.client.webhooks.unwrap(request.data, request.headers, secret=self.endpoint.signing_secret)
        except (openai.InvalidWebhookSignatureError, ValueError):
            return "", 400
        self.told.append(event.data.id)
        return "", 204


def run_job(mock: Mock, client: OpenAI) -> str:
    mock.script(message("Paris"))
    made = client.responses.create(model="gpt-4.1", input="capital?", background=True)
    mock.advance()
    mock.advance()
    return made.id


def test_an_endpoint_is_made_read_changed_and_forgotten(mock, sdk):
    made = sdk.webhooks.create(name="jobs", url=PUBLIC, event_types=["response.completed", "batch.failed"])
    assert made.signing_secret.startswith("whsec_")
    read = sdk.webhooks.retrieve(made.id)
    assert not hasattr(read, "signing_secret")
    assert (read.name, read.url, read.event_types) == ("jobs", PUBLIC, ["response.completed", "batch.failed"])
    assert read.signing_secret_hint.endswith(made.signing_secret[-4:])
    changed = sdk.webhooks.update(made.id, name="other")
    assert (changed.name, changed.url) == ("other", PUBLIC)
    assert changed.updated_at > made.updated_at
    assert sdk.webhooks.update(made.id, name="other").updated_at == changed.updated_at
    assert sdk.webhooks.delete(made.id).object == "webhook_endpoint.deleted"
    with mock.refuses("object_not_found"), pytest.raises(openai.NotFoundError):
        sdk.webhooks.retrieve(made.id)


def test_endpoints_are_listed_newest_first_by_pages(sdk):
    made = [sdk.webhooks.create(name=name, url=PUBLIC, event_types=["response.failed"]).id for name in "abc"]
    assert [endpoint.id for endpoint in sdk.webhooks.list(limit=2)] == made[::-1]
    assert "response.completed" in sdk.webhooks.event_types.list().data


@pytest.mark.parametrize(
    ("members", "param", "rule"),
    [
        ({"url": "http://localhost:8000/hook"}, "url", "string_pattern"),
        ({"event_types": []}, "event_types", "empty_array"),
        ({"event_types": ["response.done"]}, "event_types[0]", "invalid_value"),
        ({"name": ""}, "name", "empty_string"),
    ],
)
def test_what_the_api_refuses_is_refused(mock, sdk, members, param, rule):
    sent = {"name": "jobs", "url": PUBLIC, "event_types": ENDED, **members}
    with mock.refuses(rule), pytest.raises(openai.BadRequestError) as refused:
        sdk.webhooks.create(**sent)
    assert refused.value.param == param


def test_a_public_url_is_led_to_the_app_of_the_test(mock, sdk):
    receiver = Flask("shop")
    hook = mock.webhooks(receiver, url=PUBLIC, faults=["forged"])
    shop = Shop(sdk)
    receiver.add_url_rule("/openai/hook", view_func=shop.hook, methods=["POST"])
    assert hook.secret == shop.endpoint.signing_secret
    id = run_job(mock, sdk)
    assert shop.told == [id]
    told = [(made.url, made.signature, made.status) for made in mock.deliveries]
    assert told == [(PUBLIC, "wrong", 400), (PUBLIC, "valid", 204)]


def test_a_rotated_secret_signs_and_the_old_one_for_a_day_if_it_is_kept(mock, sdk):
    shop = Shop(sdk)
    endpoint = mock.world.webhooks.endpoints[shop.endpoint.id]
    assert endpoint.secret == shop.endpoint.signing_secret
    kept = sdk.webhooks.rotate_secret(shop.endpoint.id, keep_old_secret_active_for_24_hours=True)
    now = mock.world.now
    secrets = mock.world.webhooks.endpoints[shop.endpoint.id].secrets_at
    assert secrets(now) == [kept.signing_secret, shop.endpoint.signing_secret]
    assert secrets(now + 24 * 3600) == [kept.signing_secret]
    gone = sdk.webhooks.rotate_secret(shop.endpoint.id)
    assert mock.world.webhooks.endpoints[shop.endpoint.id].secrets_at(mock.world.now) == [gone.signing_secret]


@pytest.mark.harness(webhooks=["webhook-never-taken"])
def test_no_other_machine_is_asked(mock, sdk):
    sdk.webhooks.create(name="jobs", url=PUBLIC, event_types=ENDED)
    run_job(mock, sdk)
    (delivery,) = mock.deliveries
    assert delivery.status is None
    assert "shop.example.org is another machine" in delivery.error
    assert "mock.webhooks(app, url='https://shop.example.org/openai/hook')" in delivery.error


def test_events_that_an_endpoint_does_not_subscribe_to_are_not_delivered(mock, sdk):
    sdk.webhooks.create(name="jobs", url=PUBLIC, event_types=["batch.completed", "response.failed"])
    run_job(mock, sdk)
    assert mock.deliveries == []

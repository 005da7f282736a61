"""A delivery is signed so that the SDK and the library of Standard Webhooks verify it, and only then."""

import time

import openai
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from harness.core.webhooks import DEFAULT_SECRET, Signature, WebhookEvent, make_secret
from harness.server.webhook_courier import SignedRequest, make_attempt, sign_delivery
from harness.server.webhook_receivers import ReceiverAnswer
from harness.world.webhooks import DueDelivery, WebhookEndpoint
from harness.world.world import World

EVENT = WebhookEvent("evt_1", "response.completed", 1_790_000_000, "resp_1")
OTHER = make_secret(b"another secret of a test")


def signed(signature: Signature = "valid", **members: object) -> SignedRequest:
    endpoint = WebhookEndpoint("we_1", "http://localhost/hook", **members)  # type: ignore[arg-type]
    return sign_delivery(DueDelivery("we_1", EVENT, "wh_1", 0, signature=signature), endpoint, 0, int(time.time()))


def unwrap(request: SignedRequest, secret: str = DEFAULT_SECRET) -> object:
    client = openai.OpenAI(api_key="sk-1", webhook_secret=secret)
    return client.webhooks.unwrap(request.body, dict(request.headers))


def test_the_sdk_and_the_library_read_the_event():
    request = signed()
    event = unwrap(request)
    assert isinstance(event, openai.types.webhooks.ResponseCompletedWebhookEvent)
    assert (event.id, event.data.id, event.created_at) == ("evt_1", "resp_1", 1_790_000_000)
    assert Webhook(DEFAULT_SECRET).verify(request.body, dict(request.headers)) == EVENT.as_json()


@pytest.mark.parametrize("signature", ["wrong", "stale"])
def test_neither_takes_one_that_is_forged_or_old(signature):
    request = signed(signature)
    with pytest.raises(openai.InvalidWebhookSignatureError):
        unwrap(request)
    with pytest.raises(WebhookVerificationError):
        Webhook(DEFAULT_SECRET).verify(request.body, dict(request.headers))


def test_neither_takes_one_without_a_signature():
    request = signed("missing")
    assert request.headers["webhook-id"] == "wh_1"
    with pytest.raises(ValueError, match="webhook-signature"):
        unwrap(request)


def test_both_secrets_verify_while_one_is_rotated():
    request = signed(old_secret=OTHER, old_until=10)
    assert len(request.headers["webhook-signature"].split()) == 2
    assert unwrap(request) == unwrap(request, OTHER)


def test_the_old_secret_verifies_no_more_when_its_time_is_over():
    with pytest.raises(openai.InvalidWebhookSignatureError):
        unwrap(signed(old_secret=OTHER, old_until=0), OTHER)


def test_a_function_of_effects_that_raises_after_the_delivery_is_reported():
    calls = iter([1])
    endpoint = WebhookEndpoint(
        "we_1", "/hook", receiver=lambda url, request, timeout: ReceiverAnswer(200, 0.0), effects=lambda: next(calls)
    )
    delivery = make_attempt(DueDelivery("we_1", EVENT, "wh_1", 0), endpoint, World("sk-1"))
    assert (delivery.status, delivery.effect) == (200, (1, None))
    assert delivery.error.startswith("effects() raised StopIteration")

"""What is due at a webhook, when and in which order: data of the World, which nobody delivers here."""

from typing import Any

import pytest

from harness.core.errors import ConfigError
from harness.core.ids import Ids
from harness.core.webhooks import DEFAULT_SECRET, WebhookDelivery
from harness.world.mock import Mock
from harness.world.webhooks import DueDelivery, Webhooks
from harness.world.world import World

URL = "http://localhost:8000/hook"
NOW = 1_790_000_000
MINUTE, HOUR = 60, 3600


def ended(id: str = "resp_1", status: str = "completed") -> dict[str, Any]:
    return {"id": id, "status": status, "background": True}


def hooked(**options: Any) -> Webhooks:
    webhooks = Webhooks(Ids("test"))
    webhooks.add_endpoint(URL, **options)
    return webhooks


def told(**options: Any) -> Webhooks:
    """Return webhooks to which the end of a response is due."""
    webhooks = hooked(**options)
    webhooks.add_event(ended(), NOW)
    return webhooks


def take_all(webhooks: Webhooks, now: int = NOW) -> list[DueDelivery]:
    taken = []
    while due := webhooks.take_due(now):
        taken.append(due[0])
    return taken


def answer(webhooks: Webhooks, due: DueDelivery, status: int | None) -> None:
    event, id = due.event, due.webhook_id
    made = WebhookDelivery(event.type, event.response, id, URL, due.attempt, due.at, due.signature, status)
    webhooks.record(due, made)


class TestAnEvent:
    @pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "incomplete"])
    def test_an_event_tells_how_a_response_has_ended(self, status):
        webhooks = hooked()
        webhooks.add_event(ended(status=status), NOW)
        (due,) = take_all(webhooks)
        event = due.event.as_json()
        assert event.pop("id").startswith("evt_")
        assert event == {"object": "event", "created_at": NOW, "type": f"response.{status}", "data": {"id": "resp_1"}}

    def test_an_event_goes_to_each_endpoint_that_subscribes_to_it(self):
        webhooks = hooked(events=["response.failed"])
        other = webhooks.add_endpoint("http://localhost:9000")
        webhooks.add_event(ended(), NOW)
        assert [due.endpoint for due in take_all(webhooks)] == [other.id]

    def test_an_event_is_dropped_with_its_endpoint(self):
        webhooks = told()
        webhooks.endpoints.clear()
        assert take_all(webhooks) == []

    def test_an_event_is_delivered_alike_however_long_it_takes(self):
        webhooks = told()
        (due,), endpoint = take_all(webhooks), *webhooks.endpoints.values()
        assert due.at == NOW
        quick, slow = (due.ended(endpoint, 200, "", seconds=seconds) for seconds in (0.1, 0.2))
        assert quick == slow != due.ended(endpoint, 500, "", seconds=0.1)


class TestARetry:
    def test_a_retry_is_due_after_the_waits_of_the_schedule_with_the_same_id(self):
        webhooks = told()
        ids, now = set(), NOW
        for wait in (0, 5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR):
            assert wait == 0 or webhooks.take_due(now + wait - 1) is None
            now += wait
            (due,) = take_all(webhooks, now)
            ids.add(due.webhook_id)
            answer(webhooks, due, 500)
        assert webhooks.take_due(now + 72 * HOUR) is None
        assert len(ids) == 1

    @pytest.mark.parametrize("status", [302, 400, 410, 500, None])
    def test_a_retry_follows_every_answer_but_2xx(self, status):
        webhooks = told()
        answer(webhooks, take_all(webhooks)[0], status)
        assert [due.attempt for due in take_all(webhooks, NOW + 5)] == [2]

    def test_a_retry_does_not_follow_2xx_nor_a_delivery_that_should_be_refused(self):
        webhooks = told(faults=["forged"])
        for due, status in zip(take_all(webhooks), (400, 204), strict=True):
            answer(webhooks, due, status)
        assert take_all(webhooks, NOW + 80 * 3600) == []


class TestFaults:
    def test_doubled_repeats_the_webhook_id(self):
        first, second = take_all(told(faults=["doubled"]))
        assert first == second

    def test_what_must_be_refused_comes_before_the_event_with_ids_of_its_own(self):
        taken = take_all(told(faults=["stale", "unsigned", "forged"]))
        assert [due.signature for due in taken] == ["wrong", "missing", "stale", "valid"]
        assert len({due.webhook_id for due in taken}) == len({due.event.id for due in taken}) == 4

    def test_reordered_tells_the_later_event_first(self):
        webhooks = hooked(faults=["reordered"])
        webhooks.add_event(ended("resp_1"), NOW)
        assert take_all(webhooks) == []
        webhooks.add_event(ended("resp_2"), NOW + 1)
        assert [due.event.response for due in take_all(webhooks, NOW + 1)] == ["resp_2", "resp_1"]

    def test_reordered_holds_no_event_for_ever(self):
        assert len(take_all(told(faults=["reordered"]), NOW + 60)) == 1

    def test_late_waits_for_the_time_of_the_world(self):
        webhooks = told(late=3600)
        assert take_all(webhooks, NOW + 3599) == []
        assert len(take_all(webhooks, NOW + 3600)) == 1


class TestASecret:
    def test_a_secret_is_the_one_of_the_environment_of_tests_unless_given(self):
        assert hooked().endpoints.popitem()[1].secret == DEFAULT_SECRET

    @pytest.mark.parametrize("keep_old", [True, False])
    def test_a_secret_that_is_rotated_signs_for_a_day_only_if_it_is_kept(self, keep_old):
        webhooks = hooked()
        (id,) = webhooks.endpoints
        new = webhooks.rotate(id, NOW, keep_old=keep_old)
        assert new.secret != DEFAULT_SECRET
        assert new.secrets_at(NOW + 24 * HOUR - 1) == [new.secret, *([DEFAULT_SECRET] if keep_old else [])]
        assert new.secrets_at(NOW + 24 * HOUR) == [new.secret]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"faults": ["doubeld"]}, "Did you mean 'doubled'"),
        ({"faults": "doubled"}, "pass a list"),
        ({"events": ["response.complete"]}, "Did you mean 'response.completed'"),
        ({"secret": "s3cret"}, "whsec_"),
        ({"secret": "whsec_*"}, "base64"),
        ({"late": -1}, "non-negative number"),
        ({"timeout": 0}, "positive"),
    ],
)
def test_an_unknown_option_is_reported(options, message):
    with pytest.raises(ConfigError, match=message.replace("'", ".")):
        hooked(**options)


def test_a_world_without_a_server_says_that_nothing_delivers():
    with pytest.raises(ConfigError, match="fixture `mock`"):
        Mock().webhooks(URL)


def test_responses_have_the_same_ids_with_and_without_webhooks():
    plain, with_webhooks = World("test"), World("test")
    webhooks = with_webhooks.open_webhooks()
    webhooks.add_endpoint(URL)
    webhooks.add_event(ended(), NOW)
    assert with_webhooks.ids.response(NOW) == plain.ids.response(NOW)

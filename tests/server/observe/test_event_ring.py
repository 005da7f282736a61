"""What a follower of a server's events is told of each exchange."""

from harness.server.api_observers import AnsweredRequest, ApiObserver
from harness.server.mock_api import MockApi
from harness.server.observe.event_ring import EventRing
from tests.support.in_process import ask

HEADERS = {"authorization": "Bearer sk-ring", "content-type": "application/json"}


class Collector(ApiObserver):
    """Keeps what it is told."""

    least_status = 0

    def __init__(self) -> None:
        self.answered: list[AnsweredRequest] = []

    def on_answer(self, answered: AnsweredRequest) -> None:
        """Keep an answer."""
        self.answered.append(answered)


def test_an_event_names_the_exchange_of_its_answer_though_another_thread_has_answered_since() -> None:
    api, collector = MockApi(), Collector()
    api.open("sk-ring").script("Paris", "Rome")
    ring = EventRing(api)
    ring.look()
    api.observers.remove(ring)
    api.observers.add(collector)
    for model in ("gpt-4.1", "gpt-4o"):
        ask(api, "Capital?", "sk-ring", model=model)

    first, second = collector.answered
    ring.on_answer(first)
    ring.on_answer(second)

    told = [event for event in ring.read(0, 10)[1] if event.kind == "exchange"]
    assert [(event.number, event.row["model"]) for event in told] == [(1, "gpt-4.1"), (2, "gpt-4o")]


def test_an_exchange_that_was_dropped_meanwhile_is_no_event() -> None:
    api, collector = MockApi(), Collector()
    api.open("sk-ring").script("Paris")
    ring = EventRing(api)
    ring.look()
    api.observers.add(collector)
    ask(api, "Capital?", "sk-ring", model="gpt-4.1")
    (answered,) = collector.answered
    last = ring.last
    assert answered.world is not None
    answered.world.exchanges.clear()
    ring.on_answer(answered)
    assert ring.last == last

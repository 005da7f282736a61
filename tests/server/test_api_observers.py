"""Who hears of which answers of a mock."""

from harness.items import message
from harness.server.api_observers import NOBODY, AnsweredRequest, ApiObserver
from harness.server.mock_api import MockApi
from tests.support.in_process import post


class Listener(ApiObserver):
    def __init__(self, least_status: int) -> None:
        self.least_status = least_status
        self.heard: list[int] = []

    def on_answer(self, answered: AnsweredRequest) -> None:
        self.heard.append(answered.answer.status)


def test_an_observer_hears_of_answers_from_its_least_status_on() -> None:
    api = MockApi(fallback=lambda _: [message("ok")])
    all_answers, refusals, nothing = Listener(0), Listener(400), Listener(NOBODY)
    for observer in (nothing, refusals, all_answers):
        api.observers.add(observer)
    for body in ({"model": "gpt-4.1", "input": "hi"}, {"model": "gpt-4.1", "input": "hi", "seed": 1}):
        post(api, body)
    assert (all_answers.heard, refusals.heard, nothing.heard) == ([200, 400], [400], [])


def test_an_observer_that_is_removed_hears_no_more() -> None:
    api, refusals, all_answers = MockApi(fallback=lambda _: [message("ok")]), Listener(400), Listener(0)
    api.observers.add(refusals)
    api.observers.add(all_answers)
    api.observers.remove(all_answers)
    assert (api.observers.all, api.observers.least_status) == ([refusals], 400)
    api.observers.remove(refusals)
    assert (api.observers.all, api.observers.least_status) == ([], NOBODY)
    post(api, {"model": "gpt-4.1", "input": "hi", "seed": 1})
    assert (refusals.heard, all_answers.heard) == ([], [])

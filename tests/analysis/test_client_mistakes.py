"""What clients and receivers of webhooks do wrong, by the examples beside each mistake."""

from typing import Any

import pytest

import harness.analysis.client_mistakes  # noqa: F401  (registers every mistake)
from harness.analysis.client_mistake import CLIENT_MISTAKES, MistakeKind, SeenClient, client_mistakes_of, mistake
from harness.analysis.receivers import RECEIVER_MISTAKES, mistakes_of
from harness.core.errors import RegistrationError

KINDS: list[MistakeKind[Any]] = [*CLIENT_MISTAKES.values(), *RECEIVER_MISTAKES.values()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_who_is_wrong_is_caught_and_who_is_right_is_not(kind: MistakeKind[Any]) -> None:
    for example in kind.shows:
        found = list(kind.find(example))
        assert found, example
        assert all(message and "{" not in message for _, message in found)
        if isinstance(example, SeenClient):
            assert all(facts["number"] in example.by_number for facts, _ in found)
        else:
            assert {shown.mistake for shown in mistakes_of(*example)} == {kind.id}
    assert [example for example in kind.lacks if list(kind.find(example))] == []


def test_a_stream_resumed_too_late_names_the_events_that_never_arrive() -> None:
    kind = CLIENT_MISTAKES["resumed-from-the-wrong-event"]
    told = [message.partition("were sent: ")[2] for example in kind.shows for _, message in kind.find(example)]
    assert told == [f"{missing} will never arrive" for missing in ("event 2", "events 2 to 3", "event 0")]


def test_every_kind_says_what_it_is_and_who_says_so() -> None:
    assert len(CLIENT_MISTAKES) == 11
    for kind in KINDS:
        assert kind.doc.endswith((".", "`."))
        assert kind.fix.endswith((".", "`."))
        assert kind.source


def test_only_what_can_be_no_intention_is_looked_for_always() -> None:
    shown = [example for kind in CLIENT_MISTAKES.values() for example in kind.shows]
    certain = {mistake.mistake for example in shown for mistake in client_mistakes_of(example)}
    assert certain == {"retried-non-retryable", "resumed-from-the-wrong-event", "documented-refusal"}


def test_a_mistake_without_examples_cannot_be_declared() -> None:
    def webhook_nothing(seen: Any) -> Any:
        """Show nothing."""
        yield from ()

    with pytest.raises(RegistrationError, match="needs a docstring, and examples"):
        mistake(RECEIVER_MISTAKES, message="", fix="", source="", shows=[], lacks=[])(webhook_nothing)

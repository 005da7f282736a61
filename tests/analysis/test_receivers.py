"""What receivers of webhooks do wrong, by the examples beside each mistake."""

from __future__ import annotations

import pytest

from harness.analysis.receivers import RECEIVER_MISTAKES, Example, ReceiverMistake, mistakes_of, receiver_mistake
from harness.core.errors import RegistrationError


def examples(kind: str) -> list[tuple[ReceiverMistake, Example]]:
    return [(made, example) for made in RECEIVER_MISTAKES.values() for example in getattr(made, kind)]


@pytest.mark.parametrize(("mistake", "example"), examples("shows"), ids=lambda value: getattr(value, "id", ""))
def test_an_example_that_shows_a_mistake_shows_it_alone(mistake, example):
    deliveries, exchanges = example
    found = mistakes_of(deliveries, exchanges)
    assert {shown.mistake for shown in found} == {mistake.id}
    assert all("{" not in shown.message and shown.fix and shown.source for shown in found)


@pytest.mark.parametrize(("mistake", "example"), examples("lacks"), ids=lambda value: getattr(value, "id", ""))
def test_an_example_that_lacks_a_mistake_does_not_show_it(mistake, example):
    assert list(mistake.find(*example)) == []


def test_a_mistake_without_examples_cannot_be_declared():
    with pytest.raises(RegistrationError, match="needs a docstring, and examples"):

        @receiver_mistake(message="", fix="", source="", shows=[], lacks=[])
        def webhook_nothing(deliveries, exchanges):
            """Show nothing."""
            yield from ()

"""What receivers of webhooks do wrong, by the examples beside each mistake."""

from __future__ import annotations

import pytest

from harness.analysis.mistake import MistakeKind, mistake
from harness.analysis.receivers import RECEIVER_MISTAKES, SeenReceiver, mistakes_of
from harness.core.errors import RegistrationError


def examples(which: str) -> list[tuple[MistakeKind[SeenReceiver], SeenReceiver]]:
    return [(made, example) for made in RECEIVER_MISTAKES.values() for example in getattr(made, which)]


@pytest.mark.parametrize(("kind", "example"), examples("shows"), ids=lambda value: getattr(value, "id", ""))
def test_an_example_that_shows_a_mistake_shows_it_alone(kind, example):
    found = mistakes_of(*example)
    assert {shown.mistake for shown in found} == {kind.id}
    assert all("{" not in shown.message and shown.fix and shown.source for shown in found)


@pytest.mark.parametrize(("kind", "example"), examples("lacks"), ids=lambda value: getattr(value, "id", ""))
def test_an_example_that_lacks_a_mistake_does_not_show_it(kind, example):
    assert list(kind.find(example)) == []


def test_a_mistake_without_examples_cannot_be_declared():
    with pytest.raises(RegistrationError, match="needs a docstring, and examples"):

        @mistake(RECEIVER_MISTAKES, message="", fix="", source="", shows=[], lacks=[])
        def webhook_nothing(seen):
            """Show nothing."""
            yield from ()

"""What clients do wrong about their requests, by the examples beside each mistake."""

from __future__ import annotations

import pytest

import harness.analysis.client_mistakes  # noqa: F401  (registers every mistake)
from harness.analysis.client_mistake import CLIENT_MISTAKES, SeenClient, client_mistakes_of
from harness.analysis.mistake import MistakeKind

SHOWS = [(kind, number, example) for kind in CLIENT_MISTAKES.values() for number, example in enumerate(kind.shows)]
LACKS = [(kind, number, example) for kind in CLIENT_MISTAKES.values() for number, example in enumerate(kind.lacks)]


def named(examples: list[tuple[MistakeKind[SeenClient], int, SeenClient]]) -> list[str]:
    return [f"{kind.id}-{number}" for kind, number, _ in examples]


@pytest.mark.parametrize(("kind", "number", "example"), SHOWS, ids=named(SHOWS))
def test_a_client_that_is_wrong_is_caught(kind: MistakeKind[SeenClient], number: int, example: SeenClient) -> None:
    found = list(kind.find(example))
    assert found
    assert all(message and "{" not in message for _, message in found)
    assert all(facts["number"] in example.by_number for facts, _ in found)


@pytest.mark.parametrize(("kind", "number", "example"), LACKS, ids=named(LACKS))
def test_a_client_that_is_right_is_not(kind: MistakeKind[SeenClient], number: int, example: SeenClient) -> None:
    assert list(kind.find(example)) == []


def test_every_kind_says_what_it_is_and_who_says_so() -> None:
    assert len(CLIENT_MISTAKES) == 10
    for kind in CLIENT_MISTAKES.values():
        assert kind.doc.endswith((".", "`."))
        assert kind.fix.endswith((".", "`."))
        assert kind.source


def test_only_what_can_be_no_intention_is_looked_for_always() -> None:
    certain = {
        mistake.mistake
        for kind in CLIENT_MISTAKES.values()
        for example in kind.shows
        for mistake in client_mistakes_of(example)
    }
    assert certain == {"retried-non-retryable", "resumed-from-the-wrong-event"}

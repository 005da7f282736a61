"""Every rule, by its own examples: each is sent through the whole mock and must earn exactly this rule's words."""

from __future__ import annotations

import pytest

import harness.mock  # noqa: F401  (registers the rules)
from harness.cases import play
from harness.rule import RULES, Case, Rule

REJECTS = [
    pytest.param(r, words, case, id=f"{r.id}: {words[:60]}")
    for r in RULES.values()
    for words, case in r.rejects.items()
]
ACCEPTS = [pytest.param(case, id=f"{r.id}-{index}") for r in RULES.values() for index, case in enumerate(r.accepts)]


@pytest.mark.parametrize(("expected", "words", "case"), REJECTS)
def test_an_example_is_refused_by_its_own_rule_in_the_words_of_the_api(expected: Rule, words: str, case: Case) -> None:
    played = play(case)
    error = played.answer.body["error"]
    assert error is not None, "the mock accepted it"
    assert (error["message"], played.answer.rule) == (played.words(words), expected.id)
    assert played.answer.status == expected.error.status
    assert set(error) == {"message", "type", "param", "code"}
    assert "{" not in str(error["param"])


@pytest.mark.parametrize("case", ACCEPTS)
def test_what_the_api_takes_is_taken(case: Case) -> None:
    played = play(case)
    assert played.answer.status == 200, played.answer.body

"""Every rule, by its own examples: each is sent through the whole mock and must earn exactly this rule's words."""

from __future__ import annotations

from itertools import chain

import pytest

import harness.server.mock_api  # noqa: F401  (registers the rules)
from harness.api.operations import find_operation
from harness.contract.check import check_answer
from harness.contract.rule import RULES, Case, Rule
from harness.contract.rule_plan import _make_plan
from harness.contract.rules import AREAS
from harness.verify.examples import play_case
from tests.support.foundry import names_request, said

WORDED = [(rule, words, case) for rule in RULES.values() for words, case in rule.rejects.items()]
REJECTS = [pytest.param(rule, words, case, id=f"{rule.id}: {words[:60]}") for rule, words, case in WORDED]
ACCEPTS = [pytest.param(case, id=f"{r.id}-{index}") for r in RULES.values() for index, case in enumerate(r.accepts)]


@pytest.mark.parametrize(("expected", "words", "case"), REJECTS)
def test_an_example_is_refused_by_its_own_rule_in_the_words_of_the_api(expected: Rule, words: str, case: Case) -> None:
    played = play_case(case)
    assert played.answer.status == expected.error.status, "the mock accepted it"
    body = played.answer.body
    error = body.get("error", body)
    if expected.error.body_template is None:
        assert set(error) == {"message", "type", "param", "code"}
    message = said(played.answer) if names_request(played.answer) else error.get("message") or error["title"]
    assert (message, played.answer.rule) == (played.fill(words), expected.id)
    assert "{" not in str(error.get("param"))


@pytest.mark.parametrize("case", ACCEPTS)
def test_what_the_api_accepts_is_accepted(case: Case) -> None:
    played = play_case(case)
    assert 200 <= played.answer.status < 300, played.answer.body
    method, _, path = (case.on or "POST /responses").partition(" ")
    operation, _, _ = find_operation(method, path.partition("?")[0])
    if operation and operation.answer_schema:
        assert check_answer(operation.answer_schema, played.answer.body) is None


def test_every_rule_says_how_it_is_known_and_how_to_fix_it() -> None:
    for rule in RULES.values():
        assert rule.sources, rule.id
        assert rule.fix, f"{rule.id} has no fix"
        assert rule.rejects or rule.until or rule.level == "assumed", rule.id


EVERYTHING = frozenset(name for rule in RULES.values() for name in rule.when)
PLAN = _make_plan("POST /responses", EVERYTHING)


def test_precedence_is_the_order_of_areas_then_of_the_source() -> None:
    order = [AREAS.index(rule.area) for rule in chain(PLAN.before, PLAN.after)]
    assert order == sorted(order)
    assert [rule.id for rule in PLAN.after if rule.area == "state"] == [
        "previous_response_and_conversation",
        "conversation_not_found",
        "conversation_locked",
        "prompt_not_found",
        "previous_response_zdr",
        "previous_response_not_found",
    ]

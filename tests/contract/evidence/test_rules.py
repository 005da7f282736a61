"""Every rule, by its own examples: each is sent through the whole mock and must earn exactly this rule's words."""

import re
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


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_examples_of_a_rule_are_refused_by_it_in_the_words_of_the_api_or_accepted(rule: Rule) -> None:
    for words, case in rule.rejects.items():
        played = play_case(case)
        assert played.answer.status == rule.error.status, ("the mock accepted it", case)
        body = played.answer.body
        error = body.get("error", body)
        if rule.error.body_template is None:
            assert set(error) == {"message", "type", "param", "code"}
        message = said(played.answer) if names_request(played.answer) else error.get("message") or error["title"]
        assert (message, played.answer.rule) == (played.fill(words), rule.id)
        assert "{" not in str(error.get("param"))
    for case in rule.accepts:
        assert_is_accepted(case)


def assert_is_accepted(case: Case) -> None:
    played = play_case(case)
    assert 200 <= played.answer.status < 300, (case, played.answer.body)
    method, _, path = (case.on or "POST /responses").partition(" ")
    operation, _, _ = find_operation(method, path.partition("?")[0])
    if operation and operation.answer_schema:
        assert check_answer(operation.answer_schema, played.answer.body) is None


STATUSES = {
    401: "401 PermissionDenied invalid_api_key missing_scope auth_missing token_invalid",
    403: "AuthenticationTypeDisabled preview_feature_required session_not_accessible",
    404: "404 DeploymentNotFound NotFound UserError not_found session_not_found unknown_url model_path_not_found",
    405: "wrong_method",
    409: "AgentNotCodeBased conflict",
    424: "http_error",
    429: "credit_balance_exhausted insufficient_quota rate_limit_exceeded too_many_requests",
    500: "server_error",
    503: "server_is_overloaded",
}
"""The statuses of codes, or of rules whose error has none of its own; all others are 400."""
_ABSENT = re.compile(r"^Invalid URL|No such|[Nn]ot [Ff]ound|not exist|No .* found")


def test_a_refusal_has_the_status_of_its_code() -> None:
    of = {name: status for status, names in STATUSES.items() for name in names.split()}
    for rule in RULES.values():
        message, code = rule.error.message, rule.error.code
        is_absent = code is None and _ABSENT.search(message) and not re.search("tool|namespace", message)
        known = of.get(rule.id) or of.get(str(code)) or (404 if is_absent else 400)
        assert rule.error.status == known, rule.id


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

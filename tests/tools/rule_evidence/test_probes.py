"""Which examples of the rules the live API is asked, and in which form: the cheapest that says the same."""

from collections.abc import Iterator
from typing import Any

import pytest

import harness.server.mock_api  # noqa: F401  (registers the rules)
from harness.contract.rule import RULES
from harness.verify.examples import build_request
from tools.rule_evidence.probes import Probe, probes_for_rules, wrong_key


def of(id: str, dialect: str = "openai") -> list[Probe]:
    return probes_for_rules([RULES[id]], dialect)[0]


def models(probes: list[Probe]) -> Iterator[Any]:
    return ((probe.case.body or {}).get("model") for probe in probes)


def test_an_example_that_is_not_about_a_model_is_sent_to_the_cheapest_with_the_shortest_answer() -> None:
    for probe in of("unknown_parameter"):
        assert probe.case.body["model"] == "gpt-4.1-nano"
        assert probe.case.body["max_output_tokens"] == 16
        assert probe.cost.calls == 1


def test_an_example_that_is_about_a_model_keeps_it() -> None:
    assert set(models(of("sampling_unsupported"))) >= {"gpt-5.4", "gpt-5.6-terra"}


def test_what_would_change_the_answer_is_left_as_it_is() -> None:
    (probe,) = of("number_below_minimum")
    assert probe.case.body["max_output_tokens"] == 8
    for probe in of("missing_required_parameter"):
        assert probe.expected_error(())["message"] == probe.expected_message


@pytest.mark.parametrize(
    ("id", "reason"),
    [
        ("credit_balance_exhausted", "it needs an account of its own"),
        ("token_invalid", "it is another provider's"),
        ("connection_limit_reached", "time has to pass"),
        ("outputs_missing", "a model would have to give a certain answer"),
    ],
)
def test_what_cannot_be_sent_with_any_account_is_left_out_and_counted(id: str, reason: str) -> None:
    probes, left_out = probes_for_rules([RULES[id]])
    assert reason in left_out
    assert len(probes) + left_out.total() == len(RULES[id].rejects) + len(RULES[id].accepts)


@pytest.mark.slow
def test_every_example_is_sent_or_counted() -> None:
    probes, left_out = probes_for_rules(RULES.values())
    examples = sum(len(rule.rejects) + len(rule.accepts) for rule in RULES.values())
    assert len(probes) + left_out.total() == examples
    assert len(probes) > left_out.total()


def test_the_events_of_an_example_come_after_its_requests() -> None:
    probes, left_out = probes_for_rules([rule for rule in RULES.values() if rule.area == "websocket"])
    assert set(left_out) == {"time has to pass", "it needs an account of its own"}
    earlier = [step for probe in probes for step in probe.steps[: -probe.socket_step_count]]
    assert [step for step in earlier if (step.on or "").startswith("WS ")] == []
    assert {probe.socket_step_count for probe in probes} == {1, 2, 3, 33}
    assert not probes_for_rules([RULES["generate_kind"]], "azure")[0]


def test_an_event_costs_what_its_request_would() -> None:
    (refused, warm_up, _) = of("generate_kind")
    assert (refused.cost.calls, refused.cost.output_tokens) == (1, 0)
    assert (warm_up.cost.calls, warm_up.cost.output_tokens) == (1, 16)
    assert warm_up.case.body["model"] == "gpt-4.1-nano"


def test_steering_that_fails_is_expected_without_a_param() -> None:
    probe = of("steer_invalid_input")[0]
    assert probe.expected_error(probe.played.before) == {
        "status": 400,
        "type": "invalid_request_error",
        "code": "invalid_input",
        "message": "Invalid steering input.",
    }


def test_azure_gets_the_examples_of_azure() -> None:
    assert not of("token_invalid")
    assert [build_request(probe.case, ()).uri for probe in of("token_invalid", "azure")] == ["/openai/v1/responses"] * 2
    assert not of("rate_limit", "azure")


def test_a_wrong_key_is_distinguished_from_a_good_one() -> None:
    def keys(id: str) -> list[str | None]:
        return [wrong_key(build_request(probe.case, ())) for probe in of(id)]

    assert (keys("auth_invalid_key"), keys("auth_missing")) == (["test-connect-key", "bad apiKey"], [""])
    assert {*keys("unknown_parameter")} == {None}

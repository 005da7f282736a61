"""Turns examples of rules into probes of the live API, each in the cheapest form that the mock answers the same way.

A probe uses the cheapest model and asks for the shortest answer, unless that changes what its example shows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.api.http.dialects import OPENAI
from harness.api.responses import CREATE_EVENT
from harness.cassettes.format.interaction import Interaction
from harness.contract.rule import CREATE_RESPONSE, Case, Rule
from harness.contract.rules.example_requests import VALID_BODY
from harness.core.exchange import Json
from harness.live import paced
from harness.live.conformance.questions import Question, examples_of, explain_left_out, is_socket_event
from harness.server.keyed_worlds import bearer_key
from harness.server.mock_api import MockApi
from harness.verify.examples import build_request, play_case
from harness.verify.judging.unverifiable import MODEL_AREAS

CHEAPEST_MODELS = {"gpt-4.1": "gpt-4.1-nano", "gpt-4o": "gpt-4o-mini", "gpt-5": "gpt-5-nano", "gpt-5.4": "gpt-5.4-nano"}
"""The cheapest model of a family, for examples that are not about the model."""
SHORTEST_ANSWER = {"max_output_tokens": 16}
"""The lowest limit of tokens that the API accepts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Probe(Question):
    """An example of a rule as a question to the live API."""

    rule: Rule

    @property
    def error_body(self) -> Json:
        """The JSON of the expected refusal; for failed steering the event itself, which has no `param`."""
        events = self.played.answer.events
        return events[-1] if events else super().error_body

    @property
    def cost(self) -> paced.Budget:
        """The maximum number of calls and tokens that the probe costs."""
        before = self.played.before
        requests = [build_request(step, before[:number]) for number, step in enumerate(self.steps)]
        accepted = [*(status < 400 for status in self.setup_statuses), self.expected_message is None]
        return paced.sum_budgets(
            paced.estimate_request(
                request.method.replace("WS", "POST"), request.uri.partition("?")[0], request.body, is_accepted
            )
            for request, is_accepted in zip(requests, accepted, strict=True)
        )


def probes_for_rules(rules: Iterable[Rule], dialect: str = OPENAI) -> tuple[list[Probe], Counter[str]]:
    """Build the probes of these rules for an API of this dialect, and count the examples left out, by reason."""
    probes, left_out = list[Probe](), Counter[str]()
    for rule in rules:
        for message, case in examples_of(rule):
            if reason := explain_left_out(rule, case, dialect):
                left_out[reason] += 1
            else:
                cheaper = _make_cheaper(rule, message, case)
                probes.append(Probe(rule=rule, expected_message=message, case=cheaper))
    return probes, left_out


def _make_cheaper(rule: Rule, message: str | None, case: Case) -> Case:
    """Return the example with cheaper steps, as far as the mock answers it in the same way."""
    changes, expected = (_choose_cheaper_model(rule, (*case.before, case)), _limit_output), _mock_outcome(case, message)
    if _mock_outcome(cheapest := _change_steps(case, *changes), message) == expected:
        return cheapest
    for change in changes:
        if _mock_outcome(candidate := _change_steps(case, change), message) == expected:
            case = candidate
    return case


def _change_steps(case: Case, *changes: Callable[[Case], Case]) -> Case:
    for change in changes:
        case = replace(change(case), before=tuple(map(change, case.before)))
    return case


def _mock_outcome(case: Case, message: str | None) -> tuple[Any, ...]:
    """Play an example on the mock; return what a cheaper form of it must not change."""
    played = play_case(case)
    statuses = [(answer.status, answer.rule) for answer in (*played.before, played.answer)]
    if message is None:
        return (*statuses, None, None, True)
    error = played.answer.body.get("error", played.answer.body)
    return (*statuses, error.get("param"), error.get("code"), error.get("message") == played.fill(message))


def _choose_cheaper_model(rule: Rule, steps: Sequence[Case]) -> Callable[[Case], Case]:
    """Return a function that replaces the model of a step, unless the example is about models."""
    names_model = any(isinstance(step.body, Mapping) and "model" in step.body for step in steps)
    is_about_model = names_model and rule.area in (*MODEL_AREAS, "model", "limits")

    def replace_model(case: Case) -> Case:
        default = VALID_BODY["model"] if _is_create(case) and "model" not in case.absent else None
        model = body.get("model", default) if isinstance(body := case.body or {}, Mapping) else None
        if is_about_model or case.raw is not None or not isinstance(model, str) or model not in CHEAPEST_MODELS:
            return case
        return replace(case, body={**body, "model": CHEAPEST_MODELS[model]})

    return replace_model


def _limit_output(case: Case) -> Case:
    if not _is_create(case) or case.raw is not None:
        return case
    return replace(case, body={**SHORTEST_ANSWER, **(case.body or {})})


def _is_create(case: Case) -> bool:
    if (case.on or CREATE_RESPONSE).partition("?")[0] == CREATE_RESPONSE:
        return True
    return is_socket_event(case) and (case.body or {}).get("type", CREATE_EVENT) == CREATE_EVENT


def wrong_key(request: Interaction, dialect: str = OPENAI) -> str | None:
    """Return the key of an example about keys, empty if it sends none; None if any valid key will do."""
    if MockApi().world_of(request.headers, dialect) is not None:
        return None
    return request.headers.get("api-key") or bearer_key(request.headers) or ""

"""Every example of a rule as what to ask the live API, and what its answers say of the rule.

A probe is the example with the cheapest model and the shortest answer that change nothing about it. What cannot be asked
of any account (one out of quota, another provider's path, an hour of waiting, words a model has to say) is left out and
counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from harness.api.dialects import OPENAI, parse_api_path
from harness.contract.rule import CREATE_RESPONSE, Case, Rule
from harness.contract.rules.http.websocket import CREATE_EVENT
from harness.core.exchange import Answer, Json
from harness.live.client import budget
from harness.server.mock_api import Mock, bearer_key
from harness.verify.examples import (
    MINIMAL_REQUEST,
    CaseRequest,
    PlayedCase,
    build_request,
    fill_placeholders,
    play_case,
)
from harness.verify.judging.unverifiable import MODEL_AREAS

CHEAPEST_MODELS = {"gpt-4.1": "gpt-4.1-nano", "gpt-4o": "gpt-4o-mini", "gpt-5": "gpt-5-nano", "gpt-5.4": "gpt-5.4-nano"}
"""The cheapest model of a family, where an example is not about the model."""
SHORTEST_ANSWER = {"max_output_tokens": 16}
"""The fewest tokens that the API lets a request ask for."""
OTHER_PROVIDER = "it is another provider's"
RECORDED_HEADERS = ("content-type", "openai-beta")
"""Headers of a request that the API reads, besides its key."""


@dataclass(frozen=True, eq=False)
class Probe:
    """One example of a rule; `words` is what the API must say to it, None where it must take it."""

    rule: Rule
    expected_message: str | None
    case: Case

    @cached_property
    def steps(self) -> tuple[Case, ...]:
        """What is sent, in order; the last one is the example itself."""
        return (*self.case.before, self.case)

    @property
    def socket_step_count(self) -> int:
        """How many of them, the last ones, are events sent over one WebSocket."""
        return sum(map(_is_socket_event, self.steps))

    @cached_property
    def played(self) -> PlayedCase:
        """What the mock says to it."""
        return play_case(self.case)

    @property
    def cost(self) -> budget.Budget:
        """What asking it costs."""
        before = list(self.played.before)
        asked = [build_request(step, before[:number]) for number, step in enumerate(self.steps)]
        taken = [*(answer.status < 400 for answer in before), self.expected_message is None]
        return budget.sum_budgets(
            budget.estimate_request(each.method.replace("WS", "POST"), each.path.partition("?")[0], each.body, ok)
            for each, ok in zip(asked, taken, strict=True)
        )

    def expected_error(self, before: Sequence[Answer]) -> Json:
        """The error it must earn after these answers: status, message, type, param, code, as far as its form has them."""
        answer = self.played.answer
        told = answer.events[-1] if answer.events else answer.body  # steering fails with an event of its own
        error = told.get("error", told)
        return {"status": answer.status, **error, **self._message_member(error, before)}

    def _message_member(self, error: Json, before: Sequence[Answer]) -> Json:
        return {"message": fill_placeholders(self.expected_message, before)} if "message" in error else {}


def probes_for_rules(rules: Iterable[Rule], dialect: str = OPENAI) -> tuple[list[Probe], Counter[str]]:
    """The probes of these rules for an API of this dialect, and how many examples are left out, by the reason."""
    probes, left_out = list[Probe](), Counter[str]()
    for rule in rules:
        examples = [*rule.rejects.items(), *((None, case) for case in rule.accepts)]
        for words, case in examples:
            if why := explain_left_out(rule, case, dialect):
                left_out[why] += 1
            else:
                probes.append(Probe(rule, words, _make_cheaper(rule, words, case)))
    return probes, left_out


def explain_left_out(rule: Rule, case: Case, dialect: str) -> str:
    """Why an example can be asked of no API of this dialect; empty when it can."""
    steps = (*case.before, case)
    paths = [(each.on or CREATE_RESPONSE).partition(" ")[2] for each in steps]
    if rule.until:
        return "the API no longer says it"
    foreign = any(path.startswith("!") and parse_api_path(path[1:]).dialect != dialect for path in paths)
    over_socket = any(map(_is_socket_event, steps)) and dialect != OPENAI
    if foreign or over_socket or (rule.dialects and dialect not in rule.dialects):
        return OTHER_PROVIDER
    if any(each.given for each in steps):
        return "it needs an account of its own"
    if any(each.skip for each in steps):
        return "time has to pass"
    return "a model has to say certain words" if any(each.turns for each in steps) else ""


def _make_cheaper(rule: Rule, words: str | None, case: Case) -> Case:
    """The example with cheaper steps, each where the mock says the same to it."""
    wanted = _mock_outcome(case, words)
    made = case
    for cheaper in (_choose_cheaper_model(rule, (*case.before, case)), _limit_output):
        candidate = replace(cheaper(made), before=tuple(map(cheaper, made.before)))
        if _mock_outcome(candidate, words) == wanted:
            made = candidate
    return made


def _mock_outcome(case: Case, words: str | None) -> tuple[Any, ...]:
    played = play_case(case)
    answers = (*played.before, played.answer)
    error = played.answer.body if words is not None else {}
    told = error.get("error", error)
    as_written = words is None or told.get("message") == played.fill(words)
    return (*((one.status, one.rule) for one in answers), told.get("param"), told.get("code"), as_written)


def _choose_cheaper_model(rule: Rule, steps: Sequence[Case]) -> Callable[[Case], Case]:
    """What makes a step cheaper by its model: unless the example is about one."""
    named = any(isinstance(each.body, Mapping) and "model" in each.body for each in steps)
    about_models = named and rule.area in (*MODEL_AREAS, "model", "limits")

    def cheaper(case: Case) -> Case:
        own = MINIMAL_REQUEST["model"] if _is_create(case) and "model" not in case.absent else None
        model = body.get("model", own) if isinstance(body := case.body or {}, Mapping) else None
        if about_models or case.raw is not None or not isinstance(model, str) or model not in CHEAPEST_MODELS:
            return case
        return replace(case, body={**body, "model": CHEAPEST_MODELS[model]})

    return cheaper


def _limit_output(case: Case) -> Case:
    if not _is_create(case) or case.raw is not None:
        return case
    return replace(case, body={**SHORTEST_ANSWER, **(case.body or {})})


def _is_create(case: Case) -> bool:
    if (case.on or CREATE_RESPONSE).partition("?")[0] == CREATE_RESPONSE:
        return True
    return _is_socket_event(case) and (case.body or {}).get("type", CREATE_EVENT) == CREATE_EVENT


def _is_socket_event(case: Case) -> bool:
    """Whether a step is sent over a WebSocket."""
    return (case.on or CREATE_RESPONSE).startswith("WS ")


def select_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request that a cassette holds."""
    return {name: headers[name] for name in RECORDED_HEADERS if name in headers}


def wrong_key(asked: CaseRequest, dialect: str = OPENAI) -> str | None:
    """The key of an example that is about keys, empty where it sends none; None where any good key will do."""
    if Mock().world_of(asked.headers, dialect) is not None:
        return None
    return asked.headers.get("api-key") or bearer_key(asked.headers) or ""

"""What a server is asked: each rule's examples and a probe for each kind of item, with what the API would answer.

Asked is only what any account, at any time and with the model in question must answer so: the rest is left out, and
counted with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from harness.api.dialects import API_ROOTS, OPENAI, parse_api_path
from harness.contract.rule import CREATE_RESPONSE, RULES, Case, Rule
from harness.contract.rules.http.websocket import CREATE_EVENT, SOCKET
from harness.contract.rules.stored.uploads import ANY_UPLOAD as ANY_FILE
from harness.core.exchange import Json
from harness.live.conformance.minimal_requests import minimal_requests
from harness.live.rule_evidence.probes import OTHER_PROVIDER, explain_left_out
from harness.verify.examples import MINIMAL_BY_OPERATION, MINIMAL_REQUEST, PlayedCase, fill_placeholders, play_case

DEFAULT_MODEL: str = MINIMAL_REQUEST["model"]
"""The model that stands in the examples in the place of any."""
GET_MODEL = "GET /models/"
OPTIONAL_ENDPOINTS: Mapping[str, Case] = {
    **{
        f"/responses/{name}": Case(MINIMAL_REQUEST, on=f"POST /responses/{name}")
        for name in ("compact", "input_tokens")
    },
    **{f"/{name}": Case({}, on=f"POST /{name}") for name in ("conversations", "vector_stores", "threads")},
    **{f"/{name}": Case(on=f"GET /{name}") for name in ("assistants", "models")},
    "/files": ANY_FILE,
    SOCKET: Case({}, on=SOCKET),
}
"""Endpoints that a server may lack, each with what it is looked for by; what is about them is asked where they are."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request and what must come of it: of a refusal `expected` is the error, with its status.

    `before` are the statuses that the requests before it must have. `reason` says why it is left out; empty when it is
    asked.
    """

    kind: Literal["refusal", "accept"]
    area: str
    name: str
    case: Case
    expected_message: str = ""
    expected: Json | None = None
    before: tuple[int, ...] = ()
    reason: str = ""

    def expected_error(self, before: Any) -> Json:
        """The error that is due after these answers."""
        return {**(self.expected or {}), "message": fill_placeholders(self.expected_message, before)}


def build_questions(model: str, listed: Collection[str], absent: Collection[str], root: str) -> Iterator[Question]:
    """Every question to a server with this `model`.

    `listed` are other models that it has, `absent` the SURFACES that it lacks, `root` is the path of its base URL, which
    tells the dialect.
    """
    allowed, dialect = {model, DEFAULT_MODEL, *listed}, dialect_of(root)
    for rule in RULES.values():
        why = _explain_rule_left_out(rule)
        for words, case in rule.rejects.items():
            reason = explain_left_out(rule, case, dialect) or why or _explain_case_left_out(case, allowed, absent)
            yield _refusal_question(rule, words, with_model(case, model), model, root, reason)
        for number, case in enumerate(rule.accepts):
            reason = (
                explain_left_out(rule, case, dialect)
                or why
                or _explain_case_left_out(case, allowed, absent)
                or _explain_accept_left_out(case, listed)
            )
            yield _accept_question(rule.area, f"{rule.id} {number + 1}", with_model(case, model), dialect, reason)
    for area, name, case in minimal_requests():
        reason = _explain_case_left_out(case, allowed, absent)
        yield _accept_question(f"probes: {area}", name, with_model(case, model), dialect, reason)


def dialect_of(root: str) -> str:
    """The dialect of a server, by the path of its base URL: what is neither Azure's nor Foundry's is OpenAI's."""
    return parse_api_path(f"{root}/responses").dialect


def _explain_rule_left_out(rule: Rule) -> str:
    if rule.error.body_template is not None:
        return "it is said in another form"
    return "it is assumed, not known" if rule.level == "assumed" else ""


def _names_response(step: Case) -> bool:
    """Whether an event other than a request names a response."""
    body = step.body or {}
    return body.get("type", CREATE_EVENT) != CREATE_EVENT and "{" in str(body.get("previous_response_id"))


ANOTHER_MODEL = "it is about another model"
INVENTED_VALUES = re.compile(r'"encrypted_content":"|//[\w.]*example\.org|"(?:vs|file|pmpt|cntr|msg)_\w+"|data:image/')
"""What an example that is taken names although no server has it: a ciphertext, an address, an id, half an image."""


def _explain_accept_left_out(case: Case, listed: Collection[str]) -> str:
    if INVENTED_VALUES.search(orjson.dumps([step.body for step in (*case.before, case)]).decode()):
        return "it names what no server has"
    on = case.on or CREATE_RESPONSE
    unlisted = on.startswith(GET_MODEL) and on.removeprefix(GET_MODEL) not in listed
    return ANOTHER_MODEL if unlisted else ""


def _explain_case_left_out(case: Case, allowed: Collection[str], absent: Collection[str]) -> str:
    steps = (*case.before, case)
    if any("!" in (step.on or "") for step in steps):
        return "it is asked outside of the base URL"
    if any(step.on == SOCKET and _names_response(step) for step in steps):
        return "it is about a response while it is made"
    if lacking := next((surface for step in steps for surface in _needed_endpoints(step) if surface in absent), ""):
        return f"the server has no {lacking}"
    named = (step.body.get("model") for step in steps if isinstance(step.body, dict))
    return ANOTHER_MODEL if any(isinstance(name, str) and name not in allowed for name in named) else ""


def _needed_endpoints(step: Case) -> Iterator[str]:
    """The optional endpoints that a request needs: the one it is sent to, and conversations where it goes on with one."""
    on = step.on or CREATE_RESPONSE
    path = on.partition(" ")[2].partition("?")[0]
    yield from (each for each in OPTIONAL_ENDPOINTS if each == on or f"{path}/".startswith(f"{each}/"))
    if isinstance(step.body, dict) and "conversation" in step.body:
        yield "/conversations"


def with_model(case: Case, model: str) -> Case:
    """An example about this model instead of the one in its place."""
    if model == DEFAULT_MODEL:
        return case
    before = tuple(with_model(step, model) for step in case.before)
    raw = None if case.raw is None else case.raw.replace(DEFAULT_MODEL.encode(), model.encode())
    body, implied = case.body, (case.on or CREATE_RESPONSE) in MINIMAL_BY_OPERATION and "model" not in case.absent
    if (isinstance(body, dict) and body.get("model") == DEFAULT_MODEL) or (implied and "model" not in (body or {})):
        body = {**(body or {}), "model": model}
    return replace(case, before=before, raw=raw, body=body)


def _refusal_question(rule: Rule, words: str, case: Case, model: str, root: str, reason: str) -> Question:
    made = Question("refusal", rule.area, rule.id, case, reason=reason)
    if reason:
        return made
    dialect = dialect_of(root)
    played = play_case(case, API_ROOTS[dialect])
    if played.answer.rule != rule.id:
        return replace(made, reason="it depends on the model" if dialect == OPENAI else OTHER_PROVIDER)
    # Where nothing else tells of the base URL, the API names the path that was asked.
    said = words.replace(DEFAULT_MODEL, model).replace(" /v1/", f" {root}/") if rule.area == "transport" else words
    expected = {"status": played.answer.status, **played.answer.body["error"]}
    return replace(made, expected_message=said, expected=expected, before=_setup_statuses(played))


def _accept_question(area: str, name: str, case: Case, dialect: str, reason: str) -> Question:
    made = Question("accept", area, name, case, reason=reason)
    if reason:
        return made
    played = play_case(case, API_ROOTS[dialect])
    if played.answer.status != 200:
        return replace(made, reason="it depends on the model" if dialect == OPENAI else OTHER_PROVIDER)
    return replace(made, before=_setup_statuses(played))


def _setup_statuses(played: PlayedCase) -> tuple[int, ...]:
    return tuple(answer.status for answer in played.before)

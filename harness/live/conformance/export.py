"""Writes the examples of all rules as plain JSON, with two runners that need nothing of this package.

In the strings of an example, `{model}`, `{key}` and `{root}` stand for the server's, `{n.path}` for the value at that path
in the answer to its n-th step.
"""

import base64
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from harness.api.http.dialects import API_ROOTS, OPENAI
from harness.contract.rule import CREATE_RESPONSE, RULES, Case, Rule
from harness.contract.schema import schemas_directory
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Json
from harness.core.json_values import as_object, omit
from harness.live.conformance.questions import (
    DEFAULT_MODEL,
    ONE_MODEL,
    OPTIONAL_ENDPOINTS,
    ServerQuestion,
    build_questions,
    needed_endpoints,
    with_model,
)
from harness.report.report import MAX_SAFE_NUMBER
from harness.verify.examples import EXAMPLE_HEADERS, EXAMPLE_KEY, MINIMAL_BY_OPERATION

FORMAT = 1
UNKNOWN_MODEL = "a-model"
MODEL, KEY, ROOT = "{model}", "{key}", "{root}"
LICENCE = (
    "MIT, as responses-harness. The examples are facts about the behaviour of OpenAI's API, each with its source; error "
    "messages are quoted as the API says them. Not affiliated with OpenAI."
)


def export_contract(folder: Path, model: str = DEFAULT_MODEL) -> int:
    """Write contract.json, its schema and the runners into a folder; return the number of examples.

    What depends on the model is asked of `model` alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    examples = list(build_examples(model))
    contract = {
        "$schema": "contract.schema.json",
        "format": FORMAT,
        "made_by": f"responses-harness {version('responses-harness')}",
        "date": CONTRACT_DATE,
        "licence": LICENCE,
        "model": model,
        "endpoints": {name: _export_step(with_model(case, MODEL)) for name, case in OPTIONAL_ENDPOINTS.items()},
        "examples": examples,
    }
    (folder / "contract.json").write_bytes(orjson.dumps(contract, option=orjson.OPT_INDENT_2) + b"\n")
    for file in (schemas_directory() / "contract").iterdir():
        shutil.copy(file, folder)
    return len(examples)


def build_examples(model: str) -> Iterator[Json]:
    """Yield the examples of every rule, then the minimal requests, in the order of `verify --server`."""
    models = (model, DEFAULT_MODEL, UNKNOWN_MODEL)
    by_model = (build_questions(name, _named_models(), (), API_ROOTS[OPENAI]) for name in models)
    for asked, written, unknown in zip(*by_model, strict=True):
        question = replace(written, reason=asked.reason)
        rule = RULES.get(question.name.partition(" ")[0])
        known = rule if rule and rule.area == question.area else None
        any_model = bool(asked.reason) == bool(unknown.reason)
        yield {**_describe_rule(known), "any_model": any_model, **_export_question(question, known)}


def _named_models() -> list[str]:
    cases = [case for rule in RULES.values() for case in (*rule.rejects.values(), *rule.accepts)]
    paths = {path.removeprefix(ONE_MODEL) for case in cases for path in _models_in_paths(case, is_refusal=False)}
    return sorted(paths | {name for case in cases for name in _models_in_bodies(case)})


def _models_in_bodies(case: Case) -> Iterator[str]:
    for step in (*case.before, case):
        named = as_object(step.body).get("model")
        if isinstance(named, str) and named != DEFAULT_MODEL:
            yield named


def _models_in_paths(case: Case, is_refusal: bool) -> Iterator[str]:
    """Yield the path of each model that must be listed, as it is retrieved."""
    paths = ((step.on or CREATE_RESPONSE).partition(" ")[2] for step in (*case.before, case))
    yield from (path for path in paths if path.startswith(ONE_MODEL) and not is_refusal)


def _describe_rule(rule: Rule | None) -> Json:
    """Return how sure an example is, and why; a minimal request follows from the schemas."""
    if rule is None:
        return {"rule": None, "level": "typed", "sources": [], "since": "", "until": "", "dialects": []}
    return {
        "rule": rule.id,
        "level": rule.level,
        "sources": [asdict(source) for source in rule.sources],
        "since": rule.since,
        "until": rule.until,
        "dialects": list(rule.dialects),
    }


def _export_question(question: ServerQuestion, rule: Rule | None) -> Json:
    """Return a question as plain JSON: its steps, what is expected of the last, and why it is not asked, if so."""
    is_refusal, left_out = question.kind == "refusal", question.reason
    expected: Json = {"status": 200}
    statuses: Sequence[int] = [200] * len(question.case.before)
    if not left_out:
        statuses = question.setup_statuses
        if is_refusal:
            expected = {
                "status": question.played.answer.status,
                **question.error_body.get("error", question.error_body),
            }
    if is_refusal:
        message = str(question.expected_message)
        if rule and rule.area == "transport":
            message = message.replace(DEFAULT_MODEL, MODEL).replace(" /v1/", f" {ROOT}/")
        error = rule.error if rule and left_out else None
        expected = {**({"status": error.status, **error.members()} if error else expected), "message": message}
    case = with_model(question.case, MODEL)
    steps = (*case.before, case)
    return {
        "name": question.name,
        "area": question.area,
        "kind": question.kind,
        "models": sorted(set(_models_in_bodies(question.case))),
        "needs": sorted(
            {*_models_in_paths(question.case, is_refusal), *chain.from_iterable(map(needed_endpoints, steps))}
        ),
        "left_out": left_out,
        "steps": [
            {**_export_step(step), **({"status": status} if status else {})}
            for step, status in zip(steps, (*statuses, 0), strict=True)
        ],
        "expected": expected,
    }


def _export_step(case: Case) -> Json:
    """Return a request as plain JSON; a body that JSON cannot hold exactly is `text`, one that is no text `base64`."""
    method, _, path = (case.on or CREATE_RESPONSE).partition(" ")
    headers = EXAMPLE_HEADERS if case.headers is None else case.headers
    step: Json = {
        "method": method,
        "path": path,
        "headers": {name: value.replace(EXAMPLE_KEY, KEY) for name, value in headers.items()},
    }
    if case.raw is not None:
        try:
            return {**step, "text": case.raw.decode()}
        except UnicodeDecodeError:
            return {**step, "base64": base64.b64encode(case.raw).decode()}
    if method not in ("POST", "PUT", "WS"):
        return step
    members: dict[str, Any] = {**MINIMAL_BY_OPERATION.get(case.on or CREATE_RESPONSE, {}), **(case.body or {})}
    body = omit(members, *case.absent)
    return {**step, "text": orjson.dumps(body).decode()} if _has_inexact_number(body) else {**step, "body": body}


def _has_inexact_number(value: Any) -> bool:
    """Return whether a value has a number that JavaScript would write otherwise: 2.0, or one beyond 2 ** 53."""
    if isinstance(value, dict | list):
        return any(map(_has_inexact_number, value.values() if isinstance(value, dict) else value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (abs(value) > MAX_SAFE_NUMBER or (isinstance(value, float) and value.is_integer()))

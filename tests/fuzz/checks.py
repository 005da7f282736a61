"""What must hold of the answer to any request, as complaints: an empty list is a mock that stood."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import chain
from typing import Any

import orjson

from harness.api.dialects import OPENAI, omit_dialect_members, parse_api_path
from harness.contract import first_violation, schema
from harness.contract.check import drop_nulls
from harness.contract.first_violation import format_path
from harness.contract.rule import RULES
from harness.core.exchange import EMPTY_MAPPING, Answer, Request
from harness.server.mock_api import TEAPOT
from harness.world.store import Store
from harness.world.world import World
from tests.contract.evidence.mutate import places
from tests.fuzz.sent import Sent, Stand

CPU_BUDGET = 0.25
"""Seconds of the processor that one request may take."""
INTERNAL = re.compile(r" raised \w+|\.py:\d|/harness/")
"""What a problem says that is no script's fault."""


def complaints(stand: Stand, sent: Sent) -> list[str]:
    """What is wrong with the answer to a request, which is sent here."""
    count, before = len(stand.world.exchanges), snapshot(stand.world)
    began = time.thread_time()
    try:
        answer = stand.deliver(sent)
    except Exception as problem:
        return [f"exception: {type(problem).__name__}: {problem}"]
    found = []
    if (spent := time.thread_time() - began) > CPU_BUDGET:
        found.append(f"cost: {spent * 1000:.0f} ms")
    found += _of_answer(answer, sent)
    if answer.rule and not answer.asked and (after := snapshot(stand.world)) != before:
        found.append(
            f"state: {answer.rule} changed {', '.join(name for name in before if before[name] != after[name])}"
        )
    for exchange in stand.journal_since(count):
        found += _of_param(answer, exchange.request)
        found += _of_validators(exchange.request)
    return found


def snapshot(world: World) -> dict[str, str]:
    """What a refusal must leave as it is, by name, as texts; what the account lists is made when it is first read."""
    listed = world.account.files
    tables = {
        table.name: repr([one for one in getattr(world.store, table.name).items() if one[0] not in listed])
        for table in fields(Store)
    }
    script = {"script": repr([(route.conditions, len(route.turns), route.taken) for route in world.script.all_routes])}
    return {**tables, **script, "account": repr(world.account), "gates": repr(world.gates)}


def _of_answer(answer: Answer, sent: Sent) -> Iterator[str]:
    for name, value in answer.headers.items():
        if not isinstance(value, str) or not re.fullmatch(r"[\t\x20-\x7e\x80-\xff]*", value):
            yield f"header: {name}: {value!r}"
    try:
        for one in (answer.body, *(answer.events or ())):
            _ = one if isinstance(one, bytes) else orjson.dumps(one)
    except TypeError as problem:
        yield f"unserializable: {problem}"
    if answer.status == TEAPOT:
        message = answer.body["error"]["message"]
        if INTERNAL.search(message):
            yield f"internal: {message}"
    elif answer.status >= 400 and not answer.asked:
        yield from _of_error(answer, sent)
    elif not (200 <= answer.status < 300 or answer.asked or answer.delivery):
        yield f"status: {answer.status}"


def _of_error(answer: Answer, sent: Sent) -> Iterator[str]:
    if answer.rule not in RULES:
        yield f"malformed: {answer.status} of rule {answer.rule}"
    elif answer.rule == "unexplained":
        yield "unexplained"
    elif answer.status != RULES[answer.rule].error.status or answer.status >= 500:
        yield f"malformed: {answer.status} of {answer.rule}"
    elif parse_api_path(sent.path).dialect == OPENAI and RULES[answer.rule].error.body_template is None:
        error = answer.body.get("error")
        if not isinstance(error, dict) or list(error) != ["message", "type", "param", "code"]:
            yield f"malformed: {answer.body}"
        elif not (isinstance(error["message"], str) and error["message"] and isinstance(error["type"], str)):
            yield f"malformed: {error}"
        elif unfilled := set(re.findall(r"\{[a-z_]+\}", error["message"])):
            given = f"{sent.to_json()} {RULES[answer.rule].rejects}"
            yield from (f"unfilled: {name} in {error['message']}" for name in unfilled if name not in given)


def _of_param(answer: Answer, request: Request) -> Iterator[str]:
    """A refusal names a value of the request, or one that its parent lacks."""
    body = answer.body if answer.rule and isinstance(answer.body, dict) else {}
    error = body.get("error")
    param = error.get("param") if isinstance(error, dict) else None
    if param is None:
        return
    if not isinstance(param, str):
        yield f"param: {param!r}"
    elif param != RULES[answer.rule or ""].error.param and not is_place(
        param, request.body, request.query
    ):  # else the API's words
        yield f"param: {answer.rule} names {param!r}"


def is_place(param: str, body: Any, query: Mapping[str, Any] = EMPTY_MAPPING) -> bool:
    """Whether a path names a value of a body or a query, or one that is not there and whose parent is."""
    if re.fullmatch(r"[^.\[\]]+", param):
        return True
    for path, value in chain(places(body), places(dict(query))):
        at = format_path(path)
        if param == at:
            return True
        rest = param[len(at) :] if at and param.startswith(at) else param if not at else ""
        if isinstance(value, dict) and re.fullmatch(r"\.[^.\[\]]+" if at else r"[^.\[\]]+", rest):
            return True
        if isinstance(value, list) and re.fullmatch(r"\[\d+\]", rest):
            return True
    return False


def _of_validators(request: Request) -> Iterator[str]:
    """What decides about a body and what explains it must agree."""
    if not request.schema or request.fault:
        return
    body = drop_nulls(omit_dialect_members(request))
    valid = schema.validator(request.schema).is_valid(body)
    walked = next(iter(first_violation._load_ordered_validator(request.schema).iter_errors(body)), None)
    if (walked is None) is not valid:
        said = walked.message[:200] if walked else "nothing"
        yield f"validators: {request.schema} is {'valid' if valid else 'invalid'}, and the walk finds {said}"

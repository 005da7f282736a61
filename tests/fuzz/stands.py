"""Where wrong requests are sent, by name: what the examples of each rule prepare, a mock that remembers, recorded ones."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from harness.api.http.bodies import parse_query
from harness.api.http.dialects import API_ROOTS
from harness.api.operations import OPERATIONS
from harness.contract.rule import RULES, Case
from harness.contract.rules.stored.uploads import UPLOAD
from harness.contract.schema import load
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from harness.verify.examples import EXAMPLE_HEADERS, CasePlayer, build_request
from tests.contract.evidence.samples import stored
from tests.contract.evidence.samples.mutate import instance
from tests.contract.evidence.samples.requests import REQUESTS
from tests.fuzz.sent import Sent, Stand
from tests.support.shared import exchanges_below

LARGEST_SEED = 64_000
"""Bytes of the largest body from which others are made."""

MakeStand = Callable[[], Stand]


@cache
def stands() -> Mapping[str, MakeStand]:
    """Every stand by name."""
    return {
        "samples": sampled,
        "remembering": remembering,
        "uploading": uploading,
        **{f"{rule.id}/{number}": _of_case(case) for rule in RULES.values() for number, case in _cases(rule)},
    }


def sampled() -> Stand:
    """Return a mock that has stored nothing, and the samples of `POST /responses` in every dialect."""
    bodies = [json.dumps(body).encode() for body in REQUESTS]
    return Stand(_fresh(), [Sent("POST", f"{root}/responses", body) for body in bodies for root in API_ROOTS.values()])


def remembering() -> Stand:
    """Return a mock that has stored something of everything, and a request of each operation about it."""
    mock = stored.remembering()
    seeds = [_of_operation(mock, id) for id in OPERATIONS]
    seeds += [Sent("POST", "/v1/responses", json.dumps(body).encode(), stored.AUTH) for body in stored.continuing()]
    return Stand(mock, seeds, stored.KEY)


def uploading() -> Stand:
    """Return a mock that has stored nothing, and every form of the examples."""
    cases = (case for rule in RULES.values() for _, case in _cases(rule) if case.on == UPLOAD and case.raw)
    return Stand(_fresh(), [Sent.from_interaction(build_request(case, ()), {}) for case in cases])


def recorded(folder: Path) -> MakeStand:
    """Return a mock that has stored nothing, and the requests of the recordings below a folder."""
    seeds = [*_recorded_requests(folder)]
    return lambda: Stand(_fresh(), seeds)


def _fresh() -> MockApi:
    return MockApi(organization=stored.STOCKED, fallback=small_talk)


def _cases(rule: Any) -> Iterator[tuple[int, Case]]:
    yield from enumerate((*rule.rejects.values(), *rule.accepts))


def _of_case(case: Case) -> MakeStand:
    def make() -> Stand:
        player = CasePlayer(fallback=small_talk)
        before = player.prepare(case)
        player.mock.skip(case.skip or 0)
        made = build_request(case, before)
        return Stand(player.api, [Sent.from_interaction(made, parse_query(made.uri.partition("?")[2].encode()))])

    return make


def _of_operation(mock: MockApi, id: str) -> Sent:
    """Return a request of an operation, its body made up from the schema."""
    method, path, query = stored.address(mock, id)
    schema = OPERATIONS[id].body_schema
    body = json.dumps(instance(load(schema), load(schema), Random(id), optional=0.5)).encode() if schema else b""
    return Sent(method, path, body, {**EXAMPLE_HEADERS, **stored.AUTH}, query)


def _recorded_requests(folder: Path) -> Iterator[Sent]:
    for exchange in exchanges_below(folder):
        if not str(exchange.get("url_path", "")).startswith("/") or exchange.get("no_request"):
            continue
        body = exchange["request"]
        if isinstance(body, dict):  # what it continues is not here
            body = {name: value for name, value in body.items() if name not in ("previous_response_id", "conversation")}
        raw = b"" if body is None else json.dumps(body).encode()
        if len(raw) <= LARGEST_SEED:
            query = parse_query((exchange.get("query") or "").encode())
            yield Sent(exchange["method"], exchange["url_path"], raw, EXAMPLE_HEADERS, query)

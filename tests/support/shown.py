"""A World that was asked something, as a case of the viewer."""

from typing import Any

import orjson

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.loss import losses_of
from harness.explain.find_causes import collect_findings, find_causes
from harness.server.mock_api import MockApi
from harness.viewer.build_case import CaseHead, JudgedCase, build_case
from harness.viewer.json_form import from_json
from harness.viewer.page_data import ShownCase, ShownExchange
from harness.viewer.pool import PoolReader
from harness.world.mock import Mock
from tests.support.in_process import post, send

KEY = "sk-harness-0123456789abcdef"
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


class Asked:
    """A mock, what it is asked, and the case that shows it."""

    def __init__(self) -> None:
        self.api = MockApi()
        self.mock: Mock = self.api.open(KEY)

    def ask(self, input: Any, **members: Any) -> Any:
        """Ask for a response; returns the body of the answer."""
        body = {"model": "gpt-4.1", "input": input, **members}
        return post(self.api, body, key=KEY, **{"content-type": "application/json", "user-agent": "me/1"}).body

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Send a request to any endpoint; returns the body of the answer."""
        return send(self.api, f"{method} /v1{path}", body, key=KEY, **query).body

    def show(self, outcome: Any = "failed", why: str = "", after: int = 0) -> ShownCase:
        """Show what was exchanged so far, as a page reads it."""
        world = self.mock.world
        losses = losses_of(world.exchanges, tool_runs=world.tool_runs)
        findings = collect_findings(world, world.exchanges, losses, outcome == "passed")
        causes = find_causes(world, [lost for lost in losses if world.exchanges[lost.exchange - 1].status < 400])
        head = CaseHead("test_a.py::test_it", "test_a.py", 3, outcome, 0.5, 1000.0, why)
        case = build_case(head, world, JudgedCase(causes, findings, [KEY]), after)
        return from_json(orjson.loads(orjson.dumps(case)), ShownCase)


def transcript(case: ShownCase, number: int) -> list[Any]:
    """Return the transcript of an exchange."""
    shown = next(exchange for exchange in case.exchanges if exchange.number == number)
    read: list[Any] = PoolReader(case.pool).value(shown.transcript)
    return read


def places(case: ShownCase, number: int) -> list[tuple[str, int, str, str]]:
    """Where each item of a transcript comes from: origin, exchange, place, mark."""
    return [(item["origin"], item["said"], item["at"], item["mark"]) for item in transcript(case, number)]


def read(case: ShownCase, number: int, member: str) -> Any:
    """Return a member of an exchange, with what stands in the pool."""
    shown: ShownExchange = next(exchange for exchange in case.exchanges if exchange.number == number)
    return PoolReader(case.pool).value(orjson.loads(orjson.dumps(getattr(shown, member))))

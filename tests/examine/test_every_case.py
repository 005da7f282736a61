"""In every case requests say what the user set, and the model gets what the tools returned."""

from typing import Any

import pytest

from harness.core.exchange import Json
from harness.examine.adapter import parse_mode
from harness.examine.case import CASES
from tests.examine.reference.client import ReferenceClient, ReferenceSession
from tests.examine.reference.http import ReferenceHttp
from tests.examine.reference.in_process import open_bench


@pytest.fixture(scope="module")
def bench():
    with open_bench() as bench:
        yield bench


def sending(change):
    """A client whose requests are changed."""

    class ChangedHttp(ReferenceHttp):
        def call(self, method: str, path: str, body: Json | None = None, query: Json | None = None) -> Any:
            return super().call(method, path, change(body) if path == "/responses" else body, query)

    return type("ChangedSession", (ReferenceSession,), {"http_class": ChangedHttp})


def with_tools(change):
    return sending(lambda body: {**body, "tools": [change(tool) for tool in body["tools"]]})


def answers(body):
    """Whether a request answers a call."""
    return any(str(item.get("type")).endswith("_output") for item in body["input"])


class SwapsOutputs(ReferenceSession):
    def react(self, output):
        new = super().react(output)
        return [{**item, "output": other["output"]} for item, other in zip(new, reversed(new), strict=True)]


class Shouts(ReferenceSession):
    def execute(self, tool, arguments):
        return super().execute(tool, arguments).upper()


NO_PARAMETERS = {"type": "object", "properties": {}}
WRONG = {
    "a setting that is never sent": (
        sending(lambda body: {name: value for name, value in body.items() if name != "top_logprobs"}),
        "answers/logprobs[plain,replay]",
        "request 1 has `top_logprobs`: null, the user set 1",
    ),
    "one value of a list is missing": (
        sending(lambda body: {**body, "include": []}),
        "answers/logprobs[plain,replay]",
        'request 1 has `include`: [], the user set ["message.output_text.logprobs"]',
    ),
    "a response that is stored though nothing should be": (
        sending(lambda body: {**body, "store": True} if answers(body) else body),
        "tools/one-call[plain,stateless]",
        "request 2 has `store`: true, the user set false",
    ),
    "a prompt that is no message of the user": (
        sending(lambda body: {**body, "input": [{**item, "role": "developer"} for item in body["input"]]}),
        "answers/text[plain,replay]",
        'the prompt "How is the weather?" never reached the model',
    ),
    "half a prompt": (
        sending(lambda body: {**body, "input": [{**body["input"][0], "content": "How is"}]}),
        "answers/text[plain,replay]",
        'the prompt "How is the weather?" never reached the model',
    ),
    "another model": (
        sending(lambda body: {**body, "model": "gpt-5-mini"} if answers(body) else body),
        "tools/one-call[plain,replay]",
        'request 2 is for the model "gpt-5-mini", the user chose "gpt-5"',
    ),
    "a function without its description": (
        with_tools(lambda tool: {**tool, "description": "Weather."}),
        "tools/one-call[plain,replay]",
        'request 1 describes the tool `get_weather` as "Weather.", not "The weather of a city."',
    ),
    "a function without its parameters": (
        with_tools(lambda tool: {**tool, "parameters": NO_PARAMETERS}),
        "tools/arguments-off-schema[plain,replay]",
        "request 1 offers the tool `get_weather` without its parameters city",
    ),
    "no functions once a call is answered": (
        sending(lambda body: {**body, "tools": []} if answers(body) else body),
        "tools/one-call[plain,chain]",
        "request 2 does not offer the tool `get_weather`",
    ),
    "no hosted tool for the second prompt": (
        sending(lambda body: {**body, "tools": []} if len(body["input"]) > 1 else body),
        "answers/web-search[plain,replay]",
        "request 2 does not offer the tool `web_search`",
    ),
    "outputs of two calls that are swapped": (
        SwapsOutputs,
        "tools/parallel-calls[plain,replay]",
        'the model got "live" for get_weather(), not "18 °C"',
    ),
    "an output that is not what the tool returned": (
        Shouts,
        "agents/hand-off-then-call[plain,replay]",
        'the model got "LIVE" for deploy(), not "live"',
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_request_that_is_not_what_the_user_set_is_a_failure(wrong, bench):
    session, place, reason = WRONG[wrong]
    id, _, mode = place.rstrip("]").partition("[")
    cell = bench.run(CASES[id], parse_mode(mode), ReferenceClient(session))
    assert cell.verdict == "fail"
    assert reason in "\n".join(cell.reasons)

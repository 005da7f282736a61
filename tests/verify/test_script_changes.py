"""What a test asks otherwise than was recorded, when a recording is its script."""

from __future__ import annotations

from typing import Any

import pytest

from harness.verify.script_changes import RequestChange, find_changes, summarize_changes
from tests.support.in_process import Client
from tests.support.recordings import HI, over_http, response
from tests.support.tools import functions
from tests.verify.tapes import CALL, said, script

SAID = over_http(HI, response(said("Hi.")))


class TestChanges:
    @staticmethod
    def changes(*asked: Any) -> list[RequestChange]:
        """Return what differs where these inputs are asked, and twice `hi` was recorded."""
        tape, client = script(SAID, SAID), Client()
        tape.apply(client.mock)
        for input in asked:
            client.ask(input)
        return find_changes(tape, client.world.exchanges)

    @pytest.mark.parametrize(
        ("asked", "told"),
        [
            (["hi", "hi"], []),
            (["hi"], ["POST /responses was recorded and did not come"]),
            (["hi"] * 3, ["request 3, POST /responses, was not recorded"]),
        ],
        ids=["the same", "too few", "too many"],
    )
    def test_are_requests_too_few_and_too_many(self, asked: list[str], told: list[str]) -> None:
        assert list(map(str, self.changes(*asked))) == told

    def test_are_shown_as_a_diff(self) -> None:
        told = str(*self.changes("hi", "ho"))
        assert told.startswith("request 2, POST /responses, differs from the recording:\n--- recorded\n+++ asked\n")
        assert '-  "input": "hi",\n+  "input": "ho",' in told

    def test_are_no_other_ids(self) -> None:
        output = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
        chained = {"model": "gpt-4.1", "previous_response_id": f"resp_{'a1' * 20}", "input": [output]}
        tools = {"tools": functions("f")}
        tape = script(over_http(HI | tools, response(CALL)), over_http(chained | tools, response(said("Hi."))))
        client = Client()
        client.tools = functions("f")
        tape.apply(client.mock)
        first = client.ask(store=None).body
        client.ask([output], previous_response_id=first["id"])
        [told] = find_changes(tape, client.world.exchanges)
        assert (told.exchange, "store" in told.diff) == (1, True)

    def test_are_summed_up_in_a_line(self) -> None:
        told = summarize_changes(self.changes("ho"), "tape")
        assert told == "tape: 1 request differs from it, 1 request did not come"

"""The tokens of a run, by agent."""

from harness.analysis.collect_replies import Usage
from harness.ending import usage
from harness.faults import http_error
from tests.support.in_process import Client

PLANNER, OPS = "You are the planner.", "You are ops."


class TestUsage:
    def test_usage_is_summed_by_agent(self) -> None:
        client = Client()
        client.mock.script(
            usage("One.", input_tokens=2000, cached=1024, output_tokens=70, reasoning=64),
            usage("Two.", input_tokens=100, output_tokens=5),
        )
        client.ask(instructions=PLANNER, model="o3")
        client.ask(instructions=OPS)
        used = client.mock.usage
        assert used == Usage(2100, 75, cached_tokens=1024, reasoning_tokens=64, total_tokens=2175)
        assert used.by_agent["ops"] == Usage(100, 5, total_tokens=105)
        assert used.by_agent["planner"].cached_tokens == 1024

    def test_usage_is_nothing_without_an_answer(self) -> None:
        client, counts = Client(), {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}
        body = {"object": "response", "id": "resp_1", "status": "completed", "output": [], "usage": counts}
        client.mock.script(http_error(400, "No.", body=body))
        client.ask()
        usage = client.mock.usage
        assert (usage, dict(usage.by_agent)) == (Usage(), {})

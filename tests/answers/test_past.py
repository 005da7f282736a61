"""The answers of an earlier day, as they were recorded on it."""

from typing import Any

import pytest

from harness.answers.parameters import NEWEST_CHANGE
from harness.items import mcp_call
from tests.support.in_process import Client


def ask(as_of: str, **body: Any) -> dict[str, Any]:
    client = Client()
    client.world.set_date(as_of)
    return client.ask(**body).body


@pytest.mark.parametrize(
    ("model", "as_of", "retention"),
    [
        ("gpt-4.1", "2026-04-17", None),
        ("gpt-4.1", "2026-04-18", "in_memory"),
        ("gpt-5.4-mini", "2026-04-17", None),
        ("gpt-5.4-mini", "2026-05-29", "in_memory"),
        ("gpt-5.4", "2026-06-11", "24h"),
        ("gpt-5.2", "2026-05-14", "in_memory"),
        ("gpt-5.2", "2026-06-30", "24h"),
        ("gpt-5.5", "2026-04-27", "24h"),
        ("gpt-5", "2026-08-31", "in_memory"),
    ],
)
def test_the_retention_of_the_cache_is_that_of_the_day(model: str, as_of: str, retention: str | None) -> None:
    assert ask(as_of, model=model)["prompt_cache_retention"] == retention


def test_a_retention_that_is_asked_for_is_repeated_on_any_day() -> None:
    assert ask("2025-12-01", model="gpt-5.1", prompt_cache_retention="24h")["prompt_cache_retention"] == "24h"


@pytest.mark.parametrize(
    ("as_of", "members"),
    [
        ("2025-08-01", {"effort", "summary"}),
        ("2026-05-28", {"context", "effort", "summary"}),
        ("2026-06-30", {"context", "effort", "mode", "summary"}),
    ],
)
def test_reasoning_has_the_members_of_the_day(as_of: str, members: set[str]) -> None:
    assert set(ask(as_of, model="gpt-5")["reasoning"]) == members


@pytest.mark.parametrize("as_of", ["2025-08-01", "2026-02-05", "2026-06-30"])
def test_a_model_for_computers_shows_the_first_name_of_its_summary_beside_its_tool(as_of: str) -> None:
    computer = {"type": "computer_use_preview", "environment": "windows", "display_width": 1, "display_height": 1}
    asked = {"model": "computer-use-preview", "truncation": "auto"}
    shown = ask(as_of, tools=[computer], **asked)["reasoning"]
    assert (shown["effort"], shown["generate_summary"], shown["summary"]) == ("medium", None, None)
    assert "generate_summary" not in ask(as_of, **asked)["reasoning"]


def test_an_answer_speaks_of_moderation_since_the_first_day_that_was_recorded() -> None:
    assert "moderation" not in ask("2026-04-21", model="gpt-4o-mini")
    assert ask("2026-04-23", model="gpt-4o-mini")["moderation"] is None


def test_members_that_came_later_are_absent_unless_they_are_asked_for() -> None:
    then = ask("2025-07-01", model="gpt-4.1", safety_identifier="me")
    assert then.keys().isdisjoint({"prompt_cache_key", "frequency_penalty", "moderation", "access_programs"})
    assert (then["safety_identifier"], then["max_tool_calls"]) == ("me", None)
    assert then["text"] == {"format": {"type": "text"}}


@pytest.mark.parametrize(
    ("as_of", "absent"),
    [
        ("2025-04-16", {"background", "service_tier", "billing", "completed_at", "tool_usage"}),
        ("2025-06-03", {"billing", "completed_at", "tool_usage"}),
        ("2025-09-18", {"completed_at", "tool_usage"}),
        ("2026-02-14", {"tool_usage"}),
        ("2026-06-26", set()),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_no_request_asks_for_is_absent_before_its_day(as_of: str, absent: set[str], stream: bool) -> None:
    then = ask(as_of, model="gpt-4.1", stream=stream)
    all_members = {"background", "service_tier", "completed_at", "tool_usage"} | (set() if stream else {"billing"})
    assert all_members - then.keys() == absent & all_members
    assert then["usage"]["total_tokens"] > 0


def test_a_tier_and_the_background_are_there_if_they_are_asked_for() -> None:
    assert ask("2025-04-16", model="o3", service_tier="flex")["service_tier"] == "flex"
    assert ask("2025-04-16", model="gpt-4.1", background=True)["background"] is True


def test_the_members_of_today_are_there_from_the_newest_change_on() -> None:
    assert ask(NEWEST_CHANGE, model="gpt-4.1").keys() == ask("2026-11", model="gpt-4.1").keys()


@pytest.mark.parametrize(("as_of", "has_logprobs"), [("2025-06-23", False), ("2025-06-24", True)])
@pytest.mark.parametrize("streams", [False, True])
def test_a_text_has_logprobs_since_june_2025(as_of: str, has_logprobs: bool, streams: bool) -> None:
    client = Client()
    client.world.set_date(as_of)
    answer = client.ask(model="gpt-4.1", stream=streams)
    held = [answer.body["output"], *(event for event in answer.events or ())]
    assert any("logprobs" in str(event) for event in held) is has_logprobs
    assert client.send(f"GET /responses/{answer.body['id']}").body["output"] == answer.body["output"]


@pytest.mark.parametrize(("as_of", "has_status"), [("2025-09-30", False), ("2025-10-01", True)])
def test_a_call_of_an_mcp_server_has_a_status_since_october_2025(as_of: str, has_status: bool) -> None:
    client = Client()
    client.world.set_date(as_of)
    client.mock.script(mcp_call("prod", "deploy", output="ok"))
    tool = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}
    answer = client.ask(model="gpt-4.1", stream=True, tools=[tool])
    calls = [event["item"] for event in answer.events or () if event["type"] == "response.output_item.done"]
    assert [("status" in call) for call in (*calls, *answer.body["output"])] == [has_status] * 2

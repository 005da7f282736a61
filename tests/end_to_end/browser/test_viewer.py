"""The page of a report in Chromium, as a reader uses it; skipped where there is no Chromium."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.browser import stories
from tests.end_to_end.browser.chromium import EveryPage, look_at, look_once, report_stories

pytestmark = pytest.mark.slow
TESTS = "test_stories.py::"
STORIES = {
    "test_citations": ["Invalid value: 'input_file'", "input[1].content[1]", "Send what the assistant said"],
    "test_assistants_citations": ["the user sees the text twice"],
    "test_hermes": ["history-replayed", "input[4]", "store each turn once"],
    "test_approval_thread": ["No tool output found", "function_call deploy", "Answer every call"],
    "test_tracker": ["No tool output found", "function_call get_weather", "Answer every call"],
}
"""What must be seen of each story without a click."""
HOSTILE_FILE = "test_<img src=x onerror=alert(1)><b>bold<b>.py"
HOSTILE_TEST = """
import httpx

def test_it(mock):
    mock.script("Hi.")
    httpx.post(f"{mock.base_url}/responses", json={"input": 17}, headers={"authorization": f"Bearer {mock.api_key}"})
"""


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a reader saw in the report of the stories, and of each story."""
    return look_once(tmp_path_factory, "viewer", look)


def look(folder: Path) -> Any:
    page = report_stories(folder, others={HOSTILE_FILE: HOSTILE_TEST})
    return {
        "seen": look_at(page, "viewer.mjs", hostile=json.dumps([hostile(), f"{HOSTILE_FILE}::test_it"])),
        "stories": look_at(page, "stories.mjs", stories=json.dumps(STORIES)),
    }


@pytest.fixture
def seen(looked: Any) -> Any:
    return looked["seen"]


def hostile() -> str:
    """Return the id of the test whose every text is hostile."""
    [mark] = stories.test_hostile.pytestmark  # type: ignore[attr-defined]
    escaped = mark.kwargs["ids"][0].replace("\x07", "\\x07")
    return f"{TESTS}test_hostile[{escaped}]"


class TestThePage(EveryPage):
    """Of the report of a run."""


def test_the_first_screen_says_what_is_wrong(seen: Any) -> None:
    assert "No tool output found for function call" in seen["first"]
    assert "from request 1 has no output" in seen["first"]
    assert "Answer every call of the turn before, in one request" in seen["first"]


def test_every_test_of_the_run_is_counted(seen: Any) -> None:
    counted = re.findall(r"(\d+) (?:failed|passed|skipped|errors)", seen["verdict"].replace("\n", " "))
    [used] = re.findall(r"(\d+) of them used the mock", seen["verdict"])
    assert int(used) == sum(map(int, counted)) - 1, "one was skipped"


def test_the_search_finds_what_a_body_says_and_stands_in_the_address(seen: Any) -> None:
    assert seen["searched"]["address"] == "#/?q=tell+me+a+story"
    assert "test_stream_cut" in seen["searched"]["text"]
    assert "test_agents" not in seen["searched"]["text"]


def test_keys_lead_through_requests_and_tabs(seen: Any) -> None:
    case = f"#/case/{TESTS}test_call_altered"
    assert seen["keys"] == {
        "l": f"{case}/2/transcript",
        "h": f"{case}/1/transcript",
        "]": f"{case}/2/transcript",
        "[": f"{case}/1/transcript",
        "2": f"{case}/1/sent",
        "3": f"{case}/1/answer",
        "4": f"{case}/1/stream",
        "5": f"{case}/1/why",
        "6": f"{case}/1/headers",
        "7": f"{case}/1/compare",
        "1": f"{case}/1/transcript",
        "Escape": case,
    }
    assert "show these keys" in seen["help"]
    assert seen["closed"]


def test_a_refusal_is_marked_in_the_body_at_its_place(seen: Any) -> None:
    assert seen["place"]["path"] == "input[1].content[1].image_url"
    assert "expected an image URL, but got an integer" in seen["place"]["note"]


def test_a_refusal_has_place_rule_evidence_and_fix(seen: Any) -> None:
    for part in ("400 Invalid value: 'input_file'", "input[1].content[1]", "fix", "assistant_content", "reported"):
        assert part in seen["problem"]
    assert any("Store it cold." in item and "refused" in item for item in seen["marked"])


def test_what_was_edited_shows_the_difference_in_its_place(seen: Any) -> None:
    assert seen["altered"] == {"removed": ["Paris"], "added": ["Rome"]}


def test_an_item_has_an_address(seen: Any) -> None:
    assert len(seen["wanted"]) == 1
    assert "Weather in Paris?" in seen["wanted"][0]


def test_requests_are_compared_by_item(seen: Any) -> None:
    assert "temperature" in seen["compare"]
    assert "Request 1 sends its input as a string" in seen["asText"]
    assert "1 the same" in seen["asText"]
    assert "How do I store milk?" not in seen["asText"].split("Answered")[0]
    assert "function_call_output" in seen["compare"]
    assert "with=3" in seen["chosen"]["address"]
    assert "5 the same" in seen["chosen"]["text"]
    assert "Question 6" in seen["chosen"]["text"]


def test_history_is_one_line_until_it_is_opened(seen: Any) -> None:
    assert "22 items as before, from requests 1–11" in seen["fold"]
    assert seen["unfolded"] >= 5


def test_a_stream_is_stepped_through_and_grows(seen: Any) -> None:
    grown = seen["stream"]["grown"]
    assert "event 1 of " in seen["stream"]["events"]
    assert seen["stream"]["address"].endswith("?event=40")
    assert grown[0] == []
    texts = [items[-1] for items in grown if items and items[-1].startswith("assistant")]
    assert all(later.startswith(earlier) for earlier, later in pairwise(filter(has_words, texts)))
    assert "The weather in Paris" in texts[-1]


def has_words(item: str) -> bool:
    """Return whether an item has a text yet."""
    return "The" in item


def test_a_stream_shows_where_it_was_cut(seen: Any) -> None:
    assert "cut here: cut off after 6 events" in seen["cut"]


def test_a_stream_shows_when_and_in_which_pieces_its_events_went_out(seen: Any) -> None:
    rows = [row.split("\n") for row in seen["rows"]]
    times = [float(next(text for text in row if text.endswith(" ms")).removesuffix(" ms")) for row in rows[:6]]
    assert times == sorted(times)
    assert times[4] - times[3] >= 19  # measured, where 20 ms are planned
    assert re.search(r"! in \d+ pieces: (120 \+ )+\d+ B", seen["rows"][0])
    assert re.search(r"not delivered ! only \d+ B of it", " ".join(rows[6]))


def test_it_says_which_turn_answered_and_why_no_other(seen: Any) -> None:
    assert "Turn 1 of the route when(instructions='are ops')" in seen["why"]
    assert "test_stories.py:" in seen["why"]
    assert "instructions does not contain 'the planner': 'You are ops.'" in seen["why"]


def test_headers_are_shown_without_secrets_and_times_as_measured(seen: Any) -> None:
    assert "weather-agent/1.0" in seen["headers"]
    assert "Bearer [hidden]" in seen["headers"]
    assert "first byte" in seen["headers"]
    assert "103 events" in seen["headers"]


def test_a_request_is_copied_as_test_as_curl_and_as_turn(seen: Any) -> None:
    assert seen["copies"] == ["pytest test", "curl", "script turn, Python", "script turn, YAML"]
    test, curl, python, yaml, refusal = seen["copied"]
    assert "def test_" in test
    assert "previous_response_id" in test
    assert curl.startswith("curl ")
    assert "previous_response_id" in curl
    assert python
    assert yaml
    assert "call_needs_output" in refusal
    assert not any("⟦" in copied for copied in seen["copied"])


def test_a_picture_is_one(seen: Any) -> None:
    assert seen["picture"] == 5


def test_every_link_leads_somewhere(seen: Any) -> None:
    assert seen["crawled"]["links"] > 100
    assert seen["crawled"]["dead"] == []


def test_nothing_that_was_sent_becomes_a_part_of_the_page(seen: Any) -> None:
    for screen, text in {
        "/2": '/responses/<img/src="x"onerror=alert(1)><b>bold</b>',
        "/2/headers": 'x-note\t<img/src="x"onerror=alert(1)><b>bold</b>',
        "/4/sent": "</script><script>document.title",
    }.items():
        assert text in seen["hostile"][screen], screen
    assert (seen["refused"], seen["titleAfter"]) == ([True], "responses-harness")


def test_light_and_dark_follow_the_reader_and_can_be_chosen(seen: Any) -> None:
    assert seen["themes"] == {"differ": True, "forced": True}


@pytest.mark.parametrize("story", STORIES)
def test_the_cause_of_a_story_is_on_the_first_screen(looked: Any, story: str) -> None:
    for width in ("400", "1280", "2560"):
        for screen in ("run", "case"):
            visible = looked["stories"][story][screen][width]
            assert [part for part in STORIES[story] if part not in visible] == [], (screen, width)

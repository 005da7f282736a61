"""The list of a run and the turns of its tests in Chromium; skipped where there is no Chromium."""

from typing import Any

import pytest

from tests.end_to_end.browser.chromium import look_at, report_stories

pytestmark = pytest.mark.slow
CASE = "#/case/test_stories.py::"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a reader saw in the report of the stories."""
    return look_at(report_stories(tmp_path_factory.mktemp("turns")), "turns.mjs")


def test_it_has_no_error(seen: Any) -> None:
    assert seen["problems"] == []


def test_only_the_first_cause_is_open(seen: Any) -> None:
    assert seen["causes"] > 1
    assert seen["opened"] == 1


def test_a_key_moves_the_selection_and_the_case_beside_the_list_follows(seen: Any) -> None:
    selected = seen["moved"].removeprefix("#/?select=test_stories.py::")
    assert selected.startswith("test_")
    assert [selected in name for name in seen["beside"]] == [True]


def test_what_passed_is_folded_and_has_an_order(seen: Any) -> None:
    assert "open=passed" in seen["unfolded"]
    assert len(seen["requests"]) > 3
    assert seen["requests"] == sorted(seen["requests"], reverse=True)


def test_a_filter_is_an_address(seen: Any) -> None:
    assert {line.partition("\n")[0] for line in seen["passed"]} == {"✓"}
    assert "No matches" in seen["nothing"][0]
    assert seen["cleared"] == "#/"


def test_agents_have_lanes_and_a_hand_off_is_an_arrow(seen: Any) -> None:
    assert seen["lanes"] == ["■ planner", "■ ops"]
    assert seen["handed"] == ["transfer_to_ops"]


def test_keys_lead_into_a_turn_and_back_to_the_list(seen: Any) -> None:
    assert seen["selected"] == f"{CASE}test_agents?select=2"
    assert seen["entered"] == f"{CASE}test_agents/2"
    assert seen["left"] == "#/?select=test_stories.py::test_agents"


def test_an_approval_says_who_decided(seen: Any) -> None:
    assert set(seen["approvals"]) == {"✓ approved by the client", "✗ denied by the client"}


def test_a_call_without_output_ends_where_it_should_have_come(seen: Any) -> None:
    assert seen["rails"]["starts"] == seen["rails"]["ends"] > seen["rails"]["missing"] - 1
    assert seen["rails"]["missing"] == len(seen["missing"]) >= 1
    assert "no output for" in seen["missing"][0]
    assert "400 No tool output found" in seen["refused"][0]


def test_history_is_folded(seen: Any) -> None:
    assert "as before" in seen["folded"][0]
    assert seen["history"] > len(seen["folded"])


def test_a_diagram_is_a_picture_and_mermaid(seen: Any) -> None:
    assert seen["arrows"] > 3
    assert seen["mermaid"].startswith("sequenceDiagram")
    assert seen["picture"].endswith(".svg")


def test_a_test_is_a_transcript_too(seen: Any) -> None:
    assert "user" in seen["transcript"]


def test_search_finds_what_is_shown(seen: Any) -> None:
    assert seen["hits"] == {"stored": "0 hits", "shown": "1 hit"}


def test_the_time_line_has_a_bar_for_each_test(seen: Any) -> None:
    assert seen["bars"] > 10


def test_a_turn_shows_the_line_that_scripted_it(seen: Any) -> None:
    assert "test_stories.py:" in seen["scripted"][0]
    assert "mock.script(" in seen["scripted"][0]
    assert len(seen["scriptedInLanes"]) == 3
    assert 'mock.when(instructions="are ops").script(' in seen["scriptedInLanes"][1]


def test_a_cause_opens_its_section_of_the_manual(seen: Any) -> None:
    assert seen["manual"] == "A request was refused"


def test_a_small_screen_shows_one_thing_and_a_way_back(seen: Any) -> None:
    assert seen["alone"] == 0
    assert seen["small"].startswith(CASE)
    assert seen["back"] == "#/"

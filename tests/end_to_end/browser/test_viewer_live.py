"""The page of a server that runs, in Chromium; skipped where there is no Chromium."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.browser.chromium import EveryPage, look_at, look_once
from tests.end_to_end.browser.stories import EVIL
from tests.support.servers.served import serving

pytestmark = pytest.mark.slow
TOKEN = "token-of-the-test"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a reader saw while requests came."""
    return look_once(tmp_path_factory, "live", look)


def look(folder: Path) -> Any:
    with serving("--control-token", TOKEN) as served:
        origin = f"http://127.0.0.1:{served.port}"
        return look_at(folder / "none.html", "live.mjs", origin=origin, token=TOKEN, evil=EVIL)


class TestThePage(EveryPage):
    """Of a server that runs."""


def test_the_token_is_asked_for_and_leaves_the_address(seen: Any) -> None:
    assert "token" in seen["locked"]
    assert TOKEN not in seen["address"]


def test_worlds_appear_without_loading_the_page_again(seen: Any) -> None:
    assert len(set(seen["worlds"])) == 2
    # A World without a name is named by its hash and the first words of its client.
    beginnings = [world.removeprefix("key-")[:8] for world in seen["worlds"]]
    assert [name for name in beginnings if f"{name} " not in seen["both"]] == []
    assert seen["kept"]


def test_a_world_grows_while_it_is_looked_at(seen: Any) -> None:
    assert "The first World goes on." in seen["grown"]
    assert "The second World goes on." not in seen["grown"]


def test_a_stream_is_stepped_through(seen: Any) -> None:
    assert "event 2 of" in seen["stepped"]


def test_turns_are_queued_and_requests_answered_by_hand(seen: Any) -> None:
    assert "Queued in the page." in seen["queued"]
    assert "Who answers?" in seen["waits"]
    assert "A person answers." in seen["byHand"]


def test_a_waiting_turn_is_edited_in_place(seen: Any) -> None:
    assert ["First." in seen["edited"][0], "Edited in place." in seen["edited"][1]] == [True, True]


def test_a_stream_is_let_go_event_by_event(seen: Any) -> None:
    assert "event: response.created" in seen["steppedAnswer"]
    assert "event: response.completed" in seen["steppedAnswer"]


def test_an_answer_that_comes_late_does_not_undo_a_click(seen: Any) -> None:
    assert seen["late"] is True


def test_a_call_is_approved_in_the_clients_place(seen: Any) -> None:
    assert "approved by the client" in seen["approved"]
    assert "It is live." in seen["approved"]


def test_a_refusal_shows_at_once(seen: Any) -> None:
    assert "No tool output found for function call call_1" in seen["refused"]

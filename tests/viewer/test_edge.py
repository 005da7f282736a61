"""When an exchange came and went, and which turn answered it."""

from __future__ import annotations

from pathlib import Path

from tests.support.shown import Asked


def test_an_exchange_says_when_it_came_and_which_turn_answered(asked: Asked) -> None:
    asked.mock.when(instructions="planner").script("Never.")
    asked.mock.script("One.", "Two.")
    asked.ask("hi", instructions="You are ops.")
    asked.ask(17)
    case = asked.show()
    first, second = case.exchanges
    assert first.edge.arrived == 0
    assert second.edge.arrived is not None
    assert first.edge.arrived <= (first.edge.last_byte or 0) <= second.edge.arrived
    assert case.row.began == 1000.0
    assert first.answered_by is not None
    assert (first.answered_by.turn, first.answered_by.route) == (1, "script")
    assert first.answered_by.file == __file__
    lines = Path(__file__).read_text().splitlines()
    assert 'asked.mock.script("One.", "Two.")' in lines[first.answered_by.line - 1]
    assert [(route.route, route.failed) for route in first.tried] == [
        ("when(instructions='planner')", "instructions has no 'planner', it is 'You are ops.'"),
        ("script", ""),
    ]
    assert (second.answered_by, second.tried) == (None, [])
    [never, two] = case.waiting
    assert (never.file, two.route) == (__file__, "script")
    assert 'script("Never.")' in lines[never.line - 1]

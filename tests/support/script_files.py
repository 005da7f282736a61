"""Script files: the World that one scripts, its turns, and what is wrong with one."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ScriptError
from harness.core.exchange import Request
from harness.ending import TurnLine
from harness.world.api_call import ApiCall
from harness.world.mock import Mock
from harness.world.scripting.load import load_script_file
from harness.world.world import World

Write = Callable[..., Path]
"""Writes a script file and returns its path."""


def world_of(path: Path) -> World:
    """Return a World that a script file has scripted."""
    mock = Mock()
    load_script_file(path).apply(mock)
    return mock.world


def take_turn(world: World, **body: Any) -> Sequence[TurnLine]:
    """Return the lines of the turn that a request takes."""
    return world.script.next(
        ApiCall(Request("POST", "/responses", body={"model": "gpt-4.1", "input": "hi", **body}), world)
    ).lines


def complaint(path: Path) -> str:
    """Return what is wrong with a script file, without its folder."""
    with pytest.raises(ScriptError) as caught:
        load_script_file(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def at_mark(text: str) -> tuple[str, int]:
    """Return a text without its mark `§`, and the number of the line that is marked, 1 without a mark."""
    before, mark, after = text.partition("§")
    return before + after, before.count("\n") + 1 if mark else 1

"""What a World begins with, as an object and as arguments."""

from __future__ import annotations

from dataclasses import fields

from harness.server.mock_api import MockApi
from harness.world.options import GivenOptions, WorldOptions


def test_each_option_may_be_given_as_an_argument() -> None:
    assert list(GivenOptions.__annotations__) == [option.name for option in fields(WorldOptions)]


def test_an_argument_is_an_option_of_each_world() -> None:
    api = MockApi(as_of="2025-09-01", dialect="azure")
    assert api.options == WorldOptions(as_of="2025-09-01", dialect="azure")
    assert api.open("sk-1").world.as_of == "2025-09-01"

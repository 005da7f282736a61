"""`responses-harness manual`: the sections that messages name."""

from typing import get_args

from harness.core.errors import Section
from tests.support.command_line import run_cli


def test_the_sections_are_listed() -> None:
    assert run_cli("manual").stdout.split() == [*get_args(Section)]


def test_a_section_is_shown_with_causes_and_fixes() -> None:
    told = run_cli("manual", "turns-are-left").stdout
    assert told.startswith(
        "Turns are left\n\n`No request asked for … of … exchanges in …`\n  cause    The client stopped"
    )

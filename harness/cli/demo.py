"""`responses-harness demo`: two agents against the mock."""

from __future__ import annotations

import typer

from harness.cli.support.app import ExitCode, make_console, print_note


def demo() -> None:
    """Run two agents against the mock, then a refusal and its fix.

    It needs no network and no key.
    """
    from harness.drive.demo import NotRefusedError, run_demo
    from harness.server.mock_api import MockApi

    console = make_console()
    try:
        for line in run_demo(MockApi()):
            console.print(line)
    except NotRefusedError as problem:
        print_note(str(problem))
        raise typer.Exit(ExitCode.FOUND) from problem

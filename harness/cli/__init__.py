"""The command `responses-harness`, for short `harness`: one module for each of its commands, `COMMANDS`.

A module parses options and prints; what the commands do is implemented in other packages. Exit codes: 0 done, 1
something was found or a check failed, 2 the command line is wrong, explained in one message on stderr; `record` and
`serve` with a command exit with the code of that command.
"""

from __future__ import annotations

import gc
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from harness.core.errors import COMMAND

if TYPE_CHECKING:
    from harness.cli.support.app import app as app

COMMANDS = (
    *("serve", "record", "rules", "losses", "models", "examine"),
    *("verify", "check", "learn", "report", "view", "drift", "cassettes", "demo", "manual"),
)
"""The commands in the order of the help, each a function in a module, both of its name."""
STARTUP_THRESHOLD = 50_000
"""New objects before garbage is collected; imported modules contain none."""


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'harness.cli' has no attribute {name!r}")
    for command in COMMANDS:
        _register(command)
    return import_module("harness.cli.support.app").app


@cache
def _register(name: str) -> None:
    from harness.cli.support.app import Command, app

    app.command(name, cls=Command)(getattr(import_module(f"harness.cli.{name}"), name))


def main() -> None:
    """Run `responses-harness`, `harness` or `python -m harness`; only the command that is called is imported."""
    gc.set_threshold(STARTUP_THRESHOLD)
    called = sys.argv[1:2]
    for name in called if called and called[0] in COMMANDS else COMMANDS:
        _register(name)
    from harness.cli.support.app import app

    app(prog_name=COMMAND)

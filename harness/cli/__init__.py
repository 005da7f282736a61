"""The command `responses-harness`, for short `harness`: its `COMMANDS`, each a function of its options.

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
    from harness.cli.program import app as app

COMMANDS = (
    *("serve", "record", "rules", "losses", "models", "examine"),
    *("verify", "check", "learn", "report", "view", "drift", "cassettes", "demo", "manual"),
)
"""The commands in the order of the help, each a function of its name, in a module of its name or in `catalogue`."""
CATALOGUE = ("rules", "losses", "models", "manual")
"""The commands that list and explain."""
STARTUP_THRESHOLD = 50_000
"""New objects before garbage is collected; imported modules contain none."""


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'harness.cli' has no attribute {name!r}")
    for command in COMMANDS:
        _register(command)
    return import_module("harness.cli.program").app


@cache
def _register(name: str) -> None:
    from harness.cli.program import Command, app, to_typer

    module = import_module(f"harness.cli.{'catalogue' if name in CATALOGUE else name}")
    app.command(name, cls=Command)(to_typer(getattr(module, name)))


def main() -> None:
    """Run `responses-harness`, `harness` or `python -m harness`; only the command that is called is imported."""
    gc.set_threshold(STARTUP_THRESHOLD)
    called = sys.argv[1:2]
    for name in called if called and called[0] in COMMANDS else COMMANDS:
        _register(name)
    from harness.cli.program import app

    app(prog_name=COMMAND)

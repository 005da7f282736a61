"""The `harness` command: serve, rules, losses, verify, schemas, demo.

Exit codes: 0 done, 1 something was found or the check failed, 2 a mistake in what was asked, said in one message on stderr.
"""

from __future__ import annotations

from harness.cli import judging, listing, making, serving
from harness.cli.app import app

COMMANDS = (serving.serve, listing.rules, listing.losses, judging.verify, making.schemas, making.demo)

for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line; `harness` and `python -m harness` end here."""
    app(prog_name="harness")

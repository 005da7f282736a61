"""The `harness` command: serve, record, rules, losses, verify, report, schemas, demo.

Exit codes: 0 done, 1 something was found or the check failed, 2 a mistake in what was asked, said in one message on stderr.
"""

from __future__ import annotations

from harness.cli import live, record, report, rules, schemas, serve, verify
from harness.cli.app import app

COMMANDS = (
    serve.serve,
    record.record,
    rules.rules,
    rules.losses,
    verify.verify,
    report.report,
    live.drift,
    live.cassettes,
    schemas.schemas,
    schemas.demo,
)

for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line; `harness` and `python -m harness` end here."""
    app(prog_name="harness")

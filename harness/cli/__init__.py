"""The `harness` command: one module for each of its commands, `COMMANDS`.

A module parses options and prints; what the commands do lives in the packages above. Exit codes: 0 done, 1
something was found or a check failed, 2 the command line is wrong, explained in one message on stderr; `record` and
`serve` with a command exit as it does.
"""

from __future__ import annotations

from importlib.util import find_spec

from harness.cli import cassettes, demo, drift, examine, learn, losses, models, record, report, rules, serve, verify
from harness.cli.support.app import app, refuse_outside_checkout

COMMANDS = (
    serve.serve,
    record.record,
    rules.rules,
    losses.losses,
    models.models,
    examine.examine,
    verify.verify,
    learn.learn,
    report.report,
    drift.drift,
    cassettes.cassettes,
)

for command in COMMANDS:
    app.command()(command)

if find_spec("harness.cli.schemas"):
    from harness.cli.schemas import schemas

    app.command()(schemas)
else:  # a wheel leaves it out
    refuse_outside_checkout("schemas")

app.command()(demo.demo)


def main() -> None:
    """The entry point of `harness` and `python -m harness`."""
    app(prog_name="harness")

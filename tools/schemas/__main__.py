"""`python -m tools.schemas`: generates the schemas from the SDK, reads its shutdown days, and checks both."""

from dataclasses import dataclass

import typer

from harness.cli.program import ExitCode, Options, option, print_text
from harness.contract import schema
from tools.program import make_program
from tools.schemas import sync as schemas_of
from tools.schemas.shutdowns import write_shutdowns


@dataclass(frozen=True, kw_only=True)
class SchemasOptions(Options):
    """The options of the command."""

    sync: bool = option(False, "Write the schemas from the installed openai SDK.")
    check: bool = option(False, "Are the files what the SDK, the lock and overlays say?")
    diff: bool = option(False, "What the installed SDK or the document would change.")
    openapi: str = option("", "The official OpenAPI document, a path or URL.")


def make_schemas(options: SchemasOptions) -> None:
    """Make, check or compare the schemas."""
    sync, check, openapi = options.sync, options.check, options.openapi
    if sync + check + options.diff != 1:
        raise typer.BadParameter("give exactly one of --sync, --check, --diff.")
    if check and openapi:
        raise typer.BadParameter("--openapi goes with --sync or --diff.")
    document, directory = openapi or None, schema.schemas_directory()
    if check:
        problems = schemas_of.check(directory)
        print_text("\n".join(problems or ["ok"]))
        raise typer.Exit(ExitCode.FOUND if problems else ExitCode.OK)
    if sync and write_shutdowns():
        print_text("model_facts.json: shutdowns")
    changes = schemas_of.sync(directory, document) if sync else schemas_of.diff(directory, document)
    print_text("\n".join(map(str, changes)) or "nothing changes")


app = make_program(make_schemas)

if __name__ == "__main__":
    app()

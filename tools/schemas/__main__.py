"""`python -m tools.schemas`: generates the schemas from the SDK, reads its shutdown days, and checks both."""

from typing import Annotated

import typer

from harness.cli.support.app import ExitCode, print_text
from harness.contract import schema
from tools.program import make_program
from tools.schemas import sync as schemas_of
from tools.schemas.shutdowns import write_shutdowns


def make_schemas(
    sync: Annotated[bool, typer.Option("--sync", help="Write the schemas from the installed openai SDK.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Are the files what the SDK, the lock and overlays say?")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="What the installed SDK or the document would change.")] = False,
    openapi: Annotated[str, typer.Option(help="The official OpenAPI document, a path or URL.")] = "",
) -> None:
    """Make, check or compare the schemas."""
    if sync + check + diff != 1:
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

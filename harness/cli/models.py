"""`responses-harness models`: lists the models, and what is known of each."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from harness.cli.support.app import make_console, print_json, print_page, print_rows, require_known
from harness.cli.support.completion import complete_model
from harness.core.errors import COMMAND


def models(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", autocompletion=complete_model, help="The model to show; default: list all families."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    coverage: Annotated[
        bool,
        typer.Option(
            "--coverage", help="Show how much of the table is known, by level of evidence, and how much is open."
        ),
    ] = False,
) -> None:
    """List the models and the known facts about each, or show all facts about one.

    Unknown facts are open: they cause no refusal.
    """
    from harness.api.models import MODELS
    from harness.report import catalogue

    if coverage:
        if name:
            raise typer.BadParameter("--coverage covers all models; pass it alone or with --json.")
        print_coverage(None, as_json)
        return
    if not name:
        print_rows([catalogue.model_row(family) for family in MODELS], as_json)
        return
    known = [*MODELS, *(alias for family in MODELS.values() for alias in family.names)]
    found = MODELS.find(name)
    family = found.name if found else require_known("model", name, known, f"{COMMAND} models")
    if as_json:
        print_json(catalogue.model_json(family))
        return
    print_page(family, catalogue.describe_model(family), catalogue.model_sections(family))


def print_coverage(met: Mapping[str, Sequence[int]] | None, as_json: bool) -> None:
    """Print a row for each fact, with `met` how often recordings met it, and the totals of what is known."""
    from harness.report.catalogue import coverage_rows

    rows = coverage_rows(met)
    print_rows(rows, as_json)
    if not as_json:
        known, still_open = (sum(int(row[column] or 0) for row in rows) for column in ("known", "open"))
        make_console().print(f"{known} facts are known, {still_open} are open.")

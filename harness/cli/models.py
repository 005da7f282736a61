"""`harness models`: lists the models, and what is known of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.support.app import make_console, print_json, print_page, print_rows, require_known
from harness.cli.support.completion import complete_model


def models(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", autocompletion=complete_model, help="The model to show; without it all families are listed."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="How much of the table is known, how, and how much is open.")
    ] = False,
    recordings: Annotated[
        list[Path] | None,
        typer.Option(
            "--recordings",
            metavar="PATH",
            help="With --coverage: recordings to judge, which say how often they met a fact and the table was right.",
        ),
    ] = None,
) -> None:
    """List the models and what is known of each, or show all that is known of one.

    What is not known is open: no request is refused for it.
    """
    from harness.api.models import MODELS
    from harness.report import model_catalogue

    if coverage or recordings:
        if name or not coverage:
            raise typer.BadParameter("--coverage is of all models; give it alone, or with --recordings and --json.")
        _print_coverage(recordings or [], as_json)
        return
    if not name:
        print_rows([model_catalogue.model_row(family) for family in MODELS], as_json)
        return
    known = [*MODELS, *(alias for family in MODELS.values() for alias in family.names)]
    found = MODELS.find(name)
    family = found.name if found else require_known("model", name, known, "harness models")
    if as_json:
        print_json(model_catalogue.model_json(family))
        return
    print_page(family, model_catalogue.describe_model(family), model_catalogue.model_sections(family))


def _print_coverage(recordings: list[Path], as_json: bool) -> None:
    """A row for each fact, and how much is known in all."""
    from harness.report.model_catalogue import coverage_rows

    met = None
    if recordings:
        from harness.verify.model_facts_met import count_met_facts

        met = count_met_facts(recordings)
    rows = coverage_rows(met)
    print_rows(rows, as_json)
    if not as_json:
        known, still_open = (sum(int(row[column] or 0) for row in rows) for column in ("known", "open"))
        make_console().print(f"{known} facts are known, {still_open} are open.")

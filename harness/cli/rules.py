"""`harness rules`: lists why the API refuses requests, and how that is known."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.app import make_console, print_json, print_page, print_rows, require_known
from harness.cli.completion import complete_area, complete_rule


def rules(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID", autocompletion=complete_rule, help="The rule to explain; without it all are listed."
        ),
    ] = "",
    area: Annotated[str, typer.Option(autocompletion=complete_area, help="Only the rules of this area.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    assumed: Annotated[bool, typer.Option("--assumed", help="Only what is assumed, not known.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="How well each area is known, and what proves it.")
    ] = False,
) -> None:
    """List why the API refuses requests, or explain one rule.

    The list is in order of precedence: the API reports one error, the first.
    """
    from harness.contract.rule import RULES
    from harness.report.catalogue import rule_json, rule_row, rule_sections

    if coverage:
        if name or area or assumed:
            raise typer.BadParameter("--coverage is of all rules; give it alone, or with --json.")
        _print_coverage(as_json)
        return
    if name:
        rule = RULES[require_known("rule", name, RULES, "harness rules")]
        title = f"{rule.id}  ({rule.area}, {rule.level})"
        print_json(rule_json(rule)) if as_json else print_page(title, rule.doc, rule_sections(rule))
        return
    if area:
        require_known("area", area, {rule.area: None for rule in RULES.values()})
    chosen = [r for r in RULES.values() if area in ("", r.area) and (r.level == "assumed" or not assumed)]
    print_rows([rule_row(rule) for rule in chosen], as_json)


def _print_coverage(as_json: bool) -> None:
    """Rules by area and evidence level, then every rule that claims evidence no cassette shows, with the reason."""
    from dataclasses import asdict

    from harness.contract.rule import RULES
    from harness.verify import evidence, evidence_coverage

    cassettes = evidence.load_rule_cassettes()
    rows, gaps = evidence_coverage.coverage_rows(RULES, cassettes), evidence_coverage.find_gaps(RULES, cassettes)
    if as_json:
        print_json({"areas": rows, "gaps": [asdict(gap) for gap in gaps]})
        return
    console = make_console()
    console.print(evidence_coverage.coverage_table(rows))
    for gap in gaps:
        console.print(f"no cassette  {gap.rule}  ({gap.level}): {gap.reason}")

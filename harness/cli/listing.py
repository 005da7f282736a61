"""`harness rules`: what is known of the API, told to people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.app import console_of, known, print_json

if TYPE_CHECKING:
    from harness.rule import Rule


def rules(
    name: Annotated[str, typer.Argument(metavar="[ID]", help="The rule to explain; without it all are listed.")] = "",
    area: Annotated[str, typer.Option(help="Only the rules of this area.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    assumed: Annotated[bool, typer.Option("--assumed", help="Only what is assumed, not known.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="How well each area is known, and what proves it.")
    ] = False,
) -> None:
    """List why the API refuses requests, in order of precedence, or explain one rule."""
    from harness.catalogue import row, told
    from harness.rule import RULES

    if coverage:
        if name or area or assumed:
            raise typer.BadParameter("--coverage is of all rules; give it alone, or with --json.")
        _print_coverage(as_json)
        return
    if name:
        rule = RULES[known("rule", name, RULES)]
        print_json(told(rule)) if as_json else _print_rule(rule)
        return
    if area:
        known("area", area, {rule.area: None for rule in RULES.values()})
    chosen = [r for r in RULES.values() if area in ("", r.area) and (r.level == "assumed" or not assumed)]
    if as_json:
        print_json([row(rule) for rule in chosen])
    else:
        _print_table(chosen)


def _print_coverage(as_json: bool) -> None:
    """Rules by area and evidence level, then every rule that claims evidence no cassette shows, with the reason."""
    from dataclasses import asdict

    from harness import evidence
    from harness.rule import RULES

    cassettes = evidence.load()
    rows, gaps = evidence.rows(RULES, cassettes), evidence.gaps(RULES, cassettes)
    if as_json:
        print_json({"areas": rows, "gaps": [asdict(gap) for gap in gaps]})
        return
    console = console_of()
    console.print(evidence.table(rows))
    for gap in gaps:
        console.print(f"no cassette  {gap.rule}  ({gap.level}): {gap.reason}")


def _print_table(chosen: Sequence[Rule]) -> None:
    from rich.table import Table

    from harness.catalogue import row

    table = Table("id", "area", "level", "summary", box=None, pad_edge=False)
    for rule in chosen:
        table.add_row(*row(rule).values())
    console_of().print(table)


def _print_rule(rule: Rule) -> None:
    """A rule as a page: what it says, the API's words, examples, evidence, what to do about it."""
    from rich.padding import Padding

    from harness.catalogue import sections

    console = console_of()
    console.print(f"{rule.id}  ({rule.area}, {rule.level})\n\n{rule.doc}")
    for title, lines in sections(rule):
        console.print(f"\n{title}", style="bold")
        for text in lines:
            console.print(Padding(text, (0, 0, 0, 2), expand=False))

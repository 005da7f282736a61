"""`responses-harness rules`: lists why the API refuses requests, and what shows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.support.app import print_json, print_page, print_rows, print_text, require_known
from harness.cli.support.completion import complete_area, complete_rule
from harness.core.errors import COMMAND, ConfigError

if TYPE_CHECKING:
    from harness.contract.rule import Rule


def rules(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID | WORDS]",
            autocompletion=complete_rule,
            help="The rule to explain, or words in its text, error, source or fix; default: list all.",
        ),
    ] = None,
    area: Annotated[str, typer.Option(autocompletion=complete_area, help="Only the rules of this area.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    assumed: Annotated[bool, typer.Option("--assumed", help="Only assumed rules.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the examples of all rules as JSON, with runners in Python and Node."),
    ] = None,
    contract: Annotated[
        Path | None,
        typer.Option(
            "--contract", metavar="FILE", help=f"Also the rules written by `{COMMAND} learn`; their area is `yours`."
        ),
    ] = None,
) -> None:
    """List why the API refuses requests, explain one rule, or search their texts, errors, sources and fixes.

    The list is in order of precedence: the API reports only the first error.
    """
    if export:
        _export(export)
        return
    from harness.contract.overrides import AREA
    from harness.contract.rule import RULES
    from harness.overrides.project_file import exemption_rows, load_overrides
    from harness.report.catalogue import rule_json, rule_row, rule_sections

    own = load_overrides(contract, Path())
    known = {**RULES, **(own.rules if own else {})}
    if words and len(words) == 1 and words[0] in known:
        rule = known[words[0]]
        title = f"{rule.id}  ({rule.area}, {rule.level})"
        print_json(rule_json(rule)) if as_json else print_page(title, rule.doc, rule_sections(rule))
        return
    if area:
        require_known("area", area, {**{rule.area: None for rule in known.values()}, **({AREA: None} if own else {})})
    found = _find_rules(known, words) if words else list(known.values())
    chosen = [r for r in found if area in ("", r.area) and (r.level == "assumed" or not assumed)]
    exempt = exemption_rows(own) if own and not words and area in ("", AREA) and not assumed else []
    print_rows([*map(rule_row, chosen), *exempt], as_json)


def _export(folder: Path) -> None:
    """Write the contract as data and print what to do with it; ConfigError for a folder that cannot be written."""
    from harness.live.conformance.export import export_contract
    from harness.report.replace_file import explain_write_errors

    with explain_write_errors(str(folder), "Pass another folder to --export"):
        count = export_contract(folder)
    print_text(
        f"{count} examples in {folder / 'contract.json'}; `python {folder / 'run_contract.py'} URL` asks a server."
    )


def _find_rules(known: Mapping[str, Rule], words: list[str]) -> list[Rule]:
    """Return the rules with these words; ConfigError, with the nearest rule or words, if no rule has them."""
    from harness.report.catalogue import find_rules, suggest_words

    if found := find_rules(known.values(), words):
        return found
    if len(words) == 1 and " " not in words[0]:
        require_known("rule", words[0], known, f"{COMMAND} rules")
    raise ConfigError(f"no rule contains all of {', '.join(map(repr, words))}. {suggest_words(known.values(), words)}")

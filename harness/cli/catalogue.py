"""What the mock knows, listed and explained: rules, losses, models, and the manual's page "Troubleshooting"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

import harness.analysis.losses
import harness.foundry  # noqa: F401  (registers every rule)
from harness.analysis.loss import LOSSES
from harness.api.models import MODELS
from harness.cli.program import (
    Options,
    argument,
    completes,
    make_console,
    option,
    print_json,
    print_page,
    print_rows,
    print_text,
    require_known,
)
from harness.contract.overrides import AREA
from harness.contract.rule import RULES, Rule
from harness.core.errors import COMMAND, ConfigError
from harness.live.conformance.export import export_contract
from harness.overrides.project_file import exemption_rows, load_overrides
from harness.report import catalogue
from harness.report.catalogue import (
    coverage_rows,
    find_rules,
    loss_json,
    loss_row,
    loss_sections,
    rule_json,
    rule_row,
    rule_sections,
    suggest_words,
)
from harness.report.replace_file import explain_write_errors
from harness.report.troubleshooting import SECTIONS, read_section


def _rule_areas() -> dict[str, str]:
    return {rule.id: rule.area for rule in RULES.values()}


def _model_names() -> Iterable[str]:
    return dict.fromkeys(alias for family in MODELS.values() for alias in family.names)


@dataclass(frozen=True, kw_only=True)
class RulesOptions(Options):
    """The options of `responses-harness rules`."""

    words: list[str] | None = argument(
        None,
        "The rule to explain, or words in its text, error, source or fix; default: list all.",
        metavar="[ID | WORDS]",
        autocompletion=completes(_rule_areas),
    )
    area: str = option(
        "",
        "Only the rules of this area.",
        autocompletion=completes(lambda: dict.fromkeys(_rule_areas().values())),
    )
    as_json: bool = option(False, "Print JSON.", "--json")
    assumed: bool = option(False, "Only rules of which something is assumed.")
    export: Path | None = option(
        None, "Write the examples of all rules as JSON, with runners in Python and Node.", metavar="DIR"
    )
    contract: Path | None = option(
        None, f"Also the rules written by `{COMMAND} learn`; their area is `yours`.", metavar="FILE"
    )


def rules(options: RulesOptions) -> None:
    """List why the API refuses requests, explain one rule, or search their texts, errors, sources and fixes.

    The list is in order of precedence: the API reports only the first error.
    """
    if options.export:
        _export(options.export)
        return
    words, area, assumed = options.words, options.area, options.assumed
    own = load_overrides(options.contract, Path())
    known = {**RULES, **(own.rules if own else {})}
    if words and len(words) == 1 and words[0] in known:
        rule = known[words[0]]
        title = f"{rule.id}  ({rule.area}, {rule.level})"
        print_json(rule_json(rule)) if options.as_json else print_page(title, rule.doc, rule_sections(rule))
        return
    if area:
        require_known("area", area, {**{rule.area: None for rule in known.values()}, **({AREA: None} if own else {})})
    found = _find_rules(known, words) if words else list(known.values())
    chosen = [
        r
        for r in found
        if area in ("", r.area) and (not assumed or any(source.level == "assumed" for source in r.sources))
    ]
    exempt = exemption_rows(own) if own and not words and area in ("", AREA) and not assumed else []
    print_rows([*map(rule_row, chosen), *exempt], options.as_json)


def _export(folder: Path) -> None:
    """Write the contract as data and print what to do with it; ConfigError for a folder that cannot be written."""
    with explain_write_errors(str(folder), "Pass another folder to --export"):
        count = export_contract(folder)
    print_text(
        f"{count} examples in {folder / 'contract.json'}; `python {folder / 'run_contract.py'} URL` asks a server."
    )


def _find_rules(known: Mapping[str, Rule], words: list[str]) -> list[Rule]:
    """Return the rules with these words; ConfigError, with the nearest rule or words, if no rule has them."""
    if found := find_rules(known.values(), words):
        return found
    if len(words) == 1 and " " not in words[0]:
        require_known("rule", words[0], known, f"{COMMAND} rules")
    raise ConfigError(f"no rule contains all of {', '.join(map(repr, words))}. {suggest_words(known.values(), words)}")


@dataclass(frozen=True, kw_only=True)
class LossesOptions(Options):
    """The options of `responses-harness losses`."""

    name: str = argument(
        "", "The loss to explain; default: list all.", metavar="ID", autocompletion=completes(lambda: LOSSES)
    )
    as_json: bool = option(False, "Print JSON.", "--json")


def losses(options: LossesOptions) -> None:
    """List the parts of an answer that a client may lose, or explain one loss.

    The API accepts requests with losses.
    """
    if not options.name:
        print_rows([loss_row(loss) for loss in LOSSES.values()], options.as_json)
        return
    loss = LOSSES[require_known("loss", options.name, LOSSES, f"{COMMAND} losses")]
    title = f"{loss.id}  ({loss.area}, {'strict' if loss.strict else 'always'})"
    print_json(loss_json(loss)) if options.as_json else print_page(title, loss.doc, loss_sections(loss))


@dataclass(frozen=True, kw_only=True)
class ModelsOptions(Options):
    """The options of `responses-harness models`."""

    name: str = argument(
        "", "The model to show; default: list all families.", metavar="NAME", autocompletion=completes(_model_names)
    )
    as_json: bool = option(False, "Print JSON.", "--json")
    coverage: bool = option(False, "Show how much of the table is known, by level of evidence, and how much is open.")


def models(options: ModelsOptions) -> None:
    """List the models and the known facts about each, or show all facts about one.

    Unknown facts are open: they cause no refusal.
    """
    if options.coverage:
        if options.name:
            raise typer.BadParameter("--coverage covers all models; pass it alone or with --json.")
        print_coverage(None, options.as_json)
        return
    if not options.name:
        print_rows([catalogue.model_row(family) for family in MODELS], options.as_json)
        return
    found = MODELS.find(options.name)
    known = [*MODELS, *_model_names()]
    family = found.name if found else require_known("model", options.name, known, f"{COMMAND} models")
    if options.as_json:
        print_json(catalogue.model_json(family))
        return
    print_page(family, catalogue.describe_model(family), catalogue.model_sections(family))


def print_coverage(met: Mapping[str, Sequence[int]] | None, as_json: bool) -> None:
    """Print a row for each fact, with `met` how often recordings met it, and the totals of what is known."""
    rows = coverage_rows(met)
    print_rows(rows, as_json)
    if not as_json:
        known, still_open = (sum(int(row[column] or 0) for row in rows) for column in ("known", "open"))
        make_console().print(f"{known} facts are known, {still_open} are open.")


@dataclass(frozen=True, kw_only=True)
class ManualOptions(Options):
    """The options of `responses-harness manual`."""

    section: str = argument("", "The section that a message names; default: list all.", metavar="SECTION")


def manual(options: ManualOptions) -> None:
    """Print what the manual says about a message: its cause and its fix.

    Without a section, the sections are listed.
    """
    if not options.section:
        print_text("\n".join(SECTIONS))
        return
    print_text(read_section(require_known("section", options.section, SECTIONS, f"{COMMAND} manual")))

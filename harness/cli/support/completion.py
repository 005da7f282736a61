"""Shell completion: ids of rules, losses and cases, areas, models, adapters. Imported only when a shell asks."""

from collections.abc import Iterable


def complete_rule(incomplete: str) -> list[str]:
    """List the ids of rules with this prefix."""
    return _starting_with(incomplete, _rules())


def complete_area(incomplete: str) -> list[str]:
    """List the areas of rules with this prefix."""
    return _starting_with(incomplete, dict.fromkeys(_rules().values()))


def complete_loss(incomplete: str) -> list[str]:
    """List the ids of losses with this prefix."""
    import harness.analysis.losses  # noqa: F401  (registers every loss)
    from harness.analysis.loss import LOSSES

    return _starting_with(incomplete, LOSSES)


def complete_model(incomplete: str) -> list[str]:
    """List the names of models with this prefix."""
    from harness.api.models import MODELS

    return _starting_with(incomplete, dict.fromkeys(alias for family in MODELS.values() for alias in family.names))


def complete_adapter(incomplete: str) -> list[str]:
    """List the names of ready-made adapters with this prefix."""
    from harness.examine.adapters import ADAPTERS

    return _starting_with(incomplete, ADAPTERS)


def complete_case(incomplete: str) -> list[str]:
    """List the ids of cases with this prefix."""
    import harness.examine.cases  # noqa: F401  (registers every case)
    from harness.examine.case import CASES

    return _starting_with(incomplete, CASES)


def _rules() -> dict[str, str]:
    import harness.foundry  # noqa: F401  (registers every rule)
    from harness.contract.rule import RULES

    return {rule.id: rule.area for rule in RULES.values()}


def _starting_with(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]

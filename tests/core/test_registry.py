"""Registering by name: once each, in order, found with a hint."""

from __future__ import annotations

import pytest

import harness.analysis.losses
import harness.contract.rules
import harness.endpoints  # noqa: F401  (each registers what it declares)
from harness.analysis.loss import LOSSES
from harness.api.operations import OPERATIONS
from harness.contract.rule import RULES
from harness.core.errors import RegistrationError
from harness.core.registry import MAX_KNOWN_LISTED, Registry, import_modules, suggest_name
from harness.ending import ENDINGS
from harness.faults import FAULTS
from harness.items.kind import ITEMS


def test_keeps_declarations_in_order():
    cheeses: Registry[int] = Registry("cheese", {"brie": 1})
    assert cheeses.add("edam", 2) == 2
    assert list(cheeses.items()) == [("brie", 1), ("edam", 2)]
    assert cheeses.find("edam") == 2


def test_a_name_is_declared_once():
    cheeses: Registry[int] = Registry("cheese", {"brie": 1})
    with pytest.raises(RegistrationError, match=r"^cheese brie in dairy.soft is declared twice$"):
        cheeses.add("brie", 2, "dairy.soft")
    assert cheeses == {"brie": 1}


def test_an_unknown_name_is_an_error_with_the_nearest():
    cheeses: Registry[int] = Registry("cheese", {"edam": 2, "brie": 1})
    with pytest.raises(RegistrationError, match=r"^No cheese 'bree'. Did you mean 'brie'[?]$"):
        cheeses.find("bree")
    with pytest.raises(RegistrationError, match=r"^No cheese 'wine'. Known: brie, edam.$"):
        cheeses.find("wine")


def test_a_hint_is_the_nearest_name_or_all():
    assert suggest_name("bree", iter(["brie", "edam"])) == "Did you mean 'brie'?"
    assert suggest_name(7, ["brie", "edam"]) == "Known: brie, edam."


def test_modules_are_imported_by_name():
    import_modules("harness.core", ["ids", "errors"])
    with pytest.raises(ModuleNotFoundError, match=r"harness.core.cheese"):
        import_modules("harness.core", ["cheese"])


@pytest.mark.parametrize("registry", [RULES, ITEMS, LOSSES, OPERATIONS, ENDINGS, FAULTS], ids=lambda each: each.noun)
def test_everything_declared_is_registered_one_way(registry):
    assert isinstance(registry, Registry)
    name = next(iter(registry))
    with pytest.raises(RegistrationError, match="declared twice"):
        registry.add(name, registry[name])


def test_of_many_names_only_the_nearest_are_told() -> None:
    many = [f"cheese_{number}" for number in range(41)]
    assert suggest_name("wine", many).startswith("The nearest of 41 are 'cheese_")
    assert suggest_name("e_40", many) == "Did you mean 'cheese_40'?"
    assert suggest_name("wine", many[:MAX_KNOWN_LISTED]).startswith("Known: cheese_0, cheese_1, ")

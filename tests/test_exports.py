"""What users import is there, is all there is, and is cheap."""

import importlib
import re
import sys
from collections import defaultdict
from functools import cache

import pytest

import harness.core.errors
import harness.items
from harness.core.errors import HarnessError
from harness.items.kind import ITEMS
from tests.support.processes import run
from tests.support.sources import ROOT, sources

PARTS = {
    *("output_text", "refusal", "url_citation", "file_citation", "container_file_citation", "file_path"),
    *("search", "open_page", "find_in_page", "create_file", "update_file", "delete_file", "shell_output"),
    *("by_agent", "created_by"),
}
"""Builders of what stands inside an item."""


def declared() -> list[str]:
    """Return the modules that say in `__all__` what they offer."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted((ROOT / "harness").rglob("*.py"))}
    files = [file.relative_to(ROOT).with_suffix("") for file, text in texts.items() if "__all__ = " in text]
    return [".".join(file.parts).removesuffix(".__init__") for file in files]


def test_every_kind_of_item_is_a_builder_of_harness_items():
    assert set(harness.items.__all__) - PARTS == set(ITEMS)


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_a_builder_is_named_by_its_wire_type(name):
    assert getattr(harness.items, name) is ITEMS.find(name).builder


@pytest.mark.parametrize("name", declared())
def test_all_is_sorted_and_true(name):
    offered = importlib.import_module(name).__all__
    assert list(offered) == sorted(set(offered))
    assert not [member for member in offered if not hasattr(importlib.import_module(name), member)]


@pytest.mark.parametrize("name", declared())
def test_nobody_takes_what_a_module_does_not_offer(name):
    submodules = {module.rpartition(".")[2] for module in sources() if module.rpartition(".")[0] == name}
    assert imported_names()[name] - submodules <= set(importlib.import_module(name).__all__)


@cache
def imported_names() -> dict[str, set[str]]:
    """By module, the names that other modules import from it."""
    found: dict[str, set[str]] = defaultdict(set)
    for user in sources().values():
        for imported in user.imports:
            module, _, name = imported.rpartition(".")
            found[module].add(name)
    return found


def test_the_drawn_tree_of_errors_is_complete():
    drawn = re.findall(r"(\w+) {2,}\S", harness.core.errors.__doc__ or "")
    declared = [name for name, value in vars(harness.core.errors).items() if isinstance(value, type) and name != "Any"]
    assert set(drawn) == {
        "ApiError",
        *(name for name in declared if issubclass(vars(harness.core.errors)[name], HarnessError)),
    }


def test_importing_the_package_costs_nothing():
    code = "import sys; before = set(sys.modules); import harness; print(sorted(set(sys.modules) - before))"
    assert run([sys.executable, "-c", code], check=True).stdout.strip() == "['harness']"


def test_a_mock_without_a_server_creates_what_a_project_has():
    code = "import harness; print(harness.Mock().agent('helper', model='gpt-4.1'))"
    assert run([sys.executable, "-c", code], check=True).stdout.strip() == "helper:1"

"""The reference of the Python API leaves out nothing: it names objects that are there, and all builders."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

import harness.items
from harness.ending import ENDINGS, RESPONSE_LINES
from harness.faults import FAULTS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/python-api.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^::: (\S+)\n((?: {4}.*\n)*)", re.M)


def blocks() -> dict[str, dict[str, Any]]:
    """Return each object that the page shows, with the options of its block."""
    return {name: (yaml.safe_load(options) or {}).get("options", {}) for name, options in BLOCK.findall(PAGE)}


def find(name: str) -> object:
    """Return the object of a dotted name: a module or a member of one."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, member = name.rpartition(".")
        return getattr(find(module), member)


@pytest.mark.parametrize("name", blocks())
def test_what_is_shown_is_there_and_has_a_docstring(name):
    assert getattr(find(name), "__doc__", None)


@pytest.mark.parametrize("name", [name for name, options in blocks().items() if "members" in options])
def test_a_member_that_is_shown_is_there(name):
    assert [member for member in blocks()[name]["members"] if not hasattr(find(name), member)] == []


def test_every_fault_is_shown():
    assert set(blocks()["harness.faults"]["members"]) == set(FAULTS)


def test_every_ending_is_shown():
    assert set(blocks()["harness.ending"]["members"]) == {*ENDINGS, *RESPONSE_LINES}


def test_every_builder_of_items_is_shown():
    pairs = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| `.*\n", PAGE, re.M)))
    of_modules = [name for shown, options in blocks().items() if ".items." in shown for name in options["members"]]
    assert sorted([*of_modules, *pairs]) == sorted(harness.items.__all__)

"""The reference of the Python API leaves out nothing: its pages name objects that are there, and all builders."""

from __future__ import annotations

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
PAGES = sorted((ROOT / "docs/reference").glob("*.md"))
BLOCK = re.compile(r"^::: (\S+)\n((?: {4}.*\n)*)", re.M)


def blocks() -> dict[str, dict[str, Any]]:
    """Each object that the pages show, with the options of its block."""
    shown = [block for page in PAGES for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    return {name: (yaml.safe_load(options) or {}).get("options", {}) for name, options in shown}


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
    text = (ROOT / "docs/reference/items.md").read_text(encoding="utf-8")
    pairs = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| `.*\n", text, re.M)))
    of_modules = [name for shown, options in blocks().items() if ".items." in shown for name in options["members"]]
    assert sorted([*of_modules, *pairs]) == sorted(harness.items.__all__)


def test_every_page_is_in_the_menu_and_has_blocks():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f": reference/{page.name}\n" not in menu] == []
    assert [page.name for page in PAGES if not BLOCK.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []

"""Every distribution that the harness imports is a dependency of it, or an extra."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_what_a_module_imports_at_once_is_a_dependency():
    assert distributions(at_once, (*ADAPTERS, *OPTIONAL)) <= declared("dependencies") | PROMISED


@pytest.mark.slow
def test_no_request_needs_an_extra():
    assert distributions(ast.walk, only=ANSWERING) <= declared("dependencies") | PROMISED


@pytest.mark.slow
def test_what_a_function_imports_late_is_an_extra_at_least():
    assert distributions(ast.walk, ADAPTERS) <= declared("dependencies", "dev", *EXTRAS) | PROMISED


def test_all_is_every_extra_and_a_checkout_has_it():
    (extras,) = re.findall(r"responses-harness\[(.*?)\]", str(OPTIONAL_DEPENDENCIES["all"]))
    assert set(extras.split(",")) == EXTRAS - FORMER - {"all"}
    assert "responses-harness[all]" in OPTIONAL_DEPENDENCIES["dev"]


def test_former_extras_can_still_be_asked_for_and_bring_nothing_more():
    brought = {name: declared(name) for name in FORMER}
    assert brought == {"record": set(), "webhooks": set()}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL_DEPENDENCIES = PROJECT["optional-dependencies"]
EXTRAS = OPTIONAL_DEPENDENCIES.keys() - {"dev", "docs"}
FORMER = {"record", "webhooks"}
PROMISED = {"pluggy", "pydantic", "starlette"}
"""What FastAPI and pytest say they bring."""
ADAPTERS = ("harness/examine/adapters/",)
"""What imports the clients that a user examines, who has them."""
ANSWERING = tuple(f"harness/{name}/" for name in ("core", "api", "items", "contract", "answers", "world", "endpoints"))
"""What judges and answers a request."""
OPTIONAL = (
    "harness/server/observe/metrics.py",
    "harness/drive/container.py",
)
"""What is only imported where an extra is installed."""


def at_once(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a module that run when it is imported; those below `if TYPE_CHECKING` do not."""
    return tree.body


def distributions(
    statements: Callable[[ast.Module], Iterable[ast.AST]],
    omitted: tuple[str, ...] = (),
    only: tuple[str, ...] = ("harness/",),
) -> set[str]:
    """The distributions of others whose packages the harness imports in these statements of `only` these files."""
    provided = metadata.packages_distributions()
    read = [tree for place, tree in trees().items() if place.startswith(only) and not place.startswith(omitted)]
    names = {name.partition(".")[0] for tree in read for node in statements(tree) for name in imported(node)}
    return {canonical(provided.get(name, [name])[0]) for name in names - {"harness"} - set(sys.stdlib_module_names)}


@cache
def trees() -> dict[str, ast.Module]:
    files = (ROOT / "harness").rglob("*.py")
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def declared(*lists: str) -> set[str]:
    """Return the distributions that pyproject.toml lists as dependencies or in these extras."""
    known = {"dependencies": PROJECT["dependencies"], **OPTIONAL_DEPENDENCIES}
    return {canonical(re.split(r"[^\w.-]", line)[0]) for name in lists for line in known[name]}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

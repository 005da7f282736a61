"""Who imports whom, who may print and who may reach the network; ARCHITECTURE.md says the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import harness

ROOT = Path(__file__).parent.parent
HARNESS = Path(harness.__file__).parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

NETWORK = {"socket", "ssl", "http", "urllib.request", "uvicorn", "httpx", "httpx2", "requests", "websockets", "redis"}
OUTSIDE = NETWORK | {
    *("asyncio", "datetime", "fastapi", "glob", "io", "openai", "agents", "os", "pathlib", "pytest", "random", "rich"),
    *("secrets", "shutil", "starlette", "subprocess", "tempfile", "threading", "time", "typer", "uuid"),
}
PRINTERS = {"typer", "rich.console", "rich.print", "sys.stdout", "sys.stderr"}

PURE = {
    "core",
    "api",
    "items",
    "ending",
    "faults",
    "contract",
    "answers",
    "analysis",
    "world",
    "endpoints",
    "foundry",
    "explain",
    "unscripted",
}
"""Packages without network, files, threads, clock or chance: what they need of these a World gives them."""
EXCEPTIONS = {
    "harness/core/bounded_input.py": {"os", "pathlib"},  # reads the files of users
    "harness/contract/schema.py": {"pathlib"},  # reads its own files
    "harness/api/model_facts.py": {"pathlib"},  # reads its own file
    "harness/contract/rules/request/input_items/images.py": {
        "io",
        "threading",
    },  # pictures in memory, for a decoder whose settings are the process's
    "harness/foundry/skills.py": {"io"},  # zips in memory
    "harness/world/scripting/load.py": {"pathlib"},  # reads script files
    "harness/world/scripting/yaml_file.py": {"pathlib"},
}
IMPORTS_TEST = re.compile(r"^\s*(?:from|import) tests\.(?:\S+\.)?(?:test_|conftest)", re.M)


def order() -> list[str]:
    """Return the packages as ARCHITECTURE.md lists them, each importing only what stands above it."""
    block = re.search(r"```packages\n(.*?)```", PAGE, re.S)
    assert block, "ARCHITECTURE.md has lost its ```packages block"
    return [line.split()[0].rstrip("/") for line in block.group(1).splitlines() if line[:1].strip()]


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name; a package's `__init__` by that of the package."""
    files = sorted(HARNESS.rglob("*.py"))
    return {".".join(f.relative_to(HARNESS.parent).with_suffix("").parts).removesuffix(".__init__"): f for f in files}


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def imports(file: Path) -> frozenset[str]:
    """Return the full names a file imports anywhere, those below `if TYPE_CHECKING` included."""
    return frozenset(_imported(file))


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports relatively; write the full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package(name: str) -> str:
    """Return the package of a module below `harness`, empty for those that stand beside the packages."""
    return name.split(".")[1] if name.count(".") and name != "harness.__main__" else ""


def place(file: Path) -> str:
    return file.relative_to(HARNESS.parent).as_posix()


def touched(file: Path, names: set[str]) -> set[str]:
    """Which of these modules a file imports."""
    return {name for name in names for module in imports(file) if f"{module}.".startswith(f"{name}.")}


@cache
def calls(file: Path, name: str) -> bool:
    """Return whether a file calls a builtin."""
    found = (node.func for node in ast.walk(tree(file)) if isinstance(node, ast.Call))
    return any(isinstance(func, ast.Name) and func.id == name for func in found)


def test_harness_holds_packages_alone():
    beside = {path.name for path in HARNESS.iterdir() if path.is_file()}
    assert beside == {"__init__.py", "__main__.py", "py.typed"}


def test_the_page_lists_every_package_in_order():
    assert sorted(order()) == sorted({package(name) for name in modules()} - {""})


def test_a_package_imports_only_what_stands_above_it():
    place_of = {name: index for index, name in enumerate(order())}
    late = [
        f"{name} imports {module}"
        for name, file in modules().items()
        for module in imports(file)
        if package(name) and package(module) in place_of and module.startswith("harness.")
        if place_of[package(module)] > place_of[package(name)]
    ]
    assert not late


def test_no_package_imports_what_serves_maintainers_alone():
    assert not [name for name, file in modules().items() if touched(file, {"tools", "tests", "bench"})]


def test_inside_a_package_imports_go_one_way():
    graph = {
        name: {near for full in imports(file) for near in (full, full.rpartition(".")[0]) if near in modules()} - {name}
        for name, file in modules().items()
        if file.name != "__init__.py"
    }
    TopologicalSorter(graph).prepare()


def test_every_package_says_what_lives_there():
    for name, file in modules().items():
        if file.name == "__init__.py":
            assert ast.get_docstring(tree(file)), f"{name} does not say what lives there"


def test_nobody_imports_another_modules_private_names():
    private = [
        f"{name} imports {module}"
        for name, file in modules().items()
        for module in imports(file)
        if module.startswith("harness.") and re.search(r"\._[^_]", module)
    ]
    assert not private


def test_a_class_name_occurs_once():
    names = [
        node.name for file in modules().values() for node in ast.walk(tree(file)) if isinstance(node, ast.ClassDef)
    ]
    assert not sorted(name for name in set(names) if names.count(name) > 1)


def test_the_pure_packages_know_no_files_network_threads_clock_or_chance():
    for name, file in modules().items():
        if package(name) in PURE:
            assert touched(file, OUTSIDE) == EXCEPTIONS.get(place(file), set()), name
            assert not calls(file, "open"), name
            assert not any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(tree(file))), name


def test_the_page_names_the_packages_that_reach_the_network():
    said = re.search(r"Only (.*?)\s+reach the\s+network", PAGE, re.S)
    assert said
    reaching = {package(name) for name, file in modules().items() if touched(file, NETWORK)}
    assert reaching == set(re.findall(r"`(\w+)`", said.group(1)))


def test_only_cli_prints():
    assert "only `cli` prints" in PAGE
    assert {package(name) for name, file in modules().items() if calls(file, "print") or touched(file, PRINTERS)} == {
        "cli"
    }


def test_every_path_that_the_page_names_is_there():
    named = re.findall(r"`([\w./-]+(?:/|\.py|\.json))`", PAGE)
    assert not [name for name in named if not any((base / name).exists() for base in (ROOT, HARNESS))]


def test_the_page_fits_on_two():
    assert len(PAGE.splitlines()) <= 120


def test_tests_import_helpers_from_support_not_from_each_other():
    files = [file for file in (ROOT / "tests").rglob("*.py") if "suites" not in file.parts]
    assert not [file.relative_to(ROOT) for file in files if IMPORTS_TEST.search(file.read_text(encoding="utf-8"))]

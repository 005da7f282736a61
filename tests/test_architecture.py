"""Who imports whom, who may print and who may reach the network; ARCHITECTURE.md says the same."""

import re
from graphlib import TopologicalSorter

from tests.support.sources import ROOT, Source, sources

HARNESS = ROOT / "harness"
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
    "harness/api/skill_files.py": {"io"},  # zips in memory
    "harness/world/scripting/load.py": {"pathlib"},  # reads script files
    "harness/world/scripting/document.py": {"pathlib"},
}
IMPORTS_TEST = re.compile(r"^\s*(?:from|import) tests\.(?:\S+\.)?(?:test_|conftest)", re.M)


def order() -> list[str]:
    """Return the packages as ARCHITECTURE.md lists them, each importing only what stands above it."""
    block = re.search(r"```packages\n(.*?)```", PAGE, re.S)
    assert block, "ARCHITECTURE.md has lost its ```packages block"
    return [line.split()[0].rstrip("/") for line in block.group(1).splitlines() if line[:1].strip()]


def package(name: str) -> str:
    """Return the package of a module below `harness`, empty for those that stand beside the packages."""
    return name.split(".")[1] if name.count(".") and name != "harness.__main__" else ""


def touched(source: Source, names: set[str]) -> set[str]:
    """Which of these modules a module imports."""
    return {name for name in names for module in source.imports if f"{module}.".startswith(f"{name}.")}


def test_harness_holds_packages_alone():
    beside = {path.name for path in HARNESS.iterdir() if path.is_file()}
    assert beside == {"__init__.py", "__main__.py", "py.typed"}


def test_the_page_lists_every_package_in_order():
    assert sorted(order()) == sorted({package(name) for name in sources()} - {""})


def test_a_package_imports_only_what_stands_above_it():
    place_of = {name: index for index, name in enumerate(order())}
    late = [
        f"{name} imports {module}"
        for name, source in sources().items()
        for module in source.imports
        if package(name) and package(module) in place_of and module.startswith("harness.")
        if place_of[package(module)] > place_of[package(name)]
    ]
    assert not late


def test_no_package_imports_what_serves_maintainers_alone():
    assert not [name for name, source in sources().items() if touched(source, {"tools", "tests", "bench"})]


def test_inside_a_package_imports_go_one_way():
    graph = {
        name: {near for full in module.imports for near in (full, full.rpartition(".")[0]) if near in sources()}
        - {name}
        for name, module in sources().items()
        if module.file.name != "__init__.py"
    }
    TopologicalSorter(graph).prepare()


def test_every_package_says_what_lives_there():
    for name, source in sources().items():
        assert source.doc or source.file.name != "__init__.py", f"{name} does not say what lives there"


def test_nobody_imports_another_modules_private_names():
    private = [
        f"{name} imports {module}"
        for name, source in sources().items()
        for module in source.imports
        if module.startswith("harness.") and re.search(r"\._[^_]", module)
    ]
    assert not private


def test_a_class_name_occurs_once():
    names = [name for source in sources().values() for name in source.classes]
    assert not sorted(name for name in set(names) if names.count(name) > 1)


def test_the_pure_packages_know_no_files_network_threads_clock_or_chance():
    for name, source in sources().items():
        if package(name) in PURE:
            place = source.file.relative_to(ROOT).as_posix()
            assert touched(source, OUTSIDE) == EXCEPTIONS.get(place, set()), name
            assert "open" not in source.calls, name
            assert not source.has_coroutines, name


def test_the_page_names_the_packages_that_reach_the_network():
    said = re.search(r"Only (.*?)\s+reach the\s+network", PAGE, re.S)
    assert said
    reaching = {package(name) for name, source in sources().items() if touched(source, NETWORK)}
    assert reaching == set(re.findall(r"`(\w+)`", said.group(1)))


def test_only_cli_prints():
    assert "only `cli` prints" in PAGE
    printing = [name for name, source in sources().items() if "print" in source.calls or touched(source, PRINTERS)]
    assert {package(name) for name in printing} == {"cli"}


def test_every_path_that_the_page_names_is_there():
    named = re.findall(r"`([\w./-]+(?:/|\.py|\.json))`", PAGE)
    assert not [name for name in named if not any((base / name).exists() for base in (ROOT, HARNESS))]


def test_the_page_fits_on_two():
    assert len(PAGE.splitlines()) <= 120


def test_tests_import_helpers_from_support_not_from_each_other():
    files = [file for file in (ROOT / "tests").rglob("*.py") if "suites" not in file.parts]
    assert not [file.relative_to(ROOT) for file in files if IMPORTS_TEST.search(file.read_text(encoding="utf-8"))]

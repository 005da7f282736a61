"""ARCHITECTURE.md says who imports whom, who may print and who may reach the network; the code must agree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HARNESS = ROOT / "harness"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

NETWORK = {
    "socket",
    "ssl",
    "http",
    "urllib.request",
    "uvicorn",
    "httpx",
    "httpx2",
    "requests",
    "websockets",
    "openai",
    "agents",
}
PRINTERS = {"typer", "rich.console", "rich.print", "sys.stdout", "sys.stderr"}
OUTSIDE = NETWORK | {
    *("asyncio", "datetime", "fastapi", "glob", "io", "os", "pathlib", "pytest", "random", "rich", "secrets", "shutil"),
    *("starlette", "subprocess", "tempfile", "threading", "time", "typer", "uuid"),
}

KNOWN = {"schema": {"pathlib"}, "recorded": {"datetime"}}
"""`schema` reads its own files; `recorded` reads dates, never a clock."""


def layers() -> dict[str, list[str]]:
    """The layers of ARCHITECTURE.md and their modules; a plural folder is one of them."""
    block = re.search(r"```layers\n(.*?)```", PAGE, re.S)
    assert block, "ARCHITECTURE.md has lost its ```layers block"
    rows = (line.split() for line in block.group(1).splitlines())
    return {name: [module.rstrip("/") for module in modules] for name, *modules in rows}


READING_ORDER = [module for modules in layers().values() for module in modules]


def place(file: Path) -> str:
    """What ARCHITECTURE.md calls a file: its folder below harness/, or its own name."""
    inside = file.relative_to(HARNESS)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def files() -> list[Path]:
    """Every module but the package's own `__init__`."""
    return [file for file in sorted(HARNESS.rglob("*.py")) if file != HARNESS / "__init__.py"]


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(file: Path) -> Iterator[str]:
    """The full names a file imports anywhere, those below `if TYPE_CHECKING` included."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports relatively; write the full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(file: Path) -> set[str]:
    """The places below harness/ that a file imports, its own left out."""
    return {name.split(".")[1] for name in imports(file) if name.startswith("harness.")} - {place(file)}


def touches(file: Path, names: set[str]) -> set[str]:
    """Which of these modules a file imports."""
    return {name for name in names for found in imports(file) if f"{found}.".startswith(f"{name}.")}


def calls(file: Path, name: str) -> list[int]:
    """The lines where a file calls a builtin."""
    return [
        node.lineno
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def test_every_module_stands_in_exactly_one_layer():
    assert sorted(READING_ORDER) == sorted({place(file) for file in files()})


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(HARNESS)))
def test_a_module_imports_only_what_stands_before_it(file):
    before = READING_ORDER[: READING_ORDER.index(place(file))]
    late = ours(file) - set(before)
    assert not late, f"{place(file)} imports {', '.join(sorted(late))}, which ARCHITECTURE.md lists after it"


def test_inside_a_folder_imports_go_one_way():
    names = {".".join(file.relative_to(HARNESS.parent).with_suffix("").parts): file for file in files()}
    TopologicalSorter({name: neighbours(name, file, set(names)) for name, file in names.items()}).prepare()


def neighbours(name: str, file: Path, known: set[str]) -> set[str]:
    """The modules of its own folder that a file imports."""
    found = {each for full in imports(file) for each in (full, full.rpartition(".")[0])} & known
    return {each for each in found - {name} if each.split(".")[:2] == name.split(".")[:2]}


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(HARNESS)))
def test_nobody_imports_another_modules_private_names(file):
    private = [name for name in imports(file) if name.startswith("harness.") and ".__" not in name and "._" in name]
    assert not private


def below_the_faces() -> list[Path]:
    faces = layers()["faces"]
    return [file for file in files() if place(file) not in faces]


@pytest.mark.parametrize("file", below_the_faces(), ids=lambda file: str(file.relative_to(HARNESS)))
def test_below_the_faces_nothing_knows_files_network_threads_clock_or_chance(file):
    assert touches(file, OUTSIDE) == KNOWN.get(place(file), set())
    assert not calls(file, "open")


def test_only_those_that_the_page_names_touch_the_network():
    said = re.search(r"Only (`server`.*?) touch the\s+network", PAGE, re.S)
    assert said
    reaching = {place(file) for file in files() if touches(file, NETWORK - {"openai", "agents"})}
    assert reaching | {"demo"} == set(named(said.group(1)))


def test_only_cli_prints():
    assert "only `cli` prints" in PAGE
    printing = {place(file) for file in files() if calls(file, "print") or touches(file, PRINTERS)}
    assert printing == {"cli"}


def named(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def test_the_pipeline_is_not_async():
    found = [
        file for file in below_the_faces() for node in ast.walk(tree(file)) if isinstance(node, ast.AsyncFunctionDef)
    ]
    assert not found


def test_every_path_that_the_page_names_is_there():
    missing = [name for name in re.findall(r"`([\w./-]+(?:/|\.py|\.json))`", PAGE) if not exists(name)]
    assert not missing


def test_every_folder_of_tests_is_named():
    folders = {f"{file.parent.name}/" for file in (ROOT / "tests").glob("*/test_*.py")}
    assert not [folder for folder in folders if folder not in PAGE]


def exists(name: str) -> bool:
    return name == "harness/schemas" or any((base / name).exists() for base in (ROOT, HARNESS))


def test_it_is_one_page():
    assert len(PAGE.splitlines()) <= 110

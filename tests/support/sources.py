"""What stands in the source of the harness: each module is parsed once in a process, and only this is kept of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Source(NamedTuple):
    """A module: its docstring, and what it imports, declares, calls and says, anywhere."""

    file: Path
    doc: str | None
    imports: frozenset[str]
    classes: tuple[str, ...]
    calls: frozenset[str]
    has_coroutines: bool
    texts: tuple[str, ...]


@cache
def sources() -> Mapping[str, Source]:
    """Return every module of the harness by its dotted name, a package's `__init__` by that of the package."""
    files = sorted((ROOT / "harness").rglob("*.py"))
    return {".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): _read(f) for f in files}


def _read(file: Path) -> Source:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    calls = (node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return Source(
        file,
        ast.get_docstring(tree),
        frozenset(_imported(nodes, file)),
        tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
        frozenset(calls),
        any(isinstance(node, ast.AsyncFunctionDef) for node in nodes),
        tuple(texts_in(nodes)),
    )


def _imported(nodes: list[ast.AST], file: Path) -> Iterator[str]:
    """Yield the full names that are imported, those below `if TYPE_CHECKING` included."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports relatively; write the full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def texts_in(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield every text, `…` for what is filled in."""
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value

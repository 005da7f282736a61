"""Where a case of the catalogue stands, and what of its source a test of its own needs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.examine import cases


@dataclass(frozen=True, slots=True)
class CaseSource:
    """The parts of a case as Python: its task, its script, its checks; the imports and definitions that they use.

    `turns` are the turns of a script that is nothing else.
    """

    task: str
    script: str
    turns: Sequence[str] | None
    checks: Sequence[str]
    imports: Sequence[str]
    definitions: Sequence[str]


def find_source(id: str) -> CaseSource | None:
    """The source of a case; None when it is not declared by itself, but in a loop or by a function."""
    for name in sorted(sys.modules):
        if name.startswith(f"{cases.__name__}."):
            text, declared, top = _read(str(sys.modules[name].__file__))
            if id in declared:
                return _source_of(declared[id], text, top)
    return None


@cache
def _read(file: str) -> tuple[str, dict[str, ast.Call], dict[str, ast.stmt]]:
    """A module: its text, the cases that it declares at its top, and what each of its names is."""
    text = Path(file).read_text(encoding="utf-8")
    statements = ast.parse(text).body
    calls = (each.value for each in statements if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
    declared = {
        call.args[0].value: call
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "case" and call.args
        if isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    }
    return text, declared, {name: each for each in statements for name in _names_made_by(each)}


def _names_made_by(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in statement.names)
    elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _source_of(call: ast.Call, text: str, top: dict[str, ast.stmt]) -> CaseSource | None:
    given = {each.arg: each.value for each in call.keywords}
    checks = call.args[1:]
    if "task" not in given or "script" not in given or any(isinstance(each, ast.Starred) for each in checks):
        return None
    script = given["script"]
    is_turns = isinstance(script, ast.Call) and isinstance(script.func, ast.Name) and script.func.id == "turns"
    turns = script.args if is_turns and isinstance(script, ast.Call) else None
    used = [given["task"], *checks, *(turns if turns is not None else [script])]
    needed = _needed(used, top)

    def source(node: ast.AST) -> str:
        return ast.get_source_segment(text, node) or ast.unparse(node)

    imported = [each for each in needed if isinstance(each, ast.Import | ast.ImportFrom)]
    return CaseSource(
        source(given["task"]),
        source(script),
        None if turns is None else list(map(source, turns)),
        list(map(source, checks)),
        [line for each in imported for line in _import_lines(each, used, needed)],
        [_whole_source(each, text) for each in needed if each not in imported],
    )


def _whole_source(statement: ast.stmt, text: str) -> str:
    """The source of a definition, with its decorators."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return "\n".join(text.splitlines()[first - 1 : statement.end_lineno])


def _needed(used: Sequence[ast.AST], top: dict[str, ast.stmt]) -> list[ast.stmt]:
    """The statements of a module that make what is used, in their order."""
    found: list[ast.stmt] = []
    waiting = [name for node in used for name in _names_in(node)]
    while waiting:
        statement = top.get(waiting.pop())
        if statement is not None and statement not in found:
            found.append(statement)
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                waiting += _names_in(statement)
    return sorted(found, key=lambda each: each.lineno)


def _names_in(node: ast.AST) -> list[str]:
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def _import_lines(
    statement: ast.Import | ast.ImportFrom, used: Sequence[ast.AST], needed: Sequence[ast.stmt]
) -> list[str]:
    """A line for each name of an import that is used."""
    names = {name for node in (*used, *needed) for name in _names_in(node)}
    own = [alias for alias in statement.names if (alias.asname or alias.name) in names]
    lines = [alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in own]
    if isinstance(statement, ast.Import):
        return [f"import {line}" for line in lines]
    return [f"from {statement.module} import {line}" for line in lines]

"""Where a client of the SDK was made, and which line of the project asks now.

A client does not record it, so it is looked for: what is on the stack, what a module of the project, a fixture or a local
variable holds, and the line that assigns that name. A client that only a framework's own module holds has no such line.
"""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, GeneratorType, ModuleType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import harness

AT_IMPORT = "at import"
MAX_DEPTH = 6
"""How many objects may stand between a module and the client that it holds."""
MAX_HOLDERS = 1_000
"""How many objects of one depth are looked at."""
_FOREIGN = tuple({*sysconfig.get_paths().values(), str(Path(harness.__file__).parent)})
_PASSING = (FrameType, GeneratorType, ModuleType)
"""Types that hold a client only while something runs, or by the names that a module has."""


class Line(NamedTuple):
    """A line of the project, and where it is: `in answer`, `at import`, `in the fixture agent`."""

    file: str
    number: int
    where: str = ""

    @property
    def source(self) -> str:
        """The text of the line."""
        return linecache.getline(self.file, self.number).strip()


def asking_frames() -> list[FrameType]:
    """The frames of the project's own code on the stack of this thread, the innermost first; none in a resolver's thread."""
    return [frame for frame in _stack() if is_of_project(frame.f_code.co_filename)]


def is_of_project(file: str | None) -> bool:
    """Whether a file is neither of Python, nor of an installed package, nor the harness's own."""
    return bool(file) and not str(file).startswith(("<", *_FOREIGN))


def asking_client() -> Any:
    """The SDK's client on the stack of this thread, None without one."""
    kinds = _client_kinds()
    owners = (frame.f_locals.get("self") for frame in _stack())
    return next((owner for owner in owners if issubclass(type(owner), kinds)), None)


def _client_kinds() -> tuple[type, ...]:
    openai = sys.modules.get("openai")
    return tuple(kind for name in ("OpenAI", "AsyncOpenAI") if isinstance(kind := getattr(openai, name, None), type))


def find_clients(host: str) -> list[Any]:
    """The SDK's client that asks a host now, if it is on the stack; else all clients with that address."""
    kinds = _client_kinds()
    if (asking := asking_client()) is not None:
        return [asking]
    made = [one for one in gc.get_objects() if issubclass(type(one), kinds)] if kinds else []
    return [one for one in made if urlsplit(str(getattr(one, "base_url", ""))).hostname == host]


def find_origin(client: Any, fixtures: Mapping[str, tuple[Any, CodeType]]) -> Line | None:
    """The line that made a client; `fixtures` are the values that a test has been given, each with its function's code."""
    for name, (value, code) in fixtures.items():
        if value is client and is_of_project(code.co_filename):
            return Line(code.co_filename, _definition_line(code), f"in the fixture {name}")
    for module, name in _holders(client):
        if number := _assigning_line(str(module.__file__), name, None):
            return Line(str(module.__file__), number, AT_IMPORT)
    for frame in asking_frames():
        code = frame.f_code
        for name, value in frame.f_locals.items():
            within = range(code.co_firstlineno, frame.f_lineno + 1)
            if value is client and (number := _assigning_line(code.co_filename, name, within)):
                return Line(code.co_filename, number, f"in {code.co_name}")
    return None


def _stack() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame:
        yield frame
        frame = frame.f_back


def _holders(client: Any) -> Iterator[tuple[ModuleType, str]]:
    """The modules of the project with the name by which each holds a client, itself or in what it holds; nearest first."""
    modules = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    by_names = {id(vars(module)): module for module in modules}
    held, seen = [client], {id(client), id(modules)}
    for _ in range(MAX_DEPTH):
        ids = {id(one) for one in held}
        seen |= {id(held), id(seen), id(ids)}
        found = [one for one in gc.get_referrers(*held) if id(one) not in seen and not isinstance(one, _PASSING)]
        held = []
        for one in found:
            seen.add(id(one))
            if (module := by_names.get(id(one))) is None:
                held.append(one)
            elif is_of_project(getattr(module, "__file__", None)):
                yield from ((module, name) for name, value in list(one.items()) if id(value) in ids)
        if not 0 < len(held) <= MAX_HOLDERS:
            return


def _definition_line(code: CodeType) -> int:
    """The line of a function's `def`, which may stand below its decorators."""
    lines = linecache.getlines(code.co_filename)
    numbers = range(code.co_firstlineno, len(lines) + 1)
    starts = ("def ", "async def ")
    return next((one for one in numbers if lines[one - 1].lstrip().startswith(starts)), code.co_firstlineno)


def _assigning_line(file: str, name: str, within: range | None) -> int:
    """The last line that assigns a name in a range of lines, or the first outside of functions; 0 if there is none."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return 0
    nodes = list(_outside_functions(tree) if within is None else ast.walk(tree))
    lines = [node.lineno for node in nodes if isinstance(node, ast.stmt | ast.NamedExpr) and name in _bound_names(node)]
    found = [line for line in lines if within is None or line in within]
    return 0 if not found else found[0] if within is None else found[-1]


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run at import, and functions themselves; in functions only what assigns a global name."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _outside_functions(child)


def _bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign | ast.NamedExpr)
        else [item.optional_vars for item in node.items if item.optional_vars]
        if isinstance(node, ast.With | ast.AsyncWith)
        else []
    )
    yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))

"""Where a client of the SDK was made, and which line of the project asks now.

A client does not record it, so it is looked for: what is on the stack, what a module of the project, a fixture or a local
variable holds, and the line that assigns that name. A client that only a framework's own module holds has no such line.
"""

from __future__ import annotations

import ast
import gc
import itertools
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_HTTP_MODULES = ("http.client", "httpcore", "urllib3", "socket")
"""How the names of modules begin in which a thread waits for an answer."""
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

    def show(self, root: str) -> str:
        """The line in words, its file relative to the folder `root`: `app.py:3, at import: client = openai.OpenAI()`."""
        return f"{self.file.removeprefix(f'{root}{os.sep}')}:{self.number}, {self.where}: {self.source}"


def asking_frames() -> list[FrameType]:
    """The frames of the project's own code on the stack of this thread, the innermost first; none in a resolver's thread."""
    return [frame for frame in _stack() if is_of_project(frame.f_code.co_filename)]


def is_of_project(file: str | None) -> bool:
    """Whether a file is neither of Python, nor of an installed package, nor the harness's own."""
    return bool(file) and not str(file).startswith(("<", *_FOREIGN))


def asking_client() -> Any:
    """The SDK's client on the stack of this thread, None without one."""
    return client_in(_stack())


def client_in(stack: Iterable[FrameType]) -> Any:
    """The SDK's client that asks in the frames of a stack, None without one."""
    kinds = _client_kinds()
    owners = (frame.f_locals.get("self") for frame in stack) if kinds else ()
    return next((owner for owner in owners if issubclass(type(owner), kinds)), None)


def trace_key(key: str, root: str) -> tuple[list[str], list[str]]:
    """Where in this process clients with a key ask now, and where they were made; both empty for another process.

    Each is a line in words, with its file relative to the folder `root`.
    """
    asked, made = [], []
    for innermost in sys._current_frames().values():
        stack = frames_of(innermost)
        client = client_in(stack)
        own = [frame for frame in stack if is_of_project(frame.f_code.co_filename)]
        if getattr(client, "api_key", None) == key:
            made.append(find_origin(client, {}, own))
            asked += own[:1]
        elif client is None and _is_in_http(stack):
            asked += own[:1]
    made = made or [find_origin(client, {}, ()) for client in _all_clients() if getattr(client, "api_key", "") == key]
    return (
        [show_line(frame, root) for frame in asked],
        list(dict.fromkeys(line.show(root) for line in made if line)),
    )


def _is_in_http(stack: Sequence[FrameType]) -> bool:
    """Whether a thread waits for an answer in a library for HTTP."""
    waiting = itertools.takewhile(lambda frame: not is_of_project(frame.f_code.co_filename), stack)
    return any(str(frame.f_globals.get("__name__")).startswith(_HTTP_MODULES) for frame in waiting)


def show_line(frame: FrameType, root: str) -> str:
    """The line of a frame in words: `app.py:3, in answer: client.responses.create()`."""
    return Line(frame.f_code.co_filename, frame.f_lineno, f"in {frame.f_code.co_name}").show(root)


def _client_kinds() -> tuple[type, ...]:
    openai = sys.modules.get("openai")
    return tuple(kind for name in ("OpenAI", "AsyncOpenAI") if isinstance(kind := getattr(openai, name, None), type))


def find_clients(host: str) -> list[Any]:
    """The SDK's client that asks a host now, if it is on the stack; else all clients with that address."""
    if (asking := asking_client()) is not None:
        return [asking]
    return [one for one in _all_clients() if urlsplit(str(getattr(one, "base_url", ""))).hostname == host]


def _all_clients() -> list[Any]:
    kinds = _client_kinds()
    return [one for one in gc.get_objects() if issubclass(type(one), kinds)] if kinds else []


def find_origin(
    client: Any, fixtures: Mapping[str, tuple[Any, CodeType]], frames: Sequence[FrameType] | None = None
) -> Line | None:
    """The line that made a client; `fixtures` are the values that a test has been given, each with its function's code.

    `frames` are those that may hold it, if not those of this thread.
    """
    for name, (value, code) in fixtures.items():
        if value is client and is_of_project(code.co_filename):
            return Line(code.co_filename, _definition_line(code), f"in the fixture {name}")
    for module, name in _holders(client):
        if number := _assigning_line(str(module.__file__), name, None):
            return Line(str(module.__file__), number, _function_at(str(module.__file__), number) or AT_IMPORT)
    for frame in asking_frames() if frames is None else frames:
        code = frame.f_code
        for name, value in frame.f_locals.items():
            within = range(code.co_firstlineno, frame.f_lineno + 1)
            if value is client and (number := _assigning_line(code.co_filename, name, within)):
                return Line(code.co_filename, number, f"in {code.co_name}")
    return None


def _stack() -> list[FrameType]:
    return frames_of(sys._getframe(1))


def frames_of(innermost: FrameType) -> list[FrameType]:
    """The frames of a stack, the innermost first."""
    frame: FrameType | None = innermost
    frames = []
    while frame:
        frames.append(frame)
        frame = frame.f_back
    return frames


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
    lines = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.stmt | ast.NamedExpr) and name in _bound_names(node) and not _is_placeholder(node)
    ]
    found = [line for line in lines if within is None or line in within]
    return 0 if not found else found[0] if within is None else found[-1]


def _function_at(file: str, number: int) -> str:
    """The function in which a line stands, in words; empty for none."""
    tree = ast.parse("".join(linecache.getlines(file)))
    functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    inside = [one for one in functions if one.lineno < number <= (one.end_lineno or 0)]
    return f"in {inside[-1].name}" if inside else ""


def _is_placeholder(node: ast.AST) -> bool:
    """Whether a statement only prepares a name: `client = None`."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run at import, and functions themselves; in functions only what assigns a global name."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _outside_functions(child)
        elif names := {name for one in ast.walk(child) if isinstance(one, ast.Global) for name in one.names}:
            yield from (one for one in ast.walk(child) if not names.isdisjoint(_bound_names(one)))


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

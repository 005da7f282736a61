"""Finds where an SDK client was made, and which line of the project is sending a request.

Clients do not record it, so it is searched for: on the stack, in modules of the project and their objects, in fixtures
and in local variables, and then for the line that assigns the name. A client held anywhere else has no such line.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import harness

AT_IMPORT = "at import"
_FOREIGN = tuple({*sysconfig.get_paths().values(), str(Path(harness.__file__).parent)})
_HTTP_MODULES = ("http.client", "httpcore", "urllib3", "socket")
"""The beginnings of the names of modules in which a thread waits for an answer."""


class Line(NamedTuple):
    """A line of the project, and where it is: `in answer`, `at import`, `in the fixture agent`."""

    file: str
    number: int
    where: str = ""

    @property
    def source(self) -> str:
        """The source code of the line."""
        return linecache.getline(self.file, self.number).strip()

    def show(self, root: str) -> str:
        """Describe the line, its file relative to `root`: `app.py:3, at import: client = openai.OpenAI()`."""
        return f"{self.file.removeprefix(f'{root}{os.sep}')}:{self.number}, {self.where}: {self.source}"


def asking_frames() -> list[FrameType]:
    """List the frames of the project's code on the stack of this thread, innermost first.

    A resolver's thread has none.
    """
    return [frame for frame in _stack() if is_of_project(frame.f_code.co_filename)]


def is_of_project(file: str | None) -> bool:
    """Return whether a file belongs neither to Python, nor to an installed package, nor to the harness."""
    return bool(file) and not str(file).startswith(("<", *_FOREIGN))


def asking_client() -> Any:
    """Return the SDK client on the stack of this thread, if there is one."""
    return client_in(_stack())


def client_in(stack: Iterable[FrameType]) -> Any:
    """Return the SDK client in the frames of a stack, if there is one."""
    kinds = _client_kinds()
    owners = (frame.f_locals.get("self") for frame in stack) if kinds else ()
    return next((owner for owner in owners if issubclass(type(owner), kinds)), None)


def trace_key(key: str, root: str) -> tuple[list[str], list[str]]:
    """Return where clients with a key send requests in this process, and where they were made.

    Empty for other processes.

    Each is a description of a line, with its file relative to the folder `root`.
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
    # A client that is no longer sending, for example in another thread, may still be held by a module.
    made = made or [find_origin(client, {}, ()) for client in _held_clients() if getattr(client, "api_key", "") == key]
    return (
        [show_line(frame, root) for frame in asked],
        list(dict.fromkeys(line.show(root) for line in made if line)),
    )


def _is_in_http(stack: Sequence[FrameType]) -> bool:
    """Return whether a thread is waiting for an answer in an HTTP library."""
    waiting = itertools.takewhile(lambda frame: not is_of_project(frame.f_code.co_filename), stack)
    return any(str(frame.f_globals.get("__name__")).startswith(_HTTP_MODULES) for frame in waiting)


def show_line(frame: FrameType, root: str) -> str:
    """Describe the line of a frame: `app.py:3, in answer: client.responses.create()`."""
    return Line(frame.f_code.co_filename, frame.f_lineno, f"in {frame.f_code.co_name}").show(root)


def _client_kinds() -> tuple[type, ...]:
    openai = sys.modules.get("openai")
    return tuple(kind for name in ("OpenAI", "AsyncOpenAI") if isinstance(kind := getattr(openai, name, None), type))


def find_clients(host: str) -> list[Any]:
    """Return the SDK client on the stack that connects to a host, or else those of the project with that host."""
    if (asking := asking_client()) is not None:
        return [asking]
    return [client for client in _held_clients() if urlsplit(str(getattr(client, "base_url", ""))).hostname == host]


def _held_clients() -> list[Any]:
    kinds = _client_kinds()
    values = [value for _, _, value in _held_by_project()] if kinds else []
    reached = (part for value in values for part in (value, *_parts(value)))
    return list({id(part): part for part in reached if issubclass(type(part), kinds)}.values())


def find_origin(
    client: Any, fixtures: Mapping[str, tuple[Any, CodeType]], frames: Sequence[FrameType] | None = None
) -> Line | None:
    """Return the line that made a client; `fixtures` are the fixture values of a test, each with its function's code.

    `frames` may hold the client; by default they are those of this thread.
    """
    for name, (value, code) in fixtures.items():
        if value is client and is_of_project(code.co_filename):
            return Line(code.co_filename, _definition_line(code), f"in the fixture {name}")
    for file, name in _names(client):
        if number := _assigning_line(file, name, None):
            return Line(file, number, _function_at(file, number) or AT_IMPORT)
    for frame in asking_frames() if frames is None else frames:
        code = frame.f_code
        for name, value in frame.f_locals.items():
            # Assignments further down have not been executed yet.
            within = range(code.co_firstlineno, frame.f_lineno + 1)
            if value is client and (number := _assigning_line(code.co_filename, name, within)):
                return Line(code.co_filename, number, f"in {code.co_name}")
    return None


def _stack() -> list[FrameType]:
    return frames_of(sys._getframe(1))


def frames_of(innermost: FrameType) -> list[FrameType]:
    """List the frames of a stack, innermost first."""
    frame: FrameType | None = innermost
    frames = []
    while frame:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _names(client: Any) -> Iterator[tuple[str, str]]:
    """Yield the file and name under which modules of the project hold a client, direct holders first."""
    held = list(_held_by_project())
    yield from ((file, name) for file, name, value in held if value is client)
    yield from ((file, name) for file, name, value in held if any(part is client for part in _parts(value)))


def _held_by_project() -> Iterator[tuple[str, str, Any]]:
    """Yield everything that modules of the project hold, with the module's file and the name."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(module, ModuleType) and is_of_project(file):
            yield from ((str(file), name, value) for name, value in list(vars(module).items()))


def _parts(value: Any) -> list[Any]:
    """List the values of a dictionary, or the attributes of an object."""
    if isinstance(value, ModuleType):
        return []
    with suppress(Exception):  # a lazy object may fail to load
        return list((value if isinstance(value, dict) else vars(value)).values())
    return []


def _definition_line(code: CodeType) -> int:
    """Return the line of a function's `def`, which may be below its decorators."""
    lines = linecache.getlines(code.co_filename)
    numbers = range(code.co_firstlineno, len(lines) + 1)
    starts = ("def ", "async def ")
    return next((number for number in numbers if lines[number - 1].lstrip().startswith(starts)), code.co_firstlineno)


def _assigning_line(file: str, name: str, within: range | None) -> int:
    """Return the last line that assigns a name in a range of lines, or the first one outside functions; 0 if none."""
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
    """Return the name of the function that contains a line, as `in NAME`; empty at import."""
    tree = ast.parse("".join(linecache.getlines(file)))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    inside = [function for function in functions if function.lineno < number <= (function.end_lineno or 0)]
    return f"in {inside[-1].name}" if inside else ""


def _is_placeholder(node: ast.AST) -> bool:
    """Return whether a statement only initializes a name: `client = None`."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run at import, including function definitions.

    Inside functions only those binding globals.
    """
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _outside_functions(child)
        elif names := {name for inner in ast.walk(child) if isinstance(inner, ast.Global) for name in inner.names}:
            yield from (inner for inner in ast.walk(child) if not names.isdisjoint(_bound_names(inner)))


def _bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds."""
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

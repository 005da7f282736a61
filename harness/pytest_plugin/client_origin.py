"""Notes where SDK clients are made, and finds which line of the project is sending a request.

Each client is noted when it is made, with the code that runs then. A client that was copied by other means, such as
`copy.deepcopy`, has no such line.
"""

from __future__ import annotations

import itertools
import linecache
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from importlib.machinery import ModuleSpec
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

_SDK = "openai"
_HTTP_MODULES = ("http.client", "httpcore", "urllib3", "socket")
"""The beginnings of the names of modules in which a thread waits for an answer."""
_RUNNERS = ("_pytest.", "pluggy.")
"""The beginnings of the names of modules that run tests and import their files."""


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


_origins: WeakKeyDictionary[Any, tuple[Line, Sequence[CodeType]]] = WeakKeyDictionary()
"""The line that made a client, and all code of the project that was running then, by client."""
_noted_kinds: WeakSet[type] = WeakSet()


class ClientNoter:
    """An import hook: once it is installed, the clients of `openai` are noted from its import on."""

    def install(self) -> None:
        """Note the clients that are made from now on."""
        sys.meta_path.insert(0, self)
        if sdk := sys.modules.get(_SDK):
            _note_clients_of(sdk)

    def remove(self) -> None:
        """Leave packages that are imported from now on alone."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find the SDK as without this hook, and note its clients when it has been loaded."""
        if name != _SDK:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec and spec.loader:

            def load_and_note(module: Any, load: Callable[[Any], None] = spec.loader.exec_module) -> None:
                load(module)
                if module.__name__ == _SDK:  # pytest's loader, which rewrites assertions, loads other modules, too
                    _note_clients_of(module)

            setattr(spec.loader, "exec_module", load_and_note)  # noqa: B010
        return spec


def _note_clients_of(sdk: Any) -> None:
    from harness.pytest_plugin.client_reactions import watch_streams_of

    watch_streams_of(sdk)
    # Another package of this name, or a very old release, has none of these.
    for kind in filter(None, (getattr(sdk, name, None) for name in ("OpenAI", "AsyncOpenAI"))):
        if kind not in _noted_kinds:
            _noted_kinds.add(kind)
            kind.__init__ = _noting(kind.__init__)


def _noting(initialize: Callable[..., None]) -> Callable[..., None]:
    @wraps(initialize)
    def initialize_and_note(client: Any, *args: Any, **options: Any) -> None:
        initialize(client, *args, **options)
        if type(client).__hash__ is not None:  # a subclass may have none
            _note(client, sys._getframe(1))

    return initialize_and_note


def _note(client: Any, innermost: FrameType) -> None:
    """Note the line of the project that is running; the test runner and its callers do not count."""
    line, codes = 0, list[CodeType]()
    frame: FrameType | None = innermost
    while frame and not str(frame.f_globals.get("__name__")).startswith(_RUNNERS):
        if is_of_project(frame.f_code.co_filename):
            line = line or frame.f_lineno
            codes.append(frame.f_code)
        frame = frame.f_back
    if codes:
        where = "at import" if "<module>" in [code.co_name for code in codes] else f"in {codes[0].co_name}"
        _origins[client] = Line(codes[0].co_filename, line, where), codes


def find_origin(client: Any, fixtures: Mapping[str, CodeType]) -> Line | None:
    """Return the line that made a client; `fixtures` are those of a test, with the code of their functions."""
    line, codes = _origins.get(client, (None, ())) if type(client).__hash__ is not None else (None, ())
    fixture = next((name for name, code in fixtures.items() if code in codes), "")
    return line._replace(where=f"in the fixture {fixture}") if line and fixture else line


def find_clients(host: str) -> list[Any]:
    """Return the SDK client on the stack that connects to a host, or else all clients for that host."""
    if (asking := asking_client()) is not None:
        return [asking]
    return [client for client in list(_origins) if client.base_url.host == host]


def asking_frames() -> list[FrameType]:
    """List the frames of the project's code on the stack of this thread, innermost first; a resolver's has none."""
    return [frame for frame in frames_of(sys._getframe(1)) if is_of_project(frame.f_code.co_filename)]


def is_of_project(file: str | None) -> bool:
    """Return whether a file belongs neither to Python, nor to an installed package, nor to the harness."""
    return bool(file) and not str(file).startswith(("<", *_foreign_folders()))


@cache
def _foreign_folders() -> tuple[str, ...]:
    import sysconfig

    return tuple({*sysconfig.get_paths().values(), os.path.dirname(os.path.dirname(__file__))})


def asking_client() -> Any:
    """Return the SDK client on the stack of this thread, if there is one."""
    return client_in(frames_of(sys._getframe(1)))


def client_in(stack: Iterable[FrameType]) -> Any:
    """Return the SDK client in the frames of a stack, if there is one."""
    sdk = sys.modules.get(_SDK)
    kinds = tuple(kind for name in ("OpenAI", "AsyncOpenAI") if isinstance(kind := getattr(sdk, name, None), type))
    owners = (frame.f_locals.get("self") for frame in stack) if kinds else ()
    return next((owner for owner in owners if issubclass(type(owner), kinds)), None)


def trace_key(key: str, root: str) -> tuple[list[str], list[str]]:
    """Describe the lines of this process where clients with a key are created and send requests."""
    asked, clients = list[FrameType](), list[Any]()
    for innermost in sys._current_frames().values():
        stack = frames_of(innermost)
        client = client_in(stack)
        inside = [frame for frame in stack if is_of_project(frame.f_code.co_filename)]
        is_of_key = getattr(client, "api_key", None) == key
        clients += [client] if is_of_key else []
        asked += inside[:1] if is_of_key or (client is None and _is_in_http(stack)) else []
    # A client that is no longer sending, for example in another thread, may still be there.
    clients = clients or [client for client in list(_origins) if client.api_key == key]
    lines = filter(None, (find_origin(client, {}) for client in clients))
    return [show_line(frame, root) for frame in asked], list(dict.fromkeys(line.show(root) for line in lines))


def _is_in_http(stack: Sequence[FrameType]) -> bool:
    waiting = itertools.takewhile(lambda frame: not is_of_project(frame.f_code.co_filename), stack)
    return any(_module_of(frame).startswith(_HTTP_MODULES) for frame in waiting)


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def show_line(frame: FrameType, root: str) -> str:
    """Describe the line of a frame: `app.py:3, in answer: client.responses.create()`."""
    return Line(frame.f_code.co_filename, frame.f_lineno, f"in {frame.f_code.co_name}").show(root)


def frames_of(innermost: FrameType) -> list[FrameType]:
    """List the frames of a stack, innermost first."""
    frame: FrameType | None = innermost
    frames = []
    while frame:
        frames.append(frame)
        frame = frame.f_back
    return frames

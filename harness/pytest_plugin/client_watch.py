"""Notes what the code under test does in this process: where SDK clients are made, and how far answers are read.

Each client is noted when it is made, with the code that runs then; one that was copied by other means, such as
`copy.deepcopy`, has no such line. A test that catches an error, with `pytest.raises`, `pytest.RaisesGroup` or
`assertRaises`, expects the refusal behind it: one that carries the answer (`error.response.headers` as in openai, httpx
and requests, or `error.headers`), or has one that does as its cause, its context or a member of its group. How far a
stream of the `openai` package is read, a server cannot know: a short one is in the client's buffers before its first event
is read. Streams that are read by other means, such as `with_raw_response` or another HTTP library, are not noted.
"""

from __future__ import annotations

import itertools
import linecache
import os
import sys
import sysconfig
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial, wraps
from traceback import walk_stack
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import pytest

from harness.api.responses import END_EVENTS
from harness.core.errors import error_chain
from harness.core.headers import REQUEST_ID_HEADERS

if TYPE_CHECKING:
    from harness.world.refusals import RefusalLedger

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


def note_clients_of(sdk: Any) -> None:
    """Note the clients of the SDK that are made, and the streams that are opened, from now on."""
    # Another package of this name, or a very old release, has none of these.
    for name, note in (
        ("OpenAI", _note),
        ("AsyncOpenAI", _note),
        ("Stream", partial(_watch, count=_count)),
        ("AsyncStream", partial(_watch, count=_count_async)),
    ):
        if (kind := getattr(sdk, name, None)) and kind not in _noted_kinds:
            _noted_kinds.add(kind)
            kind.__init__ = _noting(kind.__init__, note)


def _noting(initialize: Callable[..., None], note: Callable[[Any], None]) -> Callable[..., None]:
    @wraps(initialize)
    def initialize_and_note(made: Any, *args: Any, **options: Any) -> None:
        initialize(made, *args, **options)
        note(made)

    return initialize_and_note


def _note(client: Any) -> None:
    """Note the line of the project that is running; the test runner and its callers do not count."""
    if type(client).__hash__ is None:  # as of a subclass
        return
    stack = itertools.takewhile(lambda frame: not _module_of(frame).startswith(_RUNNERS), frames_of(sys._getframe(2)))
    if inside := project_frames(stack):
        codes = [frame.f_code for frame in inside]
        where = "at import" if "<module>" in [code.co_name for code in codes] else f"in {codes[0].co_name}"
        _origins[client] = Line(codes[0].co_filename, inside[0].f_lineno, where), codes


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
    return project_frames(frames_of(sys._getframe(1)))


def project_frames(stack: Iterable[FrameType]) -> list[FrameType]:
    """List the frames of the project's code in a stack."""
    return [frame for frame in stack if is_of_project(frame.f_code.co_filename)]


def is_of_project(file: str | None) -> bool:
    """Return whether a file belongs neither to Python, nor to an installed package, nor to the harness."""
    return bool(file) and not str(file).startswith(("<", *_foreign_folders()))


@cache
def _foreign_folders() -> tuple[str, ...]:
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
        inside = project_frames(stack)
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
    return [frame for frame, _ in walk_stack(innermost)]


@contextmanager
def note_caught_errors(refusals: RefusalLedger) -> Iterator[None]:
    """Note the errors that a test catches during a `with` block."""

    def note(error: BaseException | None) -> None:
        for related in error_chain(error):
            with suppress(Exception):  # any class may be raised, with anything as its `response`
                refusals.note_caught(_answer_headers(related))

    case = getattr(sys.modules.get("unittest.case"), "_AssertRaisesContext", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest.ExceptionInfo, "fill_unfilled", _noting_fill(pytest.ExceptionInfo.fill_unfilled, note))
        if case is not None:
            patch.setattr(case, "__exit__", _noting_exit(case.__exit__, note))
        yield


def _noting_fill(fill: Callable[..., Any], note: Callable[[BaseException | None], None]) -> Callable[..., Any]:
    """Wrap `ExceptionInfo.fill_unfilled`, through which `pytest.raises` receives the expected error."""

    def fill_unfilled(self: Any, exc_info: Any) -> Any:
        note(exc_info[1])
        return fill(self, exc_info)

    return fill_unfilled


def _noting_exit(leave: Callable[..., Any], note: Callable[[BaseException | None], None]) -> Callable[..., Any]:
    """Wrap the `__exit__` of `assertRaises`, which returns True if it takes the error."""

    def leave_block(self: Any, kind: Any, error: BaseException | None, traceback: Any) -> Any:
        if taken := leave(self, kind, error, traceback):
            note(error)
        return taken

    return leave_block


def _answer_headers(error: BaseException) -> Any:
    response = getattr(error, "response", None)
    return getattr(error if response is None else response, "headers", {})


@dataclass(slots=True)
class _OpenedStream:
    """A stream that the client has opened: the id of its request, how many events were taken from it, and the last."""

    request_id: str
    events: int = 0
    last: Any = None
    has_ended: bool = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Note that there is nothing more to read: the stream is over or has failed, and is not just left."""
        self.has_ended = kind is None or issubclass(kind, Exception)

    def take(self, event: Any) -> Any:
        """Count an event, and return it."""
        self.events, self.last = self.events + 1, event
        return event

    @property
    def is_whole(self) -> bool:
        """Whether nothing more was to be read: the event that ends a response is the last."""
        return self.has_ended or (self.events > 0 and getattr(self.last, "type", "error") in (*END_EVENTS, "error"))


_readings: list[_OpenedStream] = []


def forget_streams() -> None:
    """Forget the streams that were noted so far."""
    _readings.clear()


def list_unread() -> Mapping[str, int]:
    """Return how many events were read of each stream that was not read to its end, by the id of its request."""
    return {reading.request_id: reading.events for reading in _readings if not reading.is_whole}


def _watch(stream: Any, count: Callable[[Any, _OpenedStream], Any]) -> None:
    headers = getattr(getattr(stream, "response", None), "headers", {})
    request_id = next((headers[name] for name in REQUEST_ID_HEADERS if name in headers), "")
    if request_id and hasattr(stream, "_iterator"):
        _readings.append(reading := _OpenedStream(request_id))
        stream._iterator = count(stream._iterator, reading)


def _count(events: Iterator[Any], reading: _OpenedStream) -> Iterator[Any]:
    with reading:
        for event in events:
            yield reading.take(event)


async def _count_async(events: AsyncIterator[Any], reading: _OpenedStream) -> AsyncIterator[Any]:
    with reading:
        async for event in events:
            yield reading.take(event)

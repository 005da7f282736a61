"""What a piece of code opened: files, sockets, processes, as the interpreter's audit events tell."""

import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.contract.schema import schemas_directory

WATCHED_EVENTS = (
    "open",
    "os.listdir",
    "os.scandir",
    "os.system",
    "subprocess.Popen",
    "socket.",
    "urllib.",
    "ctypes.dlopen",
)
_CODE_FOLDERS = tuple(map(Path, {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}))
_watchers: dict[int, list[tuple[str, Any]]] = {}


def _note_event(event: str, arguments: tuple[Any, ...]) -> None:
    noted = _watchers.get(threading.get_ident())
    if noted is not None and event.startswith(WATCHED_EVENTS):
        noted.append((event, arguments))


sys.addaudithook(_note_event)  # there is no way to remove it, so it is added once


@contextmanager
def opened_by_this_thread() -> Iterator[list[tuple[str, Any]]]:
    """The files and sockets that this thread opens in the block; code that is imported and schemas are left out."""
    noted = _watchers[threading.get_ident()] = []
    found: list[tuple[str, Any]] = []
    try:
        yield found
    finally:
        del _watchers[threading.get_ident()]
        found += [(event, arguments) for event, arguments in noted if not _is_own_file(event, arguments)]


def _is_own_file(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open" and isinstance(arguments[0], int):
        return True  # it is open already: so the interpreter writes bytecode
    if event not in ("open", "os.listdir", "os.scandir") or not isinstance(arguments[0], str | Path):
        return False
    path = Path(arguments[0]).resolve()
    package = schemas_directory().parent
    return any(path.is_relative_to(folder) for folder in (*_CODE_FOLDERS, schemas_directory(), package / "harness"))

"""Runs a server in the foreground: prints its address for clients, and stops it on signals."""

from __future__ import annotations

import faulthandler
import os
import shlex
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING, NamedTuple

from harness.cli.support.app import ExitCode, call_on_signals, print_note, print_text
from harness.cli.support.tls import Secured, context_of, origin_for_clients
from harness.core.garbage import small_collections

if TYPE_CHECKING:
    from harness.server.transport.asgi_types import AsgiApp
    from harness.server.transport.stoppable_server import StoppableServer

LAST_RESORT_SECONDS = 1.0
"""Seconds after a second signal until the process is ended without cleaning up."""
UNRESPONSIVE_SECONDS = 5.0
"""Seconds that threads may wait for one that holds the interpreter, such as a regular expression that never ends."""


class Entrance(NamedTuple):
    """The root of a server's API, the variables of its clients as a function of its origin, and the path of its viewer.

    With `opens`, the viewer is opened in a browser.
    """

    root: str
    variables: Callable[[str], Mapping[str, str]]
    view: str = ""
    opens: bool = False


def serve_foreground(
    app: AsgiApp,
    host: str,
    port: int,
    entrance: Entrance,
    summarize: Callable[[], Iterable[str]],
    secured: Secured | None = None,
) -> None:
    """Serve an app in the foreground: print a client's environment as shell commands first, and a summary at the end.

    A signal stops the server, which gives unfinished answers a few seconds, after which a hanging server is killed; a
    second signal stops it at once.
    """
    from harness.server.asgi import App, bind, uvicorn_config
    from harness.server.transport.stoppable_server import StoppableServer

    listening = bind(host, port)
    server = StoppableServer(uvicorn_config(app, tls=context_of(secured)))
    server.at_end = app.close if isinstance(app, App) else None
    with _stopped_by_signals(server, secured), closing(listening), small_collections():
        _announce(entrance, origin_for_clients(secured, host, listening.getsockname()[1]), secured)
        server.run(sockets=[listening])
        _print_summary(server.cut_off, summarize())


def _print_summary(cut_off: int, lines: Iterable[str]) -> None:
    """Print how many requests had no complete answer when the server ended, and a summary of its Worlds."""
    from harness.core.text import pluralize

    if cut_off:
        print_note(f"stopped; {pluralize(cut_off, 'request')} had no complete answer yet.")
    for line in lines:
        print_text(line, err=True)


def _announce(entrance: Entrance, origin: str, secured: Secured | None) -> None:
    """Print the environment of clients as shell commands and the URL of the viewer, and open it if asked to."""
    with suppress(OSError):  # stdout may be closed, and clients may know the port
        variables = {**entrance.variables(origin), **(secured.variables if secured else {})}
        exports = (f"export {name}={shlex.quote(value)}" for name, value in variables.items())
        viewer = [f"Viewer  {origin}{entrance.view}"] if entrance.view else []
        print_text("\n".join([f"Serving {origin}{entrance.root}", *exports, *viewer]))
    if entrance.opens:
        webbrowser.open(f"{origin}{entrance.view}")


@contextmanager
def _stopped_by_signals(server: StoppableServer, secured: Secured | None) -> Iterator[None]:
    """Stop a server at the first signal, at once at the second, even if a script keeps it from noticing.

        serving -- a signal --> stopping -- another one --> forced
        stopping -- STOP_SECONDS + LAST_RESORT_SECONDS without a turn of its loop --> the process ends as it is
        stopping -- UNRESPONSIVE_SECONDS more in which no thread can look --> the process ends as it is
        forced -- LAST_RESORT_SECONDS --> the process ends as it is

    None of this affects a server that ends by itself meanwhile.
    """
    from harness.server.transport.stoppable_server import STOP_SECONDS

    timers = list[Timer]()

    def end_at_once() -> None:
        if secured:
            secured.remove_files()
        os._exit(ExitCode.FOUND)

    def end_if_hanging(turns: int) -> None:
        faulthandler.cancel_dump_traceback_later()
        if server.turns == turns:
            print_note("stopped, though a request was still being worked on: the server hung.")
            end_at_once()

    def end_later(seconds: float, end: Callable[..., None], *given: int) -> None:
        timers.append(timer := Timer(seconds, end, given))
        timer.daemon = True
        timer.start()

    def stop(_: int) -> None:
        if not server.is_stopping:
            seconds = STOP_SECONDS + LAST_RESORT_SECONDS + UNRESPONSIVE_SECONDS
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            end_later(STOP_SECONDS + LAST_RESORT_SECONDS, end_if_hanging, server.turns)
        elif not server.force_exit:
            end_later(LAST_RESORT_SECONDS, end_at_once)
        server.stop(force=server.is_stopping)

    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, call_on_signals(stop):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        for timer in timers:
            timer.cancel()

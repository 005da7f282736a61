"""`responses-harness serve`: runs the mock in the foreground."""

from __future__ import annotations

import faulthandler
import os
import shlex
import sys
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import typer

from harness.cli.program import ExitCode, call_on_signals, print_note, print_text
from harness.cli.serve_options import (
    ANY_KEY,
    TOKEN_VARIABLE,
    Secured,
    ServeOptions,
    check_options,
    context_of,
    origin_for_clients,
    secure,
)
from harness.core.limits import small_collections
from harness.core.text import pluralize, shorten

if TYPE_CHECKING:
    from harness.server.control_plane.access import ControlAccess
    from harness.server.http_server import App
    from harness.server.mock_api import MockApi
    from harness.server.observe.observed import Observer
    from harness.server.transport.asgi_types import AsgiApp
    from harness.server.transport.stoppable_server import StoppableServer
    from harness.world.mock import Mock
    from harness.world.world import World


LAST_RESORT_SECONDS = 1.0
"""Seconds after a second signal until the process is ended without cleaning up."""
UNRESPONSIVE_SECONDS = 5.0
"""Seconds that threads may wait for one that holds the interpreter, such as a regular expression that never ends."""

TURN_SECONDS = 0.0005
"""Seconds that a thread may keep others from the interpreter."""


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
    from harness.server.http_server import App, bind, uvicorn_config
    from harness.server.transport.stoppable_server import StoppableServer

    listening = bind(host, port)
    server = StoppableServer(uvicorn_config(app, tls=context_of(secured)))
    server.at_end = app.close if isinstance(app, App) else None
    with _stopped_by_signals(server, secured), closing(listening), small_collections(), _short_turns():
        _announce(entrance, origin_for_clients(secured, host, listening.getsockname()[1]), secured)
        server.run(sockets=[listening])
        _print_summary(server.cut_off, summarize())


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let the event loop wait less for the thread that computes answers of the control plane, at each system call."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _print_summary(cut_off: int, lines: Iterable[str]) -> None:
    """Print how many requests had no complete answer when the server ended, and a summary of its Worlds."""
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
            print_note("stopped with a request still in progress: the server hung.")
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


STDERR = 2
MAX_LOSSES = 5
"""How many losses are listed at the end at most."""


def serve(options: ServeOptions) -> None:
    """Serve the mock until interrupted, or until COMMAND ends; each key that starts with `sk-` has its own World."""
    from harness.server.control_plane.access import control_access

    check_options(options)
    secured = secure(options)
    if options.replay:
        _replay_recordings(options, options.replay, secured)
        return
    mock = _make_mock(options)
    access = control_access(options.host, options.control_token, options.host_names)
    if secured:
        mock.scheme = "https"
    if options.command:
        from harness.cli.serve_and_run import run_with_mock

        _add_observers(mock, options)
        raise typer.Exit(run_with_mock(options, mock, access, secured))
    if mock.courier:
        mock.courier.takes_real_time = True
    app = options.deployment.make_app(mock, access)
    _watch_app(app, options)
    entrance, port = _entrance(options, access), options.port_or_default
    serve_foreground(app, options.host, port, entrance, lambda: _summarize_worlds(mock), secured)


def _replay_recordings(options: ServeOptions, recordings: Path, secured: Secured | None) -> None:
    """Replay recordings until interrupted, then list the requests that they could not answer."""
    from harness.cassettes.recording.matching import api_root
    from harness.cassettes.recording.replay import ReplayApp, load_recordings

    interactions = load_recordings(recordings)
    player = ReplayApp(interactions, options.paced)
    root = api_root(interactions)
    entrance = Entrance(root, lambda origin: {"OPENAI_BASE_URL": origin + root, "OPENAI_API_KEY": ANY_KEY})
    misses = (f"not recorded: {miss}" for miss in player.misses)
    serve_foreground(player, options.host, options.port_or_default, entrance, lambda: misses, secured)


def _watch_app(app: App, options: ServeOptions) -> None:
    """Observe the requests to an app, and make it answer Prometheus."""
    observers: list[Observer] = []
    if options.metrics:
        from harness.server.observe.metrics import Metrics

        counted = Metrics(app.api, lambda: app.open_streams)
        observers.append(counted.note)
        app.metrics = counted.answer
    _add_observers(app.api, options, observers, tells_refusals=True)


def _add_observers(
    api: MockApi, options: ServeOptions, more: Sequence[Observer] = (), *, tells_refusals: bool = False
) -> None:
    """Log and trace the requests to a mock as the options say.

    Without a log, refused requests are still reported if `tells_refusals`.
    """
    observers = [*more]
    if options.otel:
        from harness.server.observe.spans import make_provider, trace_requests

        observers.append(trace_requests(make_provider()))
    if options.log:
        from harness.server.observe.observed import render_json, render_text, write_lines

        observers.append(write_lines(partial(os.write, STDERR), render_json if options.log == "json" else render_text))
    only_refused = not observers
    if tells_refusals and not options.log:
        from harness.server.observe.observed import write_refusals

        observers.append(write_refusals(partial(os.write, STDERR), STDERR))
    if observers:
        from harness.server.observe.observed import observe

        observe(api, observers, only_refused=only_refused)


def _entrance(options: ServeOptions, access: ControlAccess) -> Entrance:
    from harness.api.http.dialects import API_ROOTS, OPENAI
    from harness.drive.client_environment import server_variables
    from harness.server.mock_api import CONTROL_ROOT

    dialect = options.dialect or OPENAI
    shown = {**({TOKEN_VARIABLE: access.token} if access.is_new else {}), **options.webhook_variables}
    token = f"#token={quote(access.token, safe='')}" if access.token and (access.is_new or options.opens) else ""
    return Entrance(
        API_ROOTS[dialect],
        lambda origin: {**server_variables(origin, dialect, options.key), **shown},
        f"{CONTROL_ROOT}/view{token}",
        options.opens,
    )


def _make_mock(options: ServeOptions) -> MockApi:
    from harness.core.advice_wording import JSON, PYTHON_FILE
    from harness.core.dates import CONTRACT_DATE, parse_as_of
    from harness.faults.transmission import parse_pace
    from harness.overrides.project_file import load_overrides
    from harness.unscripted.default_model import small_talk

    words = PYTHON_FILE if options.script and options.script.suffix == ".py" else JSON
    return options.deployment.api_type(
        options.key_names or None,
        organization=options.account,
        fallback=None if options.scripted else small_talk,
        pace=parse_pace(options.pace) if options.pace else None,
        limits=options.deployment.limits_of_mock(options.limits),
        dialect=options.dialect or None,
        as_of=parse_as_of(options.as_of, "--as-of") if options.as_of else CONTRACT_DATE,
        overrides=load_overrides(options.contract, Path()),
        vocabulary=words.for_command() if options.command else words,
        prepare=_make_prepare(options),
    )


def _make_prepare(options: ServeOptions) -> Callable[[Mock], None]:
    """Create the function that prepares a new World: it scripts the World and expects the permitted refusals."""
    from harness.world.scripting.document import parse_sent_script
    from harness.world.scripting.load import load_script_file

    refusals = options.allowed_refusals
    parts: list[Callable[[Mock], object]] = [parse_sent_script({"refusals": refusals}).apply] if refusals else []
    parts += [parse_sent_script({"client": options.client_judgement}).apply] if options.client else []
    parts += [parse_sent_script({"webhooks": options.webhooks}).apply] if options.webhook else []
    parts += [load_script_file(options.script).apply] if options.script else []

    def prepare(mock: Mock) -> None:
        for part in parts:
            part(mock)

    return prepare


def _summarize_worlds(mock: MockApi) -> Iterator[str]:
    """Yield a line for each World that had problems, and one about how many were dropped."""
    yield from filter(None, map(_summarize_world, mock.worlds.values()))
    if count := mock.dropped_count:
        yield f"dropped and not judged: {pluralize(count, 'World')}, to keep no more than --worlds"


def _summarize_world(world: World) -> str:
    """Summarize the problems of a World in one line; empty if it had none."""
    from harness.analysis.flow import is_unanswered
    from harness.analysis.loss import losses_of

    unanswered = sum(is_unanswered(exchange) for exchange in world.exchanges)
    refused = sum(answered.status >= 400 and not answered.is_routed for answered in world.exchanges) - unanswered
    lost = [
        f"{observed.loss} in {observed.exchange}" for observed in losses_of(world.exchanges, tool_runs=world.observed)
    ]
    named = ", ".join([*lost[:MAX_LOSSES], *(["…"] if lost[MAX_LOSSES:] else [])])
    losses = f"{len(lost)} {'loss' if len(lost) == 1 else 'losses'} ({named})" if lost else ""
    unexpected = len(world.refusals.unexpected)
    note = f" ({unexpected} unexpected)" if unexpected else ""
    shown = len(world.shown_otherwise)
    wrong = [
        f"{refused} refused{note}" if refused else "",
        f"{unanswered} unanswered" if unanswered else "",
        losses,
        f"{shown} shown differently" if shown else "",
    ]
    if not any(wrong):
        return ""
    return ", ".join(
        [f"{shorten(world.name, 24)}: {pluralize(world.exchange_count, 'exchange')}", *filter(None, wrong)]
    )

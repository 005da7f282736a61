"""`harness serve`: runs the mock in the foreground."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Timer
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.serve_command import TOKEN_VARIABLE, run_with_mock
from harness.cli.support.app import call_on_signals, print_text
from harness.cli.support.collection import rare_collections
from harness.cli.support.exit_codes import ExitCode
from harness.cli.support.observers import add_observers, check_observers, watch_app
from harness.cli.support.shared_store import (
    DEFAULT_PREFIX,
    DEFAULT_SECONDS,
    MEMORY,
    check_store,
    make_shared_app,
    settings_record,
)
from harness.cli.support.summaries import summarize_worlds
from harness.cli.support.workers import check_workers, serve_workers

if TYPE_CHECKING:
    from harness.contract.own_contract import OwnContract
    from harness.core.account import Organization
    from harness.core.delivery import Pace
    from harness.core.limits import Limits
    from harness.server.asgi import Listening
    from harness.server.mock_api import MockApi
    from harness.server.transport.stoppable_server import AsgiApp, StoppableServer

DEFAULT_PORT = 8765
KEPT_EXCHANGES, KEPT_RESPONSES, KEPT_WORLDS = 1_000, 10_000, 10_000
"""What a server keeps by default, so that it can run for days."""
LAST_RESORT_SECONDS = 1.0
"""Seconds after a second signal, after which the process ends as it is."""
ANY_KEY = "sk-anything"


def _limit(what: str, default: int) -> Any:
    """An option that bounds what is kept."""
    return typer.Option(metavar="N", min=1, help=f"How many {what}.", show_default=f"{default:,}, with a COMMAND all")


def serve(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="What to run with the mock; without it, serve until interrupted."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="The port to listen on; 0 takes a free one.", show_default="8765, with a COMMAND 0"
        ),
    ] = None,
    script: Annotated[Path | None, typer.Option(help="What the model says: a .py or .yaml file.")] = None,
    keys: Annotated[str, typer.Option(help="The only API keys that are known, by commas.")] = "",
    models: Annotated[str, typer.Option(help="The only models that are known, by commas.")] = "",
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Without a script refuse every request instead of making an answer up.")
    ] = False,
    zdr: Annotated[bool, typer.Option("--zdr", help="Zero Data Retention: nothing is stored for any key.")] = False,
    dialect: Annotated[str, typer.Option(help="openai, azure or foundry; without it all three, by the path.")] = "",
    assistants: Annotated[str, typer.Option(help="v2, or gone as since the sunset: 404.")] = "v2",
    as_of: Annotated[
        str, typer.Option(metavar="DATE", help="The day, or the month, whose API is served: 2026-03-15, 2026-03.")
    ] = "",
    contract: Annotated[
        Path | None, typer.Option("--contract", metavar="FILE", help="What `harness learn` wrote, which overrules.")
    ] = None,
    pace: Annotated[
        str, typer.Option(metavar="TEXT", help="How fast answers come: ttft=300ms,tokens=80/s,jitter=0.2.")
    ] = "",
    journal: Annotated[int | None, _limit("exchanges of a World that are kept, the newest", KEPT_EXCHANGES)] = None,
    keep: Annotated[int | None, _limit("responses of a World that are stored, the newest", KEPT_RESPONSES)] = None,
    worlds: Annotated[int | None, _limit("Worlds that are kept, the last used", KEPT_WORLDS)] = None,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Processes that answer; a key belongs to one.")] = 1,
    store: Annotated[
        str, typer.Option(metavar="URL", help="Where Worlds are: memory, or redis://HOST:PORT/N, which servers share.")
    ] = MEMORY,
    store_prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="How the keys in a shared store begin.", show_default=DEFAULT_PREFIX)
    ] = "",
    store_seconds: Annotated[
        int, typer.Option(metavar="N", min=1, help="How long a shared store keeps a World that nobody uses.")
    ] = DEFAULT_SECONDS,
    replay: Annotated[
        Path | None, typer.Option(metavar="DIR|FILE", help="Play these recordings; nothing is made up.")
    ] = None,
    paced: Annotated[bool, typer.Option("--paced", help="--replay at the pace of the recording.")] = False,
    log: Annotated[str, typer.Option(metavar="json", help="Write one JSON object for each request to stderr.")] = "",
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Count requests for Prometheus: GET /_harness/metrics.")
    ] = False,
    otel: Annotated[
        bool, typer.Option("--otel", help="Export a span of OpenTelemetry for each request, as OTEL_… variables say.")
    ] = False,
    control_token: Annotated[
        str,
        typer.Option(envvar=TOKEN_VARIABLE, help="What control requests have to carry; off loopback one is made."),
    ] = "",
    allowed_host: Annotated[
        str, typer.Option(metavar="NAMES", help="Other names of this host for control requests, by commas.")
    ] = "",
) -> None:
    """Serve the mock, every key that starts with `sk-` a world of its own, until interrupted or a COMMAND has ended."""
    from harness.api.http.dialects import API_ROOTS, OPENAI
    from harness.core.dates import CONTRACT_DATE, parse_as_of
    from harness.faults.pace import parse_pace
    from harness.server.asgi import App
    from harness.server.control_plane.access import control_access
    from harness.server.workers.request_key import KeyReader
    from harness.verify.disagreements.own_file import load_contract

    if replay:
        contents = (command, script, scripted, keys, models, zdr, dialect, as_of, contract, store_prefix, workers > 1)
        if any(
            (
                *contents,
                allowed_host,
                pace,
                journal,
                keep,
                worlds,
                log,
                metrics,
                otel,
                store != MEMORY,
                store_prefix,
                workers > 1,
            )
        ):
            raise typer.BadParameter("--replay plays what was recorded; give it with --host, --port and --paced alone.")
        _replay_recordings(replay, host, _or_default(port), paced)
        return
    if (is_shared := check_store(store, store_prefix, script)) and command:
        raise typer.BadParameter("a COMMAND has a mock of its own: --store is for servers without one.")
    check_observers(log, otel=otel)
    check_workers(workers, command, script)
    mock = _make_mock(
        script,
        _split_names(keys),
        _make_account(_split_names(models), zdr, assistants),
        dialect or None,
        as_of=parse_as_of(as_of, "--as-of") if as_of else CONTRACT_DATE,
        own_contract=load_contract(contract, Path()),
        scripted=scripted,
        pace=parse_pace(pace) if pace else None,
        limits=_make_limits(journal, keep, worlds, is_bounded=not command),
        is_shared=is_shared,
        workers=workers,
    )
    key = next(iter(_split_names(keys)), ANY_KEY)
    access = control_access(host, control_token, _split_names(allowed_host))
    if command and metrics:
        raise typer.BadParameter(
            "a COMMAND ends before its metrics could be read: --metrics is for a server without one."
        )
    if command:
        add_observers(mock, log, otel=otel)
        raise typer.Exit(run_with_mock(command, mock, host, port or 0, dialect or OPENAI, key, access))
    shown = {TOKEN_VARIABLE: access.token} if access.is_new else {}
    api_root = API_ROOTS[dialect or OPENAI]
    app = App(mock, access)
    if is_shared:
        decisive = {"script": script, "keys": keys, "models": models, "scripted": scripted, "zdr": zdr, "pace": pace}
        decisive |= {"dialect": dialect, "assistants": assistants, "as-of": as_of, "contract": contract}
        settings = settings_record(decisive | {"journal": journal, "keep": keep})
        made = (mock, access, store, store_prefix, store_seconds, settings, worlds or KEPT_WORLDS)
        app = make_shared_app(*made)
    watch = partial(watch_app, log=log, metrics=metrics, otel=otel)
    if workers > 1:
        make_app = partial(make_shared_app, *made, is_tried=True) if is_shared else lambda: app
        listening, announce = _listen(host, _or_default(port), api_root, key, shown)
        known = KeyReader(dialect or None, _split_names(keys) or None)
        serve_workers(
            make_app,
            watch,
            workers,
            listening,
            known,
            announce,
            lambda app: summarize_worlds(app.api),
            loses_worlds=not is_shared,
            sums_metrics=metrics,
        )
        return
    watch(app)
    _serve_foreground(app, host, _or_default(port), api_root, key, lambda: summarize_worlds(mock), shown)


def _or_default(port: int | None) -> int:
    return DEFAULT_PORT if port is None else port


def _replay_recordings(recordings: Path, host: str, port: int, paced: bool) -> None:
    """Replay recordings until interrupted, then list the requests that they could not answer."""
    from harness.cassettes.recording.matching import api_root
    from harness.cassettes.recording.replay_server import ReplayApp, load_recordings

    interactions = load_recordings(recordings)
    player = ReplayApp(interactions, paced)
    misses = (f"not recorded: {miss}" for miss in player.misses)
    _serve_foreground(player, host, port, api_root(interactions), ANY_KEY, lambda: misses)


def _serve_foreground(
    app: AsgiApp,
    host: str,
    port: int,
    root: str,
    key: str,
    summarize: Callable[[], Iterable[str]],
    more: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Serve an app in the foreground; it prints the environment of a client as shell commands first, at the end a summary.

    A signal stops the server, which gives answers under way a few seconds; a second one ends it at once.
    """
    from harness.core.text.shorten import pluralize
    from harness.server.asgi import App, uvicorn_config
    from harness.server.transport.stoppable_server import StoppableServer

    listening, announce = _listen(host, port, root, key, more)
    server = StoppableServer(uvicorn_config(app))
    server.at_end = app.close if isinstance(app, App) else None
    with _stopped_by_signals(server), closing(listening), rare_collections():
        announce()
        server.run(sockets=[listening])
        if server.cut_off:
            print_text(f"harness: stopped; {pluralize(server.cut_off, 'request')} had no whole answer yet.", err=True)
        for line in summarize():
            print_text(line, err=True)


def _listen(host: str, port: int, root: str, key: str, more: Mapping[str, str]) -> tuple[Listening, Callable[[], None]]:
    """A listening socket, and what prints the environment of a client as shell commands."""
    from harness.server.asgi import bind

    listening = bind(host, port)
    url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}{root}"

    def announce() -> None:
        with suppress(OSError):  # nobody reads it, and clients may know the port
            variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key, **more}
            print_text("\n".join([f"Serving {url}", *(f"export {name}={value}" for name, value in variables.items())]))

    return listening, announce


@contextmanager
def _stopped_by_signals(server: StoppableServer) -> Iterator[None]:
    """The first signal stops a server, the second one without delay, even when a script keeps it from noticing."""
    last_resort = Timer(LAST_RESORT_SECONDS, os._exit, [ExitCode.FOUND])
    last_resort.daemon = True

    def stop(_: int) -> None:
        if server.should_exit and not server.force_exit:
            last_resort.start()
        server.stop(force=server.should_exit)

    try:
        with call_on_signals(stop):
            yield
    finally:
        last_resort.cancel()


def _make_mock(
    script: Path | None,
    keys: Sequence[str],
    account: Organization | None,
    dialect: str | None,
    *,
    as_of: str,
    own_contract: OwnContract | None,
    scripted: bool,
    pace: Pace | None,
    limits: Limits,
    is_shared: bool,
    workers: int,
) -> MockApi:
    from harness.core.text.vocabulary import JSON, PYTHON_FILE
    from harness.server.mock_api import MockApi
    from harness.server.model.default_model import small_talk

    made = MockApi
    if is_shared:
        from harness.server.sharing.replicated_api import ReplicatedApi

        made, limits = ReplicatedApi, replace(limits, worlds=None)  # the app drops Worlds of its process
    elif workers > 1:
        from harness.server.workers.worker import WorkerApi

        made, limits = WorkerApi, replace(limits, worlds=limits.worlds and -(-limits.worlds // workers))
    mock = partial(
        made,
        keys or None,
        organization=account,
        fallback=None if scripted else small_talk,
        pace=pace,
        limits=limits,
        dialect=dialect,
        as_of=as_of,
        own_contract=own_contract,
        vocabulary=PYTHON_FILE if script and script.suffix == ".py" else JSON,
    )
    if script is None:
        return mock()
    from harness.world.scripting.load import load_script_file

    return mock(prepare=load_script_file(script).apply)


def _make_limits(journal: int | None, keep: int | None, worlds: int | None, *, is_bounded: bool) -> Limits:
    from harness.core.limits import UNLIMITED, Limits

    default = Limits(KEPT_EXCHANGES, KEPT_RESPONSES, KEPT_WORLDS) if is_bounded else UNLIMITED
    return Limits(journal or default.exchanges, keep or default.responses, worlds or default.worlds)


def _make_account(models: Sequence[str], zdr: bool, assistants: str) -> Organization | None:
    from harness.core.account import DEFAULT_ORGANIZATION, Organization

    made = Organization(models=frozenset(models) or None, zdr=zdr, assistants=assistants)
    return None if made == DEFAULT_ORGANIZATION else made


def _split_names(listed: str) -> list[str]:
    return [name for part in listed.split(",") if (name := part.strip())]

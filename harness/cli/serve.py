"""`harness serve`: runs the mock in the foreground."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.serve_command import TOKEN_VARIABLE, run_with_mock
from harness.cli.support.command_report import check_report_files
from harness.cli.support.foreground import Entrance, listen, serve_foreground
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
from harness.cli.support.tls import Secured, context_of, secure
from harness.cli.support.workers import check_workers, serve_workers
from harness.report.formats import FORMATS

if TYPE_CHECKING:
    from harness.contract.own_contract import OwnContract
    from harness.core.account import Organization
    from harness.core.delivery import Pace
    from harness.core.limits import Limits
    from harness.server.mock_api import MockApi
    from harness.world.mock import Mock

DEFAULT_PORT = 8765
KEPT_EXCHANGES, KEPT_RESPONSES, KEPT_WORLDS = 1_000, 10_000, 10_000
"""What a server keeps by default, so that it can run for days."""
ANY_KEY = "sk-anything"


def _limit(what: str, default: int) -> Any:
    """An option that bounds what is kept."""
    return typer.Option(metavar="N", min=1, help=f"How many {what}.", show_default=f"{default:,}, with a COMMAND all")


def serve(
    context: typer.Context,
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
    unused: Annotated[
        str, typer.Option(metavar="allow", help="With a COMMAND: turns that no request took are no failure.")
    ] = "",
    losses: Annotated[
        str, typer.Option(metavar="allow", help="With a COMMAND: what a client lost of earlier answers is no failure.")
    ] = "",
    refusals: Annotated[
        str, typer.Option(metavar="NAMES", help="Refusals that are no failure: allow, or rules and areas, by commas.")
    ] = "",
    reports: Annotated[
        list[Path] | None,
        typer.Option("--report", metavar="FILE", help=f"With a COMMAND: write what it exchanged: {' '.join(FORMATS)}."),
    ] = None,
    log: Annotated[
        str, typer.Option(metavar="json|text", help="Write each request to stderr, not only refused ones.")
    ] = "",
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Count requests for Prometheus: GET /_harness/metrics.")
    ] = False,
    otel: Annotated[
        bool, typer.Option("--otel", help="Export a span of OpenTelemetry for each request, as OTEL_… variables say.")
    ] = False,
    tls: Annotated[
        bool,
        typer.Option("--tls", help="Speak TLS, with a certificate made for this run that printed variables trust."),
    ] = False,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Speak TLS with this certificate (PEM).")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="The private key of --certificate, if not in its file.")
    ] = None,
    control_token: Annotated[
        str,
        typer.Option(envvar=TOKEN_VARIABLE, help="What control requests have to carry; off loopback one is made."),
    ] = "",
    allowed_host: Annotated[
        str, typer.Option(metavar="NAMES", help="Other names of this host for control requests and --tls, by commas.")
    ] = "",
) -> None:
    """Serve the mock, every key that starts with `sk-` a world of its own, until interrupted or a COMMAND has ended."""
    from harness.api.http.dialects import API_ROOTS, OPENAI
    from harness.core.dates import CONTRACT_DATE, parse_as_of
    from harness.faults.pace import parse_pace
    from harness.server.asgi import App
    from harness.server.client_environment import server_variables
    from harness.server.control_plane.access import control_access
    from harness.server.workers.request_key import KeyReader
    from harness.verify.disagreements.own_file import load_contract

    permitted = _permitted(unused=unused, losses=losses)
    if not command and (permitted or reports):
        raise typer.BadParameter("--unused, --losses and --report are about what a COMMAND did: give one after --.")
    check_report_files(reports or [])
    if replay:
        contents = (command, script, scripted, keys, models, zdr, dialect, as_of, contract, refusals)
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
            raise typer.BadParameter(
                "--replay plays what was recorded; give it with --host, --port, --paced and TLS alone."
            )
        _replay_recordings(
            replay, host, _or_default(port), paced, secure(context, tls, certificate, key_file, host, ())
        )
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
        refusals=_split_names(refusals),
        runs_command=bool(command),
        pace=parse_pace(pace) if pace else None,
        limits=_make_limits(journal, keep, worlds, is_bounded=not command),
        is_shared=is_shared,
        workers=workers,
    )
    key = next(iter(_split_names(keys)), ANY_KEY)
    other_names = _split_names(allowed_host)
    access = control_access(host, control_token, other_names)
    secured = secure(context, tls, certificate, key_file, host, other_names)
    if secured:
        mock.scheme = "https"
    if command and metrics:
        raise typer.BadParameter(
            "a COMMAND ends before its metrics could be read: --metrics is for a server without one."
        )
    if command:
        add_observers(mock, log, otel=otel)
        where = (host, port or 0, dialect or OPENAI, key)
        raise typer.Exit(
            run_with_mock(command, mock, *where, access, secured, permitted=permitted, reports=reports or [])
        )
    shown = {TOKEN_VARIABLE: access.token} if access.is_new else {}
    entrance = Entrance(
        API_ROOTS[dialect or OPENAI], lambda origin: {**server_variables(origin, dialect or OPENAI, key), **shown}
    )
    app = App(mock, access)
    if is_shared:
        decisive = {"script": script, "keys": keys, "models": models, "scripted": scripted, "zdr": zdr, "pace": pace}
        decisive |= {"dialect": dialect, "assistants": assistants, "as-of": as_of, "contract": contract}
        decisive |= {"refusals": refusals} if refusals else {}
        settings = settings_record(decisive | {"journal": journal, "keep": keep})
        made = (mock, access, store, store_prefix, store_seconds, settings, worlds or KEPT_WORLDS)
        app = make_shared_app(*made)
    watch = partial(watch_app, log=log, metrics=metrics, otel=otel)
    if workers > 1:
        make_app = partial(make_shared_app, *made, is_tried=True) if is_shared else lambda: app
        listening, announce = listen(host, _or_default(port), entrance, secured)
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
            tls=context_of(secured),
        )
        return
    watch(app)
    serve_foreground(app, host, _or_default(port), entrance, lambda: summarize_worlds(mock), secured)


def _or_default(port: int | None) -> int:
    return DEFAULT_PORT if port is None else port


def _replay_recordings(recordings: Path, host: str, port: int, paced: bool, secured: Secured | None) -> None:
    """Replay recordings until interrupted, then list the requests that they could not answer."""
    from harness.cassettes.recording.matching import api_root
    from harness.cassettes.recording.replay_server import ReplayApp, load_recordings

    interactions = load_recordings(recordings)
    player = ReplayApp(interactions, paced)
    root = api_root(interactions)
    entrance = Entrance(root, lambda origin: {"OPENAI_BASE_URL": origin + root, "OPENAI_API_KEY": ANY_KEY})
    misses = (f"not recorded: {miss}" for miss in player.misses)
    serve_foreground(player, host, port, entrance, lambda: misses, secured)


def _make_mock(
    script: Path | None,
    keys: Sequence[str],
    account: Organization | None,
    dialect: str | None,
    *,
    as_of: str,
    own_contract: OwnContract | None,
    scripted: bool,
    refusals: Sequence[str],
    runs_command: bool,
    pace: Pace | None,
    limits: Limits,
    is_shared: bool,
    workers: int,
) -> MockApi:
    from harness.core.text.vocabulary import JSON, PYTHON_FILE
    from harness.server.mock_api import MockApi
    from harness.server.model.default_model import small_talk

    made, words = MockApi, PYTHON_FILE if script and script.suffix == ".py" else JSON
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
        vocabulary=words.for_command() if runs_command else words,
    )
    return mock(prepare=_make_prepare(script, refusals))


def _make_prepare(script: Path | None, refusals: Sequence[str]) -> Callable[[Mock], None]:
    """What is done to each new World: it is scripted, and expects these refusals."""
    from harness.world.scripting.document import parse_sent_script
    from harness.world.scripting.load import load_script_file
    from harness.world.scripting.settings import ALLOW

    given = ALLOW if list(refusals) == [ALLOW] else list(refusals)
    parts: list[Callable[[Mock], object]] = [parse_sent_script({"refusals": given}).apply] if refusals else []
    parts += [load_script_file(script).apply] if script else []

    def prepare(mock: Mock) -> None:
        for part in parts:
            part(mock)

    return prepare


def _permitted(**options: str) -> list[str]:
    """What these options permit; BadParameter for a value that they have not."""
    for name, value in options.items():
        if value not in ("", "allow"):
            raise typer.BadParameter(f"--{name} {value}: it is allow.")
    return [name for name, value in options.items() if value]


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

"""`harness serve --workers N`: several processes behind one address."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import typer

from harness.cli.support.app import call_on_signals, print_text
from harness.cli.support.collection import rare_collections
from harness.cli.support.summaries import summarize_worlds
from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.server.asgi import App, Listening
    from harness.server.tls.context import ServerContext
    from harness.server.workers.channel import Channel
    from harness.server.workers.request_key import KeyReader


def check_workers(count: int, command: object, script: Path | None) -> None:
    """ConfigError for what several processes cannot do."""
    if count == 1:
        return
    if command:
        raise typer.BadParameter("a COMMAND has a mock of its own: --workers is for servers without one.")
    if not hasattr(os, "fork"):
        raise ConfigError("--workers: this system cannot fork processes. Serve with one.")
    if script is not None and script.suffix == ".py":
        raise ConfigError(
            f"--workers {count} with --script {script}: a script in Python stays with one process, which alone knows "
            "what its functions have done. Write it in YAML, send it to /_harness/script, or serve with one worker."
        )


def serve_workers(
    make_app: Callable[[], App],
    watch: Callable[..., App],
    count: int,
    listening: Listening,
    keys: KeyReader,
    announce: Callable[[], None],
    *,
    loses_worlds: bool,
    sums_metrics: bool,
    tls: ServerContext | None = None,
) -> None:
    """Serve with workers until a signal; each prints what it has to say at its end. ConfigError when they do not start.

    `watch` adds the observers to the app of a worker, which with `sums_metrics` shares a `folder` with the others.
    """
    from harness.server.workers.dispatcher import Dispatcher, WorkersFailed
    from harness.server.workers.worker import Worker

    def run_worker(number: int, channel: Channel, lost: Sequence[str]) -> int:
        from harness.core.text.shorten import pluralize

        app = watch(make_app(), folder=folder)
        app.api.mark_dropped(lost)
        if cut_off := Worker(app, channel, keys, is_first=number == 0).run():
            print_text(f"harness: stopped; {pluralize(cut_off, 'request')} had no whole answer yet.", err=True)
        app.flush()
        for line in summarize_worlds(app.api):
            print_text(line, err=True)
        sys.stderr.flush()
        return 0

    def report(line: str) -> None:
        print_text(f"harness: {line}", err=True)

    dispatcher = Dispatcher(listening, count, keys, run_worker, report, loses_worlds, tls)
    with (
        TemporaryDirectory(prefix="harness-") if sums_metrics else nullcontext() as shared,
        call_on_signals(lambda _: dispatcher.stop()),
        closing(listening),
        rare_collections(),
    ):
        folder = Path(shared) if shared else None
        dispatcher.start()
        announce()
        try:
            dispatcher.run()
        except WorkersFailed as problem:
            raise ConfigError(f"--workers: {problem}.") from problem

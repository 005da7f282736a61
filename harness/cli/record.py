"""`harness record`: a command, run with a recorder between its clients and the live API."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from itertools import count as counting
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.app import call_on_signals, make_console
from harness.cli.live import FRESH_DAYS, KeyEnvOption, YesOption, record_rules
from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.api.upstream import Upstream
    from harness.cassettes.recording.in_flight import Recording
    from harness.verify.watch import RecordingJudge

OPENAI_URL = "https://api.openai.com/v1"
CASSETTE_SUFFIXES = (".yaml", ".yml")
GRACE_SECONDS = 3.0
"""Seconds that an interrupted command has to end by itself, and again after it was told to."""
DEFAULT_LISTEN = "127.0.0.1:0"
NOTHING_RECORDED = "nothing was recorded."
NO_REQUEST_HINT = "Does the command read OPENAI_BASE_URL?"
KEY_HINTS = {401: "is the key of the command right, and in its environment?", 429: "the limits of the key are reached"}
"""What to say of answers that tell of the key."""
ADDRESS_HINTS = {
    **dict.fromkeys(
        (301, 302, 303, 307, 308), "the API is somewhere else: give --upstream as the answer's location says"
    ),
    404: "is the path of --upstream right?",
}
"""What to say when all answers were of one of these."""


def record(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="What to run; without it, until interrupted.")
    ] = None,
    upstream: Annotated[
        str, typer.Option(envvar="OPENAI_BASE_URL", metavar="URL", help="The live API's root, as clients are given it.")
    ] = OPENAI_URL,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")
    ] = DEFAULT_LISTEN,
    into: Annotated[
        Path, typer.Option(metavar="DIR|FILE", help="A new cassette in a folder, or the .yaml file to replace.")
    ] = Path("cassettes"),
    check: Annotated[
        bool, typer.Option("--check", help="Judge each request before it is sent, and each answer by the mock's.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="--check, and exit code 1 when something was found.")
    ] = False,
    rules: Annotated[
        bool,
        typer.Option("--rules", help="Instead of a command: areas, whose rules' examples the API is asked; or all."),
    ] = False,
    key_env: KeyEnvOption = "",
    fresh: Annotated[
        int, typer.Option(min=0, metavar="DAYS", help="With --rules: what is not asked again.")
    ] = FRESH_DAYS,
    yes: YesOption = False,
) -> None:
    """Run a command and record what its clients, in any language, and the live API say to each other."""
    if rules:
        record_rules(command or [], upstream or OPENAI_URL, into, key_env=key_env, yes=yes, fresh=fresh)
    from harness.api.upstream import parse_upstream as at
    from harness.api.upstream import redirected_environment
    from harness.cassettes.format.interaction import CassetteHeader
    from harness.cassettes.recording.in_flight import Recording
    from harness.cassettes.recording.proxy import run_proxy
    from harness.cassettes.recording.writer import open_recorder
    from harness.server.asgi import bind

    behind, (host, port) = at(upstream or OPENAI_URL), _parse_address(listen)
    file = _cassette_file(into, command or [])
    with _open_watch(file, behind, check or strict) as watch:
        passed = Recording(watch)
        with open_recorder(file, CassetteHeader(dialect=behind.dialect), secrets=_api_keys()) as cassette:
            listening = bind(host, port)
            here = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
            _print_stderr(f"recording {here}{behind.root} in front of {behind.origin}{behind.root}")
            led = redirected_environment(behind, here, os.environ)
            with run_proxy(behind, passed, listening):
                grow = partial(cassette.save_if_due, lambda: passed.interactions_so_far)
                code = (
                    _run_command(command, led, passed.interrupt, grow) if command else _record_until_signal(led, grow)
                )
            cassette.interactions = passed.interactions
        if watch:
            watch.close()
        _print_result(passed, file, watch)
    found = watch is not None and not watch.tally.is_clean
    missed = bool(passed.problems) and not passed.interactions
    raise typer.Exit(code or int(missed or (strict and found)))


def _parse_address(listen: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:8765`, `[::1]:0` or a port alone."""
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"--listen {listen}: give HOST:PORT, say {DEFAULT_LISTEN}; port 0 takes a free one.")
    return host.strip("[]") or "127.0.0.1", int(port)


def _api_keys() -> list[str]:
    """The keys in the environment of the command: they are written nowhere."""
    return [value for name, value in os.environ.items() if name.endswith("_API_KEY")]


def _cassette_file(into: Path, command: Sequence[str]) -> Path:
    """The file to write: `into` itself, or a new one in that folder, named for the command but not for what it was told."""
    from harness.cassettes.recording.writer import is_free

    if into.suffix in CASSETTE_SUFFIXES:
        return into
    words = [Path(word).stem for word in (*command[:1], *filter(os.path.exists, command[1:]))]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join(filter(None, words[:3]))) or "recording"
    names = (f"{name}{number}.yaml" for number in chain([""], (f"-{number}" for number in counting(2))))
    return next(file for each in names if is_free(file := into / each))


@contextmanager
def _open_watch(file: Path, behind: Upstream, asked: bool) -> Iterator[RecordingJudge | None]:
    """Who judges what passes, if that is asked for."""
    if not asked:
        yield None
        return
    from tempfile import TemporaryDirectory

    from harness.verify.watch import RecordingJudge

    with TemporaryDirectory(prefix="harness-record-") as folder:
        yield RecordingJudge(file.as_posix(), behind, Path(folder), _print_stderr)


def _run_command(
    command: Sequence[str], led: Mapping[str, str], interrupt: Callable[[], None], meanwhile: Callable[[], None]
) -> int:
    """Run the command and return its exit code; one that is interrupted has time to end by itself."""
    stopped = Event()
    with call_on_signals(stopped.set):
        try:
            child = subprocess.Popen(command, env={**os.environ, **led})
        except OSError as problem:
            told = f"{command[0]}: cannot be run: {problem.strerror}. Give a command after --."
            raise ConfigError(told) from problem
        while not (stopped.is_set() or _has_ended_within(child, 0.1)):
            meanwhile()
        if stopped.is_set():
            interrupt()
            _stop_command(child)
    code = child.wait()
    return 128 - code if code < 0 else code


def _stop_command(child: subprocess.Popen[bytes]) -> None:
    """A terminal has interrupted the command as well; a signal to the recorder alone has not."""
    for more in (child.terminate, child.kill):
        if _has_ended_within(child, GRACE_SECONDS):
            return
        more()


def _has_ended_within(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the command ends within so many seconds."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    return child.returncode is not None


def _record_until_signal(led: Mapping[str, str], meanwhile: Callable[[], None]) -> int:
    """Record whoever comes, until a signal ends it."""
    stopped = Event()
    with call_on_signals(stopped.set):
        for name, value in led.items():
            if name.upper() != "NO_PROXY":
                _print_stderr(f"export {name}={value}")
        while not stopped.wait(0.2):
            meanwhile()
    return 0


def _print_result(recording: Recording, file: Path, watch: RecordingJudge | None) -> None:
    """Say what was recorded, what went wrong, and what was found."""
    from harness.core.shorten import pluralize
    from harness.verify import output

    takes = recording.interactions
    cut = sum(take.cut for take in takes)
    nothing = NOTHING_RECORDED if recording.problems else f"{NOTHING_RECORDED} {NO_REQUEST_HINT}"
    _print_stderr(
        f"{pluralize(len(takes), 'exchange')} in {file}{f', {cut} of them cut' if cut else ''}" if takes else nothing
    )
    for problem, times in recording.problems.items():
        _print_stderr(f"{problem} ({times} ×)")
    for status, times in (met := Counter(take.status for take in takes)).items():
        if why := KEY_HINTS.get(status) or (ADDRESS_HINTS.get(status) if len(met) == 1 else None):
            _print_stderr(f"{times} × {status}: {why}")
    if watch:
        console = make_console(stderr=True)
        console.print(output.counts_table(watch.tally))
        for text in output.summary_lines(watch.tally):
            console.print(text)


def _print_stderr(text: str) -> None:
    """A line on stderr, as long as somebody reads it: stdout is the command's."""
    with suppress(OSError):
        typer.echo(f"harness: {text}", err=True)

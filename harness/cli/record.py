"""`responses-harness record`: runs a command with a recording proxy between its clients and the live API."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from itertools import count as counting
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from urllib.parse import urlsplit

import typer

from harness.api.http.dialects import Upstream, parse_upstream, redirected_environment
from harness.cassettes.files import is_free
from harness.cassettes.format.interaction import RECORD_COMMAND, CassetteHeader
from harness.cassettes.recording.journal_file import recover_recordings
from harness.cassettes.recording.proxy import run_proxy
from harness.cassettes.recording.recorder import Recording, open_recorder
from harness.cli.program import ExitCode, Options, argument, call_on_signals, make_console, option, print_note
from harness.cli.run_command import run_command
from harness.core.errors import ConfigError
from harness.core.text import pluralize
from harness.overrides.derive import offer_learning
from harness.overrides.project_file import load_overrides
from harness.server.http_server import bind
from harness.verify import output
from harness.verify.judge_files import RecordingJudge
from harness.verify.output import explain_nothing_judged

OPENAI_URL = "https://api.openai.com/v1"
CASSETTE_SUFFIXES = (".yaml", ".yml")
MAX_COMMAND_LENGTH = 400
"""Characters of a command that a cassette holds; anything longer is a program rather than a command."""
FORWARDING_SWITCH_INTERVAL = 0.0005
"""The interpreter's switch interval, in seconds, so that the thread forwarding bytes does not wait for scrubbing."""
DEFAULT_LISTEN = "127.0.0.1:0"
NOTHING_RECORDED = "nothing was recorded."
NO_REQUEST_HINT = "Does the command read OPENAI_BASE_URL?"
KEY_HINTS = {
    401: "is the key correct, and in the environment of the command?",
    429: "the limits of the key are reached",
}
"""Hints for statuses that concern the key."""
ADDRESS_HINTS = {
    **dict.fromkeys((301, 302, 303, 307, 308), "the API has moved: pass the location in the answer as --upstream"),
    404: "is the path of --upstream correct?",
}
"""Hints for statuses, shown if all answers have the same one."""


@dataclass(frozen=True, kw_only=True)
class RecordOptions(Options):
    """The options of `responses-harness record`."""

    command: list[str] | None = argument(
        None, "The command to run; without it, record until interrupted.", metavar="-- COMMAND"
    )
    upstream: str = option(
        OPENAI_URL, "The live API's root, as clients use it.", envvar="OPENAI_BASE_URL", metavar="URL"
    )
    listen: str = option(DEFAULT_LISTEN, "The address to listen on; port 0 picks a free one.", metavar="HOST:PORT")
    into: Path = option(
        Path("cassettes"), "The folder for a new cassette, or the .yaml file to replace.", metavar="DIR|FILE"
    )
    timeout: float = option(
        600.0, "The seconds for which the API may be silent; then its answer is recorded as cut.", min=0.1
    )
    check: bool = option(False, "Check each request before it is sent, and compare each answer with the mock's.")
    strict: bool = option(False, "Like --check, but exit with 1 if something was found, 2 if nothing was judged.")


def record(options: RecordOptions) -> None:
    """Run a command, and record the exchanges of its clients with the live API.

    A proxy records them, so clients may be in any language. The exit code is the command's.
    """
    command, api = options.command or [], parse_upstream(options.upstream or OPENAI_URL)
    address = _parse_address(options.listen)
    for recovered in recover_recordings(options.into) if options.into.suffix not in CASSETTE_SUFFIXES else ():
        print_note(str(recovered))
    file = _cassette_file(options.into, command)
    made_by = shlex.join([*RECORD_COMMAND, *command]) if command else ""
    # The header of a cassette is for people: a command that does not fit into a line is omitted.
    made_by = made_by if len(made_by) <= MAX_COMMAND_LENGTH and made_by.isprintable() else ""
    with _open_watch(file, api, options.check or options.strict) as judge:
        with (
            ExitStack() as until_saved,
            open_recorder(file, CassetteHeader(dialect=api.dialect, command=made_by), secrets=_api_keys()) as cassette,
        ):
            if cassette.recovered:
                print_note(str(cassette.recovered))
            recording = Recording(judge, cassette)
            cassette.in_progress = recording.in_progress
            code = _run_behind_proxy(command, api, address, options.timeout, recording, until_saved)
        if judge:
            judge.close()
        _print_result(recording, file, judge)
    if judge and recording.interactions and judge.tally.is_learnable:
        _offer_learning(file, api)
    raise typer.Exit(code or _exit_code(recording, judge if options.strict else None))


def _run_behind_proxy(
    command: list[str],
    api: Upstream,
    address: tuple[str, int],
    timeout: float,
    recording: Recording,
    until_saved: ExitStack,
) -> int:
    """Run the command behind a recording proxy, or wait for a signal; return the exit code.

    Until the cassette is saved, a signal ends only the recording.
    """
    host, port = address
    listening = bind(host, port)
    here = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    print_note(f"recording {here}{api.root} in front of {api.origin}{api.root}")
    environment = redirected_environment(api, here, os.environ)
    sys.setswitchinterval(FORWARDING_SWITCH_INTERVAL)
    with run_proxy(api, recording, listening, timeout) as end_at_once:
        until_saved.enter_context(call_on_signals(lambda _: end_at_once()))
        if not command:
            return _record_until_signal(environment, recording)
        return run_command(command, {**os.environ, **environment}, interrupt=recording.interrupt)


def _exit_code(recording: Recording, judge: RecordingJudge | None) -> ExitCode:
    """Return the exit code if the command succeeded; with a judge its findings count."""
    if not recording.interactions:
        return ExitCode.FOUND if recording.problems else ExitCode.NOTHING_JUDGED
    if not judge:
        return ExitCode.OK
    if not judge.tally.is_clean:
        return ExitCode.FOUND
    return ExitCode.NOTHING_JUDGED if explain_nothing_judged(judge.tally) else ExitCode.OK


def _parse_address(listen: str) -> tuple[str, int]:
    """Parse host and port from `127.0.0.1:8765`, `[::1]:0` or a port alone."""
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"--listen {listen}: pass HOST:PORT, such as {DEFAULT_LISTEN}; port 0 picks a free one.")
    return host.strip("[]") or "127.0.0.1", int(port)


def _api_keys() -> list[str]:
    """List the keys in the environment of the command, which must not be recorded."""
    return [value for name, value in os.environ.items() if name.endswith("_API_KEY")]


def _cassette_file(into: Path, command: Sequence[str]) -> Path:
    """Return the file to write: `into` itself, or a new one in that folder, named after the command without options."""
    if into.suffix in CASSETTE_SUFFIXES:
        return into
    words = [Path(word).stem for word in (*command[:1], *filter(os.path.exists, command[1:]))]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join(filter(None, words[:3]))) or "recording"
    names = (f"{name}{number}.yaml" for number in chain([""], (f"-{number}" for number in counting(2))))
    return next(file for candidate in names if is_free(file := into / candidate))


@contextmanager
def _open_watch(file: Path, api: Upstream, wanted: bool) -> Iterator[RecordingJudge | None]:
    """Open a judge of the recorded exchanges, if wanted."""
    if not wanted:
        yield None
        return
    own = load_overrides(None, Path())
    with TemporaryDirectory(prefix="harness-record-") as folder:
        yield RecordingJudge(file.as_posix(), api, Path(folder), print_note, own)


def _record_until_signal(environment: Mapping[str, str], recording: Recording) -> int:
    stopped = Event()
    with call_on_signals(lambda _: stopped.set()):
        for name, value in environment.items():
            if name.upper() != "NO_PROXY":
                print_note(f"export {name}={value}")
        while not stopped.wait(0.2):  # a wait without an end could not be interrupted on every system
            pass
    recording.interrupt()
    return 0


def _print_result(recording: Recording, file: Path, watch: RecordingJudge | None) -> None:
    interactions = recording.interactions
    cut = sum(interaction.cut for interaction in interactions)
    nothing = NOTHING_RECORDED if recording.problems else f"{NOTHING_RECORDED} {NO_REQUEST_HINT}"
    print_note(
        f"{pluralize(len(interactions), 'exchange')} in {file}{f', {cut} of them cut' if cut else ''}"
        if interactions
        else nothing
    )
    for problem, times in recording.problems.items():
        print_note(f"{problem} ({times} ×)")
    for status, times in (met := Counter(interaction.status for interaction in interactions)).items():
        if why := KEY_HINTS.get(status) or (ADDRESS_HINTS.get(status) if len(met) == 1 else None):
            print_note(f"{times} × {status}: {why}")
    if watch:
        console = make_console(stderr=True)
        console.print(output.counts_table(watch.tally))
        for text in output.summary_lines(watch.tally):
            console.print(text)
        if interactions and watch.tally.is_clean and (why := explain_nothing_judged(watch.tally)):
            print_note(why)


def _offer_learning(file: Path, api: Upstream) -> None:
    """Print what could be learned from a recording in which API and mock disagree."""
    for line in offer_learning([file], Path(), [urlsplit(api.origin).hostname or ""]):
        print_note(line)

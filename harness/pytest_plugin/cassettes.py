"""Cassettes in pytest: tests replay recordings without a network, or record them from the live API with `--record`.

`@pytest.mark.cassette("weather")` answers a test's requests from `cassettes/weather.yaml`; the fixture `cassette`
returns the answers of a recording as turns of a script. With `as_script=True` they become turns of the test's mock, which
judges the requests by the rules; how these differ from the recording is reported, but fails no test.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.core.errors import COMMAND, ConfigError, HarnessError, Problem
from harness.core.json_values import pick
from harness.pytest_plugin.causes import causes_of, fail_for, note_causes, render_failure
from harness.pytest_plugin.marks import read_marker_options
from harness.pytest_plugin.options import CASSETTES_INI, STARTED_STASH_KEY

if TYPE_CHECKING:
    from pluggy import Result

    from harness.cassettes.format.interaction import Interaction
    from harness.cassettes.recording.vcr import CassetteMode, CassetteSession
    from harness.explain.cause import Cause
    from harness.verify.recorded_script import RecordedScript
    from harness.world.mock import Mock
    from harness.world.route import Turn
    from harness.world.world import World

KEY_VARIABLES = (
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_AD_TOKEN",
    "AZURE_AI_API_KEY",
    "FOUNDRY_API_KEY",
)
"""Variables that may hold the API key for recording."""
REPLAY_KEY = "sk-replayed-not-a-key"
"""The key of a client whose requests are answered from a cassette."""
PROXY_HINT = f"Record through `{COMMAND} record -- COMMAND`, and replay with `{COMMAND} serve --replay`."

_SECRET_VARIABLE = r"_(?:KEY|TOKEN|SECRET|PASSWORD)$|^OPENAI_(?:ORG_ID|PROJECT|PROJECT_ID)$"
CASSETTE_STASH_KEY = pytest.StashKey["CassetteSession"]()
"""The stash key of a running test's cassette."""
_PASSED_STASH_KEY = pytest.StashKey[bool | None]()
"""The stash key of whether a test has passed, None until it has ended."""


class CassetteMarker(NamedTuple):
    """The arguments of a test's marker: the name of the cassette, whether its pace is kept, whether it is a script."""

    name: str
    pace: bool = False
    as_script: bool = False


class _DiscardRecording(Exception):
    """Raised to leave a recording block without writing the cassette."""


class _LeaveRecording(KeyboardInterrupt):
    """Raised to leave the recording of an interrupted test to the next run."""


def is_played_as_script(item: pytest.Item) -> bool:
    """Return whether the answers of a test's cassette are the script of its mock; False while recording."""
    marker = item.get_closest_marker("cassette")
    if not marker or marker.kwargs.get("as_script") is not True:
        return False
    with suppress(HarnessError):  # an invalid marker fails its test later
        return _record_mode(item.config, cassette_path(item.config, read_cassette_marker(item).name)) == "replay"
    return False


def judge_cassette(item: pytest.Item, outcome: Result[None]) -> None:
    """Fail a test, even one that is skipped, for requests without an answer in its cassette, whatever the client did."""
    session = item.stash.get(CASSETTE_STASH_KEY, None)
    if session is None or (outcome.exception and not isinstance(outcome.exception, pytest.skip.Exception)):
        return
    if missed := _missed_causes(item, session):
        fail_for(item, *missed, details=_describe_misses(item, session))


def _list_misses(item: pytest.Item, session: CassetteSession) -> list[Problem]:
    """List the requests that the cassette of a test could not answer, files relative to the root."""
    root = f"{item.config.rootpath.as_posix()}/"
    return [problem._replace(what=problem.what.replace(root, "")) for problem in session.failures]


def _missed_causes(item: pytest.Item, session: CassetteSession) -> list[Cause]:
    if not (misses := _list_misses(item, session)):
        return []
    from harness.explain.turn import miss_cause

    hint = _record_hint(item, session.mode)
    return [miss_cause(problem, hint) for problem in misses]


def _describe_misses(item: pytest.Item, session: CassetteSession) -> str:
    """Describe the requests that the cassette could not answer in all details, which `-v` shows."""
    return "\n\n".join(map(str, _list_misses(item, session))) if item.config.get_verbosity() > 0 else ""


def note_outcome(item: pytest.Item, report: pytest.TestReport) -> None:
    """Remember whether a test has passed, as the recording of a failed or interrupted one is not written.

    The report of a test that failed on its own gets a section about unanswered requests.
    """
    if (session := item.stash.get(CASSETTE_STASH_KEY, None)) is None:
        return
    if report.when == "setup" and report.failed:
        item.stash[_PASSED_STASH_KEY] = False
    if report.when == "call":
        item.stash[_PASSED_STASH_KEY] = not report.failed
        # The error may be the unanswered request itself, which the report then already contains.
        if report.failed and not causes_of(item) and (missed := _missed_causes(item, session)):
            from harness.explain.render import SECTION_TITLE

            note_causes(item, missed)
            report.sections.append((SECTION_TITLE, render_failure(missed, _describe_misses(item, session))))
    if report.when == "teardown":
        del item.stash[CASSETTE_STASH_KEY]


def read_turns(config: pytest.Config, name: str) -> list[Turn]:
    """Return the answers in a recording as turns of a script."""
    from harness.cassettes.files import note_replay, read_cassette
    from harness.cassettes.recording.as_script import turns_from_recording

    path = cassette_path(config, name)
    script = turns_from_recording(read_cassette(path).interactions, name)
    note_replay(path)
    return script


def cassette_path(config: pytest.Config, name: str) -> Path:
    """Return the file of a cassette; ConfigError for a name that leads out of the folder."""
    folder = Path(config.rootpath, config.getini(CASSETTES_INI))
    path = folder / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if not isinstance(name, str) or not name or not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"cassette({name!r}): pass the name of a file below {folder}, as in 'openai/scenarios/weather'."
        )
    return path


def open_cassette(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replay the cassette of a test, unless the command line asks for a recording."""
    from harness.cassettes.files import note_replay, recording_header
    from harness.cassettes.recording.vcr import use_cassette

    node, config = request.node, request.config
    read_marker_options(node)
    marker = read_cassette_marker(node)
    if "openai_mock" in getattr(node, "fixturenames", ()):
        raise ConfigError(
            "a test with the fixture `mock` cannot record its cassette: leave the fixture out while recording."
        )
    path = cassette_path(config, marker.name)
    mode = _record_mode(config, path)
    hint = _record_hint(node, mode)
    with suppress(_DiscardRecording, _LeaveRecording), fail_with_hint(node, hint), ExitStack() as stack:
        session = stack.enter_context(
            use_cassette(
                path,
                mode,
                header=None if mode == "replay" else recording_header(path, mode, node.nodeid),
                secrets=[] if mode == "replay" else _secret_values(),
                pace=marker.pace,
            )
        )
        node.stash[CASSETTE_STASH_KEY], node.stash[_PASSED_STASH_KEY] = session, None
        _block_network(stack, session, node)
        if mode == "replay":
            _set_environment(session.replay.interactions, monkeypatch)
        yield
        if node.stash[_PASSED_STASH_KEY] is None:
            raise _LeaveRecording
        # A failed test has recorded only part of a conversation.
        if not node.stash[_PASSED_STASH_KEY]:
            raise _DiscardRecording
        if mode == "replay":
            note_replay(path)


def _block_network(stack: ExitStack, session: CassetteSession, node: pytest.Item) -> None:
    from harness.cassettes.recording.block_network import block_network, block_websockets

    def refusing(why: str, fix: str = "") -> Callable[[str], str]:
        def refuse(what: str) -> str:
            problem = Problem(f"{node.nodeid} asked for {what}, but {why}.", fix=fix)
            session.problems.append(problem)
            return str(problem)

        return refuse

    if session.mode == "replay":
        stack.enter_context(block_network(refusing(f"it replays {session.path.as_posix()}")))
    stack.enter_context(block_websockets(refusing("a cassette cannot record one in process", PROXY_HINT)))


def _record_hint(node: pytest.Item, mode: str) -> str:
    """Return how to record what the cassette of a test lacks; empty while recording."""
    return f"Record it: pytest --record {shlex.quote(node.nodeid)}" if mode == "replay" else ""


@contextmanager
def fail_with_hint(item: pytest.Item, hint: str) -> Iterator[None]:
    """Fail with the cause behind a HarnessError and a hint, instead of a traceback through the harness."""
    try:
        yield
    except HarnessError as problem:
        from harness.explain.cause import Cause

        root, said = f"{item.config.rootpath.as_posix()}/", problem.problem
        where = "\n".join(line.strip().replace(root, "") for line in said.shown)
        fail_for(item, Cause(said.what.replace(root, ""), kind="recording", where=where, fix=said.fix or hint))


def read_cassette_marker(node: pytest.Item) -> CassetteMarker:
    """Read the marker of a test; ConfigError if it is invalid, or if the test has both a mock and a cassette."""
    marker = node.get_closest_marker("cassette")
    args, options = (marker.args, marker.kwargs) if marker else ((), {})
    read = CassetteMarker("", **pick(options, *_MARKER_OPTIONS))
    known = len(args) == 1 and not options.keys() - {*_MARKER_OPTIONS}
    if not known or not isinstance(read.pace, bool) or not isinstance(read.as_script, bool):
        raise ConfigError(
            '@pytest.mark.cassette: pass it one name, as in cassette("openai/scenarios/weather"), pace=True to replay it as '
            "slowly as it was recorded, or as_script=True to play its answers regardless of the requests."
        )
    if read.pace and read.as_script:
        raise ConfigError(
            "@pytest.mark.cassette: pace=True is only for replay; a script has no pace. Remove one of them."
        )
    if "openai_mock" in getattr(node, "fixturenames", ()) and not read.as_script:
        raise ConfigError(
            "a test has a cassette or a script, not both: drop the marker and call mock.script(*cassette(name)), with the "
            "fixture `cassette`; or add as_script=True; or drop the fixture `mock`."
        )
    return read._replace(name=str(args[0]))


_MARKER_OPTIONS = ("pace", "as_script")


def _record_mode(config: pytest.Config, path: Path) -> CassetteMode:
    mode = config.getoption("--record")
    if mode is None or (mode == "rules" and "rules" not in path.parts):
        return "replay"
    from harness.api.http.dialects import AZURE_VARIABLE, PROJECT_VARIABLES

    # A client that signs in with a credential has an endpoint and no key.
    if not any(os.environ.get(name) for name in (*KEY_VARIABLES, AZURE_VARIABLE, *PROJECT_VARIABLES)):
        raise ConfigError(
            f"--record calls the live API, and there is no key: set {KEY_VARIABLES[0]} (or {', '.join(KEY_VARIABLES[1:])})."
        )
    return "new" if mode == "new" or _is_recorded_in_run(path, config) else "all"


def _is_recorded_in_run(path: Path, config: pytest.Config) -> bool:
    """Return whether an earlier test of the run has recorded the cassette, possibly in another process."""
    return path.exists() and path.stat().st_mtime >= config.stash[STARTED_STASH_KEY]


def _secret_values() -> list[str]:
    """Return the secrets in the environment, which must not be written into a recording."""
    return [value for name, value in os.environ.items() if re.search(_SECRET_VARIABLE, name)]


def _set_environment(interactions: Sequence[Interaction], monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment of a replay: the recorded URL, and a placeholder key."""
    from harness.cassettes.recording.matching import api_root

    # A replay must neither depend on nor leak the key of whoever runs it.
    for name in [
        *KEY_VARIABLES,
        *(name for name in os.environ if re.search(_SECRET_VARIABLE, name) and "OPENAI" in name),
    ]:
        monkeypatch.delenv(name, raising=False)
    parts = urlsplit(interactions[0].uri if interactions else "https://api.openai.com/v1/responses")
    host = f"{parts.scheme}://{parts.netloc}"
    version = parse_qs(parts.query).get("api-version", [""])[0]
    project = re.match(r"/api/projects/[^/]+", parts.path)
    for name, value in _replay_environment(
        host, api_root(interactions), version, project[0] if project else ""
    ).items():
        monkeypatch.setenv(name, value)


def _replay_environment(host: str, root: str, version: str, project: str) -> Mapping[str, str]:
    from harness.api.http.dialects import PROJECT_VARIABLES

    own = {"OPENAI_BASE_URL": f"{host}{root}", "OPENAI_API_KEY": REPLAY_KEY}
    if project:
        return own | dict.fromkeys(PROJECT_VARIABLES, f"{host}{project}")
    if root.startswith("/openai"):
        azure = {"AZURE_OPENAI_ENDPOINT": host, "AZURE_OPENAI_API_KEY": REPLAY_KEY}
        return azure | ({"OPENAI_API_VERSION": version} if version else own)
    return own


CHANGES_TITLE = "responses-harness: changed since the recording"
_CHANGES_ATTRIBUTE = "harness_changes"
"""The attribute of a report with the changes of its test: plain values that pytest-xdist can send."""


class _Played(NamedTuple):
    script: RecordedScript
    world: World


_SCRIPT_STASH_KEY = pytest.StashKey[_Played]()


def play_script(request: pytest.FixtureRequest) -> Iterator[None]:
    """Script the mock of a test with a recording."""
    from harness.cassettes.files import note_replay, read_cassette
    from harness.verify.recorded_script import read_script

    openai_mock: Mock = request.getfixturevalue("openai_mock")
    name = read_cassette_marker(request.node).name
    path = cassette_path(request.config, name)
    with fail_with_hint(request.node, ""):
        script = read_script(read_cassette(path).interactions, name)
        script.apply(openai_mock)
    request.node.stash[_SCRIPT_STASH_KEY] = _Played(script, openai_mock.world)
    yield
    note_replay(path)


def compare_with_recording(item: pytest.Item, report: pytest.TestReport) -> None:
    """Compare the requests of a test with those of its recording, once its body has run."""
    if _SCRIPT_STASH_KEY not in item.stash:
        return
    played = item.stash[_SCRIPT_STASH_KEY]
    if report.when == "call":
        from harness.core.text import escape_controls
        from harness.verify.recorded_script import find_changes, summarize_changes

        changes = find_changes(played.script, played.world.exchanges)
        left_out = [f"not played: {why}" for why in played.script.left_out]
        changed = [summarize_changes(changes, played.script.name), *map(str, changes)] if changes else []
        lines = [escape_controls(text) for text in [*(changed or [f"{played.script.name}:"]), *left_out]]
        if changed or left_out:
            setattr(report, _CHANGES_ATTRIBUTE, lines)
            if report.failed:
                report.sections.append((CHANGES_TITLE, "\n".join(lines)))
    if report.when == "teardown":
        del item.stash[_SCRIPT_STASH_KEY]


class ChangesReporter:
    """Reports at the end of a run what has changed since the recordings: a line per test, everything with `-v`."""

    def __init__(self) -> None:
        self._by_test: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the changes of a test from its report."""
        if lines := report.__dict__.pop(_CHANGES_ATTRIBUTE, None):
            self._by_test[report.nodeid] = lines

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print the changes."""
        if not self._by_test:
            return
        terminalreporter.section(CHANGES_TITLE)
        for test, lines in self._by_test.items():
            shown = lines if config.get_verbosity() > 0 else lines[:1]
            terminalreporter.write_line(f"{test}: {shown[0]}")
            for text in shown[1:]:
                for line in text.splitlines():
                    terminalreporter.write_line(f"  {line}")
        if config.get_verbosity() <= 0:
            terminalreporter.write_line("-v shows the differences; `pytest --record` records the tests again.")

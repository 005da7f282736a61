"""The pytest side of cassettes: tests replay what was recorded, without a network; `--record` asks the API.

`@pytest.mark.cassette("weather")` answers a test's requests from `cassettes/weather.yaml`; the fixture `cassette` gives a
recording's answers as turns of a script. Nothing but pytest is imported before a test asks for a cassette.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.core.errors import ConfigError, HarnessError
from harness.pytest_plugin.plugin import read_marker_options

if TYPE_CHECKING:
    from harness.cassettes.format.interaction import Interaction
    from harness.cassettes.recording.vcr import CassetteMode, CassetteSession
    from harness.world.script import Turn

RECORD_MODES = ("new", "all", "rules")
"""What `--record` takes: what no cassette holds, everything again, or everything again of the rules."""
KEY_VARIABLES = (
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_AD_TOKEN",
    "AZURE_AI_API_KEY",
    "FOUNDRY_API_KEY",
)
"""Variables of which recording needs one."""
ENDPOINT_VARIABLES = ("AZURE_OPENAI_ENDPOINT", "AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT")
"""Variables of those who sign in with a credential instead."""
REPLAY_KEY = "sk-replayed-not-a-key"
"""The key of a client whose requests go nowhere."""
DEFAULT_FOLDER = "cassettes"
PROXY_HINT = "Record through `harness record -- COMMAND`, and replay with `harness serve --replay`"

_SECRET_VARIABLE = re.compile(r"_(?:KEY|TOKEN|SECRET|PASSWORD)$|^OPENAI_(?:ORG_ID|PROJECT|PROJECT_ID)$")
CASSETTE_STASH_KEY = pytest.StashKey["CassetteSession"]()
"""Where the item of a running test keeps its cassette."""
_PASSED_STASH_KEY = pytest.StashKey[bool]()
_STARTED_STASH_KEY = pytest.StashKey[float]()


class _DiscardRecording(Exception):
    """Leaves the block in which a cassette is recorded, so that it is not written."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare `--record`, and where cassettes are."""
    parser.getgroup("harness").addoption(
        "--record",
        nargs="?",
        const="new",
        default=None,
        metavar="new|all|rules",
        help="ask the live API and record its answers: what no cassette holds (new), everything again (all), or the "
        "cassettes of rules (rules). Without it cassettes are replayed and nothing is asked.",
    )
    parser.addini(
        "harness_cassettes",
        f"the folder of cassettes, below the root of the project ({DEFAULT_FOLDER})",
        default=DEFAULT_FOLDER,
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    """`--record tests/` records new cassettes of these tests: what follows is no mode."""
    for place, arg in enumerate(args):
        if arg == "--record" and args[place + 1 : place + 2] and args[place + 1] not in RECORD_MODES:
            args[place] = "--record=new"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and check the option."""
    config.addinivalue_line(
        "markers",
        "cassette(name, pace=False): requests of the test are answered from the cassette of this name, say "
        '"openai/scenarios/weather"; with pace=True as slowly as they were recorded. `pytest --record` records it.',
    )
    mode = config.getoption("--record")
    if mode is not None and mode not in RECORD_MODES:
        raise pytest.UsageError(f"--record={mode}: it is one of {', '.join(RECORD_MODES)}; alone it means new.")
    config.stash[_STARTED_STASH_KEY] = time.time()


def pytest_itemcollected(item: pytest.Item) -> None:
    """A marked test has its cassette before any of its fixtures."""
    names = item.fixturenames if isinstance(item, pytest.Function) else []
    if item.get_closest_marker("cassette") and "_taped" not in names:
        names.insert(0, "_taped")


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test fails for what its cassette could not answer, whatever its client made of that."""
    result = yield
    if told := _describe_unanswered(item):
        pytest.fail(told, pytrace=False)
    return result


def _describe_unanswered(item: pytest.Item) -> str:
    """What the cassette of a test could not answer, and how to record it; empty when there is nothing."""
    taped = item.stash.get(CASSETTE_STASH_KEY, None)
    return "\n".join([*taped.failures, _record_hint(item, taped.mode)]).strip() if taped and taped.failures else ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test has passed: the recording of one that failed, or was interrupted, is not written.

    A test that failed by itself is told what its cassette could not answer.
    """
    report = yield
    if report.when == "call" and CASSETTE_STASH_KEY in item.stash:
        item.stash[_PASSED_STASH_KEY] = not report.failed
        told = _describe_unanswered(item)
        if report.failed and told and told not in report.longreprtext:
            from harness.report.failure import SECTION_TITLE

            report.sections.append((SECTION_TITLE, told))
    if report.when == "teardown" and CASSETTE_STASH_KEY in item.stash:
        del item.stash[CASSETTE_STASH_KEY]
    return report


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Callable[[str], list[Turn]]:
    """What the model said in a recording, as turns: `mock.script(*cassette("openai/scenarios/weather"))`."""

    def turns(name: str) -> list[Turn]:
        from harness.cassettes.recording.as_script import turns_from_recording
        from harness.cassettes.recording.last_used import note_replay
        from harness.cassettes.recording.writer import read_cassette

        path = cassette_path(request.config, name)
        told = turns_from_recording(read_cassette(path).interactions, name)
        note_replay(path)
        return told

    return turns


def cassette_path(config: pytest.Config, name: str) -> Path:
    """The file of a cassette; a ConfigError for a name that leads out of their folder."""
    folder = Path(config.rootpath, config.getini("harness_cassettes"))
    path = folder / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if not isinstance(name, str) or not name or not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"cassette({name!r}): give the name of a file below {folder}, as in 'openai/scenarios/weather'."
        )
    return path


@pytest.fixture
def _taped(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[CassetteSession]:
    """The cassette of a test: replayed, unless the command line asks for a recording."""
    from harness.cassettes.recording.last_used import note_replay
    from harness.cassettes.recording.vcr import use_cassette

    node, config = request.node, request.config
    read_marker_options(node)
    name, pace = _read_cassette_marker(node)
    path = cassette_path(config, name)
    mode = _record_mode(config, path)
    with suppress(_DiscardRecording), _fail_with_hint(_record_hint(node, mode)), ExitStack() as held:
        taped = held.enter_context(
            use_cassette(path, mode, secrets=[] if mode == "replay" else _secret_values(), pace=pace)
        )
        node.stash[CASSETTE_STASH_KEY], node.stash[_PASSED_STASH_KEY] = taped, False
        _block_network(held, taped, node)
        if mode == "replay":
            _set_environment(taped.replay.interactions, monkeypatch)
        yield taped
        if not node.stash[_PASSED_STASH_KEY]:
            raise _DiscardRecording
        if mode == "replay":
            note_replay(path)


def _block_network(held: ExitStack, taped: CassetteSession, node: pytest.Item) -> None:
    """Nothing of a test passes beside its cassette."""
    from harness.cassettes.recording.block_network import block_network, block_websockets

    def refusing(why: str) -> Callable[[str], str]:
        def refuse(what: str) -> str:
            taped.problems.append(f"{node.nodeid} asked for {what}, but {why}.")
            return taped.problems[-1]

        return refuse

    if taped.mode == "replay":
        held.enter_context(block_network(refusing(f"it replays {taped.path.as_posix()}")))
    held.enter_context(block_websockets(refusing(f"a cassette cannot record one in process. {PROXY_HINT}")))


def _record_hint(node: pytest.Item, mode: str) -> str:
    """How to record what a test lacks."""
    return f"Record it: pytest --record {shlex.quote(node.nodeid)}" if mode == "replay" else ""


@contextmanager
def _fail_with_hint(way: str) -> Iterator[None]:
    """What is wrong with a cassette, with the way out, in place of a traceback through the harness."""
    try:
        yield
    except HarnessError as problem:
        raise pytest.fail.Exception(f"{problem}\n{way}".strip(), pytrace=False) from None


def _read_cassette_marker(node: pytest.Item) -> tuple[str, bool]:
    """The name of the cassette of a test, and whether it is replayed at its pace."""
    marker = node.get_closest_marker("cassette")
    args, options = (marker.args, marker.kwargs) if marker else ((), {})
    pace = options.get("pace", False)
    if len(args) != 1 or options.keys() - {"pace"} or not isinstance(pace, bool):
        raise ConfigError(
            '@pytest.mark.cassette: give it one name, as in cassette("openai/scenarios/weather"), and pace=True to replay '
            "it as slowly as it was recorded."
        )
    if "mock" in getattr(node, "fixturenames", ()):
        raise ConfigError(
            "a test has a cassette or a script, not both: drop the marker and say mock.script(*cassette(name)), with the "
            "fixture `cassette`; or drop the fixture `mock`."
        )
    return str(args[0]), pace


def _record_mode(config: pytest.Config, path: Path) -> CassetteMode:
    asked = config.getoption("--record")
    if asked is None or (asked == "rules" and "rules" not in path.parts):
        return "replay"
    if not any(os.environ.get(name) for name in (*KEY_VARIABLES, *ENDPOINT_VARIABLES)):
        raise ConfigError(
            f"--record asks the live API, and there is no key: set {KEY_VARIABLES[0]} (or {', '.join(KEY_VARIABLES[1:])})."
        )
    return "new" if asked == "new" or _is_recorded_in_run(path, config) else "all"


def _is_recorded_in_run(path: Path, config: pytest.Config) -> bool:
    """Whether a test before this one has recorded the cassette, perhaps in another process of the run."""
    return path.exists() and path.stat().st_mtime >= config.stash[_STARTED_STASH_KEY]


def _secret_values() -> list[str]:
    """Values of the environment that must not be in a recording."""
    return [value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name)]


def _set_environment(takes: Sequence[Interaction], monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a replay: clients find the recorded address, and a key that is none."""
    from harness.cassettes.recording.matching import api_root

    for name in [*KEY_VARIABLES, *(name for name in os.environ if _SECRET_VARIABLE.search(name) and "OPENAI" in name)]:
        monkeypatch.delenv(name, raising=False)
    parts = urlsplit(takes[0].uri if takes else "https://api.openai.com/v1/responses")
    host = f"{parts.scheme}://{parts.netloc}"
    version = parse_qs(parts.query).get("api-version", [""])[0]
    project = re.match(r"/api/projects/[^/]+", parts.path)
    for name, value in _replay_environment(host, api_root(takes), version, project[0] if project else "").items():
        monkeypatch.setenv(name, value)


def _replay_environment(host: str, root: str, version: str, project: str) -> Mapping[str, str]:
    own = {"OPENAI_BASE_URL": f"{host}{root}", "OPENAI_API_KEY": REPLAY_KEY}
    if project:
        return own | dict.fromkeys(("AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT"), f"{host}{project}")
    if root.startswith("/openai"):
        azure = {"AZURE_OPENAI_ENDPOINT": host, "AZURE_OPENAI_API_KEY": REPLAY_KEY}
        return azure | ({"OPENAI_API_VERSION": version} if version else own)
    return own

"""The options and markers, as pytest lists them; what uses the harness, and where the state of tests is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.explain.cause import Cause
    from harness.server.lazy_server import OnDemandServer
    from harness.world.world import World

ENV_INI = "harness_env"
ENV_VALUES = ("test", "session")
SESSION_ENV = f"{ENV_INI} = session"
"""The line of an ini file that points clients made at import at the mock."""
CASSETTES_INI = "harness_cassettes"
REFUSALS_INI = "harness_refusals"
REQUESTS_INI = "harness_requests"
CONTRACT_INI = "harness_contract"
CONTRACT_OPTION = "--contract"
MARKERS = (
    'harness(unused="fail"): unused turns fail the test; unused="allow" permits them. '
    'harness(losses="fail"): so do parts of an answer that the client lost; losses="allow" permits all losses, '
    'losses=["citation-dropped"] these, "strict" also reports those that may be intended. '
    'harness(refusals="fail"): so do unexpected refusals; refusals="allow" permits all, '
    'refusals=["call_needs_output", "tools"] those of these rules and areas. '
    'harness(webhooks="fail"): so do mistakes of a webhook receiver; webhooks="allow" permits all, '
    'webhooks=["webhook-late"] these. '
    'harness(client="fail"): so do client mistakes that cannot be intended; client="strict" reports all mistakes, '
    'client=["no-backoff"] permits these, client="allow" all; with patience=2 a client may wait two seconds for an '
    "answer. "
    'harness(requests="required"): a test that sends no request fails; with "allow" it is not listed. '
    'harness(dialect="azure"): the mock and the environment are those of one provider (openai, azure, foundry). '
    'harness(key="sk-test"): requests with this key belong to the test, too. '
    "harness(tls=True): the mock uses TLS, and the environment trusts its certificate. "
    'harness(as_of="2026-03"): mock the API as of that day or month. '
    'harness(contract="contract.yaml"): overrides written by `responses-harness learn`.',
    "cassette(name, pace=False, as_script=False): answer the requests of the test from this cassette, such as "
    '"openai/scenarios/weather"; with pace=True as slowly as recorded; with as_script=True its answers are the script '
    "of the mock, regardless of the requests. `pytest --record` records it.",
)
"""The markers, as `pytest --markers` describes them."""
RECORD_MODES = ("new", "all", "rules")
"""The modes of `--record`: only what no cassette holds, everything again, or the cassettes of rules again."""
TRACE_MODES = ("failed", "all", "off")
REPORT_SUFFIXES = (".json", ".html", ".xml", ".sarif", ".md")
"""The suffixes of `harness.report.formats`, which takes a while to import."""
_OF_A_RUN = ("--record", "--harness-report", "--harness-fail-under", "--harness-forecast", "--harness-model")
"""The options that concern a run even if no test uses the mock."""


def declare_options(parser: pytest.Parser) -> None:
    """Declare the options of the command line and of the ini file."""
    _declare_ini(parser)
    _declare_recording(parser.getgroup("harness"))
    _declare_reports(parser.getgroup("responses-harness"))


def _declare_ini(parser: pytest.Parser) -> None:
    parser.addini(
        ENV_INI,
        "when OPENAI_BASE_URL and OPENAI_API_KEY point to the mock: while a test uses it (test), or from before collection "
        "to the end of the run (session), for clients created at import",
        default=ENV_VALUES[0],
    )
    parser.addini(
        CASSETTES_INI, "the folder of cassettes, relative to the project root (cassettes)", default="cassettes"
    )
    parser.addini(
        REFUSALS_INI,
        "the effect of an unexpected refusal: fail (the default), allow, or rules and areas to allow",
        type="args",
        default=["fail"],
    )
    parser.addini(
        REQUESTS_INI,
        "a test that asked for `mock` and sent it no request is listed at the end (list, the default), permitted (allow) or "
        "fails (required)",
        default="list",
    )
    parser.addini(CONTRACT_INI, "a file written by `responses-harness learn`, relative to the project root", default="")


def _declare_recording(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--record",
        nargs="?",
        const="new",
        default=None,
        metavar="new|all|rules",
        help="call the live API and record its answers: requests without a recording (new), all requests (all), or the "
        "cassettes of rules (rules). Without it cassettes are replayed, and the live API is not called.",
    )
    group.addoption(
        CONTRACT_OPTION,
        metavar="FILE",
        default="",
        help="overrides of the mock's contract, written by `responses-harness learn`.",
    )


def _declare_reports(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--harness-trace",
        choices=TRACE_MODES,
        metavar="|".join(TRACE_MODES),
        help="write a file with all exchanges for each of these tests, which `responses-harness view` opens; "
        "the default is failed where the variable CI is set, else off",
    )
    group.addoption(
        "--harness-trace-dir",
        type=Path,
        default=Path("harness-traces"),
        metavar="DIR",
        help="the folder of these files; the default is harness-traces",
    )
    group.addoption(
        "--harness-report",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="write the exchanges of the tests with the API, in the format of the suffix: "
        f"{' '.join(REPORT_SUFFIXES)}; without a suffix Markdown is appended, as to $GITHUB_STEP_SUMMARY",
    )
    group.addoption(
        "--harness-fail-under",
        type=float,
        metavar="PCT",
        help="fail a run whose requests exercised less than this percentage of the rules",
    )
    group.addoption(
        "--harness-forecast",
        nargs="?",
        const="all",
        default="",
        metavar="DATE",
        help="list the tests whose models will be gone by a day or month, or with an announced end; write =DATE",
    )
    group.addoption(
        "--harness-model",
        default="",
        metavar="NAME",
        help="list the requests that another model would refuse or take otherwise, and fail the run for them",
    )


def has_options(config: pytest.Config) -> bool:
    """Return whether the command line has an option that concerns a run even if no test uses the mock."""
    return any(config.getoption(name) for name in _OF_A_RUN)


def separate_record_mode(args: list[str]) -> None:
    """Read `--record tests/` as `--record=new tests/`: the argument after it is not a mode."""
    for place, arg in enumerate(args):
        if arg == "--record" and args[place + 1 : place + 2] and args[place + 1] not in RECORD_MODES:
            args[place] = "--record=new"


HARNESS_FIXTURES = frozenset(
    {"openai_mock", "mock_server", "client", "async_client", "openai_client", "async_openai_client", "cassette"}
)
WORLD_STASH_KEY: pytest.StashKey[World] = pytest.StashKey()
"""The stash key of a running test's World."""
CAUSES_STASH_KEY: pytest.StashKey[Sequence[Cause]] = pytest.StashKey()
"""The stash key of why a test failed."""
STARTED_STASH_KEY = pytest.StashKey[float]()
"""The stash key of the time at which a run has started."""
SERVER_STASH_KEY = pytest.StashKey["OnDemandServer"]()
"""The stash key of the server of a whole run."""


def uses_harness(item: pytest.Item) -> bool:
    """Return whether a test uses a fixture of the harness or has a cassette."""
    names = getattr(item, "fixturenames", ())
    return not HARNESS_FIXTURES.isdisjoint(names) or item.get_closest_marker("cassette") is not None


def session_server(config: pytest.Config) -> OnDemandServer | None:
    """Return the server whose address is known before collection.

    None unless the environment is set for the session.
    """
    return config.stash.get(SERVER_STASH_KEY, None)

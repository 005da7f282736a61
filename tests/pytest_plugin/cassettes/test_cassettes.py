"""Tests replay their cassettes and nothing else; `--record` asks the API, which here is a mock of another server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cassettes.files import read_cassette
from harness.items import message
from harness.overrides.contract_file import parse_overrides
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support.slow import slow_except_every

KEY = "sk-live-AbCd1234EfGh5678"
ONE = """
@pytest.mark.cassette("weather/one")
def test_one(client):
    first = client.responses.create(model="gpt-4.1", input="hi")
    assert first.output_text == "hello"
    assert first.id.startswith("resp_")
    again = client.responses.create(model="gpt-4.1", input="go", previous_response_id=first.id, stream=True)
    assert [event.type for event in again][-1] == "response.completed"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[MockApi, str]]:
    mock = MockApi()
    with serve_in_thread(mock) as serving_:
        yield mock, serving_.base_url


@pytest.fixture
def live(server, monkeypatch) -> Iterator[Mock]:
    """The live API, with a key in the environment."""
    mock, base_url = server
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    world = mock.open(KEY)
    world.script(*[message("hello")] * 8)
    yield world
    mock.close(KEY)


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def file(pytester) -> Path:
    return pytester.path / "cassettes/weather/one.yaml"


class TestReplay:
    cassette = ""  # what the first of these tests recorded; the others have it, too

    @pytest.fixture(autouse=True)
    def _recorded(self, run, live: Mock, file: Path, monkeypatch) -> None:
        if TestReplay.cassette:
            file.parent.mkdir(parents=True)
            file.write_text(TestReplay.cassette, encoding="utf-8")
        else:
            run(ONE, "--record").assert_outcomes(passed=1)
            TestReplay.cassette = file.read_text(encoding="utf-8")
        live.exchanges.clear()
        self.live = live
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            monkeypatch.delenv(name)

    def test_replay_needs_neither_key_nor_network(self, run):
        run(ONE).assert_outcomes(passed=1)
        assert self.live.exchanges == []

    def test_no_secret_was_recorded(self, file):
        assert KEY not in file.read_text(encoding="utf-8")
        assert read_cassette(file).header.sdk == "OpenAI/Python"

    def test_a_replay_serves_the_asynchronous_client_and_any_that_reads_the_environment(self, run):
        run("""
pytestmark = [pytest.mark.harness(unused="allow"), pytest.mark.cassette("weather/one")]

def test_async(async_client):
    assert asyncio.run(async_client.responses.create(model="gpt-4.1", input="hi")).output_text == "hello"

def test_any():
    with openai.OpenAI() as client:
        assert client.responses.create(model="gpt-4.1", input="hi").output_text == "hello"
""").assert_outcomes(passed=2)

    @pytest.mark.parametrize("expected", ["with pytest.raises(openai.APIStatusError):", "if True:"])
    def test_a_miss_fails_the_test_with_a_diff_and_the_way_to_record_it(self, run, expected: str):
        run(f"""
@pytest.mark.cassette("weather/one")
def test_one(client):
    {expected}
        client.responses.create(model="gpt-4.1", input="ho")
""").shows(
            "cassettes/weather/one.yaml: not recorded: the closest recording, POST /v1/responses, differs:",
            '  where   -  "input": "hi",',
            '          +  "input": "ho",',
            "  fix     Record it: pytest --record *::test_one*",
            failed=1,
        )

    def test_a_skip_hides_no_miss(self, run):
        run("""
@pytest.mark.cassette("weather/one")
def test_one(client):
    swallow(client, input="Bye.")
    pytest.skip("the API is not there")
""").assert_outcomes(failed=1)

    def test_a_long_diff_is_shown_in_full_on_demand(self, run):
        source = """
@pytest.mark.cassette("weather/one")
def test_one(client):
    with pytest.raises(openai.APIStatusError):
        client.responses.create(model="gpt-4.1", input=[{"role": "user", "content": str(n)} for n in range(4)])
"""
        lines = run(source).outlines
        start = next(place for place, line in enumerate(lines) if "not recorded" in line)
        assert '          +      "role": "user"' in lines[start : start + 12]
        assert "lines more" in "".join(lines[start : start + 12])
        assert any(line.startswith("  fix ") for line in lines[start : start + 12])
        run(source, "-v").shows("--- recorded", "+++ asked", '+      "content": "3",')

    def test_a_connection_elsewhere_fails_the_test_even_when_it_is_swallowed(self, run):
        run("""
import socket

@pytest.mark.cassette("weather/one")
def test_one():
    with contextlib.suppress(Exception):
        socket.create_connection(("api.openai.com", 443))
""").shows(
            "*::test_one asked for api.openai.com:443, but it*",
            "replays cassettes/weather/one.yaml.",
            "  fix     Record it: pytest --record*",
            failed=1,
        )

    def test_a_websocket_never_passes_silently(self, run):
        run("""
@pytest.mark.cassette("weather/one")
def test_one(client):
    with pytest.raises(Exception), client.responses.connect():
        pass
""").shows("*asked for a WebSocket, but a cassette cannot record one*", "*responses-harness record*", failed=1).hides(
            "*pytest --record*"
        )

    def test_the_answers_of_a_replay_are_a_script(self, run):
        run("""
def test_one(mock, client, cassette):
    mock.script(*cassette("weather/one"))
    assert client.responses.create(model="gpt-4.1", input="anything").output_text == "hello"
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="gpt-4.1", input=[{"type": "nothing"}])
    assert client.responses.create(model="gpt-4.1", input="else").output_text == "hello"
""").assert_outcomes(passed=1)

    def test_the_cassettes_may_be_elsewhere(self, run, pytester):
        (pytester.path / "cassettes").rename(pytester.path / "tapes")
        run(ONE, "-o", "harness_cassettes=tapes").assert_outcomes(passed=1)

    def test_a_newer_format_is_reported(self, run, file):
        file.write_text(file.read_text(encoding="utf-8").replace("format: 1", "format: 9"), encoding="utf-8")
        run(ONE).shows(
            "*one.yaml: its format is 9, and this harness reads up to 1;*", "  fix     Record it: *", errors=1
        )


class TestRecord:
    def test_record_new_asks_only_for_what_is_not_there(self, run, live: Mock):
        run(ONE, "--record").assert_outcomes(passed=1)
        run(ONE, "--record=new").assert_outcomes(passed=1)
        assert len(live.exchanges) == 2

    def test_record_all_asks_again(self, run, live: Mock, file):
        for _ in range(2):
            run(ONE, "--record=all").assert_outcomes(passed=1)
        assert len(live.exchanges) == 4
        assert len(read_cassette(file).interactions) == 2

    def test_record_all_keeps_what_another_test_of_the_run_has_recorded(self, run, live: Mock, file):
        run(ONE + ONE.replace("test_one", "test_two").replace('"hi"', '"ho"'), "--record=all").assert_outcomes(passed=2)
        assert len(read_cassette(file).interactions) == 4

    def test_record_rules_asks_for_those_of_rules_only(self, run, live: Mock, pytester):
        run(ONE.replace("weather/one", "openai/rules/one"), "--record=rules").assert_outcomes(passed=1)
        run(ONE, "--record=rules").assert_outcomes(errors=1)
        assert (pytester.path / "cassettes/openai/rules/one.yaml").exists()

    def test_record_leaves_a_path_that_follows_alone(self, run, live: Mock, pytester):
        pytester.makepyfile(test_apart="import pytest\n" + ONE)
        run("", "--record", str(pytester.path / "test_apart.py")).assert_outcomes(passed=1)

    def test_a_failing_test_writes_nothing(self, run, live: Mock, file):
        run(ONE + "    assert False\n", "--record").assert_outcomes(failed=1)
        assert not file.exists()

    def test_a_key_is_needed(self, run, monkeypatch):
        for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        run(ONE, "--record").shows("*--record calls the live API, and there is no key: set OPENAI_API_KEY*", errors=1)

    def test_secrets_of_the_environment_are_not_written(self, run, live: Mock, file, monkeypatch):
        monkeypatch.setenv("MY_TOOL_PASSWORD", "correct-horse-battery")
        source = ONE.replace('input="hi"', 'input="say correct-horse-battery"')
        run(source, "--record").assert_outcomes(passed=1)
        assert "correct-horse" not in file.read_text(encoding="utf-8")

    def test_record_refuses_other_words(self, run):
        result = run(ONE, "--record=some")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "--record=some: use one of new, all, rules" in "\n".join(result.errlines)


ONE_NAME = (
    '@pytest.mark.cassette: pass it one name, as in cassette("openai/scenarios/weather"), pace=True to replay it as '
)
NOT_ONE_NAME = (
    *("cassette", "cassette('a', 'b')", "cassette('a', True)", "cassette(pace=True)", "cassette('a', pace=2)"),
    *("cassette('a', speed=True)", "cassette('a', as_script=1)", "cassette('a', as_skript=True)"),
)
WRONG = {
    **dict.fromkeys(NOT_ONE_NAME, ONE_NAME),
    "cassette('a', as_script=True, pace=True)": "a script has no pace",
    "cassette('../a')": "cassette('../a'): pass the name of a file below",
    "cassette('')": "cassette(''): pass the name of a file below",
}
"""Marks that make no sense, and what is said of each."""


def test_a_marker_that_makes_no_sense_says_so(run):
    result = run("".join(f"@pytest.mark.{mark}\ndef test_{number}(): ...\n" for number, mark in enumerate(WRONG)))
    result.assert_outcomes(errors=len(WRONG))
    heads = [place for place, line in enumerate(result.outlines) if line.startswith("____")]
    said = [result.outlines[place + 1] for place in heads]
    assert len(said) == len(WRONG)
    assert [(line, words) for line, words in zip(said, WRONG.values(), strict=True) if words not in line] == []


def test_a_missing_cassette_is_reported_with_the_way_to_record_it(run):
    result = run("@pytest.mark.cassette('none')\ndef test_one(): ...").shows(errors=1)
    assert re.search(r"none.yaml: no such cassette\.[\s\S]*Record it: pytest --record", result.stdout.str())


def test_a_cassette_and_a_script_are_two_things(run):
    run("@pytest.mark.cassette('a')\ndef test_one(mock): pass").shows(
        "*a test has a cassette or a script, not both*", errors=1
    )


AZURE = "https://acme.openai.azure.com"
PROJECT = "https://acme.services.ai.azure.com/api/projects/moon"


@pytest.mark.parametrize(
    ("uri", "variables"),
    slow_except_every(
        2,
        [
            (
                f"{AZURE}/openai/responses?api-version=2025-04-01-preview",
                {"AZURE_OPENAI_ENDPOINT": AZURE, "OPENAI_API_VERSION": "2025-04-01-preview"},
            ),
            (
                f"{AZURE}/openai/v1/responses",
                {"AZURE_OPENAI_ENDPOINT": AZURE, "OPENAI_BASE_URL": f"{AZURE}/openai/v1"},
            ),
            (f"{PROJECT}/openai/v1/responses", {"AZURE_AI_PROJECT_ENDPOINT": PROJECT}),
            ("http://127.0.0.1:1/v1/responses", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}),
            ("https://gateway.example/llm/v1/responses", {"OPENAI_BASE_URL": "https://gateway.example/llm/v1"}),
        ],
    ),
)
def test_a_replay_leads_clients_of_each_dialect(run, pytester, uri, variables):
    folder = pytester.path / "cassettes"
    folder.mkdir()
    (folder / "a.yaml").write_text(f"""
interactions:
- request: {{method: POST, uri: '{uri}', headers: {{}}, body: '{{}}'}}
  response: {{status: {{code: 200, message: OK}}, headers: {{}}, body: {{string: '{{}}'}}}}
""")
    run(f"""
@pytest.mark.harness(unused="allow")
@pytest.mark.cassette("a")
def test_one():
    found = {{name: os.environ.get(name) for name in {sorted(variables)!r}}}
    assert found == {variables!r}
""").assert_outcomes(passed=1)


class TestWhereTheApiDoesOtherwise:
    """The live API takes `colour`, which the mock refuses: the end of a run that records offers to learn it."""

    SOURCE = """
@pytest.mark.cassette("weather/one")
def test_one(client):
    client.responses.create(model="gpt-4.1", input="hi", extra_body={"colour": "blue"})
"""

    @pytest.fixture(autouse=True)
    def _takes_more(self, live: Mock) -> None:
        live.world.overrides = parse_overrides("format: 1\nexemptions: [{rule: unknown_parameter, at: colour}]")

    def test_the_run_says_what_differs_where_and_how_to_learn_it(self, run) -> None:
        run(self.SOURCE, "--record").shows(
            "1 exchange; the API and the mock disagree in 1:",
            "  cassettes/weather/one.yaml#1, POST /responses: accepted, the mock refuses it: Unknown parameter: 'colour'. "
            "(unknown_parameter)",
            "learn it: responses-harness learn --contract cassettes/weather/contract.yaml cassettes/weather/one.yaml",
            "  writes what makes the mock do as the API did:",
            "  - unknown_parameter does not apply at colour (colour: text)",
            passed=1,
        )

    def test_what_the_project_has_learned_is_not_offered_again(self, run, pytester) -> None:
        (pytester.path / "own.yaml").write_text("format: 1\nexemptions: [{rule: unknown_parameter, at: colour}]\n")
        (pytester.path / "pyproject.toml").write_text('[tool.harness]\ncontract = "own.yaml"\n')
        assert "learn it" not in run(self.SOURCE, "--record").stdout.str()

    def test_nothing_is_offered_where_they_agree_or_nothing_is_recorded(self, run) -> None:
        assert "learn it" not in run(ONE, "--record").stdout.str()
        assert "learn it" not in run(ONE).stdout.str()

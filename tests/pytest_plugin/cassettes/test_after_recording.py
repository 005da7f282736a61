"""`pytest --record` leaves no exchange that no test replays, and removes none that one may."""

from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from harness.cassettes.files import last_replay_date, read_cassette
from harness.items import message
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from tests.support.inner_run import Run
from tests.support.slow import slow_except

KEY = "sk-live-AbCd1234EfGh5678"
ASK = """
@pytest.mark.cassette("shared")
def test_{name}(client):
    client.responses.create(model="gpt-4.1", input="{text}")
"""


Inputs = Callable[[], list[str]]


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[MockApi]:
    """The live API, with a key in the environment."""
    mock = MockApi(fallback=lambda _: [message("hello")])
    with serve_in_thread(mock) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        yield mock


@pytest.fixture
def inputs(pytester: pytest.Pytester) -> Inputs:
    """The inputs of the exchanges in the cassette."""

    def inputs() -> list[str]:
        content = read_cassette(pytester.path / "cassettes/shared.yaml")
        return [orjson.loads(interaction.body)["input"] for interaction in content.interactions]

    return inputs


def asks(**texts: str) -> str:
    return "".join(ASK.format(name=name, text=text) for name, text in texts.items())


def test_a_recording_says_what_it_has_recorded_and_where(run: Run, inputs: Inputs) -> None:
    run(asks(one="a", two="b"), "--record").shows("2 exchanges recorded in cassettes/shared.yaml", passed=2)
    run(asks(one="a", two="b", three="c"), "--record").shows("1 exchange recorded in cassettes/shared.yaml", passed=3)
    run(asks(one="a", two="b", three="c"), "--record").hides("*recorded in*")
    assert inputs() == ["a", "b", "c"]


@pytest.mark.slow
def test_a_changed_request_leaves_no_dead_exchange(run: Run, inputs: Inputs) -> None:
    run(asks(one="old", two="same"), "--record").assert_outcomes(passed=2)
    run(asks(one="new", two="same"), "--record").shows(
        "cassettes/shared.yaml: 1 exchange removed that no test replays any more", passed=2
    )
    assert inputs() == ["same", "new"]
    run(asks(one="new", two="same"), "--record").hides("*exchange removed*")
    run(asks(one="new", two="same")).assert_outcomes(passed=2)


def test_the_folder_of_cassettes_may_be_outside_of_the_project(run: Run, tmp_path: Path) -> None:
    folder = f"-o harness_cassettes={tmp_path / 'recorded'}".split()
    run(asks(one="old"), "--record", *folder).assert_outcomes(passed=1)
    run(asks(one="new"), "--record", *folder).shows(
        "*recorded/shared.yaml: 1 exchange removed that no test replays any more", passed=1
    )
    run("@pytest.mark.cassette('shared')\ndef test_one(): ...\n", *folder).shows(
        "No request was sent, so nothing of *recorded/shared.yaml was replayed.", failed=1
    )


def test_the_test_that_is_named_alone_is_enough_for_its_own_cassette(run: Run, inputs: Inputs) -> None:
    run(asks(one="old"), "--record").assert_outcomes(passed=1)
    run(asks(one="new") + "\ndef test_other(): pass\n", "--record", "-k", "test_one").assert_outcomes(
        passed=1, deselected=1
    )
    assert inputs() == ["new"]


@pytest.mark.parametrize(
    ("sources", "options", "why"),
    slow_except(
        (1, 3),
        [
            (asks(one="new") + asks(two="two").replace("client)", "client, none)"), (), "*::test_two did not pass"),
            (asks(one="new", two="two") + "    assert False\n", (), "*::test_two did not pass"),
            (asks(one="new", two="two") + "    pytest.skip()\n", (), "*::test_two did not pass"),
            (asks(one="new", two="two"), ("-k", "one"), "not all tests of this cassette were selected"),
            (asks(two="two", one="new") + "    assert False\n", ("-x",), "*::test_one did not pass"),
            (asks(one="new") + "\nREPLAYED = 'shared'\n", (), "the sources name this cassette elsewhere, too"),
            (
                "@pytest.mark.parametrize('n', 'ab')" + asks(one="new").replace("(client", "(n, client"),
                ("test_it.py::test_one[a]",),
                "not all tests of this cassette were selected",
            ),
        ],
    ),
    ids=["error", "failed", "skipped", "deselected", "interrupted", "named elsewhere", "one parameter"],
)
def test_what_may_be_replayed_stays(run: Run, inputs: Inputs, sources: str, options: tuple[str, ...], why: str) -> None:
    run(asks(one="old", two="two"), "--record").assert_outcomes(passed=2)
    options = tuple(option.replace("test_it", "test_what_may_be_replayed_stays") for option in options)
    result = run(sources, "--record=new", *options)
    assert "old" in inputs()
    result.shows(f"cassettes/shared.yaml: * that this run did not use * there: {why}")
    result.stdout.re_match_lines([r".*: (1 exchange that .* stays|[2-9] exchanges that .* stay) there: "])


def test_a_test_of_another_file_that_did_not_run_keeps_its_exchanges(
    run: Run, inputs: Inputs, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_apart="import pytest\n" + asks(two="two"))
    run(asks(one="old"), "--record").assert_outcomes(passed=2)
    run(asks(one="new"), "--record", "--ignore", "test_apart.py").shows(
        "*2 exchanges * stay there: another test, which did not run, names this cassette", passed=1
    )
    assert sorted(inputs()) == ["new", "old", "two"]


def test_a_mark_of_a_module_counts_for_each_of_its_tests(run: Run, inputs: Inputs) -> None:
    def module(text: str) -> str:
        marked = asks(one=text, two="two").replace('@pytest.mark.cassette("shared")\n', "")
        return f'pytestmark = pytest.mark.cassette("shared")\n{marked}'

    run(module("old"), "--record").assert_outcomes(passed=2)
    run(module("new"), "--record").assert_outcomes(passed=2)
    assert inputs() == ["two", "new"]


def test_one_test_of_a_class_that_has_the_mark_removes_nothing(run: Run, inputs: Inputs) -> None:
    def marked(text: str) -> str:
        functions = asks(one=text, two="two").replace('@pytest.mark.cassette("shared")\n', "")
        body = functions.replace("(client", "(self, client").replace("\n", "\n    ")
        return f'@pytest.mark.cassette("shared")\nclass TestMarked:\n    {body}'

    run(marked("old"), "--record").assert_outcomes(passed=2)
    name = "test_one_test_of_a_class_that_has_the_mark_removes_nothing.py::TestMarked::test_one"
    run(marked("new"), "--record", name).shows("*there: not all tests of this cassette were selected")
    assert sorted(inputs()) == ["new", "old", "two"]


def test_replaying_removes_nothing(run: Run, inputs: Inputs) -> None:
    run(asks(one="one", two="two"), "--record").assert_outcomes(passed=2)
    run(asks(one="one")).assert_outcomes(failed=1)
    assert inputs() == ["one", "two"]


def test_the_cassette_holds_the_command_that_recorded_it(run: Run, pytester: pytest.Pytester) -> None:
    run(asks(one="one", two="two"), "--record").assert_outcomes(passed=2)
    header = read_cassette(pytester.path / "cassettes/shared.yaml").header
    file = "test_the_cassette_holds_the_command_that_recorded_it.py"
    assert header is not None
    assert header.command == f"pytest --record=all {file}::test_one {file}::test_two"


def test_a_replay_is_noted(run: Run, pytester: pytest.Pytester) -> None:
    run(asks(one="one", two="two"), "--record").assert_outcomes(passed=2)
    file = pytester.path / "cassettes/shared.yaml"
    assert last_replay_date(file) == ""
    run(asks(one="one", two="two")).assert_outcomes(passed=2)
    assert last_replay_date(file)[:2] == "20"


@pytest.mark.slow
def test_with_workers_it_is_the_same(run: Run, inputs: Inputs) -> None:
    workers = ("-p", "xdist", "-n", "2", "--dist", "loadfile")
    run(asks(one="old", two="same"), "--record=new", *workers, apart=True).assert_outcomes(passed=2)
    run(asks(one="new", two="same"), "--record=new", *workers, apart=True).assert_outcomes(passed=2)
    assert inputs() == ["same", "new"]

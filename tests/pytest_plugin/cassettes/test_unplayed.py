"""A test that does not ask for what its cassette holds fails, as one with an unused turn does."""

import pytest

from harness.cassettes.format.interaction import CassetteHeader
from harness.cassettes.format.serializer import dump_cassette
from tests.support.inner_run import Run
from tests.support.recordings import over_http, response

ASK = '    client.responses.create(model="gpt-4.1", input="{}")\n'
MARK = '@pytest.mark.cassette("two")\n'
MODULE = "pytestmark = pytest.mark.cassette('two')\n"
ONE, TWO = ASK.format("one"), ASK.format("two")


@pytest.fixture(autouse=True)
def _two_exchanges(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "cache"))
    recorded = [over_http({"model": "gpt-4.1", "input": text}, response()) for text in ("one", "two")]
    (pytester.path / "cassettes").mkdir()
    (pytester.path / "cassettes/two.yaml").write_text(dump_cassette(CassetteHeader(), recorded), encoding="utf-8")


@pytest.mark.parametrize(
    "body",
    [ONE + TWO, f'{ONE}    pytest.skip("no more")\n', f"{ONE}    pytest.xfail()\n"],
    ids=["all", "skip", "xfail"],
)
def test_nothing_is_left_or_the_test_did_not_pass(run: Run, body: str) -> None:
    assert "failed" not in run(f"{MARK}def test_it(client):\n{body}").parseoutcomes()


def test_a_test_that_asks_for_a_part_fails(run: Run) -> None:
    run(f"{MARK}def test_it(client):\n{ONE}").shows(
        "No request asked for 1 of 2 exchanges in cassettes/two.yaml.",
        "  where   POST https://api.openai.com/v1/responses: 200",
        "  fix     Find out why; pytest --record *::test_it removes what no test",
        "          requests.",
        '  allow   @pytest.mark.harness(unused="allow")',
        failed=1,
    )


def test_a_test_that_asks_for_nothing_fails(run: Run) -> None:
    run(f"{MARK}def test_it():\n    pass\n").shows(
        "No request was sent, so nothing of cassettes/two.yaml was replayed.", failed=1
    )


@pytest.mark.parametrize(
    "source",
    [
        f"{MARK}def test_it(client):\n{ONE}{MARK}def test_other(client):\n{TWO}",
        f"{MODULE}def test_it(client):\n{ONE}def test_other(client):\n{TWO}",
        f"{MODULE}def test_it():\n    pass\n",
        f"{MARK}@pytest.mark.parametrize('text', ['one', 'two'])\ndef test_it(client, text):\n{ASK}".replace(
            '"{}"', "text"
        ),
        f"NAMES = ['two']\n{MARK}def test_it(client):\n{ONE}",
        f"@pytest.mark.harness(unused='allow')\n{MARK}def test_it(client):\n{ONE}",
        f"@pytest.mark.harness(unused='allow')\n{MARK}def test_it():\n    pass\n",
    ],
    ids=[
        "two marks",
        "a mark of the module",
        "a mark of the module, nothing asked for",
        "parameters",
        "named elsewhere",
        "allowed a part",
        "allowed nothing",
    ],
)
def test_what_others_may_ask_for_may_be_left(run: Run, source: str) -> None:
    assert run(source).parseoutcomes().keys() <= {"passed", "warnings"}

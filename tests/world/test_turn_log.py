"""Which turn answered an exchange, and where it was scripted: the route, its number there, the file and the line."""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from harness.core.exchange import Request
from harness.core.limits import Limits
from harness.faults import rate_limit
from harness.items import mcp_call, message
from harness.items.kind import Item
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.script import TurnOrigin
from harness.world.scripting.document import parse_sent_script
from harness.world.scripting.load import load_script_file
from tests.support.in_process import KEY, ask
from tests.support.tools import mcp_tool

HERE = __file__


@pytest.fixture
def api() -> MockApi:
    return MockApi()


@pytest.fixture
def mock(api: MockApi) -> Mock:
    return api.open(KEY)


def here() -> int:
    """Return the line that calls this."""
    return sys._getframe(1).f_lineno


def test_a_turn_is_named_with_its_route_and_the_line_that_scripted_it(api: MockApi, mock: Mock) -> None:
    first = mock.when(input="bye").script("one"), here()
    second = mock.script("two", "three"), here()
    assert [ask(api).status, ask(api).status, ask(api, "bye").status] == [200] * 3
    assert mock.world.answered_by == {
        1: TurnOrigin("script", 1, HERE, second[1]),
        2: TurnOrigin("script", 2, HERE, second[1]),
        3: TurnOrigin(str(first[0]), 1, HERE, first[1]),
    }
    assert str(mock.world.answered_by[2]) == f"script, turn 2 ({HERE}:{second[1]})"


def test_lines_stay_with_their_turns(api: MockApi, mock: Mock) -> None:
    def talk(_: Request) -> Iterator[Item]:
        yield message("one")
        yield message("two")

    lines = []
    mock.script(talk), lines.append(here())
    mock.script(lambda request: "three"), lines.append(here())
    mock.script("four", repeat=True), lines.append(here())
    assert [ask(api).status for _ in range(5)] == [200] * 5
    answered = [(origin.turn, origin.line) for origin in mock.world.answered_by.values()]
    assert answered == [(1, lines[0]), (2, lines[0]), (3, lines[1]), (4, lines[2]), (5, lines[2])]


def test_a_generator_that_says_nothing_answers_nothing(api: MockApi, mock: Mock) -> None:
    def silent(_: Request) -> Iterator[Item]:
        yield from ()

    mock.when(input="hi").script(silent)
    mock.script("ok"), (line := here())
    assert ask(api).status == 200
    assert mock.world.answered_by[1] == TurnOrigin("script", 1, HERE, line)


def test_refusals_and_turns_that_fail_have_an_origin_too(api: MockApi, mock: Mock) -> None:
    mock.script(rate_limit(), lambda request: request.body["nothing"]), (line := here())
    assert [ask(api).status, ask(api).status] == [429, 418]
    assert [origin.line for origin in mock.world.answered_by.values()] == [line, line]


def test_a_request_without_a_turn_has_none(api: MockApi, mock: Mock) -> None:
    assert [ask(api).status, ask(api, temperature=9).status] == [418, 400]
    assert not mock.world.answered_by


def test_the_first_of_several_turns_that_make_one_answer_counts(api: MockApi, mock: Mock) -> None:
    mock.mcp("prod", {"status": "up"})
    mock.script(mcp_call("prod", "status", {})), (line := here())
    mock.script("It is up.")
    assert ask(api, tools=[mcp_tool("prod")]).status == 200
    assert mock.world.answered_by == {1: TurnOrigin("script", 1, HERE, line)}


def test_what_waited_for_an_approval_is_of_the_turn_that_was_held(api: MockApi, mock: Mock) -> None:
    mock.mcp("prod", {"status": "up"})
    mock.script([mcp_call("prod", "status", {}), message("It is up.")]), (line := here())
    tools = [{**mcp_tool("prod"), "require_approval": "always"}]
    assert ask(api, tools=tools).status == 200
    asked = mock.exchanges[0].answer.body
    (request,) = [item for item in asked["output"] if item["type"] == "mcp_approval_request"]
    approval = {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": True}
    assert ask(api, [approval], previous_response_id=asked["id"], tools=tools).status == 200
    assert mock.world.answered_by[2] == TurnOrigin("script", 1, HERE, line)


def test_paths_that_a_test_answers_itself_have_their_line(api: MockApi, mock: Mock) -> None:
    mock.route("POST", "/embeddings", [{"a": 1}, {"a": 2}]), (line := here())
    assert [ask(api, path="/v1/embeddings").status for _ in range(2)] == [200, 200]
    assert mock.world.answered_by[2] == TurnOrigin("route('POST', '/embeddings')", 2, HERE, line)


YAML = """
script:
  - message: "one"
  - message: "two"
when:
  - input: bye
    repeat: true
    script:
      - message: "three"
      - message: "four"
route:
  POST /embeddings: {json: {a: 1}}
"""


def test_a_file_in_yaml_has_the_line_of_each_turn(api: MockApi, mock: Mock, tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(YAML.lstrip())
    load_script_file(file).apply(mock)
    for input in ("hi", "hi", "bye", "bye", "bye"):
        assert ask(api, input).status == 200
    assert ask(api, path="/v1/embeddings").status == 200
    answered = mock.world.answered_by.values()
    assert [origin.line for origin in answered] == [2, 3, 8, 9, 8, 11]
    assert {origin.file for origin in answered} == {str(file)}


PYTHON = """
from harness.items import message
script = [
    message("one"),
    message("two"),
]
routes = [
    ({"input": "bye"}, ["three",
                        "four"]),
]
def setup(mock):
    mock.when(input="ahoy").script("five")
"""


def test_a_file_in_python_has_the_line_of_each_turn(api: MockApi, mock: Mock, tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(dedent(PYTHON).lstrip())
    load_script_file(file).apply(mock)
    for input in ("hi", "hi", "bye", "bye", "ahoy"):
        assert ask(api, input).status == 200
    answered = mock.world.answered_by.values()
    assert [(origin.file, origin.line) for origin in answered] == [(str(file), line) for line in (3, 4, 7, 8, 11)]


def test_turns_that_are_not_written_out_have_the_line_of_their_list(api: MockApi, mock: Mock, tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text('words = ["one", "two"]\nscript = [\n    *words\n]\nrepeat = True\n')
    load_script_file(file).apply(mock)
    assert [ask(api).status for _ in range(3)] == [200] * 3
    assert [origin.line for origin in mock.world.answered_by.values()] == [2, 2, 2]


def test_what_is_plain_data_has_no_line(api: MockApi, mock: Mock) -> None:
    parse_sent_script({"turns": ["one"]}).apply(mock)
    assert ask(api).status == 200
    assert mock.world.answered_by[1] == TurnOrigin("script", 1, "", 0)
    assert str(mock.world.answered_by[1]) == "script, turn 1"


def test_origins_leave_with_their_exchanges() -> None:
    api = MockApi(limits=Limits(exchanges=16))
    mock = api.open(KEY)
    mock.script("ok", repeat=True)
    for _ in range(40):
        ask(api)
    assert list(mock.world.answered_by) == list(mock.world.edge) == [exchange.number for exchange in mock.exchanges]
    assert len(mock.exchanges) <= 16

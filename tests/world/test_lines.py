"""Turns as code that a user would write."""

from typing import Any

import pytest

import harness.endpoints  # noqa: F401  (registers every item)
from harness.core.errors import ScriptError
from harness.world.scripting.lines import Code, lines_of, python_call, python_imports, python_turn, python_value

TEXT = {"type": "output_text", "text": "Hi.", "annotations": [], "logprobs": []}
MESSAGE = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [TEXT]}
CALL = {"id": "fc_1", "type": "function_call", "name": "f", "arguments": '{"x":1}', "call_id": "call_1"}
CITED = {**MESSAGE, "content": [{**TEXT, "annotations": [{"type": "file_path", "file_id": "file_1", "index": 0}]}]}


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ({"output": [MESSAGE], "status": "completed"}, 'message("Hi.")'),
        ({"output": [CALL], "status": "completed"}, 'function_call("f", {"x": 1}, call_id="call_1")'),
        ({"output": [{**CALL, "arguments": '{"x": 1}'}]}, 'function_call("f", \'{"x": 1}\', call_id="call_1")'),
        ({"output": [], "status": "completed"}, "empty()"),
        ({"output": [MESSAGE], "status": "incomplete"}, '[message("Hi."), incomplete("max_output_tokens")]'),
        ({"output": [], "status": "failed", "error": {"code": "c", "message": "No."}}, 'failed("c", "No.")'),
    ],
)
def test_a_response_is_a_turn_of_builders(response: Any, code: str) -> None:
    assert python_turn(lines_of(response)) == code


def test_an_item_that_no_builder_expresses_keeps_its_members_without_those_of_the_mock() -> None:
    [line] = lines_of({"output": [CITED]})
    assert line == {name: value for name, value in CITED.items() if name not in ("id", "status")}
    assert python_turn([line]).startswith("{\n")


def test_faults_wrap_the_turn() -> None:
    assert python_turn([{"message": ["He"]}, {"cut": {"after": 1}}]) == 'cut(message(["He"]), after=1)'


def test_each_builder_is_imported_from_its_module() -> None:
    turns = [[{"message": "a"}, {"incomplete": "content_filter"}], [{"http_error": {"status": 500}}], ["text"]]
    assert list(python_imports(turns)) == [
        "from harness.ending import incomplete",
        "from harness.faults import http_error",
        "from harness.items import message",
    ]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("a", '"a"'),
        ('say "a"', "'say \"a\"'"),
        ("it's", '"it\'s"'),
        ("\n\u2028\\", r'"\n\u2028\\"'),
        ([None, True, 1.5, b"x"], "[None, True, 1.5, b'x']"),
        ({"a": Code("answer.id")}, '{"a": answer.id}'),
        (["x" * 60, "y" * 60], f'[\n    "{"x" * 60}",\n    "{"y" * 60}",\n]'),
    ],
)
def test_a_value_is_the_code_that_reads_as_it(value: Any, code: str) -> None:
    assert python_value(value) == code


def test_a_call_is_broken_if_it_must_be() -> None:
    assert python_call("f", ["1", "2"], is_broken=True) == "f(\n    1,\n    2,\n)"


def test_what_is_no_item_is_no_turn() -> None:
    with pytest.raises(ScriptError, match="'x' is not an item"):
        lines_of({"output": ["x"]})

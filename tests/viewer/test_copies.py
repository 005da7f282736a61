"""What a page copies of an exchange runs elsewhere and says the same: turns, requests, tests."""

import ast
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.ending import empty, failed, incomplete
from harness.faults import http_error
from harness.items import function_call, message
from harness.viewer.copies import error_of, step_turn, write_test
from harness.world.scripting.document import parse_document
from harness.world.scripting.lines import python_value
from tests.support.in_process import user
from tests.support.openai_only import run_as_user
from tests.support.shown import TOOL, Asked, read


def copied(asked: Asked, name: str) -> str:
    case = asked.show()
    shown = case.exchanges[-1]
    request = read(case, shown.number, "request")
    return re.sub("⟦(=?)([^⟧]*)⟧", lambda mark: _fill(request, *mark.groups()), shown.copies[name])


def _fill(request: Any, is_python: str, member: str) -> str:
    """Return what the page puts in place of a mark."""
    if not is_python:
        return json.dumps(request, indent=2, ensure_ascii=False)
    return python_value(request[member] if member else request)


HARD = 'He said """\'\\ $HOME `id` \\" é\n JSON\nJSON'


def test_a_turn_is_copied_as_yaml_that_a_script_reads(asked: Asked) -> None:
    asked.mock.script([message(HARD), function_call("look", {"city": "Paris"}, call_id="call_1")])
    asked.ask("hi", tools=[TOOL | {"parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}])
    document = parse_document({"script": yaml.safe_load(copied(asked, "turn_yaml"))})
    other = Asked()
    document.apply(other.mock)
    said = other.ask(
        "hi", tools=[TOOL | {"parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    )
    assert said["output"][0]["content"][0]["text"] == HARD
    assert (said["output"][1]["call_id"], json.loads(said["output"][1]["arguments"])) == ("call_1", {"city": "Paris"})


def test_a_turn_is_copied_as_python(asked: Asked) -> None:
    asked.mock.script([message(HARD)])
    asked.ask("hi")
    call = ast.parse(copied(asked, "turn_python")).body[0]
    assert isinstance(call, ast.Expr)
    other = Asked()
    exec(copied(asked, "turn_python"), {"mock": other.mock, "message": message})
    assert other.ask("hi")["output"][0]["content"][0]["text"] == HARD


def test_an_empty_answer_is_copied_by_its_name(asked: Asked) -> None:
    asked.mock.script(empty(), incomplete())
    asked.ask("hi")
    assert (copied(asked, "turn_yaml"), copied(asked, "turn_python")) == ("- empty:", "mock.script(empty())")
    assert "from harness.ending import empty\n" in copied(asked, "pytest")
    other = Asked()
    parse_document({"script": yaml.safe_load(copied(asked, "turn_yaml"))}).apply(other.mock)
    assert other.ask("hi")["output"] == []


def test_an_ending_is_copied_with_the_items(asked: Asked) -> None:
    asked.mock.script([message("So far"), incomplete("content_filter")], failed("server_error", "Oh."))
    asked.ask("hi")
    assert copied(asked, "turn_python") == 'mock.script([message("So far"), incomplete("content_filter")])'
    assert copied(asked, "turn_yaml") == '- - message: "So far"\n  - incomplete: "content_filter"'
    asked.ask("hi", stream=True)
    assert copied(asked, "turn_python") == 'mock.script(failed("server_error", "Oh."))'


def test_an_error_of_the_script_is_copied_as_a_turn(asked: Asked) -> None:
    asked.mock.script(http_error(503, "Busy."))
    asked.ask("hi")
    assert copied(asked, "turn_python") == 'mock.script(http_error(503, "Busy."))'


@pytest.mark.parametrize(("generate", "lines"), [(False, []), (True, [{"empty": {}}])])
def test_the_warm_up_of_a_websocket_is_copied_as_no_turn(generate: bool, lines: list[Any]) -> None:
    answer = {"object": "response", "status": "completed", "output": []}
    assert step_turn("WS", "/responses", {"generate": generate}, 200, answer, "") == lines


def test_curl_sends_the_same_body(asked: Asked, tmp_path: Path) -> None:
    asked.mock.script("ok")
    asked.ask([user(HARD)], metadata={"a": HARD})
    script = copied(asked, "curl")
    assert "$OPENAI_API_KEY" in script
    (tmp_path / "curl").write_text("#!/bin/sh\ncat > sent.json\n")
    (tmp_path / "curl").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, check=True, timeout=20)
    assert json.loads((tmp_path / "sent.json").read_text()) == asked.mock.exchanges[0].request.body


def test_curl_names_the_method_and_the_address_and_shows_a_stream_as_it_comes(asked: Asked) -> None:
    asked.ask("hi", stream=True)
    assert copied(asked, "curl").startswith('curl -sSN -X POST "$OPENAI_BASE_URL"/responses \\\n')
    asked.send("GET", "/models")
    assert copied(asked, "curl").startswith('curl -sS -X GET "$OPENAI_BASE_URL"/models \\\n')


def test_a_copied_test_expects_the_exception_of_the_client() -> None:
    assert [error_of(status, []) for status in (200, 400, 503)] == ["", "APIStatusError", "APIStatusError"]
    assert error_of(200, [{"type": "response.created"}, {"type": "error"}]) == "APIError"


LOOKED = [message(HARD), function_call("look", {"city": "Paris"}, call_id="call_1")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("input", "turn", "members"),
    [
        pytest.param(HARD, message(HARD), {"metadata": {"a": HARD}}, id="an answer"),
        pytest.param([user("hi")], LOOKED, {"tools": [TOOL], "store": False, "top_p": None}, id="a call"),
        pytest.param("hi", empty(), {"stream": True}, id="a stream"),
        pytest.param("hi", failed("server_error", "Oh."), {"stream": True}, id="a stream that fails"),
        pytest.param("hi", http_error(429, "Slow down."), {}, id="an error"),
        pytest.param(17, None, {}, id="a refusal"),
        pytest.param("hi", None, {"colour": {"is": True}}, id="a parameter that the SDK does not have"),
        pytest.param("hi", None, {"not a name": 1}, id="one that is no name in Python"),
    ],
)
def test_a_request_is_copied_as_a_test_that_passes(
    asked: Asked, input: object, turn: Any, members: dict[str, Any], tmp_path: Path
) -> None:
    if turn:
        asked.mock.script(turn)
    asked.ask(input, **members)
    printed = run_as_user(tmp_path, copied(asked, "pytest"))
    assert "1 passed" in printed


def test_a_test_that_is_copied_is_what_a_user_would_write(asked: Asked) -> None:
    asked.mock.script([function_call("look", {"city": "Paris"}, call_id="call_1")], message("Sunny."))
    asked.ask("How is the weather?", tools=[TOOL])
    asked.ask("And now?")
    assert copied(asked, "pytest").splitlines() == [
        "from harness.items import message",
        "",
        "",
        "def test_request_2(mock, openai_client):",
        '    mock.script(message("Sunny."))',
        '    response = openai_client.responses.create(model="gpt-4.1", input="And now?")',
        '    assert response.output_text == "Sunny."',
    ]


def test_a_long_member_is_not_repeated(asked: Asked) -> None:
    asked.mock.script(message("Sunny."))
    asked.ask([user("How is the weather?" * 10)])
    assert '        model="gpt-4.1",\n        input=⟦=input⟧,\n' in asked.show().exchanges[0].copies["pytest"]


def test_a_refusal_is_copied_as_one_that_is_expected(asked: Asked) -> None:
    asked.ask(17)
    text = copied(asked, "refusal")
    assert re.match(r'with mock\.refuses\("invalid_type"\) as refused:', text)


ANSWERED = [{"type": "function_call_output", "call_id": "call_1", "output": "18 °C"}]


def test_it_has_the_script_and_the_calls_of_the_client(asked: Asked) -> None:
    asked.mock.script(function_call("look", {}, call_id="call_1"), message("Sunny."), message("never taken"))
    first = asked.ask("Weather?", tools=[TOOL])
    asked.ask(ANSWERED, previous_response_id=first["id"])
    assert write_test(asked.show()).splitlines() == [
        '"""test_a.py::test_it',
        "",
        "Written by `responses-harness view --write-test`: it scripts the model's answers and sends the client's requests.",
        "Call your client instead of `openai_client` to test that; the script stays.",
        '"""',
        "",
        "from harness.items import function_call, message",
        "",
        "",
        "def test_it(mock, openai_client):",
        '    mock.script(function_call("look", {}, call_id="call_1"), message("Sunny."))',
        '    # not taken in the run: script: message "never taken"',
        "    answer_1 = openai_client.responses.create(",
        '        model="gpt-4.1",',
        '        input="Weather?",',
        "        tools=[{",
        '            "type": "function",',
        '            "name": "look",',
        '            "parameters": {"type": "object", "properties": {}},',
        '            "strict": False,',
        "        }],",
        "    )",
        "    openai_client.responses.create(",
        '        model="gpt-4.1",',
        '        input=[{"type": "function_call_output", "call_id": "call_1", "output": "18 °C"}],',
        "        previous_response_id=answer_1.id,",
        "    )",
    ]


def test_it_leaves_out_websockets_and_what_a_route_answered(asked: Asked) -> None:
    for input in ("a", "b", "c"):
        asked.ask(input)
    case = asked.show("passed")
    first, second, third = case.exchanges
    left = replace(case, exchanges=[replace(first, method="WS"), replace(second, routed=True), third])
    assert re.findall('input="(.)"', write_test(left)) == ["c"]


def test_it_reads_the_id_of_a_stream_in_its_last_event(asked: Asked) -> None:
    asked.mock.script("a", "b")
    asked.ask("hi", previous_response_id=asked.ask("hi", stream=True)["id"])
    assert "previous_response_id=answer_1.response.id" in write_test(asked.show("passed"))


@pytest.mark.slow
def test_it_follows_chains_and_expects_what_was_expected(asked: Asked, tmp_path: Path) -> None:
    hard = 'It is "18 °C" \\ """fine""".'
    asked.mock.script([function_call("look", {}, call_id="call_1")], http_error(429, "Slow down."), hard, empty())
    first = asked.ask("Weather?", tools=[TOOL])
    for _ in range(2):
        asked.ask(ANSWERED, previous_response_id=first["id"], tools=[TOOL], stream=True)
    asked.ask("Well?")
    with asked.mock.refuses("invalid_type"):
        asked.ask(17)
    assert "1 passed" in run_as_user(tmp_path, write_test(asked.show("passed")))


@pytest.mark.slow
def test_ids_of_this_run_stand_in_paths_and_bodies(asked: Asked, tmp_path: Path) -> None:
    asked.mock.script(message("Hello."), message("Again."))
    conversation = asked.send("POST", "/conversations", {"metadata": {"a": "b"}})["id"]
    answer = asked.ask("hi", conversation=conversation, stream=True)
    asked.send("GET", f"/responses/{answer['id']}", include=["message.output_text.logprobs"])
    asked.send("DELETE", f"/conversations/{conversation}")
    again = [{"type": "item_reference", "id": answer["output"][0]["id"]}, {"role": "user", "content": "And?"}]
    asked.ask(again)
    text = write_test(asked.show("passed"))
    assert answer["id"] not in text
    assert conversation not in text
    assert 'conversation=answer_1["id"],' in text
    assert "openai_client.delete(f\"/conversations/{answer_1['id']}\", cast_to=object)" in text
    assert "answer_2.response.output[0].id" in text
    assert "1 passed" in run_as_user(tmp_path, text)


@pytest.mark.slow
def test_what_follows_a_failure_is_sent_too(asked: Asked, tmp_path: Path) -> None:
    asked.ask(17)
    asked.mock.script("ok")
    asked.ask("hi")
    asked.ask("and?")
    text = write_test(asked.show())
    assert "    with contextlib.suppress(openai.APIStatusError):\n        openai_client.responses.create(" in text
    printed = run_as_user(tmp_path, text)
    assert "1 failed" in printed
    assert "Request 1 was refused (400)" in printed
    assert "Request 3" in printed

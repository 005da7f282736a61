"""A case as a test that a user could have written, which runs where only the extra `openai` is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.ending import empty
from harness.faults import http_error
from harness.items import function_call, message
from harness.viewer.write_test import write_test
from tests.support.openai_only import run_as_user
from tests.support.shown import TOOL, Asked

ANSWERED = [{"type": "function_call_output", "call_id": "call_1", "output": "18 °C"}]


def test_it_has_the_script_and_the_calls_of_the_client(asked: Asked) -> None:
    asked.mock.script(function_call("look", {}, call_id="call_1"), message("Sunny."), message("never taken"))
    first = asked.ask("Weather?", tools=[TOOL])
    asked.ask(ANSWERED, previous_response_id=first["id"])
    assert write_test(asked.show()).splitlines() == [
        '"""test_a.py::test_it',
        "",
        "Written by `responses-harness view --write-test`: it scripts what the model said and sends what the client sent.",
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

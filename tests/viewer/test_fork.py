"""A fork of a case: what is kept stays, what is changed after it is changed wherever it is sent again."""

from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigError
from harness.items import function_call, message
from harness.viewer.copies import write_test
from harness.viewer.fork import Fork, change_requests
from harness.viewer.page_data import ShownCase
from tests.support.in_process import user
from tests.support.openai_only import run_as_user
from tests.support.shown import TOOL, Asked

YES = user("Yes.")


def call(number: int) -> Any:
    return function_call("look", {}, call_id=f"call_{number}")


def output(number: int, text: str = "18 °C") -> Any:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": text}


@pytest.fixture
def case(asked: Asked) -> ShownCase:
    """A case of five requests, each with the whole history: a call, its output, the same words, a call, its output."""
    asked.mock.script(call(1), message("Go on?"), call(2), message("Done."))
    history: list[Any] = [YES]
    for added in ([output(1)], [YES], [output(2)], []):
        history += [*asked.ask(history, tools=[TOOL])["output"], *added]
    return asked.show("passed")


def outputs(bodies: dict[int, Any], number: int) -> list[Any]:
    return [item["output"] for item in bodies[number]["input"] if "output" in item]


def test_another_model_is_asked_after_the_fork(case: ShownCase) -> None:
    bodies = change_requests(case, Fork(2, model="gpt-5.6-sol"))
    assert {number: body["model"] for number, body in bodies.items()} == {3: "gpt-5.6-sol", 4: "gpt-5.6-sol"}


@pytest.mark.parametrize(
    ("kept", "name", "found"),
    [
        (0, "look", {2: ["Rain."], 3: ["Rain."], 4: ["Rain.", "18 °C"]}),
        (2, "look", {3: ["18 °C"], 4: ["18 °C", "Rain."]}),
        (0, "call_2", {2: ["18 °C"], 3: ["18 °C"], 4: ["18 °C", "Rain."]}),
    ],
)
def test_a_tool_returns_something_else_from_then_on(
    case: ShownCase, kept: int, name: str, found: dict[int, list[str]]
) -> None:
    bodies = change_requests(case, Fork(kept, outputs={name: "Rain."}))
    assert {number: outputs(bodies, number) for number in found} == found


def test_the_user_says_something_else_where_he_said_the_same_before(case: ShownCase) -> None:
    bodies = change_requests(case, Fork(2, prompt="No."))
    said = [[item["content"] for item in bodies[number]["input"] if item.get("role") == "user"] for number in (3, 4)]
    assert said == [["Yes.", "No."], ["Yes.", "No."]]
    bodies = change_requests(case, Fork(0, prompt="No."))
    said = [[item["content"] for item in bodies[number]["input"] if item.get("role") == "user"] for number in (1, 2, 3)]
    assert said == [["No."], ["No."], ["No.", "Yes."]]


def test_a_string_and_a_message_with_a_picture_are_prompts(asked: Asked) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
    asked.mock.script("One.", "Two.")
    asked.ask("Hello.")
    asked.ask([{"role": "user", "content": [{"type": "input_text", "text": "And this?"}, picture]}])
    case = asked.show("passed")
    assert change_requests(case, Fork(0, prompt="Hi."))[1]["input"] == "Hi."
    changed = change_requests(case, Fork(1, prompt="Why?"))[2]["input"]
    assert changed == [{"role": "user", "content": [{"type": "input_text", "text": "Why?"}, picture]}]


def test_a_chain_says_the_same_words_later(asked: Asked) -> None:
    asked.mock.script("One.", "Two.")
    first = asked.ask([YES])
    asked.ask([YES], previous_response_id=first["id"])
    bodies = change_requests(asked.show("passed"), Fork(0, prompt="No."))
    assert [body["input"][0]["content"] for body in bodies.values()] == ["No.", "Yes."]


@pytest.mark.parametrize(
    ("fork", "words"),
    [
        (Fork(4), "--fork 4: nothing follows: test_a.py::test_it has 4 requests."),
        (Fork(1, prompt="No."), "--prompt: request 2, the next one, adds nothing that a user says."),
        (Fork(2, outputs={"call_1": "x"}), "request 2, which is kept, returned it. Fork before that: --fork 1."),
        (Fork(1, outputs={"lok": "x"}), "no such tool or call has an output after request 1. Tools that have: look."),
        (Fork(3, model="gpt-4.1"), "--model gpt-4.1: it changes no request after request 3."),
    ],
)
def test_a_change_that_changes_nothing_is_refused(case: ShownCase, fork: Fork, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        change_requests(case, fork)
    assert words in str(refused.value)


def test_the_test_of_a_fork_keeps_and_then_changes(asked: Asked) -> None:
    asked.mock.script(call(1), message("Sunny."), message("never taken"))
    first = asked.ask("Weather?", tools=[TOOL])
    asked.ask([output(1)], previous_response_id=first["id"])
    text = write_test(asked.show(), Fork(1, "gpt-5.6-sol", {"look": "Rain."}))
    assert text.startswith('"""test_a.py::test_it, forked after request 1\n')
    assert text.partition("def ")[2].splitlines() == [
        "test_it(mock, openai_client):",
        '    mock.script(function_call("look", {}, call_id="call_1"))',
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
        "    # Forked after request 1: the model is gpt-5.6-sol, look returns 'Rain.'",
        '    mock.script(message("Sunny."), message("never taken"))',
        "    openai_client.responses.create(",
        '        model="gpt-5.6-sol",',
        '        input=[{"type": "function_call_output", "call_id": "call_1", "output": "Rain."}],',
        "        previous_response_id=answer_1.id,",
        "    )",
    ]


def test_a_turn_that_is_more_than_items_stays_a_comment(asked: Asked) -> None:
    asked.mock.script("One.", lambda request: "Two.")
    asked.ask("Hello.")
    text = write_test(asked.show(), Fork(0))
    assert "# not taken in the run: script: the function" in text


@pytest.mark.slow
def test_a_refusal_that_is_kept_is_expected_and_the_rest_of_the_script_follows(asked: Asked, tmp_path: Path) -> None:
    asked.mock.script(call(1), message("Sunny."))
    first = asked.ask("Weather?", tools=[TOOL])
    asked.ask("Well?", previous_response_id=first["id"])
    text = write_test(asked.show(), Fork(1))
    printed = run_as_user(tmp_path, text)
    assert "Request 2 was refused (400): No tool output found for function call call_1." in printed
    fixed = text.replace('input="Well?"', f"input=[{output(1)}]")
    assert "1 passed" in run_as_user(tmp_path, fixed)
    asked.ask([output(1)], previous_response_id=first["id"])
    text = write_test(asked.show(), Fork(2))
    assert 'with mock.refuses("call_needs_output"), pytest.raises(openai.APIStatusError):' in text
    assert "1 passed" in run_as_user(tmp_path, text)

"""A cassette that is a script: its answers are played whatever the prompt is, and changes are told."""

import shutil
from pathlib import Path

import pytest

WEATHER = Path(__file__).parents[2] / "cassettes/test_weather.yaml"
CODE = """
TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type":
    "string"}}, "required": ["city"], "additionalProperties": False}, "strict": True}

def forecast(client, question="Weather in Paris?"):
    first = client.responses.create(model="gpt-4.1", input=question, tools=[TOOL])
    output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "18 degrees"}
    return client.responses.create(
        model="gpt-4.1", previous_response_id=first.id, input=[output], tools=[TOOL]).output_text
"""


@pytest.fixture(autouse=True)
def _cassettes(pytester: pytest.Pytester) -> None:
    folder = pytester.path / "cassettes"
    folder.mkdir()
    shutil.copy(WEATHER, folder / "weather.yaml")


def marked(body: str, options: str = "as_script=True", arguments: str = "client") -> str:
    return f'{CODE}\n@pytest.mark.cassette("weather.yaml", {options})\ndef test_it({arguments}):\n    {body}\n'


def test_a_prompt_that_is_the_same_changes_nothing(run):
    run(marked("assert forecast(client) == 'It is 18 degrees in Paris.'")).shows(passed=1).hides(
        "*changed since the recording*"
    )


def test_a_changed_prompt_passes_and_is_reported(run):
    run(marked("assert forecast(client, 'How warm is Paris?') == 'It is 18 degrees in Paris.'")).shows(
        "*changed since the recording*",
        "*::test_it: weather.yaml: 1 request differs from it",
        "-v shows the differences*",
        passed=1,
    )


def test_the_difference_is_shown_with_v(run):
    run(marked("forecast(client, 'How warm is Paris?')"), "-v").shows(
        "  request 1, POST /responses, differs from the recording:",
        '  -  "input": "Weather in Paris[?]",',
        '  [+]  "input": "How warm is Paris[?]",',
        passed=1,
    )


def test_requests_are_judged_by_the_rules(run):
    run(
        marked(
            "first = client.responses.create(model='gpt-4.1', input='Hm?', tools=[TOOL])\n"
            "    client.responses.create(model='gpt-4.1', input='Well?', previous_response_id=first.id)"
        )
    ).shows("*No tool output found for function call*", "*changed since the recording*", failed=1)


def test_an_unused_turn_fails_as_any_other(run):
    run(marked("client.responses.create(model='gpt-4.1', input='Weather in Paris?', tools=[TOOL])")).shows(
        "*of the script w* never used*", "*1 request did not come", failed=1
    )


def test_the_mock_is_at_hand(run):
    body = "forecast(client)\n    assert mock.calls.named('get_weather').times(1)"
    run(marked(body, arguments="mock, client")).assert_outcomes(passed=1)


def test_any_client_that_reads_the_environment_is_led_to_the_mock(run):
    run(marked("assert 'Paris' in forecast(openai.OpenAI())", arguments="")).assert_outcomes(passed=1)


@pytest.mark.slow
def test_with_xdist_changes_are_reported_too(run):
    run(marked("forecast(client, 'How warm?')"), "-n1", apart=True).shows(
        "*::test_it: weather.yaml: 1 request differs from it", passed=1
    )


def test_a_cassette_without_an_answer_says_so(run, pytester: pytest.Pytester):
    (pytester.path / "cassettes/weather.yaml").write_text("version: 1\ninteractions: []\n")
    run(marked("pass")).shows("*weather.yaml: it has no model response*", errors=1)

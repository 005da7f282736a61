"""Markers, fixtures and cassettes that are not as the harness needs them."""

import openai
import pytest

from harness.items import message

PROMPT = "What is the weather in Paris?"


@pytest.mark.cause(title="@pytest.mark.harness(unusd=…): the options are unused, losses", place="setups.py:")
@pytest.mark.harness(unusd="allow")
def test_a_marker_is_mistyped(mock, ask):
    mock.script(message("Sunny."))
    ask()


@pytest.mark.cause(
    title="@pytest.mark.harness(unused='alow'): use one of 'fail', 'allow'. Did you mean 'allow'?",
    place="setups.py:",
)
@pytest.mark.harness(unused="alow")
def test_a_markers_value_is_mistyped(mock, ask):
    mock.script(message("Sunny."))
    ask()


@pytest.mark.cause(
    title="cassettes/nowhere.yaml: no such cassette.",
    fix="pytest --record setups.py::test_a_cassette_is_missing",
)
@pytest.mark.cassette("nowhere")
def test_a_cassette_is_missing(client):
    client.responses.create(model="gpt-4.1", input=PROMPT)


@pytest.mark.cause(
    title="cassettes/weather.yaml: not recorded: the closest recording, POST /v1/responses, differs:",
    fix="pytest --record setups.py::test_a_prompt_has_changed",
    place='+  "input": "What is the weather in London?"',
)
@pytest.mark.cassette("weather")
def test_a_prompt_has_changed(client):
    client.responses.create(model="gpt-4.1", input="What is the weather in London?")


@pytest.mark.cause(
    title="No request was sent, so nothing of cassettes/weather.yaml was replayed.",
    fix="The code under test must use the fixture `client`",
    place="POST https://api.openai.com/v1/responses: 500",
)
@pytest.mark.cassette("weather")
def test_a_cassette_is_not_played(client):
    pass


@pytest.mark.cause(title="a test has a cassette or a script, not both: drop the marker", place="setups.py:")
@pytest.mark.cassette("weather")
def test_a_cassette_and_a_mock(mock, client):
    client.responses.create(model="gpt-4.1", input=PROMPT)


@pytest.mark.cause(title="async def functions are not natively supported.", place="in test_an_async_test_has_no_plugin")
def test_an_async_test_has_no_plugin(mock):
    pytest.fail("async def functions are not natively supported.")


@pytest.mark.cause(title="TypeError: Responses.create() got an unexpected keyword argument 'modle'", place="setups.py:")
def test_the_sdk_takes_no_such_keyword(mock):
    mock.script(message("Sunny."))
    openai.OpenAI().responses.create(modle="gpt-4.1", input="Hi.")

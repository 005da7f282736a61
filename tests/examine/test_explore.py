"""`mock.explore`: a scenario under variations of what the model answers."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import openai
import pytest

from harness.core.errors import ConfigError
from harness.items import function_call, message
from harness.world.exploration import Exploration
from harness.world.mock import Mock

WEATHER = {"type": "function", "name": "get_weather", "parameters": {}, "strict": False}
TEXT = "Sunny, 18 °C."


def stream(client: openai.OpenAI, **asked: Any) -> str:
    """Return a client that shows what it streamed, and lets errors be seen."""
    events = client.responses.create(model="gpt-4.1", stream=True, **asked)
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def swallow(client: openai.OpenAI, **asked: Any) -> str:
    """Return a client that takes a stream that was cut for one that ended."""
    shown = ""
    try:
        for event in client.responses.create(model="gpt-4.1", stream=True, **asked):
            if event.type == "response.output_text.delta":
                shown += event.delta
    except openai.APIError:
        pass
    return shown


def scenario_of(ask: Callable[..., str], client: openai.OpenAI) -> Callable[[Mock], str]:
    def scenario(mock: Mock) -> str:
        mock.script(message(TEXT))
        return ask(client, input="Weather?")

    return scenario


def test_what_says_the_same_changes_nothing(mock: Mock, client: openai.OpenAI) -> None:
    found = mock.explore(scenario_of(stream, client), "streams/c[hro]*,streams/one-chunk,answers/*")
    assert (found.changed, found.tried > 20) == ([], True)


def test_an_error_that_is_seen_is_no_wrong_result(mock: Mock, client: openai.OpenAI) -> None:
    found = mock.explore(scenario_of(stream, client), "streams/cut")
    assert found.wrong == []
    assert [(trial.variation, list(trial.steps)) for trial in found.changed] == [
        ("streams/cut", ["answer 1 is cut after 0 of 15 events"])
    ]


def test_a_swallowed_cut_is_reported_with_the_smallest_case(mock: Mock, client: openai.OpenAI) -> None:
    found = mock.explore(scenario_of(swallow, client), "streams/error")
    assert [(trial.steps, trial.result) for trial in found.wrong] == [
        (["answer 1 ends with an error after 1 of 15 events"], "")
    ]
    assert "instead of 'Sunny, 18 °C.': returned ''" in str(found)


def test_a_client_that_trims_deltas_is_found(mock: Mock, client: openai.OpenAI) -> None:
    def trim(client: openai.OpenAI, **asked: Any) -> str:
        events = client.responses.create(model="gpt-4.1", stream=True, **asked)
        return "".join(event.delta.strip() for event in events if event.type == "response.output_text.delta")

    [found] = mock.explore(scenario_of(trim, client), "answers/deltas").wrong
    assert (list(found.steps), found.result) == (["answer 1 comes in one delta"], TEXT)


def test_arguments_in_other_deltas_are_the_same(mock: Mock, client: openai.OpenAI) -> None:
    def scenario(mock: Mock) -> list[str]:
        mock.script(function_call("get_weather", {"city": "Zürich"}))
        loose = {**WEATHER, "parameters": {"type": "object", "properties": {}}}
        events = client.responses.create(model="gpt-4.1", input="Weather?", tools=[loose], stream=True)
        deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
        counts.add(len(deltas))
        return ["".join(deltas)]

    counts: set[int] = set()
    assert mock.explore(scenario, "answers/deltas").changed == []
    assert len(counts) >= 4


def test_a_tool_that_runs_twice_is_found(mock: Mock) -> None:
    """The client begins the whole turn again when the API fails."""

    def scenario(mock: Mock) -> tuple[str, int]:
        mock.script(function_call("get_weather", {}), message(TEXT))
        client, booked = openai.OpenAI(max_retries=0), 0
        said: list[Any] = [{"role": "user", "content": "Weather?"}]
        while True:
            try:
                response = client.responses.create(model="gpt-4.1", input=said, tools=[WEATHER])
            except openai.APIError:
                booked += 1  # it makes again what it has made
                continue
            said += response.output
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                return response.output_text, booked
            booked += 1
            said += [{"type": "function_call_output", "call_id": call.call_id, "output": "18"} for call in calls]

    [found] = mock.explore(scenario, "errors/server-error").changed
    assert (found.result, list(found.steps)) == ((TEXT, 2), ["answer 1 is a 500 first"])


def test_an_async_scenario(mock: Mock) -> None:
    async def scenario(mock: Mock) -> str:
        mock.script(message(TEXT))
        async with openai.AsyncOpenAI() as client:
            return (await client.responses.create(model="gpt-4.1", input="Weather?")).output_text

    assert mock.explore(scenario, "answers/unknown-members,errors/server-error").changed == []
    assert asyncio.run(explored(mock, scenario)).changed == []


async def explored(mock: Mock, scenario: Callable[[Mock], Any]) -> Exploration:
    return mock.explore(scenario, "answers/unknown-members")


def test_combinations_are_shrunk_and_the_same_for_a_seed(mock: Mock, client: openai.OpenAI) -> None:
    """Only a long pause and comments together break this client."""
    shown: list[str] = []

    def scenario(mock: Mock) -> bool:
        mock.script(message(TEXT), message(TEXT))
        for _ in range(2):
            with client.responses.with_streaming_response.create(
                model="gpt-4.1", input="Weather?", stream=True
            ) as answer:
                shown.append(answer.read().decode())
        return not (": keep-alive" in shown[-2] and "\r\n" in shown[-1])

    def explore() -> Exploration:
        return mock.explore(scenario, "streams/comments,streams/crlf,streams/one-chunk", combined=40, seed=3)

    [found] = explore().changed
    assert (found.variation, sorted(found.steps)) == (
        "combined",
        ["answer 1 has a comment before each event", "answer 2 has the line ends crlf"],
    )
    assert str(explore()) == str(explore())


def test_the_world_of_the_test_is_as_before(mock: Mock, client: openai.OpenAI) -> None:
    mock.explore(scenario_of(stream, client), "streams/one-chunk")
    assert mock.exchanges == []
    mock.script(message("Afterwards."))
    assert stream(client, input="And now?") == "Afterwards."


class TestMistakes:
    def test_no_such_variation(self, mock: Mock, client: openai.OpenAI) -> None:
        with pytest.raises(ConfigError, match="no variation 'streams/cuts'"):
            mock.explore(scenario_of(stream, client), "streams/cuts")

    def test_a_scenario_that_fails_by_itself(self, mock: Mock) -> None:
        def scenario(mock: Mock) -> None:
            raise ValueError("its own")

        with pytest.raises(ValueError, match="its own"):
            mock.explore(scenario)

    def test_a_scenario_that_leaves_a_turn(self, mock: Mock, client: openai.OpenAI) -> None:
        def scenario(mock: Mock) -> str:
            mock.script(message("One."), message("Two."))
            return stream(client, input="Weather?")

        with pytest.raises(ConfigError, match="the scenario fails without any variation: 1 turn"):
            mock.explore(scenario)

    def test_a_scenario_that_depends_on_chance(self, mock: Mock, client: openai.OpenAI) -> None:
        numbers = itertools.count()

        def scenario(mock: Mock) -> str:
            mock.script(message(f"{next(numbers)}"))
            return stream(client, input="Weather?")

        with pytest.raises(ConfigError, match="the scenario returns '0', then '1', without any variation"):
            mock.explore(scenario)

    def test_a_scenario_that_asks_nothing(self, mock: Mock) -> None:
        with pytest.raises(ConfigError, match="sent no request to the model"):
            mock.explore(lambda mock: 1)

    def test_a_mock_of_no_test(self) -> None:
        with pytest.raises(ConfigError, match="only the pytest fixture `mock`"):
            Mock().explore(lambda mock: 1)


def test_what_was_found_is_shown_whole_as_the_message_of_an_assertion(mock: Mock, client: openai.OpenAI) -> None:
    found = mock.explore(scenario_of(swallow, client), "streams/error")
    assert isinstance(found, str)  # of anything else pytest shows no more than the beginning
    assert found == f"1 variation tried, 1 kind changes the result\n{found.changed[0]}"

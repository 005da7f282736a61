"""`mock.explore(generate=…)`: a property of the code under test, over generated scripts."""

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest

from harness.core.errors import ConfigError
from harness.examine.explore.scripts import scripts
from harness.world.mock import Mock
from tests.support.slow import slow_except

LOOK_UP = {
    "type": "function",
    "name": "look_up",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}, "day": {"type": ["integer", "null"]}},
        "required": ["city", "unit", "day"],
        "additionalProperties": False,
    },
}
Agent = Callable[[openai.OpenAI, list[Any]], None]


def answer(client: openai.OpenAI, shown: list[Any], *, calls_kept: int = 99, text_beside: bool = True) -> None:
    """An agent that puts what it shows and the arguments of the calls it runs into a list."""
    asked: dict[str, Any] = {"input": "Weather?"}
    while True:
        response = client.responses.create(model="gpt-4.1", tools=[LOOK_UP], **asked)  # type: ignore[list-item]
        calls = [item for item in response.output if item.type == "function_call"]
        if text_beside or not calls:
            shown += [part for item in response.output if item.type == "message" for part in map(text_of, item.content)]
        shown += [json.loads(call.arguments) for call in calls[:calls_kept]]
        if not calls:
            return
        outputs = [{"type": "function_call_output", "call_id": call.call_id, "output": "18 °C"} for call in calls]
        asked = {"input": outputs, "previous_response_id": response.id}


def text_of(part: Any) -> str:
    return str(part.text if part.type == "output_text" else part.refusal)


def shows_all(agent: Agent, client: openai.OpenAI) -> Callable[[Mock], None]:
    def scenario(mock: Mock) -> None:
        shown: list[Any] = []
        agent(client, shown)
        said: list[Any] = []
        for exchange in mock.exchanges:
            output = exchange.answer.body["output"]
            said += [text_of_json(part) for item in output if item["type"] == "message" for part in item["content"]]
            said += [json.loads(item["arguments"]) for item in output if item["type"] == "function_call"]
        assert shown == said

    return scenario


def text_of_json(part: Any) -> str:
    return str(part.get("text", part.get("refusal")))


def test_an_agent_that_shows_all_passes(mock: Mock, client: openai.OpenAI) -> None:
    found = mock.explore(shows_all(answer, client), generate=scripts([LOOK_UP]), examples=10)
    assert (found.tried, list(found.changed)) == (10, [])


def drops_second_call(client: openai.OpenAI, shown: list[Any]) -> None:
    answer(client, shown, calls_kept=1)


def loses_text_beside_a_call(client: openai.OpenAI, shown: list[Any]) -> None:
    answer(client, shown, text_beside=False)


CALL = "function_call('look_up', {'city': '', 'unit': 'C', 'day': None})"


@pytest.mark.parametrize(
    ("agent", "smallest"),
    slow_except(
        [1],
        [
            (drops_second_call, f"mock.script([{CALL}, {CALL}], message(''))"),
            (loses_text_beside_a_call, f"mock.script([message(''), {CALL}], message(''))"),
        ],
    ),
)
def test_a_bug_is_found_with_the_smallest_script(
    agent: Agent, smallest: str, mock: Mock, client: openai.OpenAI
) -> None:
    found = mock.explore(shows_all(agent, client), generate=scripts([LOOK_UP]))
    assert [list(trial.steps) for trial in found.wrong] == [[smallest]]
    assert f"generated: {smallest}\n  raised AssertionError" in str(found)


@pytest.mark.parametrize(
    ("tool", "named"),
    [
        ({"type": "computer"}, "computer"),
        ({"type": "function", "name": "f", "parameters": {"type": "object", "allOf": []}}, "'allOf'"),
        ({"type": "function", "name": "f", "parameters": {"type": "strings"}}, "'strings'"),
    ],
)
def test_a_tool_that_cannot_be_generated_is_reported(tool: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        scripts([tool])


def test_variations_of_a_generated_script_are_refused(mock: Mock) -> None:
    with pytest.raises(ConfigError, match="leave out `cases`"):
        mock.explore(lambda _: None, "streams/*", generate=scripts())

"""Small applications on the real SDK, written as its guide shows; `broken` runs the same ones on a client with a bug.

Each takes a client, sends what its docstring says and returns the last text of the model. `SCRIPTS` holds what the model
says to each.
"""

import json
from collections.abc import Callable
from typing import Any

from openai import OpenAI
from openai.types.responses import Response

from harness.items import function_call, message, reasoning
from harness.world.route import Turn

MODEL = "gpt-4.1"
TEMPERATURES = {"Paris": 18, "Oslo": 4}
WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "The temperature in a city.",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
REPORT: Any = {"type": "input_file", "file_url": "https://example.com/report.pdf"}

Program = Callable[[OpenAI], str]


def outputs(response: Response) -> list[Any]:
    """Return the output items for all calls of a response, in the order of the calls."""
    calls = [item for item in response.output if item.type == "function_call"]
    return [{"type": "function_call_output", "call_id": call.call_id, "output": _run(call.arguments)} for call in calls]


def _run(arguments: str) -> str:
    return json.dumps({"celsius": TEMPERATURES[json.loads(arguments)["city"]]})


def sent_back(response: Response) -> list[Any]:
    """Return the output of a response as input of the next request."""
    return [item.model_dump(exclude_none=True) for item in response.output]


def inline_loop(client: OpenAI) -> str:
    """Weather in two cities; the whole transcript travels with every request, nothing is stored."""
    transcript: list[Any] = [{"role": "user", "content": "Weather in Paris and Oslo?"}]
    while True:
        response = client.responses.create(model=MODEL, input=transcript, tools=[WEATHER], store=False)
        if not (answers := outputs(response)):
            return response.output_text
        transcript += [*sent_back(response), *answers]


def chained_loop(client: OpenAI) -> str:
    """Weather in two cities; the API keeps the transcript, only what is new is sent."""
    response = client.responses.create(model=MODEL, input="Weather in Paris and Oslo?", tools=[WEATHER])
    while answers := outputs(response):
        response = client.responses.create(
            model=MODEL, input=answers, tools=[WEATHER], previous_response_id=response.id
        )
    return response.output_text


def question_about_a_file(client: OpenAI) -> str:
    """A file, a first answer, and a second question about it."""
    request: list[Any] = [{"role": "user", "content": [REPORT, {"type": "input_text", "text": "Sum it up."}]}]
    first = client.responses.create(model=MODEL, input=request)
    more = [*request, {"role": "assistant", "content": first.output_text}, {"role": "user", "content": "Shorter."}]
    return client.responses.create(model=MODEL, input=more).output_text


def second_thought(client: OpenAI) -> str:
    """A model that reasons; its items are sent back as they came."""
    request: list[Any] = [{"role": "user", "content": "Is 91 a prime?"}]
    first = client.responses.create(model="gpt-5", input=request)
    more = [*request, *sent_back(first), {"role": "user", "content": "Sure?"}]
    return client.responses.create(model="gpt-5", input=more).output_text


_TWO_CITIES: list[Turn] = [
    [
        function_call("get_weather", {"city": "Paris"}, call_id="call_paris"),
        function_call("get_weather", {"city": "Oslo"}, call_id="call_oslo"),
    ],
    message("18 and 4 degrees."),
]
SCRIPTS: dict[Program, list[Turn]] = {
    inline_loop: _TWO_CITIES,
    chained_loop: _TWO_CITIES,
    question_about_a_file: [message("Sales rose, costs fell, and so on."), message("Sales rose.")],
    second_thought: [[reasoning("**Dividing**"), message("No.")], message("Yes: 7 times 13.")],
}

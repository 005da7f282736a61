"""Which tool is called when nothing is scripted: the one that is demanded or spoken of, and else none."""

from __future__ import annotations

from typing import Any

import pytest

from harness.unscripted.tool_picker import pick_tool, pick_tools


def tool(name: str, description: str = "", type: str = "function") -> dict[str, Any]:
    return {"type": type, "name": name, "description": description}


WEATHER = tool("get_weather", "Get the current temperature and forecast for a location.")
TOOLS = [
    *(WEATHER, tool("get_time"), tool("calculator", "Evaluate arithmetic."), tool("add"), tool("bookFlight")),
    *({"type": "web_search"}, tool("run_sql", "Query the orders of customers.", "custom"), tool("f")),
]


def name_of(input: Any, tools: Any = TOOLS, **body: Any) -> str | None:
    found = pick_tool({"input": input, "tools": tools, **body})
    return found and found["name"]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("What's the weather like in San Francisco?", "get_weather"),
        ("What time is it?", "get_time"),
        ("Call get_time with no arguments.", "get_time"),
        ("Please use the `add` tool on 2 and 3.", "add"),
        ("Add 2 and 3.", "add"),
        ("Calculate 17 * 4.", "calculator"),
        ("Are there any flights to Oslo?", "bookFlight"),
        ("How high is the temperature in Oslo?", "get_weather"),
        ("Which orders are late?", "run_sql"),
        ("Call the tool.", "get_weather"),
        ("Use one of your functions to answer.", "get_weather"),
        ("Call bookflight, whatever the weather.", "bookFlight"),
        ("Hello.", None),
        ("Tell me a joke about a location.", None),
        ("Say f.", None),
        ("What's the weather? Do not call any tools.", None),
        ("Don't use get_weather.", None),
        ("Answer without tools: is the weather nice?", None),
    ],
)
def test_what_the_user_says_decides(said: str, name: str | None) -> None:
    assert name_of(said) == name


@pytest.mark.parametrize(
    ("choice", "said", "name"),
    [
        ("required", "Hello.", "get_weather"),
        ("required", "What time is it?", "get_time"),
        ("required", "Never call the calculator.", "calculator"),
        ("none", "What time is it?", None),
        (None, "What time is it?", "get_time"),
        ({"type": "function", "name": "add"}, "What time is it?", "add"),
        ({"type": "custom", "name": "run_sql"}, "Hello.", "run_sql"),
        ({"type": "custom", "name": "add"}, "Hello.", None),
        ({"type": "web_search"}, "What time is it?", None),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"name": "add"}]}, "What time is it?", None),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"name": "add"}]}, "Add 1 and 2.", "add"),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"name": "add"}]}, "What time is it?", "add"),
    ],
)
def test_a_tool_choice_goes_before(choice: Any, said: str, name: str | None) -> None:
    assert name_of(said, tool_choice=choice) == name


@pytest.mark.parametrize(
    "input",
    [
        [{"role": "user", "content": [{"type": "input_image"}, {"type": "input_text", "text": "WEATHER?"}]}],
        [{"role": "user", "content": "Hello."}, {"role": "user", "content": "The weather?"}],
    ],
)
def test_the_last_message_is_read_in_all_its_parts(input: Any) -> None:
    assert name_of(input) == "get_weather"


@pytest.mark.parametrize(
    "input", [[], [{"role": "assistant", "content": "The weather?"}], [{"role": "user", "content": "The weather?"}, {}]]
)
def test_what_the_user_did_not_say_last_is_not_answered(input: Any) -> None:
    assert name_of(input) is None


def test_without_tools_nothing_is_called() -> None:
    assert name_of("Call the tool.", [{"type": "web_search"}]) is None
    assert pick_tool({}) is None


@pytest.mark.parametrize(
    ("said", "name"),
    [("whats 5 * 4", "multiply"), ("5 or 4 or 3", None), ("What is five?", None), ("5 and 4", "multiply")],
)
def test_a_function_of_numbers_is_called_when_the_user_says_as_many(said: str, name: str | None) -> None:
    numbers = {"x": {"type": "integer"}, "y": {"type": "number"}}
    multiply = {**tool("multiply"), "parameters": {"properties": numbers, "required": ["x", "y"]}}
    assert name_of(said, [{**tool("name"), "parameters": {"properties": {}}}, multiply]) == name


STOCK = {
    **tool("Filter"),
    "parameters": {
        "properties": {"shelf": {"enum": ["garden", "kitchen"]}, "sort": {"$ref": "#/$defs/Sort"}},
        "$defs": {"Sort": {"enum": ["cheapest_first", "newest_first"]}},
    },
}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Show me the cheapest knives of the kitchen.", "Filter"),
        ("I am in the kitchen.", None),
        ("How is the weather in the garden, and in the kitchen?", "get_weather"),
    ],
)
def test_two_words_of_the_parameters_say_that_a_tool_is_meant(said: str, found: str | None) -> None:
    assert name_of(said, [STOCK, WEATHER]) == found


@pytest.mark.parametrize(
    ("said", "body", "names"),
    [
        ("The weather and the time, please.", {}, ["get_weather", "get_time"]),
        ("The weather and the time, please.", {"tool_choice": "required"}, ["get_weather", "get_time"]),
        ("The weather and the time, please.", {"parallel_tool_calls": False}, ["get_weather"]),
        ("The weather and the time, please.", {"tool_choice": {"type": "function", "name": "get_time"}}, ["get_time"]),
        ("The time, please.", {}, ["get_time"]),
        ("Call get_time, whatever the weather.", {}, ["get_time"]),
        ("Call get_time and then get_weather.", {}, ["get_weather", "get_time"]),
        ("Hello.", {}, []),
    ],
)
def test_tools_that_are_spoken_of_together_are_called_together(said: str, body: Any, names: list[str]) -> None:
    tools = [WEATHER, tool("get_time"), tool("get_weather_map")]
    assert [each["name"] for each in pick_tools(body, tools, said)] == names

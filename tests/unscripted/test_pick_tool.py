"""Which tool is called when nothing is scripted: the one that is demanded, or that the user names, and else none."""

from __future__ import annotations

from typing import Any

import pytest

from harness.unscripted.pick_tool import pick_tool
from harness.unscripted.reading import CallableTool


def tool(name: str, type: str = "function") -> dict[str, Any]:
    return {"type": type, "name": name}


TOOLS = [
    *(tool("get_weather"), tool("get_time"), tool("add"), tool("bookFlight"), tool("run_sql", "custom"), tool("f")),
    *({"type": "web_search"}, {"type": "computer_use_preview"}, {"type": "mcp", "server_label": "docs"}),
]


def name_of(said: str, choice: Any = "auto", tools: Any = TOOLS) -> str | None:
    picked = pick_tool([CallableTool(declared) for declared in tools], choice, said)
    return picked and (picked.tool.get("name") or picked.tool["type"])


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("What's the weather like in San Francisco?", "get_weather"),
        ("WEATHER?", "get_weather"),
        ("Call get_time with no arguments.", "get_time"),
        ("Please use the `add` tool on 2 and 3.", "add"),
        ("Are there any flights to Oslo?", "bookFlight"),
        ("Which SQL is slow?", "run_sql"),
        ("Look it up on the web.", "web_search"),
        ("What do the docs say?", "mcp"),
        ("The weather and the time, please.", "get_weather"),
        ("Hello.", None),
        ("Get me a beer.", None),
        ("Call the tool.", "get_weather"),
        ("Use one of your functions.", "get_weather"),
        ("Use no tools.", None),
        ("Search for the file.", None),
        ("Say f.", None),
        ("", None),
    ],
)
def test_a_word_of_its_name_names_a_tool(said: str, name: str | None) -> None:
    assert name_of(said) == name


def test_a_store_of_memories_is_always_searched() -> None:
    assert name_of("Hello.", tools=[{"type": "memory_search_preview"}]) == "memory_search_preview"


@pytest.mark.parametrize(
    ("choice", "said", "name"),
    [
        ("required", "Hello.", "get_weather"),
        ("required", "What time is it?", "get_time"),
        ("none", "What time is it?", None),
        ({"type": "function", "name": "add"}, "What time is it?", "add"),
        ({"type": "custom", "name": "run_sql"}, "Hello.", "run_sql"),
        ({"type": "custom", "name": "add"}, "Hello.", None),
        ({"type": "web_search_preview"}, "What time is it?", "web_search"),
        ({"type": "computer"}, "What time is it?", "computer_use_preview"),
        ({"type": "mcp", "server_label": "docs", "name": "find"}, "Hello.", "mcp"),
        ({"type": "mcp", "server_label": "crm"}, "Hello.", None),
        ({"type": "allowed_tools", "mode": "auto", "tools": [tool("add")]}, "What time is it?", None),
        ({"type": "allowed_tools", "mode": "auto", "tools": [tool("add")]}, "Add 1 and 2.", "add"),
        ({"type": "allowed_tools", "mode": "required", "tools": [tool("add")]}, "What time is it?", "add"),
        ({"type": "allowed_tools", "mode": "required", "tools": []}, "What time is it?", None),
    ],
)
def test_a_tool_choice_goes_before(choice: Any, said: str, name: str | None) -> None:
    assert name_of(said, choice) == name


def test_without_tools_nothing_is_called() -> None:
    assert name_of("Call the tool.", "required", []) is None

"""The first place at which what a model reads differs from what it read before."""

from typing import Any

import pytest

from harness.analysis.prompt_prefix import ABSENT, FirstDifference, find_difference, view_items
from harness.core.exchange import Json

DEEP = "[" * 1_000 + "]" * 1_000
"""Arguments too deep to be compared as anything but text."""


def tool(name: str, description: str = "Do it.") -> Json:
    return {"type": "function", "name": name, "description": description}


@pytest.mark.parametrize(
    ("now", "difference"),
    [
        ({"tools": [tool("a"), tool("b")]}, None),
        ({"tools": [tool("a"), tool("b", "Do it now.")]}, ("tools[1].description", "Do it.", "Do it now.")),
        ({"tools": [tool("a")]}, ("tools[1]", tool("b"), ABSENT)),
        ({"tools": [tool("a"), tool("b"), tool("c")]}, ("tools[2]", ABSENT, tool("c"))),
        ({"tools": [tool("b"), tool("a")]}, ("tools[0].name", "a", "b")),
        ({"tools": [tool("a"), tool("b")], "text": {}}, ("text", ABSENT, {})),
        ({"tools": {}}, ("tools", [tool("a"), tool("b")], {})),
    ],
)
def test_the_first_place_that_differs_is_named(now: Json, difference: tuple[Any, ...] | None) -> None:
    assert find_difference({"tools": [tool("a"), tool("b")]}, now) == difference


def test_a_value_too_deep_is_compared_whole() -> None:
    deep: list[Any] = []
    for _ in range(800):
        deep = [deep]
    found = find_difference([deep], [[deep]])
    assert found is not None
    assert found.at == "[0]" * 50


@pytest.mark.parametrize(
    ("before", "now", "texts"),
    [
        ("a short text", "a short word", ('"a short text"', '"a short word"')),
        ("x" * 30 + " rows: 40, 50", "x" * 30 + " rows: 90", ('"…xxxxxxxxx rows: 40, 50"', '"…xxxxxxxxx rows: 90"')),
        ([1], ABSENT, ("[1]", "nothing")),
    ],
)
def test_texts_are_quoted_from_shortly_before_the_difference(before: Any, now: Any, texts: tuple[str, str]) -> None:
    assert FirstDifference("x", before, now).texts == texts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            {"role": "user", "content": "Hi."},
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "user",
                "content": [{"type": "input_text", "text": "Hi."}],
            },
        ),
        ({"role": "system", "content": "Be brief."}, {"role": "developer", "content": "Be brief."}),
        (
            {"role": "assistant", "content": [{"type": "output_text", "text": "Hi.", "annotations": [{}]}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "H"}, {"type": "text", "text": "i."}]},
        ),
        (
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a":1}', "namespace": "n"},
            {"type": "function_call", "call_id": "2", "name": "f", "arguments": '{ "a": 1 }', "status": "completed"},
        ),
        (
            {"type": "function_call_output", "call_id": "1", "output": "v2"},
            {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "v2"}]},
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": "u", "detail": "auto", "file_id": None}]},
            {"role": "user", "content": [{"type": "input_image", "image_url": "u"}]},
        ),
        ({"type": "reasoning", "summary": []}, {"type": "reasoning", "encrypted_content": "x"}),
        ({"type": "web_search_call", "id": "1", "action": {"sources": []}}, {"type": "web_search_call"}),
    ],
)
def test_what_is_for_the_client_is_not_read(one: Json, other: Json) -> None:
    assert view_items([one]) == view_items([other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": "Hi."}, {"role": "user", "content": "Hi!"}),
        ({"role": "user", "content": "Hi."}, {"role": "developer", "content": "Hi."}),
        ({"type": "function_call", "arguments": "{"}, {"type": "function_call", "arguments": "{}"}),
        ({"type": "function_call", "arguments": DEEP}, {"type": "function_call", "arguments": f"{DEEP} "}),
        ({"type": "function_call_output", "output": "40"}, {"type": "function_call_output", "output": "50"}),
        (
            {"type": "configuration_update", "reasoning": {"effort": "low"}},
            {"type": "configuration_update", "reasoning": {"effort": "high"}},
        ),
        (
            {"type": "additional_tools", "role": "developer", "tools": [tool("a")]},
            {"type": "additional_tools", "role": "developer", "tools": [tool("b")]},
        ),
    ],
)
def test_what_the_model_reads_is_compared(one: Json, other: Json) -> None:
    assert view_items([one]) != view_items([other])

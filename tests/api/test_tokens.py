"""Token counts, and what is known of each model family."""

from typing import Any

import pytest

from harness.api.models import MODELS
from harness.api.tokens import TOKENS_PER_CALL, TOKENS_PER_ITEM, estimate_settings_tokens, estimate_tokens, make_usage
from harness.core.exchange import Json


@pytest.mark.parametrize(
    ("item", "count"),
    [
        ({}, 0),
        ({"content": ""}, 0),
        ({"content": "abcd"}, 1),
        ({"content": "abcde"}, 2),
        ({"content": [{"type": "input_text", "text": "abcd"}, {"type": "input_text", "text": "abcd"}]}, 2),
        ({"content": ["not an object", {"text": "abcd"}]}, 1),
        ({"summary": [{"text": "abcd"}], "id": "rs_" + "x" * 50}, 1),
        ({"output": "abcd", "code": "abcd"}, 2),
        ({"arguments": "abcd"}, TOKENS_PER_CALL + 1),
        ({"type": "custom_tool_call", "input": "abcd"}, TOKENS_PER_CALL + 1),
        ({"output": {"type": "computer_screenshot"}}, 0),
        ({"content": [{"type": "input_image", "image_url": "https://example.com/a.png"}]}, 140),
        ({"type": "additional_tools", "tools": [{"a": "bcdefghijk"}]}, 5),
    ],
)
def test_four_characters_of_text_are_a_token(item: dict[str, Any], count: int) -> None:
    assert estimate_tokens([item]) == TOKENS_PER_ITEM + count


WEATHER = {"type": "function", "name": "get_weather", "description": "The weather.", "parameters": {"type": "object"}}
CITY = {"city": {"type": "string", "description": "Of a city."}, "unit": {"enum": ["c", "f"]}}
READ = {
    "no parameters": ({}, "// The weather.\ntype get_weather = () => any;\n\n"),
    "parameters": (
        {"type": "object", "properties": CITY, "required": ["city"]},
        '// The weather.\ntype get_weather = (_: {\n// Of a city.\ncity: string,\nunit?: "c" | "f",\n}) => any;\n\n',
    ),
    "unions": (
        {"properties": {"a": {"type": ["integer", "null"]}, "b": {"anyOf": [{"type": "array", "items": {}}, {}]}}},
        "// The weather.\ntype get_weather = (_: {\na?: integer | null,\nb?: any[] | any,\n}) => any;\n\n",
    ),
}


@pytest.mark.parametrize(("parameters", "text"), READ.values(), ids=list(READ))
def test_a_function_is_read_as_a_type(parameters: Json, text: str) -> None:
    tool = {**WEATHER, "parameters": parameters}
    assert estimate_settings_tokens({"tools": [tool]}) == 12 + len(text) // 4


@pytest.mark.parametrize(
    ("tool", "tokens"),
    [
        ({**WEATHER, "defer_loading": True}, 12 + 23 // 4),
        ({"type": "namespace", "name": "maps", "description": "Maps.", "tools": [WEATHER]}, 12 + (9 + 49) // 4),
        ({"type": "custom", "name": "sql", "format": {"type": "text"}}, 12 + 18 // 4),
        *(({"type": type}, count) for type, count in (("web_search", 260), ("shell", 300), ("apply_patch", 600))),
        *(({"type": type}, count) for type, count in (("code_interpreter", 170), ("tool_search", 80))),
        ({"type": "mcp", "server_label": "docs"}, 0),
    ],
    ids=lambda value: value.get("type") if isinstance(value, dict) else "",
)
def test_other_tools_are_read_in_their_own_way(tool: Json, tokens: int) -> None:
    assert estimate_settings_tokens({"tools": [tool]}) == tokens


def test_instructions_and_the_schema_of_the_answer_are_read() -> None:
    schema: Json = {"type": "object"}
    body = {"instructions": "abcd", "text": {"format": {"type": "json_schema", "name": "x", "schema": schema}}}
    assert estimate_settings_tokens(body) == TOKENS_PER_ITEM + 1 + 8 + 17 // 4


def test_a_schema_without_end_is_read_to_a_bound() -> None:
    schema: Json = {}
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}
    deep: Json = {"type": "object", "properties": {"a": schema}}
    body = {"tools": [{**WEATHER, "parameters": deep}], "text": {"format": {"schema": schema}}}
    assert estimate_settings_tokens(body) < 60


def test_no_items_are_no_tokens() -> None:
    assert estimate_tokens([]) == 0


def test_usage_adds_up_and_tells_reasoning_apart() -> None:
    thought = {"type": "reasoning", "summary": [{"text": "x" * 40}]}
    said = make_usage(7, [thought, {"type": "message", "content": [{"text": "abcd"}]}])
    assert said["output_tokens_details"] == {"reasoning_tokens": TOKENS_PER_ITEM + 10}
    assert said["output_tokens"] == 2 * TOKENS_PER_ITEM + 11
    assert said["total_tokens"] == 7 + said["output_tokens"]
    assert said["input_tokens_details"] == {"cache_write_tokens": 0, "cached_tokens": 0}


class TestAModel:
    @pytest.mark.parametrize(
        ("name", "snapshot", "effort"),
        [
            ("gpt-4.1", "gpt-4.1-2025-04-14", None),
            ("o3", "o3-2025-04-16", "medium"),
            ("gpt-5.1", "gpt-5.1-2025-11-13", "none"),
            ("gpt-5-codex", "gpt-5-codex", "medium"),
        ],
    )
    def test_a_model_answers_under_its_snapshot(self, name: str, snapshot: str, effort: str | None) -> None:
        assert (MODELS.defaults(name).snapshot, MODELS.defaults(name).effort) == (snapshot, effort)

    def test_a_model_with_a_date_is_its_own_snapshot(self) -> None:
        dated = MODELS.defaults("gpt-5-mini-2026-01-01")
        assert (dated.snapshot, dated.effort, dated.reasons) == ("gpt-5-mini-2026-01-01", "medium", True)

    @pytest.mark.parametrize(
        ("name", "like"),
        [("gpt-5.6-sol-x", "gpt-5.6-sol"), ("o3-ultra", "o3")]
        + [(name, "gpt-4.1") for name in ("mistral-large", "", "g")],
    )
    def test_a_model_that_is_unknown_borrows_from_the_nearest(self, name: str, like: str) -> None:
        borrowed, known = MODELS.defaults(name), MODELS[like]
        assert (borrowed.name, borrowed.snapshot) == (name, name)
        for fact in ("effort", "top_p", "retention", "turns"):
            assert getattr(borrowed, fact) == getattr(known, fact)

    def test_reasons_or_not(self) -> None:
        assert not MODELS.defaults("gpt-4.1").reasons
        assert all(MODELS.defaults(name).reasons for name in ("o1", "gpt-5", "gpt-5.2-chat-latest", "gpt-6-astra"))

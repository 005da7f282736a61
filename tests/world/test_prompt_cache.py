"""How much of a prompt is read from the cache, and how much is written to it."""

from typing import Any

import pytest

from harness.api.tokens import estimate_settings_tokens
from harness.core.exchange import Json
from harness.ending import usage
from harness.items import function_call, reasoning
from tests.support.clients.unscripted import KEY, WEATHER, Conversation

OLD, NEW, NEWEST = "gpt-5.4", "gpt-5.6-sol", "gpt-6.2-sol"
LONG = "word " * 2_000
"""A text of 2,500 tokens and 4 for its item."""
TOKENS = 2_504
HOUR = 3_600


def details(talk: Conversation, input: Any, **members: Any) -> Json:
    counts: Json = talk.ask(input, **members).body["usage"]["input_tokens_details"]
    return counts


def read(talk: Conversation, input: Any, **members: Any) -> int:
    return int(details(talk, input, **members)["cached_tokens"])


def written(talk: Conversation, input: Any, **members: Any) -> int:
    return int(details(talk, input, **members)["cache_write_tokens"])


def user(*texts: str, marked: str = "") -> Json:
    """Return a user message of these parts, with a breakpoint behind the part `marked`."""
    parts: list[Json] = [{"type": "input_text", "text": text} for text in texts]
    for part in parts:
        if part["text"] == marked:
            part["prompt_cache_breakpoint"] = {"mode": "explicit"}
    return {"role": "user", "content": parts}


@pytest.mark.parametrize(("model", "cached"), [(OLD, TOKENS // 128 * 128), (NEW, TOKENS)])
def test_the_same_prompt_is_read_from_the_cache(model: str, cached: int) -> None:
    talk = Conversation(model=model)
    assert [read(talk, LONG) for _ in range(3)] == [0, cached, cached]


@pytest.mark.parametrize(("words", "cached"), [(1_002, 0), (1_003, 1_024)])
def test_what_is_read_of_a_response_begins_with_its_output(words: int, cached: int) -> None:
    talk = Conversation(model=OLD)
    first = talk.ask("word" * words).body
    assert first["usage"]["total_tokens"] == words + 21
    assert read(talk, "hi", previous_response_id=first["id"]) == cached


def test_only_newer_models_count_what_is_written_with_its_lifetime() -> None:
    assert details(Conversation(model=OLD), LONG) == {"cached_tokens": 0, "cache_write_tokens": 0}
    by_ttl = {"ttl_30m_tokens": TOKENS, "ttl_12h_tokens": 0}
    assert details(Conversation(model=NEW), LONG) == {
        "cached_tokens": 0,
        "cache_write_tokens": TOKENS,
        "cache_write_tokens_details": by_ttl,
    }
    longer = Conversation(model=NEW, prompt_cache_options={"ttl": "12h"})
    by_ttl = {"ttl_30m_tokens": 0, "ttl_12h_tokens": TOKENS}
    assert details(longer, LONG)["cache_write_tokens_details"] == by_ttl


def test_a_scripted_answer_is_counted_unless_it_counts_itself() -> None:
    talk = Conversation(model=NEW)
    talk.api.open(KEY).script("One.", usage("Two.", input_tokens=9), usage("Three.", output_tokens=9))
    assert details(talk, LONG)["cache_write_tokens"] == TOKENS
    assert details(talk, LONG) == {"cached_tokens": 0, "cache_write_tokens": 0}
    assert read(talk, LONG) == TOKENS


@pytest.mark.parametrize("model", [OLD, NEW])
def test_a_prompt_below_1024_tokens_is_not_cached(model: str) -> None:
    talk = Conversation(model=model)
    assert [read(talk, "x" * 4 * 1_019) for _ in range(2)] == [0, 0]
    assert [read(talk, "y" * 4 * 1_020) for _ in range(2)] == [0, 1_024]


def test_older_models_read_a_beginning_within_a_message_and_newer_ones_to_the_end_of_one() -> None:
    for model, least in ((OLD, 2_304), (NEW, 0)):
        talk = Conversation(model=model)
        talk.ask(LONG + "One?")
        assert least <= read(talk, LONG + "Two?") <= least + 256 * (least > 0)


@pytest.mark.parametrize(("model", "cached", "more"), [(OLD, 2_432, 0), (NEW, TOKENS, 5)])
def test_another_conversation_reads_the_instructions(model: str, cached: int, more: int) -> None:
    talk = Conversation(model=model, instructions=LONG)
    talk.ask("One?")
    counts = details(talk, "Two?")
    assert (counts["cached_tokens"], counts["cache_write_tokens"]) == (cached, more)
    first, second = ({"role": "developer", "content": text} for text in (LONG, "Be brief."))
    talk = Conversation(model=model)
    talk.ask([first, second, user("One?")])
    assert read(talk, [first, second, user("Two?")]) == (cached if model == OLD else TOKENS + 7)
    assert (read(talk, [first, user("Two?")]) > 0) == (model == OLD)


@pytest.mark.parametrize("model", [OLD, NEW])
@pytest.mark.parametrize(
    "changed",
    [
        {"tools": [{**WEATHER, "description": "Now."}]},
        {"instructions": "Be brief."},
        {"reasoning": {"effort": "high"}},
        {"text": {"verbosity": "high"}},
        {"text": {"format": {"type": "json_object"}}},
        {"parallel_tool_calls": False},
        {"prompt_cache_key": "other"},
        {"service_tier": "flex"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_changes_the_beginning_of_a_prompt_reads_nothing(model: str, changed: Json) -> None:
    talk = Conversation(model=model, tools=[WEATHER], prompt_cache_key="k")
    talk.ask(LONG + "JSON")
    assert read(talk, LONG + "JSON", **changed) == 0
    assert read(talk, LONG + "JSON") > 0


@pytest.mark.parametrize(
    "unchanged",
    [
        {"metadata": {"run": "2"}},
        {"tool_choice": "none"},
        {"text": {"format": {"type": "text"}}},
        {"service_tier": "default"},
        {"max_output_tokens": 99},
        {"user": "u"},
    ],
    ids=lambda unchanged: next(iter(unchanged)),
)
def test_what_the_model_does_not_read_changes_nothing(unchanged: Json) -> None:
    talk = Conversation(model=NEW, tools=[WEATHER])
    talk.ask(LONG)
    assert read(talk, LONG, **unchanged) == TOKENS + estimate_settings_tokens({"tools": [WEATHER]})


def test_from_gpt_6_2_on_instructions_follow_the_input_and_are_not_cached() -> None:
    talk = Conversation(model=NEWEST)
    talk.ask(LONG, instructions="One. " * 2_000)
    assert read(talk, LONG, instructions="Two.") == TOKENS
    talk = Conversation(model=NEWEST)
    assert [read(talk, "hi", instructions=LONG) for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("model", [OLD, NEW])
def test_a_history_is_read_however_a_client_sends_it(model: str) -> None:
    talk = Conversation(model=model)
    talk.api.open(KEY).script([reasoning("Hm."), function_call("get_weather", {"city": "Rome"})], "1", "2", "3")
    first = talk.ask(LONG, tools=[WEATHER]).body
    cached = first["usage"]["input_tokens"]
    call = first["output"][1]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "18"}
    ways: list[Json] = [
        {"input": [output], "previous_response_id": first["id"]},
        {"input": [user(LONG), *first["output"], output]},
        {"input": [{"role": "user", "content": LONG}, *first["output"], output]},
    ]
    for way in ways:
        assert read(talk, tools=[WEATHER], **way) >= cached // 128 * 128


@pytest.mark.parametrize(("model", "least", "most"), [(OLD, 4_992, 5_008), (NEW, TOKENS, TOKENS)])
def test_older_models_also_cache_their_own_output(model: str, least: int, most: int) -> None:
    talk = Conversation(model=model)
    talk.api.open(KEY).script(LONG, "Yes.", LONG, "Yes.")
    first = talk.ask(LONG).body
    assert least <= read(talk, "And?", previous_response_id=first["id"]) <= most
    short = talk.ask("Short.").body
    assert (read(talk, "And?", previous_response_id=short["id"]) > 0) == (model == OLD)


def test_a_breakpoint_is_read_whatever_follows_it() -> None:
    talk = Conversation(model=NEW)
    assert details(talk, [user(LONG, "One?", marked=LONG)])["cache_write_tokens"] == TOKENS + 1
    head = read(talk, [user(LONG, "Two?", marked=LONG)])
    assert TOKENS - 8 <= head < TOKENS
    assert read(talk, [user(LONG, "Three?")]) == 0


def test_in_explicit_mode_only_breakpoints_are_cached() -> None:
    talk = Conversation(model=NEW, prompt_cache_options={"mode": "explicit"})
    assert [details(talk, LONG)["cache_write_tokens"] for _ in range(2)] == [0, 0]
    marked = [user(LONG, marked=LONG)]
    assert (written(talk, marked), read(talk, marked)) == (TOKENS, TOKENS)


@pytest.mark.parametrize(("count", "is_read"), [(2, False), (3, True), (6, True)])
def test_the_last_four_breakpoints_are_written(count: int, is_read: bool) -> None:
    texts = [f"{number} {LONG}" for number in range(6)]
    marked = [user(text, marked=text) for text in texts]
    talk = Conversation(model=NEW, prompt_cache_options={"mode": "explicit"})
    talk.ask(marked)
    assert (read(talk, marked[:count]) > 0) == is_read


def test_the_last_eighty_boundaries_are_matched() -> None:
    talk = Conversation(model=NEW)
    first = user(LONG)
    talk.ask([first])
    for more, cached in ((79, TOKENS), (80, 0)):
        assert read(talk, [first, *[user(f"{more}")] * more]) == cached


def test_a_boundary_keeps_its_own_lifetime() -> None:
    first = user(LONG, marked=LONG)
    first["content"][0]["prompt_cache_breakpoint"]["ttl"] = "12h"
    talk = Conversation(model=NEW)
    counts = details(talk, [first, user("One?")])["cache_write_tokens_details"]
    assert counts == {"ttl_12h_tokens": TOKENS, "ttl_30m_tokens": 5}
    talk.api.open(KEY).skip(HOUR)
    assert read(talk, [first, user("Two?")]) == TOKENS


@pytest.mark.parametrize(
    ("model", "members", "seconds"),
    [
        ("gpt-4.1", {}, 300),
        ("gpt-4.1", {"prompt_cache_retention": "24h"}, 1_800),
        (OLD, {}, 1_800),
        (NEW, {}, 1_800),
        (NEW, {"prompt_cache_options": {"ttl": "12h"}}, 12 * HOUR),
    ],
)
def test_a_prompt_is_kept_as_long_as_promised_after_its_last_use(model: str, members: Json, seconds: int) -> None:
    talk = Conversation(model=model, **members)
    talk.ask(LONG)
    for wait, is_read in ((seconds - 9, True), (seconds - 9, True), (seconds + 9, False)):
        talk.api.open(KEY).skip(wait)
        assert (read(talk, LONG) > 0) == is_read


def test_tools_that_an_item_adds_are_part_of_the_prompt() -> None:
    talk = Conversation(model=NEW)
    first, other = (
        {"type": "additional_tools", "role": "developer", "tools": [WEATHER | {"description": text}]}
        for text in ("One.", "Two.")
    )
    assert [read(talk, [added, user(LONG)]) > 0 for added in (first, other, first)] == [False, False, True]


def test_a_screenshot_is_part_of_the_prompt() -> None:
    talk = Conversation(model=NEW, tools=[{"type": "computer"}])
    call = {"type": "computer_call", "call_id": "call_1", "actions": [{"type": "screenshot"}], "status": "completed"}
    first, other = (
        {
            "type": "computer_call_output",
            "call_id": "call_1",
            "output": {"type": "computer_screenshot", "image_url": url},
        }
        for url in ("https://example.com/1.png", "https://example.com/2.png")
    )
    seen = [read(talk, [user("Go."), call, shown, user(LONG)]) > 0 for shown in (first, other, first)]
    assert seen == [False, False, True]


def test_arguments_nested_too_deep_are_not_compared() -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "[" * 300 + "]" * 300}
    output = {"type": "function_call_output", "call_id": "call_1", "output": LONG}
    talk = Conversation(model=NEW)
    assert read(talk, [call, output]) == 0
    assert read(talk, [call, output]) > TOKENS


def test_a_request_that_prepares_the_cache_takes_no_turn() -> None:
    talk = Conversation(model=NEW)
    talk.api.open(KEY).script("Yes.")
    prepared = talk.ask(LONG, prompt_cache_options={"prewarm": True}).body
    assert (prepared["output"], prepared["usage"]["output_tokens"]) == ([], 0)
    assert prepared["usage"]["input_tokens_details"]["cache_write_tokens"] == TOKENS
    answer = talk.ask(LONG).body
    assert answer["output"][0]["content"][0]["text"] == "Yes."
    assert answer["usage"]["input_tokens_details"]["cached_tokens"] == TOKENS


def test_an_earlier_day_has_the_counts_of_its_day() -> None:
    talk = Conversation(model=NEW)
    talk.api.open(KEY).world.set_date("2026-10-01")
    assert details(talk, LONG) == {"cached_tokens": 0, "cache_write_tokens": TOKENS}

"""Why a prompt was not read from the cache: the reason, the first place that differs, and what an answer says of it."""

from typing import Any

import pytest

from harness.api.costs import find_cost
from harness.api.tokens import estimate_settings_tokens
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Json
from harness.items import compaction, function_call, reasoning
from harness.world.mock import Mock
from tests.support.clients.unscripted import KEY, WEATHER, Conversation

OLD, NEW = "gpt-5.4", "gpt-5.6-sol"
LONG = "word " * 2_000
TOKENS = 2_504
TIME = {"type": "function", "name": "get_time", "description": "The time.", "parameters": {}, "strict": False}


def mock_of(talk: Conversation) -> Mock:
    return talk.api.open(KEY)


def history(talk: Conversation, input: Any, **members: Any) -> list[Json]:
    """Return the input and the output of a request, as a client sends both again."""
    sent = [{"role": "user", "content": input}] if isinstance(input, str) else input
    return [*sent, *talk.ask(sent, **members).body["output"]]


def diagnose(talk: Conversation, compared: str, input: Any = LONG, **members: Any) -> Json:
    options = {**members.pop("prompt_cache_options", {}), "comparison_response_id": compared}
    found: Json = talk.ask(input, prompt_cache_options=options, **members).body["prompt_cache_diagnostics"]
    return found


@pytest.mark.parametrize("model", [OLD, NEW])
def test_a_conversation_that_only_grows_misses_nothing(model: str) -> None:
    talk = Conversation(model=model, tools=[WEATHER], instructions="You are the planner.")
    mock_of(talk).script([reasoning("Hm."), function_call("get_weather", {"city": "Rome"})], "18.", "So?", "Yes.")
    asked = history(talk, LONG)
    output = {"type": "function_call_output", "call_id": asked[-1]["call_id"], "output": "18"}
    told = history(talk, [*asked, output])
    more = talk.ask([*told, {"role": "user", "content": "And?"}]).body
    talk.ask("Well?", previous_response_id=more["id"])
    cache = mock_of(talk).cache
    assert cache.misses == []
    assert 0.70 < cache.hit_rate < 0.76


def test_the_cost_is_that_of_all_answers_unless_a_price_is_unknown() -> None:
    talk = Conversation(model="gpt-5.6-sol")
    answers = [talk.ask(LONG).body for _ in range(2)]
    first, second = (find_cost(answer, CONTRACT_DATE) or 0 for answer in answers)
    assert 0 < second < first / 8
    assert mock_of(talk).cache.cost == first + second
    talk.ask(LONG, model="gpt-6.2-astra")
    assert mock_of(talk).cache.cost is None


@pytest.mark.parametrize("model", [OLD, NEW])
@pytest.mark.parametrize("has_role", [False, True], ids=["instructions", "developer message"])
def test_a_time_in_the_instructions_is_named(model: str, has_role: bool) -> None:
    talk = Conversation(model=model, tools=[WEATHER])
    for time in ("09:00", "09:01"):
        text = f"It is {time}. {LONG}"
        if has_role:
            talk.ask([{"role": "developer", "content": text}, {"role": "user", "content": "Hi."}])
        else:
            talk.ask("Hi.", instructions=text)
    (miss,) = mock_of(talk).cache.misses
    assert (miss.exchange, miss.compared, miss.reason) == (2, 1, "input_changed")
    assert (miss.at, miss.before[:14], miss.now[:14]) == (
        "input[0].content" if has_role else "instructions",
        '"It is 09:00. ',
        '"It is 09:01. ',
    )


def test_other_instructions_or_another_key_miss_nothing() -> None:
    talk = Conversation(model=NEW)
    talk.ask("Hi.", instructions=f"You plan. {LONG}", prompt_cache_key="ann")
    talk.ask("Hi.", instructions=f"You plot. {LONG}", prompt_cache_key="bob")
    talk.ask("Hi.", instructions=f"You review. {'line ' * 2_000}", prompt_cache_key="ann")
    talk.ask(f"{LONG} Hi.", tools=[WEATHER])
    talk.ask(f"{LONG} Ho.", tools=[TIME])
    assert mock_of(talk).cache.misses == []


def test_a_changed_tool_is_named_to_the_place() -> None:
    talk = Conversation(model=NEW, tools=[WEATHER, WEATHER | {"name": "get_rain"}, TIME])
    said = history(talk, LONG)
    later = [*said, {"role": "user", "content": "And?"}]
    tools = [*talk.members["tools"][:2], TIME | {"description": "The time now."}]
    talk.ask(later, tools=tools)
    (miss,) = mock_of(talk).cache.misses
    place = 'tools[2].description: "The time." became "The time now."'
    assert repr([miss]) == f"[request 2 missed: tools_changed: {place}]"
    assert (miss.exchange, miss.compared, miss.missed_tokens) == (2, 1, TOKENS + estimate_settings_tokens(talk.members))


@pytest.mark.parametrize(
    ("changed", "reason", "at"),
    [
        ({"model": "gpt-5.6-luna"}, "model_changed", "model"),
        ({"prompt_cache_key": "b"}, "prompt_cache_key_changed", "prompt_cache_key"),
        ({"service_tier": "priority"}, "service_tier_changed", "service_tier"),
        ({"tools": [TIME, WEATHER]}, "tools_changed", "tools[0].name"),
        ({"tools": [WEATHER]}, "tools_changed", "tools[1]"),
        ({"parallel_tool_calls": False}, "tools_changed", "parallel_tool_calls"),
        ({"text": {"format": {"type": "json_object"}}}, "text_format_changed", "text.format.type"),
        ({"reasoning": {"effort": "high"}}, "reasoning_effort_changed", "reasoning.effort"),
        ({"text": {"verbosity": "low"}}, "verbosity_changed", "text.verbosity"),
        ({"instructions": "It is 12:01."}, "input_changed", "instructions"),
    ],
)
def test_each_reason_has_its_change(changed: Json, reason: str, at: str) -> None:
    talk = Conversation(
        model=NEW, prompt_cache_key="a", tools=[WEATHER, TIME], instructions="It is 12:00.", store=False
    )
    said = history(talk, LONG)
    later = [*said, {"role": "user", "content": "And? As JSON."}]
    first = talk.ask(later).body
    found = diagnose(talk, first["id"], later, **changed)
    reusable = first["usage"]["input_tokens"]
    assert found == {
        "type": "cache_miss",
        "reason": reason,
        "cache_missed_tokens": reusable,
        "comparison_reusable_tokens": reusable,
    }
    (miss,) = mock_of(talk).cache.misses
    assert (miss.reason, miss.at, miss.exchange) == (reason, at, 3)


@pytest.mark.parametrize("model", [OLD, NEW])
def test_an_edit_of_the_history_is_missed_from_there_on(model: str) -> None:
    talk = Conversation(model=model, tools=[WEATHER])
    mock_of(talk).script([reasoning("Hm."), function_call("get_weather", {"city": "Rome"})], "18.", "Yes.")
    asked = history(talk, LONG)
    output = {"type": "function_call_output", "call_id": asked[-1]["call_id"], "output": "rows 40, 50. " * 400}
    told = history(talk, [*asked, output])
    cut = [*told[:3], told[3] | {"output": "rows 40, …"}, *told[4:], {"role": "user", "content": "And?"}]
    talk.ask(cut)
    (miss,) = mock_of(talk).cache.misses
    assert (miss.reason, miss.at) == ("input_changed", "input[3].output")
    assert 1_200 < miss.missed_tokens < 1_500


def test_reasoning_that_a_client_drops_is_missed() -> None:
    talk = Conversation(model=NEW, tools=[WEATHER])
    mock_of(talk).script([reasoning("Hm."), function_call("get_weather", {"city": "Rome"})], "18.", "Yes.")
    asked = history(talk, LONG)
    output = {"type": "function_call_output", "call_id": asked[-1]["call_id"], "output": LONG}
    told = history(talk, [*asked, output])
    call = {name: value for name, value in told[2].items() if name != "id"}
    talk.ask([told[0], call, *told[3:], {"role": "user", "content": "And?"}])
    (miss,) = mock_of(talk).cache.misses
    assert (miss.reason, miss.at) == ("input_changed", "input[1].type")


def test_a_compaction_has_its_own_reason() -> None:
    talk = Conversation(model=NEW)
    mock_of(talk).script("One.", [compaction()], "Two.")
    said = history(talk, LONG + "One?")
    made = talk.ask([*said, {"role": "user", "content": LONG}], context_management=[{"type": "compaction"}]).body
    found = diagnose(talk, made["id"], [*made["output"], {"role": "user", "content": LONG}])
    assert found["reason"] == "context_compacted"


def test_a_prompt_that_came_too_late_has_expired() -> None:
    talk = Conversation(model=NEW)
    said = history(talk, LONG)
    mock_of(talk).skip(3_600)
    talk.ask([*said, {"role": "user", "content": "And?"}])
    assert repr(mock_of(talk).cache.misses) == "[request 2 missed: expired]"


def test_a_prompt_that_ends_at_no_boundary_of_before_says_so() -> None:
    talk = Conversation(model=NEW)
    said = history(talk, LONG)
    talk.ask([*said, {"role": "user", "content": "And?"}], prompt_cache_options={"mode": "explicit"})
    (miss,) = mock_of(talk).cache.misses
    assert (miss.reason, miss.at) == ("no_breakpoint", "")


def test_other_conversations_and_agents_are_no_misses() -> None:
    talk = Conversation(model=NEW)
    mock_of(talk).script("OK.", "OK.", "OK.", "OK.")
    said = history(talk, LONG, instructions="You are the planner.")
    history(talk, "Other. " + LONG, instructions="You are the planner.")
    talk.ask([*said, {"role": "user", "content": "And?"}], instructions="You are the planner.")
    talk.ask(LONG, instructions="You are the writer.", tools=[WEATHER])
    assert mock_of(talk).cache.misses == []


def test_a_prompt_below_the_minimum_misses_nothing() -> None:
    talk = Conversation(model=NEW)
    for minute in (10, 11):
        talk.ask("hi", instructions=f"You are the planner. It is 12:{minute}.")
    cache = mock_of(talk).cache
    assert (cache.hit_rate, cache.misses) == (0.0, [])


def test_diagnostics_say_a_hit_and_what_cannot_be_compared() -> None:
    talk = Conversation(model=NEW)
    assert diagnose(talk, "resp_unknown") == {"type": "comparison_response_not_found"}
    first = talk.ask(LONG).body
    assert diagnose(talk, first["id"]) == {"type": "cache_hit"}
    assert diagnose(talk, first["id"], "hi") == {"type": "unavailable"}
    waiting = talk.ask(LONG, background=True).body
    assert diagnose(talk, waiting["id"]) == {"type": "unavailable"}
    assert "prompt_cache_diagnostics" not in talk.ask(LONG).body


def test_a_stream_has_diagnostics_at_its_end() -> None:
    talk = Conversation(model=NEW, stream=True)
    answer = talk.ask(LONG, prompt_cache_options={"comparison_response_id": "resp_unknown"})
    shown = [event["response"]["prompt_cache_diagnostics"] for event in answer.events or () if "response" in event]
    assert shown == [None, None, {"type": "comparison_response_not_found"}]
    options = answer.body["prompt_cache_options"]
    assert options == {"mode": "implicit", "ttl": "30m", "comparison_response_id": "resp_unknown"}


def test_the_difference_counts_only_where_something_was_kept() -> None:
    talk = Conversation(model=NEW, prompt_cache_options={"mode": "explicit"})
    first = talk.ask(LONG).body
    found = diagnose(talk, first["id"], "Now " + LONG, prompt_cache_options={"mode": "explicit"})
    assert found == {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": TOKENS + 1}

"""Which agent sent each request, by nothing but the requests."""

import pytest

from harness.analysis.lanes import HandOff, find_agent_name, heading_as_name, is_nearly_equal, mask_dates_and_ids
from harness.items import function_call, message
from tests.support.in_process import post
from tests.support.tools import functions

PLANNER, OPS = "You are the planner.", "You are ops."
USER = {"role": "user", "content": "Ship v2."}


def tools(names):
    """Return a function for each letter."""
    return {"tools": functions(*names)}


@pytest.fixture
def world(world):
    world.world.script.fallback = lambda request: [message("ok")]
    return world


def lanes(world):
    return {name: [exchange.number for exchange in exchanges] for name, exchanges in world.lanes.items()}


# By instructions


def test_instructions_tell_agents_apart_and_name_them(world, ask):
    for instructions in (PLANNER, OPS, PLANNER):
        ask(instructions=instructions)
    assert lanes(world) == {"planner": [1, 3], "ops": [2]}


def test_leading_system_and_developer_messages_are_instructions(world, ask):
    ask([{"role": "system", "content": PLANNER}, USER])
    ask([{"type": "message", "role": "developer", "content": [{"type": "input_text", "text": OPS}]}, USER])
    ask([{"role": "system", "content": PLANNER}, USER, {"role": "system", "content": "Be quick."}])
    assert lanes(world) == {"planner": [1, 3], "ops": [2]}


def test_a_date_in_the_instructions_makes_no_other_agent(world, ask):
    for day in (21, 22):
        ask(instructions=f"Today is September {day}, 2026. {PLANNER}")
    assert lanes(world) == {"planner": [1, 2]}


def test_a_memory_that_grows_makes_no_other_agent_where_its_talk_goes_on(world, ask):
    text = f"{PLANNER} Plan with care, in steps, and keep what you know of the user in mind. You know: "
    said = ask(instructions=text + "nothing yet.")["output"]
    ask([USER, *said, USER], instructions=text + "her name.")
    ask(instructions=text + "it all.")
    assert lanes(world) == {"planner": [1, 2], "planner 2": [3]}


def test_without_any_name_agents_are_numbered(world, ask):
    for names in ("s", "d", "s"):
        ask(**tools(names))
    assert lanes(world) == {"agent 1": [1, 3], "agent 2": [2]}


def test_a_name_in_use_gets_a_number(world, ask):
    ask(instructions="You are a helpful assistant. Be brief.")
    ask(instructions="You are a helpful assistant. Be exact.")
    ask(instructions="You are the client.")
    assert list(lanes(world)) == ["helpful assistant", "helpful assistant 2", "client 2"]


def test_the_text_of_a_route_names_whom_the_instructions_do_not(world, ask):
    world.when(instructions="triage", tools="sort").script(message("ok"))
    world.when(tools="sort", model="gpt-5*")
    ask(instructions="Sort what comes in, for the triage of all tickets.", tools=functions("sort"))
    assert lanes(world) == {"triage": [1]}


# By tools and model


def test_other_tools_or_another_model_are_another_agents(world, ask):
    kind = "Be kind."
    ask(instructions=kind, **tools("a"))
    ask(instructions=kind, **tools("b"))
    ask(instructions=kind, **tools("a"), model="gpt-4.1-mini")
    assert lanes(world) == {"Be kind": [1], "Be kind 2": [2], "Be kind 3": [3]}


def test_a_client_without_instructions_and_tools_is_one_agent_with_any_model(world, ask):
    ask("hi")
    ask({"model": "gpt-4.1-mini", "input": "hi"})
    assert lanes(world) == {"agent 1": [1, 2]}


def test_an_agent_may_gain_and_lose_tools(world, ask):
    for names in ("a", "ab", "b", ""):
        ask(instructions=OPS, **tools(names))
    ask(instructions=OPS, tools=[{"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org"}])
    assert lanes(world) == {"ops": [1, 2, 3, 4], "ops 2": [5]}


def test_the_same_tools_come_before_some_of_them(world, ask):
    ask(**tools("a"))
    ask(**tools("b"))
    ask(**tools("ab"))
    ask(**tools("b"))
    assert lanes(world) == {"agent 1": [1, 3], "agent 2": [2, 4]}


# By name


def test_a_name_in_the_metadata_decides(world, ask):
    ask(instructions=PLANNER, metadata={"agent": "Ann"})
    ask(instructions=OPS, metadata={"agent": "Ann"})
    ask(instructions=PLANNER, metadata={"agent": "Bob"})
    assert lanes(world) == {"Ann": [1, 2], "Bob": [3]}


def test_an_agent_reference_decides(world, ask):
    agent = {"agent_reference": {"type": "agent_reference", "name": "researcher"}}
    path = "POST /api/projects/p/openai/v1/responses"
    first = ask({"input": "hi", **agent}, call=path)
    ask({"input": "more", "previous_response_id": first["id"]}, call=path)
    ask({"model": "gpt-4.1", "input": "else"}, call=path)
    assert lanes(world) == {"researcher": [1, 2], "agent 1": [3]}


# By what is continued


def test_a_chain_that_repeats_no_instructions_stays_in_its_lane(world, ask):
    first = ask(instructions=PLANNER)
    ask("hi", instructions=OPS)
    ask("more", previous_response_id=first["id"])
    ask("more", previous_response_id=first["id"], instructions=OPS)
    assert lanes(world) == {"planner": [1, 3], "ops": [2, 4]}


def test_a_conversation_stays_in_its_lane(world, ask):
    conversation = ask({}, call="POST /v1/conversations")["id"]
    ask([{"role": "system", "content": PLANNER}, USER], conversation=conversation)
    ask("more", conversation={"id": conversation})
    assert lanes(world) == {"client": [1], "planner": [2, 3]}


def test_what_asks_for_a_response_belongs_to_who_made_it(world, ask):
    made = ask(instructions=PLANNER, background=True)
    ask(call=f"GET /v1/responses/{made['id']}")
    ask(call="GET /v1/responses/resp_" + "0" * 50)
    ask(call="GET /v1/models")
    assert lanes(world) == {"planner": [1, 2], "client": [3, 4]}


def test_the_run_of_an_assistant_is_named_by_it(world, ask):
    made = ask({"model": "gpt-4.1", "name": "Ann"}, "POST /v1/assistants")
    nameless = ask({"model": "gpt-4.1", "instructions": OPS}, "POST /v1/assistants")
    for assistant in (made, nameless):
        run = ask({"assistant_id": assistant["id"], "thread": {"messages": [USER]}}, "POST /v1/threads/runs")
        ask(call=f"GET /v1/threads/{run['thread_id']}/runs/{run['id']}")
    ask({"assistant_id": "asst_none"}, "POST /v1/threads/runs")
    assert lanes(world) == {"client": [1, 2], "Ann": [3, 4], "ops": [5, 6], "agent 1": [7]}


# Hand-offs


def test_the_output_of_a_call_that_leads_to_another_lane_is_a_hand_off(world, ask):
    world.when(instructions="planner").script(function_call("transfer_to_ops", {}, call_id="call_1"))
    world.script(message("Deployed."), message("Bye."))
    ops = {"instructions": "Deploy what you are asked to deploy."}
    passed = {"type": "function_call_output", "call_id": "call_1", "output": "ops"}
    history = [USER, *ask([USER], instructions=PLANNER)["output"], passed]
    replied = ask(history, **ops)["output"]
    ask([*history, *replied, USER], **ops)
    assert lanes(world) == {"planner": [1], "ops": [2, 3]}
    assert world.flow.hand_offs == [HandOff(2, "planner", "ops", "transfer_to_ops", "call_1")]


def test_the_words_of_another_agent_are_no_hand_off(world, ask):
    said = ask([USER], instructions=PLANNER)["output"]
    ask([USER, *said], instructions=OPS)
    assert list(lanes(world)) == ["planner", "ops"]
    assert world.flow.hand_offs == []


# Whatever comes


@pytest.mark.parametrize(
    "members",
    [
        {"instructions": 5, "tools": "x", "metadata": [], "agent_reference": "x"},
        {"instructions": [], "tools": [None, {"name": {}}, {"type": 7}], "metadata": {"agent": 5}, "model": None},
        {"previous_response_id": 5, "conversation": {"id": []}, "prompt": "x"},
        {"prompt": {"id": 5}, "input": [5, {"id": 5}, {"role": [], "content": {}}, {"role": "system", "content": [5]}]},
        {"input": {"role": "user"}},
    ],
)
def test_a_malformed_request_has_a_lane_too(world, ask, members):
    ask(**members)
    assert [exchange.status for exchange in world.exchanges] == [400]
    assert lanes(world) == {"agent 1": [1]}
    assert "refused: 400" in world.flow.text
    assert "refused: 400" in world.flow.mermaid


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'"x"'])
def test_a_body_that_is_no_object_is_the_lane_of_nobody_known(world, api, body):
    post(api, body)
    assert lanes(world) == {"agent 1": [1]}


def test_nothing_was_sent(world):
    assert (world.lanes, world.flow.text, world.flow.mermaid) == ({}, "", "sequenceDiagram")


PREFIX = (
    "# System context\nYou are part of a multi-agent system called the Agents SDK, designed to make coordination easy. "
    "Agents use two abstractions: **Agents** and **Handoffs**.\n"
)


@pytest.mark.parametrize(
    ("instructions", "name"),
    [
        ("You are the planner.", "planner"),
        ("You are ops, who deploys.", "ops"),
        ("You are a helpful assistant.", "helpful assistant"),
        ("You're Ann's assistant.", "Ann's assistant"),
        ("you are an expert in Python", "expert"),
        ("You are the content writing agent for Acme", "content writing agent"),
        ('You are "Planner".', "Planner"),
        ("You are **Ops**, the one", "Ops"),
        ("You are an assistant named Ann.", "Ann"),
        ("You are a pirate. Your name is Bob.", "Bob"),
        ("You are a highly experienced senior Python software engineer.", "Python software engineer"),
        ("You are GPT-4.1 helper. Be kind.", "GPT-4.1 helper"),
        ("Act as a judge", "judge"),
        ("If you are unsure, ask. You are the reviewer - be strict.", "reviewer"),
        (f"{PREFIX}You are the billing agent.", "billing agent"),
        ("You are responsible for planning.", ""),
        ("You are allowed to search. Answer at length and with care.", ""),
        ("Answer at length and with care.", ""),
        ("You are", ""),
        ("", ""),
    ],
)
def test_the_name_that_instructions_give(instructions, name):
    assert find_agent_name(instructions) == name


@pytest.mark.parametrize(
    ("instructions", "name"),
    [
        ("Triage: sort what comes in", "Triage"),
        ("# Planner\nBreak the work down.", "Planner"),
        ("Write haiku.", "Write haiku"),
        ("Answer whatever the user asks", ""),
        ("# Instructions\nBe kind.", ""),
        (PREFIX, ""),
        ("...", ""),
    ],
)
def test_short_first_words_are_a_name(instructions, name):
    assert heading_as_name(instructions) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Today is Monday, September 21, 2026.", "Today is Tuesday, September 22, 2026."),
        ("It is 3 March 2026.", "It is 12 April 2027."),
        ("Now: 2026-09-21T10:00:00+00:00", "Now: 2026-09-22 11:02:03.456Z"),
        ("It is 9:05 am on 1/2/2026", "It is 11:15 PM on 12/31/26"),
        ("Session 3f2b8c1e-0000-4000-8000-0123456789ab", "Session aaaaaaaa-1111-4111-8111-0123456789ab"),
        ("Time 1790000000", "Time 1790000111.5"),
    ],
)
def test_what_changes_by_the_day_makes_no_other_agent(one, other):
    assert mask_dates_and_ids(one) == mask_dates_and_ids(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("You are agent 1.", "You are agent 2."),
        ("You are the Marketing agent.", "You are the Decision agent."),
        ("You are writer A.", "You are writer B."),
        ("You are Friday.", "You are Monday."),
    ],
)
def test_other_words_make_another_agent(one, other):
    assert mask_dates_and_ids(one) != mask_dates_and_ids(other)


def test_instructions_are_near_that_differ_in_one_place_and_little():
    words = [f"word{n}" for n in range(20)]
    assert is_nearly_equal(" ".join(words), " ".join([*words[:9], "else", *words[10:]]))
    assert is_nearly_equal(" ".join(words), " ".join([*words, "more"]))
    assert not is_nearly_equal(" ".join(words), " ".join(["one", *words[1:19], "two"]))
    assert not is_nearly_equal("Translate to French.", "Translate to Spanish.")

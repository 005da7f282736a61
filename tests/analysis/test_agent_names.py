"""What an agent may be called by its instructions, and when two instructions are of one agent."""

import pytest

from harness.analysis.agent_names import find_agent_name, heading_as_name, is_nearly_equal, mask_dates_and_ids

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

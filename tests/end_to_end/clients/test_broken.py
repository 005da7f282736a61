"""A client with a bug is refused in the API's words, by the rule for that bug; the same program without it is not."""

import openai
import pytest

from tests.support.clients import broken
from tests.support.clients.broken import BrokenOpenAI, Bug
from tests.support.clients.programs import (
    SCRIPTS,
    Program,
    chained_loop,
    inline_loop,
    question_about_a_file,
    second_thought,
)

Case = tuple[Bug, Program, str, str]

NO_OUTPUT = "No tool output found for function call call_oslo."
CASES: list[Case] = [
    (broken.drops_a_tool_output, inline_loop, "call_needs_output", NO_OUTPUT),
    (broken.drops_a_tool_output, chained_loop, "call_needs_output", NO_OUTPUT),
    (
        broken.drops_the_calls,
        inline_loop,
        "output_needs_call",
        "No tool call found for function call output with call_id call_paris.",
    ),
    (
        broken.sends_the_transcript_again,
        chained_loop,
        "duplicate_item",
        "Duplicate item found with id {0}. Remove duplicate items from your input and try again.",
    ),
    (
        broken.files_in_assistant_turns,
        question_about_a_file,
        "assistant_content",
        "Invalid value: 'input_file'. Supported values are: 'output_text' and 'refusal'.",
    ),
    (
        broken.call_id_as_id,
        inline_loop,
        "item_id_prefix",
        "Invalid 'input[1].id': 'call_paris'. Expected an ID that begins with 'fc'.",
    ),
    (
        broken.drops_reasoning,
        second_thought,
        "item_without_reasoning",
        "Item '{1}' of type 'message' was provided without its required 'reasoning' item: '{0}'.",
    ),
    (
        broken.drops_ids_of_messages,
        second_thought,
        "reasoning_without_follower",
        "Item '{0}' of type 'reasoning' was provided without its required following item.",
    ),
]
"""A bug, the program it breaks, the rule that notices, and its words (`{n}`: the id of the first answer's item n)."""


def named(case: Case) -> str:
    return f"{case[0].__name__}-{case[1].__name__}"


@pytest.mark.parametrize("case", CASES, ids=named)
@pytest.mark.harness(unused="allow")
def test_a_client_with_a_bug_is_refused(mock, case):
    bug, program, rule, words = case
    mock.script(*SCRIPTS[program])
    client = BrokenOpenAI(bug, base_url=mock.base_url, api_key=mock.api_key, max_retries=0)
    with client, pytest.raises(openai.BadRequestError) as caught:
        program(client)
    ids = [item["id"] for item in mock.exchanges[0].answer.body["output"]]
    assert caught.value.body["message"] == words.format(*ids)
    assert [(exchange.status, exchange.answer.rule) for exchange in mock.exchanges] == [(200, None), (400, rule)]


@pytest.mark.parametrize("program", list(dict.fromkeys(case[1] for case in CASES)))
def test_the_same_program_on_the_real_client_is_not(mock, client, program):
    mock.script(*SCRIPTS[program])
    assert program(client)
    assert [exchange.status for exchange in mock.exchanges] == [200, 200]


def test_every_bug_is_tried():
    bugs = {made for made in vars(broken).values() if getattr(made, "__module__", "") == broken.__name__}
    functions = {
        bug for bug in bugs if callable(bug) and not isinstance(bug, type) and not bug.__name__.startswith("_")
    }
    assert functions == {case[0] for case in CASES}

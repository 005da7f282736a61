"""When a client lost something that the API does not ask for, and the lines that say so."""

import pytest

LOSSY = """
NOTES = [{"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}]

def lossy(mock, client):
    mock.script(message("See the report, page 3.", annotations=NOTES), message("Page 3."))
    first = client.responses.create(model="gpt-4.1", input="Report?")
    said = {**first.output[0].to_dict(), "content": [{"type": "output_text", "text": first.output_text, "annotations": []}]}
    client.responses.create(model="gpt-4.1", input=[
        {"role": "user", "content": "Report?"}, said, {"role": "user", "content": "Which page?"}])
"""
TEST = "def test_it(mock, client): lossy(mock, client)\n"
REFUSED = """
def test_it(mock, client):
    mock.script(function_call("deploy", {}, call_id="call_1", off_schema=True))
    client.responses.create(model="gpt-4.1", input="Ship v2.")
    output = {"type": "function_call_output", "call_id": "call_1", "output": "up"}
    with pytest.raises(openai.BadRequestError, match="No tool call found"):
        client.responses.create(model="gpt-4.1", input=[{"role": "user", "content": "Ship v2."}, output])
"""
FIRST = "Loss citation-dropped in request 2: *from exchange 1 *"
SECTION = "*- responses-harness -*"


def test_a_loss_fails_a_test_whose_own_assertions_held(run):
    run(LOSSY + TEST).shows(
        FIRST,
        "  where   input[[]1].content[[]0]",
        "  fix     Send the `annotations` of each *",
        '  allow   @pytest.mark.harness(losses=[[]"citation-dropped"])',
        SECTION,
        '  1  agent 1  user "Report?"',
        failed=1,
    ).hides("*INTERNALERROR*")


def test_the_cause_is_printed_once(run):
    lines = run(LOSSY + TEST).outlines
    assert sum("Loss citation-dropped in request 2" in line for line in lines if not line.startswith("FAILED")) == 1


def test_the_diagram_the_journal_and_the_bodies_are_shown_on_demand(run):
    run(LOSSY + TEST).hides("*Mermaid*", '*"annotations"*', "*POST /responses*")
    run(LOSSY + TEST, "-v").shows(
        FIRST,
        SECTION,
        '*1  agent 1  user "Report?"',
        '*→ assistant "See the report, page 3."',
        '  1  POST /responses  gpt-4.1  "Report?" *200',
        "Request 2:",
        '*"annotations": [[][]]',
        "Answer 2:",
        "*- responses-harness: the flow as a Mermaid diagram -*",
        "sequenceDiagram",
        "  P0->>P1: user *",
    )


def marked(*values):
    """Write a test for each value of its mark."""
    tests = (TEST.replace("test_it", f"test_{number}") for number in range(len(values)))
    return LOSSY + "".join(
        f"@pytest.mark.harness(losses={value!r})\n{test}" for value, test in zip(values, tests, strict=True)
    )


def test_losses_can_be_allowed(run):
    run(marked("allow", ["citation-dropped"], ["call-dropped", "citation-dropped"])).assert_outcomes(passed=3)


def test_what_is_not_allowed_still_fails(run):
    run(marked("fail", "strict", ["call-dropped"], [])).assert_outcomes(failed=4)


def test_an_allowed_loss_is_not_mentioned(run):
    run(
        f'{LOSSY}@pytest.mark.harness(losses="allow")\n{TEST}    assert 1 == 2\n'.replace(": lossy", ":\n    lossy")
    ).shows(failed=1).hides("*citation-dropped*")


@pytest.mark.parametrize(("text", "outcome"), [("See the report.", "failed"), ("See a.pdf.", "passed")])
def test_a_plain_text_cannot_carry_citations_but_may_name_their_sources(run, text, outcome):
    source = """
def test_it(mock, client):
    mock.script(message("TEXT", annotations=NOTES), message("Page 3."))
    client.responses.create(model="gpt-4.1", input="Report?")
    client.responses.create(model="gpt-4.1", input=[
        {"role": "user", "content": "Report?"}, {"role": "assistant", "content": "TEXT"},
        {"role": "user", "content": "Which page?"}])
"""
    run(LOSSY + source.replace("TEXT", text)).assert_outcomes(**{outcome: 1})


def test_a_habit_that_may_be_intended_is_a_loss_only_when_strict(run):
    source = """
@pytest.mark.harness(losses={value})
def test_it(mock, client):
    mock.script(message("Page 3."), message("Yes."))
    client.responses.create(model="gpt-4.1", input="Report?")
    client.responses.create(model="gpt-4.1", input=[
        {{"role": "user", "content": "Report?"}}, {{"role": "assistant", "content": "On the third page, I think."}},
        {{"role": "user", "content": "Sure?"}}])
"""
    run(LOSSY + source.format(value='"fail"')).assert_outcomes(passed=1)
    run(LOSSY + source.format(value='"strict"')).assert_outcomes(failed=1)


def test_what_the_api_itself_refused_is_no_loss_more(run):
    run(REFUSED).assert_outcomes(passed=1)


def test_a_failure_after_a_refusal_begins_with_it_and_the_loss_that_explains_it(run):
    run(REFUSED.replace('    with pytest.raises(openai.BadRequestError, match="No tool call found"):\n    ', "")).shows(
        "E*openai.BadRequestError*",
        SECTION,
        "Request 2 was refused (400): No tool call found for function call output with call_id call_1.",
        "  where   input[[]1]: function_call deploy (call_1) from exchange 1 *",
        "",
        '  1  agent 1  user "Ship v2."',
        failed=1,
    )


def test_a_turn_left_over_after_a_refusal_that_was_asked_for_says_so(run):
    run(REFUSED.replace("off_schema=True))\n", 'off_schema=True), message("Up."))\n')).shows(
        "1 turn of the script was never used.",
        '  where   script: message "Up."',
        "  why     request 2, the last one, was refused and therefore took no turn",
        failed=1,
    )


def test_a_turn_left_over_because_of_a_swallowed_refusal_is_not_reported_beside_it(run):
    swallowing = """
def ask(client, given):
    try:
        client.responses.create(model="gpt-4.1", input=given)
    except openai.BadRequestError:
        pass

def test_it(mock, client):
    mock.script(function_call("deploy", {}, call_id="call_1", off_schema=True), message("Up."))
    ask(client, "Ship v2.")
    output = {"type": "function_call_output", "call_id": "call_1", "output": "up"}
    ask(client, [{"role": "user", "content": "Ship v2."}, output])
"""
    run(swallowing).shows(
        "Request 2 was refused (400): No tool call found for function call output with call_id call_1.",
        "  where   input[[]1]: function_call_output (call_1) answers function_call deploy (call_1) from exchange *",
        SECTION,
        '  1  agent 1  user "Ship v2."',
        failed=1,
    ).hides("*no request took*")


def test_the_flow_names_the_agents_when_there_are_several(run):
    run("""
def test_it(mock, client):
    mock.script(message("Plan."), message("Done."))
    client.responses.create(model="gpt-4.1", instructions="You are the planner.", input="Ship v2.")
    client.responses.create(model="gpt-4.1", instructions="You are ops.", input="Ship v2.")
    client.models.list()
    assert list(mock.lanes) == ["ops"]
""").shows(
        SECTION,
        '  1  planner  user "Ship v2."',
        '              → assistant "Plan."',
        '  2  ops      user "Ship v2."',
        '              → assistant "Done."',
        "  3  client   GET /models",
        failed=1,
    )


@pytest.mark.slow
def test_losses_in_parallel_processes(run):
    several = "".join(f"def test_{n}(mock, client): lossy(mock, client)\n" for n in range(4))
    run(LOSSY + several, "-n", "2", apart=True).shows(FIRST, SECTION, failed=4)


def test_an_output_that_no_counted_tool_returned_is_named(run):
    result = run("""
from harness import counted

@counted
def refund(order):
    return f"{order} is refunded"

def test_it(mock, client):
    mock.script(function_call("refund", {"order": "A7"}, off_schema=True), message("Done."))
    first = client.responses.create(model="gpt-4.1", input="Refund A7.")
    refund(order="A7")
    client.responses.create(model="gpt-4.1", previous_response_id=first.id, input=[
        {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "Tool call interrupted."}])
""")
    result.assert_outcomes(failed=1)
    told = " ".join(" ".join(result.outlines).split())
    assert "was answered with a text that no tool returned" in told
    assert '"Tool call interrupted.", but refund returned "A7 is refunded"' in told

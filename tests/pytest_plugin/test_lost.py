"""When a client lost something that the API does not ask for, and the two lines that say so."""

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
    mock.script(function_call("deploy", {}, call_id="call_1"))
    client.responses.create(model="gpt-4.1", input="Ship v2.")
    output = {"type": "function_call_output", "call_id": "call_1", "output": "up"}
    with pytest.raises(openai.BadRequestError, match="No tool call found"):
        client.responses.create(model="gpt-4.1", input=[{"role": "user", "content": "Ship v2."}, output])
"""
FIRST = "Loss citation-dropped in request 2: *said in exchange 1*"
SECTION = "*- responses-harness -*"


def test_a_loss_fails_a_test_whose_own_assertions_held(run):
    result = run(LOSSY + TEST)
    result.assert_outcomes(failed=1)
    allow = '*@pytest.mark.harness(losses=[[]"citation-dropped"]).'
    told = [FIRST, "input[[]1]*: said in exchange 1; *"]
    result.stdout.fnmatch_lines([*told, allow])
    result.stdout.fnmatch_lines(
        [
            SECTION,
            *told,
            "",
            '  1  POST /responses  gpt-4.1  "Report?" *200',
            "*",
            "Request 2 shows a loss, citation-dropped:",
        ],
        consecutive=False,
    )
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_the_section_begins_with_the_cause(run):
    lines = run(LOSSY + TEST).outlines
    start = next(at for at, line in enumerate(lines) if "- responses-harness -" in line)
    assert lines[start + 1].startswith("Loss citation-dropped in request 2: ")
    assert lines[start + 2].startswith("input[1]")


def test_the_flow_follows_as_a_text_and_as_a_diagram_of_its_own(run):
    result = run(LOSSY + TEST)
    result.stdout.fnmatch_lines(
        [
            "Request 2 shows a loss, citation-dropped:",
            "The flow:",
            '*1  agent 1  user "Report?"',
            '*→ assistant "See the report, page 3."',
            "*- responses-harness: the flow as a Mermaid diagram -*",
            "sequenceDiagram",
            "  P0->>P1: user *",
        ]
    )


@pytest.mark.parametrize("value", ['"allow"', '["citation-dropped"]', '["call-dropped", "citation-dropped"]'])
def test_losses_can_be_allowed(run, value):
    run(f"{LOSSY}@pytest.mark.harness(losses={value})\n{TEST}").assert_outcomes(passed=1)


@pytest.mark.parametrize("value", ['"fail"', '"strict"', '["call-dropped"]', "[]"])
def test_what_is_not_allowed_still_fails(run, value):
    run(f"{LOSSY}@pytest.mark.harness(losses={value})\n{TEST}").assert_outcomes(failed=1)


def test_an_allowed_loss_is_not_mentioned(run):
    result = run(
        f'{LOSSY}@pytest.mark.harness(losses="allow")\n{TEST}    assert 1 == 2\n'.replace(": lossy", ":\n    lossy")
    )
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*citation-dropped*")


def test_a_text_sent_back_without_its_citations_is_a_loss_only_when_strict(run):
    source = """
@pytest.mark.harness(losses={value})
def test_it(mock, client):
    mock.script(message("See the report.", annotations=NOTES), message("Page 3."))
    client.responses.create(model="gpt-4.1", input="Report?")
    client.responses.create(model="gpt-4.1", input=[
        {{"role": "user", "content": "Report?"}}, {{"role": "assistant", "content": "See the report."}},
        {{"role": "user", "content": "Which page?"}}])
"""
    run(LOSSY + source.format(value='"fail"')).assert_outcomes(passed=1)
    run(LOSSY + source.format(value='"strict"')).assert_outcomes(failed=1)


def test_what_the_api_itself_refused_is_no_loss_more(run):
    run(REFUSED).assert_outcomes(passed=1)


def test_a_failure_after_a_refusal_begins_with_it_and_the_loss_that_explains_it(run):
    result = run(
        REFUSED.replace('    with pytest.raises(openai.BadRequestError, match="No tool call found"):\n    ', "")
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*openai.BadRequestError*",
            SECTION,
            "Request 2 was refused (400): No tool call found for function call output with call_id call_1.",
            "input[[]1]: function_call deploy (call_1), said in exchange 1, *(loss call-dropped)",
            "",
            '  1  POST /responses  gpt-4.1  "Ship v2." *',
        ]
    )


def test_a_turn_left_over_because_of_a_swallowed_refusal_begins_with_the_refusal(run):
    result = run(REFUSED.replace('call_1"))\n', 'call_1"), message("Up."))\n'))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "Request 2 was refused (400): No tool call found for function call output with call_id call_1.",
            "input[[]1]: function_call_output (call_1) answers function_call deploy (call_1), said in exchange 1*",
            "1 turn of the script no request took:",
            SECTION,
            "Request 2 was refused (400): *",
        ]
    )


def test_the_journal_names_the_agents_when_there_are_several(run):
    result = run("""
def test_it(mock, client):
    mock.script(message("Plan."), message("Done."))
    client.responses.create(model="gpt-4.1", instructions="You are the planner.", input="Ship v2.")
    client.responses.create(model="gpt-4.1", instructions="You are ops.", input="Ship v2.")
    client.models.list()
    assert list(mock.lanes) == ["ops"]
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            SECTION,
            '  1  planner  POST /responses  gpt-4.1  "Ship v2."  200',
            '  2  ops      POST /responses  gpt-4.1  "Ship v2."  200',
            "  3  client   GET /models                           200",
        ],
    )


@pytest.mark.slow
def test_losses_in_parallel_processes(run):
    several = "".join(f"def test_{n}(mock, client): lossy(mock, client)\n" for n in range(4))
    result = run(LOSSY + several, "-n", "2", apart=True)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines([FIRST, "*- responses-harness: the flow as a Mermaid diagram -*", "sequenceDiagram"])
